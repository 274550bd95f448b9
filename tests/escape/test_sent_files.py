# SPDX-License-Identifier: Apache-2.0
"""--file reads a file of the caller's and may write one to the host's disk, in a directory that a server had in its hands. What
was judged is what is copied, and no link, pipe, device or swap makes hutch read or write anything else. Each way is first
proven to lead somewhere without hutch."""
import fcntl
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from flipping import flipping
from harness import PYTHON, Finished, wait_until


@pytest.fixture
def private(hutch):
    """A directory that nobody grants."""
    directory = hutch.home / "private"
    directory.mkdir()
    (directory / "key").write_text("CANARY-private")
    return directory


@pytest.fixture
def granted(hutch):
    directory = hutch.home / "granted"
    directory.mkdir()
    return directory


@pytest.fixture
def local(hutch):
    path = hutch.directory / "local"
    path.write_text("mine")
    return path


def tree(directory):
    """Everything below a directory: kind, size and name."""
    return sorted((oct(path.lstat().st_mode), path.lstat().st_size, str(path)) for path in directory.rglob("*"))


@pytest.fixture
def between(hutch):
    """between(act, …): runs hutch, with act() after everything is judged and before any of it is used. hutch is held there by a
    full pipe: -v says what was decided, and nobody reads it yet."""
    def run(act, *options, command):
        reader, writer = os.pipe()
        room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"x" * room)
        process = hutch.start("run", "-v", *options, "--", *command, stdout=subprocess.PIPE, stderr=writer)
        os.close(writer)
        with process, os.fdopen(reader, "rb") as stderr:
            # The system call that a process is in: its number, then the arguments; the first is the descriptor.
            wait_until(lambda: Path(f"/proc/{process.pid}/syscall").read_text().split()[1:2] == ["0x2"], 10, "what hutch has to say")
            act()
            said = []
            thread = threading.Thread(target=lambda: said.append(stderr.read()[room:]))
            thread.start()
            out, _ = process.communicate(timeout=20)
            thread.join(20)
        return Finished(process.returncode, out.decode(errors="replace"), said[0].decode(errors="replace"), 0)
    return run


# what is read

def replace_by_link(local, key):
    local.unlink()
    local.symlink_to(key)


def replace_by_link_on_the_way(local, key):
    local.parent.rename(local.parent.with_name("moved"))
    local.parent.symlink_to(key.parent)


def replace_by_other_file(local, key):
    os.rename(key, local)


def replace_by_hard_link(local, key):
    local.unlink()
    os.link(key, local)


@pytest.mark.parametrize("swap", [replace_by_link, replace_by_link_on_the_way, replace_by_other_file, replace_by_hard_link])
def test_another_file_is_put_in_its_place(hutch, between, private, swap):
    local = hutch.directory / "d/key"
    local.parent.mkdir()
    local.write_text("mine")
    done = between(lambda: swap(local, private / "key"), "-f", f"{local}:/tmp/f", command=["cat", "/tmp/f"])
    assert "CANARY" in local.read_text(), "the swap leads nowhere, so it proves nothing"
    assert done.status == 125 and done.out == "" and "something else was put in its place" in done.err, done


def replace_by_fifo(local):
    local.unlink()
    os.mkfifo(local)


def replace_by_directory(local):
    local.unlink()
    local.mkdir()


def replace_by_socket(local):
    local.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(local))


def grow(local):
    with local.open("a") as file:
        file.write("and more")


@pytest.mark.parametrize("act, says", [(replace_by_fifo, "was put in its place"), (replace_by_directory, "was put in its place"),
                                       (replace_by_socket, "was put in its place"), (Path.unlink, "No such file"), (grow, "grew or shrank"),
                                       (lambda local: os.truncate(local, 1), "grew or shrank")],
                         ids=["fifo", "directory", "socket", "gone", "grown", "shrunk"])
def test_it_is_no_longer_what_was_judged(monkeypatch, hutch, between, local, granted, act, says):
    monkeypatch.chdir(hutch.directory)
    done = between(lambda: act(local), "--rw", granted, "-f", f"{local}:{granted}/f", command=["echo", "ran"])
    assert done.status == 125 and done.out == "" and says in done.err, done
    assert os.listdir(granted) == []


def test_a_file_and_a_link_to_a_secret_change_places_all_the_time(hutch, local, private):
    other = hutch.directory / "other"
    other.symlink_to(private / "key")
    with flipping(local, other) as flips:
        ends = [hutch("run", "--rw", hutch.directory, "-f", f"{local}:/tmp/f", "--", "cat", "/tmp/f") for _ in range(60)]
    assert len(flips) > 1000 and set(flips) == {0}
    assert {(done.status, done.out) for done in ends} <= {(0, "mine"), (125, "")}, ends


def test_a_link_that_a_server_left_is_not_sent(hutch, granted, private):
    (granted / "config").symlink_to(private / "key")
    (granted / "sub").symlink_to(private)
    for local in (granted / "config", granted / "sub/key"):
        command = ["-f", f"{local}:/tmp/f", "--", "cat", "/tmp/f"]
        alone = hutch("run", *command)
        assert alone.out == "CANARY-private", alone
        done = hutch("run", "--rw", granted, *command)
        assert done.status == 125 and "CANARY" not in done.out and "the server may have put it there" in done.err, done


# what is written

@pytest.mark.parametrize("depth", range(3))
@pytest.mark.parametrize("when", ["before", "between"])
def test_a_directory_on_the_way_is_a_link_out(hutch, between, local, granted, private, depth, when):
    names = ["a", "b", "c"]
    way = granted.joinpath(*names[:depth])
    way.mkdir(parents=True, exist_ok=True)
    (private / "b/c").mkdir(parents=True)
    (private / "c").mkdir()
    before = tree(private)

    def lead_out():
        (way / names[depth]).symlink_to(private)

    remote = granted / "a/b/c/f"
    options = ["--rw", granted, "-f", f"{local}:{remote}"]
    if when == "before":
        lead_out()
        done = hutch("run", *options, "--", "echo", "ran")
    else:
        done = between(lead_out, *options, command=["echo", "ran"])
    assert (way / names[depth]).resolve() == private, "the link leads nowhere, so it proves nothing"
    assert done.status == 125 and done.out == "" and "a part of the path is a link or not a directory" in done.err, done
    assert tree(private) == before


def leave_link(place, private):
    place.symlink_to(private / "key")


def leave_link_to_nothing(place, private):
    place.symlink_to(private / "new")


def leave_fifo(place, _):
    os.mkfifo(place)


def leave_directory(place, _):
    place.mkdir()


def leave_socket(place, _):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(place))


@pytest.mark.parametrize("leave", [leave_link, leave_link_to_nothing, leave_fifo, leave_directory, leave_socket])
@pytest.mark.parametrize("when", ["before", "between"])
def test_what_is_at_the_place_is_no_file(monkeypatch, hutch, between, local, granted, private, leave, when):
    monkeypatch.chdir(granted)
    before = tree(private)
    options = ["--rw", granted, "-f", f"{local}:{granted}/f"]
    if when == "before":
        leave(granted / "f", private)
        done = hutch("run", *options, "--", "echo", "ran", timeout=10)
    else:
        done = between(lambda: leave(granted / "f", private), *options, command=["echo", "ran"])
    assert done.status == 125 and done.out == "" and "hutch replaces nothing else" in done.err, done
    assert tree(private) == before and os.listdir(granted) == ["f"]
    if leave in (leave_link, leave_link_to_nothing):
        (granted / "f").write_text("a plain write goes there")
        assert tree(private) != before, "the link leads nowhere, so it proves nothing"


def test_a_pipe_as_a_directory_on_the_way(hutch, local, granted):
    os.mkfifo(granted / "a")
    done = hutch("run", "--rw", granted, "-f", f"{local}:{granted}/a/f", "--", "echo", "ran", timeout=10)
    assert done.status == 125 and "a part of the path is a link or not a directory" in done.err, done


@pytest.mark.root
def test_a_device_at_the_place(hutch, local, granted):
    os.mknod(granted / "f", 0o20666, os.makedev(1, 3))
    done = hutch("run", "--rw", granted, "-f", f"{local}:{granted}/f", "--", "echo", "ran")
    assert done.status == 125 and "hutch replaces nothing else" in done.err, done


@pytest.mark.parametrize("where", ["a", "a/f"])
def test_a_place_and_a_link_out_change_places_all_the_time(hutch, local, granted, private, where):
    (granted / "a").mkdir()
    (granted / "a/f").write_text("old")
    (private / "f").write_text("theirs")
    before = tree(private)
    (granted / "other").symlink_to(private if where == "a" else private / "f")
    with flipping(granted / where, granted / "other") as flips:
        ends = [hutch("run", "--rw", granted, "-f", f"{local}:{granted}/a/f", "--", "true") for _ in range(60)]
    assert len(flips) > 1000
    assert tree(private) == before and (private / "f").read_text() == "theirs"
    assert {done.status for done in ends} <= {0, 125}


def test_a_hard_link_that_a_server_left_is_not_written_through(hutch, local, granted):
    (granted / "a").write_text("other")
    os.link(granted / "a", granted / "f")
    assert hutch("run", "--rw", granted, "-f", f"{local}:{granted}/f", "--", "true").status == 0
    assert (granted / "a").read_text() == "other" and (granted / "f").read_text() == "mine"


# what is protected or hidden

PROTECTED = [".git/hooks/pre-commit", ".git/hooks", ".git/config", ".git", ".mcp.json", ".vscode/tasks.json", ".envrc", ".bashrc"]


@pytest.mark.parametrize("exists", [False, True], ids=["missing", "existing"])
@pytest.mark.parametrize("name", PROTECTED)
def test_a_protected_name_is_not_a_place(hutch, local, granted, name, exists):
    if exists:
        (granted / ".git/hooks").mkdir(parents=True)
        (granted / ".vscode").mkdir()
        for file in (".git/config", ".mcp.json", ".envrc", ".bashrc"):
            (granted / file).write_text("theirs")
    before = tree(granted)
    for grant, place in ((granted, granted), (f"{granted}:/data", "/data")):
        done = hutch("run", "--rw", grant, "-f", f"{local}:{place}/{name}", "--", "true")
        assert done.status == 125 and "cannot put a file at" in done.err and tree(granted) == before, done
    if not exists:
        done = hutch("run", "--rw", granted, "--no-protect", "-f", f"{local}:{granted}/{name}", "--", "cat", granted / name)
        assert (done.status, done.out) == (0, "mine") and (granted / name).read_text() == "mine", done


def test_a_granted_repository_directory_has_its_hooks_protected(hutch, local, granted):
    (granted / ".git").mkdir()
    for remote in ("hooks/pre-commit", "config"):
        done = hutch("run", "--rw", granted / ".git", "-f", f"{local}:{granted}/.git/{remote}", "--", "true")
        assert done.status == 125 and "the name is protected" in done.err and os.listdir(granted / ".git") == [], done
    assert hutch("run", "--rw", granted / ".git", "-f", f"{local}:{granted}/.git/x", "--", "true").status == 0


def test_a_link_to_a_protected_directory_is_no_way_around(hutch, local, granted):
    (granted / ".git/hooks").mkdir(parents=True)
    (granted / "sub").symlink_to(".git")
    done = hutch("run", "--rw", granted, "-f", f"{local}:{granted}/sub/hooks/pre-commit", "--", "true")
    assert done.status == 125 and os.listdir(granted / ".git/hooks") == [], done


@pytest.mark.parametrize("option, names", [("--protect", ["kept", "kept/f"]), ("--hide", ["kept", "kept/f"]), ("--ro", ["kept/f", "kept"])])
def test_what_the_person_protected_hid_or_granted_for_reading(hutch, local, granted, option, names):
    (granted / "kept").mkdir()
    for name in names:
        done = hutch("run", "--rw", granted, option, granted / "kept", "-f", f"{local}:{granted}/{name}", "--", "true")
        assert done.status == 125 and "the command cannot write there" in done.err and tree(granted / "kept") == [], done


def test_the_copy_opens_no_other_way_in(hutch, local, private):
    """No descriptor of what was sent in, or of where it went, is left to the command."""
    script = "import os; print(sorted(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}') and int(n) > 2))"
    done = hutch("run", "-f", f"{local}:/tmp/x/f", "--", PYTHON, "-c", script)
    assert (done.status, done.out) == (0, "[]\n"), done
