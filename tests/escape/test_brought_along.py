# SPDX-License-Identifier: Apache-2.0
"""A clone, a package or an archive that the user unpacked names files of the user's other projects, by a link, a #! line, a
shim or a pyvenv.cfg. The user types only a path of the clone, so nothing outside of it comes along but what is installed."""
import os
import re
import subprocess

import pytest
from harness import PYTHON
from layouts import CMD_SHIM, grants, make


def link(place, text):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(text)
    return place


@pytest.fixture
def other(hutch):
    """Another project of the user's, with a virtual environment and a secret."""
    project = hutch.home / "other"
    make(project / "pyproject.toml")
    make(project / "package.json", "{}")
    make(project / ".env", "CANARY")
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    make(project / "tool", f"#!/bin/sh\ncat {project}/.env\n", 0o755)
    link(project / "python", PYTHON)
    return project


@pytest.fixture
def clone(hutch):
    return make(hutch.home / "clone/package.json", "{}").parent


def advice(done):
    """The grant that the one note advises."""
    notes = [line for line in done.own_lines if "is not granted" in line]
    assert len(notes) == 1, done
    return re.search(r"--ro (\S+) grants it", notes[0])[1]


def check(hutch, other, *command, follow=None, **popen):
    """The command reads nothing of the other project; and where `follow` is a text, the advice makes it say that."""
    done = hutch("run", "--", *command, **popen)
    assert "CANARY" not in done.out + done.err, done
    assert str(other) not in grants(hutch, "--", *command, **popen)
    if follow is not None:
        done = hutch("run", "--ro", advice(done), "--", *command, **popen)
        assert done.status == 0 and follow in done.out and not done.own_lines, done


def read(other):
    return f'print(open("{other}/.env").read())\n'


def test_a_line_that_names_another_projects_environment(hutch, other, clone):
    script = make(clone / "srv", f"#!{other}/.venv/bin/python\nimport sys; print('started')\n", 0o755)
    check(hutch, other, script, follow="started")
    make(script, f"#!{other}/.venv/bin/python\n{read(other)}", 0o755)
    check(hutch, other, script)


def test_a_line_that_names_another_projects_program(hutch, other, clone):
    check(hutch, other, make(clone / "srv", f"#!{other}/tool\n", 0o755), follow="CANARY")


@pytest.mark.parametrize("place", [".venv/bin/python", "python", "bin/python"])
@pytest.mark.parametrize("target", [".venv/bin/python", "python"])
def test_a_link_to_another_projects_python(hutch, other, clone, place, target):
    python = link(clone / place, os.path.relpath(other / target, (clone / place).parent))
    make(clone / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    check(hutch, other, python, "-c", read(other))
    check(hutch, other, python, make(clone / "server.py", read(other)))


@pytest.mark.parametrize("place", [".venv", "current", "node_modules"])
def test_a_directory_of_the_clone_that_is_a_link(hutch, other, clone, place):
    link(clone / place, other / (".venv" if place == ".venv" else "."))
    check(hutch, other, clone / place / ("bin/python" if place == ".venv" else "python"), "-c", read(other))
    check(hutch, other, PYTHON, clone / place / "tool")


def test_a_command_of_node_modules(hutch, other, clone):
    command = link(clone / "node_modules/.bin/tool", "../../../other/tool")
    check(hutch, other, command, follow="CANARY")
    check(hutch, other, "tool", env={"PATH": f"{command.parent}:/usr/bin:/bin"}, follow="CANARY")


def test_a_script_of_pnpm(hutch, other, clone, node):
    make(other / "cli.js", f"console.log(require('fs').readFileSync('{other}/.env', 'utf8'))")
    command = make(clone / "node_modules/.bin/tool", CMD_SHIM.format(modules="/none", target="../../../other/cli.js"), 0o755)
    check(hutch, other, command, follow="CANARY")


def test_an_entry_of_path_in_a_clone(hutch, clone):
    """As `npm run` and an activated environment set PATH."""
    secret = make(hutch.home / "secret-proj/package.json", "{}").parent
    make(secret / "key", "CANARY")
    make(secret / "x", f"#!/bin/sh\ncat {secret}/key\n", 0o755)
    link(clone / "node_modules/.bin/x", "../../../secret-proj/x")
    for directory in (clone / "node_modules/.bin", link(clone / "here", "node_modules/.bin")):
        check(hutch, secret, "x", env={"PATH": f"{directory}:/usr/bin:/bin"})


def test_a_program_of_path_in_another_project(hutch, other, clone):
    """The environment of the other project is active, and the clone's script asks for its Python."""
    for text, follow in ((read(other), None), ("print('started')", "started")):
        script = make(clone / "srv", f"#!/usr/bin/env python\n{text}", 0o755)
        check(hutch, other, script, env={"PATH": f"{other}/.venv/bin:/usr/bin:/bin"}, follow=follow)


@pytest.mark.parametrize("copies", [False, True])
def test_a_base_that_only_looks_installed(hutch, clone, copies):
    """T6: what a directory looks like is nobody's word."""
    tools = hutch.home / "tools/py"
    make(tools / "lib/python3.11/os.py")
    make(tools / "envs/mine/key", "CANARY")
    make(tools / "bin/python3", f"#!/bin/sh\ncat {tools}/envs/mine/key\n", 0o755)
    make(clone / ".venv/pyvenv.cfg", f"home = {tools}/bin\n")
    python = clone / ".venv/bin/python"
    if copies:
        make(python, f"#!/bin/sh\ncat {tools}/envs/mine/key\n", 0o755)
    else:
        link(python, tools / "bin/python3")
    check(hutch, tools, python, follow="CANARY")


@pytest.mark.parametrize("name", ["envs/mine/key", "etc/key", "var/key", ".condarc", "pkgs/x/key"])
def test_what_an_installation_has_beside_its_programs(hutch, clone, name):
    conda = hutch.home / "miniconda3"
    make(conda / name, "CANARY")
    make(conda / "lib/python3.11/os.py")
    make(conda / "bin/python3", f"#!/bin/sh\ncat {conda}/{name}\n", 0o755)
    make(clone / ".venv/pyvenv.cfg", f"home = {conda}/bin\n")
    done = hutch("run", "--", link(clone / ".venv/bin/python", conda / "bin/python3"))
    assert "CANARY" not in done.out and done.status == 1 and not done.own_lines, done  # it ran, and its cat failed


def test_an_installation_that_is_a_link(hutch, other, clone):
    """A manager's version that leads elsewhere is no installation."""
    link(hutch.home / ".pyenv/versions/3.12", other)
    check(hutch, other, make(clone / "srv", f"#!{hutch.home}/.pyenv/versions/3.12/tool\n", 0o755))
    make(hutch.home / ".pyenv/versions/3.11/bin/x", "#!/bin/sh\n", 0o755)
    link(hutch.home / ".pyenv/versions/3.11/lib", other)
    check(hutch, other, hutch.home / ".pyenv/versions/3.11/bin/x")
    check(hutch, other, make(clone / "srv", f"#!{hutch.home}/.pyenv/versions/3.11/lib/tool\n", 0o755))


@pytest.mark.parametrize("name", ["Documents", "Downloads", "Desktop"])
def test_a_script_among_private_files_comes_alone(hutch, name):
    directory = hutch.home / name
    make(directory / "diary", "CANARY")
    make(directory / "package.json", "{}")
    script = make(directory / "server.py", f"print(open('{directory}/diary').read())")
    done = hutch("run", "--", PYTHON, script)
    assert done.status == 1 and "CANARY" not in done.out and len(done.own_lines) == 1, done
    assert f"only the file {script} is granted" in done.err and f"--ro {directory}" in done.err, done
    done = hutch("run", "--ro", directory, "--", PYTHON, script)
    assert "CANARY" in done.out and not done.own_lines, done
    inner = make(directory / "server/server.py", "print('started')")
    assert hutch("run", "--", PYTHON, inner).out == "started\n"
    assert grants(hutch, "--", PYTHON, inner) == {str(inner.parent)}


def test_a_clone_that_looks_like_a_version_manager(hutch, other, clone):
    """Its shims choose among its own files; a directory of versions that leads out is followed by nothing."""
    make(other / "node/1/bin/node", f"#!/bin/sh\ncat {other}/.env\n", 0o755)
    make(clone / "bin/volta-shim", "binary", 0o755)
    make(clone / "tools/user/platform.json", '{"node": {"runtime": "1", "npm": null}}')
    link(clone / "tools/image", other)
    make(clone / "shims/node", "#!/usr/bin/env bash\n# asdf-plugin: node 1\nexec asdf exec node\n", 0o755)
    make(clone / ".tool-versions", "node 1\n")
    link(clone / "installs", other)
    for shim in (link(clone / "bin/node", "volta-shim"), clone / "shims/node"):
        check(hutch, other, shim, cwd=clone, follow="CANARY")
        check(hutch, other, make(clone / "srv", f"#!{shim}\n", 0o755), cwd=clone)


def test_a_variable_names_the_place_of_an_installation(hutch, clone):
    """A manager that the user moved is known by its own variable, and only by that."""
    root = hutch.home / "moved"
    make(root / "versions/3/bin/python3", "#!/bin/sh\necho started\n", 0o755)
    make(root / "versions/3/etc/key", "CANARY")
    script = make(clone / "srv", f"#!{root}/versions/3/bin/python3\n", 0o755)
    check(hutch, root / "versions/3/bin", script, follow="started")
    env = {"PYENV_ROOT": str(root)}
    assert hutch("run", "--", script, env=env).out == "started\n"
    assert grants(hutch, "--", script, env=env) == {str(clone), f"{root}/versions/3/bin"}
