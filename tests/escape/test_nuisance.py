# SPDX-License-Identifier: Apache-2.0
"""What a server could do to the machine, its users and hutch itself without getting out: each is shown to work
outside first, where that harms nobody."""
import fcntl
import os
import signal
import subprocess
import termios

import pytest
from harness import DENY_ALL, PYTHON, STUB_COMMAND, needs_kernel, wait_until


def test_a_lease_that_makes_the_host_wait(attempt, hutch):
    """Who holds a lease on a file is asked before anybody opens it, and has 45 seconds."""
    file = hutch.directory / "leased"
    file.write_text("x")
    attempt(f"import fcntl, os; fcntl.fcntl(os.open({str(file)!r}, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK); print('GOT-OUT')",
            "--ro", hutch.directory)


def test_the_machines_budget_of_asynchronous_io(attempt):
    script = ("import ctypes, platform\nnumber = {'x86_64': 206, 'aarch64': 0}[platform.machine()]\ncontext = ctypes.c_ulong(0)\n"
              "if ctypes.CDLL(None).syscall(number, 8, ctypes.byref(context)) == 0: print('GOT-OUT')\n")
    needs_kernel(os.path.exists("/proc/sys/fs/aio-nr"), "this kernel has no asynchronous I/O")
    attempt(script)


def test_locking_others_out_of_the_callers_terminal(hutch):
    """TIOCEXCL stays after the program that set it."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    try:
        script = "import fcntl, termios\nfcntl.ioctl(0, termios.TIOCEXCL)"
        lead = lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # noqa: E731
        done = subprocess.run([*hutch.argv("run"), "--", PYTHON, "-c", script], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                              env=hutch.environment, cwd=hutch.directory, preexec_fn=lead, timeout=20)
        assert b"PermissionError" in done.stderr, done
        assert not fcntl.ioctl(slave, 0x80045440, b"\0" * 4) != b"\0" * 4  # TIOCGEXCL
        subprocess.run([PYTHON, "-c", script], stdin=slave, check=True, timeout=20)
        assert fcntl.ioctl(slave, 0x80045440, b"\0" * 4) != b"\0" * 4, f"{name}: it cannot be done outside either"
    finally:
        os.close(slave)
        os.close(master)


@pytest.mark.parametrize("way", ["0", "'/proc/self/fd/0'", "'/dev/console'"])
def test_opening_the_callers_terminal_to_every_user(hutch, way):
    """It is the caller's file, and stays as it was left."""
    master, slave = os.openpty()
    try:
        os.chmod(slave, 0o600)
        lead = lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # noqa: E731
        script = "import os, sys\ntry: os.chmod(%s, 0o666)\nexcept OSError as error: sys.stderr.write(str(error))"
        done = subprocess.run([*hutch.argv("run"), "--", PYTHON, "-c", script % way], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                              env=hutch.environment, cwd=hutch.directory, preexec_fn=lead, timeout=20)
        assert b"Read-only" in done.stderr, done
        assert os.stat(slave).st_mode & 0o777 == 0o600
        subprocess.run([PYTHON, "-c", script % "0"], stdin=slave, check=True, timeout=20)
        assert os.stat(slave).st_mode & 0o777 == 0o666, "it cannot be done outside either"
    finally:
        os.close(slave)
        os.close(master)


def test_flags_of_the_callers_terminal(hutch):
    """O_NONBLOCK on the description that the shell has too would make its next read fail."""
    master, slave = os.openpty()
    try:
        lead = lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # noqa: E731
        script = "import os\nfor fd in 0, 1: os.set_blocking(fd, False)"
        done = subprocess.run([*hutch.argv("run"), "--", PYTHON, "-c", script], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                              env=hutch.environment, cwd=hutch.directory, preexec_fn=lead, timeout=20)
        assert done.returncode == 0, done
        assert os.get_blocking(slave)
        subprocess.run([PYTHON, "-c", script], stdin=slave, stdout=slave, check=True, timeout=20)
        assert not os.get_blocking(slave), "it cannot be done outside either"
    finally:
        os.close(slave)
        os.close(master)


WATCH_KEYS = """
import ctypes, os, select, sys
libc = ctypes.CDLL(None, use_errno=True)
notify = libc.inotify_init1(0)
if libc.inotify_add_watch(notify, b"/dev/tty", 1) < 0:
    print("no /dev/tty:", os.strerror(ctypes.get_errno()), file=sys.stderr)
    sys.exit()
print("watching", file=sys.stderr, flush=True)
if select.select([notify], [], [], 20)[0]:
    print("GOT-OUT: a key was read", file=sys.stderr)
"""


def type_a_key():
    """Somebody else's program asks at its terminal, and gets an answer."""
    child, master = os.forkpty()
    if child == 0:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            terminal.readline()
        os._exit(0)
    os.write(master, b"x\n")
    os.waitpid(child, 0)
    os.close(master)


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_the_keys_that_others_type(hutch, inside):
    """A server has no terminal, so it needs no /dev/tty to listen on."""
    command = [PYTHON, "-c", WATCH_KEYS]
    with subprocess.Popen([*hutch.argv("mcp"), "--", *command] if inside else command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, env=hutch.environment, cwd=hutch.directory) as watcher:
        line = next(line for line in watcher.stderr if "/dev/tty" in line or "watching" in line)
        if not inside:
            assert "watching" in line
            type_a_key()
            assert "GOT-OUT" in watcher.stderr.readline()
        watcher.stdin.close()
        assert watcher.wait(20) == 0
    assert not inside or "no /dev/tty: No such file or directory" in line


@pytest.mark.root
@pytest.mark.parametrize("name", ["null", "zero", "full", "random", "urandom", "tty"])
@pytest.mark.parametrize("what", ["chmod('/dev/NAME', os.stat('/dev/NAME').st_mode & 0o777)", "utime('/dev/NAME')",
                                  "chown('/dev/NAME', -1, os.stat('/dev/NAME').st_gid)"])
def test_the_machines_devices_are_not_roots_to_change(attempt, name, what):
    """Nothing is changed by it outside: the mode is the one that it has."""
    attempt(f"import os\ntry: os.{what}; print('GOT-OUT')\nexcept OSError: pass".replace("NAME", name))


@pytest.mark.parametrize("family", ["INET", "INET6"])
def test_a_seldom_used_protocol_of_ip(attempt, family):
    with open("/proc/net/protocols", encoding="ascii") as protocols:
        needs_kernel("UDP-Lite" in protocols.read(), "this kernel has no UDP-Lite")
    attempt(f"import socket\ntry: socket.socket(socket.AF_{family}, socket.SOCK_DGRAM, 136); print('GOT-OUT')\nexcept OSError: pass")


@pytest.mark.root
@pytest.mark.parametrize("name", ["kpageflags", "kpagecount", "kpagecgroup", "slabinfo", "vmallocinfo", "pagetypeinfo", "allocinfo"])
def test_what_the_kernel_shows_to_root_only(attempt, name):
    if not os.path.exists(f"/proc/{name}"):
        pytest.skip(f"this kernel has no /proc/{name}")
    attempt(f"print('GOT-OUT' if open('/proc/{name}', 'rb').read(8) else '')")


def test_control_groups_cannot_be_mounted_from_a_nested_namespace(hutch):
    script = "unshare -Urm --cgroup sh -c 'mount -t cgroup2 none /tmp && echo GOT-OUT; ls /tmp/cgroup.procs && echo GOT-OUT'"
    done = hutch("run", "--allow-userns", "--", "sh", "-c", script)
    assert "GOT-OUT" not in done.out and done.status != 0, done
    done = hutch("run", "--allow-userns", "--", "unshare", "-Ur", "true")
    assert done.status == 0, done  # the namespaces that it is for


@pytest.mark.parametrize("how", ["chmod(f, 0o4755)", "chmod(os.open(f, 0), 0o4755)", "chmod('f', 0o4755, dir_fd=os.open('.', 0))",
                                 "open('new', os.O_CREAT | os.O_WRONLY, 0o4755)", "mknod('node', 0o104755)",
                                 "chmod(f, 0o2755)", "open('new', os.O_CREAT | os.O_WRONLY, 0o2755)"])
def test_a_setuid_file_in_a_writable_grant(attempt, hutch, how):
    """It would give the caller's rights, or the group's, to every user of the machine."""
    file = hutch.directory / "f"
    file.write_text("")
    made = [hutch.directory / "new", hutch.directory / "node"]

    def reset():
        file.chmod(0o755)
        for path in made:
            path.unlink(missing_ok=True)

    attempt(f"import os, glob\nos.umask(0)\nf = 'f'\ntry: os.{how}\nexcept OSError: pass\n"
            "if any(os.stat(path).st_mode & 0o6000 for path in glob.glob('*')): print('GOT-OUT')", "--rw", hutch.directory, "--cwd", hutch.directory,
            reset=reset)
    assert not [path for path in [file, *made] if path.exists() and path.stat().st_mode & 0o6000]


# hutch itself

def test_a_caller_that_ignores_the_end_of_children(hutch):
    done = hutch("run", "--", "sh", "-c", "exit 3", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.status == 3, done


@pytest.mark.parametrize("length", [10, 70_000, 400_000])
def test_a_server_that_reads_nothing_does_not_outlive_its_client(hutch, length):
    """The server fills its own standard input, so that not one byte of the client fits any more."""
    fill = ("import os\nfd = os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK)\ntry:\n    while os.write(fd, b'x' * 65536): pass\n"
            "except OSError: pass\nos.close(fd)\nos.write(2, b'full\\n')\nwhile True: os.times()\n")
    with hutch.start("mcp", "--stop-grace", "1", "--", PYTHON, "-c", fill, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
        assert [process.stderr.readline(), process.stderr.readline()] == [DENY_ALL.encode(), b"full\n"]
        os.set_blocking(process.stdin.fileno(), False)
        os.write(process.stdin.fileno(), b"x" * length)
        process.stdin.close()
        wait_until(lambda: process.poll() is not None, 8, "the end of hutch")
        assert process.returncode == 0


def test_a_slow_server_gets_all_that_its_client_wrote_before_it_left(hutch):
    """Longer than the grace, but never idle for so long."""
    script = ("import sys, time\ntotal = 0\nwhile True:\n    data = sys.stdin.buffer.raw.read(20_000)\n    if not data: break\n"
              "    total += len(data); time.sleep(0.15)\nprint('{\"jsonrpc\": %d}' % total)")
    done = hutch("mcp", "--stop-grace", "1", "--", PYTHON, "-c", script, input=b"x" * 400_000)
    assert done.out == '{"jsonrpc": 400000}\n' and done.status == 0, done


@pytest.mark.parametrize("words", [["TOKEN=hunter2", "--", "true"], ["TOKEN=hunter2"], ["--", "true", "--env=TOKEN=hunter2"],
                                   ["--env", "9=hunter2", "--", "true"], ["--env=TOKEN=hunter2", "-v", "--", "true"]])
def test_no_sentence_shows_a_value(hutch, words):
    assert "hunter2" not in hutch("run", *words).err


@pytest.mark.parametrize("words", [["--env", "TOKEN=hunter2"], ["--env=TOKEN=hunter2"], ["-e", "TOKEN=hunter2"]])
def test_the_process_table_shows_no_value(hutch, words):
    with hutch.start("run", *words, "--", "sh", "-c", "echo $TOKEN; exec sleep 60", stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"hunter2\n"
        line = open(f"/proc/{process.pid}/cmdline").read()
        assert "TOKEN=" in line and "hunter2" not in line, line
        process.kill()


def test_marks_that_turn_the_direction_of_text_are_quoted(hutch):
    done = hutch("run", "--ro", hutch.directory / "a\u202egnp.exe", "--", "true")
    assert done.status == 125 and "\u202e" not in done.err and "\\xe2\\x80\\xae" in done.err, done
