# SPDX-License-Identifier: Apache-2.0
"""An internet that is not there: run in new user, network and mount namespaces, it gives its loopback public
addresses, an /etc of its own (a directory that the test may change) and servers, says "ready" and stays until its input
ends. Nothing of it leaves the namespace.

  198.51.100.10, .11   http :80, https :443 for allowed.test: the reply names the server's own address
  198.51.100.53, .54   name servers: allowed.test is .10 for the first, .11 for the second
  fe80::53 on d0       a third, which says .11 too
  198.51.100.12        :3128 a proxy (CONNECT) that takes every name to .10 and logs; :3129 one that wants a password
"""
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from pathlib import Path

DIRECTORY = Path(sys.argv[1])
KEPT = ["passwd", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf",
        "ssl/certs", "ssl/openssl.cnf", "ca-certificates"]
log_lock = threading.Lock()


def log(name, text):
    with log_lock, open(DIRECTORY / name, "a") as file:
        file.write(text + "\n")


def make_etc():
    etc = DIRECTORY / "etc"
    for name in KEPT:
        source, place = Path("/etc") / name, etc / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        elif source.exists():
            shutil.copy(source, place, follow_symlinks=True)
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    (etc / "resolv.conf").write_text("nameserver 198.51.100.53\n")
    subprocess.run(["mount", "--bind", etc, "/etc"], check=True)


def make_network():
    def ip(words):
        subprocess.run(["ip", *words.split()], check=True)
    ip("link set lo up")
    for last in (10, 11, 12, 53, 54):
        ip(f"addr add 198.51.100.{last}/32 dev lo")
    ip("link add d0 type veth peer name d1")
    ip("link set d1 up")
    ip("link set d0 up")
    ip("-6 addr add fe80::53/64 dev d0 nodad")


def make_certificate():
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "30", "-keyout", DIRECTORY / "key.pem", "-out", DIRECTORY / "ca.pem", "-subj", "/CN=test-ca", "-addext",
                    "subjectAltName=DNS:allowed.test"], check=True, capture_output=True)


def serve_names(server, address):
    while True:
        try:
            question, sender = server.recvfrom(4096)
        except OSError:
            return
        end, labels = 12, []
        while question[end]:
            labels.append(question[end + 1:end + 1 + question[end]].decode())
            end += question[end] + 1
        name, (kind,) = ".".join(labels).lower(), struct.unpack("!H", question[end + 1:end + 3])
        log("dns.log", f"{server.getsockname()[0]} {name} {kind}")
        known = name in ("allowed.test", "proxy.test")
        answers = b""
        if known and kind == 1:
            ip = "198.51.100.12" if name == "proxy.test" else address
            answers = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(ip)
        head = question[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, 1 if answers else 0, 0, 0)
        server.sendto(head + question[12:end + 5] + answers, sender)


def read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        data = connection.recv(4096)
        if not data:
            raise OSError("it ended")
        head += data
    return head


def answer_request(connection, where):
    read_head(connection)
    body = f"served by {where}\n".encode()
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def answer_connect(connection, password):
    head = read_head(connection).decode("latin-1")
    target = head.split()[1]
    given = [line for line in head.splitlines() if line.lower().startswith("proxy-authorization:")]
    log("proxy.log", f"{target} {given[0] if given else '-'}")
    if password and not given:
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n")
        return
    with socket.create_connection(("198.51.100.10", int(target.rsplit(":", 1)[1]))) as server:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
        other = threading.Thread(target=copy, args=(server, connection), daemon=True)
        other.start()
        copy(connection, server)
        other.join(10)


def serve(address, port, answer, *arguments, context=None):
    listener = socket.create_server((address, port), backlog=64)

    def take(connection):
        try:
            with context.wrap_socket(connection, server_side=True) if context else connection as wrapped:
                answer(wrapped, *arguments)
        except (OSError, ssl.SSLError, ValueError):
            pass

    def run():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=take, args=(connection,), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()


def answer_canned(connection):
    """Says whatever the file says, for replies that no proxy would give."""
    read_head(connection)
    connection.sendall((DIRECTORY / "reply").read_bytes())
    connection.settimeout(20)
    if not (DIRECTORY / "hang").exists():
        connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass


def main():
    make_etc()
    make_network()
    make_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DIRECTORY / "ca.pem", DIRECTORY / "key.pem")
    for place, address in {("198.51.100.53", 53): "198.51.100.10", ("198.51.100.54", 53): "198.51.100.11",
                           ("fe80::53", 53, 0, socket.if_nametoindex("d0")): "198.51.100.11"}.items():
        server = socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(place)
        threading.Thread(target=serve_names, args=(server, address), daemon=True).start()
    for address in ("198.51.100.10", "198.51.100.11"):
        serve(address, 80, answer_request, address)
        serve(address, 443, answer_request, address, context=context)
    serve("198.51.100.12", 3128, answer_connect, False)
    serve("198.51.100.12", 3129, answer_connect, True)
    serve("198.51.100.12", 3130, answer_canned)
    serve("127.0.0.1", 3128, answer_connect, False)
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


main()
