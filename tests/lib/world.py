# SPDX-License-Identifier: Apache-2.0
"""An internet of our own, offline: a user, network and mount namespace with public-looking addresses on its
loopback, a name server that logs every question, and services that log every connection. Run as a program it is
that world; imported it starts one and says how to enter it. Nothing of it can leave the namespace, which has no
way out; it must never touch the namespaces of whoever runs it.

    198.51.100.10, 2001:db8::10   `web`      198.51.100.11   `other`, which no test allows
    198.51.100.12                 `spare`    198.51.100.53   the name server
    203.0.113.0/24, 2001:db8:dead::/48   swallow every packet
    11.22.33.44, 11.22.33.45, 10.9.8.7   addresses of this "host", not of documentation
"""
import contextlib
import ctypes
import hashlib
import http.server
import ipaddress
import json
import os
import resource
import selectors
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

WEB, OTHER, SPARE, RESOLVER, WEB6 = "198.51.100.10", "198.51.100.11", "198.51.100.12", "198.51.100.53", "2001:db8::10"
DEAD, DEAD6, OWN, OWN_SECOND, OWN_PRIVATE = "203.0.113.9", "2001:db8:dead::9", "11.22.33.44", "11.22.33.45", "10.9.8.7"
METADATA, METADATA6, LOOPBACK_PORT, REFUSED_PORT = "169.254.169.254", "fd00:ec2::254", 8000, 81
ECHO, COUNT, SOURCE, RESET, STALL, SLOW, UDP_ECHO = 5432, 9001, 9002, 9003, 9004, 9005, 9000
ECHOES = range(ECHO, ECHO + 10)  # ten, because ports of a client to one place are few, and kept for a minute
BANNERS = {25: b"220 mail.test ESMTP\r\n", 3306: b"\x4a\0\0\0\x0a8.0.0-test\0", 22: b"SSH-2.0-test\r\n"}

ZONE = {
    "allowed.test": [WEB], "www.allowed.test": [WEB], "a.b.allowed.test": [WEB], "neighbour.test": [WEB], "six.test": [WEB6],
    "both.test": [WEB, WEB6], "notallowed.test": [OTHER], "xallowed.test": [OTHER], "allowed.test.evil.test": [OTHER],
    "rotate.test": {"rotate": [WEB, OTHER, SPARE]}, "dead-six.test": [WEB, DEAD6], "dead-four.test": [DEAD, WEB6],
    "dead-first.test": {"ordered": [DEAD, WEB]}, "dead.test": [DEAD], "no-route-six.test": [WEB, "2001:db9::1"], "silent.test": "silent",
    "slow-six.test": {"late": 28, "of": [WEB, WEB6]}, "empty.test": [],
    "to-loopback.test": ["127.0.0.1"], "to-loopback-two.test": ["127.9.9.9"], "to-six-loopback.test": ["::1"], "to-private.test": [OWN_PRIVATE],
    "to-metadata.test": [METADATA], "to-metadata-six.test": [METADATA6], "to-mapped.test": ["::ffff:127.0.0.1"],
    "to-nat64.test": ["64:ff9b::7f00:1"], "to-6to4.test": ["2002:7f00:1::1"], "to-own.test": [OWN], "to-own-second.test": [OWN_SECOND],
    "to-this.test": ["0.0.0.0"], "to-unspecified.test": ["::"], "to-compatible.test": ["::7f00:1"], "to-mixed.test": ["127.0.0.1", WEB6],
    "to-link-local.test": ["169.254.7.7"], "to-unique-local.test": ["fd00:1::1"],
}
OTHER_RECORDS = {15: b"\0\x0a\x04mail\x07allowed\x04test\0", 16: b"\x05hello", 33: b"\0\0\0\0\x01\xbb\x04evil\x04test\0"}  # MX, TXT, SRV


# ---- the side of the tests ----


class World:
    """A running world. `before(directory)`: words that run a command in it, in that directory, as the same account."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.process = subprocess.Popen(
            ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "--propagation", "private",
             sys.executable, __file__, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.authority = self.directory / "ca.pem"
        if self.process.stdout.readline() != b"ready\n":
            self.end()
            raise RuntimeError(f"no world: {self.process.stderr.read().decode()}")

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(10)

    def before(self, directory):
        return ["nsenter", "--preserve-credentials", "--user", "--net", "--mount", f"--wdns={directory}", "-t", str(self.process.pid), "--"]

    def run(self, *command, **rest):
        """A command in the world, without hutch."""
        return subprocess.run([*self.before(self.directory), *map(str, command)], capture_output=True, text=True, timeout=30,
                              stdin=subprocess.DEVNULL, **rest)

    @contextlib.contextmanager
    def watch(self):
        """Collects what the services and the name server log while it is open: a list of lines, complete afterwards."""
        lines = []
        start = (self.directory / "log").stat().st_size
        yield lines
        with open(self.directory / "log", "rb") as log:
            log.seek(start)
            lines += log.read().decode().splitlines()


# ---- the world itself: addresses and routes ----


def run_ip(lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)


def set_up():
    four = [WEB, OTHER, SPARE, RESOLVER, OWN_PRIVATE, METADATA, "169.254.7.7"]
    six = [WEB6, "2001:db8::53", METADATA6, "64:ff9b::7f00:1", "2002:7f00:1::1", "fd00:1::1"]
    run_ip(["link set lo up", *(f"address add {address}/32 dev lo" for address in four),
            *(f"address add {address}/128 dev lo nodad" for address in six),
            # One end swallows what is sent to it: the other is here too, and forwards nothing.
            "link add hole type veth peer name hole-end", "link set hole arp off up", "link set hole-end arp off up",
            f"address add {OWN}/24 dev hole", f"address add {OWN_SECOND}/24 dev hole", "address add 2001:db8:dead:ffff::1/64 dev hole nodad",
            "route add 203.0.113.0/24 dev hole", "route add 2001:db8:dead::/64 dev hole"])


def replace_file(path, text, directory):
    """Another text at a path of the host's, in this mount namespace only."""
    source = Path(directory) / path.strip("/").replace("/", "-")
    source.write_text(text)
    target = os.path.realpath(path)
    if not os.path.exists(target):  # a dangling link into /run
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    subprocess.run(["mount", "--bind", source, target], check=True)


def make_authority(directory):
    """A CA of its own and a certificate by it for every name of the zone."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True)
    names = ",".join(f"DNS:{name}" for name in [*ZONE, "*.allowed.test"]) + f",IP:{WEB}"
    (Path(directory) / "names").write_text(f"subjectAltName={names}\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=the CA of the tests")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=web")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "names", "-out",
            "certificate.pem")


# ---- the log ----


class Log:
    def __init__(self, path):
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, line):
        os.write(self.descriptor, line.encode() + b"\n")


# ---- names ----


def read_name(message, at):
    labels = []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1").lower())
        at += 1 + message[at]
    return ".".join(labels), at + 1


class Names:
    """Answers questions; the answers are made by hand, so that no library decides what can be asked."""

    def __init__(self, directory, log):
        self.directory, self.log, self.turns = Path(directory), log, {}

    def addresses(self, name, kind):
        entry = ZONE.get(name)
        if isinstance(entry, dict) and "rotate" in entry:
            self.turns[name] = self.turns.get(name, -1) + 1
            entry = [entry["rotate"][self.turns[name] % len(entry["rotate"])]]
        if isinstance(entry, dict):
            if entry.get("late") == kind:
                time.sleep(2)
            entry = entry.get("of") or entry["ordered"]
        return [packed for packed in map(lambda text: ipaddress.ip_address(text).packed, entry) if len(packed) == (4 if kind == 1 else 16)]

    def answer(self, query, transport):
        """The reply, or None for none."""
        name, at = read_name(query, 12)
        kind = struct.unpack_from(">H", query, at)[0]
        self.log(f"dns {name} {kind} {transport}")
        if ZONE.get(name) == "silent":
            return None
        code, records = 0, []
        if name not in ZONE:
            code = 3
        elif kind in (1, 28):
            records = self.addresses(name, kind)
        elif kind in OTHER_RECORDS:
            records = [OTHER_RECORDS[kind]]
            if kind == 16 and transport == "tcp":
                records = [b"\xff" + b"x" * 255] * 12  # more than fits a datagram
            elif kind == 16 and name == "www.allowed.test":
                return query[:2] + b"\x83\x80" + query[4:6] + bytes(6) + query[12:at + 4]  # truncated: come by TCP
        reply = query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0) + query[12:at + 4]
        for data in records:
            reply += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(data)) + data
        return reply


def serve_names_udp(address, names):
    server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))

    def reply(query, client):
        answer = names.answer(query, "udp")
        if answer:
            server.sendto(answer, client)

    def loop():
        while True:
            query, client = server.recvfrom(4096)
            threading.Thread(target=reply, args=(query, client), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def serve_names_tcp(address, names):
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while len(head := self.rfile.read(2)) == 2:
                answer = names.answer(self.rfile.read(struct.unpack(">H", head)[0]), "tcp")
                self.wfile.write(struct.pack(">H", len(answer)) + answer)
    serve_threads((address, 53), Handler)


# ---- services with a thread per connection ----


class Threads(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 1024

    def __init__(self, place, handler, context=None):
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        self.context = context
        super().__init__(place, handler)

    def handle_error(self, request, client_address):
        """A test that cuts a connection is no error."""


def serve_threads(place, handler, context=None):
    server = Threads(place, handler, context)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def make_web(log, directory, label):
    class Web(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            log(f"tcp {self.server.server_address[1]} at {self.request.getsockname()[0]}")
            self.request.settimeout(30)
            self.name = "-"
            if self.server.context:
                self.request = self.server.context.wrap_socket(self.request, server_side=True)
                self.name = self.server.context.names.pop(self.request, "-")
            super().setup()

        def __getattr__(self, name):
            if name.startswith("do_"):
                return self.do_POST
            raise AttributeError(name)

        def log_message(self, *_):
            pass

        def send(self, body):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            log(f"http {self.command} {self.headers.get('Host')} {self.name}")
            at = self.connection.getsockname()[0]
            self.send(f"{label} {self.command} Host={self.headers.get('Host')} SNI={self.name} at={at} {len(body)}\n".encode())

        def do_GET(self):
            if self.path.startswith("/repository.git/"):
                super().do_GET()
            else:
                self.do_POST()

    os.chdir(directory)
    return Web


class Context(ssl.SSLContext):
    """Remembers which name each connection asked for."""
    names = {}


def make_context(directory):
    context = Context(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(directory) / "certificate.pem", Path(directory) / "key.pem")
    context.sni_callback = lambda connection, name, _: context.names.__setitem__(connection, name or "-")
    return context


def handler(log, serve):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            log(f"tcp {self.server.server_address[1]} at {self.request.getsockname()[0]}")
            serve(self.request)
    return Handler


def speak_first(banner):
    def serve(connection):
        connection.sendall(banner)
        while data := connection.recv(65536):
            connection.sendall(data.upper())
    return serve


def count(connection):
    """Half-close up: everything is taken to its end, then the answer comes."""
    total, digest = 0, hashlib.sha256()
    while data := connection.recv(1 << 18):
        total += len(data)
        digest.update(data)
    connection.sendall(f"{total} {digest.hexdigest()}".encode())


def source(connection):
    """Half-close down: "N\\n" gets N bytes and an end; what the client says after that is logged by its length."""
    wanted = int(connection.makefile("rb").readline())
    block = bytes(range(256)) * 256
    while wanted > 0:
        part = block[:min(wanted, len(block))]
        connection.sendall(part)
        wanted -= len(part)
    connection.shutdown(socket.SHUT_WR)
    LOG(f"after-end {sum(len(data) for data in iter(lambda: connection.recv(65536), b''))}")


def reset(connection):
    """Takes one line, then resets. A client that resets first is logged."""
    try:
        line = connection.makefile("rb").readline()
        if line == b"wait\n":
            connection.recv(1)
    except ConnectionResetError:
        LOG("was-reset")
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def stall(connection):
    """Reads nothing, until the test has made go-on."""
    LOG("stalling")
    while not os.path.exists(DIRECTORY / "go-on"):
        time.sleep(0.02)
    count(connection)


def slow(connection):
    """One byte at a time."""
    for byte in b"slowly":
        time.sleep(0.05)
        connection.sendall(bytes([byte]))


# ---- the echo, which must hold ten thousand connections ----


def serve_echo(log):
    waiting = selectors.DefaultSelector()
    for port in ECHOES:
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
        listener.setblocking(False)
        waiting.register(listener, selectors.EVENT_READ, port)
    kept = {}

    def close(connection):
        waiting.unregister(connection)
        kept.pop(connection, None)
        connection.close()

    def turn(connection):
        try:
            if kept.get(connection):
                del kept[connection][:connection.send(kept[connection])]
                if not kept[connection]:
                    waiting.modify(connection, selectors.EVENT_READ)
                return
            data = connection.recv(1 << 18)
            if not data:
                close(connection)
                return
            sent = connection.send(data)
            if sent < len(data):
                kept[connection] = bytearray(data[sent:])
                waiting.modify(connection, selectors.EVENT_WRITE)
        except BlockingIOError:
            pass
        except OSError:
            close(connection)

    def loop():
        while True:
            for key, _ in waiting.select():
                if not key.data:
                    turn(key.fileobj)
                    continue
                with contextlib.suppress(BlockingIOError):
                    for _ in range(256):
                        connection, _ = key.fileobj.accept()
                        log(f"tcp {key.data} at {connection.getsockname()[0].removeprefix('::ffff:')}")
                        connection.setblocking(False)
                        waiting.register(connection, selectors.EVENT_READ)
    threading.Thread(target=loop, daemon=True).start()


def serve_datagrams(address, log):
    server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, UDP_ECHO))

    def loop():
        while True:
            data, client = server.recvfrom(65536)
            log(f"udp {UDP_ECHO} at {address}")
            server.sendto(data, client)
    threading.Thread(target=loop, daemon=True).start()


def make_repository(directory):
    """A bare repository for git's plain HTTP."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    def run(*words):
        subprocess.run([*git, *words], check=True, capture_output=True, cwd=directory, stdin=subprocess.DEVNULL)
    run("init", "-q", "work")
    (Path(directory) / "work/file").write_text("from the repository\n")
    run("-C", "work", "add", "file")
    run("-C", "work", "commit", "-qm", "one")
    run("clone", "-q", "--bare", "work", "repository.git")
    run("-C", "repository.git", "update-server-info")


def main(directory):
    global DIRECTORY, LOG
    DIRECTORY, LOG = Path(directory), Log(Path(directory) / "log")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    set_up()
    replace_file("/etc/resolv.conf", f"nameserver {RESOLVER}\n", directory)
    replace_file("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{WEB} in-hosts.test\n127.0.0.1 hosts-loopback.test\n", directory)
    make_authority(directory)
    make_repository(directory)
    names = Names(directory, LOG)
    for address in (RESOLVER, "2001:db8::53"):
        serve_names_udp(address, names)
        serve_names_tcp(address, names)
    context = make_context(directory)
    web = make_web(LOG, directory, "WORLD")
    for address in ("0.0.0.0", "::"):
        serve_threads((address, 80), web)
        serve_threads((address, 443), web, context)
    serve_threads(("127.0.0.1", LOOPBACK_PORT), make_web(LOG, directory, "HOST-LOOPBACK"))
    for port, banner in BANNERS.items():
        serve_threads(("0.0.0.0", port), handler(LOG, speak_first(banner)))
    for port, serve in {COUNT: count, SOURCE: source, RESET: reset, STALL: stall, SLOW: slow}.items():
        serve_threads(("0.0.0.0", port), handler(LOG, serve))
    serve_echo(LOG)
    for address in (WEB, OTHER, WEB6, "127.0.0.1"):
        serve_datagrams(address, LOG)
    print("ready", flush=True)
    sys.stdin.read()  # until the test ends, in whatever way


Threads.server_bind = lambda self: (self.address_family == socket.AF_INET6 and
                                    self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1),
                                    socketserver.TCPServer.server_bind(self))[0]

if __name__ == "__main__":
    main(sys.argv[1])
