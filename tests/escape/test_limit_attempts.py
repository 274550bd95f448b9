# SPDX-License-Identifier: Apache-2.0
"""Attempts on the limits themselves, and what would take memory that no limit counts. The storms are in the slow tier
(tests/slow/test_storms.py)."""
import json
import os
import subprocess

import pytest
from harness import PYTHON, needs_kernel

LIBC = "import ctypes, os, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def test_the_limit_cannot_be_raised(attempt):
    attempt("""
import resource
for name in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA):
    soft, hard = resource.getrlimit(name)
    if hard == resource.RLIM_INFINITY or hard > 1 << 50: print("GOT-OUT"); break
    try: resource.setrlimit(name, (soft, hard + 1)); print("GOT-OUT"); break
    except (ValueError, PermissionError, OSError): pass
open("/proc/sys/kernel/pid_max", "w").write("4000000")
print("GOT-OUT")""", "--memory", "128m", "--disk", "64m", "--pids", "60", proof=False)


def held_by_a_group(hutch):
    return json.loads(hutch("run", "--dry-run", "--", "true").out)["limits"]["memory"]["mechanism"] == "cgroup"


def test_access_lists_of_files_in_memory_take_nothing(hutch):
    """Up to 128 KiB for each directory, which no count of a file system shows."""
    if held_by_a_group(hutch):
        pytest.skip("a cgroup counts them")
    listed = "struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in [(1, 6, 2**32-1), (2, 6, os.getuid()), (4, 6, 2**32-1), (16, 6, 2**32-1), (32, 6, 2**32-1)])"
    script = f"import os, struct\nos.makedirs('/dev/shm/hutch-acl', exist_ok=True)\ntry: os.setxattr('/dev/shm/hutch-acl', 'system.posix_acl_access', {listed}); print('SET')\nfinally: os.rmdir('/dev/shm/hutch-acl')"
    outside = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True)
    needs_kernel(outside.stdout == "SET\n", "files in memory have no access lists here")
    assert "Operation not supported" in hutch("run", "--", PYTHON, "-c", script).err


def test_the_kernel_ends_the_sandbox_before_other_programs(hutch):
    """What no watchdog sees can make the machine's memory scarce."""
    if held_by_a_group(hutch):
        pytest.skip("a cgroup counts everything")
    done = hutch("run", "--", "sh", "-c", "cat /proc/self/oom_score_adj; echo 0 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj")
    assert done.out == "500\n" * 2, done


def test_a_nested_mount_namespace_brings_no_memory_of_its_own(hutch):
    done = hutch("run", "--allow-userns", "--", PYTHON, "-c", LIBC + "print(libc.unshare(0x10000000), libc.unshare(0x20000), ctypes.get_errno())")
    assert done.out == "0 -1 28\n", done


def test_system_v_objects_and_spliced_pages_take_nothing(hutch):
    if held_by_a_group(hutch):
        pytest.skip("a cgroup counts them")
    done = hutch("run", "--", PYTHON, "-c", LIBC + """
pipe = os.pipe()
for call in (lambda: libc.semget(0, 1, 0o1600), lambda: libc.msgget(0, 0o1600),
             lambda: libc.memfd_create(b"x", 0), lambda: libc.vmsplice(pipe[1], None, 0, 0)):
    print(call(), ctypes.get_errno())""")
    assert done.out == "-1 38\n" * 4, done


def test_system_v_memory_of_a_nested_namespace_takes_nothing(hutch):
    if held_by_a_group(hutch):
        pytest.skip("a control group counts it")
    done = hutch("run", "--allow-userns", "--", PYTHON, "-c", LIBC + "print(libc.shmget(0, 4096, 0o1600), ctypes.get_errno())")
    assert done.out == "-1 38\n", done


def test_pid_1_cannot_be_slowed_down(hutch):
    """It measures the memory. What each call would do to it is done to the process itself first."""
    if held_by_a_group(hutch):
        pytest.skip("a control group measures the memory")
    done = hutch("run", "--", PYTHON, "-c", """
import os, resource
def tries(pid):
    yield lambda: os.setpriority(os.PRIO_PROCESS, pid, 5)
    yield lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0))
    yield lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    yield lambda: os.sched_setparam(pid, os.sched_param(0))
    yield lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))
for pid in (0, 1):
    for call in tries(pid):
        try: call(); print("done")
        except PermissionError: print("refused")
try: os.setpriority(os.PRIO_USER, 0, 5)
except PermissionError: print("refused")""")
    assert done.out == "done\n" * 5 + "refused\n" * 6, done


def test_a_busy_loop_leaves_the_other_processors(hutch):
    needs_kernel(os.cpu_count() > 1, "there is one processor")
    done = hutch("run", "--cpus", "1", "--", PYTHON, "-c", LIBC + """
for _ in range(os.cpu_count()):
    if os.fork() == 0:
        end = time.monotonic() + 1
        while time.monotonic() < end: pass
        os._exit(0)
began = time.monotonic()
for _ in range(os.cpu_count()): os.wait()
print(sum(os.times()[:4]) / (time.monotonic() - began))""")
    assert float(done.out) < 1.2, done
