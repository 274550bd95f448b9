# SPDX-License-Identifier: Apache-2.0
"""The layers of a sandbox are independent. A build of hutch that is only for this (tests/layers.c) leaves out the layers that
are named. Each row is an attempt, the layers that it needs for there to be anything to try (`base`: without a user namespace
nobody but root has any other), and the layers that are there against it. Then:

    nothing but the base             the attempt succeeds, so it proves something
    the base and one of its layers   it is stopped: that layer needs no other
    everything but that one          it is stopped, where others are there against it too
    everything but all of its layers it succeeds: the row names all that stop it
    everything                       it is stopped
"""
import ctypes
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
from pathlib import Path

import pytest
from harness import PYTHON, TREE, needs_installed, needs_kernel

LAYERS = ["user", "mount", "read-only", "proc-masks", "pid", "network", "ipc", "names", "budgets", "limits", "capabilities", "no-new-privs", "session",
          "landlock-files", "landlock-scopes", "seccomp-profile", "seccomp-arguments"]
VARIABLE = "HUTCH_TEST_LAYERS_OFF"

ATTEMPT = """
import ctypes, os, platform, resource, signal, socket, subprocess, time
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result
def call(x86_64, others, *arguments):
    number = x86_64 if platform.machine() == 'x86_64' else others
    return check(libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)))
try:
    {}
    print("GOT-OUT")
except (OSError, ValueError) as error:
    print("HELD", error)
"""


class Row:
    """`attempt` is one line of Python, or several, that raises OSError when it is stopped; {names} are filled in by `scene`.
    `verdict` looks from outside whether it got out, where the attempt cannot know."""

    def __init__(self, name, attempt, against, base=("user",), scene=lambda _: {}, options=(), root=False, verdict=None):
        self.name, self.attempt, self.against, self.base, self.scene = name, attempt, against, base, scene
        self.options, self.root, self.verdict = options, root, verdict


class Scene:
    """What lies about on the host for the attempts: everything is the test's own, and harmless to lose."""

    def __init__(self, hutch):
        self.hutch, self.ends = hutch, []

    def victim(self):
        """A process of the same person and process group, which anybody may trace and which keeps a signal until it is asked."""
        script = ("import ctypes, signal, sys\n"
                  "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
                  "ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)\n"  # PR_SET_PTRACER, any
                  "print(flush=True)\n"
                  "for _ in sys.stdin: print('no' if signal.sigtimedwait([signal.SIGWINCH], 0) is None else 'yes', flush=True)\n")
        self.asked = subprocess.Popen([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ends.append(lambda: (self.asked.kill(), self.asked.communicate()))
        self.asked.stdout.readline()
        return {"pid": self.asked.pid}

    def was_signalled(self):
        """Whether the victim has had the signal since it was asked last."""
        self.asked.stdin.write(b"\n")
        self.asked.stdin.flush()
        return self.asked.stdout.readline() == b"yes\n"

    def abstract_socket(self):
        name = f"hutch-test-{os.getpid()}"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("\0" + name)
        listener.listen(16)
        self.ends.append(listener.close)
        return {"name": name}

    def loopback(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.ends.append(listener.close)
        return {"port": listener.getsockname()[1]}

    def shared_memory(self):
        libc = ctypes.CDLL(None)
        segment = libc.shmget(0, 4096, 0o1600)
        assert segment >= 0
        self.ends.append(lambda: libc.shmctl(segment, 0, None))
        return {"segment": segment}

    def key(self):
        return {"path": str(self.hutch.home / ".ssh/id")}

    def host_name(self):
        return {"host": socket.gethostname()}

    def granted(self):
        directory = self.hutch.directory / "granted"
        directory.mkdir()
        (directory / "file").write_text("kept\n")
        return {}

    def granted_in_home(self):
        file = self.hutch.home / "granted" / "file"
        file.parent.mkdir()
        file.write_text("kept\n")
        return {"path": str(file)}

    def terminal(self):
        switch = Path("/proc/sys/dev/tty/legacy_tiocsti")
        needs_kernel(not switch.exists() or switch.read_text().strip() == "1", "this kernel lets nobody type into a terminal")
        return {}

    def foreign_file(self):
        path = self.hutch.directory / "foreign"
        path.write_text("CANARY-foreign\n")
        os.chown(path, 65534, 65534)
        path.chmod(0o600)
        return {"path": str(path)}

    def program_with_capabilities(self):
        path = self.hutch.directory / "cat"
        shutil.copy("/bin/cat", path)
        # vfs_cap_data, revision 2, effective: CAP_SYS_ADMIN (linux/capability.h)
        os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))
        return {"path": str(path)}

    def setuid_program(self):
        """su waits for a password, and is somebody else meanwhile. Root has nobody to become: it gets a program of `nobody`'s."""
        if os.getuid():
            path = shutil.which("su", path="/usr/bin:/bin")
            needs_installed(path and os.stat(path).st_mode & stat.S_ISUID, "no su here is setuid")
            return {"path": path}
        path = self.hutch.directory / "cat"
        shutil.copy("/bin/cat", path)
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        return {"path": str(path)}

    def end(self):
        for end in reversed(self.ends):
            end()


# The ids come a moment after the program.
SETUID = """program = subprocess.Popen([{path!r}], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 0.5
    while len(set(open(f'/proc/{{program.pid}}/status').read().split('Uid:')[1].split()[:2])) == 1:
        if time.monotonic() > deadline: raise PermissionError('still itself')
    program.kill()"""
CAPABLE = """text = subprocess.run([{path!r}, '/proc/self/status'], capture_output=True, text=True).stdout
    if int(text.split('CapEff:')[1].split()[0], 16) == 0: raise PermissionError('none')"""
FAKE_INPUT = """import fcntl, pty, termios
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSTI, b'x')
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]): raise PermissionError('TIOCSTI')"""

ROWS = [
    Row("trace a process of the person", "check(libc.ptrace(16, {pid}, 0, 0)); libc.ptrace(17, {pid}, 0, 0)", ["user"], base=[], scene=Scene.victim),
    Row("become another user by a setuid program", SETUID, ["user", "no-new-privs"], base=[], scene=Scene.setuid_program),
    Row("read another user's file as root", "open({path!r}).read()", ["user", "capabilities"], base=[], scene=Scene.foreign_file, root=True),
    Row("get capabilities from a file", CAPABLE, ["capabilities", "no-new-privs"], scene=Scene.program_with_capabilities, root=True),
    Row("read a key in the home", "open({path!r}).read()", ["mount"], base=["user", "pid"], scene=Scene.key),
    Row("write to the root", "open('/new', 'w').close()", ["read-only", "landlock-files"], base=["user", "mount", "pid"]),
    Row("write to a read-only grant", "open('/granted/file', 'a').close()", ["read-only", "landlock-files"], base=["user", "mount", "pid"], scene=Scene.granted,
        options=["--ro", "granted:/granted"]),
    # Landlock knows no exception from a place that is writable, as the home is: here the mount stands alone.
    Row("write to a read-only grant in the home", "open({path!r}, 'a').close()", ["read-only"], base=["user", "mount", "pid"], scene=Scene.granted_in_home,
        options=["--ro", "~/granted"]),
    Row("read the kernel's symbols", "if not open('/proc/kallsyms', 'rb').read(1): raise PermissionError('empty')", ["proc-masks"], base=["user", "mount", "pid"]),
    Row("choose who handles core dumps, as root", "os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))", ["proc-masks", "landlock-files"],
        base=["user", "mount", "pid"], root=True),
    Row("signal a process of the person", "os.kill({pid}, signal.SIGWINCH)", ["pid", "landlock-scopes"], scene=Scene.victim, verdict=Scene.was_signalled,
        options=["--proc", "none"]),
    Row("signal the process group that started hutch", "os.kill(0, signal.SIGWINCH)", ["session", "landlock-scopes"], base=["no-new-privs"], scene=Scene.victim,
        verdict=Scene.was_signalled),
    Row("reach an abstract socket", "socket.socket(socket.AF_UNIX).connect('\\0{name}')", ["network", "landlock-scopes"], scene=Scene.abstract_socket),
    Row("reach a service on the loopback", "socket.create_connection(('127.0.0.1', {port}), 2)", ["network"], scene=Scene.loopback),
    Row("attach shared memory", "if libc.shmat({segment}, None, 0) == -1: raise OSError(ctypes.get_errno(), 'shmat')", ["ipc"], scene=Scene.shared_memory),
    Row("learn the host's name", "if socket.gethostname() != {host!r}: raise PermissionError('another name')", ["names"], scene=Scene.host_name),
    Row("unshare into a new user namespace", "check(libc.unshare(0x10000000))", ["budgets", "seccomp-profile"]),
    Row("clone into a new user namespace", "child = call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)\n    if child == 0: os._exit(0)",
        ["budgets", "seccomp-arguments"]),
    Row("take the inotify instances", "for _ in range(64): check(libc.inotify_init1(0))", ["budgets"]),
    Row("dump core", "resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096))", ["limits"], base=[]),
    Row("read the keyring", "call(250, 219, 0, -3, 1)", ["seccomp-profile"], base=["no-new-privs"]),
    Row("listen to the kernel's events", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)", ["seccomp-arguments"], base=["no-new-privs"]),
    Row("type into the terminal", FAKE_INPUT, ["seccomp-arguments"], base=["no-new-privs"], scene=Scene.terminal),
]


# The version of Landlock's interface: with a third argument of 1 the call makes nothing and returns the newest.
LANDLOCK_ABI = max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1))


def is_known_here(layer):
    """Whether this kernel has it; the others are a promise of every kernel that hutch runs on."""
    return LANDLOCK_ABI >= {"landlock-files": 2, "landlock-scopes": 6}.get(layer, 0)


@pytest.fixture(scope="session")
def layered_program(tmp_path_factory):
    """hutch-layers, in a directory of its own because it looks for templates beside itself."""
    built = TREE / "build" / "tests" / "hutch-layers"
    needs_installed(built.exists(), f"{built} is not built")
    directory = tmp_path_factory.mktemp("layers")
    (directory / "policy").symlink_to(TREE / "build" / "policy")
    return shutil.copy(built, directory)


@pytest.fixture
def with_layers(hutch, layered_program):
    """with_layers(script, off, *options): the sandbox without the layers in `off`."""
    hutch.path = str(layered_program)

    def run(script, off, *options):
        path = hutch.directory / "attempt.py"
        path.write_text(script)
        return hutch("run", *options, "--", PYTHON, path, env={VARIABLE: ",".join(sorted(off))} if off else {})
    return run


@pytest.fixture
def scene(hutch):
    scene = Scene(hutch)
    yield scene
    scene.end()


@pytest.mark.parametrize("row", [pytest.param(row, marks=[pytest.mark.root] if row.root else []) for row in ROWS], ids=lambda row: row.name.replace(" ", "-"))
def test_layer(row, with_layers, scene, hutch):
    script = ATTEMPT.format(row.attempt.format(**row.scene(scene)))
    options = [str(hutch.directory / word) if word.startswith("granted:") else word for word in row.options]

    def got_out(off):
        done = with_layers(script, off, *options)
        # Without these two what follows cannot be enforced, for the person alone or at all: then nothing is started.
        if off in ({"no-new-privs"}, {"user"}) and done.status == 125:
            return False
        assert done.status == 0 and done.out.startswith(("GOT-OUT", "HELD")), f"the attempt was not made: {done}"
        return row.verdict(scene) if row.verdict else done.out.startswith("GOT-OUT")

    against = [layer for layer in row.against if is_known_here(layer)]
    alone = set(LAYERS) - set(row.base)
    assert got_out(alone), "it does not succeed without any layer, so it proves nothing"
    for layer in against:
        assert not got_out(alone - {layer}), f"{layer} alone does not stop it"
    for layer in against if len(against) > 1 else []:
        assert not got_out({layer}), f"without {layer} nothing else stops it"
    if not {"user", "no-new-privs"} & set(against):
        assert got_out(set(against)), "something that the row does not name stops it too"
    assert not got_out(set())


def test_every_layer_is_in_the_table():
    source = (TREE / "tests" / "layers.c").read_text()
    assert re.findall(r'^ *\[LAYER_\w+\] = "([a-z-]+)",$', source, re.MULTILINE) == LAYERS
    assert {layer for row in ROWS for layer in row.against} == set(LAYERS)


def test_what_cannot_be_enforced_starts_nothing(with_layers):
    done = with_layers("print('started')", {"no-new-privs"})
    assert done.status == 125 and "started" not in done.out and len(done.own_lines) == 1, done


def test_a_name_that_is_no_layer_starts_nothing(with_layers):
    """Or a misspelt row would prove nothing."""
    assert with_layers("print('started')", {"landlock"}).out == ""


def test_the_program_itself_leaves_nothing_out(hutch, layered_program):
    """The variable changes nothing, and the program does not even know its name or a layer's."""
    script = ATTEMPT.format(f"open({str(hutch.home / '.ssh/id')!r})")
    (hutch.directory / "attempt.py").write_text(script)
    done = hutch("run", "--", PYTHON, hutch.directory / "attempt.py", env={VARIABLE: ",".join(LAYERS)})
    assert done.out.startswith("HELD"), done
    for name in (VARIABLE.encode(), b"landlock-scopes", b"seccomp-arguments"):
        assert name in Path(layered_program).read_bytes() and name not in Path(hutch.path).read_bytes()
