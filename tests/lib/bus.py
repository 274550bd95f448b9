# SPDX-License-Identifier: Apache-2.0
"""A bus with a systemd on it that says what a test wants: one connection after the other, on a socket of its own."""
import re
import socket
import struct
import threading

CALL, REPLY, FAILURE, SIGNAL = 1, 2, 3, 4
ALIGNMENT = {"y": 1, "g": 1, "u": 4, "s": 4, "o": 4, "a": 4, "t": 8, "(": 8, "v": 1}


class Reader:
    """Values of the wire format, little-endian; offsets count from the message's beginning."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def align(self, kind):
        size = ALIGNMENT[kind]
        assert not any(self.data[self.at:self.at + -self.at % size]), "padding is zero"
        self.at += -self.at % size

    def number(self, kind):
        self.align(kind)
        value, = struct.unpack_from("<" + {"y": "B", "u": "I", "t": "Q"}[kind], self.data, self.at)
        self.at += {"y": 1, "u": 4, "t": 8}[kind]
        return value

    def text(self, kind):
        length = self.number("y" if kind == "g" else "u")
        value = self.data[self.at:self.at + length]
        assert self.data[self.at + length] == 0
        self.at += length + 1
        return value.decode()

    def value(self, signature):
        """The value of the first complete type; returns (value, the rest of the signature)."""
        kind, rest = signature[0], signature[1:]
        if kind in "yut":
            return self.number(kind), rest
        if kind in "sog":
            return self.text(kind), rest
        if kind == "v":
            value, left = self.value(self.text("g"))
            assert left == ""
            return value, rest
        if kind == "(":
            self.align("(")
            values = []
            while rest[0] != ")":
                value, rest = self.value(rest)
                values.append(value)
            return tuple(values), rest[1:]
        assert kind == "a"
        length = self.number("u")
        self.align(rest[0])
        end, values, depth = self.at + length, [], 0
        for skip, letter in enumerate(rest):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and letter != "a":
                break
        while self.at < end:
            value, _ = self.value(rest)
            values.append(value)
        assert self.at == end
        return values, rest[skip + 1:]

    def values(self, signature):
        values = []
        while signature:
            value, signature = self.value(signature)
            values.append(value)
        return values


def read_message(data):
    """(fields, values, length) of the first message in `data`, or None when it is not whole yet."""
    if len(data) < 16:
        return None
    order, kind, _, version, body, serial, fields = struct.unpack_from("<cBBBIII", data)
    assert order == b"l" and version == 1
    start = 16 + fields + -fields % 8
    if len(data) < start + body:
        return None
    message = bytes(data[:start + body])
    found = {"type": kind, "serial": serial}
    listed, _ = Reader(message, 12).value("a(yv)")
    names = {1: "path", 2: "interface", 3: "member", 6: "destination", 8: "signature"}
    found.update({names[code]: value for code, value in listed})
    reader = Reader(message, start)
    values = reader.values(found.get("signature", ""))
    assert reader.at == len(message), "the body is as long as it says"
    return found, values, len(message)


def write_message(kind, serial, fields, signature="", body=b""):
    """`fields`: {code: (signature, text or number)}. The body is ready-made."""
    if signature:
        fields = {**fields, 8: ("g", signature)}
    data = b""
    for code, (sort, value) in fields.items():
        data += b"\0" * (-len(data) % 8) + bytes([code, 1]) + sort.encode() + b"\0"
        if sort == "u":
            data += b"\0" * (-len(data) % 4) + struct.pack("<I", value)
        elif sort == "g":
            data += bytes([len(value)]) + value.encode() + b"\0"
        else:
            data += b"\0" * (-len(data) % 4) + struct.pack("<I", len(value)) + value.encode() + b"\0"
    return struct.pack("<cBBBIII", b"l", kind, 1, 1, len(body), serial, len(data)) + data + b"\0" * (-len(data) % 8) + body


def texts(*values):
    data = b""
    for value in values:
        data += b"\0" * (-len(data) % 4) + struct.pack("<I", len(value)) + value.encode() + b"\0"
    return data


def job_removed(unit, result="done"):
    return write_message(SIGNAL, 9, {1: ("o", "/org/freedesktop/systemd1"), 2: ("s", "org.freedesktop.systemd1.Manager"),
                                     3: ("s", "JobRemoved"), 7: ("s", ":1.1")}, "uoss",
                         struct.pack("<I", 5) + texts("/org/freedesktop/systemd1/job/5", unit, result))


def refusal(text):
    return write_message(FAILURE, 9, {4: ("s", "org.freedesktop.DBus.Error.Failed"), 5: ("u", 3)}, "s", texts(text))


class Bus(threading.Thread):
    """`answer(bus, unit)` gets what systemd would be asked for, and returns bytes to send; None hangs up."""

    def __init__(self, path, answer, greeting=b"OK 0123456789abcdef0123456789abcdef\r\n"):
        super().__init__(daemon=True)
        self.answer, self.greeting, self.calls, self.problem = answer, greeting, [], None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.start()

    def run(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    self.serve(connection)
        except OSError:
            pass  # closed: the test is over
        except BaseException as problem:  # noqa: BLE001: the test asks for it
            self.problem = problem
            self.listener.close()

    def serve(self, connection):
        data = b""
        while b"BEGIN\r\n" not in data:
            data += connection.recv(65536)
        greeting, _, data = data.partition(b"BEGIN\r\n")
        assert re.fullmatch(rb"\0AUTH EXTERNAL ([0-9a-f]{2})+\r\n", greeting), greeting
        connection.sendall(self.greeting)
        while not self.calls or self.calls[-1][0]["member"] != "StartTransientUnit":
            while (message := read_message(data)) is None:
                more = connection.recv(65536)
                if not more:
                    return
                data += more
            data = data[message[2]:]
            self.calls.append(message[:2])
        answer = self.answer(self, self.calls[-1][1][0])
        if answer is not None:
            connection.sendall(answer)
            connection.recv(1)  # until hutch hangs up

    def close(self):
        self.listener.close()
