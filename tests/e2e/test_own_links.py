# SPDX-License-Identifier: Apache-2.0
"""Links that tools make, and the user's own, still lead where they should: within the project of a typed path, and to what is
installed. Another one brings a note, whose advice works."""
import os
import re
import shutil
import subprocess

import pytest
from harness import PYTHON
from layouts import CMD_SHIM, grants, installed, make, package


def link(place, text):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(text)
    return place


def runs(hutch, command, says, **popen):
    done = hutch("run", "--", *command, **popen)
    assert (done.status, done.out, done.own_lines) == (0, says, []), done


def needs_advice(hutch, command, says, advice, **popen):
    """One note, and nothing is granted; with the grant that the note advises, the command runs."""
    done = hutch("run", "--", *command, **popen)
    assert done.out == "" and done.status != 0, done
    note, = [line for line in done.own_lines if "is not granted" in line]
    assert re.search(r"--ro (\S+) grants it", note)[1] == str(advice), note
    done = hutch("run", "--ro", advice, "--", *command, **popen)
    assert (done.status, done.out, done.own_lines) == (0, says, []), done


@pytest.mark.parametrize("place", ["work"])
def test_a_project_directory_that_the_person_linked(hutch, place):
    """~/work -> /data/work: no server ever writes in the home itself."""
    data = hutch.directory / "data/project"
    make(data / "server.py", "import helper; print(helper.text)")
    make(data / "helper.py", "text = 'hello'")
    link(hutch.home / place, data.parent)
    runs(hutch, [PYTHON, hutch.home / place / "project/server.py"], "hello\n", cwd="/")
    runs(hutch, [PYTHON, "server.py"], "hello\n", cwd=hutch.home / place / "project")
    runs(hutch, [PYTHON, f"{place}/project/server.py"], "hello\n", cwd=hutch.home)
    # Below the home, a clone may have brought the link.
    needs_advice(hutch, [PYTHON, link(hutch.home / "code/work", data.parent) / "project/server.py"], "hello\n", data, cwd="/")


def test_a_home_that_is_a_link(hutch):
    home = link(hutch.directory / "name", hutch.home)
    make(hutch.home / "server/server.py", "print('hello')")
    runs(hutch, [PYTHON, home / "server/server.py"], "hello\n", cwd="/", env={"HOME": str(home)})


def test_links_within_a_project(hutch):
    project = hutch.home / "code/project"
    make(project / "package.json", "{}")
    make(project / "src/run", "#!/bin/sh\necho hello\n", 0o755)
    runs(hutch, [link(project / "bin/run", "../src/run")], "hello\n")
    runs(hutch, [link(project / "bin/absolute", project / "src/run")], "hello\n")
    runs(hutch, ["sh", link(project / "current", "src") / "run"], "hello\n")


def test_a_command_of_a_workspaces_member(hutch, node):
    """npm links the member into the top's node_modules, and its command into .bin."""
    top = package(hutch.home / "code/top", "top", workspaces=["packages/*"])
    server = package(top / "packages/server", "server", "#!/usr/bin/env node\nconsole.log(require('greeting'))")
    (server / "index.js").chmod(0o755)
    package(top / "node_modules/greeting", "greeting", "module.exports = 'hello'")
    link(top / "node_modules/server", "../packages/server")
    link(top / "node_modules/.bin/server", "../server/index.js")
    runs(hutch, [top / "node_modules/.bin/server"], "hello\n", cwd="/")
    runs(hutch, [node, top / "node_modules/server/index.js"], "hello\n", cwd="/")


def test_a_prefix_of_packages_that_is_on_the_path(hutch, node):
    """npm's `prefix` in a directory of its own, and a package that `npm link` put there."""
    prefix, source = hutch.home / "data/npm", package(hutch.home / "code/tool", "tool", "#!/usr/bin/env node\nconsole.log('hello')")
    (source / "index.js").chmod(0o755)
    link(prefix / "lib/node_modules/tool", source)
    link(prefix / "bin/tool", "../lib/node_modules/tool/index.js")
    needs_advice(hutch, ["tool"], "hello\n", source, cwd="/", env={"PATH": f"{prefix}/bin:{hutch.environment['PATH']}"})
    (prefix / "lib/node_modules/tool").unlink()
    source.rename(prefix / "lib/node_modules/tool")
    runs(hutch, ["tool"], "hello\n", cwd="/", env={"PATH": f"{prefix}/bin:{hutch.environment['PATH']}"})


def test_a_command_of_pnpm_in_its_project(hutch, node):
    project = package(hutch.home / "code/project", "project")
    real = package(project / "node_modules/.pnpm/tool@1.0.0/node_modules/tool", "tool", "console.log('hello')")
    link(project / "node_modules/tool", ".pnpm/tool@1.0.0/node_modules/tool")
    command = make(project / "node_modules/.bin/tool", CMD_SHIM.format(modules=real.parent, target="../tool/index.js"), 0o755)
    runs(hutch, [command], "hello\n", cwd="/")


def test_a_tool_that_the_installer_of_uv_linked(hutch):
    """~/.local/bin/tool -> the tool's environment -> uv's own Python, by way of its minor version."""
    python = hutch.home / ".local/share/uv/python/cpython-3.11.9-linux-x86_64-gnu"
    make(python / "lib/python3.11/os.py")
    make(python / "bin/python3.11", "#!/bin/sh\necho hello\n", 0o755)
    link(python.parent / "cpython-3.11-linux-x86_64-gnu", python)
    tool = hutch.home / ".local/share/uv/tools/tool"
    make(tool / "pyvenv.cfg", f"home = {python.parent}/cpython-3.11-linux-x86_64-gnu/bin\n")
    link(tool / "bin/python", python.parent / "cpython-3.11-linux-x86_64-gnu/bin/python3.11")
    make(tool / "bin/tool", f"#!{tool}/bin/python\n", 0o755)
    link(hutch.home / ".local/bin/tool", tool / "bin/tool")
    for command in (["tool"], [hutch.home / ".local/bin/tool"]):
        runs(hutch, command, "hello\n", env={"PATH": f"{hutch.home}/.local/bin:/usr/bin:/bin"})


@pytest.mark.parametrize("base", [".local/share/uv/python/cpython-3.11.9-linux-x86_64-gnu", ".pyenv/versions/3.11.9", "miniconda3", ".linuxbrew/Cellar/python/3.11"])
def test_a_clones_environment_on_an_installed_python(hutch, base):
    """The link leads out of the project, to what is plainly an installation and nobody's own directory."""
    prefix, project = hutch.home / base, hutch.home / "code/clone"
    make(prefix / "lib/python3.11/os.py")
    make(prefix / "bin/python3.11", "#!/bin/sh\necho hello\n", 0o755)
    make(hutch.home / "data/key", "CANARY")
    if ".linuxbrew" in base:
        (hutch.home / ".linuxbrew/bin").mkdir()
    link(project / ".venv/bin/python3", prefix / "bin/python3.11")
    link(project / ".venv/bin/python", "python3")
    make(project / ".venv/pyvenv.cfg", f"home = {prefix}/bin\n")
    make(project / "server.py")
    for command in ([project / ".venv/bin/python", project / "server.py"], [make(project / ".venv/bin/tool", f"#!{project}/.venv/bin/python\n", 0o755)]):
        runs(hutch, command, "hello\n", cwd="/")
        whole = hutch.home / ".linuxbrew" if ".linuxbrew" in base else prefix
        assert grants(hutch, "--", *command, cwd="/") == {str(project), *installed(whole)}


def test_a_clones_environment_on_a_python_elsewhere(hutch):
    prefix, project = hutch.home / "data/python", hutch.home / "code/clone"
    make(prefix / "lib/python3.11/os.py")
    make(prefix / "bin/python3.11", "#!/bin/sh\necho hello\n", 0o755)
    link(project / ".venv/bin/python", prefix / "bin/python3.11")
    make(project / ".venv/pyvenv.cfg", f"home = {prefix}/bin\n")
    needs_advice(hutch, [project / ".venv/bin/python"], "hello\n", prefix, cwd="/")


@pytest.mark.parametrize("tool", [["venv"], ["venv", "--copies"], ["virtualenv"]], ids=" ".join)
def test_environments_as_tools_make_them(hutch, tool):
    project = hutch.home / "code/project"
    if subprocess.run([PYTHON, "-m", tool[0], "--help"], capture_output=True).returncode:
        pytest.skip(f"{tool[0]} is not installed")
    without = ["--without-pip"] if tool[0] == "venv" else ["--no-seed"]
    subprocess.run([PYTHON, "-m", *tool, *without, project / ".venv"], check=True, capture_output=True, env={**os.environ, "HOME": str(hutch.home)})
    make(project / "server.py", "import sys; print(sys.prefix)")
    runs(hutch, [project / ".venv/bin/python", project / "server.py"], f"{project}/.venv\n", cwd="/")


def test_a_program_on_the_path_that_a_clones_script_names(hutch):
    tool = make(hutch.home / "data/bin/tool", "#!/bin/sh\necho hello\n", 0o755)
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    for line in ("/usr/bin/env tool", str(tool)):
        script = make(hutch.home / "code/clone/script", f"#!{line}\n", 0o755)
        needs_advice(hutch, [script], "hello\n", tool.parent, env=env)
    runs(hutch, ["tool"], "hello\n", env=env)


@pytest.mark.root
def test_a_link_of_the_administrator(hutch):
    """/usr/local/bin leads to /opt, as an installer puts it."""
    prefix, command = f"/opt/hutch-test-{os.getpid()}", f"/usr/local/bin/hutch-test-{os.getpid()}"
    try:
        os.mkdir(prefix)
        with open(f"{prefix}/tool", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho hello\n")
        os.chmod(f"{prefix}/tool", 0o755)
        os.symlink(f"{prefix}/tool", command)
        runs(hutch, [command], "hello\n")
    finally:
        shutil.rmtree(prefix, ignore_errors=True)
        os.unlink(command)
