#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripted_server.py FILE: a stdio server whose answers are chosen by a test, byte by byte.

FILE is JSON: {"answers": {METHOD: [LINE…]}, "first": [LINE…], "record": PATH}. `first` is written at the start; for
each line of its input that names METHOD (as a plain search for the text, not as JSON) the lines of it are written, in
which @ID@ is what follows "id": in that line. LINE may hold anything; "latin1:" in front makes each character one byte.
Every line that it gets is appended to the record, as it came. `{"repeat": LINE, "times": N}` is N lines.
"""
import json
import re
import sys


def write(line, request_id=b"null"):
    times = 1
    if isinstance(line, dict):
        line, times = line["repeat"], line["times"]
    raw = line[7:].encode("latin1") if line.startswith("latin1:") else line.encode()
    if raw.startswith(b"@BIG@"):  # a line of so many bytes
        raw = b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"' + b"x" * int(raw[5:]) + b'"}]}}'
    raw = raw.replace(b"@ID@", request_id) + (b"" if raw.endswith(b"@END@") else b"\n")
    raw = raw.replace(b"@END@", b"")
    for _ in range(times):
        sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    record = open(script["record"], "ab", buffering=0) if "record" in script else None
    for line in script.get("first", []):
        write(line)
    for raw in sys.stdin.buffer:
        if record:
            record.write(raw)
        found = re.search(rb'"id"\s*:\s*("[^"]*"|-?\d+)', raw)
        for method, lines in sorted(script["answers"].items(), key=lambda item: -len(item[0])):
            if b'"' + method.encode() + b'"' in raw:
                for line in lines:
                    write(line, found.group(1) if found else b"null")
                break


main()
