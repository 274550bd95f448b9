# SPDX-License-Identifier: Apache-2.0
"""Directories that are not simply there: of file systems that admit one account only, with mounts below them, unreadable ones.
Each works, or one sentence says why not."""
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from fuse import Fuse
from harness import Remains, assert_nothing_left, needs_kernel, wait_until, without_deny_all
from layouts import make

ACCOUNT = 54321


@pytest.fixture
def namespace():
    """Mounts of a test stay in a mount namespace of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    mine = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    assert libc.unshare(0x00020000) == 0
    libc.mount(b"none", b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
    yield
    here = os.getcwd()
    # A thread that has just ended may still count: the kernel refuses this to a process of several.
    wait_until(lambda: libc.setns(mine, 0) == 0, 5, "the way back")
    os.chdir(here)
    os.close(mine)


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


@pytest.fixture
def as_account(hutch):
    """hutch called by an account that owns nothing here."""
    for directory in [hutch.directory, *hutch.directory.parents][:-2]:
        directory.chmod(directory.stat().st_mode | 0o055)
    before = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups"]
    return lambda *words, **popen: hutch(*words, before=before, env={"HOME": "/home/nobody"}, **popen)


# FUSE: only who mounted it is admitted, whatever the permissions say

@pytest.fixture
def fuse(hutch, namespace):
    needs_kernel(os.path.exists("/dev/fuse"), "no FUSE here")
    (hutch.directory / "outer/mounted").mkdir(parents=True)
    return hutch.directory / "outer/mounted"


@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay"])
def test_a_file_system_of_fuse(hutch, as_account, fuse, option):
    for owner, admitted, refused in (ACCOUNT, as_account, hutch), (0, hutch, as_account):
        with Fuse(fuse, owner):
            done = admitted("run", option, fuse, "--", "cat", f"{fuse}/file.txt")
            assert (done.status, done.out, done.err) == (0, "content of fuse\n", ""), done
            done = refused("run", option, fuse, "--", "true")
            assert done.status == 125 and len(done.err.splitlines()) == 1 and "admits other accounts only" in done.err, done
    with Fuse(fuse, 0, allow_other=True):
        assert as_account("run", option, fuse, "--", "cat", f"{fuse}/file.txt").out == "content of fuse\n"


@pytest.mark.root
def test_a_file_system_of_fuse_below_a_grant(hutch, as_account, fuse):
    """It comes with the directory, and whoever was not admitted outside is not inside."""
    show = ("run", "--ro", fuse.parent, "--", "sh", "-c", f"cat {fuse}/file.txt; ls {fuse.parent}")
    for owner, admitted, refused in (ACCOUNT, as_account, hutch), (0, hutch, as_account):
        with Fuse(fuse, owner):
            done = admitted(*show)
            assert (done.status, done.out, done.err) == (0, "content of fuse\nmounted\n", ""), done
            done = refused(*show)
            assert (done.status, done.out) == (0, "mounted\n") and "Permission denied" in done.err, done


@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw"])
def test_a_file_system_that_does_not_answer_holds_nobody_up_who_does_not_ask_it(hutch, fuse, option):
    """A dead network share below a grant, or anywhere: hutch starts, and only what looks into it waits."""
    with Fuse(fuse, 0, deaf=True):
        done = hutch("run", option, fuse.parent, "--", "sh", "-c", f"ls {fuse.parent}; echo ran", timeout=10)
        assert done.out.endswith("ran\n") and done.status == 0, done
        assert hutch("run", "--", "echo", "ran", timeout=10).out == "ran\n"


@pytest.mark.root
def test_nor_when_a_sockets_name_leads_there(hutch, fuse, monkeypatch):
    """hutch looks up the names of sockets below a grant, but none in a share that may not answer."""
    outer = fuse.parent
    monkeypatch.chdir(outer)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{outer}/mounted/s" if len(f"{outer}/mounted/s") < 108 else "mounted/s")
        server.listen()
        with Fuse(fuse, 0, deaf=True):
            done = hutch("run", "--ro", outer, "--", "ls", outer, timeout=10)
            assert (done.status, done.out) == (0, "mounted\n"), done


# the caller may not

@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay", "--ro-try"])
def test_a_directory_of_somebody_else(hutch, as_account, option):
    """As a root-squashed share is for root: its owner's alone."""
    private = make(hutch.directory / "private/file", "CANARY").parent
    private.chmod(0o700)
    done = as_account("run", option, private, "--", "sh", "-c", f"ls {private}; cat {private}/file; echo ran")
    assert done.status in (0, 125) and "CANARY" not in done.out, done
    assert done.status == 0 and "Permission denied" in done.err and done.out == "ran\n" or len(done.err.splitlines()) == 1, done
    done = as_account("run", option, private / "file", "--", "true")
    assert done.status == 125 and len(done.err.splitlines()) == 1 and "Permission denied" in done.err, done


def test_a_directory_without_any_permission(hutch, am_root):
    closed = make(hutch.directory / "closed/file", "text").parent
    closed.chmod(0)
    try:
        done = hutch("run", "--ro", closed, "--", "sh", "-c", f"cat {closed}/file; echo ran")
        assert done.status == 0 and done.out.endswith("ran\n"), done
        done = hutch("run", "--ro", closed / "file", "--", "true")
        assert done.status == (0 if am_root else 125) and (am_root or len(done.err.splitlines()) == 1), done
    finally:
        closed.chmod(0o700)


# mounts below

@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw"])
def test_a_directory_that_is_mounted_over(hutch, as_account, namespace, option):
    """What the upper mount hides stays hidden, and the sandbox cannot take it away."""
    directory = make(hutch.directory / "outer/over/secret", "CANARY-hidden").parent
    mount("-t", "tmpfs", "none", directory)
    make(directory / "visible", "visible\n")
    directory.chmod(0o777)
    script = f"cat {directory}/visible; ls {directory}; umount {directory} 2>/dev/null && echo unmounted; cat {directory}/secret 2>/dev/null"
    for grant in (directory, directory.parent):
        done = as_account("run", option, grant, "--allow-userns=full", "--", "unshare", "-Urm", "--propagation", "unchanged", "sh", "-c", script)
        assert "visible\n" in done.out and "CANARY" not in done.out and "unmounted" not in done.out, done
        done = hutch("run", option, grant, "--", "sh", "-c", script)
        assert done.out == "visible\nvisible\n" and not done.own_lines, done


def test_a_mount_that_a_more_privileged_namespace_locked(hutch):
    """In a user namespace every mount that came from outside is locked: its parent cannot be cloned without it."""
    directory = make(hutch.directory / "outer/over/secret", "CANARY-hidden").parent
    script = f'mount -t tmpfs none {directory} && echo seen >{directory}/visible && exec unshare -Urm "$@"'
    for grant, shows in (directory, "seen\n"), (directory.parent, "seen\n"):
        done = subprocess.run(["unshare", "-Urm", "sh", "-c", script, "-", *hutch.argv("run", "--ro", grant, "--", "cat", f"{directory}/visible")], cwd=hutch.directory,
                              env=hutch.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
        assert (done.returncode, done.stdout, without_deny_all(done.stderr)) == (0, shows, ""), done
    for grant in (directory / "visible", hutch.directory):
        done = subprocess.run(["unshare", "-Urm", "sh", "-c", script, "-", *hutch.argv("run", "--rw", grant, "--", "cat", f"{directory}/visible")], cwd=hutch.directory,
                              env=hutch.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
        assert (done.returncode, done.stdout, without_deny_all(done.stderr)) == (0, "seen\n", ""), done


@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay"])
def test_flags_of_the_host_stay(hutch, namespace, option):
    """A read-only or noexec file system below a grant is no less so inside."""
    inner = hutch.directory / "outer/inner"
    inner.mkdir(parents=True)
    mount("-t", "tmpfs", "none", inner)
    make(inner / "tool", "#!/bin/sh\necho ran\n", 0o755)
    mount("-o", "remount,ro,noexec", inner)
    done = hutch("run", option, inner if option == "--overlay" else inner.parent, "--", "sh", "-c", f"touch {inner}/new 2>/dev/null && [ {option} != --overlay ] && echo written; "
                 f"{inner}/tool; echo end")
    assert "written" not in done.out and done.out.endswith("end\n"), done
    assert option == "--overlay" or "ran" not in done.out, done


@pytest.mark.root
def test_killed_while_it_starts_hutch_leaves_no_ghost_and_no_mount(hutch, namespace):
    """At every moment of a start that makes mount points below grants and for protected names."""
    before = Remains()
    outer = hutch.directory / "outer"
    (outer / "inner").mkdir(parents=True)
    (outer / ".git").mkdir()
    snapshot = sorted(os.walk(hutch.directory))
    for i in range(60):
        process = hutch.start("run", "--rw", outer, "--ro", outer / "inner", "--tmpfs", outer / "inner", "--ro", f"/usr/share:{hutch.home}/x/y", "--", "sleep", "60",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stop = threading.Event()
        stop.wait(i * 0.0003)  # the moment is the point: there is no event to wait for
        process.kill()
        process.wait(10)
        assert sorted(os.walk(hutch.directory)) == snapshot
    assert_nothing_left(before)
    assert not (hutch.home / "x").exists()


READY, FAIL, CATATONIC = 0x9360, 0x9361, 0x9362  # of linux/auto_fs.h


def serve_autofs(libc, directory, reading, root, mounts):
    """Answers requests as automount(8) does: mounts, or says that there is nothing."""
    while packet := os.read(reading, 4096):
        token, = struct.unpack_from("I", packet, 8)
        if mounts:
            libc.mount(b"none", bytes(directory), b"tmpfs", 0, b"")
            (directory / "file").write_text("mounted on demand\n")
        fcntl.ioctl(root, READY if mounts else FAIL, token)


@pytest.mark.root
@pytest.mark.parametrize("option", ["--ro", "--rw"])
@pytest.mark.parametrize("mounts", [True, False])
def test_a_file_system_that_is_mounted_on_demand(hutch, namespace, option, mounts):
    """Naming it is what mounts it: before the sandbox exists, so that it is in it."""
    directory = hutch.directory / "auto"
    directory.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    reading, writing = os.pipe()
    # Processes of the daemon's own group are let through: hutch is started in another one.
    done = libc.mount(b"hutch-test", bytes(directory), b"autofs", 0, f"fd={writing},pgrp={os.getpgid(0)},minproto=5,maxproto=5,direct".encode())
    needs_kernel(done == 0, f"autofs: {os.strerror(ctypes.get_errno())}")
    root = os.open(directory, os.O_RDONLY)
    os.close(writing)
    daemon = threading.Thread(target=serve_autofs, args=(libc, directory, reading, root, mounts), daemon=True)
    daemon.start()
    try:
        done = hutch("run", option, directory, "--", "cat", directory / "file", timeout=20, start_new_session=True)
        if mounts:
            assert (done.status, done.out, done.own_lines) == (0, "mounted on demand\n", []), done
        else:
            assert done.status == 125 and len(done.err.splitlines()) == 1 and "No such file" in done.err, done
    finally:
        fcntl.ioctl(root, CATATONIC)  # the end of the pipe
        daemon.join(5)
        os.close(root)
        os.close(reading)
        while libc.umount2(bytes(directory), 2) == 0:
            pass


@pytest.mark.root
def test_a_command_of_snap(hutch, namespace):
    """snap's node is a link to snapd's own sandbox, which needs set-uid."""
    mount("-t", "tmpfs", "none", "/mnt")
    for directory in ("/mnt/bin", "/mnt/upper", "/mnt/work"):
        os.makedirs(directory)
    mount("-t", "overlay", "-o", "lowerdir=/usr/bin,upperdir=/mnt/upper,workdir=/mnt/work", "none", "/usr/bin")
    if not os.path.exists("/usr/bin/snap"):
        Path("/usr/bin/snap").write_text("#!/bin/sh\n", encoding="ascii")
        os.chmod("/usr/bin/snap", 0o755)
    os.symlink("/usr/bin/snap", "/mnt/bin/node")
    for command, env in ("/mnt/bin/node", {}), ("node", {"PATH": "/mnt/bin:/usr/bin:/bin"}):
        done = hutch("run", "--", command, "x.js", env=env)
        assert done.status == 126 and len(done.err.splitlines()) == 1 and "belongs to snap" in done.err and "cannot run" in done.err, done
