# SPDX-License-Identifier: Apache-2.0
"""What a server may have written into its own packages does not bring more of the host into its next run."""
import json

import pytest
from layouts import CMD_SHIM, make, package


@pytest.fixture
def private(hutch):
    make(hutch.home / "code/private/key.js", "CANARY-private")
    return hutch.home / "code/private"


def shown(hutch, *words, **popen):
    done = hutch("run", "--dry-run", *words, **popen)
    assert done.status == 0, done
    return {mount["source"] for mount in json.loads(done.out)["mounts"] if mount["kind"] == "bind"}, done.err


def test_a_workspace_above_a_writable_package_stays_outside(hutch, node, private):
    top = package(private.parent, "top", workspaces=["server"])
    script = make(package(top / "server", "server") / "index.js")
    assert str(top) in shown(hutch, "--", node, script)[0], "the attempt proves nothing"
    sources, _ = shown(hutch, "--rw", script.parent, "--", node, script)
    assert str(top) not in sources and str(private) not in sources


def test_a_package_that_says_it_is_a_workspace_brings_only_itself(hutch, node, private):
    server = package(private.parent / "server", "server", workspaces=["../private", "../*", "/"])
    script = make(server / "index.js")
    assert private.parent not in shown(hutch, "--rw", server, "--", node, script)[0]
    assert str(private) not in shown(hutch, "--", node, script)[0]


@pytest.mark.parametrize("target", ["../../private/key.js", "../link/key.js", "../private.js"])
def test_a_script_that_starts_node_names_what_is_outside(hutch, private, target):
    """Whoever wrote it, and also where PATH has it, it brings nothing outside of its project, and a note names that."""
    project = package(hutch.home / "code/project", "project")
    on_path = {"PATH": f"{project}/bin:{project}:{hutch.environment['PATH']}"}
    (project / "link").symlink_to(private)
    (project / "private.js").symlink_to(private / "key.js")
    command = make(project / "bin/server", CMD_SHIM.format(modules="/", target=target), 0o755)
    for words, env in (([], on_path), ([], {}), (["--rw", project], on_path)):
        visible, notes = shown(hutch, *words, "--", command, env=env)
        assert f"--ro {private}" in notes, "the attempt proves nothing"
        assert not {str(private), str(private / "key.js")} & visible


def test_links_and_lines_of_the_server_are_no_advice(hutch, node, private):
    server = package(hutch.home / "code/server", "server")
    (server / "node_modules").mkdir()
    (server / "node_modules/key").symlink_to(private)
    make(server / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    make(server / ".venv/lib/python3.11/site-packages/key.pth", f"{private}\n")
    script = make(server / "index.js")
    assert shown(hutch, "--", node, script)[1].count(f"--ro {private}") == 2, "the attempt proves nothing"
    assert str(private) not in shown(hutch, "--rw", server, "--", node, script)[1]
