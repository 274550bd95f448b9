#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for uv and uvx, which downloads, keeps and starts as they document it. An index answers /NAME with what tests/lib/registry.py
says of a package; its `build` is code that runs when it is installed, as that of a package without a wheel does. A project is a package
when its pyproject.toml has a [build-system], and then needs the package `backend` and a file main.py of its own."""
import json
import os
import re
import sys
import urllib.request
from pathlib import Path

NAME = os.path.basename(sys.argv[0])
CACHE = Path.home() / ".cache/uv"


def fail(text):
    sys.exit(f"error: {text}")


def take_options(words, with_value):
    """The options before the first other word, each with its value, and the rest."""
    options = {}
    while words and words[0].startswith("-"):
        option, _, value = words.pop(0).partition("=")
        if option == "--":
            break
        options.setdefault(option, []).append((value or words.pop(0)) if option in with_value else "")
    return options, words


def download(requirement):
    kept = CACHE / "wheels" / requirement
    if not kept.exists():
        if os.environ.get("UV_OFFLINE") == "1":
            fail(f"offline: {requirement}")
        data = urllib.request.urlopen(os.environ["UV_DEFAULT_INDEX"] + re.split("[=<>~!@[]", requirement)[0]).read()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
    latest = json.loads(kept.read_text())
    return latest["versions"][latest["dist-tags"]["latest"]]


def make_environment(directory, requirements):
    (directory / "bin").mkdir(parents=True, exist_ok=True)
    python = directory / "bin/python"
    if not python.is_symlink():
        python.symlink_to("/usr/bin/python3")
    (directory / "pyvenv.cfg").write_text("home = /usr/bin\n")
    packages = directory / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    packages.mkdir(parents=True, exist_ok=True)
    for requirement in requirements:
        package = download(requirement)
        module = packages / f"{package['name']}.py"
        if not module.exists():
            module.write_text(f"VERSION = {package['version']!r}\n")
            exec(package.get("build", ""))
    return packages


def tool_run(words):
    if words == ["--help"]:
        sys.exit(print(f"--default-index  the URL of the default package index (by default: <{Path('/usr/share/uv-index').read_text()}>)"))
    options, words = take_options(words, ("--from", "--with", "-w", "--python", "-p"))
    asked = options["--from"][0] if "--from" in options else words[0].replace("@", "==")
    directory = CACHE / "archive-v0" / asked
    if not directory.exists():
        make_environment(directory, [asked, *options.get("--with", [])])
        for name in {re.split("[=<>~!@[]", asked)[0], "tool"}:
            (directory / "bin" / name).write_text(f"#!{directory}/bin/python\nimport sys\nprint('tool', {asked!r}, *sys.argv[1:])\n")
            (directory / "bin" / name).chmod(0o755)
    program = directory / "bin" / (words[0] if "--from" in options else re.split("[=<>~!@[]", words[0])[0])
    (CACHE / "uv was here").touch()
    os.environ["PATH"] = f"{directory}/bin:{os.environ['PATH']}"
    os.execv(program, [program, *words[1:]])


def sync(options, directory):
    text = (directory / "pyproject.toml").read_text()
    environment = directory / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
    packages = make_environment(environment, json.loads(re.search(r"^dependencies = (.*)", text, re.M)[1]))
    if "--frozen" not in options:
        (directory / "uv.lock").write_text("locked")
    if "[build-system]" in text and "--no-install-project" not in options:
        exec(download("backend").get("build", ""))
        if not (directory / "main.py").exists():
            fail("unable to determine which files to ship")
        (packages / "project.pth").write_text(f"{directory}\n")
    return environment


def find_project(directory):
    for above in (directory, *directory.parents):
        if (above / "pyproject.toml").exists():
            return above
    fail("no project")


def run(words):
    options, words = take_options(words, ("--directory", "--project"))
    if "--directory" in options:
        os.chdir(options["--directory"][0])
    project = find_project(Path(options.get("--project", ["."])[0]).absolute())
    environment = project / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
    if not os.environ.get("UV_NO_SYNC"):
        sync(options, project)
    os.environ["PATH"], os.environ["VIRTUAL_ENV"] = f"{environment}/bin:{os.environ['PATH']}", str(environment)
    if words[0].endswith(".py"):
        words.insert(0, "python")
    os.execvp(words[0], words)


def main(words):
    if NAME == "uvx":
        tool_run(words)
    before, words = take_options(words, ("--directory", "--project"))
    before = [part for option, values in before.items() for value in values for part in (option, value) if part]
    if words[:2] == ["tool", "run"]:
        tool_run(words[2:])
    elif words[:1] == ["run"]:
        run([*before, *words[1:]])
    elif words[:1] == ["sync"]:
        sync(words, Path.cwd())
    else:
        fail(f"unknown {words}")


main(sys.argv[1:])
