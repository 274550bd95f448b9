# SPDX-License-Identifier: Apache-2.0
"""What a server left in a writable grant, or wrote into the version files, shims and environments there, never decides what
the next run sees. Each arrangement is first shown to work where the server could not have written it."""
import pytest
from harness import PYTHON
from layouts import grants

SHIM = ('#!/usr/bin/env bash\nset -e\nprogram="${{0##*/}}"\nexport PYENV_ROOT="{root}"\n'
        'exec "{root}/libexec/pyenv" exec "$program" "$@"\n')


def make(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def private(hutch):
    """What nobody grants, made to look like everything that a shim, uv or npx may lead to."""
    directory = hutch.home / "private"
    make(directory / "key", "CANARY-private")
    for name in ("python3", "python", "node", "tool"):
        make(directory / "bin" / name, f"#!/bin/sh\ncat {directory}/key\n", 0o755)
    make(directory / "lib/x")
    make(directory / "package.json", "{}")
    make(directory / "pyproject.toml")
    make(directory / "pyvenv.cfg", "home = /usr/bin\n")
    make(directory / ".bin/tool", f"#!/bin/sh\ncat {directory}/key\n", 0o755)
    return directory


@pytest.fixture
def pyenv(hutch):
    """A pyenv of the person's, with two versions."""
    root = hutch.home / ".pyenv"
    for version in ("3.11.9", "3.12.1"):
        make(root / "versions" / version / "bin/python3", f"#!/bin/sh\necho python {version}\n", 0o755)
        make(root / "versions" / version / "lib/python3.12/os.py")
    make(root / "shims/python3", SHIM.format(root=root), 0o755)
    make(root / "version", "3.11.9\n")
    return root


def closed(done):
    assert "CANARY" not in done.out + done.err, done
    return done


@pytest.mark.parametrize("version", ["../../private", "../../../home/private", "/etc", "..", ".", "3.12.1/../../../private", "{private}", "3.*", "-x",
                                     "3.12.1/../../versions/3.12.1"])
def test_a_version_is_never_a_path(hutch, pyenv, private, version):
    version = version.format(private=private)
    for name, env in ((".python-version", {}), (None, {"PYENV_VERSION": version})):
        if name:
            make(hutch.directory / name, version + "\n")
        done = closed(hutch("run", "--", pyenv / "shims/python3", env=env))
        assert done.status in (125, 127) and "python3 is a shim of pyenv" in done.err, done


def test_a_version_file_in_a_writable_grant_decides_nothing(hutch, pyenv):
    make(hutch.directory / ".python-version", "3.12.1\n")
    shim = pyenv / "shims/python3"
    assert hutch("run", "--ro", hutch.directory, "--", shim).out == "python 3.12.1\n"
    for words in (["--rw", hutch.directory], ["--rw", hutch.directory / ".python-version"]):
        done = hutch("run", *words, "--", shim)
        assert done.status == 125 and f"{hutch.directory}/.python-version, which chooses what it starts, can be written" in done.err, done
    assert hutch("run", "--rw", hutch.directory, "--", shim, env={"PYENV_VERSION": "3.12.1"}).out == "python 3.12.1\n"


def test_a_version_file_behind_a_link_into_a_writable_grant(hutch, pyenv):
    make(hutch.directory / "open/version", "3.12.1\n")
    (pyenv / "version").unlink()
    (pyenv / "version").symlink_to(hutch.directory / "open/version")
    assert hutch("run", "--", pyenv / "shims/python3").out == "python 3.12.1\n"
    assert hutch("run", "--rw", hutch.directory / "open", "--", pyenv / "shims/python3").status == 125


def test_a_shim_in_a_writable_grant_is_only_a_script(hutch, private):
    """A pyenv that the server made: its versions are what nobody granted, or link there."""
    root = hutch.directory / "pyenv"
    make(root / "shims/python3", SHIM.format(root=root), 0o755)
    (root / "versions").mkdir()
    make(root / "version", "1\n")
    on_path = {"PATH": f"{root}/shims:/usr/bin:/bin", "PYENV_ROOT": str(root)}
    private.rename(root / "versions/1")
    make(root / "versions/1/bin/python3", f"#!/bin/sh\ncat {root}/versions/1/lib/x\n", 0o755)
    make(root / "versions/1/lib/x", "CANARY")
    assert "CANARY" in hutch("run", "--", root / "shims/python3", env=on_path).out  # the user's own: followed
    assert closed(hutch("run", "--", root / "shims/python3")).status != 0
    make(root / "versions/1/bin/python3", f"#!/bin/sh\ncat {private}/key\n", 0o755)
    (root / "versions/1").rename(private)
    (root / "versions/1").symlink_to(private)
    for words in ([], ["--rw", hutch.directory]):
        for env in (on_path, {}):
            assert closed(hutch("run", *words, "--", root / "shims/python3", env=env)).status != 0


def test_a_shim_that_the_server_rewrote(hutch):
    """The person's asdf, of which the server may write the shims: it names another plugin."""
    root = hutch.home / "data/asdf"
    make(root / "installs/secrets/1/bin/node", "#!/bin/sh\necho CANARY-plugin\n", 0o755)
    make(root / "installs/nodejs/20/bin/node", "#!/bin/sh\necho node 20\n", 0o755)
    make(hutch.home / ".tool-versions", "nodejs 20\nsecrets 1\n")
    make(root / "shims/node", "#!/usr/bin/env bash\n# asdf-plugin: secrets 1\nexec asdf exec node\n", 0o755)
    env = {"ASDF_DATA_DIR": str(root)}
    assert "CANARY" in hutch("run", "--", root / "shims/node", env=env).out
    assert closed(hutch("run", "--", root / "shims/node")).status != 0  # nobody says that this is an asdf
    for grant in (root / "shims", root / "shims/node"):
        assert closed(hutch("run", "--rw", grant, "--", root / "shims/node", env=env)).status != 0
        done = hutch("run", "--rw", grant, "--dry-run", "--", root / "shims/node", env=env)
        assert done.status == 0 and "installs/secrets" not in done.out, done


def test_versions_in_a_writable_grant(hutch, pyenv, private):
    """The shims are the person's, and the versions lie where the server may write."""
    shim, env = pyenv / "shims/python3", {"PYENV_VERSION": "evil"}
    (pyenv / "versions/evil").symlink_to(private)
    assert closed(hutch("run", "--", shim, env=env)).status != 0  # a link is no version
    (pyenv / "versions").rename(hutch.directory / "versions")
    (pyenv / "versions").symlink_to(hutch.directory / "versions")
    assert hutch("run", "--", shim).out == "python 3.11.9\n"
    for grant in (hutch.directory, hutch.directory / "versions", hutch.directory / "versions/3.11.9"):
        # Nothing but the grant itself is visible, and no version in it counts.
        assert grants(hutch, "--rw", grant, "--", shim) == {str(grant)}
    assert closed(hutch("run", "--", shim, env=env)).status != 0
    assert closed(hutch("run", "--rw", hutch.directory / "versions", "--", shim, env=env)).status != 0


def test_a_script_of_the_server_names_a_shim(hutch, pyenv, private):
    """It gets an installed interpreter at most, as it would with the interpreter's own path."""
    make(pyenv / "versions/3.11.9/bin/tool", "#!/bin/sh\n", 0o755)
    make(pyenv / "versions/3.11.9/bin/python3", "#!/bin/sh\necho python\n", 0o755)
    script = make(hutch.directory / "script", f"#!{pyenv}/shims/python3\n", 0o755)
    on_path = {"PATH": f"{pyenv}/shims:/usr/bin:/bin"}
    for words in ([], ["--rw", hutch.directory]):
        assert hutch("run", *words, "--", script, env=on_path).out == "python\n"
    (pyenv / "versions/evil").symlink_to(private)
    make(pyenv / "version", "evil\n")
    make(pyenv / "shims/tool", SHIM.format(root=pyenv), 0o755)
    make(script, f"#!{pyenv}/shims/tool\n", 0o755)
    for words in ([], ["--rw", hutch.directory]):
        assert closed(hutch("run", *words, "--", script, env=on_path)).status != 0


@pytest.mark.parametrize("line", ["../../../private 1", "nodejs ../../../../private", ". bin", "nodejs path:/etc", "nodejs ref:../x"])
def test_asdf_names_are_no_paths(hutch, private, line):
    root = hutch.home / ".asdf"
    make(root / "installs/nodejs/20.1.0/bin/node", "#!/bin/sh\necho node 20\n", 0o755)
    plugin = line.split()[0]
    make(root / "shims/node", f"#!/usr/bin/env bash\n# asdf-plugin: {plugin} 1\nexec asdf exec node\n", 0o755)
    make(hutch.directory / ".tool-versions", f"{line}\n")
    assert closed(hutch("run", "--", root / "shims/node")).status in (125, 127)


def test_tool_versions_in_a_writable_grant(hutch):
    root = hutch.home / ".asdf"
    for version in ("18.0.0", "20.1.0"):
        make(root / f"installs/nodejs/{version}/bin/node", f"#!/bin/sh\necho {version}\n", 0o755)
    make(root / "shims/node", "#!/usr/bin/env bash\n# asdf-plugin: nodejs 18.0.0\nexec asdf exec node\n", 0o755)
    make(hutch.directory / ".tool-versions", "nodejs 20.1.0\n")
    assert hutch("run", "--", root / "shims/node").out == "20.1.0\n"
    done = hutch("run", "--rw", hutch.directory, "--", root / "shims/node")
    assert done.status == 125 and ".tool-versions, which chooses what it starts, can be written" in done.err, done


@pytest.mark.parametrize("name", [".nvmrc", ".node-version"])
def test_a_file_of_another_manager_in_a_writable_grant(hutch, private, name):
    root = hutch.home / ".asdf"
    make(root / "installs/nodejs/18.0.0/bin/node", "#!/bin/sh\necho node 18\n", 0o755)
    make(root / "shims/node", "#!/usr/bin/env bash\n# asdf-plugin: nodejs 18.0.0\nexec asdf exec node\n", 0o755)
    make(hutch.home / ".asdfrc", "legacy_version_file = yes\n")
    make(hutch.directory / name, "18.0.0\n")
    assert hutch("run", "--", root / "shims/node").out == "node 18\n", "the attempt proves nothing"
    done = closed(hutch("run", "--rw", ".", "--", root / "shims/node"))
    assert done.status == 125 and f"{name}, which chooses what it starts, can be written by the sandbox" in done.err, done
    for version in ("../../../../private", str(private), "../../../private", "v../x"):
        make(hutch.directory / name, version + "\n")
        done = closed(hutch("run", "--", root / "shims/node"))
        assert done.status in (125, 127), done


@pytest.mark.parametrize("pinned", ["../../../../private", "/etc", ".."])
def test_volta_and_mise_versions_are_no_paths(hutch, private, pinned):
    volta, mise = hutch.home / ".volta", hutch.home / ".local/share/mise"
    for directory, program, target in ((volta / "bin", "node", volta / "bin/volta-shim"), (mise / "shims", "node", hutch.home / ".local/bin/mise")):
        make(target, "binary", 0o755)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / program).symlink_to(target)
    make(mise / "installs/node/20/bin/node", "#!/bin/sh\n", 0o755)
    make(volta / "tools/image/node/20/bin/node", "#!/bin/sh\n", 0o755)
    make(volta / "tools/image/packages/x")
    (volta / "bin/tool").symlink_to(volta / "bin/volta-shim")
    make(volta / "tools/user/bins/tool.json", f'{{"package": "{pinned}", "platform": {{"node": "20"}}}}')
    make(hutch.directory / "package.json", f'{{"volta": {{"node": "{pinned}"}}}}')
    make(hutch.directory / "mise.toml", f'[tools]\nnode = "{pinned}"\n')
    for shim in (volta / "bin/node", volta / "bin/tool", mise / "shims/node"):
        done = closed(hutch("run", "--", shim))
        assert done.status in (125, 127) and "is a shim of" in done.err, done


def test_a_package_json_in_a_writable_grant_pins_nothing(hutch):
    root = hutch.home / ".volta"
    make(root / "bin/volta-shim", "binary", 0o755)
    (root / "bin/node").symlink_to(root / "bin/volta-shim")
    for version in ("18.0.0", "20.1.0"):
        make(root / f"tools/image/node/{version}/bin/node", f"#!/bin/sh\necho {version}\n", 0o755)
    make(root / "tools/user/platform.json", '{"node": {"runtime": "20.1.0", "npm": null}}')
    make(hutch.directory / "package.json", '{"name": "x"}')
    assert hutch("run", "--rw", hutch.directory, "--", root / "bin/node").out == "20.1.0\n"
    make(hutch.directory / "package.json", '{"volta": {"node": "18.0.0"}}')
    assert hutch("run", "--", root / "bin/node").out == "18.0.0\n"
    assert hutch("run", "--rw", hutch.directory, "--", root / "bin/node").status == 125


# everyday commands

@pytest.mark.parametrize("base", ["{private}/bin", "../../home/private/bin", "{directory}/link/bin"])
def test_a_pyvenv_cfg_in_a_writable_grant(hutch, private, base):
    (hutch.directory / "link").symlink_to(private)
    venv = hutch.directory / ".venv"
    make(venv / "pyvenv.cfg", f"home = {base.format(private=private, directory=hutch.directory)}\n")
    (venv / "bin").mkdir()
    (venv / "bin/python").symlink_to("/usr/bin/python3")
    make(hutch.directory / "pyproject.toml")
    make(hutch.home / ".local/bin/uv", f"#!/bin/sh\ncat {private}/key\n", 0o755)
    for command in ([venv / "bin/python", "-c", f"print(open({str(private / 'key')!r}).read())"], [hutch.home / ".local/bin/uv", "run", "python"]):
        assert closed(hutch("run", "--rw", hutch.directory, "--", *command)).status != 0


@pytest.mark.parametrize("name", [".venv", "project", "node_modules"])
def test_a_directory_of_an_everyday_command_becomes_a_link(hutch, private, name):
    (hutch.directory / name).symlink_to(private)
    make(hutch.directory / "pyproject.toml")
    # A project without a .venv is fetched for first.
    make(hutch.home / ".local/bin/uv", f"#!/bin/sh\ncase $1 in sync) ;; tool) echo '(by default: <http://127.0.0.1:9/>)' ;; *) cat {private}/key ;; esac\n", 0o755)
    make(hutch.home / ".local/bin/npx", f"#!/bin/sh\ncat {private}/key\n", 0o755)
    uv, npx = hutch.home / ".local/bin/uv", hutch.home / ".local/bin/npx"
    command = {".venv": [uv, "run", "python"], "project": [uv, "--directory", hutch.directory / "project", "run", "x"], "node_modules": [npx, "tool"]}[name]
    assert "CANARY" in hutch("run", "--ro", private, "--", *command).out
    assert closed(hutch("run", "--", *command)).status != 0
    assert closed(hutch("run", "--rw", hutch.directory, "--", *command)).status != 0


def test_a_removed_project_file_does_not_bring_the_directory_above(hutch):
    """Nothing above a writable grant is looked at: the server could have removed its own."""
    make(hutch.directory / "pyproject.toml", "[tool.uv.workspace]\n")
    make(hutch.directory / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    make(hutch.directory / "node_modules/.bin/tool", "CANARY-tool", 0o755)
    make(hutch.directory / "key", "CANARY-above")
    make(hutch.directory / "inner/pkg.py", "print(open('../key').read())")
    for name in ("uv", "npx"):
        make(hutch.home / ".local/bin" / name, f"#!/bin/sh\ncat {hutch.directory}/key {hutch.directory}/node_modules/.bin/tool\n", 0o755)
    inner = hutch.directory / "inner"
    commands = [hutch.home / ".local/bin/uv", "run", "x"], [hutch.home / ".local/bin/npx", "tool"], [PYTHON, "-m", "pkg"]
    for command in commands:
        assert "CANARY" in hutch("run", "--", *command, cwd=inner).out
    for words in (["--rw", inner], []):  # and in every later run
        for command in commands:
            assert closed(hutch("run", *words, "--", *command, cwd=inner)).status != 0


def test_node_modules_that_another_account_planted(hutch, private):
    hutch.directory.chmod(0o777)
    (hutch.directory / "node_modules").symlink_to(private)
    make(hutch.home / ".local/bin/npx", f"#!/bin/sh\ncat {private}/key\n", 0o755)
    mine = hutch.directory / "mine"
    mine.mkdir()
    assert closed(hutch("run", "--", hutch.home / ".local/bin/npx", "tool", cwd=mine)).status != 0
