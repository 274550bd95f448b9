# SPDX-License-Identifier: Apache-2.0
"""The commands of tutorials, with no option at all: what they name, by path or by name, is there."""
import json
import os
import shutil
import subprocess

import pytest
from harness import PYTHON, needs_installed
from layouts import installed


def make(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def grants(hutch, *words, **popen):
    done = hutch("run", "--dry-run", *words, **popen)
    assert done.status == 0, done
    return {mount["source"] for mount in json.loads(done.out)["mounts"] if mount["kind"] == "bind" and mount["why"] != "base"}


def make_venv(directory):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", directory], check=True)
    return directory


# by path

def test_a_built_server_finds_its_packages(hutch, node):
    project = hutch.home / "weather"
    make(project / "package.json", "{}")
    make(project / "node_modules/greeting/index.js", "module.exports = 'hello'")
    script = make(project / "build/index.js", "console.log(require('greeting'), process.argv[2])")
    done = hutch("run", "--", node, script, "there", cwd="/")
    assert (done.status, done.out) == (0, "hello there\n"), done


def test_a_single_file_in_a_virtual_environment(hutch):
    project = hutch.home / "weather"
    make_venv(project / ".venv")
    site = next((project / ".venv/lib").glob("python3*")) / "site-packages"
    make(site / "greeting.py", "text = 'hello'")
    make(project / "server.py", "import greeting, sys; print(greeting.text, sys.prefix)")
    done = hutch("run", "--", ".venv/bin/python", "server.py", cwd=project)
    assert (done.status, done.out) == (0, f"hello {project}/.venv\n"), done


# python -m

def test_a_module_in_the_working_directory(hutch):
    project = hutch.home / "weather"
    make(project / "pkg/__main__.py", "import pkg.data; print(pkg.data.text)")
    make(project / "pkg/__init__.py")
    make(project / "pkg/data.py", "text = 'hello'")
    make(project / "single.py", "print('single')")
    for words, says in [(["-m", "pkg"], "hello\n"), (["-Bm", "pkg.__main__"], "hello\n"), (["-mpkg"], "hello\n"), (["-u", "-m", "single"], "single\n")]:
        done = hutch("run", "--", PYTHON, *words, cwd=project)
        assert (done.status, done.out, done.err) == (0, says, ""), done
        assert grants(hutch, "--", PYTHON, *words, cwd=project) == {str(project)}


@pytest.mark.parametrize("words", [["-m", "json.tool"], ["-Im", "pkg"], ["-P", "-m", "pkg"], ["-m", "../private"], ["-m", "pkg/x"], ["-m"], ["-c", "0", "-m", "pkg"]])
def test_a_module_that_is_not_there_brings_nothing(hutch, words):
    make(hutch.directory / "pkg/__main__.py")
    make(hutch.directory.parent / "private.py")
    assert grants(hutch, "--", PYTHON, *words) == set()


def test_a_module_never_brings_the_home(hutch):
    make(hutch.home / "pkg/__main__.py", "print('hello')")
    done = hutch("run", "--", PYTHON, "-m", "pkg", cwd=hutch.home)
    assert done.status == 1 and "No module named pkg" in done.err, done
    assert "the command starts in" not in done.err, done  # it does start in the home, which is empty

    make(hutch.directory / "other/pkg/__main__.py", "print('hello')")
    (hutch.directory / "other").chmod(0o777)  # anybody's: no directory of its own
    done = hutch("run", "--", PYTHON, "-m", "pkg", cwd=hutch.directory / "other")
    assert done.status == 1 and "the command starts in" in done.err and "--ro . would grant it" in done.err, done
    for words in (["-m", "pkg"], ["-m", "json.tool", "-h"]):  # clients start servers in /
        assert not hutch("run", "--", PYTHON, *words, cwd="/").own_lines


def test_a_module_of_a_virtual_environment(hutch):
    venv = make_venv(hutch.home / "servers/.venv")
    make(next((venv / "lib").glob("python3*")) / "site-packages/pkg/__main__.py", "print('installed')")
    done = hutch("run", "--", venv / "bin/python", "-m", "pkg", cwd="/")
    assert (done.status, done.out) == (0, "installed\n"), done


# uv

UV = r'''#!/usr/bin/python3
"""Does what uv documents for `run` and `tool run`, as far as it needs no network."""
import os, sys
words = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "uvx":
    words = ["tool", "run", *words]
start = None
def options(words):
    global start
    while words and words[0].startswith("-"):
        if "=" in words[0]:
            words = [*words[0].split("=", 1), *words[1:]]
        if words[0] in ("--directory", "--project"):
            if words[0] == "--directory":
                os.chdir(words[1])
            start = words[1] if words[0] == "--project" else "."
            words = words[2:]
        elif words[0] in ("--with", "--python", "--from"):
            words = words[2:]
        else:
            words = words[1:]
    return words
words = options(words)
if words[0] == "run":
    words = options(words[1:])
    directory = os.path.abspath(start or ".")
    while not os.path.exists(directory + "/pyproject.toml"):
        if directory == "/":
            sys.exit("error: no project")
        directory = os.path.dirname(directory)
    if not os.path.exists(directory + "/.venv/pyvenv.cfg"):
        while directory != "/" and not ("[tool.uv.workspace" in open(directory + "/pyproject.toml").read() if os.path.exists(directory + "/pyproject.toml") else False):
            directory = os.path.dirname(directory)
    venv = directory + "/.venv"
    if os.environ.get("UV_NO_SYNC") != "1":
        open(venv + "/.lock", "w")
    os.environ["VIRTUAL_ENV"] = venv
    os.environ["PATH"] = venv + "/bin:" + os.environ["PATH"]
    if words[0].endswith(".py"):
        words = ["python", *words]
    os.execvp(words[0], words)
if words[:2] == ["tool", "run"]:
    words = options(words[2:])
    tools = os.environ.get("UV_TOOL_DIR") or os.path.expanduser("~/.local/share/uv/tools")
    if os.path.exists(f"{tools}/{words[0]}/pyvenv.cfg"):
        os.execv(f"{tools}/{words[0]}/bin/{words[0]}", words)
    sys.exit(f"error: {words[0]}: offline")
'''


@pytest.fixture
def uv(hutch):
    """uv where its installer puts it, and PATH naming that."""
    for name in ("uv", "uvx"):
        make(hutch.home / ".local/bin" / name, UV, 0o755)
    make(hutch.home / ".local/bin/other-tool", "CANARY", 0o755)
    hutch.environment["PATH"] = f"{hutch.home}/.local/bin:/usr/bin:/bin"
    return hutch


@pytest.fixture
def project(hutch):
    directory = hutch.home / "servers/weather"
    make(directory / "pyproject.toml", "[project]\nname = 'weather'\n")
    make_venv(directory / ".venv")
    make(next((directory / ".venv/lib").glob("python3*")) / "site-packages/greeting.py", "text = 'hello'")
    make(directory / "weather.py", "import greeting, sys; print(greeting.text, sys.prefix, *sys.argv[1:])")
    make(directory / ".venv/bin/weather", f"#!{directory}/.venv/bin/python\nimport greeting, sys; print(greeting.text, sys.prefix, *sys.argv[1:])\n", 0o755)
    make(hutch.home / "servers/other/key", "CANARY")
    return directory


@pytest.mark.parametrize("command, inside", [
    (["uv", "--directory", "{project}", "run", "weather.py"], False),
    (["uv", "--directory={project}", "run", "-q", "--with", "x", "weather.py"], False),
    (["uv", "run", "--directory", "{project}", "weather"], False),
    (["uv", "run", "--project", "{project}", "{project}/weather.py"], False),
    (["uv", "run", "weather.py"], True),
    (["uv", "run", "python", "weather.py"], True),
])
def test_uv_run(uv, project, command, inside):
    command = [word.format(project=project) for word in command]
    where = {"cwd": project} if inside else {"cwd": "/"}
    done = uv("run", "--", *command, "one two", **where)
    assert (done.status, done.out) == (0, f"hello {project}/.venv one two\n"), done
    assert not done.own_lines, done
    assert grants(uv, "--", *command, **where) == {str(project), f"{uv.home}/.local/bin"}


def test_uv_run_of_a_script_that_is_sent_in(uv, project):
    """What the host has at that path, and the directory there, is not what is meant."""
    script = make(uv.directory / "sent.py", "print('sent in')")
    place = make(uv.home / "elsewhere/weather.py", "print('CANARY of the host')")
    command = ["-f", f"{script}:{place}", "--", "uv", "--directory", project, "run", place]
    done = uv("run", *command, cwd="/")
    assert (done.status, done.out) == (0, "sent in\n"), done
    assert str(place.parent) not in grants(uv, *command, cwd="/")


def test_uv_run_in_a_workspace(uv, project):
    """A member's environment is the workspace's."""
    member = project / "packages/member"
    make(project / "pyproject.toml", "[tool.uv.workspace]\nmembers = ['packages/*']\n")
    make(member / "pyproject.toml")
    make(member / "main.py", "import greeting, sys; print(greeting.text, sys.prefix)")
    done = uv("run", "--", "uv", "--directory", member, "run", "main.py", cwd="/")
    assert (done.status, done.out) == (0, f"hello {project}/.venv\n"), done
    make(project / "pyproject.toml", "")  # no workspace any more: nothing above the member is its own
    assert str(project) not in grants(uv, "--", "uv", "--directory", member, "run", "main.py", cwd="/")


def test_uv_run_without_an_environment_says_what_is_missing(uv, project):
    shutil.rmtree(project / ".venv")
    done = uv("run", "--", "uv", "--directory", project, "run", "weather.py")
    assert done.status != 0 and f"{project} has no .venv" in done.err and "uv sync" in done.err, done


def test_uv_run_never_brings_the_home(uv):
    make(uv.home / "pyproject.toml")
    make_venv(uv.home / ".venv")
    make(uv.home / "x.py")
    assert str(uv.home) not in grants(uv, "--", "uv", "--directory", uv.home, "run", "x.py")


def test_an_installed_tool_of_uv(uv):
    tool = make_venv(uv.home / ".local/share/uv/tools/mcp-thing")
    make(tool / "bin/mcp-thing", f"#!{tool}/bin/python\nimport sys; print('thing', *sys.argv[1:])\n", 0o755)
    make(uv.home / ".local/share/uv/tools/other/key", "CANARY")
    for command in (["uvx", "-q", "mcp-thing"], ["uv", "tool", "run", "mcp-thing"]):
        done = uv("run", "--", *command, "one two")
        assert (done.status, done.out, done.err) == (0, "thing one two\n", ""), done
        assert grants(uv, "--", *command) == {*installed(tool, "pyvenv.cfg"), f"{uv.home}/.local/bin"}


@pytest.mark.parametrize("request_, says", [("mcp-thing@latest", "hutch fetch -- uvx mcp-thing@latest"), ("mcp-other", "hutch fetch -- uvx mcp-other"),
                                            ("../../../../private", "downloads what is not installed"), ("mcp-thing==2", "hutch fetch -- uvx mcp-thing==2")])
def test_a_tool_of_uv_that_is_not_installed_is_noted(uv, request_, says):
    make_venv(uv.home / ".local/share/uv/tools/mcp-thing")
    make(uv.home / "private/pyvenv.cfg")
    done = uv("run", "--fetch", "never", "--", "uvx", request_)
    assert done.status != 0 and says in done.err, done
    assert grants(uv, "--", "uvx", request_) == {f"{uv.home}/.local/bin"}


# npx

@pytest.fixture
def npx():
    program = shutil.which("npx", path=os.path.dirname(os.environ.get("HUTCH_TEST_NODE", "/usr/bin/node")) + ":/usr/bin")
    needs_installed(program, "npx is missing")
    return program


def install_package(directory, name, command):
    cli = make(directory / "node_modules" / name / "cli.js", "#!/usr/bin/env node\nconsole.log('server', ...process.argv.slice(2))\n", 0o755)
    make(cli.parent / "package.json", json.dumps({"name": name, "version": "1.0.0", "bin": {command: "cli.js"}}))
    link = directory / "node_modules/.bin" / command
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(os.path.relpath(cli, link.parent))


@pytest.mark.parametrize("words", [["mcp-server"], ["-y", "mcp-server"], ["-y", "@scope/mcp-server"], ["--yes", "--", "mcp-server"]])
@pytest.mark.parametrize("below", ["", "src/deep"])
def test_npx_of_an_installed_package(hutch, npx, words, below):
    project = hutch.home / "project"
    install_package(project, "@scope/mcp-server", "mcp-server")
    make(project / "package.json", '{"dependencies": {"@scope/mcp-server": "1.0.0"}}')
    (project / below).mkdir(parents=True, exist_ok=True)
    done = hutch("run", "--", npx, *words, "one two", cwd=project / below, timeout=60)
    assert (done.status, done.out) == (0, "server one two\n"), done
    assert "downloads" not in done.err
    granted = grants(hutch, "--", npx, *words, cwd=project / below)
    assert granted - {os.path.dirname(npx)} <= {str(project), str(project / "node_modules")}


def test_npm_exec_of_an_installed_package(hutch, npx):
    project = hutch.home / "project"
    install_package(project, "mcp-server", "mcp-server")
    done = hutch("run", "--", npx.replace("npx", "npm"), "exec", "--", "mcp-server", "one two", cwd=project, timeout=60)
    assert (done.status, done.out) == (0, "server one two\n"), done


@pytest.mark.parametrize("name", ["../private", "@../private", "@scope/../../private", "..", ".", "mcp-server/x"])
def test_npx_of_something_that_is_no_package_brings_nothing(hutch, npx, name):
    make(hutch.directory / "private/package.json", "{}")
    make(hutch.directory / "node_modules/x")
    make(hutch.directory / "node_modules/mcp-server/x/package.json", "{}")
    assert grants(hutch, "--", npx, name) - {os.path.dirname(npx)} == set()


@pytest.mark.parametrize("mode, says", [(0o777, True), (0o1777, False), (0o775, False)])
def test_a_project_that_everybody_may_write_to_is_said_once(hutch, mode, says):
    (hutch.directory / "project").mkdir()
    (hutch.directory / "project/main.py").write_text("print('ran')")
    (hutch.directory / "project").chmod(mode)
    done = hutch("run", "--", PYTHON, hutch.directory / "project/main.py")
    assert done.out == "ran\n", done
    assert done.err.count("everybody may write in its directory") == says and (f"--ro {hutch.directory}/project" in done.err) == says, done
    done = hutch("run", "--ro", hutch.directory, "--", PYTHON, hutch.directory / "project/main.py")
    assert (done.out, done.err) == ("ran\n", ""), done


def test_an_argument_behind_a_home_that_is_a_link_is_visible(hutch):
    (hutch.home / "data").mkdir()
    link = hutch.directory / "home"
    link.symlink_to(hutch.home)
    for option in ("--ro", "--overlay"):
        done = hutch("run", option, hutch.home / "data", "--", "ls", "-d", link / "data", env={"HOME": str(link)}, cwd="/")
        assert (done.out, done.err) == (f"{link}/data\n", ""), done
    done = hutch("run", "--", "ls", "-d", link / "data", env={"HOME": str(link)}, cwd="/")
    assert "is not visible inside" in done.err and done.status != 0, done
