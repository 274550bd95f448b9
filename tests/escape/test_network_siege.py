# SPDX-License-Identifier: Apache-2.0
"""Attempts to be taken for somebody else, to leave no trace, and to make the nat work without end."""
import json
import subprocess

import pytest
from harness import PYTHON, TESTS, wait_until

DIALING = (TESTS / "lib" / "dialing.py").read_text()

# ---- a TLS connection that is not recognised as one ----

HELLO = r"""
import ssl
def hello(name):
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: connection.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
def taken(first):
    try:
        with dial("allowed.test", 9001) as connection:
            connection.sendall(first); connection.shutdown(socket.SHUT_WR)
            return int(read_all(connection).split()[0])
    except (OSError, IndexError): return 0
"""
OLD_HELLO = bytes([0x80, 0x2E, 1, 3, 3, 0, 0x15, 0, 0, 0, 0x10]) + b"\0\0\x2f" * 7 + b"c" * 16
PREFIXES = {
    "a warning": b"\x15\x03\x01\0\x02\x01\0", "a change of ciphers": b"\x14\x03\x01\0\x01\x01", "data": b"\x17\x03\x03\0\x01x",
    "a heartbeat": b"\x18\x03\x01\0\x03\x01\0\0",
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_record_before_the_hello_does_not_hide_its_name(online, prefix):
    script = f"first = {PREFIXES[prefix]!r}\nshow([taken(hello('allowed.test')) > 0, taken(first + hello('evil.test')), taken(first)])"
    found, _ = online.python(HELLO + script, "--network-allow", "allowed.test:9001")
    assert found == [True, 0, 0]


def test_a_hello_in_the_old_form_names_no_host(online):
    """Servers of today still take the form of SSL 2, which has no place for a name."""
    script = f"old = {OLD_HELLO!r}\nshow([taken(old), taken(old[:3]), taken(old[:3] + b'other'), taken(b'\\x80\\0\\0\\x10')])"
    found, done = online.python(HELLO + script, "--network-allow", "allowed.test:9001")
    assert found == [0, 0, 8, 4] and "its TLS server name is missing" in done.err, (found, done)


# ---- the log ----


def test_a_flood_of_questions_hides_no_connection(online):
    """Cheap records must not push out those that somebody would look for."""
    script = r"""
def flood():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        query = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\1x\5other\4test\0" + struct.pack(">HH", 1, 1)
        for _ in range(1000): sender.sendto(query, ("1.1.1.1", 53))
found = []
for _ in range(5):
    flood(); found.append(reaches("allowed.test")); flood(); found.append(fate("198.51.100.11", 80)); flood()
show(found)
"""
    log = online.home / "flooded"
    found, _ = online.python(script, "--network-allow", "allowed.test", "--log", log)
    assert found == [True, "ConnectionResetError"] * 5
    records = [json.loads(line) for line in log.read_text().splitlines()]
    connections = [record["decision"] for record in records if record["event"] == "connection"]
    assert connections.count("allowed") == 5 and connections.count("denied") == 5, connections
    assert sum(record.get("dropped_before", 0) for record in records) > 1000


def test_every_flow_of_the_end_is_in_the_log_or_counted(online):
    """More of them than the log takes in a moment."""
    script = "kept = [dial('198.51.100.10', 5432 + i % 10) for i in range(700)]\nfor one in kept: one.sendall(b'x'); one.recv(1)\nshow(len(kept))"
    log = online.home / "open"
    found, _ = online.python(script, "--network-allow", "198.51.100.10:5432-5441", "--log", log)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    ended = [record for record in records if record["event"] == "connection"]
    counted = sum(record.get("dropped_before", 0) for record in records)
    assert found == 700 and len(ended) >= 100 and all(record["bytes_up"] == 1 for record in ended)
    assert len(ended) + counted == 700


# ---- a source that is not the sandbox's ----


def test_a_false_source_makes_no_datagrams_run_in_a_circle(online, world):
    """IPv6 lets everybody choose a source. An answer to what claims to come from the gateway would be a question again."""
    script = r"""
IPV6_FREEBIND = 78
def address(name): return socket.getaddrinfo(name, 9000, socket.AF_INET6, socket.SOCK_DGRAM)[0][4][0]
def send(source, to, number):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        sender.bind((source, number)); sender.sendto(b"again", (to, 9000))
one, two = address("allowed.test"), address("six.test")
send(two, one, 9000); send("2001:db8::10", one, 9000); send(one, one, 9000)
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:  # the same port, at the sandbox's own address, is nobody else's
    sender.settimeout(5); sender.bind(("::", 9000)); sender.sendto(b"own", (two, 9000)); result = sender.recv(9).decode()
time.sleep(0.5)
show(result)
"""
    with world.watch() as seen:
        found, _ = online.python(script, "--network-allow", "allowed.test:9000/udp,six.test:9000/udp,[2001:db8::10]:9000/udp")
    assert found == "own" and len([line for line in seen if line.startswith("udp")]) == 1, seen[:9]


# ---- a client that is refused ----


def test_fetch_of_node_sees_every_refusal(online, node):
    """A reset while a client takes note of being connected is lost on it: it would wait for ever."""
    script = """(async () => { const found = {};
for (let i = 0; i < 150; i++) {
  const one = await Promise.race([fetch('http://empty.test/').then(() => 'answer', error => String(error.cause && error.cause.code)),
                                  new Promise(done => setTimeout(done, 4000, 'nothing'))]);
  found[one] = (found[one] || 0) + 1 }
console.log(JSON.stringify(found)); process.exit(0) })()"""
    done = online("run", "--network-allow", "empty.test", "--", node, "-e", script, timeout=120)
    assert json.loads(done.out) == {"ECONNRESET": 150}, done


def test_refusals_that_wait_are_bounded(online):
    """Silent clients at a refused port, more than are waited for, and afterwards others are served."""
    script = r"""
many, early = [], 0
for _ in range(600):
    try: many.append(dial("198.51.100.11", 80, 5))
    except ConnectionResetError: early += 1
def is_reset(one):
    try: return one.recv(1) == b"?"
    except ConnectionResetError: return True
show([early + sum(map(is_reset, many)), reaches("allowed.test")])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test")
    assert found == [600, True]


# ---- a published port ----


def test_descriptors_under_way_do_not_mix_up_published_connections(online, world):
    """A server that keeps pid 1 from sending a socket loses that connection, and no later one goes to another port."""
    script = r"""
import array, resource, threading
def listen(number):
    server = socket.create_server(("127.0.0.1", number), backlog=64)
    def serve():
        while True:
            client, _ = server.accept(); client.sendall(str(number).encode()); client.close()
    threading.Thread(target=serve, daemon=True).start()
listen(8765); listen(8766)
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
pairs = []
def fill():
    null = os.open("/dev/null", os.O_RDONLY)
    while True:
        pairs.append(socket.socketpair())
        try: pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 250))])
        except OSError: return
for line in sys.stdin:
    if line == "fill\n": fill()
    else:
        for pair in pairs:
            for end in pair: end.close()
        pairs.clear()
    print("done", flush=True)
"""
    process = online.start("run", "--publish", "18771:8765", "--publish", "18772:8766", "--", PYTHON, "-c", DIALING + script,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(number):
        return world.run(PYTHON, "-c", "import socket; c = socket.create_connection(('127.0.0.1', %d), 9); c.settimeout(9); print(c.recv(9).decode(), end='')" % number).stdout

    def order(word):
        process.stdin.write(word + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n", process.stderr.read()
    with process:
        order("free")
        assert wait_until(lambda: ask(18771) == "8765", what="the server") and ask(18772) == "8766"
        order("fill")
        lost = [ask(18771), ask(18772)]
        order("free")
        assert [ask(18772), ask(18771), ask(18772)] == ["8766", "8765", "8766"], lost
        process.kill()
        process.communicate(timeout=10)
    assert set(lost) <= {"", "8765", "8766"}
