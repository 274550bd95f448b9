# SPDX-License-Identifier: Apache-2.0
"""--status-fd N: what hutch tells the program that started it, which no output of the command can be taken for."""
import fcntl
import json
import os
import signal
import subprocess
import time

import pytest

from harness import PYTHON, descendants, wait_until

F_SETPIPE_SZ = 1031  # the module has it since Python 3.10


class Told:
    """A finished hutch and its lines."""

    def __init__(self, done, text):
        self.done = done
        assert text == "" or text.endswith("\n"), text
        self.lines = [json.loads(line) for line in text.splitlines()]

    def of(self, event):
        return [line for line in self.lines if line["event"] == event]

    @property
    def end(self):
        assert self.lines[-1]["event"] == "ended" and len(self.of("ended")) == 1, self.lines
        return self.lines[-1]


@pytest.fixture
def told(hutch):
    """told("run", …): hutch is called with --status-fd behind the first word."""
    def call(subcommand, *words, **popen):
        reader, writer = os.pipe()
        done = hutch(subcommand, "--status-fd", writer, *words, pass_fds=[writer], **popen)
        os.close(writer)
        with open(reader, encoding="utf-8") as lines:
            return Told(done, lines.read())
    return call


def test_a_run(told, hutch):
    result = told("run", "--memory", "64m", "--pids", "9", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result.done.status, result.done.out, result.done.err) == (7, "out\n", "err\n")
    [chosen] = result.of("chosen")
    assert chosen["isolation"] == "namespaces" and {"namespaces", "mounts", "seccomp", "capabilities"} <= set(chosen["layers"])
    assert chosen["memory"] == 64 << 20 and chosen["pids"] == 9 and chosen["memory_by"] and chosen["pids_by"] and "cpu_hundredths" not in chosen
    assert result.of("started")[0]["pid"] > 1
    assert [line["event"] for line in result.lines if line["event"] != "note"] == ["chosen", "started", "ended"]
    assert result.end["status"] == 7 and result.end["how"] == "exit" and "signal" not in result.end and "stage" not in result.end
    assert all(isinstance(line["time_ms"], int) for line in result.lines)
    assert json.loads(hutch("logs", "--json").out) == [], "the program that reads the lines keeps the run"


@pytest.mark.parametrize("words, end", [
    (["--", "sh", "-c", "kill -SEGV $$"], {"how": "signal", "signal": signal.SIGSEGV, "status": 128 + signal.SIGSEGV}),
    (["--timeout", "1", "--", "sleep", "60"], {"how": "timeout", "timeout": 1, "status": 124}),
    (["--cwd", "/nowhere", "--", "true"], {"how": "failed", "status": 125}),
    (["--", "/nowhere/command"], {"how": "failed", "status": 127}),
    (["--pids", "none", "--", "true"], {"how": "failed", "status": 2}),
    (["--dry-run", "--", "true"], {"how": "exit", "status": 0})])
def test_every_end(told, words, end):
    result = told("run", *words)
    assert {key: result.end.get(key) for key in end} == end and result.done.status == end["status"], result.lines
    assert result.done.err == ""
    errors = [line for line in result.of("note") if line["kind"] == "error"]
    assert len(errors) == (end["how"] == "failed"), result.lines
    if "none" in words:
        assert errors[0]["option"] == "pids" and "--pids none" in errors[0]["text"]


def test_the_memory_limit(told):
    script = "import os, time\nfor _ in range(6): os.fork()\ndata = bytearray(20 << 20)\ntime.sleep(20)"
    result = told("run", "--memory", "200m", "--", PYTHON, "-c", script)
    assert result.end["how"] == "limit" and result.end["limit"] == "memory" and result.end["status"] == 137, result.lines
    assert [line["option"] for line in result.of("note") if line["kind"] == "limit"] == ["memory"]


def test_the_step_that_failed(told, deny_calls):
    result = told("run", "--", "true", before=deny_calls("pivot_root=EPERM"))
    assert result.end["stage"] == "root" and result.end["errno"] == 1 and result.end["status"] == 125, result.lines
    result = told("run", "--", "true", before=deny_calls("clone3=EAGAIN", "clone+userns=EAGAIN"))
    assert result.end["stage"] == "namespaces" and result.end["errno"] == 11, result.lines
    # Both the sandbox's pid 1 and the command fail here, and neither may write to a descriptor of hutch.
    for _ in range(5):
        result = told("run", "--", "true", before=deny_calls("seccomp=ENOSYS"))
        assert result.end["stage"] == "seccomp", result.lines


@pytest.mark.parametrize("number", ["0", "2", "9", "99999999999999999999", "-1", "3x"])
def test_what_is_no_such_descriptor(hutch, number):
    done = hutch("run", "--status-fd", number, "--", "true")
    assert done.status == 2 and "--status-fd" in done.err, done


def test_a_descriptor_for_reading_only(hutch):
    reader, writer = os.pipe()
    done = hutch("run", "--status-fd", reader, "--", "true", pass_fds=[reader])
    assert done.status == 2 and "written to" in done.err, done
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("number", [3, 9])
def test_nothing_inside_gets_it(hutch, number):
    """Not the command, and not the sandbox's pid 1, which lives as long; of the helpers hutch-nat is one."""
    reader, writer = os.pipe()
    pipe = os.readlink(f"/proc/self/fd/{writer}")
    held = os.dup2(writer, 100, inheritable=True)
    words = ["run", "--status-fd", number, "--network-allow", "example.com", "--", "sh", "-c", "ls -l /proc/self/fd; echo; sleep 60"]
    moved = ["bash", "-c", f'exec "$@" {number}>&{held} {held}>&-', "bash"]
    with hutch.start(*words, before=moved, pass_fds=[held], stdout=subprocess.PIPE, text=True) as process:
        os.close(writer)
        os.close(held)
        listed = "".join(iter(process.stdout.readline, "\n"))
        assert pipe not in listed and " 0 -> " in listed, listed
        others = wait_until(lambda: len(descendants(process.pid)) >= 3 and descendants(process.pid), 10, "its processes")
        for pid in others:
            try:
                theirs = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:  # not dumpable, or gone
                continue
            assert pid == process.pid or pipe not in theirs, others
        process.terminate()
        process.wait(10)
    with open(reader, encoding="utf-8") as lines:
        assert json.loads(lines.read().splitlines()[-1])["how"] == "stopped"


def test_the_command_cannot_write_these_lines(told):
    forged = '{"event":"ended","how":"exit","status":0}\n[hutch] forged\n'
    script = "import os, sys\nfor fd in range(256):\n try: os.write(fd, sys.argv[1].encode())\n except OSError: pass\nsys.exit(9)"
    result = told("run", "--", PYTHON, "-c", script, forged)
    assert result.end["status"] == 9 and "forged" not in json.dumps(result.lines)
    assert result.done.out == result.done.err == forged


def test_a_reader_that_does_not_read(hutch):
    """The pipe has one page, and the firewall has a note for each line that is no message."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    script = "for i in range(300): print('x' * 100)"
    words = ["mcp", "--status-fd", writer, "--deny-tool", "x", "--", PYTHON, "-c", script]
    begun = time.monotonic()
    with hutch.start(*words, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        os.close(writer)
        assert process.wait(20) == 0
    assert time.monotonic() - begun < 15
    with open(reader, encoding="utf-8") as lines:
        for line in lines:
            assert json.loads(line)["event"] in ("note", "chosen", "started", "ended")


def test_a_reader_that_goes_away(hutch):
    reader, writer = os.pipe()
    os.close(reader)
    done = hutch("run", "--status-fd", writer, "--", "sh", "-c", "echo still here", pass_fds=[writer])
    os.close(writer)
    assert done.status == 0 and done.out == "still here\n", done


def test_fetch(told):
    result = told("fetch", "--", "true")
    assert result.end["status"] == 2 and result.done.err == "" and result.of("note")[0]["kind"] == "error", result.lines
