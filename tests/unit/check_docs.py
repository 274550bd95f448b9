#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the help of hutch, which is made of the tables of options and subcommands in the source, with what is
written by hand: the man pages, the completions of three shells, and the configurations in the README. It only reads
files and asks hutch for its help; it must never start a sandbox.

    check_docs.py HUTCH SOURCE-DIRECTORY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = ("hutch", "hutch-mcp", "hutch-run", "hutch-doctor", "hutch-fetch", "hutch-ps", "hutch-logs", "hutch-prove")
SUBCOMMANDS = ("mcp", "run")  # those that start the sandbox of a command
PLAIN = ("doctor", "fetch")  # those that have options of their own
MCP_ONLY = ("raw-stdout", "allow-tool", "deny-tool", "pin", "pin-accept", "deny-sampling", "deny-elicitation", "deny-roots",
            "max-message", "log-arguments", "explain")
PROVE_ONLY = ("json",)
NOT_PROVE = MCP_ONLY + ("status-fd",)
ELSEWHERE = {"json"}  # options of subcommands that start no sandbox for the user's command

problems = []


def check(condition, sentence):
    if not condition:
        problems.append(sentence)


def compare(where, found, wanted):
    """Both are sets of (letter or "", name, argument); a name alone where the place says no more."""
    for option in sorted(wanted - found):
        check(False, f"{where}: misses {show(option)}")
    for option in sorted(found - wanted):
        check(False, f"{where}: has {show(option)}, which hutch does not")


def show(option):
    if isinstance(option, str):
        return f"--{option}"
    letter, name, argument = option
    return f"--{name} (short {letter or 'none'}, value {argument or 'none'})"


def output_of(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def help_of(hutch, subcommand):
    return output_of(hutch, subcommand, "--help")


def options_of_help(text):
    """{(letter, name, argument)} of lines such as `  -e, --env KEY[=VALUE]   set …`."""
    found = re.findall(r"^  (?:-(\w),|   ) --([a-z-]+)([ \[]\S+)?(?:  |$)", text, re.M)
    return {(letter, name, argument.strip()) for letter, name, argument in found}


def groups_of_help(text):
    """[(heading, [option, …]), …] of the help of a subcommand that starts a sandbox."""
    blocks = re.findall(r"^([A-Z][A-Za-z ]*):\n((?: .*\n)+)", text, re.M)
    return [(heading, re.findall(r"^  .{4}--([a-z-]+)", block, re.M)) for heading, block in blocks]


def groups_of_page(text):
    """The same of the subsections of an mdoc page that have options."""
    groups = [(heading, re.findall(r"^\.It Fl (?:\w , Fl )?-([a-z-]+)", block, re.M))
              for heading, block in re.findall(r"^\.Ss (.*)\n((?:(?!\.S[sh] ).*\n)*)", text, re.M)]
    return [(heading, names) for heading, names in groups if names]


def options_of_page(text):
    """The same of the items `.It Fl e , Fl -env Ar KEY Ns Op = Ns Ar VALUE` of an mdoc page."""
    options = set()
    for item in re.findall(r"^\.It (Fl .*)$", text, re.M):
        letter, name, argument = re.fullmatch(r"Fl (?:(\w) , Fl )?-([a-z-]+)(.*)", item).groups()
        argument = re.sub(r"Op (\S+) Ns Ar (\S+)", r"[\1\2]", argument)
        argument = re.sub(r"Op (\S+)", r"[\1]", argument)
        argument = re.sub(r"Oo (.*?) Oc", r"[\1]", argument)
        options.add((letter or "", name, re.sub(r"\b(Ns|Ar)\b| ", "", argument)))
    return options


def render(words):
    """`Op Fl - Ar command Op Ar arg ...`, a line of a SYNOPSIS, as usage lines write it: `[-- COMMAND [ARG…]]`."""
    text = []
    while words:
        macro, *words = words
        if macro == "Op":
            text.append(f"[{render(words)}]")
            break
        if macro == "...":
            text[-1] += "…"
        elif macro in ("Fl", "Ar", "Cm"):
            word, *words = words
            text.append({"Fl": f"-{word}", "Ar": word.upper(), "Cm": word}[macro])
        else:
            check(False, f"man/hutch.1: SYNOPSIS has the macro {macro}, which this test does not know")
    return " ".join(text)


def section_of(text, title):
    """The lines of one section of an mdoc page."""
    return re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S).group(1)


def check_overview(hutch, source):
    """hutch(1) lists the subcommands of `hutch --help`, in that order and with their arguments, and every page."""
    text = (source / "man" / "hutch.1").read_text()
    listed = re.findall(r"^  ([a-z]+)  ", output_of(hutch, "--help").split("Subcommands:")[1], re.M)
    check(len(listed) >= 9, f"hutch --help: only {listed} understood as subcommands")
    usages = [output_of(hutch, "help", subcommand).splitlines()[0] for subcommand in listed]
    wanted = [usage.removeprefix("usage: hutch ") for usage in usages]
    forms = [[line.removeprefix(".").split() for line in form.splitlines()]
             for form in section_of(text, "SYNOPSIS").split(".Nm\n")[1:]]
    found = [" ".join(render(line) for line in form) for form in forms]
    check(found == wanted, f"man/hutch.1: SYNOPSIS has {found}, hutch --help {wanted}")
    described = re.findall(r"^\.It Cm (\S+)$", section_of(text, "DESCRIPTION").split(".Ss ")[0], re.M)
    check(described == listed, f"man/hutch.1: DESCRIPTION has {described}, hutch --help {listed}")

    pages = {path.stem for path in (source / "man").glob("*.1")}
    check(pages == set(PAGES), f"man: the pages are {sorted(pages)}, this test knows {sorted(PAGES)}")
    for subcommand in set(listed) - {"version", "help"}:
        check(f"hutch-{subcommand}" in pages, f"man: no page hutch-{subcommand}.1")
    for page in sorted(pages):
        text = (source / "man" / f"{page}.1").read_text()
        also = re.findall(r"^\.Xr (hutch\S*) 1", section_of(text, "SEE ALSO"), re.M)
        check(also == sorted(also), f"man/{page}.1: SEE ALSO is not in alphabetical order: {also}")
        missing = (pages if page == "hutch" else {"hutch"}) - {page} - set(also)
        check(not missing, f"man/{page}.1: SEE ALSO misses {sorted(missing)}")
        unknown = set(re.findall(r"\bXr (hutch\S*)", text)) - pages
        check(not unknown, f"man/{page}.1: refers to {sorted(unknown)}, which do not exist")
        for form in re.findall(r"^\.Nm(.*(?:\n\.Cm .*)?)", section_of(text, "SYNOPSIS"), re.M):
            subcommand = page.removeprefix("hutch-")
            check(page == "hutch" or re.search(rf"\bCm {subcommand}$", form), f"man/{page}.1: SYNOPSIS has {form}")


def check_pages(source, options, plain, texts):
    names = {name for _, name, _ in options.union(*plain.values())} | {"version"} | ELSEWHERE
    for page in PAGES:
        text = (source / "man" / f"{page}.1").read_text()
        if page.removeprefix("hutch-") in PLAIN:
            compare(f"man/{page}.1", options_of_page(text), plain[page.removeprefix("hutch-")])
        elif page == "hutch-prove":  # hutch-mcp(1) has the others
            compare(f"man/{page}.1", {name for _, name, _ in options_of_page(text)}, set(PROVE_ONLY))
            for name in NOT_PROVE:
                check(re.search(rf"^\.Fl .*-{name}\b", text, re.M), f"man/{page}.1: does not say that --{name} is refused")
        elif page.removeprefix("hutch-") in SUBCOMMANDS:
            shared = options if page == "hutch-mcp" else {row for row in options if row[1] not in MCP_ONLY}
            compare(f"man/{page}.1", options_of_page(text), shared)
        for name in re.findall(r"\bFl -([a-z][a-z-]*)", text):
            check(name in names, f"man/{page}.1: speaks of --{name}, which hutch does not have")
    for subcommand in SUBCOMMANDS:
        text = (source / "man" / f"hutch-{subcommand}.1").read_text()
        found, wanted = groups_of_page(text), groups_of_help(texts[subcommand])
        check(len(wanted) > 5 and len(wanted[0][1]) == 5, f"hutch {subcommand} --help: the groups are {wanted}")
        check([heading for heading, _ in found] == [heading for heading, _ in wanted],
              f"man/hutch-{subcommand}.1: has the groups {[heading for heading, _ in found]}, "
              f"hutch --help {[heading for heading, _ in wanted]}")
        for (heading, names), (_, listed) in zip(found, wanted):
            check(names == listed, f"man/hutch-{subcommand}.1: under {heading} are {names}, in hutch --help {listed}")
        statuses = set(re.findall(r"\b(12[4-7]|2)\b (?=\w)", texts[subcommand].split("Exit status:")[1]))
        check(len(statuses) == 5, f"hutch {subcommand} --help: does not name the statuses 2 and 124 to 127")
        for status in sorted(statuses):
            check(f".It {status}\n" in text, f"man/hutch-{subcommand}.1: misses the exit status {status}")


def check_sensitive_paths(built, source):
    """The pages that the build makes list every row, and the build refuses a row that hutch would never match."""
    table = json.loads((source / "policy/sensitive-paths.json").read_text())
    for row in table["rows"]:
        page = "hutch-mcp.1" if row["kind"] == "protected" else "hutch.1"
        name = re.escape(row["path"].removeprefix("**/"))
        check(re.search(rf"^\.Pa (.* )?{name} ", (built / page).read_text(), re.M), f"{page}: does not list {row['path']}")
    good = {"path": "~/.x", "kind": "never", "why": "it holds keys"}
    for change in ({}, {"path": "~/.x/"}, {"path": "/a/../b"}, {"path": "**/.x"}, {"kind": "protected"}, {"kind": "other"},
                   {"why": ""}, {"why": 'it says "x"'}, {"note": "x"}):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"rows": [{**good, **change}]}, file)
            file.flush()
            done = subprocess.run([sys.executable, source / "policy/sensitive-paths.py", "table", file.name, os.devnull],
                                  capture_output=True, text=True, check=False)
        check((done.returncode == 0) == (not change), f"policy/sensitive-paths.py: {change or good} is judged {done.returncode}")


def check_installations(source):
    """The manual names every manager, and the build refuses a row that shows private data or that hutch would never match."""
    page = (source / "man/hutch.1").read_text()
    listed = re.search(r"^an installation of ([^.]*)\.$", page, re.M)[1]
    names = {row["name"] for row in json.loads((source / "policy/installations.json").read_text())["rows"]}
    check(set(re.split(r",\s+|\s+or\s+", listed)) == names, f"man/hutch.1: lists the installations {listed!r}, and the table has {names}")
    good = {"name": "x", "at": ["~/.x/*", "$X_HOME/y", "/x/y"], "shows": "bin lib/x"}
    for change in ({}, {"shows": "bin etc"}, {"shows": "share/var"}, {"shows": "envs"}, {"shows": "."}, {"shows": ""}, {"shows": "../x"},
                   {"at": ["x"]}, {"at": ["~/"]}, {"at": ["~/../x"]}, {"at": ["/"]}, {"at": ["~/x*"]}, {"at": ["/x//y"]}, {"at": ["~/x", "~/x"]}, {"note": "x"}):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"rows": [{**good, **change}]}, file)
            file.flush()
            done = subprocess.run([sys.executable, source / "policy/installations.py", file.name, os.devnull], capture_output=True, text=True, check=False)
        check((done.returncode == 0) == (not change), f"policy/installations.py: {change or good} is judged {done.returncode}")


def check_lint(built, source):
    """False when there is no mandoc."""
    if not shutil.which("mandoc"):
        return False
    for page in PAGES:
        made = built / f"{page}.1"
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", str(made if made.exists() else source / "man" / made.name)],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stdout, f"man/{page}.1: mandoc says: {done.stdout.strip()}")
    return True


def check_completions(source, options, plain):
    directory = source / "completions"
    names = {name for _, name, _ in options}
    every_name = {name for _, name, _ in options.union(*plain.values())}
    letters = {(letter, name) for letter, name, _ in options if letter}

    bash = (directory / "hutch.bash").read_text()
    words = re.search(r"compgen -W '([^']* --help [^']*)'", bash).group(1)
    compare("completions/hutch.bash", {word[2:] for word in words.split() if word != "--"}, names)

    for subcommand, rows in plain.items():
        words = re.search(rf"^ +{subcommand}\) .*compgen -W '([^']*)'", bash, re.M).group(1)
        compare(f"completions/hutch.bash, {subcommand}", {word[2:] for word in words.split()}, {name for _, name, _ in rows})
        found = re.findall(rf"^complete -c hutch -n '__fish_seen_subcommand_from {subcommand}' -l (\S+)",
                           (directory / "hutch.fish").read_text(), re.M)
        compare(f"completions/hutch.fish, {subcommand}", set(found), {name for _, name, _ in rows})

    fish = re.findall(r"^complete -c hutch -n __hutch_in_options -l (\S+)(?: -s (\w))?",
                      (directory / "hutch.fish").read_text(), re.M)
    compare("completions/hutch.fish", {name for name, _ in fish}, names)
    check({(letter, name) for name, letter in fish if letter} == letters,
          "completions/hutch.fish: other short forms than hutch")

    zsh = (directory / "_hutch").read_text()
    compare("completions/_hutch", set(re.findall(r"--([a-z][a-z-]+)", zsh)), every_name)
    check({(letter, name) for letter, name in re.findall(r"\{-(\w),--([a-z-]+)=?\}", zsh)} == letters,
          "completions/_hutch: other short forms than hutch")


def servers_of(configuration):
    """The servers of a client's configuration, whatever the client calls the object."""
    for key in ("mcpServers", "servers", "context_servers", "mcp_servers"):
        if key in configuration:
            return configuration[key]
    return {}


def check_command(words, names):
    """`words`: hutch's arguments up to `--`."""
    check(words[:1] == ["mcp"] and "--" in words, f"README.md: no `hutch mcp … --`: {words}")
    for word in words[:words.index("--")] if "--" in words else []:
        check(not word.startswith("-") or word.lstrip("-").split("=")[0] in names, f"README.md: {word} is not an option")


def check_readme(source, options):
    names = {name for _, name, _ in options} | {letter for letter, _, _ in options if letter}
    text = (source / "README.md").read_text()
    blocks = re.findall(r"^ *```(\w+)\n(.*?)^ *```$", text, re.M | re.S)
    configurations = [json.loads(block) for language, block in blocks if language == "json"]
    try:
        import tomllib  # Python 3.11
        configurations += [tomllib.loads(block) for language, block in blocks if language == "toml"]
    except ImportError:
        pass
    used = 0
    for configuration in configurations:
        servers = servers_of(configuration)
        check(servers, f"README.md: no servers in {list(configuration)}")
        for server in servers.values():
            if os.path.basename(server["command"]) == "hutch":
                used += 1
                check_command(server["args"], names)
    check(used >= 4, f"README.md: only {used} configurations call hutch")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        check((source / target).exists(), f"README.md: links to {target}, which does not exist")
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        check(anchor in headings, f"README.md: links to #{anchor}, which does not exist")


def main():
    hutch, source = sys.argv[1], Path(sys.argv[2])
    texts = {subcommand: help_of(hutch, subcommand) for subcommand in SUBCOMMANDS}
    options = options_of_help(texts["mcp"])
    lines = len(re.findall(r"^  .{4}--", texts["mcp"], re.M))
    check(options and len(options) == lines, f"hutch mcp --help: {lines} options, {len(options)} understood")
    shared = {row for row in options if row[1] not in NOT_PROVE} | {("", name, "") for name in PROVE_ONLY}
    compare("hutch prove --help", options_of_help(help_of(hutch, "prove")), shared)
    compare("hutch run --help", options_of_help(texts["run"]), {row for row in options if row[1] not in MCP_ONLY})
    plain = {subcommand: options_of_help(help_of(hutch, subcommand)) for subcommand in PLAIN}
    check_overview(hutch, source)
    check_pages(source, options, plain, texts)
    check_completions(source, options | {("", name, "") for name in PROVE_ONLY}, plain)
    check_readme(source, options)
    built = Path(hutch).parent / "man"
    check_installations(source)
    check_sensitive_paths(built, source)
    if not check_lint(built, source):
        print("mandoc is not installed: the man pages' form was not checked")
        check(os.environ.get("HUTCH_TESTS_MUST_RUN") != "1", "mandoc is not installed")
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
