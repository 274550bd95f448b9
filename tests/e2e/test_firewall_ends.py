# SPDX-License-Identifier: Apache-2.0
"""How a sandbox ends with the firewall between its client and its server: as it does without. Every test runs with the
bridge alone, too, so that both are held to the same."""
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
from harness import PYTHON

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"a"}\n'
ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}'
NOTE = b'{"jsonrpc":"2.0","method":"n","params":{"text":"%s"}}\n'


@pytest.fixture(params=[[], ["--allow-tool", "*"]], ids=["bridge", "firewall"])
def start(hutch, request):
    """Starts a server that is a Python program and has said that it runs, with a grace of one second."""
    def start_server(program, grace=1, **popen):
        for name in ("stdin", "stdout"):
            popen.setdefault(name, subprocess.PIPE)
        program = f"import os, signal, sys, time\nprint('up', file=sys.stderr, flush=True)\n{program}"
        process = hutch.start("mcp", "--stop-grace", grace, *request.param, "--", PYTHON, "-c", program, stderr=subprocess.PIPE, bufsize=0, **popen)
        while b"up\n" not in process.stderr.readline():
            assert process.poll() is None
        return process
    return start_server


def seconds_until_end(process):
    began = time.monotonic()
    process.wait(20)
    return time.monotonic() - began


def test_a_server_that_ignores_the_end_of_its_input(start):
    with start("time.sleep(60)") as process:
        process.stdin.close()
        assert 0.9 < seconds_until_end(process) < 4 and process.returncode == 0


def test_a_server_that_takes_nothing_cannot_hide_the_end(start):
    with start("time.sleep(60)") as process:
        os.set_blocking(process.stdin.fileno(), False)
        line = NOTE % (b"x" * 60000)
        written = 0
        while process.stdin.write(line):  # until nothing between here and the server has room
            written += 1
            time.sleep(0.02)
            assert written < 1000
        process.stdin.close()
        assert 0.9 < seconds_until_end(process) < 4 and process.returncode == 0


def test_a_server_that_closed_its_input_cannot_hide_the_end(start):
    with start("os.close(0)\nprint('closed', file=sys.stderr, flush=True)\ntime.sleep(60)") as process:
        assert process.stderr.readline() == b"closed\n"
        for _ in range(200):  # what nobody reads is taken, and does not stop the client
            process.stdin.write(NOTE % (b"x" * 10000))
        process.stdin.close()
        assert 0.9 < seconds_until_end(process) < 4 and process.returncode == 0


def test_a_server_that_works_on_what_is_left_gets_its_time(start):
    """The grace begins anew whenever it takes some of it."""
    program = "\n".join(["total = 0", "while data := os.read(0, 32768):", "    total += len(data)", "    time.sleep(0.25)", "print(total, file=sys.stderr)"])
    with start(program) as process:
        lines = (NOTE % (b"x" * 65000)) * 5
        writer = threading.Thread(target=lambda: (process.stdin.write(lines), process.stdin.close()))
        writer.start()
        err = process.stderr.read()
        writer.join()
        process.wait(20)
    assert err == b"%d\n" % len(lines) and process.returncode == 0


def test_a_client_that_goes_away(start):
    with start(f"try:\n    while True:\n        print('{ANSWER}', flush=True)\nexcept BrokenPipeError:\n    os._exit(7)") as process:
        process.stdout.close()
        assert seconds_until_end(process) < 5 and process.returncode == 7


def test_a_client_that_is_killed(start):
    ours, theirs = socket.socketpair()
    with start("time.sleep(60)", stdin=theirs, stdout=theirs) as process:
        theirs.close()
        ours.close()
        assert 0.9 < seconds_until_end(process) < 4 and process.returncode == 0


# Writes COUNT notifications of 30 KB and ends.
WRITES = """
for _ in range(COUNT):
    sys.stdout.write('{"jsonrpc":"2.0","method":"n","params":{"text":"%s"}}\\n' % ("y" * 30000))
sys.stdout.flush()
"""


def test_what_a_server_wrote_last_is_handed_over(start):
    """To a client that takes its time, longer than the two seconds after which one that takes nothing is left."""
    with start(WRITES.replace("COUNT", "8")) as process:
        taken = b""
        while data := os.read(process.stdout.fileno(), 32768):
            taken += data
            time.sleep(0.6)
        assert taken == (NOTE % (b"y" * 30000)) * 8
        assert process.wait(5) == 0


def test_a_client_that_takes_nothing_is_not_waited_for(start):
    with start(WRITES.replace("COUNT", "4")) as process:
        assert 1.9 < seconds_until_end(process) < 5 and process.returncode == 0


def test_a_client_without_an_input_or_an_output(start):
    answer = "sys.stdin.read()\nprint('{\"jsonrpc\":\"2.0\",\"method\":\"x\"}', flush=True)\nprint('done', file=sys.stderr, flush=True)"
    with start(answer, 20, stdin=None, preexec_fn=lambda: os.close(0)) as process:
        assert b'"method":"x"' in process.stdout.read() and process.wait(10) == 0
    with start(answer, 20, stdout=None, preexec_fn=lambda: os.close(1)) as process:
        process.stdin.close()
        assert process.stderr.read() == b"done\n" and process.wait(10) == 0


@pytest.mark.parametrize("kind", ["pipes", "sockets", "files"])
def test_what_a_client_may_give(start, tmp_path, kind):
    """A client's descriptors keep the flags they have: they are its own."""
    program = f"for line in sys.stdin:\n    print('{ANSWER}', flush=True)"
    if kind == "files":
        (tmp_path / "in").write_bytes(REQUEST)
        with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken, start(program, 20, stdin=given, stdout=taken) as process:
            assert process.wait(10) == 0
        assert (tmp_path / "out").read_text() == ANSWER + "\n"
        return
    if kind == "sockets":
        ours, theirs = socket.socketpair()
        ends = [theirs.fileno(), ours.fileno(), ours.fileno(), theirs.fileno()]
    else:
        ends = [*os.pipe(), *os.pipe()]
    with start(program, 20, stdin=ends[0], stdout=ends[3]) as process:
        for _ in range(3):
            os.write(ends[1], REQUEST)
            assert os.read(ends[2], 1000).decode() == ANSWER + "\n"
        assert all(os.get_blocking(end) for end in ends)
        if kind == "sockets":
            ours.shutdown(socket.SHUT_WR)
        else:
            os.close(ends[1])
        assert process.wait(10) == 0
        if kind == "sockets":
            ours.close()
            theirs.close()
        else:
            for end in (ends[0], ends[2], ends[3]):
                os.close(end)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop(start, number):
    with start("signal.signal(signal.SIGINT, signal.SIG_DFL)\nprint('set', file=sys.stderr, flush=True)\ntime.sleep(60)") as process:
        assert process.stderr.readline() == b"set\n"
        process.send_signal(number)
        assert seconds_until_end(process) < 4 and process.returncode == 128 + number


def test_an_interrupt_of_the_whole_job(start):
    """As a terminal sends it: the helpers are in the same group, and are not what ends the sandbox."""
    with start("signal.signal(signal.SIGINT, lambda *_: (time.sleep(0.5), os._exit(3)))\nprint('set', file=sys.stderr, flush=True)\ntime.sleep(60)",
               start_new_session=True) as process:
        assert process.stderr.readline() == b"set\n"
        os.killpg(process.pid, signal.SIGINT)
        assert seconds_until_end(process) < 4
        assert process.returncode == 128 + signal.SIGINT and b"has ended" not in process.stderr.read()
