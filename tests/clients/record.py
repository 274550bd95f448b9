#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""record.py DIRECTORY COMMAND…: runs COMMAND as an MCP client would and keeps every byte of both directions.

The first start writes DIRECTORY/0.client and DIRECTORY/0.server, the next one 1.client and 1.server, and so on. It stands
where the client believes the server to be: hutch, or the server itself. It must pass on bytes as they come, never
whole lines: what a client sees of the framing is part of what is compared.
"""
import itertools
import os
import signal
import subprocess
import sys
import threading


def open_records(directory):
    """The two files of the first number that nobody has taken."""
    for number in itertools.count():
        try:
            client = os.open(f"{directory}/{number}.client", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        return client, os.open(f"{directory}/{number}.server", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def copy(source, target, record):
    """Copies to the end of `source`, or until nobody takes it any more."""
    try:
        while data := os.read(source, 1 << 16):
            write_all(record, data)
            write_all(target, data)
    except BrokenPipeError:
        pass
    os.close(target)


def main():
    directory, *command = sys.argv[1:]
    client_record, server_record = open_records(directory)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: process.send_signal(received))
    threading.Thread(target=copy, args=(0, os.dup(process.stdin.fileno()), client_record), daemon=True).start()
    process.stdin.close()
    copy(process.stdout.fileno(), 1, server_record)
    status = process.wait()
    # Not through sys.exit(): the other thread may still wait for a client that never closes its end.
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
