# SPDX-License-Identifier: Apache-2.0
"""What an earlier run left in a directory that was writable then, or what a clone brings along, leads to somebody's private
directory. Nobody grants that; the command reads it outside, and inside it must not come along."""
import json
import os
import subprocess

import pytest
from harness import PYTHON
from layouts import CMD_SHIM, make
from test_shims import SHIM

DOUBT = "nor in a known installation, and is not granted"


@pytest.fixture
def private(hutch):
    """The person's, and honestly marked as much that a search could take for a project or an installation."""
    directory = hutch.home / "code/private"
    read = f"cat {directory}/key\n"
    make(directory / "key", "CANARY-private")
    for name in ("run", "bin/python3", "bin/python", "bin/tool", ".bin/tool", "sub/run", ".git/hooks/x.sample"):
        make(directory / name, "#!/bin/sh\n" + read, 0o755)
    make(directory / "__main__.py", f"print(open({str(directory / 'key')!r}).read())")
    for name in ("package.json", "pyproject.toml", "pyvenv.cfg"):
        make(directory / name, {"package.json": "{}", "pyvenv.cfg": "home = /usr/bin\n"}.get(name, ""))
    make(directory / "lib/python3.9/os.py")
    make(directory / "include/node/x")
    make(directory / "bin/node", "#!/bin/sh\n" + read, 0o755)
    return directory


@pytest.fixture(params=["plain", "package", "repository"])
def clone(hutch, request):
    directory = hutch.home / "code/clone"
    make(directory / "README")
    if request.param == "package":
        make(directory / "package.json", '{"workspaces": ["../private", "../*"]}')
    if request.param == "repository":
        make(directory / ".git/HEAD", "ref: refs/heads/main\n")
    return directory


def link(place, text):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(text)
    return place


def outside(hutch, command, cwd):
    return subprocess.run(command, capture_output=True, text=True, env=hutch.environment, cwd=cwd, timeout=30, stdin=subprocess.DEVNULL).stdout


def sources(hutch, *words, **popen):
    done = hutch("run", "--dry-run", *words, **popen)
    assert done.status == 0, done
    return [mount["source"] for mount in json.loads(done.out)["mounts"] if mount["kind"] == "bind" and mount["why"] != "base"]


def check(hutch, command, private, cwd, notes=1, grants=()):
    """Outside it reads the key; inside it does not, nothing of the directory is visible, and one note says so."""
    assert "CANARY" in outside(hutch, command, cwd), "the attempt proves nothing"
    done = hutch("run", *grants, "--", *command, cwd=cwd)
    assert "CANARY" not in done.out + done.err, done
    shown = sources(hutch, *grants, "--", *command, cwd=cwd)
    assert not [path for path in shown if path.startswith(str(private)) or str(private).startswith(path + "/")], shown
    told = [line for line in done.own_lines if DOUBT in line]
    assert len(told) == notes and all(f"--ro {private}" in line for line in told), done
    return done


def links_to_files(clone):
    return [["sh", link(clone / "index", "../private/run")], ["sh", link(clone / ".claude/index", "../../private/run")],
            [link(clone / "start", "../private/run")], [link(link(clone / "one", "two").parent / "two", "../private/run").parent / "one"]]


def test_a_link_to_a_file(hutch, clone, private):
    for command in links_to_files(clone):
        check(hutch, command, private, "/")
        assert "CANARY" in hutch("run", "--ro", private, "--", *command).out  # as the note says
        assert "CANARY" in hutch("run", "--ro", clone, "--ro", private / "key", "--ro", private / "run", "--", *command).out
        check(hutch, command, private, "/", grants=["--ro", clone])


def test_a_link_to_a_directory(hutch, clone, private):
    link(clone / "server", "../private")
    link(clone / "deep", "../private/sub")
    for command in (["sh", clone / "server/run"], [clone / "server/sub/run"], [PYTHON, clone / "server"], ["sh", f"{clone}/deep/../run"],
                    ["sh", "server/run"], ["sh", "clone/server/run"]):
        cwd = clone if command[1:] == ["server/run"] else clone.parent
        done = check(hutch, command, private, cwd)
        assert f"--ro {private}" in done.err
        assert "CANARY" in hutch("run", "--ro", private, "--ro", clone, "--", *command, cwd=cwd).out
        if os.path.isabs(command[-1]) and "/../" not in str(command[-1]):
            assert "CANARY" in hutch("run", "--ro", private, "--", *command, cwd=cwd).out  # as the note says
    check(hutch, [PYTHON, "-c", f"print(open('{private}/key').read())"], private, clone / "server", notes=0)


def test_a_run_leaves_a_link_for_the_next(hutch, private):
    server = hutch.home / "code/server"
    script = make(server / "s.py", f"import os; os.unlink({str(server / 's.py')!r}); os.symlink('../private/__main__.py', {str(server / 's.py')!r})")
    command = [PYTHON, script]
    assert hutch("run", "--rw", server, "--", *command).status == 0 and script.is_symlink()
    for grants in ([], ["--ro", server]):
        check(hutch, command, private, "/", grants=grants)
        check(hutch, [PYTHON, "s.py"], private, server, grants=grants)
    assert "CANARY" not in hutch("run", "--rw", server, "--", *command).out


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_a_virtual_environment_that_is_a_link(hutch, clone, private, name):
    """Its marks are true, and it is nobody's runtime."""
    link(clone / name, "../private")
    make(clone / "pyproject.toml")
    check(hutch, [clone / name / "bin/python"], private, "/")
    check(hutch, [f"{name}/bin/python", "-c", ""], private, clone)
    if name == ".venv":
        uv = make(hutch.home / ".local/bin/uv", "#!/bin/sh\nexec .venv/bin/python\n", 0o755)
        check(hutch, [uv, "run", "python"], private, clone)


def test_an_environment_names_a_base(hutch, clone, private):
    venv = clone / ".venv"
    make(venv / "pyvenv.cfg", f"home = {private}/bin\n")
    link(venv / "bin/python", f"{private}/bin/python")
    check(hutch, [venv / "bin/python"], private, "/")


@pytest.mark.parametrize("line", ["private/.git/hooks/x.sample", "{private}/bin/tool", "clone/../private/run", "/usr/bin/env private/run", "/usr/bin/env -S {private}/run",
                                  "clone/step"])
def test_the_first_line_of_a_script(hutch, clone, private, line):
    link(clone / "step", "../private/run")
    script = make(clone / "script", f"#!{line.format(private=private)}\n", 0o755)
    check(hutch, [script], private, clone.parent)
    check(hutch, ["clone/script"], private, clone.parent)


def test_a_script_that_starts_node(hutch, clone, private):
    make(private / "index.js", f"console.log(require('fs').readFileSync({str(private / 'key')!r}, 'utf8'))")
    for target in ("../../private/index.js", "../link/index.js"):
        command = make(clone / "bin/server", CMD_SHIM.format(modules="/", target=target), 0o755)
        if not (clone / "link").is_symlink():
            link(clone / "link", "../private")
        check(hutch, [command], private, "/")


def test_node_modules_that_is_a_link(hutch, clone, private):
    link(clone / "node_modules", "../private")
    npx = make(hutch.home / ".local/bin/npx", "#!/bin/sh\nexec node_modules/.bin/tool\n", 0o755)
    check(hutch, [npx, "tool"], private, clone)


def test_a_directory_that_uv_is_sent_to(hutch, clone, private):
    link(clone / "server", "../private")
    uv = make(hutch.home / ".local/bin/uv", f"#!/bin/sh\ncat {private}/key\n", 0o755)
    check(hutch, [uv, "--directory", clone / "server", "run", "x"], private, "/")


def test_a_shim_that_comes_with_a_clone(hutch, clone, private):
    shim = make(clone / "shims/python3", "#!/bin/sh\nexec ../versions/1/bin/python3\n" + SHIM.format(root=clone).split("\n", 1)[1], 0o755)
    make(clone / "version", "1\n")
    link(clone / "versions/1", "../../private")
    check(hutch, ["./python3"], private, shim.parent)


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_link_where_everybody_may_write(hutch, private, mode):
    """Also within the directory, and by the name of a project."""
    place = hutch.home / "code"
    command = ["sh", link(place / "start", "private/run")]
    place.chmod(mode)
    check(hutch, command, private, "/")


def test_a_relative_entry_of_the_path(hutch, clone, private):
    """It is the working directory's, not the person's word."""
    link(clone / "bin/tool", "../../private/run")
    assert "CANARY" not in hutch("run", "--", "tool", cwd=clone, env={"PATH": "bin:/usr/bin:/bin"}).out
    assert str(private) not in sources(hutch, "--", "tool", cwd=clone, env={"PATH": "bin:/usr/bin:/bin"})


def test_an_activated_environment_that_became_a_link(hutch, clone, private):
    """Its bin on PATH is the person's word for the directory that was there, not for where a link leads now."""
    link(clone / ".venv", "../private")
    script = make(clone / "script", f"#!{private}/bin/tool\n", 0o755)
    hutch.environment["PATH"] = f"{clone}/.venv/bin:/usr/bin:/bin"
    for command in (["tool"], ["python"], [script]):
        check(hutch, command, private, "/")


def test_keys_behind_a_link_stop_the_run(hutch, clone):
    link(clone / "index", hutch.home / ".ssh/id")
    done = hutch("run", "--", "sh", clone / "index")
    assert done.status == 125 and "keys" in done.err, done


def test_a_real_runtime_brings_nothing_that_lies_below_it(hutch, clone):
    prefix = hutch.home / ".pyenv/versions/3.11.0"
    make(prefix / "lib/python3.11/os.py")
    make(prefix / "bin/python3", "#!/bin/sh\necho runtime\n", 0o755)
    mine = make(prefix / "tool/run", f"#!/bin/sh\ncat {prefix}/tool/key\n", 0o755).parent
    make(mine / "key", "CANARY-mine")
    check(hutch, ["sh", link(clone / "index", mine / "run")], mine, "/")
    assert hutch("run", "--", link(clone / "python", prefix / "bin/python3")).out == "runtime\n"


@pytest.mark.parametrize("options", [[], ["--ro", "work"]])
def test_a_link_to_variables_of_another_project(hutch, options):
    """Also in a run that grants the directory for reading only, or not at all."""
    make(hutch.home / "other/.env", "SECRET=CANARY")
    (hutch.home / "work").mkdir()
    command = ["--env-file", "work/.env", "--", "env"]
    make(hutch.home / "work/.env", "")
    assert hutch("run", "--rw", "work", "--", "ln", "-sf", hutch.home / "other/.env", hutch.home / "work/.env", cwd=hutch.home).status == 0
    done = hutch("run", *options, *command, cwd=hutch.home)
    assert done.status == 125 and "CANARY" not in done.out and "an earlier run could write to" in done.err, done


@pytest.mark.parametrize("option", ["--log", "--pin"])
def test_a_link_to_the_directory_of_a_log(hutch, option):
    (hutch.home / "other").mkdir()
    (hutch.home / "work").mkdir()
    assert hutch("run", "--rw", "work", "--", "ln", "-s", hutch.home / "other", hutch.home / "work/logs", cwd=hutch.home).status == 0
    done = hutch("mcp", option, "work/logs/x", "--", "true", cwd=hutch.home)
    assert done.status == 125 and not (hutch.home / "other/x").exists() and "an earlier run could write to" in done.err, done
