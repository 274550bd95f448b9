# SPDX-License-Identifier: Apache-2.0
"""The official clients, each with a published server: once directly, then with hutch in front. Every line that goes over
the wire in either direction must be the same, and so must be what the client tells its user. A recorder stands where the
client believes the server to be (clients/record.py)."""
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import NPM, NPM_NEWER, PYTHON, TESTS, needs_installed

RECORD = [PYTHON, str(TESTS / "clients" / "record.py")]
EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"
INSPECTIONS = {
    "tools/call": ["--tool-name", "echo", "--tool-arg", "message=hi"],
    "prompts/get": ["--prompt-name", "args-prompt", "--prompt-args", "city=Bern"],
}


# Rules that permit everything: the firewall reads and writes every message anew, and nothing may show it.
RULES = {"plain": [], "with rules": ["--allow-tool", "*", "--deny-tool", "refused-*"]}


class Conversation:
    """A client that was started with `server` behind a recorder of its own."""

    def __init__(self, client, server, directory, environment, cwd):
        directory.mkdir()
        self.directory = directory
        self.process = subprocess.Popen(client([*RECORD, str(directory), *server]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment, cwd=cwd)

    def finish(self):
        """Waits for the client, which must be content; returns what it printed."""
        try:
            out, err = self.process.communicate(timeout=90)
        finally:
            self.process.kill()
        assert self.process.returncode == 0 and out, (self.process.returncode, out[:2000], err[-2000:])
        return out.decode()

    def lines(self, number, side):
        text = (self.directory / f"{number}.{side}").read_bytes()
        assert text.endswith(b"\n") or not text, text[-200:]
        return text.splitlines()

    def starts(self):
        """[(lines of the client, lines of the server)], one for each time that the client started the server."""
        return [(self.lines(number, "client"), self.lines(number, "server")) for number in range(len(list(self.directory.glob("*.client"))))]


def without_late_roots(start):
    """server-everything asks for the roots 350 ms after the handshake: a client that calls one thing and goes may or may not be
    there still. That exchange, and what the server says about its outcome, is left out."""
    client, server = start
    asked = {json.loads(line)["id"] for line in server if b'"roots/list"' in line}
    return ([line for line in client if not (json.loads(line).get("id") in asked and b'"method"' not in line)],
            [line for line in server if b'"roots/list"' not in line and b"Roots updated" not in line])


direct = {}  # what each client told its user and sent without hutch, held once for every set of rules


@pytest.fixture
def compare(hutch, tmp_path):
    """compare(client, server, *options): both conversations of one client, held at the same time. Returns those of the sandbox: what
    the client said to its user, and what went over the wire."""
    def run(client, server, *options, environment=None, name="", wire=lambda start: start):
        environment = {**hutch.environment, "HUTCH_TEST_NPM": str(NPM), "HUTCH_TEST_NPM_NEWER": str(NPM_NEWER), **(environment or {})}
        which = (*client([]), *server)
        known = which in direct
        if not known:
            directly = Conversation(client, server, tmp_path / f"direct{name}", environment, hutch.directory)
        inside = Conversation(client, hutch.argv("mcp", *options, "--", *server), tmp_path / f"hutch{name}", environment, hutch.directory)
        if not known:
            direct[which] = directly.finish(), [wire(start) for start in directly.starts()]
        said, starts = inside.finish(), [wire(start) for start in inside.starts()]
        assert starts == direct[which][1]
        assert said == direct[which][0]
        assert all(client and server for client, server in starts)
        return said, starts
    return run


def sdk_client(node, line, what):
    return lambda server: [node, str(TESTS / "clients" / "sdk_conversation.mjs"), line, what, "--", *server]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("line, starts", [("1", 1), ("2", 1), ("2-auto", 2)])
def test_the_sdk(compare, node, newer_clients, npm_packages, line, starts, rules):
    said, wire = compare(sdk_client(node, line, "everything"), ["node", str(npm_packages / EVERYTHING), "stdio"], *RULES[rules])
    assert len(wire) == starts and said.count("\n") == 25, said
    methods = [json.loads(text).get("method") for start in wire for side in start for text in side]
    for expected in ("initialize", "roots/list", "sampling/createMessage", "elicitation/create", "notifications/progress", "notifications/message"):
        assert expected in methods, methods
    assert max(len(text) for text in wire[-1][1]) > 1 << 20


@pytest.mark.parametrize("rules", RULES)
def test_the_sdk_starts_a_server_of_the_stateless_revision_twice(compare, node, newer_clients, rules):
    """The first start is asked for its era and stopped; the second one's first line is no handshake but the first request."""
    server = ["node", str(TESTS / "clients" / "modern_server.mjs"), str(NPM_NEWER)]
    said, wire = compare(sdk_client(node, "2-auto", "echo"), server, "--ro", NPM_NEWER, *RULES[rules])
    assert "hello" in said.splitlines()[-1]
    assert [json.loads(client[0])["method"] for client, _ in wire] == ["server/discover", "tools/list"]


def start_inspections(compare, client, server, environment, rules):
    """Every inspection at the same time: they mostly wait."""
    with ThreadPoolExecutor(len(INSPECTIONS)) as pool:
        inspections = [pool.submit(compare, lambda server, words=(method, *words): client(list(words), server), server, *rules, environment=environment,
                                   name=method.replace("/", "-"), wire=without_late_roots) for method, words in INSPECTIONS.items()]
    return dict(zip(INSPECTIONS, [inspection.result() for inspection in inspections]))


def check_inspections(done):
    for method, (said, wire) in done.items():
        json.loads(said)
        assert [method in (json.loads(line).get("method") for line in client) for client, _ in wire] == [True], method
    assert "Echo: hi" in done["tools/call"][0] and "Bern" in done["prompts/get"][0]


@pytest.mark.parametrize("rules", RULES)
def test_the_inspector_0_21(compare, hutch, node, newer_clients, npm_packages, rules):
    # It looks for its own package.json beside the working directory.
    (hutch.directory.parent / "package.json").write_text("{}")
    program = [node, str(newer_clients / "@modelcontextprotocol/inspector-cli/build/cli.js"), "--cli"]
    # It takes the first `--` that it sees for its own, in each of its two programs.
    check_inspections(start_inspections(compare, lambda words, server: [*program, *server[:1], "--method", *words, "--", "--", *server[1:]],
                                        ["node", str(npm_packages / EVERYTHING), "stdio"], {}, RULES[rules]))


@pytest.mark.parametrize("rules", RULES)
def test_the_inspector_2(compare, hutch, newer_clients, npm_packages, rules):
    """It needs Node 22, which comes first on PATH: the server gets the same one, found by hutch."""
    found = sorted(newer_clients.glob("node-linux-*/bin/node"))
    needs_installed(found, "there is no Node 22 for this machine among the packages")
    path = f"{found[0].parent}{os.pathsep}{hutch.environment['PATH']}"
    program = [str(found[0]), str(newer_clients / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli", "--format", "json", "-q"]
    check_inspections(start_inspections(compare, lambda words, server: [*program, "--method", *words, "--", *server],
                                        ["node", str(npm_packages / EVERYTHING), "stdio"], {"PATH": path}, RULES[rules]))
