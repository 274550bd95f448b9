# SPDX-License-Identifier: Apache-2.0
"""Sockets of other programs below a grant, by their bound name, and directly in it whatever their names; each is shown to be in reach outside."""
import os
import socket
import subprocess

import pytest
from harness import PYTHON

# The working directory may be deep: a socket's address has 107 bytes.
CONNECT = """
import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
kind = getattr(socket, sys.argv[2])
s = socket.socket(socket.AF_UNIX, kind)
s.settimeout(5)
s.connect(os.path.basename(sys.argv[1]))
if kind == socket.SOCK_DGRAM:
    s.send(b"x")
print("connected")
"""
BIND = """
import os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[2])
s.listen()
print(flush=True)
input()
"""


@pytest.fixture
def work(hutch, monkeypatch):
    (hutch.directory / "sub/deep").mkdir(parents=True)
    monkeypatch.chdir(hutch.directory)
    return hutch.directory


@pytest.fixture
def listen(work):
    """listen(name, …): a listening socket bound to a name relative to the working directory."""
    servers = []

    def bind(name, kind=socket.SOCK_STREAM):
        server = socket.socket(socket.AF_UNIX, kind)
        server.bind(name)
        if kind != socket.SOCK_DGRAM:
            server.listen()
        servers.append(server)
        return server

    yield bind
    for server in servers:
        server.close()


def connects(path, kind="SOCK_STREAM"):
    return "connected" in subprocess.run([PYTHON, "-c", CONNECT, path, kind], capture_output=True, text=True).stdout


def connects_inside(hutch, path, *options, kind="SOCK_STREAM", **how):
    done = hutch("run", *options, "--", PYTHON, "-c", CONNECT, path, kind, **how)
    assert ("connected" in done.out) == (done.status == 0), done
    return "connected" in done.out


def check(hutch, path, grant="--ro", kind="SOCK_STREAM"):
    """In reach outside, not inside, whatever kind of grant."""
    assert not connects_inside(hutch, path, grant, hutch.directory, kind=kind)  # first: a connection would list the socket under this name
    assert connects(path, kind)
    assert not connects_inside(hutch, path, grant, hutch.directory, kind=kind)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
def test_a_relative_name(hutch, work, listen, kind):
    listen("s", getattr(socket, kind))
    check(hutch, work / "s", kind=kind)


@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_a_renamed_socket(hutch, work, listen, grant):
    listen("s")
    os.rename("s", "renamed")
    check(hutch, work / "renamed", grant)


def test_hard_links(hutch, work, listen):
    """Also when the first name is outside of the grant, as that of ssh's ControlMaster may be."""
    listen("s")
    os.link("s", "second")
    os.link("s", "sub/third")
    check(hutch, work / "second")
    assert not connects_inside(hutch, work / "s", "--ro", work)
    assert not connects_inside(hutch, work / "sub/third", "--ro", work / "sub")


def full_name(path):
    if len(str(path)) > 107:
        pytest.skip("the test directory's path is too long for a socket")
    return str(path)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_SEQPACKET"])
def test_a_name_at_any_depth(hutch, work, listen, kind):
    listen(full_name(work / "sub/deep/s"), getattr(socket, kind))
    check(hutch, work / "sub/deep/s", kind=kind)


def test_another_socket_at_the_known_name(hutch, work, listen):
    listen(full_name(work / "sub/s"))
    os.rename("sub/s", "first")
    listen(full_name(work / "sub/s"))
    check(hutch, work / "first")
    check(hutch, work / "sub/s")


def test_a_symbolic_link(hutch, work, listen):
    listen(full_name(work / "sub/deep/s"))
    os.symlink("deep/s", "sub/link")
    check(hutch, work / "sub/link")


@pytest.mark.parametrize("name", ["a\nb", "\n", "x\\040y", "\udcff", "@abstract"])
def test_odd_names(hutch, work, listen, name):
    listen(name)
    check(hutch, work / name)


def test_an_odd_directory(hutch, work, listen):
    os.mkdir("a b\\040\nc")
    listen("a b\\040\nc/s")
    assert not connects_inside(hutch, work / "a b\\040\nc/s", "--ro", work / "a b\\040\nc")


@pytest.mark.parametrize("how", ["relative", "renamed"])
def test_other_network_namespaces(hutch, work, how):
    with subprocess.Popen(["unshare", "-rn", PYTHON, "-c", BIND, work, "s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            server.stdout.readline()
            if how == "renamed":
                os.rename("s", "r")
            check(hutch, work / ("s" if how == "relative" else "r"))
        finally:
            server.stdin.close()


def test_another_root(hutch, work):
    """A program in a mount namespace that has the directory elsewhere, as a container with a volume."""
    script = f"mount --bind {work} /mnt && exec {PYTHON} -c '{BIND}' / /mnt/s"
    with subprocess.Popen(["unshare", "-rm", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            server.stdout.readline()
            check(hutch, work / "s")
        finally:
            server.stdin.close()


@pytest.mark.root
def test_a_bind_mount_of_the_host(hutch, work, listen):
    """One object at two places: named at one, granted at the other."""
    (work / "granted").mkdir()
    listen(str(work / "sub/s"))
    subprocess.run(["mount", "--bind", work / "sub", work / "granted"], check=True)
    try:
        assert not connects_inside(hutch, work / "granted/s", "--ro", work / "granted")
        (work / "outer/inner").mkdir(parents=True)
        subprocess.run(["mount", "--bind", work / "sub", work / "outer/inner"], check=True)
        try:
            assert not connects_inside(hutch, work / "outer/inner/s", "--ro", work / "outer")
        finally:
            subprocess.run(["umount", work / "outer/inner"], check=True)
    finally:
        subprocess.run(["umount", work / "granted"], check=True)


def test_without_the_kernels_list(hutch, work, listen, deny_calls):
    """Where the kernel or a filter refuses its list of sockets, /proc has their names."""
    (work / "deeper").mkdir()
    listen(full_name(work / "deeper/s"))
    assert connects_inside(hutch, work / "deeper/s", "--ro", work / "deeper/s")
    assert not connects_inside(hutch, work / "deeper/s", "--ro", work, before=deny_calls("socket+diag=EPERM"))


def test_below_the_commands_own_program(hutch, work, listen):
    """Its directory is granted with it."""
    (work / "app/run").mkdir(parents=True)
    (work / "app/package.json").write_text("{}")
    (work / "app/connect.py").write_text(CONNECT)
    listen(full_name(work / "app/run/s"))
    done = hutch("run", "--", PYTHON, work / "app/connect.py", work / "app/run/s", "SOCK_STREAM")
    assert done.status != 0 and "connected" not in done.out, done
    assert connects(work / "app/run/s")


def test_what_nobody_listens_on_stays(hutch, work, listen):
    """A server may remove the socket that it left behind in its directory, and make it anew."""
    listen("left").close()
    script = ("import os, socket\nos.unlink('left')\ns = socket.socket(socket.AF_UNIX)\ns.bind('left')\ns.listen()\n"
              "c = socket.socket(socket.AF_UNIX)\nc.connect('left')\nprint('served')")
    assert hutch("run", "--rw", work, "--", PYTHON, "-c", script).out == "served\n"


def test_a_socket_that_is_granted_itself(hutch, work, listen):
    listen("s")
    os.rename("s", "renamed")
    assert connects_inside(hutch, work / "renamed", "--ro", work, "--ro", work / "renamed")


def test_hiding_connects_to_nothing(hutch, work, listen):
    """Neither the listener nor the receiver notices that it was looked for."""
    stream, datagrams = listen("a"), listen("b", socket.SOCK_DGRAM)
    assert hutch("run", "--ro", work, "--", "true").status == 0
    for server, call in ((stream, stream.accept), (datagrams, lambda: datagrams.recv(1))):
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            call()
