# SPDX-License-Identifier: Apache-2.0
"""How package managers lay out what they install: a program starts with its packages, wherever those lie, or one sentence
says what is missing."""
import os
import shutil
import subprocess

import pytest
from harness import PYTHON, needs_installed, without_deny_all
from layouts import CMD_SHIM, grants, installed, make, make_venv, package


@pytest.fixture
def own_node(hutch):
    """A Node.js of a version manager, first on PATH: nothing of it is in /usr."""
    prefix = hutch.home / ".nvm/versions/node/v20.1.0"
    program = make(prefix / "bin/node", "", 0o755)
    shutil.copyfile(shutil.which("node", path=hutch.environment["PATH"]), program)
    make(prefix / "include/node/node.h")
    (prefix / "lib/node_modules").mkdir(parents=True)
    hutch.environment["PATH"] = f"{prefix}/bin:/usr/bin:/bin"
    return prefix


def site_packages(venv):
    return next((venv / "lib").glob("python3*")) / "site-packages"


# npm, yarn, pnpm

@pytest.mark.parametrize("declared", [{"workspaces": ["packages/*"]}, {"workspaces": {"packages": ["packages/*"]}}, None], ids=["npm", "yarn", "pnpm"])
def test_a_workspace_that_keeps_its_packages_at_the_top(hutch, node, declared):
    """The member's node_modules is hoisted, and another member is a link in it."""
    top = package(hutch.home / "repository", "top", **(declared or {}))
    if declared is None:
        make(top / "pnpm-workspace.yaml", "packages:\n  - packages/*\n")
    package(top / "node_modules/greeting", "greeting", "module.exports = 'hello'")
    package(top / "packages/common", "@me/common", "module.exports = require('greeting')")
    (top / "node_modules/@me").mkdir()
    (top / "node_modules/@me/common").symlink_to("../../packages/common")
    server = package(top / "packages/server", "server")
    script = make(server / "build/index.js", "console.log(require('@me/common'), require('greeting'))")
    make(hutch.home / "private/package.json", "{}")
    for command, where in ([node, script], "/"), ([node, "build/index.js"], server), ([node, script], top):
        done = hutch("run", "--", *command, cwd=where)
        assert (done.status, done.out, done.own_lines) == (0, "hello hello\n", []), done
        assert str(top) in grants(hutch, "--", *command, cwd=where)


def test_a_directory_around_a_package_that_is_no_workspace_stays_outside(hutch, node):
    top = package(hutch.home / "repository", "top")
    script = make(package(top / "server", "server") / "build/index.js")
    assert grants(hutch, "--", node, script) <= {str(top / "server"), os.path.dirname(os.path.dirname(node))}


def test_the_home_is_no_workspace(hutch, node):
    package(hutch.home, "home", workspaces=["server"])
    script = make(package(hutch.home / "server", "server") / "index.js")
    assert str(hutch.home) not in grants(hutch, "--", node, script)


def test_pnpm_keeps_packages_behind_links(hutch, node):
    project = package(hutch.home / "server", "server")
    store = project / "node_modules/.pnpm"
    package(store / "greeting@1.0.0/node_modules/greeting", "greeting", "module.exports = require('words')")
    package(store / "words@2.0.0/node_modules/words", "words", "module.exports = 'hello'")
    (store / "greeting@1.0.0/node_modules/words").symlink_to("../../words@2.0.0/node_modules/words")
    (project / "node_modules/greeting").symlink_to(".pnpm/greeting@1.0.0/node_modules/greeting")
    script = make(project / "build/index.js", "console.log(require('greeting'))")
    done = hutch("run", "--", node, script, cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, "hello\n", []), done


def test_a_command_of_pnpm_is_a_script_that_starts_node(hutch, own_node):
    project = package(hutch.home / "server", "server")
    real = project / "node_modules/.pnpm/mcp-server@1.0.0/node_modules/mcp-server"
    package(real, "mcp-server", "console.log('server', process.execPath, ...process.argv.slice(2))")
    (project / "node_modules/mcp-server").symlink_to(".pnpm/mcp-server@1.0.0/node_modules/mcp-server")
    command = make(project / "node_modules/.bin/mcp-server", CMD_SHIM.format(modules=real.parent, target="../mcp-server/index.js"), 0o755)
    done = hutch("run", "--", command, "one two", cwd="/")
    assert (done.status, done.out) == (0, f"server {own_node}/bin/node one two\n"), done
    assert grants(hutch, "--", command, cwd="/") == {str(project / "node_modules"), *installed(own_node)}


def test_a_global_command_of_pnpm(hutch, own_node):
    home = hutch.home / ".local/share/pnpm"
    real = home / "global/5/.pnpm/mcp-server@1.0.0/node_modules/mcp-server"
    package(real, "mcp-server", "console.log('server', process.execPath, ...process.argv.slice(2))")
    make(home / "global/5/node_modules/.keep")
    (home / "global/5/node_modules/mcp-server").symlink_to("../.pnpm/mcp-server@1.0.0/node_modules/mcp-server")
    make(home / "mcp-server", CMD_SHIM.format(modules=real.parent, target="global/5/node_modules/mcp-server/index.js"), 0o755)
    hutch.environment["PATH"] = f"{home}:{hutch.environment['PATH']}"
    done = hutch("run", "--", "mcp-server", "one two", cwd="/")
    assert (done.status, done.out) == (0, f"server {own_node}/bin/node one two\n"), done


def test_yarn_without_node_modules(hutch, node):
    """Plug'n'Play: a file of the project resolves every name; packages lie in the project's cache."""
    project = package(hutch.home / "server", "server")
    package(project / ".yarn/cache/greeting", "greeting", "module.exports = 'hello'")
    make(project / ".pnp.cjs", "const m = require('module'), old = m._resolveFilename;\n"
         "m._resolveFilename = (name, ...rest) => name === 'greeting' ? __dirname + '/.yarn/cache/greeting/index.js' : old(name, ...rest);\n")
    make(project / "build/index.js", "console.log(require('greeting'))")
    done = hutch("run", "--", node, "-r", "./.pnp.cjs", "build/index.js", cwd=project)
    assert (done.status, done.out, done.own_lines) == (0, "hello\n", []), done


def test_a_package_that_npm_link_made_the_command(hutch, own_node):
    package(hutch.home / "code/mcp-server", "mcp-server", "#!/usr/bin/env node\nconsole.log(require('greeting'))").joinpath("index.js").chmod(0o755)
    package(hutch.home / "code/mcp-server/node_modules/greeting", "greeting", "module.exports = 'hello'")
    (own_node / "lib/node_modules/mcp-server").symlink_to("../../../../../../code/mcp-server")
    (own_node / "bin/mcp-server").symlink_to("../lib/node_modules/mcp-server/index.js")
    make(hutch.home / "code/other/key", "CANARY")
    done = hutch("run", "--", "mcp-server", cwd="/")
    advice = f"--ro {hutch.home}/code/mcp-server"
    assert done.status == 127 and [line for line in done.own_lines if f"{own_node}/lib/node_modules/mcp-server leads to " in line and f"{advice} grants it" in line], done
    done = hutch("run", *advice.split(), "--", "mcp-server", cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, "hello\n", []), done
    assert grants(hutch, *advice.split(), "--", "mcp-server", cwd="/") == {*installed(own_node), str(hutch.home / "code/mcp-server")}


@pytest.mark.parametrize("name", ["greeting", "@me/greeting"])
def test_a_dependency_that_npm_link_leads_outside_is_named(hutch, node, name):
    other = package(hutch.home / "code/greeting", name, "module.exports = 'hello'")
    project = package(hutch.home / "server", "server")
    link = project / "node_modules" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(other)
    script = make(project / "build/index.js", f"console.log(require('{name}'))")
    done = hutch("run", "--", node, script, cwd="/")
    assert done.status == 1 and [line for line in done.own_lines if f"{link} leads to {other}" in line and f"--ro {other}" in line], done
    done = hutch("run", "--ro", other, "--", node, script, cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, "hello\n", []), done


def test_a_program_of_corepack(hutch, own_node):
    """`corepack enable` links the managers' names to itself, in Node's own prefix."""
    make(own_node / "lib/node_modules/corepack/dist/pnpm.js", "#!/usr/bin/env node\nconsole.log('pnpm by', process.execPath)\n", 0o755)
    (own_node / "bin/pnpm").symlink_to("../lib/node_modules/corepack/dist/pnpm.js")
    done = hutch("run", "--", "pnpm", cwd="/")
    assert (done.status, done.out) == (0, f"pnpm by {own_node}/bin/node\n"), done


@pytest.mark.parametrize("words", [["pnpm", "dlx", "x"], ["yarn", "dlx", "x"], ["pnpx", "x"], ["bunx", "x"], ["bun", "x", "y"], ["npx", "-y", "me/repository"], ["uvx", "--from", "git+https://x", "x"],
                                   ["pipx", "run", "x"]], ids=" ".join)
def test_a_command_that_downloads_is_noted(hutch, words):
    make(hutch.home / ".local/share/tools" / words[0], "#!/bin/sh\n", 0o755)
    done = hutch("run", "--", *words, env={"PATH": f"{hutch.home}/.local/share/tools:/usr/bin:/bin"})
    assert done.status == 0 and "downloads what is not installed" in done.err, done


def test_many_npx_of_one_archive_at_once(hutch):
    """Each sandbox has a cache of its own: they cannot trample on each other's."""
    npx = shutil.which("npx")
    needs_installed(npx and shutil.which("npm"), "npx is missing")
    source = package(hutch.directory / "source", "pkg", bin={"pkg": "cli.js"})
    make(source / "cli.js", "#!/usr/bin/env node\nconsole.log('answer', ...process.argv.slice(2))\n", 0o755)
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", hutch.directory], cwd=source, check=True, stdout=subprocess.DEVNULL,
                   env={**hutch.environment, "HOME": str(hutch.directory)})
    shutil.rmtree(source)
    started = [hutch.start("run", "--ro", ".", "--", npx, "-y", "./pkg-1.0.0.tgz", str(i), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(4)]
    for i, process in enumerate(started):
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, without_deny_all(err.decode())) == (0, b"answer %d\n" % i, ""), err


# Python

@pytest.mark.parametrize("option", ["--copies", "--system-site-packages", "--symlinks"])
def test_kinds_of_virtual_environment(hutch, option):
    venv = hutch.home / "server/.venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", option, venv], check=True)
    make(site_packages(venv) / "greeting.py", "text = 'hello'")
    make(hutch.home / "server/server.py", "import greeting, sys; print(greeting.text, sys.prefix)")
    done = hutch("run", "--", venv / "bin/python3", hutch.home / "server/server.py", cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, f"hello {venv}\n", []), done


def test_a_virtual_environment_in_another_directory(hutch):
    venv = make_venv(hutch.home / "environments/weather")
    make(site_packages(venv) / "greeting.py", "text = 'hello'")
    script = make(hutch.home / "code/weather/server.py", "import greeting, sys; print(greeting.text, sys.prefix)")
    make(hutch.home / "environments/other/key", "CANARY")
    done = hutch("run", "--", venv / "bin/python", script, cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, f"hello {venv}\n", []), done
    assert grants(hutch, "--", venv / "bin/python", script, cwd="/") == {str(venv), str(script.parent)}


def test_an_editable_package_elsewhere(hutch):
    """`pip install -e` leaves a line in the environment that names the project's directory."""
    venv = make_venv(hutch.home / "environments/weather")
    source = hutch.home / "code/weather"
    make(source / "pyproject.toml")
    make(source / "src/weather/__main__.py", "print('weather')")
    make(site_packages(venv) / "_weather.pth", f"{source}/src\n")
    done = hutch("run", "--", venv / "bin/python", "-m", "weather", cwd="/")
    assert done.status == 1 and f"{source}/src" in " ".join(done.own_lines) and "--ro" in done.err, done
    done = hutch("run", "--ro", source, "--", venv / "bin/python", "-m", "weather", cwd="/")
    assert (done.status, done.out, done.own_lines) == (0, "weather\n", []), done


def test_a_command_of_pipx(hutch):
    venv = make_venv(hutch.home / ".local/share/pipx/venvs/mcp-thing")
    make(site_packages(venv) / "thing.py", "text = 'thing'")
    real = make(venv / "bin/mcp-thing", f"#!{venv}/bin/python\nimport thing, sys; print(thing.text, *sys.argv[1:])\n", 0o755)
    command = hutch.home / ".local/bin/mcp-thing"
    command.parent.mkdir(parents=True)
    command.symlink_to(real)
    make(hutch.home / ".local/bin/other", "CANARY")
    make(hutch.home / ".local/share/pipx/venvs/other/key", "CANARY")
    for words in [[command], ["mcp-thing"]]:
        done = hutch("run", "--", *words, "one two", cwd="/", env={"PATH": f"{command.parent}:/usr/bin:/bin"})
        assert (done.status, done.out, done.own_lines) == (0, "thing one two\n", []), done
        assert grants(hutch, "--", *words, cwd="/", env={"PATH": f"{command.parent}:/usr/bin:/bin"}) == installed(venv, "pyvenv.cfg")


def conda(hutch):
    """An environment as conda makes it: a whole prefix, found by the interpreter from its own place."""
    prefix = hutch.home / "miniconda3/envs/weather"
    real = os.path.realpath(PYTHON)
    version = os.path.basename(real)
    make(prefix / "conda-meta/history")
    make(prefix / "bin" / version, "", 0o755)
    shutil.copyfile(real, prefix / "bin" / version)
    for name in ("python", "python3"):
        (prefix / "bin" / name).symlink_to(version)
    library = subprocess.run([PYTHON, "-c", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, text=True, check=True).stdout.strip()
    (prefix / "lib").mkdir()
    shutil.copytree(library, prefix / "lib" / version, symlinks=False, ignore=shutil.ignore_patterns("test", "__pycache__", "config-*", "sitecustomize.py", "dist-packages",
                                                                                                   "EXTERNALLY-MANAGED"))
    make(prefix / "lib" / version / "site-packages/greeting.py", "text = 'hello'")
    return prefix


def test_an_environment_of_conda(hutch):
    prefix = conda(hutch)
    make(hutch.home / "miniconda3/envs/other/key", "CANARY")
    script = make(hutch.home / "code/server.py", "import sys; print(sys.prefix, [p for p in sys.path if 'python3' in p][0])")
    done = hutch("run", "--", prefix / "bin/python", script, cwd="/")
    assert done.status == 0 and done.out.startswith(f"{prefix} {prefix}/lib/python3") and not done.own_lines, done
    assert grants(hutch, "--", prefix / "bin/python", script, cwd="/") == {str(prefix), str(script.parent)}


def test_pythons_own_variables_of_the_caller_do_not_come_in(hutch):
    done = hutch("run", "--", PYTHON, "-c", "import sys; print(sys.prefix)", env={"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere", "PYTHONSTARTUP": "/nowhere"})
    assert (done.status, done.out) == (0, "/usr\n"), done


def test_npms_own_variables_of_the_caller_do_not_come_in(hutch, node):
    done = hutch("run", "--", node, "-e", "console.log(Object.keys(process.env).filter(k => /^(NODE|NPM|npm_config_(?!update))/.test(k)).length)",
                 env={"NODE_OPTIONS": "--require /nowhere", "NODE_PATH": "/nowhere", "npm_config_prefix": "/nowhere", "NPM_CONFIG_CACHE": "/nowhere"})
    assert (done.status, done.out) == (0, "0\n"), done
