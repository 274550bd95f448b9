# SPDX-License-Identifier: Apache-2.0
"""What the tests say and ask about processes, mounts and directories. Must never wait without a bound."""
import contextlib
import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
TREE = TESTS.parent
HELPERS = TESTS / "e2e" / "helpers"
PYTHON = "/usr/bin/python3"  # the distribution's: one of a version manager may come first on PATH
STUB = str(TESTS / "clients" / "stub_server.py")
STUB_COMMAND = [PYTHON, STUB]
NPM = Path(os.environ.get("HUTCH_TEST_NPM", TREE / "build" / "npm"))
NPM_NEWER = Path(os.environ.get("HUTCH_TEST_NPM_NEWER", TREE / "build" / "npm-newer"))

MUST_RUN = os.environ.get("HUTCH_TESTS_MUST_RUN") == "1"

PR_SET_CHILD_SUBREAPER = 36
libc = ctypes.CDLL(None, use_errno=True)


def needs_installed(condition, reason):
    """For what a package provides: a missing one is a skip, and a failure where HUTCH_TESTS_MUST_RUN=1."""
    if not condition:
        (pytest.fail if MUST_RUN else pytest.skip)(reason)


def needs_kernel(condition, reason):
    """For what the running kernel may lack: always a skip."""
    if not condition:
        pytest.skip(reason)


def become_subreaper():
    """Whatever a test orphans becomes a child of this process, so that nothing can hide."""
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    assert os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children"), "the kernel lacks CONFIG_PROC_CHILDREN, which shows what a test leaves behind"


def reset_signals():
    """Every program that a test starts would inherit the signals that the caller ignores or blocks: a shell without job control
    ignores SIGINT in its background jobs. Python itself ignores SIGPIPE and SIGXFSZ, and subprocess restores them."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def wait_until(condition, timeout=5.0, what="the condition"):
    """Polls until `condition()` is true and returns its value; fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about within {timeout} s")
        time.sleep(0.005)


def read_quickly(path):
    """The text of a file of /proc, or None when the process is gone. Every test reads many of them, and open() is slower."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return b"".join(iter(lambda: os.read(file, 65536), b"")).decode(errors="replace")
    except ProcessLookupError:
        return None
    finally:
        os.close(file)


def read_stat(pid):
    """(parent, state, name) of a process, or None when it is gone."""
    text = read_quickly(f"/proc/{pid}/stat")
    if not text:
        return None
    begin, end = text.index("("), text.rindex(")")
    state, parent = text[end + 2:].split(None, 2)[:2]
    return int(parent), state, text[begin + 1:end]


def children(pid):
    """The processes whose parent is this one, zombies too."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for task in tasks for child in (read_quickly(f"/proc/{pid}/task/{task}/children") or "").split()]


def descendants(of=None):
    """{pid: name} of all living processes below `of` (this process by default); zombies do not count."""
    ended = set()
    while True:
        found, left, before = {}, [of or os.getpid()], len(ended)
        while left:
            for pid in children(left.pop()):
                stat = read_stat(pid)
                if stat and stat[1] not in "ZX":
                    found[pid] = f"{stat[2]} {command_line(pid)}"
                    left.append(pid)
                else:
                    ended.add(pid)
        if len(ended) == before:  # otherwise children of what ended may be where this walk has already been
            return found


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def reap_adopted(keep=()):
    """Collects orphans that ended, leaving alone the processes in `keep` that somebody waits for."""
    for pid in children(os.getpid()):
        stat = read_stat(pid)
        if stat and stat[1] == "Z" and pid not in keep:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def host_mounts():
    """Mount points of the host, without what the kernel itself mounts on demand below /sys."""
    points = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return {point for point in points if not point.startswith("/sys/")}


def control_groups():
    """Control groups that look like hutch's."""
    return {directory for directory, _, _ in os.walk("/sys/fs/cgroup") if "hutch" in os.path.basename(directory)}


def own_entries(directory):
    """What lies in a directory and belongs to this account."""
    found = set()
    for entry in os.scandir(directory):
        try:
            if entry.stat(follow_symlinks=False).st_uid == os.getuid() and "hutch" in entry.name:
                found.add(entry.path)
        except OSError:
            pass
    return found


class Remains:
    """Everything a finished sandbox could leave on the host, as it was at one moment."""

    def __init__(self):
        self.processes = descendants()
        self.mounts = host_mounts()
        self.groups = control_groups()
        self.directories = own_entries("/tmp") | own_entries("/dev/shm")

    def new_since(self, before):
        """A list of sentences; empty is what a test wants."""
        found = [f"process {pid}: {name}" for pid, name in self.processes.items() if pid not in before.processes]
        found += [f"mount {path}" for path in self.mounts - before.mounts]
        found += [f"control group {path}" for path in self.groups - before.groups]
        found += [f"left in a shared directory: {path}" for path in self.directories - before.directories]
        return found


def assert_nothing_left(before, timeout=3.0):
    """Waits a bounded time (a kill takes effect a moment after it was sent) for everything to be gone."""
    deadline = time.monotonic() + timeout
    while True:
        found = Remains().new_since(before)
        if not found:
            return
        if time.monotonic() > deadline:
            raise AssertionError("left behind: " + "; ".join(found))
        time.sleep(0.01)


DENY_ALL = "[hutch] network: deny-all (use --network-allow to permit outbound hosts)\n"


def without_deny_all(text):
    """What else is on stderr: this line is on it whenever a sandbox without a network is made."""
    return text.replace(DENY_ALL, "", 1)


class Finished:
    """How a run ended."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.seconds = status, out, seconds
        self.whole_err, self.err = err, without_deny_all(err)

    @property
    def own_lines(self):
        """hutch's own lines on stderr."""
        return [line for line in self.err.splitlines() if line.startswith("[hutch] ")]

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.2f} s\nstdout: {self.out[:2000]!r}\nstderr: {self.err[:2000]!r}"


class Running(subprocess.Popen):
    """A started hutch; leaving its `with` block by an exception kills it instead of waiting for ever."""

    def __exit__(self, kind, value, trace):
        if kind is not None and self.poll() is None:
            self.kill()
        super().__exit__(kind, value, trace)


class Hutch:
    """The program under test, as a caller with its own home meets it."""

    def __init__(self, path, home, environment, directory):
        self.path, self.home, self.environment, self.directory = str(path), home, environment, directory

    def argv(self, *arguments):
        return [self.path, *map(str, arguments)]

    def start(self, *arguments, env=None, **popen):
        """A started hutch; its caller must end it. `before` puts a program in front."""
        before = popen.pop("before", [])
        popen.setdefault("cwd", self.directory)
        popen.setdefault("stdin", subprocess.DEVNULL)
        return Running([*map(str, before), *self.argv(*arguments)], env={**self.environment, **(env or {})}, **popen)

    def __call__(self, *arguments, input=None, timeout=30, **popen):
        """Runs hutch to its end and returns Finished. Text in and out (`input` may be bytes)."""
        if input is not None:
            popen["stdin"] = subprocess.PIPE
            input = input.encode() if isinstance(input, str) else input
        started = time.monotonic()
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate(timeout=10)
            raise AssertionError(f"hutch did not end within {timeout} s: {arguments}\n{out[:500]!r}\n{err[:2000]!r}") from None
        return Finished(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                        time.monotonic() - started)

    def inside(self, script, *options, **popen):
        """The output of a shell script that must succeed inside `hutch run`."""
        done = self("run", *options, "--", "sh", "-c", script, **popen)
        assert done.status == 0, done
        return done.out


def signal_when_running(process, marker, number, timeout=10):
    """Sends a signal once `marker` (a file on the host that the command makes) exists."""
    wait_until(lambda: os.path.exists(marker) or process.poll() is not None, timeout, "the start of the command")
    assert process.poll() is None, "it ended before it was signalled"
    process.send_signal(number)


def on_alarm(*_):
    raise TimeoutError("this test took longer than its bound")


def set_bound(seconds):
    """A test that hangs fails instead."""
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
