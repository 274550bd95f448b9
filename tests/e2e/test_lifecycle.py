# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a sandbox, it ends in time and nothing of it remains (every test also checks that by a fixture)."""
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from harness import PYTHON, STUB_COMMAND, Remains, assert_nothing_left, descendants, wait_until
from killing import WIDTH, kill_at_any_moment

DEAF = ["ignore-eof", "ignore-term", "grandchild"]


def pipe_process(hutch, *arguments, **popen):
    return hutch.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)


def stub_running(process):
    """A started stub that answered, so that what follows hits a running server."""
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert b'"id": 1' in process.stdout.readline(), process.stderr.read()


def seconds_until_end(process, timeout=20):
    started = time.monotonic()
    process.wait(timeout)
    return time.monotonic() - started


@pytest.mark.parametrize("modes", [[], ["grandchild"], DEAF], ids="+".join)
@pytest.mark.parametrize("launcher", [False, True], ids=["direct", "behind-a-shell"])
@pytest.mark.parametrize("how", ["eof", "INT", "TERM", "HUP", "KILL"])
def test_teardown(hutch, how, launcher, modes):
    command = [*STUB_COMMAND, *modes]
    if launcher:
        command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    with pipe_process(hutch, "mcp", "--stop-grace", 1, "--ro", STUB_COMMAND[1], "--", *command) as process:
        stub_running(process)
        if "grandchild" in modes:
            wait_until(lambda: len(descendants(process.pid)) >= 3, what="the grandchild")
        if how == "eof":
            process.stdin.close()
        else:
            process.send_signal(getattr(signal, "SIG" + how))
        took = seconds_until_end(process)
    # 1 s of grace from end of input to SIGTERM, 2 s more to SIGKILL; half a second for a busy machine
    assert took < (3.5 if "ignore-term" in modes else 1.5), took


def test_a_server_that_ends_with_its_input_ends_at_once(hutch):
    with pipe_process(hutch, "mcp", "--", *STUB_COMMAND) as process:
        stub_running(process)
        process.stdin.close()
        assert seconds_until_end(process) < 0.9
        assert process.returncode == 0


def test_the_default_grace_is_five_seconds(hutch):
    with pipe_process(hutch, "mcp", "--", *STUB_COMMAND, *DEAF) as process:
        stub_running(process)
        process.stdin.close()
        assert 6.5 < seconds_until_end(process) < 8.5


@pytest.mark.parametrize("grace", [0, 2])
def test_the_grace_can_be_chosen(hutch, grace):
    with pipe_process(hutch, "mcp", "--stop-grace", grace, "--", *STUB_COMMAND, "ignore-eof") as process:
        stub_running(process)
        process.stdin.close()
        assert grace - 0.1 < seconds_until_end(process) < grace + 1
        assert process.returncode in (0, 128 + signal.SIGTERM)


EOF, GROUP_TERM, TREE_KILL = "end of input", "SIGTERM to the group", "SIGKILL to the whole tree"
# How clients stop a server: what they do, and how long they wait before the next step.
ENDINGS = {
    "TypeScript SDK": [(EOF, 2), (signal.SIGTERM, 2), (signal.SIGKILL, 0)],
    "Python SDK": [(EOF, 2), (GROUP_TERM, 2), (signal.SIGKILL, 0)],
    "Go SDK": [(EOF, 5), (signal.SIGTERM, 5), (signal.SIGKILL, 0)],
    "Rust SDK": [(EOF, 3), (signal.SIGKILL, 0)],
    "Claude Code": [(signal.SIGINT, 0.1), (signal.SIGTERM, 0.4), (signal.SIGKILL, 0)],
    "VS Code": [(EOF, 10), (signal.SIGTERM, 10), (TREE_KILL, 0)],
    "VS Code, in a hurry": [(TREE_KILL, 0)],
    "Codex": [(GROUP_TERM, 2), (signal.SIGKILL, 0)],
    "Zed": [(signal.SIGKILL, 0)],
}


def take_step(process, step):
    if step == EOF:
        process.stdin.close()
    elif step == GROUP_TERM:
        os.killpg(process.pid, signal.SIGTERM)
    elif step == TREE_KILL:
        for pid in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):  # the end of one is the end of others
                os.kill(pid, signal.SIGKILL)
    else:
        process.send_signal(step)


def end_as_client(process, steps):
    """Ends a started hutch as a client would; returns how long that took."""
    started = time.monotonic()
    for step, patience in steps:
        take_step(process, step)
        try:
            process.wait(patience)
            break
        except subprocess.TimeoutExpired:
            pass
    process.wait(5)
    return time.monotonic() - started


@pytest.mark.parametrize("modes", [[], DEAF], ids=["willing", "deaf"])
def test_every_client_ends_its_server_in_its_own_way(hutch, modes):
    """All of them at once, because a deaf server takes its time."""
    before = Remains()
    running = {name: pipe_process(hutch, "mcp", "--", *STUB_COMMAND, *modes, start_new_session=True) for name in ENDINGS}
    for process in running.values():
        stub_running(process)
    with ThreadPoolExecutor(len(ENDINGS)) as pool:
        ends = {name: pool.submit(end_as_client, process, ENDINGS[name]) for name, process in running.items()}
        took = {name: end.result() for name, end in ends.items()}
    for name, process in running.items():
        with process:
            kind = ENDINGS[name][0][0]
            patience = sum(wait for _, wait in ENDINGS[name])
            # A willing server is gone long before its client's patience ends; for a deaf one hutch needs 5 + 2 s after the end of
            # input and 2 s after a signal, unless the client kills sooner. One second for a busy machine.
            bound = 0 if not modes else min(patience, 7 if kind == EOF else 2)
            assert took[name] < bound + 1, (name, took[name])
            if not modes and kind == EOF:
                assert process.returncode == 0, (name, process.returncode)
    assert_nothing_left(before)


def test_a_server_that_handles_the_signal_gives_its_own_status(hutch):
    script = "trap 'echo \"{\\\"jsonrpc\\\":1}\"; exit 7' TERM; echo '{\"jsonrpc\":0}'; while :; do sleep 0.05; done"
    with pipe_process(hutch, "mcp", "--", "sh", "-c", script) as process:
        assert process.stdout.readline() == b'{"jsonrpc":0}\n'
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == b'{"jsonrpc":1}\n'
        assert process.wait(5) in (7, 128 + signal.SIGTERM)


def test_the_end_of_the_main_process_ends_everything_although_output_stays_open(hutch):
    done = hutch("run", "--", "sh", "-c", "(trap '' HUP TERM; exec sleep 300) & exit 5", timeout=5)
    assert done.status == 5 and done.seconds < 3, done


def test_output_closed_by_the_server_is_not_its_end(hutch):
    script = "exec 1>&-; read line; test \"$line\" = go && exit 11"
    with pipe_process(hutch, "mcp", "--", "sh", "-c", script) as process:
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.wait(5) == 11


def test_orphans_are_reaped_inside(hutch):
    """Pid 1 collects what nobody waits for: after a hundred orphans no zombie is there."""
    script = ("for i in $(seq 100); do (true & ); done; for t in $(seq 200); do n=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l); "
              "[ $n -eq 0 ] && exit 0; sleep 0.02; done; exit 1")
    assert hutch("run", "--", "sh", "-c", script, timeout=20).status == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_client_is_killed(hutch, number):
    """The client dies without a word; hutch sees the end of its input (and nothing else)."""
    script = ("import subprocess, sys, time\n"
              "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
              "p.stdin.write(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n'); p.stdin.flush()\n"
              "print(p.stdout.readline(), flush=True); time.sleep(300)\n")
    before = Remains()
    client = subprocess.Popen([PYTHON, "-c", script, *hutch.argv("mcp", "--stop-grace", 1, "--", *STUB_COMMAND, *DEAF)],
                              stdout=subprocess.PIPE, env=hutch.environment, cwd=hutch.directory)
    with client:
        assert b"id" in client.stdout.readline()
        client.send_signal(number)
        client.wait(5)
    assert_nothing_left(before, timeout=6)


def test_pid_1_killed_from_outside_ends_the_sandbox(hutch):
    with pipe_process(hutch, "mcp", "--", *STUB_COMMAND) as process:
        stub_running(process)
        children = [pid for pid in descendants(process.pid) if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1] == str(process.pid)]
        assert children
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        assert process.wait(5) != 0


def test_a_server_cannot_stop_its_init(hutch):
    done = hutch("run", "--", "sh", "-c", "kill -KILL 1; kill -STOP 1; kill -TERM 1; sleep 0.1; echo alive")
    assert done.out == "alive\n" and done.status == 0, done


def test_many_start_together(hutch):
    running = [pipe_process(hutch, "mcp", "--", *STUB_COMMAND) for _ in range(12)]
    for process in running:
        stub_running(process)
    for process in running:
        with process:
            process.stdin.close()
            assert process.wait(10) == 0


def test_killed_at_any_moment_nothing_remains(hutch):
    """A thousand times in the slow tier."""
    kill_at_any_moment(hutch, 100)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_stop_at_any_moment_it_stops(hutch, number):
    """The signals that can be handled, sent as early: hutch must end within the bound, and never run on."""
    before = Remains()
    for _ in range(5):
        started = [(hutch.start("mcp", "--", "sh", "-c", "sleep 300", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
                    random.uniform(0, 0.006)) for _ in range(WIDTH)]
        for process, delay in started:
            deadline = time.monotonic() + delay
            while time.monotonic() < deadline:
                pass
            process.send_signal(number)
        for process, _ in started:
            assert process.wait(6) in (128 + number, -number)
            process.stdin.close()
    assert_nothing_left(before)


def test_run_ends_after_its_input_only_when_a_grace_is_given(hutch):
    done = hutch("run", "--stop-grace", "0", "--", "sleep", "60")
    assert done.status == 0 and done.seconds < 5, done
    done = hutch("run", "--", "sh", "-c", "sleep 1; exit 4")
    assert done.status == 4, done


@pytest.mark.parametrize("options, expected", [
    (["run"], ["hutch", "hutch-init"]),
    (["mcp", "--network-allow", "192.0.2.1:443", "--allow-tool", "*"], ["hutch", "hutch-filter", "hutch-init", "hutch-nat"]),
], ids=["plain", "network-and-tools"])
def test_hutch_has_no_other_process(hutch, options, expected):
    process = hutch.start(*options, "--", "sleep", "100", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: any(name.startswith("sleep ") for name in descendants(process.pid).values()), what="the command")
        names = sorted(["hutch"] + [name.split()[0] for name in descendants(process.pid).values()])
        assert names == sorted([*expected, "sleep"])
    finally:
        process.kill()
        process.communicate(timeout=10)
