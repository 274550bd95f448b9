# SPDX-License-Identifier: Apache-2.0
"""The exit statuses that the manual promises."""
import os
import signal
import subprocess
import time

import pytest
from harness import PYTHON, STUB_COMMAND, descendants, read_stat, signal_when_running, wait_until

KINDS = ["run", "mcp"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [0, 1, 2, 42, 125, 255])
def test_the_commands_own_status_is_passed_on(hutch, kind, status):
    done = hutch(kind, "--", "sh", "-c", f"exit {status}")
    assert done.status == status, done
    assert done.out == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGUSR1])
def test_a_command_that_a_signal_ended_gives_128_and_the_number(hutch, kind, number):
    done = hutch(kind, "--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.status == 128 + number, done


@pytest.mark.parametrize("kind", KINDS)
def test_a_background_process_does_not_change_the_status(hutch, kind):
    assert hutch(kind, "--", "sh", "-c", "sleep 300 & (exit 9) & exit 7").status == 7


def has_passed_on(pid, number):
    """hutch has taken the signal, and waits again."""
    pending = [line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("ShdPnd:")][0]
    return not int(pending, 16) >> (number - 1) & 1 and read_stat(pid)[1] == "S"


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_on_its_way_does_not_lose_the_status(hutch, kind):
    """pid 1 ends with the command, and a signal that hutch passed on is not read any more. hutch, which has one processor
    together with somebody busier, sees that only when pid 1 is gone."""
    one = {os.sched_getaffinity(0).pop()}
    share = {"preexec_fn": lambda: os.sched_setaffinity(0, one)}
    command = """echo '{"jsonrpc":"2.0","method":"up"}'; trap '' USR1; read x; exit 7"""
    process = hutch.start(kind, "--", "sh", "-c", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **share)
    with process:
        assert "up" in process.stdout.readline().decode()
        shell, = [pid for pid, name in descendants(process.pid).items() if name.startswith("sh ")]
        init = read_stat(shell)[0]
        os.kill(init, signal.SIGSTOP)
        process.stdin.write(b"\n")
        process.stdin.flush()
        wait_until(lambda: read_stat(shell)[1] == "Z", 10, "the end of the command")
        process.send_signal(signal.SIGUSR1)
        wait_until(lambda: has_passed_on(process.pid, signal.SIGUSR1), 10, "the signal's way to pid 1")
        os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
        with subprocess.Popen([PYTHON, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE, **share) as busy:
            busy.stdout.readline()
            os.kill(init, signal.SIGCONT)
            wait_until(lambda: (read_stat(init) or (0, "Z"))[1] == "Z", 10, "the end of pid 1")
            busy.kill()
        assert process.wait(10) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("kind", KINDS)
def test_told_to_stop_by_a_signal_gives_128_and_its_number(hutch, kind, number):
    marker = hutch.directory / "started"
    process = hutch.start(kind, "--rw", hutch.directory, "--", "sh", "-c", f"touch {marker}; exec sleep 300",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:  # its input stays open
        signal_when_running(process, marker, number)
        assert process.wait(10) == 128 + number


@pytest.mark.parametrize("kind", KINDS)
def test_a_timeout_gives_124(hutch, kind):
    process = hutch.start(kind, "--timeout", 1, "--", "sleep", "300", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    started = time.monotonic()
    with process:  # its input stays open: nothing but the timeout ends it
        err = process.stderr.read().decode()
        assert process.wait(10) == 124, err
    assert time.monotonic() - started > 0.9
    assert "time" in err, err


def test_a_timeout_ends_a_command_that_ignores_signals(hutch):
    done = hutch("run", "--timeout", 1, "--", "sh", "-c", "trap '' TERM INT HUP; while :; do sleep 300; done", timeout=15)
    assert done.status == 124, done


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["no-such-command-anywhere", "/no/such/file", "./missing"])
def test_a_command_that_is_not_there_gives_127(hutch, kind, command):
    done = hutch(kind, "--", command)
    assert (done.status, done.out) == (127, ""), done
    assert len(done.err.splitlines()) == 1 and command.removeprefix("./") in done.err


def test_not_found_names_the_path_that_was_searched(hutch):
    done = hutch("run", "--", "no-such-command-anywhere", env={"PATH": "/usr/sbin:/sbin"})
    assert done.status == 127
    assert "/usr/sbin:/sbin" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_is_no_program_gives_126(hutch, kind):
    data = hutch.directory / "data"
    data.write_text("only text\n")
    data.chmod(0o644)
    done = hutch(kind, "--ro", data, "--", data)
    assert (done.status, done.out) == (126, ""), done
    assert str(data) in done.err


def test_a_directory_as_command_gives_126(hutch):
    done = hutch("run", "--ro", hutch.directory, "--", hutch.directory)
    assert done.status == 126, done


def test_a_server_that_ends_with_its_input_gives_its_own_status(hutch):
    done = hutch("mcp", "--", *STUB_COMMAND, input="")
    assert done.status == 0, done
    done = hutch("mcp", "--", "sh", "-c", "cat >/dev/null; exit 3", input="x\n")
    assert done.status == 3, done


def test_a_server_that_ignores_the_end_of_input_ends_by_the_signal_it_got(hutch):
    done = hutch("mcp", "--stop-grace", 1, "--", "sleep", "300", input="")
    assert done.status in (0, 128 + signal.SIGTERM), done


def test_an_unreadable_seccomp_profile_is_125(hutch):
    done = hutch("run", "--seccomp", hutch.directory / "missing.json", "--", "true")
    assert done.status == 125, done
    assert len(done.err.splitlines()) == 1 and "missing.json" in done.err
