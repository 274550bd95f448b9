# SPDX-License-Identifier: Apache-2.0
"""--file: a local file is inside before the command starts, as a copy, where the command can write; every other wish is
one sentence, and nothing is run."""
import json
import os
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import PYTHON, STUB, read_stat, wait_until

MOST = 100 << 20


@pytest.fixture
def local(hutch):
    """A file of the caller's."""
    path = hutch.directory / "server.py"
    path.write_text("print('sent in')\n")
    return path


@pytest.fixture
def granted(hutch):
    """A directory that is granted writable."""
    directory = hutch.home / "granted"
    directory.mkdir()
    return directory


def fails(hutch, local, remote, *options, status=125, says="", command=("true",)):
    done = hutch("run", *options, "--file", f"{local}:{remote}", "--", *command, timeout=20)
    assert done.status == status and says in done.err and len(done.own_lines) == (1 if status == 125 else 2), done
    return done


# what it is for

def test_a_server_in_a_single_file(strict):
    client = strict("-f", f"{STUB}:/tmp/server.py", command=[PYTHON, "/tmp/server.py"])
    assert client.list_tools()


def test_what_the_host_has_at_that_path_is_another_file(hutch, local):
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="sent-") as directory:
        place = Path(directory) / "server.py"
        for content in (None, "print('CANARY of the host')\n"):
            if content:
                place.write_text(content)
            for words in ([PYTHON, place], ["sh", "-c", f"exec {PYTHON} {place}", "sh", place]):
                done = hutch("run", "-f", f"{local}:{place}", "--", *words)
                assert (done.status, done.out, done.err) == (0, "sent in\n", ""), done
        box = json.loads(hutch("run", "--dry-run", "-f", f"{local}:{place}", "--", PYTHON, place).out)
        assert not [mount for mount in box["mounts"] if mount["destination"].startswith(directory)]
        assert place.read_text() == content


def test_a_directory_of_files_is_a_program_too(hutch, local):
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="sent-") as directory:
        (Path(directory) / "__main__.py").write_text("print('CANARY of the host')")
        done = hutch("run", "-f", f"{local}:{directory}/__main__.py", "--", PYTHON, directory)
        assert (done.status, done.out) == (0, "sent in\n"), done


def test_relative_to_the_working_directory_inside(hutch, local):
    done = hutch("run", "--cwd", "/tmp", "-f", "server.py:/tmp/server.py", "--", PYTHON, "server.py")
    assert (done.status, done.out) == (0, "sent in\n"), done


@pytest.mark.parametrize("options", [[], ["--no-auto-grant"]], ids=["auto", "no-auto-grant"])
@pytest.mark.parametrize("line", ["#!/bin/sh\necho ran $0\n", "#!/usr/bin/env sh\necho ran $0\n"], ids=["sh", "env"])
def test_the_command_itself_is_sent_in(hutch, line, options):
    tool = hutch.directory / "tool"
    tool.write_text(line)
    done = hutch("run", *options, "-f", f"{tool}:/tmp/tool", "--", "/tmp/tool")
    assert done.status == 126 and "chmod +x" in done.err, done
    tool.chmod(0o755)
    done = hutch("run", *options, "-f", f"{tool}:/tmp/tool", "--", "/tmp/tool")
    assert (done.status, done.out) == (0, "ran /tmp/tool\n"), done


# what arrives

@pytest.mark.parametrize("mode, inside", [(0o644, "644"), (0o600, "600"), (0o444, "444"), (0o755, "755"), (0o7755, "755"), (0o4711, "711")])
def test_the_mode_without_the_bits_that_change_identity(hutch, local, granted, mode, inside):
    local.chmod(mode)
    script = f"stat -c '%a %U' /tmp/f {granted}/f"
    assert hutch.inside(script, "--rw", granted, "-f", f"{local}:/tmp/f", "-f", f"{local}:{granted}/f") == f"{inside} nonroot\n" * 2
    assert stat.S_IMODE((granted / "f").stat().st_mode) == int(inside, 8)


def test_it_is_a_copy(hutch, local):
    out = hutch.inside("echo changed >/tmp/d/f && cat /tmp/d/f && rm /tmp/d/f && ls -a /tmp/d", "-f", f"{local}:/tmp/d/f")
    assert out == "changed\n.\n..\n" and local.read_text() == "print('sent in')\n"


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000])
def test_every_byte(hutch, local, size):
    content = os.urandom(size)
    local.write_bytes(content)
    done = hutch.start("run", "-f", f"{local}:/tmp/f", "--", "cat", "/tmp/f", stdout=-1)
    assert done.communicate(timeout=20)[0] == content


@pytest.mark.parametrize("place", ["/tmp/x/f", "/tmp/a/b/c/f", "/var/tmp/f", "/dev/shm/f", "~/x/f", "~/.config/x/f", "/mine/a/f", "{overlay}/a/f", "{granted}/f",
                                   "{granted}/a/b/f", "/data/a/f"])
def test_every_place_that_the_command_can_write(hutch, local, granted, place):
    overlay = hutch.directory / "overlay"
    overlay.mkdir()
    place = place.format(overlay=overlay, granted=granted)
    options = ["--tmpfs", "/mine:1m", "--overlay", overlay, "--rw", granted, "--rw", f"{granted}:/data", "-f", f"{local}:{place}"]
    inside = place.replace("~", str(hutch.home))
    for again in range(2):  # what the first left on the disk is replaced
        assert hutch.inside(f"cat '{inside}'; ls -A $(dirname '{inside}')", *options) == "print('sent in')\nf\n"
    on_disk = [path for directory in (overlay, granted) for path in directory.rglob("*") if path.is_file()]
    assert len(on_disk) == (str(granted) in place or "/data" in place)


def test_a_file_in_a_writable_grant_is_replaced_and_its_other_names_are_not(hutch, local, granted):
    (granted / "f").write_text("old")
    os.link(granted / "f", granted / "other")
    assert hutch.inside(f"cat {granted}/f {granted}/other", "--rw", granted, "-f", f"{local}:{granted}/f") == "print('sent in')\nold"
    assert sorted(os.listdir(granted)) == ["f", "other"]


def test_parents_have_the_callers_mask(hutch, local, granted):
    hutch("run", "--rw", granted, "-f", f"{local}:{granted}/a/f", "--", "true", before=["sh", "-c", 'umask 027; exec "$@"', "sh"])
    assert stat.S_IMODE((granted / "a").stat().st_mode) == 0o750


@pytest.mark.parametrize("name", ["with space", "q'\"uote", "new\nline", "co:lon", "a:/b", b"\xff\xfe".decode(errors="surrogateescape"), "ä", "-rf"],
                         ids=["space", "quote", "newline", "colon", "colon-slash", "bytes", "umlaut", "dash"])
def test_names_of_every_kind(hutch, name):
    path = hutch.directory / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("content\n")
    done = hutch("run", "-f", f"{hutch.directory}/{name}:/tmp/x/f", "-f", f"{path}:/tmp/x/{name.replace('/', '_')}", "--", "sh", "-c", "cat /tmp/x/*")
    assert (done.status, done.out) == (0, "content\n" * 2), done


def test_many_files(hutch, local):
    options = [word for number in range(300) for word in ("-f", f"{local}:/tmp/{number % 7}/{number}")]
    assert hutch.inside("find /tmp -type f | wc -l", *options) == "300\n"


def test_it_works_without_proc(hutch, local, granted):
    done = hutch("run", "--proc", "none", "--rw", granted, "-f", f"{local}:{granted}/f", "--", "ls", "-A", granted)
    assert (done.status, done.out) == (0, "f\n"), done


def test_links_on_the_way_to_the_local_file_are_the_callers_own(hutch, local):
    (hutch.directory / "link").symlink_to("server.py")
    assert hutch.inside("cat /tmp/f; test ! -L /tmp/f", "-f", "link:/tmp/f") == "print('sent in')\n"


# what is shown

def test_dry_run_and_verbose_show_it(hutch, local, granted):
    local.chmod(0o4750)
    done = hutch("run", "-v", "--dry-run", "--rw", granted, "--file", f"{local}:/tmp/f", f"--file={local}:{granted}/a/f", "--", "true")
    status = local.stat()
    files = [{"source": str(local), "destination": place, "device": status.st_dev, "inode": status.st_ino, "bytes": status.st_size, "mode": "0750"}
             for place in ("/tmp/f", f"{granted}/a/f")]
    assert json.loads(done.out)["files"] == files
    assert f"[hutch] a copy of {local} as /tmp/f (--file)" in done.own_lines, done
    assert os.listdir(granted) == []


# what is refused

@pytest.mark.parametrize("value, says", [
    ("server.py", "write LOCAL:REMOTE, as in server.py:/tmp/server.py"), ("server.py:", "write LOCAL:REMOTE"), (":/tmp/f", "write LOCAL:REMOTE"),
    (":", "write LOCAL:REMOTE"), ("server.py:f", "write /tmp/f"), ("server.py:../f", "is not an absolute path"), ("server.py:/tmp/../x/f", "write /x/f"),
    ("server.py:/tmp//f", "write /tmp/f"), ("server.py:/tmp/./f", "write /tmp/f"), ("server.py:/tmp/", "write /tmp/server.py"),
    ("server.py:/", "root of the sandbox")])
def test_another_form_is_a_usage_error_that_says_what_to_write(hutch, local, value, says):
    done = hutch("run", "--file", value, "--", "true")
    assert done.status == 2 and says in done.err, done


def test_one_place_has_one_content(hutch, local):
    (hutch.directory / "other").write_text("")
    done = hutch("run", "-f", "server.py:/tmp/f", "-f", "other:/tmp/f", "--", "true")
    assert done.status == 2 and "two files have the same destination /tmp/f" in done.err, done
    assert hutch("run", "-f", "server.py:/tmp/f", "-f", "server.py:/tmp/f", "--", "true").status == 0


def test_what_is_no_file_is_refused_at_once(hutch, am_root):
    (hutch.directory / "directory").mkdir()
    os.mkfifo(hutch.directory / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(hutch.directory)
        listener.bind("socket")
        for name, says in {"directory": "it is a directory; grant it with --ro", "fifo": "not a regular file", "socket": "not a regular file", "missing": "No such file",
                           "directory/../fifo/x": "Not a directory"}.items():
            fails(hutch, name, "/tmp/f", says=says)
    for path in ("/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/cpuinfo"):
        fails(hutch, path, "/tmp/f", says="refusing to grant")
    if not am_root:
        (hutch.directory / "closed").write_text("")
        (hutch.directory / "closed").chmod(0o200)
        fails(hutch, "closed", "/tmp/f", says="Permission denied")


def test_who_waits_for_a_reader_of_a_fifo_does_not_take_hutch_for_one(hutch):
    fifo = hutch.directory / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", "echo waits; exec 3>fifo"], cwd=hutch.directory, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        wait_until(lambda: read_stat(writer.pid)[1] == "S", what="the wait for a reader")
        fails(hutch, "fifo", "/tmp/f")
        assert writer.poll() is None and read_stat(writer.pid)[1] == "S"
        os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def test_the_most_is_100_mib(hutch, local):
    os.truncate(local, MOST)
    assert hutch.inside("stat -c %s /tmp/f", "-f", f"{local}:/tmp/f") == f"{MOST}\n"
    os.truncate(local, MOST + 1)
    fails(hutch, local, "/tmp/f", says="at most 104857600; grant it with --ro")


def test_it_counts_toward_the_budget_in_memory(hutch, local):
    local.write_bytes(b"x" * 100_000)
    out = hutch.inside("stat -f -c '%b %f' /mine", "--tmpfs", "/mine:1m", "-f", f"{local}:/mine/f")
    blocks, free = map(int, out.split())
    assert blocks - free >= 100_000 // 4096
    fails(hutch, local, "/mine/f", "--tmpfs", "/mine:64k", says="No space left on device: there is no room")


def test_keys_are_refused_unless_named_as_unsafe(hutch):
    key = hutch.home / ".ssh/id"
    fails(hutch, key, "/tmp/key", says=f"refusing to grant {key}: it holds keys")
    (hutch.directory / "innocent").symlink_to(key)
    fails(hutch, "innocent", "/tmp/key", says="it holds keys")
    done = hutch("run", "--unsafe-grant", key, "-f", f"{key}:/tmp/key", "--", "cat", "/tmp/key")
    assert done.out == "CANARY-ssh-key\n" and "voids the sandbox" in done.err and "permits nothing" not in done.err, done


@pytest.mark.parametrize("remote, says", [
    ("/usr/f", "the command cannot write there (base)"), ("/bin/f", "the command cannot write there"), ("/etc/passwd", "the command cannot write there"), ("/f", "the sandbox's root"),
    ("/proc/sys/x", "the command cannot write there"), ("/dev/null", "the command cannot write there"), ("/opt/x/f", "the sandbox's root"), ("/tmp", "name a path in a directory, such as /tmp/server.py"),
    ("~", "name a path in a directory"), ("{0}/f", "the command cannot write there (--ro)"), ("{0}", "the command cannot write there (--ro)"),
    ("/tmp/below", "no regular file")])
def test_where_the_command_cannot_write(hutch, local, granted, remote, says):
    (granted / "below").mkdir()
    fails(hutch, local, remote.format(granted), "--ro", granted, "--ro", f"{granted}/below:/tmp/below/it", says=says)


def test_a_writable_file_grant_is_the_grant_not_a_place(hutch, local, granted):
    (granted / "f").write_text("theirs")
    fails(hutch, local, granted / "f", "--rw", granted / "f", says="that is a grant")
    assert (granted / "f").read_text() == "theirs"


def test_a_directory_that_is_not_writable_for_the_caller(hutch, local, granted, am_root):
    if am_root:
        pytest.skip("root may write everywhere")
    granted.chmod(0o555)
    fails(hutch, local, granted / "f", "--rw", granted, says="Permission denied: the command could not write there either")
    granted.chmod(0o755)
    assert os.listdir(granted) == []


def test_what_could_not_be_sent_leaves_nothing_on_the_disk(hutch, local, granted):
    (granted / "f").mkdir()
    fails(hutch, local, granted / "f", "--rw", granted, says="no regular file")
    assert os.listdir(granted) == ["f"]
