# SPDX-License-Identifier: Apache-2.0
"""Published MCP servers, called by the official SDK's client, with hutch in front and without."""
import json
import os
import subprocess

import pytest
from harness import NPM, TESTS
from strict_client import StrictClient

SERVERS = {
    "filesystem": ("server-filesystem/dist/index.js", ["{directory}"], ["--rw", "{directory}"]),
    "everything": ("server-everything/dist/index.js", ["stdio"], []),
    "memory": ("server-memory/dist/index.js", [], ["--env", "MEMORY_FILE_PATH={directory}/memory.json", "--rw", "{directory}"]),
    "sequential-thinking": ("server-sequential-thinking/dist/index.js", [], []),
}


@pytest.fixture
def server(node, npm_packages, hutch):
    """server(name): (the server's own command, hutch's options for it)."""
    def words(name):
        path, arguments, options = SERVERS[name]
        fill = [word.format(directory=hutch.directory) for word in arguments]
        needed = [] if node.startswith("/usr/") else ["--ro", os.path.dirname(os.path.dirname(node))]
        return ([node, str(npm_packages / "@modelcontextprotocol" / path), *fill], needed + [word.format(directory=hutch.directory) for word in options])
    return words


@pytest.fixture
def sdk(hutch, node, npm_packages):
    """sdk(command, [method, params]…): the answers, in order."""
    def play(command, *script, sandboxed=True):
        environment = {**hutch.environment, "HUTCH_TEST_NPM": str(NPM)}
        if not sandboxed:
            environment["MEMORY_FILE_PATH"] = f"{hutch.directory}/memory.json"
        done = subprocess.run([node, TESTS / "clients" / "sdk_client.mjs", "script", json.dumps(script), "--", *command], capture_output=True, text=True,
                              env=environment, cwd=hutch.directory, timeout=90, stdin=subprocess.DEVNULL)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0 and len(answers) == len(script), done
        return answers
    return play


def call(tool, **arguments):
    return ["tools/call", {"name": tool, "arguments": arguments}]


def text_of(answer):
    return answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("name", SERVERS)
def test_tools_are_the_same_with_and_without_hutch(sdk, server, hutch, name):
    command, options = server(name)
    inside = sdk(hutch.argv("mcp", *options, "--", *command), ["tools/list", {}])
    outside = sdk(command, ["tools/list", {}], sandboxed=False)
    assert inside == outside
    assert inside[0]["result"]["tools"]


@pytest.mark.parametrize("name", SERVERS)
def test_a_strict_client_finds_nothing_to_complain_about(server, hutch, name):
    command, options = server(name)
    with StrictClient(hutch.argv("mcp", *options, "--", *command), env=hutch.environment, cwd=hutch.directory) as client:
        client.initialize()
        assert client.list_tools()
        assert client.close() == 0


def test_everything_answers_calls(sdk, server, hutch):
    command, options = server("everything")
    echo, total, variables = sdk(hutch.argv("mcp", *options, "--", *command), call("echo", message="through the sandbox"), call("get-sum", a=40, b=2),
                                 call("get-env"))
    assert "through the sandbox" in text_of(echo) and "42" in text_of(total)
    assert "CANARY" not in text_of(variables) and "nonroot" in text_of(variables)


def test_sequential_thinking_thinks(sdk, server, hutch):
    command, options = server("sequential-thinking")
    answer, = sdk(hutch.argv("mcp", *options, "--", *command), call("sequentialthinking", thought="one", nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1))
    assert '"thoughtNumber": 1' in text_of(answer)


def test_memory_keeps_its_file_where_it_was_told(sdk, server, hutch):
    command, options = server("memory")
    argv = hutch.argv("mcp", *options, "--", *command)
    sdk(argv, call("create_entities", entities=[{"name": "hutch", "entityType": "tool", "observations": ["keeps rabbits"]}]))
    assert "keeps rabbits" in (hutch.directory / "memory.json").read_text()
    answer, = sdk(argv, call("read_graph"))
    assert "keeps rabbits" in text_of(answer)


def test_filesystem_reads_and_writes_its_directory(sdk, server, hutch):
    (hutch.directory / "read.txt").write_text("from the host\n")
    command, options = server("filesystem")
    read, written, listed = sdk(hutch.argv("mcp", *options, "--", *command), call("read_text_file", path=f"{hutch.directory}/read.txt"),
                                call("write_file", path=f"{hutch.directory}/written.txt", content="from the sandbox\n"),
                                call("list_directory", path=str(hutch.directory)))
    assert "from the host" in text_of(read) and not written["result"].get("isError")
    assert (hutch.directory / "written.txt").read_text() == "from the sandbox\n"
    assert "written.txt" in text_of(listed)


def test_filesystem_reaches_nothing_else_even_when_it_is_told_that_it_may(sdk, server, hutch, tmp_path):
    """The server is given everything by its own argument; hutch grants one directory of it."""
    (tmp_path / "outside.txt").write_text("CANARY-outside\n")
    command, options = server("filesystem")
    command = [*command[:-1], str(tmp_path)]
    script = [call("read_text_file", path=f"{tmp_path}/outside.txt"), call("read_text_file", path=f"{hutch.home}/.ssh/id"),
              call("write_file", path=f"{tmp_path}/made.txt", content="x"), call("list_directory", path=str(hutch.home)),
              call("write_file", path=f"{hutch.directory}/made.txt", content="x")]
    outside = json.dumps(sdk(command, *script, sandboxed=False))
    assert "CANARY-outside" in outside and "CANARY-ssh-key" in outside and (tmp_path / "made.txt").exists(), "the attempt proves nothing"
    (tmp_path / "made.txt").unlink()
    (hutch.directory / "made.txt").unlink()
    inside = json.dumps(sdk(hutch.argv("mcp", *options, "--", *command), *script))
    assert "CANARY" not in inside and ".ssh" not in inside.replace(f"{hutch.home}/.ssh/id", "")
    assert not (tmp_path / "made.txt").exists()
    assert (hutch.directory / "made.txt").exists()
