#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small stdio MCP server with the habits, good and bad, of the real ones.

Words in argv choose how it behaves:
    banner        writes two lines on stdout that are no messages before it starts
    ignore-eof    does not end when its input ends
    ignore-term   does not end on SIGTERM, SIGINT and SIGHUP
    grandchild    starts a daemon of its own session that ignores the same signals
    drain         goes on writing messages for a second after its input ended
Needs nothing but Python. It must stay small: it is started hundreds of times by the tests.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

MODES = set(sys.argv[1:])
DEAF_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
output_lock = threading.Lock()
roots_request = None


def say(**message):
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    with output_lock:
        sys.stdout.write(line)
        sys.stdout.flush()


def be_deaf():
    for number in DEAF_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def start_grandchild():
    """A daemon by the book: double fork, own session, no standard streams, deaf."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    be_deaf()
    null = os.open("/dev/null", os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    while True:
        time.sleep(1000)


def run_program(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    return json.dumps({"status": done.returncode, "out": done.stdout.decode(errors="replace"),
                       "err": done.stderr.decode(errors="replace")})


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_file(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return "wrote"


def write_stderr(count):
    os.write(2, b"e" * count + b"\n")
    return "done"


def sleep_milliseconds(ms):
    time.sleep(ms / 1000)
    return "slept"


TOOLS = {
    "echo": lambda text: text,
    "big": lambda count: "x" * count,
    "env": lambda: json.dumps(dict(os.environ)),
    "cwd": os.getcwd,
    "read": read_file,
    "write": write_file,
    "exec": run_program,
    "stderr": write_stderr,
    "slow": sleep_milliseconds,
    "whoami": lambda: json.dumps({"uid": os.getuid(), "home": os.path.expanduser("~")}),
}


def call_tool(request):
    """Answers a tools/call; errors of a tool become a tool error."""
    global roots_request
    name = request["params"]["name"]
    if name == "roots":
        # A server counts its own ids: that they equal the client's is usual, and so it is here on purpose.
        roots_request = request["id"]
        say(id=request["id"], method="roots/list")
        return
    if name not in TOOLS:
        say(id=request["id"], error={"code": -32602, "message": "unknown tool"})
        return
    try:
        text, failed = TOOLS[name](**request["params"].get("arguments", {})), False
    except Exception as error:  # whatever it is, the client shall read it
        text, failed = f"{type(error).__name__}: {error}", True
    say(id=request["id"], result={"content": [{"type": "text", "text": str(text)}], "isError": failed})


def answer(message):
    global roots_request
    if "method" not in message:
        if roots_request is not None:
            text = json.dumps(message.get("result", message.get("error")))
            say(id=roots_request, result={"content": [{"type": "text", "text": text}]})
            roots_request = None
    elif "id" not in message:
        pass
    elif message["method"] == "initialize":
        say(id=message["id"], result={"protocolVersion": message["params"]["protocolVersion"],
                                      "capabilities": {"tools": {}}, "serverInfo": {"name": "stub", "version": "1"}})
    elif message["method"] == "tools/list":
        say(id=message["id"], result={"tools": [{"name": name, "inputSchema": {"type": "object"}}
                                                for name in [*TOOLS, "roots"]]})
    elif message["method"] == "tools/call":
        call_tool(message)
    elif message["method"] == "ping":
        say(id=message["id"], result={})
    else:
        say(id=message["id"], error={"code": -32601, "message": "no such method"})


def main():
    if "banner" in MODES:
        sys.stdout.write('stub server starting\n{"not": "a message"\n')
        sys.stdout.flush()
    if "ignore-term" in MODES:
        be_deaf()
    if "grandchild" in MODES:
        start_grandchild()
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        answer(message)
    if "drain" in MODES:
        for number in range(100):
            say(method="notifications/message", params={"level": "info", "data": number})
            time.sleep(0.01)
    while "ignore-eof" in MODES:
        time.sleep(1000)


if __name__ == "__main__":
    main()
