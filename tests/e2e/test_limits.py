# SPDX-License-Identifier: Apache-2.0
"""--memory, --pids, --cpus, --disk, --require: what works under them, what is said, and what holds each on this machine.
Attempts to take more are in tests/escape/test_storms.py."""
import json
import os
import resource
import signal
import subprocess

import pytest
from harness import PYTHON, descendants, wait_until


@pytest.fixture
def mechanisms(hutch):
    """{limit: what will hold it} of a sandbox with these options."""
    def ask(*options):
        done = hutch("run", *options, "--dry-run", "--", "true")
        assert done.status == 0, done
        limits = json.loads(done.out)["limits"]
        return {name: limits[name]["mechanism"] for name in ("memory", "pids", "cpus")}
    return ask


def test_defaults(hutch):
    limits = json.loads(hutch("run", "--dry-run", "--", "true").out)["limits"]
    assert limits["memory"]["bytes"] == 2 << 30 and limits["pids"]["count"] == 1024 and limits["cpus"]["hundredths"] is None
    assert limits["memory_fs_bytes"] == 1 << 30 and limits["cpus"]["mechanism"] == "no limit"
    assert (limits["no_cgroup"] is None) == (limits["memory"]["mechanism"] == "cgroup")


def test_verbose_and_the_log_name_what_holds(hutch, mechanisms):
    chosen = mechanisms("--cpus", "1")
    done = hutch("run", "-v", "--cpus", "1", "--", "true")
    line = next(line for line in done.own_lines if "limits:" in line)
    assert f"memory 2g: {chosen['memory']}; pids 1024: {chosen['pids']}; cpus 1: {chosen['cpus']}; disk 1g" in line, done
    assert chosen["cpus"] in ("cgroup", "affinity")


def test_a_fraction_of_a_processor_needs_a_control_group(mechanisms):
    assert mechanisms("--cpus", "0.5")["cpus"] in ("cgroup", "none")


def test_root_is_not_bound_by_the_resource_limit(mechanisms, am_root):
    assert mechanisms()["pids"] in ("cgroup", "pid_max" if am_root else "rlimit", "none" if am_root else "rlimit")


@pytest.mark.parametrize("what", ["cgroup", "memory"])
def test_require_what_a_watchdog_would_hold(hutch, mechanisms, what):
    holds = mechanisms()["memory"] == "cgroup"
    done = hutch("run", "--require", what, "--", "echo", "ran")
    assert (done.status, done.out) == ((0, "ran\n") if holds else (125, "")), done
    assert holds or any(f"--require {what} cannot be met" in line for line in done.own_lines), done


def test_require_what_holds_everywhere(hutch, mechanisms):
    if mechanisms()["pids"] != "none":
        assert hutch("run", "--require", "pids", "--", "true").status == 0
    assert hutch("run", "--require", "cpus", "--cpus", "1", "--", "true").status == 0
    done = hutch("run", "--require", "cpus", "--cpus", "0.5", "--", "true")
    assert done.status == (0 if mechanisms("--cpus", "0.5")["cpus"] == "cgroup" else 125), done


def test_copies_of_a_fork_are_not_counted_twice(hutch):
    script = ("import os, time\n"
              "data = bytearray(120 << 20)\n"
              "children = []\n"
              "for _ in range(8):\n"
              "    child = os.fork()\n"
              "    if child == 0: time.sleep(2); os._exit(0)\n"
              "    children.append(child)\n"
              "for child in children: os.waitpid(child, 0)\n"
              "print('fine')")
    done = hutch("run", "--memory", "300m", "--", PYTHON, "-c", script)
    assert (done.status, done.out) == (0, "fine\n"), done


def test_a_large_process_starts_others_by_vfork(hutch):
    script = ("import os, time\n"
              "data = bytearray(150 << 20)\n"
              "end = time.monotonic() + 2\n"
              "while time.monotonic() < end:\n"
              "    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n"
              "print('fine')")
    done = hutch("run", "--memory", "240m", "--", PYTHON, "-c", script)
    assert (done.status, done.out) == (0, "fine\n"), done


def test_node_works_under_512m(hutch, node):
    script = ("const http = require('http'), { Worker } = require('worker_threads');"
              "const server = http.createServer((q, r) => r.end('hello')).listen(0, async () => {"
              "  const text = await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text();"
              "  new Worker('require(\"worker_threads\").parentPort.postMessage(7)', { eval: true }).on('message', async (m) => {"
              "    const wasm = new WebAssembly.Memory({ initial: 16, maximum: 1024 });"
              "    console.log(text, m, wasm.buffer.byteLength, Buffer.alloc(100 << 20).length); process.exit(0); });"
              "});")
    done = hutch("run", "--memory", "512m", "--pids", "64", "--", node, "-e", script)
    assert (done.status, done.out) == (0, "hello 7 1048576 104857600\n"), done


def limit_records(log):
    """The records of reached limits, which have the mechanism that the start names."""
    found = [json.loads(line) for line in log.read_text().splitlines()]
    reached = [record for record in found if record["event"] == "limit"]
    assert found[0]["event"] == "start" and found[-1]["event"] == "end"
    assert all(f"{record['limit']} {record['value']}: {record['mechanism']}" in found[0]["limits"] for record in reached), found
    return [(record["limit"], record["value"]) for record in reached]


def test_memory_ends_the_sandbox_with_137_and_one_line(hutch):
    script = "import os, time\nfor _ in range(6): os.fork()\ndata = bytearray(20 << 20)\ntime.sleep(20)"
    done = hutch("run", "--log", hutch.directory / "log", "--memory", "200m", "--", PYTHON, "-c", script)
    assert done.status == 137 and limit_records(hutch.directory / "log") == [("memory", "200m")], done
    assert len([line for line in done.own_lines if "--memory 200m is used up" in line]) == 1 == len(done.own_lines), done
    assert "ended at a limit" in hutch("logs").out
    run = json.loads(hutch("logs", "--json").out)
    assert "limit" in json.dumps(run)


# They take a MiB at a time and hold on to it, as a leak does.
LEAK_PYTHON = "import time\nkept = []\nfor _ in range(600): kept.append(bytearray(b'x' * (1 << 20)))\nprint('all')"
LEAK_NODE = "const kept = []; for (let i = 0; i < 600; i++) kept.push(new Array(1 << 17).fill(i + 0.5)); console.log('all');"


@pytest.mark.parametrize("name", ["python", "node"])
def test_a_leak_of_one_process_is_named(hutch, request, name):
    """Not an error of the allocation inside, of which hutch could say nothing."""
    words = [PYTHON, "-c", LEAK_PYTHON] if name == "python" else [request.getfixturevalue("node"), "-e", LEAK_NODE]
    done = hutch("run", "--log", hutch.directory / "log", "--memory", "200m", "--", *words)
    assert (done.status, done.out) == (137, "") and limit_records(hutch.directory / "log") == [("memory", "200m")], done
    assert len(done.own_lines) == 1 and "--memory 200m is used up" in done.own_lines[0], done


def test_one_enormous_allocation_fails_inside(hutch, mechanisms):
    if not mechanisms()["memory"].startswith("watchdog"):
        pytest.skip("a cgroup counts what is used, not what is allocated")
    script = "try: bytearray(450 << 20)\nexcept MemoryError: print('refused')"
    done = hutch("run", "--memory", "200m", "--", PYTHON, "-c", script)
    assert (done.status, done.out) == (0, "refused\n"), done


def test_an_interpreter_runs_with_the_least_memory(hutch):
    done = hutch("run", "--memory", "6m", "--", "sh", "-c", "echo ran")
    assert (done.status, done.out) == (0, "ran\n"), done


@pytest.mark.parametrize("option, value, proposed", [("--memory", "10", "10m"), ("--memory", "100k", "6m"), ("--disk", "64", "64m")])
def test_a_forgotten_unit_is_a_mistake(hutch, option, value, proposed):
    done = hutch("run", option, value, "--", "echo", "ran")
    assert (done.status, done.out) == (2, "") and f"write {option} {proposed}" in done.own_lines[0], done


def unheld(done):
    return [line for line in done.own_lines if "nothing here enforces" in line]


def test_a_limit_that_nothing_holds_is_named(hutch, mechanisms):
    held = mechanisms("--cpus", "0.5")["cpus"] == "cgroup"
    done = hutch("run", "--cpus", "0.5", "--", "true")
    assert done.status == 0 and len(unheld(done)) == (0 if held else 1), done
    assert held or all(word in unheld(done)[0] for word in ("--cpus 0.5", "--require cpus", "hutch doctor")), done


def test_nothing_is_said_of_a_default_and_of_what_is_held(hutch, mechanisms):
    assert unheld(hutch("run", "--", "true")) == unheld(hutch("run", "--proc", "none", "--", "true")) == []
    assert unheld(hutch("run", "--cpus", "1", "--memory", "1g", "--", "true")) == []
    if mechanisms("--proc", "none")["memory"] == "none":
        done = hutch("run", "--proc", "none", "--memory", "1g", "--", "true")
        assert len(unheld(done)) == 1 and "--memory 1g" in unheld(done)[0] and "--cpus" not in unheld(done)[0], done


def test_what_is_written_to_memory_counts_for_both(hutch):
    done = hutch("run", "--memory", "150m", "--disk", "400m", "--", "sh", "-c", "head -c 300m /dev/zero > /tmp/f; sleep 20")
    assert done.status == 137 and "--memory 150m is used up" in done.err, done


def test_a_full_disk_is_named(hutch):
    done = hutch("run", "--log", hutch.directory / "log", "--disk", "20m", "--", "sh", "-c", "head -c 30m /dev/zero > /tmp/f || echo full; sleep 1; rm /tmp/f; echo ok > ~/f && cat ~/f")
    assert (done.status, done.out) == (0, "full\nok\n"), done
    assert any("--disk 20m" in line for line in done.own_lines) and limit_records(hutch.directory / "log") == [("disk", "20m")], done


def test_disk_is_one_budget(hutch):
    done = hutch("run", "--disk", "20m", "--", "sh", "-c", "head -c 12m /dev/zero > /tmp/f && head -c 12m /dev/zero > /dev/shm/f || { rm /dev/shm/f; head -c 4m /dev/zero > ~/f && echo 4m; }")
    assert done.out == "4m\n", done


def test_pids_are_named_when_used_up(hutch):
    script = ("import os, time\nchildren = 0\n"
              "try:\n    while True:\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n        children += 1\n"
              "except OSError as error: print(error.errno, children, flush=True)\n"
              "time.sleep(1.5)")
    done = hutch("run", "--log", hutch.directory / "log", "--pids", "40", "--", PYTHON, "-c", script)
    number, children = map(int, done.out.split())
    assert done.status == 0 and number == 11 and 39 <= children <= 340, done
    assert any("--pids 40 is used up" in line and "--pids N permits more" in line for line in done.own_lines) and limit_records(hutch.directory / "log") == [("pids", "40")], done


def test_two_sandboxes_share_no_budget(hutch, tmp_path):
    script = ("import os, sys, time\nfor _ in range(30):\n    if os.fork() == 0: time.sleep(30); os._exit(0)\n"
              "print('all', flush=True); sys.stdin.read()")
    running = [hutch.start("run", "--pids", "36", "--", PYTHON, "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    try:
        assert [process.stdout.readline() for process in running] == [b"all\n"] * 3
        # The caller's own are not counted either.
        assert subprocess.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; wait; echo own"], capture_output=True).stdout == b"own\n"
    finally:
        for process in running:
            process.communicate(timeout=20)
    assert [process.returncode for process in running] == [0] * 3


def test_cpus_are_chosen_and_stay_chosen(hutch, mechanisms):
    if mechanisms("--cpus", "1")["cpus"] != "affinity":
        pytest.skip("a cgroup enforces it")
    done = hutch("run", "--cpus", "1", "--", PYTHON, "-c",
                 "import os\nprint(len(os.sched_getaffinity(0)))\ntry: os.sched_setaffinity(0, range(64))\nexcept OSError as error: print(error.errno)")
    assert done.out == "1\n1\n", done
    more = hutch("run", "--cpus", str(os.cpu_count() + 4), "--", PYTHON, "-c", "import os; print(len(os.sched_getaffinity(0)))")
    assert int(more.out) == len(os.sched_getaffinity(0)), more


def test_without_the_option_processors_can_be_chosen(hutch):
    done = hutch("run", "--", PYTHON, "-c", "import os; os.sched_setaffinity(0, os.sched_getaffinity(0)); print('fine')")
    assert done.out == "fine\n", done


def test_without_proc_each_process_is_bounded(hutch, mechanisms):
    held = mechanisms("--proc", "none")["memory"]
    assert held in ("cgroup", "none")
    assert hutch("run", "--proc", "none", "--require", "memory", "--", "true").status == (0 if held == "cgroup" else 125)
    done = hutch("run", "--proc", "none", "--memory", "100m", "--", PYTHON, "-c", "bytearray(200 << 20)")
    assert done.status in (1, 137) and ("MemoryError" in done.err or done.status == 137), done


# ---- the timer in pid 1 ----

def started(hutch, *words):
    """A hutch whose command has printed "started", and its pid 1."""
    process = hutch.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    (first,) = [pid for pid, name in descendants(process.pid).items() if name.startswith("hutch-init")]
    return process, first


def test_a_watchdog_that_cannot_measure_ends_the_sandbox(hutch, mechanisms):
    if not mechanisms()["memory"].startswith("watchdog"):
        pytest.skip("a cgroup enforces it")
    process, first = started(hutch, "run", "--", "sh", "-c", "echo started; sleep 100")
    resource.prlimit(first, resource.RLIMIT_NOFILE, (0, 0))
    _, err = process.communicate(timeout=10)
    assert process.returncode == 125 and b"can no longer be measured" in err, (process.returncode, err)


@pytest.mark.parametrize("options, script, status, said", [
    (["--memory", "100m"], "time.sleep(0.5)\nkept = bytearray(b'x' * (150 << 20))\ntime.sleep(100)", 137, b"--memory 100m is used up"),
    (["--timeout", "1"], "time.sleep(100)", 124, b"the time of --timeout 1 is over"),
    (["--timeout", "1"], "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(100)", 124, b"the time of --timeout 1 is over"),
], ids=["memory", "timeout", "timeout-without-term"])
def test_limits_hold_while_hutch_is_stopped(hutch, mechanisms, options, script, status, said):
    if options[0] == "--memory" and not mechanisms()["memory"].startswith("watchdog"):
        pytest.skip("a cgroup enforces it")
    process, first = started(hutch, "run", *options, "--", PYTHON, "-uc", "import signal, time\nprint('started')\n" + script)
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: not descendants(process.pid), 10, "the end of the sandbox")
    finally:
        process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == status and err.count(said) == 1, (process.returncode, err)


def test_a_storm_of_orphans_delays_no_limit(hutch):
    """Pid 1 reaps them, and looks at the clock all the same."""
    script = ("import os\n"
              "while True:\n"
              "    if os.fork() == 0:\n"
              "        for _ in range(20):\n"
              "            if os.fork() == 0: os._exit(0)\n"
              "        os._exit(0)\n"
              "    os.wait()\n")
    done = hutch("run", "--timeout", "1", "--pids", "200", "--", PYTHON, "-c", script)
    assert done.status == 124 and done.seconds < 6, done


def test_system_v_memory_counts(hutch, mechanisms):
    script = ("import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
              "libc.shmdt.argtypes = [ctypes.c_void_p]\n"
              "for _ in range(8):\n"
              "    at = libc.shmat(libc.shmget(0, 50 << 20, 0o1600), None, 0)\n"
              "    ctypes.memset(at, 1, 50 << 20)\n"
              "    libc.shmdt(at)\n"  # no process has it any more
              "time.sleep(20)")
    done = hutch("run", "--memory", "150m", "--", PYTHON, "-c", script)
    assert done.status == 137 and "--memory 150m is used up" in done.err, done


def test_shared_memory_counts_once(hutch):
    script = ("import mmap, os, time\n"
              "data = mmap.mmap(-1, 120 << 20)\n"  # without a file
              "for i in range(0, len(data), 4096): data[i] = 1\n"
              "for _ in range(8):\n"
              "    if os.fork() == 0: sum(data[i] for i in range(0, len(data), 4096)); time.sleep(1.5); os._exit(0)\n"
              "for _ in range(8): os.wait()\n"
              "print('fine')")
    done = hutch("run", "--memory", "300m", "--", PYTHON, "-c", script)
    assert (done.status, done.out) == (0, "fine\n"), done
    assert hutch("run", "--memory", "100m", "--", PYTHON, "-c", script).status == 137
