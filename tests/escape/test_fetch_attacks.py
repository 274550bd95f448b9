# SPDX-License-Identifier: Apache-2.0
"""Hostile packages: what an install script can reach, and what it can leave behind for hutch or for other servers. Each attack is
shown to work without the sandbox first, by the same script run outside."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fetching import call, entries, is_direct, npm, uv  # noqa: F401 (fixtures)
from layouts import make


def fetch(npm, name="evil"):
    return call(npm, "fetch", "--", "npx", "-y", name)


def publish(npm, script, name="evil", **manifest):
    """A package whose install script is this one of the shell; its command prints what the script left in `found`."""
    npm.registry.publish(name, scripts={"postinstall": "sh ./attack.sh"}, files={
        "attack.sh": script, "cli.js": "#!/usr/bin/env node\nconsole.log(require('fs').readFileSync(__dirname + '/found', 'utf8'))\n"}, **manifest)


def entry(npm, name="evil"):
    return npm.store / f"npm%3a{name}"


LOOK = """{
cat "$HOME/.ssh/id" "$HOME/.aws/credentials" "$HOME/.npmrc" "$HOME/notes.txt" /etc/shadow
env
cat /proc/[0-9]*/environ | tr '\\0' '\\n'
ls -d "$HOME/.local/share/hutch/packages/"*
} > found 2>&1
:
"""


def test_an_install_script_sees_nothing_of_the_person(npm):
    publish(npm, LOOK)
    outside = subprocess.run(["sh", "-c", LOOK + "cat found; rm found"], env=npm.environment, cwd=npm.directory, capture_output=True, text=True, timeout=20).stdout
    assert {"CANARY-ssh-key", "CANARY-aws", "CANARY-npm", "CANARY-notes"} <= set(outside.split()) and "CANARY-environment" in outside
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert done.status == 0 and "HOME=" in done.out and "CANARY" not in done.out and "packages/npm" not in done.out, done


def test_an_install_script_gets_nothing_of_the_servers_options(npm):
    publish(npm, 'env > found; cat "$HOME/shown/key" >> found 2>&1; :')
    make(npm.home / "shown/key", "CANARY-granted")
    done = call(npm, "run", "-e", "TOKEN=CANARY-token", "--ro", npm.home / "shown", "--", "npx", "-y", "evil")
    assert done.status == 0 and "CANARY" not in done.out, done


def test_an_install_script_reaches_the_registry_alone(npm, world):
    node = "const http = require('http'); http.get(process.argv[1], r => { console.log('reached', r.statusCode); process.exit() }).on('error', e => console.log('refused', e.code))"
    make(npm.directory / "get.js", node)
    places = ["http://allowed.test/", "http://198.51.100.10/", f"http://127.0.0.1:{8000}/", npm.registry.address + "x"]
    publish(npm, "".join(f'node -e "$(cat get.js)" {place} >> found 2>&1\n' for place in places) + ":\n")
    (next((npm.registry.directory / "packages").rglob("attack.sh")).parent / "get.js").write_text(node)
    outside = [world.run(shutil.which("node", path=npm.environment["PATH"]), "-e", node, place).stdout.split()[0] for place in places]
    assert outside[0] == outside[1] == outside[3] == "reached", outside
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert [line.split()[0] for line in done.out.split("\n") if line] == ["refused", "refused", "refused", "reached"], done


PLANT = """cd "$HOME/.npm"
ln -s {home}/.ssh link; ln -s {home}/.ssh/id _cacache/link; ln -s ../.. up
ln -s ../entry.json entry.json; ln -sfn {home}/victim _npx/0123456789abcdef
mkdir -p a/b; chmod 0 a/b
"""


def test_planted_links_lead_nowhere(npm):
    make(npm.home / "victim/file", "mine")
    publish(npm, PLANT.format(home=npm.home).replace("chmod 0 a/b", ":") + "cd - >/dev/null; : > found")
    assert fetch(npm).status == 0
    assert (entry(npm) / "cache/link").is_symlink()
    done = call(npm, "run", "--", "npx", "-y", "-p", "evil", "-c", 'cat "$HOME/.npm/link/id" "$HOME/.npm/_cacache/link" "$HOME/.npm/up/entry.json"; ls "$HOME/.npm/up"')
    assert "CANARY" not in done.out and "CANARY" not in done.err, done
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert done.status == 0, done
    assert call(npm, "fetch", "--verify").status == 0
    assert call(npm, "fetch", "--update").status == 0
    assert call(npm, "fetch", "--remove", "evil").status == 0 and os.listdir(npm.store) == []
    assert (npm.home / "victim/file").read_text() == "mine" and (npm.home / ".ssh/id").exists()


@pytest.mark.parametrize("script, says", [
    ("mkfifo $HOME/.npm/fifo", "not a file, directory or link"), ("mkdir $HOME/.npm/a; echo > $HOME/.npm/a/b; chmod 0 $HOME/.npm/a", "Permission denied"),
    ("truncate -s 1G $HOME/.npm/1 $HOME/.npm/2 $HOME/.npm/3 $HOME/.npm/4 $HOME/.npm/5; sleep 20", "more than 4 GiB"),
    ("cd $HOME/.npm; for i in $(seq 300); do mkdir d; cd d; done", "deeper than"),
    ("head -c 1100000000 /dev/zero > $HOME/.npm/big || exit 3", "could not fetch"), ("yes | head -c 300000; exit 1", "could not fetch")],
    ids=["fifo", "unreadable", "sparse", "deep", "one file", "output"])
def test_what_cannot_be_kept_is_refused_and_removed(npm, script, says):
    if "chmod 0" in script and os.getuid() == 0:
        pytest.skip("root reads everything")
    publish(npm, script)
    done = fetch(npm)
    assert done.status == 125 and says in done.err and len(done.err) < 20000, done
    call(npm, "fetch", "--verify")
    assert os.listdir(npm.store) == []


def test_one_package_cannot_reach_anothers_entry(npm):
    """Neither when it is installed nor when it runs; and what it writes as a server is gone."""
    npm.registry.publish("good")
    assert fetch(npm, "good").status == 0
    before = {path: path.read_bytes() for path in entry(npm, "good").rglob("*") if path.is_file()}
    poison = """for f in $(find / -xdev -path '*hutch/packages*' 2>/dev/null) $(find "$HOME/.npm" -name cli.js); do echo "poison $f" >> found; echo poison >> "$f"; done; : >> found"""
    publish(npm, poison)
    done = call(npm, "run", "--", "npx", "-y", "-p", "evil", "-c", 'cat "$HOME"/.npm/_npx/*/node_modules/evil/found; find "$HOME/.npm" -path "*good*"; echo poison >> "$HOME"/.npm/_npx/*/node_modules/evil/cli.js')
    assert "good" not in done.out, done
    assert {path: path.read_bytes() for path in before} == before
    assert call(npm, "run", "--", "npx", "-y", "good").out == "good 1.0.0\n"
    assert call(npm, "fetch", "--verify", "--", "npx", "-y", "evil").status == 1 or call(npm, "fetch", "--verify").status == 0


def test_a_server_cannot_change_its_own_entry(npm):
    npm.registry.publish("evil", files={"cli.js": "#!/usr/bin/env node\nconst fs = require('fs'); console.log('v1'); fs.writeFileSync(__filename, 'console.log(\"poisoned\")'); console.log(fs.readFileSync(__filename, 'utf8'))\n"})
    for _ in range(2):
        done = call(npm, "run", "--", "npx", "-y", "evil")
        assert done.status == 0 and done.out.startswith("v1\n") and "poisoned" in done.out, done
    assert call(npm, "fetch", "--verify").status == 0


def test_what_an_install_script_says_is_not_written_down(npm):
    """The lock file is read before it runs."""
    publish(npm, 'sed -i s/1.0.0/9.9.9/ "$HOME"/.npm/_npx/*/package-lock.json "$HOME"/.npm/_npx/*/node_modules/.package-lock.json; : > found')
    assert fetch(npm).status == 0
    written = json.loads((entry(npm) / "entry.json").read_text())
    assert [package["version"] for package in written["packages"]] == ["1.0.0"]
    assert "9.9.9" in next(entry(npm).rglob("_npx/*/package-lock.json")).read_text()


def test_a_package_whose_commands_have_the_names_of_what_a_fetch_runs(npm):
    """`sh` and `true` of a package are not what runs before its install scripts are."""
    npm.registry.publish("evil", bin={"evil": "cli.js", "true": "bad.sh", "sh": "bad.sh"}, files={"bad.sh": '#!/bin/sh\necho owned > "$HOME/.npm/owned"\n'})
    assert fetch(npm).status == 0
    assert not (entry(npm) / "cache/owned").exists()


NAMES = ["..", ".", "../../x", "a/../../x", "@/../x", "%2e%2e", "x" * 300, "a b", "-x"]


def test_no_name_leads_out_of_the_store(npm):
    make(npm.home / ".local/share/hutch/x/file", "mine")
    npm.store.mkdir(parents=True, mode=0o700)
    (npm.home / ".local/share/hutch").chmod(0o700)
    for name in NAMES:
        for words in (["fetch", "--remove", name], ["fetch", "--remove", f"npm:{name}"], ["fetch", "--", "npx", "-y", f"--package={name}", "x"]):
            assert call(npm, *words).status in (1, 2, 125), words
        assert (npm.home / ".local/share/hutch/x/file").read_text() == "mine" and os.listdir(npm.store) == [], name


@pytest.mark.parametrize("planted", ["on PATH", "beside npx", "behind a link"])
def test_a_program_in_a_writable_grant_is_not_asked_outside(npm, planted):
    """hutch asks npm for its settings outside; one that an earlier run may have made is not npm."""
    npm.registry.publish("good")
    owned, mine = npm.directory / "owned", npm.home / "project/bin"
    make(mine / "npm", f"#!/bin/sh\ntouch {owned}\nexec {shutil.which('npm', path=npm.environment['PATH'])} \"$@\"\n", 0o755)
    make(mine / "npx", "#!/bin/sh\n", 0o755)
    command = [mine / "npx"] if planted == "beside npx" else ["npx"]
    if planted == "on PATH":
        npm.environment["PATH"] = f"{mine}:{npm.environment['PATH']}"
    if planted == "behind a link":
        make(npm.home / "own/bin/keep", "")
        (npm.home / "own/bin/npx").symlink_to(shutil.which("npx", path=npm.environment["PATH"]))
        (npm.home / "own/bin/npm").symlink_to(mine / "npm")
        npm.environment["PATH"] = f"{npm.home}/own/bin:{npm.environment['PATH']}"
    done = call(npm, "run", "--rw", npm.home / "project", "--", *command, "-y", "good")
    assert done.status == 125 and "refusing to fetch" in done.err and not owned.exists() and not npm.store.exists(), done
    call(npm, "fetch", "--", "npx" if planted != "beside npx" else mine / "npx", "-y", "good")
    assert owned.exists()


# What an install script puts in the place of a package's program, in the directory of the programs.
REPLACED = {"key": "ln -sf {home}/.ssh/id key", "absolute": "ln -sf /usr/bin/id absolute", "upward": "ln -sf ../../../../../../../../.ssh/id upward",
            "magic": "ln -sf /proc/self/exe magic", "directory": "rm directory; mkdir directory", "loop": "ln -sf loop loop",
            "headless": "rm headless; echo 'echo no first line' > headless; chmod 755 headless", "modeless": "cp ../evil/cli.js ../evil/less.js; ln -sf ../evil/less.js modeless; chmod 644 ../evil/less.js"}


def test_a_packages_program_is_a_file_in_its_entry(npm):
    """Of what is something else, hutch neither starts it nor grants what it leads to."""
    script = "echo > found; cd ../.bin; " + "; ".join(REPLACED.values()).format(home=npm.home)
    publish(npm, script, bin={name: "cli.js" for name in ("good", *REPLACED)})
    assert call(npm, "fetch", "--", "npx", "-y", "-p", "evil", "good").status == 0
    wanted = None
    for name in ("good", *REPLACED):
        done = call(npm, "run", "-v", "--dry-run", "--", "npx", "-y", "-p", "evil", name)
        mounts = [(mount["destination"], mount.get("source")) for mount in json.loads(done.out)["mounts"]]
        wanted = wanted or mounts
        assert is_direct(done) == (name == "good") and mounts == wanted, done
    for name in ("key", "upward"):
        done = call(npm, "run", "--", "npx", "-y", "-p", "evil", name)
        assert done.status != 0 and "CANARY" not in done.out and "CANARY" not in done.err, done


@pytest.mark.parametrize("script", ["rm -r .bin; mkdir x; ln -s x .bin; ln -s /usr/bin/id x/evil", "cp -r . ../m; cd ..; rm -r node_modules; ln -s m node_modules",
                                    "rm -r .bin; ln -s {home}/bin .bin"], ids=["the directory", "above it", "outside"])
def test_a_link_in_the_place_of_the_programs_directory(npm, script):
    make(npm.home / "bin/evil", "#!/bin/sh\necho CANARY-outside\n", 0o755)
    publish(npm, "echo > found; cd ..; " + script.format(home=npm.home))
    assert fetch(npm).status == 0
    done = call(npm, "run", "-v", "--dry-run", "--", "npx", "-y", "evil")
    assert not is_direct(done) and str(npm.home / "bin") not in done.out, done


@pytest.mark.parametrize("says", ["/usr", "{home}/.cache/uv/../../.ssh", "{home}/.cache/uv", "relative", "{home}/.cache/uv/link", "x" * 5000], ids=range(6))
def test_a_tools_environment_is_a_directory_in_its_entry(uv, says):
    """What is built for it says where it is."""
    says = says.format(home=uv.home)
    uv.registry.publish("good")
    assert call(uv, "run", "--", "uvx", "good").out == "tool good\n" and is_direct(call(uv, "run", "-v", "--", "uvx", "good"))
    uv.registry.publish("evil", build=f"""if 1:
        (CACHE / "link").symlink_to("/usr")
        python.unlink()
        python.write_text("#!/usr/bin/python3\\nimport sys\\n"
            "if sys.argv[1] == '-c': open({str(uv.home)!r} + '/.cache/uv/hutch-environment', 'w').write({says!r})\\n"
            "else: exec(open(sys.argv.pop(1)).read())\\n")
        python.chmod(0o755)""")
    for option in ([], ["-v"]):
        done = call(uv, "run", *option, "--", "uvx", "evil", "x")
        assert not is_direct(done) and done.out == "tool evil x\n", done


LOOK_AT = "import subprocess; report = subprocess.run(['sh', '-c', {script!r}], capture_output=True, text=True).stdout; (packages / 'report.py').write_text(f'TEXT = {{report!r}}')"


def test_what_a_project_depends_on_sees_nothing_of_it(uv, world):
    """Its list of dependencies apart. What builds the project sees it, and reaches nothing."""
    project = uv.home / "project"
    reach = f"python3 -c 'import urllib.request; print(\"REACHED\", urllib.request.urlopen(\"{uv.registry.address}evil\").status)' || true"
    look = f"cat {project}/.env {project}/main.py $HOME/.ssh/id; ls /tmp/*; {reach}"
    make(project / "pyproject.toml", "[project]\ndependencies = [\"evil\"]\n\n[build-system]\nrequires = [\"backend\"]\n")
    make(project / "main.py", "import sys\nsys.path[:0] = []\nimport report, built\nprint(report.TEXT, '-' * 9, built.TEXT)\n")
    make(project / ".env", "CANARY-project")
    uv.registry.publish("evil", build=LOOK_AT.format(script=look))
    uv.registry.publish("backend", build=LOOK_AT.format(script=look).replace("report.py", "built.py"))
    done = call(uv, "run", "--", "uv", "--directory", project, "run", "main.py")
    evil, backend = done.out.split("-" * 9)
    assert done.status == 0 and "CANARY" not in evil and "import report" not in evil and "pyproject.toml" in evil, done
    assert "CANARY-project" in backend and "CANARY-ssh" not in backend and "REACHED" not in backend and "REACHED" in evil, done
    assert sorted(path.name for path in project.iterdir()) == [".env", "main.py", "pyproject.toml"]


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock", ".python-version"])
def test_a_projects_lists_are_files_of_its_own(uv, name):
    """Not links, which a server may have made in an earlier run."""
    make(uv.home / "project/pyproject.toml", "[project]\ndependencies = [\"evil\"]\n")
    make(uv.home / "secret", "[project]\ndependencies = [\"evil\"]\nCANARY-secret\n")
    uv.registry.publish("evil", build=LOOK_AT.format(script="cat /tmp/*/*"))
    command = ["run", "--", "uv", "--directory", uv.home / "project", "run", "python", "-c", "import report; print(report.TEXT)"]
    assert "evil" in call(uv, *command).out
    (uv.home / "project" / name).unlink(missing_ok=True)
    (uv.home / "project" / name).symlink_to(uv.home / "secret")
    done = call(uv, *command)
    assert done.status == 125 and "is not a regular file" in done.err and "CANARY" not in done.out, done


def test_what_a_server_left_in_a_kept_home_opens_nothing(hutch):
    """A link in the place of a mount, or of npm's cache."""
    make(hutch.home / "notes/file", "granted")
    hutch.inside(f"rm -rf ~/notes; ln -s {hutch.home}/.ssh ~/notes; ln -s {hutch.home}/.ssh ~/.npm; ln -s {hutch.home}/.ssh/id ~/id", "--persist", "x")
    done = hutch("run", "--persist", "x", "--ro", hutch.home / "notes", "--", "sh", "-c", "cat ~/notes/* ~/id ~/.npm/id")
    assert "CANARY" not in done.out and done.status == 125 and "cannot make a place" in done.err, done
    assert "CANARY" not in hutch("run", "--persist", "x", "--", "sh", "-c", "cat ~/id ~/.npm/id").out
    assert not (hutch.home / ".ssh/file").exists()
    assert Path(hutch.home / ".local/share/hutch/homes/x/notes").is_symlink()
