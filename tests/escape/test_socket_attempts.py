# SPDX-License-Identifier: Apache-2.0
"""Reaching programs outside through sockets in a granted directory."""
import os
import socket

import pytest

# Whatever lies in the working directory and below is connected to.
CONNECT_TO_ALL = """
import os, socket, stat
for directory, _, names in os.walk("."):
    for name in names:
        path = os.path.join(directory, name)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            s = socket.socket(socket.AF_UNIX, kind)
            s.settimeout(3)
            try:
                s.connect(path)
                s.send(b"x")
                print("GOT-OUT", path)
            except OSError as error:
                print(error)
"""


@pytest.fixture
def agent(hutch, monkeypatch):
    monkeypatch.chdir(hutch.directory)
    os.makedirs("a/b")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("agent")
        server.listen(16)
        yield server


@pytest.fixture
def deep_agent(hutch, monkeypatch):
    monkeypatch.chdir(hutch.directory)
    os.makedirs("a/b")
    path = str(hutch.directory / "a/agent")
    if len(path) > 107:
        pytest.skip("the test directory's path is too long for a socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(16)
        yield server


def as_it_is():
    pass


def renamed():
    os.rename("agent", "notes.txt")


def linked():
    os.link("agent", "notes.txt")
    os.unlink("agent")


@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_a_socket_at_its_name(attempt, deep_agent, grant):
    attempt(CONNECT_TO_ALL, grant, ".")


@pytest.mark.parametrize("disguise", [as_it_is, renamed, linked])
@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_a_socket_under_another_name(attempt, agent, disguise, grant):
    disguise()
    attempt(CONNECT_TO_ALL, grant, ".")


@pytest.mark.parametrize("script", ["os.rename('agent', 'x')", "os.unlink('agent')", "os.rename('a', 'x')", "os.link('agent', 'x')"])
def test_the_mask_of_a_socket_cannot_be_moved(attempt, deep_agent, hutch, script):
    """Nor can a directory above it."""
    script = script.replace("'agent'", "'a/agent'")
    back = "os.rename('x', 'a/agent')" if "rename('a/agent'" in script else "os.rename('x', 'a')" if "rename('a'" in script else "os.link('keep', 'a/agent')" if "unlink" in script else "os.unlink('x')"
    os.mkdir("../elsewhere")
    os.link("a/agent", "../elsewhere/keep")

    def reset():
        exec(back.replace("'keep'", "'../elsewhere/keep'"))

    attempt(f"import os\n{script}\nprint('GOT-OUT')", "--rw", ".", reset=reset)
