# SPDX-License-Identifier: Apache-2.0
"""Ways around the MCP firewall. Each is first shown to work where no firewall stands: against the filter that guides
print, thirty lines of Python that compare the name and pass the line on, or against a client without any."""
import json
import os
import subprocess

import pytest

from harness import PYTHON, TESTS

# A server as many are: it takes what its parser gives it, here with the habits of parsers in C (the first of two keys,
# any case, a text ends at its NUL) and of readers that take a bare CR for the end of a line.
VICTIM = r"""
import json, re, sys
evil = 0
def first(pairs):
    kept = {}
    for key, value in pairs:
        key = key.split("\0")[0].lower().replace("\u017f", "s")
        kept.setdefault(key, value)
    return kept
for line in sys.stdin.buffer:
    for part in re.split(rb"\r", line):
        text = part.decode(errors="replace").strip("\ufeff \t\n\v\f\0")
        try:
            message, _ = json.JSONDecoder(object_pairs_hook=first).raw_decode(text)
        except ValueError:
            continue
        for one in message if isinstance(message, list) else [message]:
            if one.get("method", "").split("\0")[0] == "tools/call" and one["params"].get("name", "").split("\0")[0] == "evil":
                print(json.dumps({"jsonrpc": "2.0", "id": 99, "result": {"content": [{"type": "text", "text": "GOT-OUT"}]}}), flush=True)
                open("called", "w").close()
"""

# What the guides print: allow by name, answer the rest, pass the line on.
USUAL_FILTER = r"""
import json, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    try:
        message = json.loads(line)
        if isinstance(message, dict) and message.get("method") == "tools/call" and message["params"].get("name") != "good":
            continue
    except ValueError:
        pass
    server.stdin.write(line)
    server.stdin.flush()
server.stdin.close()
server.wait()
"""

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}'
ATTEMPTS = {
    "the first of two names": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil","name":"good"}}',
    "the first of two methods": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},"method":"ping"}',
    "another case": b'{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"evil"}}',
    "another case in front": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"evil","name":"good"}}',
    "a long s": '{"jsonrpc":"2.0","id":1,"method":"tools/call","param\u017f":{"name":"evil"},"params":{"name":"good"}}'.encode(),
    "a NUL in the method": b'{"jsonrpc":"2.0","id":1,"method":"tools/call\\u0000","params":{"name":"evil"}}',
    "a NUL in the key": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name\\u0000":"evil","name":"good"}}',
    "behind a bare CR": b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r' + CALL,
    "inside white space of CR": b'{"jsonrpc":"2.0","id":1,"method":"ping","x":\r' + CALL + b"\r}",
    "behind bytes of no meaning": b"\v" + CALL,
    "before other bytes": CALL + b" x",
    "in a batch": b"[" + CALL + b"]",
    "in bytes that are no UTF-8": CALL[:-1] + b',"x":"\xff"}',
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_call_that_two_parsers_read_differently(hutch, name):
    (hutch.directory / "victim.py").write_text(VICTIM)
    (hutch.directory / "filter.py").write_text(USUAL_FILTER)
    line = ATTEMPTS[name] + b"\n"
    usual = subprocess.run([PYTHON, "filter.py", PYTHON, "victim.py"], input=line, capture_output=True, cwd=hutch.directory, timeout=20)
    assert b"GOT-OUT" in usual.stdout, f"it does not get past the usual filter, so it proves nothing: {usual}"
    os.unlink(hutch.directory / "called")
    done = hutch("mcp", "--allow-tool", "good", "--rw", hutch.directory, "--", PYTHON, hutch.directory / "victim.py", input=line)
    assert "GOT-OUT" not in done.out and not (hutch.directory / "called").exists(), done
    assert "refused" in done.err, done


FORGED = {
    "an id as a text": '"1"', "an id in hexadecimal": '"0x1"', "an id with a blank": '" 1"', "an id with a fraction": "1.0", "an id as a power": "1e0",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_list_that_nobody_filtered(hutch, name):
    """The server answers under an id that a lax client takes for its own (as Number() and int() do)."""
    server = "import sys\nsys.stdin.readline()\nprint('{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{\"name\":\"evil\"}]}}', flush=True)\nsys.stdin.read()" % FORGED[name].replace("'", "")
    line = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    outside = subprocess.run([PYTHON, "-c", server], input=line, capture_output=True, text=True, timeout=20)
    assert float(str(json.loads(outside.stdout)["id"]).strip().replace("0x", "")) == 1
    done = hutch("mcp", "--allow-tool", "good", "--", PYTHON, "-c", server, input=line)
    assert "evil" not in done.out, done


def test_a_pin_file_that_the_server_could_choose(hutch, tmp_path):
    """A link in a writable grant would have hutch write where it leads, or trust what the server wrote."""
    grant, victim = tmp_path / "grant", tmp_path / "victim"
    grant.mkdir()
    victim.write_text("mine\n")
    (grant / "pins").symlink_to(victim)
    (grant / "own").write_text("")
    for path in (grant / "pins", grant / "own", grant / "new"):
        done = hutch("mcp", "--rw", grant, "--pin", path, "--", "true")
        assert done.status == 125, done
    link = tmp_path / "link"
    link.symlink_to(victim)
    assert hutch("mcp", "--pin", link, "--", "true").status == 125
    assert victim.read_text() == "mine\n" and not (grant / "new").exists()


def test_the_server_cannot_reach_the_filter(attempt):
    """It is another process of the same account outside, and none inside."""
    attempt("import os\nfor pid in os.listdir('/proc'):\n if pid.isdigit() and open(f'/proc/{pid}/comm').read().strip() in ('hutch-filter', 'hutch', 'python3') and int(pid) not in (os.getpid(), 1):\n  print('GOT-OUT')\n  break")
