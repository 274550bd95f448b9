#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A strict MCP client over stdio: one line of stdout is one JSON-RPC message, anything else is a failure.

Used as a module by the tests, and by hand:
    strict_client.py list -- COMMAND…
    strict_client.py call TOOL JSON -- COMMAND…
It must never wait without a bound, and never forgive a byte on stdout that is no message.
"""
import json
import os
import select
import subprocess
import sys
import time

PROTOCOL = "2025-06-18"
CHUNK = 1 << 20


class ProtocolError(Exception):
    """The server said something on stdout that no MCP client has to understand, or nothing in time."""


class StrictClient:
    """Starts `argv` and talks to it. `stdin` and `stdout` may be given as sockets' or files' descriptors."""

    def __init__(self, argv, env=None, cwd=None, stderr=subprocess.PIPE, timeout=30, **popen):
        self.timeout = timeout
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                        env=env, cwd=cwd, bufsize=0, **popen)
        self.pending = bytearray()
        self.searched = 0
        self.next_id = 1
        self.server_requests = []  # what the server asked of the client, in order
        self.notifications = []
        self.stderr = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def send(self, message):
        """Writes one message, while reading nothing."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read_message(self, deadline):
        """The next message of the server."""
        while True:
            end = self.pending.find(b"\n", self.searched)
            if end >= 0:
                line = bytes(self.pending[:end])
                del self.pending[:end + 1]
                self.searched = 0
                return parse_message(line)
            self.searched = len(self.pending)
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise ProtocolError(f"no answer within {self.timeout} s")
            data = os.read(self.process.stdout.fileno(), CHUNK)
            if not data:
                raise ProtocolError(f"end of output inside a conversation; left over: {bytes(self.pending[:200])!r}")
            self.pending += data

    def request(self, method, params=None, request_id=None):
        """One request and its whole answer (a dictionary with `result` or `error`)."""
        if request_id is None:
            request_id = self.next_id
            self.next_id += 1
        deadline = time.monotonic() + self.timeout
        self.send({"id": request_id, "method": method, "params": params or {}})
        while True:
            message = self.read_message(deadline)
            if "method" in message:
                self.serve(message)
            elif message.get("id") == request_id:
                return message
            else:
                raise ProtocolError(f"an answer that nobody asked for: {message}")

    def serve(self, message):
        """Answers what the server asks."""
        if "id" not in message:
            self.notifications.append(message)
            return
        self.server_requests.append(message)
        if message["method"] == "roots/list":
            self.send({"id": message["id"], "result": {"roots": [{"uri": "file:///r"}]}})
        elif message["method"] == "ping":
            self.send({"id": message["id"], "result": {}})
        else:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})

    def initialize(self):
        """The handshake; returns the server's half."""
        answer = self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {"roots": {}},
                                             "clientInfo": {"name": "strict", "version": "1"}})
        if "result" not in answer:
            raise ProtocolError(f"initialize was refused: {answer}")
        self.send({"method": "notifications/initialized"})
        return answer["result"]

    def list_tools(self):
        return self.request("tools/list")["result"]["tools"]

    def call(self, tool, arguments=None):
        """The text of a tool's answer; a tool error raises."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments or {}})
        if "error" in answer or answer["result"].get("isError"):
            raise ToolError(json.dumps(answer.get("error") or answer["result"]["content"]))
        return answer["result"]["content"][0]["text"]

    def close(self, timeout=20):
        """Ends the input, reads to the end of the output (strictly), and returns the exit status."""
        self.process.stdin.close()
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise ProtocolError("output still open after the end of input")
            data = os.read(self.process.stdout.fileno(), CHUNK)
            if not data:
                break
            self.pending += data
        *lines, rest = bytes(self.pending).split(b"\n")
        for line in lines:
            parse_message(line)
        if rest:
            raise ProtocolError(f"output ends inside a line: {rest[:200]!r}")
        if self.process.stderr:
            self.stderr = self.process.stderr.read().decode(errors="replace")
        return self.process.wait(timeout)


class ToolError(Exception):
    """A tool answered with an error."""


def parse_message(line):
    """One line of stdout as a message, or a failure."""
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError as error:
        raise ProtocolError(f"stdout carries what is no message: {line[:200]!r}") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(f"stdout carries what is no JSON-RPC message: {line[:200]!r}")
    return message


def main():
    try:
        separator = sys.argv.index("--")
        what, *arguments = sys.argv[1:separator]
        command = sys.argv[separator + 1:]
    except ValueError:
        sys.exit("usage: strict_client.py list|call TOOL JSON -- COMMAND…")
    with StrictClient(command, stderr=None) as client:
        client.initialize()
        if what == "list":
            for tool in client.list_tools():
                print(tool["name"])
        else:
            print(client.call(arguments[0], json.loads(arguments[1])))
        sys.exit(client.close())


if __name__ == "__main__":
    main()
