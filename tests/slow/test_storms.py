# SPDX-License-Identifier: Apache-2.0
"""Attempts to take more than --memory, --pids and --disk permit, by every way that a process has. Each is first shown to
get so much without a sandbox: 400 MiB, a few hundred threads. Where no cgroup enforces the limit, some ways are not
there at all: the call does not exist, or takes no such arguments."""
import subprocess

import pytest
from harness import PYTHON

GOT_OUT = "GOT-OUT"
MEMORY = ["--memory", "128m", "--disk", "64m", "--pids", "60"]
PIDS = ["--memory", "512m", "--pids", "60"]  # room for the 360 interpreters that root may have

HEAD = """
import ctypes, mmap, os, sys, threading, time
MIB, TAKEN = 1 << 20, 400
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.shmat.restype = ctypes.c_void_p
def settle():  # so long that a look would have seen it
    time.sleep(float(sys.argv[1])); print("GOT-OUT", flush=True)
    if sys.argv[1] == "0": os.killpg(0, 9)  # outside: those who sleep with what they hold
"""
STORMS = {
    "malloc": "kept = [bytearray(MIB) for _ in range(TAKEN)]; settle()",
    "processes": """
for _ in range(20):
    if os.fork() == 0:
        data = bytearray(20 * MIB); time.sleep(30); os._exit(0)
settle()""",
    "hidden processes": """
for _ in range(20):
    if os.fork() == 0:
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: others of this user may not look
        data = bytearray(20 * MIB); time.sleep(30); os._exit(0)
time.sleep(0.3); settle()""",
    "memfd": """
fd = os.memfd_create("x")
for _ in range(TAKEN): os.write(fd, bytes(MIB))
settle()""",
    "tmpfs": """
with open(os.path.join(os.environ.get("DIRECTORY", "/tmp"), "storm"), "wb") as file:
    os.unlink(file.name)
    for _ in range(TAKEN): file.write(bytes(MIB)); file.flush()
    settle()""",
    "dev-shm": """
with open("/dev/shm/hutch-storm", "wb") as file:
    os.unlink(file.name)
    for _ in range(TAKEN): file.write(bytes(MIB)); file.flush()
    settle()""",
    "sysv": """
libc.shmdt.argtypes = [ctypes.c_void_p]
kept = []
for _ in range(TAKEN // 50):
    kept.append(libc.shmget(0, 50 * MIB, 0o1600))
    at = libc.shmat(kept[-1], None, 0)
    ctypes.memset(at, 1, 50 * MIB); libc.shmdt(at)
if sys.argv[1] == "0":  # outside they would stay
    for made in kept: libc.shmctl(made, 0, None)
settle()""",
    "shared without a name": """
kept = []
for _ in range(TAKEN // 50):
    piece = mmap.mmap(-1, 50 * MIB)
    for i in range(0, 50 * MIB, 4096): piece[i] = 1
    kept.append(piece)
settle()""",
    "shared by hidden processes": """
for _ in range(TAKEN // 50):
    if os.fork() == 0:
        libc.prctl(4, 0, 0, 0, 0)
        piece = mmap.mmap(-1, 50 * MIB)
        for i in range(0, 50 * MIB, 4096): piece[i] = 1
        time.sleep(30); os._exit(0)
time.sleep(0.5); settle()""",
    "a first thread that ended": """
for _ in range(8):
    if os.fork() == 0:
        def eat():
            data = bytearray(50 * MIB); time.sleep(30)
        threading.Thread(target=eat).start()
        libc.syscall(60)  # exit: of this thread alone, and with it go the numbers of the process
time.sleep(0.5); settle()""",
    "page tables": """
kept = []
for _ in range(200):  # a page table for each 2 MiB, the zero page in it: 1 GiB takes 2 MiB of the kernel's
    piece = libc.mmap(None, 1 << 30, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    if piece is None or piece >= 1 << 63: sys.exit("refused")
    for i in range(0, 1 << 30, 2 << 20): ctypes.c_char.from_address(piece + i).value
settle()""",
}


@pytest.fixture
def storm(hutch):
    def run(script, *options, outside_settles="0"):
        path = hutch.directory / "storm.py"
        path.write_text(HEAD + script)
        outside = subprocess.run([PYTHON, path, outside_settles], capture_output=True, text=True, timeout=60, env=hutch.environment,
                                 start_new_session=True)
        assert GOT_OUT in outside.stdout, f"the attempt does not work outside, so it proves nothing: {outside}"
        return hutch("run", *options, "--", PYTHON, path, "2", timeout=60)
    return run


@pytest.mark.parametrize("name", STORMS)
def test_memory_is_bounded(storm, hutch, name):
    done = storm(STORMS[name], *MEMORY)
    assert GOT_OUT not in done.out, done
    assert done.status in (1, 137), done
    if done.status == 137:
        assert len(done.own_lines) == 1 and "--memory 128m is used up" in done.own_lines[0], done


THREADS = """
import _thread
_thread.stack_size(65536)
try:
    for _ in range(500): _thread.start_new_thread(time.sleep, (30,))
    print("GOT-OUT", flush=True)
except RuntimeError: pass
os._exit(0)"""
FORKS = """
try:
    for _ in range(500):
        if os.fork() == 0: time.sleep(5 if sys.argv[1] == "0" else 60); os._exit(0)
    print("GOT-OUT", flush=True)
except OSError as error: print(error)
"""


@pytest.mark.parametrize("script", [THREADS, FORKS], ids=["threads", "forks"])
@pytest.mark.parametrize("options", [[], ["--allow-userns"]], ids=["plain", "allow-userns"])
def test_processes_are_bounded(storm, script, options):
    done = storm(script, *PIDS, *options)
    assert done.status == 0 and GOT_OUT not in done.out, done


def test_a_nested_user_namespace_has_no_budget_of_its_own(storm):
    nested = "libc.unshare(0x10000000)\n" + FORKS  # CLONE_NEWUSER
    done = storm(nested, *PIDS, "--allow-userns")
    assert done.status == 0 and GOT_OUT not in done.out, done


def test_inodes_are_bounded(storm):
    script = """
directory = os.path.join(os.environ.get("DIRECTORY", "/tmp"), "hutch-inodes-%d" % os.getpid())
os.mkdir(directory)
try:
    for i in range(20000): open(f"{directory}/{i}", "w").close()
    print("GOT-OUT", flush=True)
except OSError as error: print(error)
import shutil; shutil.rmtree(directory)"""
    done = storm(script, *MEMORY)
    assert done.status == 0 and "No space left" in done.out, done


def test_terminals_are_bounded(storm):
    done = storm("""
kept = []
try:
    for _ in range(400): kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    print("GOT-OUT", flush=True)
except OSError as error: print(error)""", "--memory", "512m")
    assert done.status == 0 and "No space left" in done.out, done
