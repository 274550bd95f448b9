# SPDX-License-Identifier: Apache-2.0
"""Tool calls in --log, and --explain: what a person, or a model, learns of a call afterwards."""
import json
import os
import signal
import subprocess

from harness import PYTHON, STUB_COMMAND, descendants, wait_until

# A server whose one tool looks a name up and fails as the look-up does.
LOOKS_UP = """
import json, socket, sys
for line in sys.stdin:
    message = json.loads(line)
    name = message["params"]["arguments"]["host"]
    try:
        socket.getaddrinfo(name, 443)
        failed = False
    except OSError as error:
        failed = True
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "x"}], "isError": failed}}), flush=True)
"""


def call(number, name, **arguments):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def calls_of(path):
    return [record for record in map(json.loads, path.read_text().splitlines()) if record["event"] == "call"]


def test_every_call_with_its_decision_and_duration(hutch):
    log = hutch.home / "log"
    lines = [call(1, "echo", text="hello"), call(2, "slow", ms=300), call(3, "env"), call(4, "no such tool")]
    done = hutch("mcp", "--log", log, "--deny-tool", "env", "--", *STUB_COMMAND, input="\n".join(lines) + "\n")
    assert done.status == 0, done
    found = {record["tool"]: record for record in calls_of(log)}
    assert set(found) == {"echo", "slow", "env", "no such tool"}
    assert found["echo"]["decision"] == "allowed" and found["echo"]["end"] == "answer"
    assert found["echo"]["bytes_in"] == len(lines[0].replace(": ", ":").replace(", ", ",")) and found["echo"]["bytes_out"] > 50
    assert 300 <= found["slow"]["duration_ms"] < 5000
    assert found["env"]["decision"] == "refused" and "--deny-tool" in found["env"]["reason"]
    assert found["no such tool"]["end"] == "error"
    assert not any("arguments" in record for record in found.values()), "only when they are asked for"
    assert len({record["sandbox"] for record in found.values()}) == 1


def test_a_call_without_an_answer(hutch):
    log = hutch.home / "log"
    with hutch.start("mcp", "--log", log, "--", *STUB_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write((call(1, "echo", text="x") + "\n" + call(2, "slow", ms=20000) + "\n").encode())
        process.stdin.flush()
        process.stdout.readline()
        wait_until(lambda: calls_of(log), what="the first record")
        process.terminate()
        process.communicate(timeout=10)
    assert [(record["tool"], record["end"]) for record in calls_of(log)] == [("echo", "answer"), ("slow", "no answer")]


def test_arguments_without_the_values_of_variables(hutch):
    """However the value is spelled, and wherever it stands; a short one would hide everything."""
    log = hutch.home / "log"
    secret, quoted, number = "s3cr3t-Vé", 'with "quotes" \\ and\nlines', "1234567"
    spelled = "".join(f"\\u{ord(c):04x}" for c in secret)
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a %s b","%s":[1234567,"x1234567y",12345.5],"q":%s,"nested":%s,"plain":"kept","n":"1"}}}' % (
        spelled, secret, json.dumps(quoted), json.dumps(json.dumps({"in": quoted})))
    done = hutch("mcp", "--log", log, "--log-arguments", "--env", f"TOKEN={secret}", "--env", f"OTHER={quoted}", "--env", f"NUMBER={number}", "--env", "SHORT=1", "--",
                 *STUB_COMMAND, input=line + "\n")
    assert done.status == 0, done
    text = log.read_text()
    for hidden in (secret, "s3cr3t", "quotes", "1234567", spelled):
        assert hidden not in text, hidden
    [record] = calls_of(log)
    assert json.loads(record["arguments"]) == {"text": "a [hidden] b", "[hidden]": ["[hidden]", "x[hidden]y", 12345.5], "q": "[hidden]",
                                               "nested": '{"in": "[hidden]"}', "plain": "kept", "n": "1"}


def test_values_that_overlap_and_values_in_names(hutch):
    """And in a text of JSON whose writer escapes slashes, as many do."""
    log = hutch.home / "log"
    arguments = {"text": "x password-of-the-day x", "nested": r'{"in":"a\/long\/path"}'}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 'get "a/long/path"', "arguments": arguments}})
    done = hutch("mcp", "--log", log, "--log-arguments", "--env", "ONE=password", "--env", "TWO=word-of-the-day", "--env", "THREE=a/long/path", "--", *STUB_COMMAND, input=line + "\n")
    assert done.status == 0, done
    [record] = calls_of(log)
    assert record["tool"] == 'get "[hidden]"'
    assert json.loads(record["arguments"]) == {"text": "x [hidden] x", "nested": '{"in":"[hidden]"}'}


def test_long_and_odd_arguments_are_one_line(hutch):
    log = hutch.home / "log"
    lines = [call(1, "echo", text="\n\"\\\u2028é\U0001f600\x7f" * 2000), call(2, "x" * 5000), call(3, "\n\u007f\ufeff")]
    assert hutch("mcp", "--log", log, "--log-arguments", "--", *STUB_COMMAND, input="\n".join(lines) + "\n").status == 0
    found = calls_of(log)
    assert [len(record["tool"]) < 400 for record in found] == [True] * 3 and found[0]["arguments"].endswith("…")
    assert log.read_bytes().isascii()


def test_without_a_log_or_for_run_there_is_no_filter(hutch):
    assert hutch("run", "--log", hutch.home / "log", "--", "true").status == 0
    assert hutch("mcp", "--log-arguments", "--", "true").status == 2
    assert hutch("mcp", "--raw-stdout", "--log", hutch.home / "log", "--", "true").status == 0


def ask_one_by_one(hutch, server, hosts, *options):
    """The results of calls that wait for each other: what is refused during a call is that call's."""
    results = []
    with hutch.start("mcp", *options, "--network-allow", "allowed.test", "--", PYTHON, "-c", server, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL) as process:
        for i, host in enumerate(hosts):
            process.stdin.write(call(i, "look-up", host=host).encode() + b"\n")
            process.stdin.flush()
            results.append(json.loads(process.stdout.readline())["result"])
        process.communicate(timeout=10)
    return results


def test_the_model_learns_what_the_network_refused(hutch):
    hosts = ["refused.test", "localhost", "refused.test", "other.test"]
    assert [len(result["content"]) for result in ask_one_by_one(hutch, LOOKS_UP, hosts)] == [1] * 4
    results = ask_one_by_one(hutch, LOOKS_UP, hosts, "--explain")
    assert [result["isError"] for result in results] == [True, False, True, True]
    assert [len(result["content"]) for result in results] == [2, 1, 2, 2]
    texts = [result["content"][-1]["text"] for result in results]
    assert "the name refused.test" in texts[0] and "--network-allow" in texts[0]
    assert "refused.test" in texts[2] and "other.test" in texts[3] and "refused.test" not in texts[3]


# A server that tries ports which no rule mentions: the kernel refuses them, and hutch-nat only hears of it.
CONNECTS = """
import json, socket, sys
address = socket.getaddrinfo("allowed.test", 443, socket.AF_INET)[0][4][0]
for line in sys.stdin:
    message = json.loads(line)
    for port in range(int(message["params"]["arguments"]["host"]), 0, -1):
        try:
            socket.create_connection((address, 9000 + port))
        except ConnectionRefusedError:
            pass
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "isError": True}}), flush=True)
    print("answered", file=sys.stderr, flush=True)
"""


def test_what_the_kernel_refused_by_itself(hutch):
    results = ask_one_by_one(hutch, CONNECTS, ["1", "0", "2", "0", "1"], "--explain")
    texts = [result["content"][0]["text"] if result["content"] else "" for result in results]
    assert [text.count("allowed.test:") for text in texts] == [1, 0, 2, 0, 1]
    assert "allowed.test:9001 (" in texts[0] and "allowed.test:9002 (" in texts[2] and "allowed.test:9001 (" in texts[2]


def test_a_network_helper_that_is_behind(hutch):
    """The question finds it with more refusals to hear of than it takes at a time. Of many it says the last."""
    with hutch.start("mcp", "--explain", "--network-allow", "allowed.test", "--", PYTHON, "-c", CONNECTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
        def ask(count):
            process.stdin.write(call(1, "look-up", host=str(count)).encode() + b"\n")
            process.stdin.flush()

        def until_answered():
            while process.stderr.readline() != b"answered\n":
                assert process.poll() is None

        ask(0)
        until_answered()
        assert json.loads(process.stdout.readline())["result"]["content"] == []
        [helper] = [pid for pid, name in descendants(process.pid).items() if name.startswith("hutch-nat")]
        os.kill(helper, signal.SIGSTOP)
        ask(150)
        until_answered()
        os.kill(helper, signal.SIGCONT)
        text = json.loads(process.stdout.readline())["result"]["content"][0]["text"]
        process.communicate(timeout=10)
    assert [f"allowed.test:{port} (" in text for port in range(9010, 9000, -1)] == [False] * 2 + [True] * 8
    assert ", more. Only" in text


def test_without_a_network_nothing_is_asked(hutch):
    line = call(1, "look-up", host="refused.test") + "\n"
    done = hutch("mcp", "--explain", "--", PYTHON, "-c", LOOKS_UP, input=line)
    assert len(json.loads(done.out)["result"]["content"]) == 1
