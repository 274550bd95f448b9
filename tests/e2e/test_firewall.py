# SPDX-License-Identifier: Apache-2.0
"""The MCP firewall through the real program: what a client and a server see of it, and what a person does."""
import json
import os
import subprocess

import pytest

from harness import Finished, PYTHON, TESTS, wait_until

SERVER = str(TESTS / "clients" / "scripted_server.py")
MODERN = "io.modelcontextprotocol/protocolVersion"
LIST = '{"jsonrpc":"2.0","id":@ID@,"result":{"tools":[{"name":"read_file","x":1},{"name":"write_file"},{"name":"evil"}],"nextCursor":"c","_meta":{"a":[1.0]}}}'
LAST = '{"jsonrpc":"2.0","id":@ID@,"result":{"ttlMs":5,"tools":[{"name":"evil"},{"name":"read_dir"}]}}'
DONE = '{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"done"}]}}'


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def call(number, name, **more):
    return request(number, "tools/call", name=name, arguments={}, **more)


def listing(number, **params):
    return request(number, "tools/list", **params)


class Session:
    """One run: lines in, lines out, what the server got, what hutch said."""

    def __init__(self, hutch, directory, answers, options, first=()):
        self.hutch, self.directory, self.options = hutch, directory, options
        self.record = directory / "out" / "record"
        self.record.parent.mkdir(parents=True, exist_ok=True)
        self.record.unlink(missing_ok=True)
        (directory / "script.json").write_text(json.dumps({"answers": answers, "first": list(first), "record": str(self.record)}))

    @property
    def argv(self):
        return ["mcp", "--ro", self.directory, "--rw", self.record.parent, *self.options, "--", PYTHON, SERVER, self.directory / "script.json"]

    def start(self, **popen):
        return self.hutch.start(*self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **{"stderr": subprocess.DEVNULL, **popen})

    def run(self, *lines, end="\n", timeout=30, until=None):
        """All lines at once; the input ends then, or once `until` is in what the server got."""
        text = b"".join((line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()) + end.encode() for line in lines)
        if not until:
            self.done = self.hutch(*self.argv, input=text, timeout=timeout)
            return self
        with self.start(stderr=subprocess.PIPE) as process:
            process.stdin.write(text)
            process.stdin.flush()
            wait_until(lambda: any(until in line for line in self.received), what=f"{until} for the server")
            out, err = process.communicate(timeout=timeout)
        self.done = Finished(process.returncode, out.decode(), err.decode(), 0)
        return self

    @property
    def answers(self):
        return [json.loads(line) for line in self.done.out.splitlines()]

    def answer(self, number):
        found = [answer for answer in self.answers if answer.get("id") == number]
        assert len(found) == 1, (number, self.done)
        return found[0]

    @property
    def received(self):
        return self.record.read_bytes().splitlines() if self.record.exists() else []

    def said(self, text):
        return sum(text in line for line in self.done.own_lines)


@pytest.fixture
def session(hutch, tmp_path):
    def make(*options, answers=None, first=()):
        return Session(hutch, tmp_path / "session", {"tools/list": [LAST], "tools/call": [DONE], **(answers or {})}, options, first)
    return make


def is_refused(answer):
    result = answer["result"]
    return result["isError"] is True and len(result["content"]) == 1 and result["content"][0]["type"] == "text" and "hutch refused" in result["content"][0]["text"]


# ---- rules

@pytest.mark.parametrize("options, allowed, refused", [
    (["--allow-tool", "read_*"], ["read_file", "read_"], ["write_file", "xread_", "READ_FILE", "", "read"]),
    (["--allow-tool", "a?c", "--allow-tool", "x"], ["abc", "x", "aéc"], ["ac", "abbc", "xx"]),
    (["--deny-tool", "evil"], ["good", "evil2", "Evil"], ["evil"]),
    (["--allow-tool", "*", "--deny-tool", "w*e"], ["read"], ["write", "we"]),
    (["--allow-tool", "a*b*c"], ["abc", "aXbYc", "abbc"], ["ab", "acb"]),
])
def test_rules_by_name(session, options, allowed, refused):
    run = session(*options).run(*[call(i, name) for i, name in enumerate(allowed + refused, 1)])
    for i in range(1, len(allowed) + 1):
        assert run.answer(i)["result"]["content"][0]["text"] == "done"
    for i in range(len(allowed) + 1, len(allowed) + len(refused) + 1):
        assert is_refused(run.answer(i)), run.answer(i)
    got = [json.loads(line)["params"]["name"] for line in run.received]
    assert got == allowed, "a refused call never reaches the server"


def test_names_are_compared_unescaped(session):
    run = session("--deny-tool", "evil").run(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u0065v\\u0069l"}}',
        '{"jsonrpc":"2.0","id":2,"\\u006dethod":"tools\\/call","params":{"n\\u0061me":"evil"}}',
        '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}}')
    assert is_refused(run.answer(1)) and is_refused(run.answer(2))
    assert run.received == []
    assert run.said('refused a call of the tool "evil": --deny-tool names it') == 1, "once, however often"


def test_the_refusal_says_which_option_permits_it(session):
    run = session("--allow-tool", "good").run(call(1, "other tool"))
    assert run.said("to permit it: --allow-tool other tool") == 1
    assert "--allow-tool other tool" in run.answer(1)["result"]["content"][0]["text"]


def test_a_refusal_has_a_result_type_in_the_newer_era_only(session):
    run = session("--deny-tool", "evil").run(call(1, "evil"), call(2, "evil", _meta={MODERN: "2026-07-28"}))
    assert "resultType" not in run.answer(1)["result"]
    assert run.answer(2)["result"]["resultType"] == "complete"


def test_a_call_without_a_name_or_as_a_task(session):
    run = session("--deny-tool", "evil").run(request(1, "tools/call"), request(2, "tools/call", name=["evil"]), call(3, "evil", task={"ttl": 1}))
    assert run.answer(1)["error"]["code"] == run.answer(2)["error"]["code"] == -32600
    assert run.answer(3)["error"]["code"] == -32602, "the answer would be a task, so an error is what fits"
    assert run.received == []


def test_lists_lose_refused_tools_and_nothing_else(session):
    run = session("--allow-tool", "read_*", answers={"tools/list": [LIST]}).run(listing(1))
    assert run.done.out == '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file","x":1}],"nextCursor":"c","_meta":{"a":[1.0]}}}\n'
    assert session("--deny-tool", "*").run(listing(1)).answer(1)["result"] == {"ttlMs": 5, "tools": []}


def test_a_list_without_rules_for_names_is_what_it_was(session):
    run = session("--deny-roots", answers={"tools/list": [LIST]}).run(listing("a"))
    assert run.done.out == LIST.replace("@ID@", '"a"') + "\n"


def test_a_list_that_is_none_is_refused(session):
    for bad in ('{"jsonrpc":"2.0","id":@ID@,"result":{"tools":{"0":{"name":"evil"}}}}', '{"jsonrpc":"2.0","id":@ID@,"result":[]}', '{"jsonrpc":"2.0","id":@ID@,"result":{}}'):
        assert "error" in session("--deny-tool", "evil", answers={"tools/list": [bad]}).run(listing(1)).answer(1)


def test_a_tool_without_a_name_is_left_out(session):
    bad = '{"jsonrpc":"2.0","id":@ID@,"result":{"tools":[{"title":"evil"},{"name":7},[],"evil",null,{"name":"good"}]}}'
    assert session("--deny-tool", "evil", answers={"tools/list": [bad]}).run(listing(1)).answer(1)["result"]["tools"] == [{"name": "good"}]


def test_a_rule_that_matches_no_tool_is_one_warning(session):
    run = session("--allow-tool", "read_*", "--allow-tool", "nothing", "--deny-tool", "noone*").run(listing(1), listing(2))
    assert run.said("--allow-tool nothing matches no tool of this server") == 1
    assert run.said("--deny-tool noone* matches no tool of this server") == 1
    assert run.said("read_*") == 0


def test_pages_are_one_list(session):
    run = session("--allow-tool", "read_file", "--allow-tool", "read_dir", answers={"tools/list\",\"params": [LAST], "tools/list": [LIST]})
    run.run(listing(1), '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"c"}}')
    assert run.said("matches no tool") == 0
    assert [tool["name"] for i in (1, 2) for tool in run.answer(i)["result"]["tools"]] == ["read_file", "read_dir"]


# ---- answers

def test_an_answer_to_nothing_never_reaches_the_client(session):
    """A client that takes "1" for 1 would read a list that nobody filtered."""
    forged = [LAST.replace("@ID@", number) for number in ('"1"', '"0x1"', '" 1"', "2", '"a"')]
    run = session("--allow-tool", "read_*", answers={"tools/list": [*forged, LAST]}).run(listing(1))
    assert len(run.answers) == 1
    assert [tool["name"] for tool in run.answers[0]["result"]["tools"]] == ["read_dir"]
    assert run.said("the client has no request with that id") == 1


def test_only_the_first_answer_counts(session):
    run = session("--allow-tool", "read_*", answers={"tools/list": [LAST, LAST]}).run(listing(1))
    assert len(run.answers) == 1


def test_the_two_directions_have_ids_of_their_own(session):
    """The server asks with the same id that the client uses."""
    ping = '{"jsonrpc":"2.0","id":@ID@,"method":"ping"}'
    run = session("--allow-tool", "read_*", answers={"tools/list": [ping, LAST]}).run(listing(1), {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert [answer.get("method") for answer in run.answers] == ["ping", None]
    assert len(run.received) == 2


# ---- what a server asks of its client

ASKS = {"--deny-sampling": "sampling/createMessage", "--deny-elicitation": "elicitation/create", "--deny-roots": "roots/list"}


@pytest.mark.parametrize("option", ASKS)
def test_a_request_of_the_server_is_refused(session, option):
    asked = [f'{{"jsonrpc":"2.0","id":"q{i}","method":"{method}"}}' for i, method in enumerate(ASKS.values())]
    run = session(option, answers={"tools/call": [*asked, DONE]}).run(call(1, "x"), until=b"error")
    assert {answer.get("method") for answer in run.answers} == {*ASKS.values(), None} - {ASKS[option]}
    refusals = [json.loads(line) for line in run.received if b"error" in line]
    assert len(refusals) == 1 and refusals[0]["error"]["code"] == -32601 and option in refusals[0]["error"]["message"]
    assert run.said(option) == 1


@pytest.mark.parametrize("option", ASKS)
def test_in_the_newer_era_it_hides_in_results(session, option):
    result = '{"jsonrpc":"2.0","id":@ID@,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"other"},"b":{"m\\u0065thod":"%s"}},"requestState":"s"}}' % ASKS[option]
    run = session(option, answers={"tools/call": [result], "tasks/get": [result], "tools/list": [result]})
    run.run(call(1, "x", _meta={MODERN: "2026-07-28"}), request(2, "tasks/get"), listing(3))
    assert is_refused(run.answer(1)) and run.answer(1)["result"]["resultType"] == "complete"
    assert option in run.answer(2)["error"]["message"] and option in run.answer(3)["error"]["message"]
    other = next(name for name in ASKS if name != option)
    assert session(other, answers={"tools/call": [result]}).run(call(1, "x")).answer(1)["result"]["inputRequests"]


def test_input_requests_of_another_form_are_refused(session):
    for bad in ('[{"method":"sampling/createMessage"}]', '{"a":["sampling/createMessage"]}', '"sampling/createMessage"', '{"a":{"method":1}}'):
        run = session("--deny-sampling", answers={"tools/call": ['{"jsonrpc":"2.0","id":@ID@,"result":{"inputRequests":%s}}' % bad]}).run(call(1, "x"))
        assert is_refused(run.answer(1)), bad


def test_an_elicitation_by_an_error_is_refused_too(session):
    error = '{"jsonrpc":"2.0","id":@ID@,"error":{"code":-32042,"message":"open this","data":{"elicitations":[{"mode":"url","url":"https://evil.example"}]}}}'
    run = session("--deny-elicitation", answers={"tools/call": [error]}).run(call(1, "x"))
    assert is_refused(run.answer(1)) and "evil.example" not in run.done.out


# ---- what passes

def test_everything_else_passes(session):
    passing = [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "x"}}, request(5, "subscriptions/listen", a=1),
               request(6, "tasks/cancel", taskId="t"), {"jsonrpc": "2.0", "id": "s", "result": {"roots": []}}, request(7, "unknown/method", any="y")]
    notes = ['{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}',
             '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\\u0000\\ud800"}}', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}']
    run = session("--allow-tool", "read_*", first=notes).run(*passing)
    assert run.done.out.splitlines() == notes
    assert list(map(json.loads, run.received)) == passing


def test_white_space_goes_and_spelling_stays(session):
    run = session("--deny-roots").run('  { "jsonrpc" : "2.0", "id" : 1 ,\t"method" : "tools/call" , "params" : { "arguments" : [ 1.0, 1e5, "\\u00e9\\/" ] , "name" : "x" } } ')
    assert run.received == [b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":[1.0,1e5,"\\u00e9\\/"],"name":"x"}}']


def test_a_client_that_ends_lines_with_crlf(session):
    run = session("--deny-tool", "evil").run(call(1, "x"), call(2, "evil"), end="\r\n")
    assert run.answer(1)["result"] and is_refused(run.answer(2))
    assert not any(b"\r" in line for line in run.received)


def test_the_last_line_needs_no_end(session):
    run = session("--deny-tool", "evil").run(json.dumps(call(1, "good")) + "\n" + json.dumps(call(2, "evil")), end="")
    assert run.answer(1)["result"] and is_refused(run.answer(2))


def test_a_server_that_greets_is_labelled_as_without_rules(session):
    run = session("--deny-tool", "evil", first=["hello, I am a server", '{"half":'])
    run.run(call(1, "x"))
    assert run.said("server stdout: hello, I am a server") == 1 and run.said('server stdout: {"half":') == 1
    assert run.answer(1)["result"]


@pytest.mark.parametrize("method", ["initialize", "server/discover", "tools/call"])
def test_the_first_message_may_be_anything(session, method):
    run = session("--deny-tool", "evil", answers={method: [DONE]}).run(request(1, method, name="x"))
    assert run.answer(1)["result"]


# ---- refused lines

@pytest.mark.parametrize("line", [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good","name":"evil"}}',
    '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"evil"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","param\u017f":{"name":"evil"}}',
    '{"jsonrpc":"2.0","id":1,"method":"x"}\r{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}',
    '{"method":"tools/call","params":{"name":"good","name":"evil"},"jsonrpc":"2.0","id":1}',
    '{"method": "x", "params": {"a": 01}, "jsonrpc": "2.0", "id": 1}',
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"x\\u0000"}',
])
def test_a_refused_line_is_answered_and_the_session_goes_on(session, line):
    run = session("--deny-tool", "evil").run(line, call(2, "good"), line)
    assert [answer["error"]["code"] for answer in run.answers if answer["id"] == 1] == [-32600, -32600]
    assert run.answer(2)["result"]
    assert run.said("refused a line of the client") == 1
    assert len(run.received) == 1


@pytest.mark.parametrize("line", ["[]", '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}]', "{}", "nonsense", '{"jsonrpc":"2.0","id":1.5,"method":"x"}', "\ufeff{}", "1"])
def test_a_refused_line_without_an_id_is_only_said(session, line):
    run = session("--deny-tool", "evil").run(line, call(2, "good"))
    assert [answer["id"] for answer in run.answers] == [2]
    assert run.said("refused a line of the client") == 1


def test_a_refused_answer_ends_the_request_that_waits_for_it(session):
    bad = ['{"jsonrpc":"2.0","id":@ID@,"result":{"a":1,"a":2}}', '{"result":{"a":1,"a":2},"jsonrpc":"2.0","id":@ID@}', '{"result":{"a":NaN},"jsonrpc":"2.0","id":@ID@}']
    for line in bad:
        run = session("--deny-tool", "evil", answers={"tools/call": [line]}).run(call(1, "good"), listing(2))
        assert "refused the server's answer" in run.answer(1)["error"]["message"]
        assert run.answer(2)["result"]


def test_a_refused_request_of_the_server_is_answered_to_it(session):
    run = session("--deny-tool", "evil", first=['{"jsonrpc":"2.0","id":"q","method":"ping","method":"x"}']).run(listing(1), until=b"error")
    refusals = [json.loads(line) for line in run.received if b"error" in line]
    assert [refusal["id"] for refusal in refusals] == ["q"]


def test_a_refused_answer_of_the_client_fails_nothing_of_its_own(session):
    """Its id is the server's, and may be the same as one of the client's own."""
    run = session("--deny-tool", "evil").run('{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', listing(1))
    assert run.answer(1)["result"]
    assert any("error" in json.loads(line) for line in run.received), "the server that waits is told"


# ---- batches

def initialize(version):
    return {"initialize": ['{"jsonrpc":"2.0","id":@ID@,"result":{"protocolVersion":"%s","capabilities":{}}}' % version]}


def test_batches_only_where_the_revision_has_them(session):
    batch = json.dumps([call(2, "good"), call(3, "evil"), {"jsonrpc": "2.0", "method": "notifications/x"}])
    for version, passes in (("2025-03-26", True), ("2025-06-18", False), ("2024-11-05", False)):
        run = session("--deny-tool", "evil", answers=initialize(version))
        with run.start(stderr=subprocess.PIPE) as process:
            process.stdin.write(json.dumps(request(1, "initialize")).encode() + b"\n")
            process.stdin.flush()
            assert b"protocolVersion" in process.stdout.readline()
            out, err = process.communicate(batch.encode() + b"\n", timeout=20)
        if passes:
            assert [json.loads(line) for line in run.received[1:]] == [[call(2, "good"), {"jsonrpc": "2.0", "method": "notifications/x"}]]
            assert any(answer["id"] == 3 and is_refused(answer) for answer in map(json.loads, out.splitlines()))
        else:
            assert len(run.received) == 1 and b"batch" in err


def test_a_batch_of_the_server_is_judged_member_by_member(session):
    both = '[%s,{"jsonrpc":"2.0","id":"q","method":"roots/list"},{"jsonrpc":"2.0","id":9,"result":{}}]' % LAST
    run = session("--deny-roots", "--allow-tool", "read_*", answers={**initialize("2025-03-26"), "tools/list": [both]}).run(request(1, "initialize"), listing(2))
    batch = [answer for answer in run.answers if isinstance(answer, list)]
    assert [[tool["name"] for tool in member["result"]["tools"]] for member in batch[0]] == [["read_dir"]]


# ---- size

def test_a_line_that_is_too_long_is_answered_and_forgotten(session):
    long = '{"method":"x","params":{"a":"' + "x" * 70000 + '"},"jsonrpc":"2.0","id":1}'
    run = session("--deny-tool", "evil", "--max-message", "64k", answers={"tools/call": ["@BIG@70000", DONE]})
    run.run(long, call(2, "good"), '{"jsonrpc":"2.0","id":3,"method":"x","params":{"a":"' + "x" * 70000)
    assert "--max-message" in run.answer(1)["error"]["message"] and "--max-message" in run.answer(3)["error"]["message"]
    assert "--max-message" in run.answer(2)["error"]["message"], "the long answer of the server"
    assert run.said("longer than --max-message permits") == 2


def filter_of(hutch_pid):
    for entry in os.listdir("/proc"):
        try:
            text = open(f"/proc/{entry}/status").read() if entry.isdigit() else ""
        except OSError:
            continue
        if "Name:\thutch-filter\n" in text and f"\nPPid:\t{hutch_pid}\n" in text:
            return text
    return None


def test_a_hundred_megabytes_cost_bounded_memory(session):
    """In both directions, with a default bound of 64 MB, and while the session goes on."""
    run = session("--deny-tool", "evil", answers={"tools/call": ["@BIG@100000000", DONE]})
    with run.start() as process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"' + b"x" * 100_000_000 + b'"}}\n' + json.dumps(call(2, "x")).encode() + b"\n")
        process.stdin.flush()
        answers = {json.loads(process.stdout.readline())["id"] for _ in range(2)}
        assert answers == {1, 2}
        status = wait_until(lambda: filter_of(process.pid), what="the filter")
        assert process.communicate(timeout=20)[0] == b""
    high = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert high < 80 * 1024, f"{high} kB at most"


def test_large_messages_pass_whole(session):
    run = session("--deny-tool", "evil", answers={"tools/call": ["@BIG@20000000"]}).run(call(1, "x"), timeout=60)
    assert len(run.answer(1)["result"]["content"][0]["text"]) == 20000000


def test_a_flood_of_refused_calls_is_answered_and_said_once(session):
    run = session("--deny-tool", "evil").run(*[call(i, "evil") for i in range(5000)], call("last", "good"), timeout=60)
    assert len(run.answers) == 5001 and all(is_refused(answer) for answer in run.answers if answer["id"] != "last")
    assert run.said("refused a call") == 1


def test_a_flood_of_names_is_said_within_a_bound(session):
    run = session("--allow-tool", "x").run(*[call(i, f"tool{i}") for i in range(2000)], timeout=60)
    assert len(run.answers) == 2000
    assert run.said("refused a call") <= 200 and run.said("reported enough") == 1


def test_a_server_that_floods_while_it_reads_nothing(session):
    """Thousands of requests that are refused: their answers wait for the server, and the client goes on."""
    flood = {"repeat": '{"jsonrpc":"2.0","id":"q","method":"roots/list"}', "times": 20000}
    run = session("--deny-roots", answers={"tools/call": [flood, DONE]}).run(call(1, "x"), timeout=60)
    assert run.answer(1)["result"]


# ---- the rest

def test_without_rules_no_filter_runs(session):
    run = session()
    with run.start() as process:
        process.stdin.write(json.dumps(call(1, "x")).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        assert not filter_of(process.pid)
        process.communicate(timeout=10)


def test_a_filter_that_dies_ends_the_sandbox(session):
    run = session("--deny-tool", "x")
    with run.start(stderr=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(call(1, "y")).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        status = filter_of(process.pid)
        os.kill(int(next(line.split()[1] for line in status.splitlines() if line.startswith("Pid:"))), 9)
        assert process.wait(10) == 125
        assert b"(hutch-filter) has ended" in process.stderr.read()


def test_the_filter_is_confined(session):
    run = session("--deny-tool", "x")
    with run.start(stderr=subprocess.DEVNULL) as process:
        process.stdin.write(json.dumps(call(1, "y")).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        status = filter_of(process.pid)
        pid = next(line.split()[1] for line in status.splitlines() if line.startswith("Pid:"))
        assert "Seccomp:\t2\n" in status and "NoNewPrivs:\t1\n" in status
        if os.getuid() != 0:
            with pytest.raises(PermissionError):
                os.listdir(f"/proc/{pid}/fd")
        else:
            assert len(os.listdir(f"/proc/{pid}/fd")) == 8, "the client's two, a private way to use each, the server's two, the supervisor, /dev/null"
        process.communicate(timeout=10)


@pytest.mark.parametrize("options, word", [
    (["--allow-tool", "a,b"], "repeat the option"), (["--deny-tool", "[ab]"], "* and ? only"), (["--allow-tool", ""], "--allow-tool"), (["--allow-tool", "a\nb"], "control"),
    (["--pin-accept"], "--pin FILE"), (["--deny-roots", "--raw-stdout"], "--raw-stdout"), (["--max-message", "1m"], "without a rule"),
    (["--deny-roots", "--max-message", "1k"], "64k"), (["--deny-roots", "--max-message", "2g"], "1g"), (["--deny-roots", "--max-message", "x"], "--max-message"),
])
def test_options_that_cannot_be_meant(hutch, options, word):
    done = hutch("mcp", *options, "--", "true")
    assert done.status == 2 and word in done.err, done


def test_run_has_no_tools(hutch):
    done = hutch("run", "--allow-tool", "x", "--", "true")
    assert done.status == 2
