# SPDX-License-Identifier: Apache-2.0
"""One row for each way out that is tried. Nothing here harms the machine when it succeeds: files are opened and not
written, processes that are killed are the test's own."""
import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from harness import needs_kernel


def reads(path):
    return f"print('GOT-OUT' if open({str(path)!r}, 'rb').read(1) else 'empty')"


def opens_for_writing(path):
    return f"import os; os.close(os.open({str(path)!r}, os.O_WRONLY | os.O_APPEND)); print('GOT-OUT')"


def skip_unless_openable(path, flags):
    """On some machines even root may not: then there is nothing to prove."""
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        needs_kernel(False, f"{path} cannot be opened outside either: {error.strerror}")


# files

def test_key_in_the_home(attempt, hutch):
    attempt(reads(hutch.home / ".ssh/id"))


def test_key_in_the_home_through_paths_of_processes(attempt, hutch):
    """/proc/*/root and /proc/*/cwd lead to other roots where they can be followed."""
    attempt(f"""
import glob, os
for directory in glob.glob('/proc/*/root') + glob.glob('/proc/*/cwd') + glob.glob('/proc/*/fd/*') + glob.glob('/proc/*/task/*/root'):
    for name in ({str(hutch.home / ".ssh/id")!r}, 'home/.ssh/id', '../home/.ssh/id'):
        try:
            if open(directory + '/' + name).read().startswith('CANARY'):
                print('GOT-OUT', directory)
        except OSError:
            pass
""")


def test_dot_dot_from_a_granted_directory(attempt, hutch):
    attempt("import os\nfor depth in range(1, 12):\n    try:\n        if 'CANARY' in open('../' * depth + 'home/.ssh/id').read(): print('GOT-OUT')\n"
            "    except OSError: pass\n", "--rw", hutch.directory, "--cwd", hutch.directory)


def test_hard_link_and_rename_from_a_grant(attempt, hutch):
    attempt(f"import os; os.link({str(hutch.home / '.ssh/id')!r}, {str(hutch.directory / 'stolen')!r}); print('GOT-OUT')", "--rw", hutch.directory,
            reset=lambda: (hutch.directory / "stolen").unlink())


@pytest.mark.root
@pytest.mark.parametrize("path", ["/etc/shadow", "/proc/1/environ", "/proc/1/mem"])
def test_files_of_root_when_root_calls(attempt, path):
    skip_unless_openable(path, os.O_RDONLY)
    attempt(f"import os; os.close(os.open({path!r}, os.O_RDONLY)); print('GOT-OUT')")


@pytest.mark.root
@pytest.mark.parametrize("path", ["/etc/passwd", "/usr/bin/env", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
                                  "/proc/sys/vm/overcommit_memory", "/sys/kernel/uevent_helper", "/sys/power/state"])
def test_writing_to_the_system_when_root_calls(attempt, path):
    skip_unless_openable(path, os.O_WRONLY | os.O_APPEND)
    attempt(opens_for_writing(path))


@pytest.mark.root
def test_block_devices_and_kernel_memory_when_root_calls(attempt):
    attempt("""
import os, stat
def attempt(number, kind):
    os.mknod('/tmp/made-device', kind | 0o600, number)
    try: os.close(os.open('/tmp/made-device', os.O_RDONLY))
    finally: os.unlink('/tmp/made-device')
    print('GOT-OUT')
attempt(os.makedev(1, 11), stat.S_IFCHR)
""")


@pytest.mark.root
def test_a_device_node_in_a_grant_does_not_open(attempt, hutch):
    os.mknod(hutch.directory / "node", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    try:
        attempt(reads(hutch.directory / "node"), "--rw", hutch.directory)
    finally:
        os.unlink(hutch.directory / "node")


def test_a_setuid_program_gains_nothing(hutch, build_helper, am_root):
    """A set-user-id program in a grant, and the system's own: no_new_privs and nosuid both stand in the way."""
    copy = hutch.directory / "id"
    shutil.copy("/usr/bin/id", copy)
    copy.chmod(0o4755 if not am_root else 0o6755)
    if am_root:
        os.chown(copy, 1, 1)
        copy.chmod(0o6755)
        assert subprocess.run([copy, "-u"], capture_output=True, text=True).stdout == "1\n", "the attempt proves nothing"
    done = hutch("run", "--ro", copy, "--", "sh", "-c", f"{copy} -u; {copy} -g; grep NoNewPrivs /proc/self/status; cat /proc/self/mountinfo | grep -c nosuid")
    assert done.out.splitlines()[:2] == ["65532", "65532"], done
    assert "NoNewPrivs:\t1" in done.out
    assert hutch("run", "--", "su", "-c", "id").status != 0


# processes

def other_process():
    """A process of the same account outside, to be looked at and killed."""
    return subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, env={"SECRET": "CANARY"})


def test_signals_to_processes_of_the_host(attempt):
    victim = other_process()
    try:
        attempt("import os, sys; os.kill(int(sys.argv[1]), 0); print('GOT-OUT')", arguments=[victim.pid])
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_environment_of_processes_of_the_host(attempt):
    victim = other_process()
    try:
        attempt("import glob\nfor name in glob.glob('/proc/[0-9]*/environ'):\n    try:\n        if 'SECRET=CANARY' in open(name).read(): print('GOT-OUT')\n"
                "    except OSError: pass\n")
    finally:
        victim.kill()
        victim.wait()


PTRACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1]) or 1
if libc.ptrace(16, pid, 0, 0) == 0:
    os.waitpid(pid, 0)
    libc.ptrace(17, pid, 0, 0)
    print('GOT-OUT attached')
data = ctypes.create_string_buffer(8)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(data), 8)
"""


def test_tracing_processes_of_the_host(attempt):
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    needs_kernel(not scope.exists() or scope.read_text().strip() == "0" or os.getuid() == 0, "tracing is restricted on this machine already")
    victim = other_process()
    try:
        attempt(PTRACE, arguments=[victim.pid])
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize("script", [
    PTRACE,
    "open('/proc/1/mem', 'rb'); print('GOT-OUT')",
    "import os\nfor n in os.listdir('/proc/1/fd'): print('GOT-OUT', os.readlink('/proc/1/fd/' + n))",
    "import os; os.readlink('/proc/1/exe'); print('GOT-OUT')",
    "import os; os.stat('/proc/1/root/'); print('GOT-OUT')",
    "import os, signal, time; os.kill(1, signal.SIGKILL); time.sleep(0.2); os.kill(1, signal.SIGSTOP); print('sent')",
    "import ctypes; fd = ctypes.CDLL(None).syscall(434, 1, 0); print('GOT-OUT' if fd >= 0 and ctypes.CDLL(None).syscall(438, fd, 0, 0) >= 0 else 'refused')",
], ids=["ptrace", "mem", "fd", "exe", "root", "kill", "pidfd_getfd"])
def test_pid_1_of_the_sandbox(attempt, script):
    """Outside there is no such process to prove it on; what matters is that it is refused to the end."""
    inside = attempt(script, proof=False, arguments=[0])
    assert inside.status in (0, 1), inside  # the sandbox was not torn down by it


@pytest.mark.parametrize("target", ["0", "-1"])
def test_killing_a_whole_group_does_not_reach_the_caller(hutch, target):
    """hutch and a witness stand in one process group, as after a careless client's fork; the server kills its own."""
    script = f"sleep 1000 & {hutch.path} mcp -- sh -c 'kill -TERM {target}; kill -KILL {target}; sleep 0.1; exit 0'; echo hutch=$?; kill -0 $! && echo witness lives; kill $!"
    done = subprocess.run(["setsid", "-w", "sh", "-c", script], env=hutch.environment, cwd=hutch.directory, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=15)
    assert "witness lives" in done.stdout and "hutch=" in done.stdout, done


# sockets

def listening(address):
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    return server


CONNECT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(3); s.connect({address!r}); print('GOT-OUT')"


def test_abstract_socket_of_the_host(attempt):
    with listening(f"\0hutch-test-{os.getpid()}") as server:
        attempt(CONNECT.format(address=server.getsockname().decode()))


@pytest.mark.parametrize("directory", ["/tmp", "/var/tmp", "/run", "/dev/shm", "home"])
def test_path_socket_of_the_host(attempt, hutch, directory):
    directory = hutch.home if directory == "home" else Path(directory)
    if not os.access(directory, os.W_OK):
        pytest.skip(f"this account cannot make a socket in {directory}")
    path = f"{directory}/test-{os.getpid()}.sock"
    try:
        with listening(path):
            attempt(CONNECT.format(address=path))
    finally:
        os.unlink(path)


def test_loopback_of_the_host(attempt):
    with socket.create_server(("127.0.0.1", 0)) as server:
        attempt(f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 3); print('GOT-OUT')")


def test_udp_out_of_the_sandbox(attempt):
    """A datagram that leaves is enough to carry a secret."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        attempt(f"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', {receiver.getsockname()[1]})); print('sent')\n"
                "s.settimeout(0.5)\n"
                f"print('GOT-OUT' if [l for l in open('/proc/net/udp') if '%04X' % {receiver.getsockname()[1]} in l.split()[1]] else 'not there')")
        receiver.settimeout(0.2)
        assert receiver.recv(10) == b"x"  # the one from outside
        with pytest.raises(TimeoutError):
            receiver.recv(10)


def test_shared_memory_and_message_queues_of_the_host(attempt):
    libc = __import__("ctypes").CDLL(None)
    key = 0x48750000 + os.getpid() % 65_536
    identifier = libc.shmget(key, 4096, 0o1666)
    assert identifier >= 0
    try:
        attempt(f"import ctypes; print('GOT-OUT' if ctypes.CDLL(None).shmget({key}, 0, 0) >= 0 else 'refused')")
    finally:
        libc.shmctl(identifier, 0, 0)


# descriptors

def test_a_directory_as_standard_input_gives_no_access(hutch):
    """`hutch run -- … < /some/dir`: a descriptor of a directory would lead anywhere by openat."""
    script = ["sh", "-c", "cat /proc/self/fd/0/.ssh/id; cat /dev/stdin/.ssh/id; cd -P /proc/self/fd/0/ && cat .ssh/id; true"]
    directory = os.open(hutch.home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        outside = subprocess.run(script, stdin=directory, capture_output=True, text=True)
        assert outside.stdout.count("CANARY") == 3, "the attempt proves nothing"
        for kind in ("run", "mcp"):
            inside = hutch(kind, "--", *script, stdin=directory)
            assert "CANARY" not in inside.out + inside.err, inside
    finally:
        os.close(directory)


def test_an_inherited_directory_gives_no_access(attempt, hutch):
    directory = os.open("/", os.O_PATH)
    try:
        attempt(f"import os\nfor fd in range(3, 400):\n    try: print('GOT-OUT' if os.read(os.open({str(hutch.home)[1:]!r} + '/.ssh/id', os.O_RDONLY, dir_fd=fd), 6) else '')\n"
                "    except OSError: pass\n", pass_fds=[directory])
    finally:
        os.close(directory)


def test_an_inherited_socket_gives_no_access(attempt):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        def drain():
            ours.recv(10)
        attempt("import os\nfor fd in range(3, 400):\n    try: os.write(fd, b'x'); print('GOT-OUT')\n    except OSError: pass\n", pass_fds=[theirs.fileno()], reset=drain)
        ours.settimeout(0.2)
        with pytest.raises(TimeoutError):
            ours.recv(1)


def test_standard_streams_lead_to_pipes_only(hutch):
    """Re-opening /proc/self/fd/N of a file of the caller would give more than the descriptor did: reading what was
    only to be appended to, or cutting it short."""
    target = hutch.directory / "log"
    script = ["sh", "-c", "truncate -s 0 /proc/self/fd/2; exit 0"]
    for before, expected in ((hutch.argv("run", "--"), "CANARY\n"), ([], "")):
        target.write_text("CANARY\n")
        with open(target, "ab") as log:
            assert subprocess.run([*before, *script], stderr=log, stdin=subprocess.DEVNULL, env=hutch.environment, timeout=10).returncode == 0
        assert target.read_text().startswith(expected) and bool(target.read_text()) == bool(expected), before


# the walls themselves

UNDO_WALLS = {
    "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "remount": "libc.mount(None, b'/', None, 32, None)",
    "umount of a mask": "libc.umount2(b'/proc/kcore', 2)",
    "umount of proc": "libc.umount2(b'/proc', 2)",
    "chroot": "libc.chroot(b'/tmp')",
    "pivot_root": "libc.syscall(155, b'/tmp', b'/tmp')",
    "unshare user and mounts": "libc.unshare(0x10020000)",
    "new mount call": "libc.syscall(430, b'tmpfs', 0)",
    "setuid root": "libc.setuid(0)",
    "capset": "libc.prctl(24, 0, 0, 0, 0) or libc.prctl(47, 2, 21, 0, 0)",
    "sethostname": "libc.sethostname(b'x', 1)",
    "higher limit": "__import__('resource').setrlimit(7, (1048576, 1048576)) or 0",
    "other personality that reads as exec": "libc.prctl(38, 0, 0, 0, 0)",
}


@pytest.mark.parametrize("call", UNDO_WALLS.values(), ids=UNDO_WALLS)
def test_undoing_the_walls(attempt, am_root, call):
    """Proven outside where the caller is root in a namespace of its own."""
    proof = call not in (UNDO_WALLS["umount of a mask"], UNDO_WALLS["other personality that reads as exec"], UNDO_WALLS["umount of proc"], UNDO_WALLS["pivot_root"],
                         UNDO_WALLS["higher limit"], UNDO_WALLS["remount"], UNDO_WALLS["capset"])
    attempt("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ntry: result = " + call + "\nexcept (OSError, ValueError) as error: result = -1\n"
            "print('GOT-OUT' if result >= 0 else 'refused')", proof=proof, outside_before=["unshare", "-Urmu"])


def test_namespace_budget_cannot_be_raised(hutch):
    done = hutch("run", "--", "sh", "-c", "echo 100 >/proc/sys/user/max_user_namespaces; cat /proc/sys/user/max_user_namespaces")
    assert done.out == "0\n", done


def test_entering_namespaces_of_the_host(attempt):
    attempt("import ctypes, glob, os\nlibc = ctypes.CDLL(None)\nseen = set()\nfor name in glob.glob('/proc/[0-9]*/ns/*'):\n"
            "    try: seen.add(os.readlink(name))\n    except OSError: pass\n"
            f"print('GOT-OUT' if {os.readlink('/proc/self/ns/mnt')!r} in seen else 'not there')")


@pytest.mark.root
def test_control_groups_and_core_pattern_when_root_calls(hutch):
    """The two classic ways from a container of root to the host: release_agent and core_pattern."""
    done = hutch("run", "--allow-userns", "--", "sh", "-c", "unshare -Urm sh -c 'mount -t cgroup2 none /tmp && echo mounted; mount -t proc none /tmp && ls -d /tmp/sys'; "
                                                           "exec 3>>/proc/sys/kernel/core_pattern && echo writable")
    assert "writable" not in done.out, done
