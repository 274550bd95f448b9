# SPDX-License-Identifier: Apache-2.0
"""Commands of version managers, each in the layout that its manager documents: the program runs, and nothing outside the
installation that was found is readable."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from layouts import installed


def make(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def program(path, says):
    """A program that prints what it is and its arguments."""
    return make(path, f'#!/bin/sh\necho "{says}" "$@"\n', 0o755)


def link(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(text)
    return path


def install_node(prefix, version):
    """What the archive of nodejs.org holds, as far as starting needs it."""
    program(prefix / "bin/node", f"node {version}")
    make(prefix / "include/node/node.h")
    make(prefix / "lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n", 0o755)
    link(prefix / "bin/npx", "../lib/node_modules/npm/bin/npx-cli.js")
    return prefix


def install_python(prefix, version):
    program(prefix / "bin/python3", f"python {version}")
    link(prefix / "bin/python", "python3")
    make(prefix / "lib/python3.12/os.py")
    return prefix


def granted(hutch, *words, **popen):
    """The host paths that are visible beside the base."""
    done = hutch("run", "--dry-run", *words, **popen)
    assert done.status == 0, done
    return {mount["source"] for mount in json.loads(done.out)["mounts"]
            if mount["kind"] == "bind" and mount["why"] != "base"}


def check(hutch, command, says, grants, **popen):
    """The command runs, says `says`, and only `grants` are visible."""
    done = hutch("run", "--", *command, "one two", **popen)
    assert done.status == 0 and done.out.startswith(says) and done.out.endswith("one two\n"), done
    assert granted(hutch, "--", *command, **popen) == set().union(*map(installed, grants))


def with_path(*directories):
    return {"PATH": os.pathsep.join([*map(str, directories), "/usr/bin", "/bin"])}


# pyenv

def install_pyenv(home):
    root = home / ".pyenv"
    for version in ("3.11.9", "3.12.1", "3.12.10"):
        install_python(root / "versions" / version, version)
    for name in ("python3", "python"):
        make(root / "shims" / name, f'#!/usr/bin/env bash\nset -e\n[ -n "$PYENV_DEBUG" ] && set -x\n\nprogram="${{0##*/}}"\n\n'
             f'export PYENV_ROOT="{root}"\nexec "{root}/libexec/pyenv" exec "$program" "$@"\n', 0o755)
    make(root / "version", "3.11.9\n")
    return root


def test_pyenv(hutch):
    root = install_pyenv(hutch.home)
    env = with_path(root / "shims")
    check(hutch, ["python3"], "python 3.11.9", [root / "versions/3.11.9"], env=env)
    check(hutch, [root / "shims/python"], "python 3.11.9", [root / "versions/3.11.9"])
    check(hutch, ["python3"], "python 3.12.1 ", [root / "versions/3.12.1"], env={**env, "PYENV_VERSION": "3.12.1"})
    make(hutch.directory.parent / ".python-version", "# the newest\n3.12\n")  # the beginning of a version
    check(hutch, ["python"], "python 3.12.10", [root / "versions/3.12.10"], env=env)
    make(hutch.directory / ".python-version", "3.9.0\n3.11.9\n")  # the first that has the program
    check(hutch, ["python"], "python 3.11.9", [root / "versions/3.11.9"], env=env)


def test_pyenv_system_is_the_next_on_the_path(hutch):
    root = install_pyenv(hutch.home)
    program(hutch.home / "other/python3", "the next")
    make(root / "version", "system\n")
    check(hutch, ["python3"], "the next", [hutch.home / "other"], env=with_path(root / "shims", hutch.home / "other"))
    (root / "version").unlink()
    done = hutch("run", "--", "python3", "-c", "print(1)", env=with_path(root / "shims"))
    assert (done.status, done.out) == (0, "1\n"), done


def test_a_script_whose_interpreter_is_a_shim(hutch):
    root = install_pyenv(hutch.home)
    script = make(hutch.home / "tool/run", "#!/usr/bin/env python3\n", 0o755)
    check(hutch, [script], f"python 3.11.9 {script}", [root / "versions/3.11.9", script.parent], env=with_path(root / "shims"))


def test_a_version_that_is_not_installed(hutch):
    root = install_pyenv(hutch.home)
    make(hutch.directory / ".python-version", "3.7.0\n")
    done = hutch("run", "--", "python3", env=with_path(root / "shims"))
    assert done.status == 127 and f"{hutch.directory}/.python-version names (3.7.0) has python3" in done.err, done


def test_the_programs_neighbours_come_first_inside(hutch):
    root = install_pyenv(hutch.home)
    make(root / "versions/3.11.9/bin/python3", '#!/bin/sh\necho "$PATH"\n', 0o755)
    done = hutch("run", "--", "python3", env=with_path(root / "shims"))
    assert done.out.split(":")[:2] == [str(root / "versions/3.11.9/bin"), str(root / "shims")], done


# asdf

def install_asdf(home):
    root = home / ".asdf"
    for version in ("18.0.0", "20.1.0"):
        install_node(root / "installs/nodejs" / version, version)
    for name in ("node", "npx"):
        make(root / "shims" / name, "#!/usr/bin/env bash\n# asdf-plugin: nodejs 18.0.0\n# asdf-plugin: nodejs 20.1.0\n"
             f'exec {root}/bin/asdf exec "{name}" "$@" # asdf_allow: \' asdf \'\n', 0o755)
    make(home / ".tool-versions", "python 3.12.1\nnodejs 20.1.0 # the default\n")
    return root


def test_asdf(hutch):
    root = install_asdf(hutch.home)
    env = with_path(root / "shims")
    new, old = root / "installs/nodejs/20.1.0", root / "installs/nodejs/18.0.0"
    check(hutch, ["node"], "node 20.1.0", [new], env=env)
    check(hutch, ["npx"], f"node 20.1.0 {root}/shims/npx", [new], env=env)
    make(hutch.directory / ".tool-versions", "nodejs 19.0.0 18.0.0\n")
    check(hutch, ["node"], "node 18.0.0", [old], env=env)
    check(hutch, ["node"], "node 20.1.0", [new], env={**env, "ASDF_NODEJS_VERSION": "20.1.0"})
    make(hutch.directory / ".tool-versions", "ruby 3.3.0\n")
    check(hutch, ["node"], "node 20.1.0", [new], env=env)
    (hutch.home / ".tool-versions").unlink()
    done = hutch("run", "--", "node", env=env)
    assert done.status == 127 and "shim of asdf, and nothing says which version" in done.err, done


@pytest.mark.parametrize("name, text", [(".nvmrc", "v18.0.0\n"), (".node-version", "18.0.0 # old\n")])
def test_asdf_reads_files_of_other_managers_where_it_was_told_to(hutch, name, text):
    root = install_asdf(hutch.home)
    env = with_path(root / "shims")
    new, old = root / "installs/nodejs/20.1.0", root / "installs/nodejs/18.0.0"
    make(hutch.directory / name, text)
    check(hutch, ["node"], "node 20.1.0", [new], env=env)
    make(hutch.home / ".asdfrc", "# settings\nlegacy_version_file = yes\n")
    check(hutch, ["node"], "node 18.0.0", [old], env=env)
    make(hutch.directory / ".tool-versions", "nodejs 20.1.0\n")  # asdf's own file in the same directory comes first
    check(hutch, ["node"], "node 20.1.0", [new], env=env)
    make(hutch.home / ".asdfrc", "legacy_version_file = no\n")
    make(hutch.directory / ".tool-versions", "ruby 3.3.0\n")
    check(hutch, ["node"], "node 20.1.0", [new], env=env)


# Volta

def install_volta(home):
    root = home / ".volta"
    make(root / "bin/volta-shim", "binary", 0o755)
    for version in ("18.19.1", "20.1.0"):
        install_node(root / "tools/image/node" / version, version)
    for name in ("node", "npx", "yarn", "mcp-server"):
        link(root / "bin" / name, root / "bin/volta-shim")
    make(root / "tools/user/platform.json", '{"node": {"runtime": "20.1.0", "npm": null}, "pnpm": null, "yarn": null}')
    return root


def test_volta(hutch):
    root = install_volta(hutch.home)
    env = with_path(root / "bin")
    new, old = (root / "tools/image/node" / version for version in ("20.1.0", "18.19.1"))
    check(hutch, ["node"], "node 20.1.0", [new], env=env)
    check(hutch, ["npx"], f"node 20.1.0 {root}/bin/npx", [new], env=env)
    make(hutch.directory / "package.json", '{"name": "x", "volta": {"node": "18.19.1"}}')  # volta pin
    check(hutch, ["node"], "node 18.19.1", [old], env=env)
    done = hutch("run", "--", "yarn", env=env)
    assert done.status == 127 and "yarn (none), which it would start, is not installed" in done.err, done


def test_a_package_of_volta_runs_with_its_own_node(hutch):
    root = install_volta(hutch.home)
    package = root / "tools/image/packages/@scope/server"
    make(package / "lib/node_modules/@scope/server/cli.js", "#!/usr/bin/env node\n", 0o755)
    link(package / "bin/mcp-server", "../lib/node_modules/@scope/server/cli.js")
    make(root / "tools/user/bins/mcp-server.json",
         '{"name": "mcp-server", "package": "@scope/server", "version": "1.0.0", "platform": {"node": "18.19.1", "npm": null}}')
    check(hutch, ["mcp-server"], f"node 18.19.1 {root}/bin/mcp-server", [package, root / "tools/image/node/18.19.1"],
          env=with_path(root / "bin"))


# mise

def install_mise(home):
    root = home / ".local/share/mise"
    make(home / ".local/bin/mise", "binary", 0o755)
    for version in ("20.1.0", "22.3.0"):
        install_node(root / "installs/node" / version, version)
    for name, target in {"20": "20.1.0", "22": "22.3.0", "latest": "22.3.0"}.items():
        link(root / "installs/node" / name, f"./{target}")
    link(root / "shims/node", home / ".local/bin/mise")
    return root


@pytest.mark.parametrize("name, text, version", [
    ("mise.toml", '[env]\nnode = "22"\n[tools]\npython = "3.12"\nnode = "20"\n', "20.1.0"),
    (".mise.toml", '[tools]\n"node" = ["20.1.0", "22"]\n', "20.1.0"),
    (".config/mise/config.toml", "[tools]\nnode = { version = '20', postinstall = \"x\" }\n", "20.1.0"),
    ("mise.local.toml", '[tools.node]\nversion = "20"\n', "20.1.0"),
    (".tool-versions", "nodejs 20\n", "20.1.0"),
    ("mise.toml", '[tools]\npython = "3.12"\n', "22.3.0"),
])
def test_mise(hutch, name, text, version):
    root = install_mise(hutch.home)
    make(hutch.directory / name, text)
    check(hutch, ["node"], f"node {version}", [root / "installs/node" / version], env=with_path(root / "shims"))


def test_mise_without_a_project(hutch):
    root = install_mise(hutch.home)
    env = with_path(root / "shims")
    check(hutch, ["node"], "node 22.3.0", [root / "installs/node/22.3.0"], env=env)
    make(hutch.home / ".config/mise/config.toml", '[tools]\nnode = "20"\n')
    check(hutch, ["node"], "node 20.1.0", [root / "installs/node/20.1.0"], env=env)
    check(hutch, ["node"], "node 22.3.0", [root / "installs/node/22.3.0"], env={**env, "MISE_NODE_VERSION": "22"})


@pytest.mark.parametrize("name, text, version", [(".nvmrc", "v20.1.0\n", "20.1.0"), (".node-version", "20\n", "20.1.0"), (".nvmrc", "lts/iron\n", None)])
def test_mise_reads_files_of_other_managers_where_it_was_told_to(hutch, name, text, version):
    root = install_mise(hutch.home)
    env = with_path(root / "shims")
    make(hutch.directory / name, text)
    check(hutch, ["node"], "node 22.3.0", [root / "installs/node/22.3.0"], env=env)
    switched_on = [{**env, "MISE_IDIOMATIC_VERSION_FILE_ENABLE_TOOLS": "python,node"}, env]
    for environment in switched_on:
        if environment is env:
            make(hutch.home / ".config/mise/config.toml", '[settings]\nidiomatic_version_file_enable_tools = ["python", "node"]\n[tools]\nnode = "22"\n')
        if version:
            check(hutch, ["node"], f"node {version}", [root / "installs/node" / version], env=environment)
        else:  # only mise knows what that is
            done = hutch("run", "--", "node", env=environment)
            assert done.status in (125, 127) and len(done.own_lines) == 1 and ".nvmrc" in done.err and "name the program itself" in done.err, done


def test_a_version_file_does_not_choose_where_its_manager_would_not_look(hutch, tmp_path):
    """nvm and fnm read .nvmrc and .node-version when their shell functions are called, Volta never: what is on PATH runs."""
    for name in (".nvmrc", ".node-version"):
        make(hutch.directory / name, "18.0.0\n")
    nvm = hutch.home / ".nvm/versions/node"
    for version in ("v20.1.0", "v18.0.0"):
        install_node(nvm / version, version[1:])
    check(hutch, ["node"], "node 20.1.0", [nvm / "v20.1.0"], env=with_path(nvm / "v20.1.0/bin"))
    root = install_volta(hutch.home)
    install_node(root / "tools/image/node/18.0.0", "18.0.0")
    check(hutch, ["node"], "node 20.1.0", [root / "tools/image/node/20.1.0"], env=with_path(root / "bin"))


# installations behind links

def test_nvm(hutch):
    prefix = install_node(hutch.home / ".nvm/versions/node/v20.1.0", "20.1.0")
    make(hutch.home / ".nvm/package.json", "{}")
    check(hutch, ["npx"], f"node 20.1.0 {prefix}/bin/npx", [prefix], env=with_path(prefix / "bin"))


def test_fnm(hutch, tmp_path):
    """A shell's own link directory, which fnm keeps in XDG_RUNTIME_DIR, leads to an alias, which leads to the installation."""
    prefix = install_node(hutch.home / ".local/share/fnm/node-versions/v20.1.0/installation", "20.1.0")
    alias = link(hutch.home / ".local/share/fnm/aliases/default", prefix)
    shell = link(tmp_path / "runtime/fnm_multishells/4242_1700000000000", alias)
    make(tmp_path / "runtime/bus", "CANARY-bus")
    check(hutch, ["npx"], f"node 20.1.0 {shell}/bin/npx", [prefix], env=with_path(shell / "bin"))


@pytest.mark.root
def test_fnm_below_run(hutch):
    prefix = install_node(hutch.home / ".local/share/fnm/node-versions/v20.1.0/installation", "20.1.0")
    shells = Path(f"/run/hutch-test-{os.getpid()}")
    try:
        shell = link(shells / "fnm_multishells/4242_1700000000000", prefix)
        check(hutch, ["npx"], f"node 20.1.0 {shell}/bin/npx", [prefix], env=with_path(shell / "bin"))
    finally:
        subprocess.run(["rm", "-rf", shells], check=True)


def test_homebrew(hutch, tmp_path):
    """Its programs find each other's libraries below opt: the prefix is one."""
    prefix = tmp_path / "linuxbrew/.linuxbrew"
    program(prefix / "Cellar/node/20.1.0/bin/node", "node 20.1.0")
    make(prefix / "Cellar/icu4c/74/lib/libicu.so")
    link(prefix / "opt/icu4c", "../Cellar/icu4c/74")
    link(prefix / "bin/node", "../Cellar/node/20.1.0/bin/node")
    make(tmp_path / "linuxbrew/private", "CANARY")
    check(hutch, ["node"], "node 20.1.0", [prefix], env={**with_path(prefix / "bin"), "HOMEBREW_PREFIX": str(prefix)})


@pytest.mark.root
def test_nix(hutch):
    store, profile = Path("/nix/store"), hutch.home / ".nix-profile"
    if Path("/nix").exists():
        pytest.skip("this machine has a /nix of its own")
    try:
        program(store / "aaaa-nodejs-20.1.0/bin/node", "node 20.1.0")
        make(store / "bbbb-icu/lib/libicu.so")
        link(store / "cccc-user-environment/bin/node", store / "aaaa-nodejs-20.1.0/bin/node")
        link(Path("/nix/var/nix/profiles/profile-1-link"), store / "cccc-user-environment")
        link(profile, "/nix/var/nix/profiles/profile-1-link")
        check(hutch, ["node"], "node 20.1.0", [store], env=with_path(profile / "bin"))
    finally:
        subprocess.run(["rm", "-rf", "/nix"], check=True)


def test_a_venv_on_a_python_of_uv(hutch):
    """uv links cpython-3.12 to the patch release, and the environment's python to that."""
    pythons = hutch.home / ".local/share/uv/python"
    base = install_python(pythons / "cpython-3.12.1-linux-x86_64-gnu", "3.12.1")
    link(pythons / "cpython-3.12-linux-x86_64-gnu", base.name)
    install_python(pythons / "cpython-3.13.0-linux-x86_64-gnu", "3.13.0")
    venv = hutch.home / "server/.venv"
    link(venv / "bin/python", pythons / "cpython-3.12-linux-x86_64-gnu/bin/python3")
    make(venv / "pyvenv.cfg", f"home = {pythons}/cpython-3.12-linux-x86_64-gnu/bin\nimplementation = CPython\nuv = 0.8.0\n")
    make(hutch.home / "server/server.py")
    check(hutch, [venv / "bin/python", hutch.home / "server/server.py"], "python 3.12.1", [hutch.home / "server", base])


@pytest.mark.parametrize("place", [
    ".nvm/versions/node/v20.1.0/bin", ".local/share/fnm/node-versions/v20.1.0/installation/bin", ".fnm/node-versions/v20.1.0/installation/bin",
    ".volta/bin", ".local/share/mise/installs/node/20.1.0/bin", ".asdf/installs/nodejs/20.1.0/bin", ".asdf/shims", ".pyenv/versions/3.12.1/bin",
    ".local/share/uv/python/cpython-3.12.1-linux-x86_64-gnu/bin", ".local/share/uv/tools/thing/bin", ".local/share/pnpm", ".npm-global/bin",
    ".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".nix-profile/bin", ".linuxbrew/bin", "bin"])
def test_a_bare_path_and_a_copy_elsewhere(hutch, place):
    copy = program(hutch.home / place / "no-such-npx", "npx")
    done = hutch("run", "--", "no-such-npx", env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
    assert done.status == 127 and f"name it by its path: {copy}\n" in done.err, done
