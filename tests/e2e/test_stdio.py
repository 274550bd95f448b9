# SPDX-License-Identifier: Apache-2.0
"""Messages in, messages out: hutch is invisible to the protocol."""
import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest
from harness import PYTHON, STUB_COMMAND, wait_until, without_deny_all
from strict_client import StrictClient

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
ANSWER = b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


def test_a_conversation(strict):
    client = strict()
    assert "echo" in {tool["name"] for tool in client.list_tools()}
    assert client.call("echo", {"text": "ümlaut \u2028 \x1b 😀"}) == "ümlaut \u2028 \x1b 😀"
    assert client.close() == 0
    assert "[hutch] error" not in client.stderr


def test_a_banner_goes_to_stderr_with_a_label(strict):
    client = strict(command=[*STUB_COMMAND, "banner"])  # the strict client fails on it otherwise
    assert client.call("echo", {"text": "hi"}) == "hi"
    assert client.close() == 0
    labelled = [line for line in client.stderr.splitlines() if line.startswith("[hutch] ")]
    assert any("stub server starting" in line for line in labelled), client.stderr
    assert any('{"not": "a message"' in line for line in labelled), client.stderr


def test_raw_stdout_passes_every_byte(hutch):
    data = bytes(range(256)) * 1000 + b"no newline at the end"
    done = subprocess.run(hutch.argv("mcp", "--raw-stdout", "--", "cat"), input=data, capture_output=True, env=hutch.environment, timeout=20)
    assert done.stdout == data and done.returncode == 0


def test_run_passes_every_byte(hutch):
    data = os.urandom(3_000_000)
    done = subprocess.run(hutch.argv("run", "--", "cat"), input=data, capture_output=True, env=hutch.environment, timeout=20)
    assert done.stdout == data and done.returncode == 0


MESSAGE = '{"jsonrpc":"2.0","method":"m"}'


@pytest.mark.parametrize("line,is_message", [
    (MESSAGE, True), (f"[{MESSAGE}]", True), ('{"method":"}","jsonrpc":"2.0"}', True), (f" {MESSAGE}", True), (f"{MESSAGE}\r", True), ("", None),
    ("{", False), ("}", False), ("text", False), ("[1", False), (f"{MESSAGE} trailing", False), ("{\r", False), ("[hutch] fine", False),
    ('{"level":30,"msg":"log"}', False), ("[x}", False), ("[x] tip: { quiet: true }", False), ("{}", False), ("[]", False)])
@pytest.mark.parametrize("rules", [(), ("--deny-tool", "evil")], ids=["bridge", "filter"])
def test_which_lines_count_as_messages(hutch, line, is_message, rules):
    """The same lines with and without hutch-filter, which also removes blanks around a message and its forbidden parts."""
    done = hutch("mcp", *rules, "--", "printf", "%s\n", line)
    assert done.status == 0
    if is_message is False:
        assert done.out == "" and f"[hutch] server stdout: {line.strip()}" in done.err, done
    elif is_message and not line.startswith("["):  # without a negotiated revision, hutch-filter refuses a batch
        assert done.out.strip() == line.strip() and "server stdout:" not in done.err, done
    else:
        assert "server stdout:" not in done.err, done


@pytest.mark.parametrize("rules", [(), ("--deny-tool", "evil")], ids=["bridge", "filter"])
def test_a_long_reply_with_the_member_that_marks_it_at_its_end(hutch, rules):
    """As SDKs write it. It is passed on before its end is there."""
    text = "x" * (1 << 20)
    script = f"import sys; sys.stdin.readline(); print('{{\"result\":{{\"t\":\"' + {len(text)} * 'x' + '\"}},\"id\":1,\"jsonrpc\":\"2.0\"}}')"
    done = hutch("mcp", *rules, "--", PYTHON, "-c", script, input=PING.decode())
    assert done.status == 0 and json.loads(done.out) == {"jsonrpc": "2.0", "id": 1, "result": {"t": text}}, done.err


@pytest.mark.parametrize("rules", [(), ("--deny-tool", "evil")], ids=["bridge", "filter"])
def test_a_line_of_noise_longer_than_any_message(hutch, rules):
    done = hutch("mcp", *rules, *(("--max-message", "64k") if rules else ()), "--", PYTHON, "-c", "print('progress ' + 300000 * '#')")
    assert done.status == 0 and done.out == "" and "[hutch] server stdout: progress ###" in done.err and "longer than" not in done.err, done.err[:300]


def test_an_unfinished_last_line_is_not_lost(hutch):
    assert hutch("mcp", "--", "printf", "%s", MESSAGE).out.strip() == MESSAGE
    assert "half a line" in hutch("mcp", "--", "printf", "half a line").err


@pytest.mark.parametrize("count", [65_000, 65_535, 65_536, 65_537, 200_000, 20_000_000])
def test_large_results_arrive_whole(strict, count):
    client = strict()
    assert len(client.call("big", {"count": count})) == count
    assert client.close() == 0


def test_large_requests_arrive_whole(strict):
    client = strict()
    text = "y" * 5_000_000
    assert client.call("echo", {"text": text}) == text
    assert client.close() == 0


def test_a_slow_reader_gets_everything_and_memory_stays_bounded(hutch):
    count = 50_000_000
    with hutch.start("mcp", "--", *STUB_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "big", "arguments": {"count": count}}}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        first = os.read(process.stdout.fileno(), 10)
        time.sleep(1)  # the reader is slow: that is the point, nothing is waited for
        resident = int(next(line for line in open(f"/proc/{process.pid}/status") if line.startswith("VmRSS")).split()[1])
        assert resident < 16_384, f"{resident} KiB"
        data = first + process.stdout.read()
        assert len(json.loads(data)["result"]["content"][0]["text"]) == count
        assert process.wait(5) == 0


def test_what_a_server_wrote_before_it_ended_is_drained(hutch):
    """More than a pipe holds, read only after the server is gone."""
    with hutch.start("mcp", "--", "sh", "-c", 'i=0; while [ $i -lt 3000 ]; do printf "{\\"jsonrpc\\":\\"2.0\\",\\"n\\":\\"%0100d\\"}\\n" $i; i=$((i+1)); done; exit 4',
                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        lines = []
        for line in process.stdout:
            lines.append(json.loads(line)["n"])
            if len(lines) % 500 == 0:
                time.sleep(0.2)  # a reader that pauses, shorter than hutch's patience
        assert [int(n) for n in lines] == list(range(3000))
        assert process.wait(5) == 4


def test_messages_after_the_end_of_input_arrive(strict):
    client = strict(command=[*STUB_COMMAND, "drain"])
    client.process.stdin.close()
    data = client.process.stdout.read()
    assert len(data.splitlines()) == 100 and client.process.wait(5) == 0


def test_a_client_that_never_reads_does_not_hold_the_sandbox(hutch):
    with hutch.start("mcp", "--stop-grace", 1, "--", "sh", "-c", "exec yes '" + MESSAGE + "'", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
        wait_until(lambda: fcntl.ioctl(process.stdout, 0x541B, b"\0\0\0\0") != b"\0\0\0\0", what="output")
        process.stdin.close()
        assert process.wait(8) is not None


def test_a_client_that_never_reads_stderr_does_not_hold_the_server(strict):
    client = strict()
    for _ in range(20):
        assert client.call("stderr", {"count": 100_000}) == "done"
    assert client.call("echo", {"text": "still here"}) == "still here"
    # Reading at last, the client is told that it missed something.
    seen = bytearray()
    reader = threading.Thread(target=lambda: seen.extend(client.process.stderr.read()))
    reader.start()
    client.process.stdin.close()
    assert client.process.wait(10) == 0
    reader.join(5)
    assert b"[hutch] " in seen and b"dropped" in seen, bytes(seen[-300:])
    assert len(seen) < 20 * 100_000


def test_a_client_that_closes_its_end_gives_the_server_sigpipe(hutch):
    with hutch.start("mcp", "--", "sh", "-c", "exec yes '" + MESSAGE + "'", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(8) in (0, 128 + signal.SIGPIPE, 128 + signal.SIGTERM)


def test_ids_of_both_directions_may_be_equal(strict):
    client = strict()
    assert "file:///r" in client.call("roots")
    assert [request["method"] for request in client.server_requests] == ["roots/list"]
    assert client.close() == 0


@pytest.mark.parametrize("first", [b'{"jsonrpc":"2.0","id":"x","method":"server/discover"}\n', b'{"jsonrpc":"2.0","id":0,"method":"tools/list"}\n', b"[]\n",
                                   b"not JSON at all\n"])
def test_the_first_message_may_be_anything(hutch, first):
    done = hutch("mcp", "--", "head", "-n", "1", input=first)
    assert first.decode() in done.out + done.err and done.status == 0


# kinds of standard streams

def test_one_socket_as_input_and_output_as_node_clients_give_it(hutch):
    ours, theirs = socket.socketpair()
    with ours, theirs, hutch.start("mcp", "--", *STUB_COMMAND, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        ours.settimeout(10)
        ours.sendall(PING)
        assert ours.recv(4096) == ANSWER
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(5) == 0
        theirs.settimeout(1)
        theirs.send(b"x")  # still whole: hutch must not have shut down what it shares
        assert ours.recv(1) == b"x"


def test_two_socket_pairs(hutch):
    ours_in, theirs_in = socket.socketpair()
    ours_out, theirs_out = socket.socketpair()
    with ours_in, theirs_in, ours_out, theirs_out, hutch.start("mcp", "--", *STUB_COMMAND, stdin=theirs_in, stdout=theirs_out,
                                                              stderr=subprocess.DEVNULL) as process:
        ours_out.settimeout(10)
        ours_in.sendall(PING)
        assert ours_out.recv(4096) == ANSWER
        theirs_in.close()
        ours_in.close()
        assert process.wait(5) == 0


def test_a_file_as_input_and_output(hutch, tmp_path):
    (tmp_path / "in").write_bytes(PING * 3)
    with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as target, open(tmp_path / "err", "wb") as errors:
        assert hutch.start("mcp", "--", *STUB_COMMAND, stdin=source, stdout=target, stderr=errors).wait(10) == 0
    assert (tmp_path / "out").read_bytes() == ANSWER * 3


def test_a_file_opened_for_appending_is_appended_to(hutch, tmp_path):
    (tmp_path / "out").write_bytes(b"before\n")
    with open(tmp_path / "out", "ab") as target:
        assert hutch.start("run", "--", "echo", "after", stdout=target).wait(10) == 0
    assert (tmp_path / "out").read_bytes() == b"before\nafter\n"


def test_null_as_every_stream(hutch):
    assert hutch.start("mcp", "--", *STUB_COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(5) == 0


def test_errors_and_output_in_one_pipe(hutch):
    with hutch.start("run", "--", "sh", "-c", "echo out; echo err >&2", stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert sorted(without_deny_all(process.stdout.read().decode()).split()) == ["err", "out"] and process.wait(5) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_way_in_or_out(hutch, closed):
    """Where 0, 1 or 2 is closed, the next file that hutch opens must not take its place inside."""
    report = hutch.directory / "report"
    done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", f"ls -l /proc/self/fd >{report} 2>&1; echo done >>{report}",
                 before=["sh", "-c", f'exec "$@" {closed}', "sh"])
    if done.status == 0:
        assert "done" in report.read_text()
        assert str(hutch.home) not in report.read_text()
    else:
        assert done.status == 125 and not report.exists(), done


@pytest.mark.parametrize("kind", ["run", "mcp"])
def test_the_callers_descriptions_never_become_non_blocking(hutch, kind):
    def flags(*fds):
        return [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in fds]

    for make in (os.pipe, lambda: [end.detach() for end in socket.socketpair()]):
        pairs = [make() for _ in range(3)]
        theirs = [pairs[0][0], pairs[1][1], pairs[2][1]]
        ours = [pairs[0][1], pairs[1][0], pairs[2][0]]
        process = hutch.start(kind, "--", "sh", "-c", f"echo '{MESSAGE}'; echo e >&2; read x; exit 0", stdin=theirs[0], stdout=theirs[1], stderr=theirs[2])
        assert os.read(ours[1], 100) == MESSAGE.encode() + b"\n"
        assert flags(*theirs) == [0, 0, 0]
        os.write(ours[0], b"go\n")
        assert process.wait(5) == 0
        assert flags(*theirs) == [0, 0, 0]
        for fd in theirs + ours:
            os.close(fd)


def test_a_non_blocking_description_of_the_caller_works_and_stays(hutch):
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    process = hutch.start("run", "--", "head", "-c", "3000000", "/dev/zero", stdout=write_end)
    os.close(write_end)
    time.sleep(0.3)  # let the pipe fill up
    total = 0
    while data := os.read(read_end, 65_536):
        total += len(data)
    os.close(read_end)
    assert total == 3_000_000 and process.wait(5) == 0


def test_the_servers_streams_are_fresh_pipes(hutch):
    """Not the caller's own: opening /dev/stdin works, and nothing of the caller's crosses."""
    ours, theirs = socket.socketpair()
    with ours, theirs, hutch.start("mcp", "--raw-stdout", "--", "sh", "-c", "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; cat /dev/stdin",
                                   stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        ours.sendall(b"through\n")
        ours.shutdown(socket.SHUT_WR)
        lines = process.stdout.read().decode().split("\n")
        assert [line.split(":")[0] for line in lines[:3]] == ["pipe"] * 3 and lines[3] == "through", lines


def test_an_idle_sandbox_costs_no_time(hutch):
    with hutch.start("mcp", "--", *STUB_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(PING)
        process.stdin.flush()
        assert process.stdout.readline() == ANSWER

        def ticks():
            return sum(int(field) for field in open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])
        before = ticks()
        time.sleep(1)
        assert ticks() - before <= 2
        process.stdin.close()
        process.wait(5)


def test_nothing_of_hutchs_own_on_stdout_when_the_start_fails(hutch):
    for arguments in (["mcp", "-v", "--", "no-such-command"], ["mcp", "--rw", "/no/such", "--", "true"], ["mcp", "--bad", "--", "true"], ["mcp", "-v", "--", "true"]):
        assert hutch(*arguments, input="").out == "", arguments


def test_a_very_long_line_is_neither_cut_nor_moved(hutch):
    script = f"import sys; sys.stdout.write('{{\"a\":\"' + 'z' * 3_000_000 + '\"}}\\n')"
    done = hutch("mcp", "--", PYTHON, "-c", script)
    assert len(done.out) == 3_000_009 and done.status == 0


def test_noise_without_end_is_bounded(hutch):
    """A server that writes noise for ever neither fills memory nor blocks its messages."""
    script = "import sys\nfor i in range(300): print('noise ' * 2000)\nprint('{\"jsonrpc\":1}')"
    done = hutch("mcp", "--", PYTHON, "-c", script)
    assert done.out == '{"jsonrpc":1}\n' and done.status == 0


def test_the_strict_client_is_strict(hutch):
    """A check of the check: without hutch the banner is a failure."""
    from strict_client import ProtocolError
    with StrictClient([*STUB_COMMAND, "banner"]) as client, pytest.raises(ProtocolError):
        client.initialize()
