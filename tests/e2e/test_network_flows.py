# SPDX-License-Identifier: Apache-2.0
"""Bytes through the nat: whole, in order, with their ends and resets; many flows, with flat memory and a clean refusal.
HUTCH_TEST_SLOW=1: a hundred thousand short connections instead of twenty thousand."""
import json
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest
import world as w
from harness import PYTHON, TESTS, descendants, wait_until

RULES = ["--network-allow", "allowed.test:*"]
PORTS = ["--network-allow", ",".join(f"{name}:{port}" for name in ("allowed.test", "www.allowed.test", "a.b.allowed.test", "neighbour.test", "both.test", "six.test")
                                     for port in (f"{w.ECHOES[0]}-{w.ECHOES[-1]}", w.COUNT, w.SOURCE, w.RESET, w.STALL, w.SLOW, w.REFUSED_PORT))]
DIALING = (TESTS / "lib" / "dialing.py").read_text()
SHORT = 100000 if os.environ.get("HUTCH_TEST_SLOW") == "1" else 20000


@pytest.fixture(params=[PORTS, RULES], ids=["listeners", "every-port"])
def rules(request):
    return request.param


def rss(pid):
    """Resident memory in KiB."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


class Conversation:
    """A script inside that says what it did, line by line, and goes on when it is told to: say() inside, next() here."""

    def __init__(self, online, script, *options, **popen):
        text = DIALING + "\ndef say(value):\n    print(json.dumps(value), flush=True); sys.stdin.readline()\n" + script
        self.process = online.start("run", *options, "--", PYTHON, "-c", text, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)
        self.nat = wait_until(lambda: next((pid for pid, name in descendants(self.process.pid).items() if name.startswith("hutch-nat")), None), what="the nat")

    def next(self):
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=10)
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=10)

    def end(self):
        _, err = self.process.communicate("\n", timeout=30)
        assert self.process.returncode == 0, err
        return [line for line in err.splitlines() if line.startswith("[hutch]")]


@pytest.fixture
def converse(online):
    """converse(script, *options): a Conversation, which a failed test does not leave behind."""
    begun = []

    def begin(*arguments, **popen):
        begun.append(Conversation(online, *arguments, **popen))
        return begun[-1]

    yield begin
    for conversation in begun:
        conversation.kill()


def test_an_end_is_passed_up_and_the_answer_still_comes(online, rules):
    script = """
import hashlib
data = bytes(range(256)) * 20000
show([fate("allowed.test", 9001, data), fate("allowed.test", 9001, b""), f"{len(data)} {hashlib.sha256(data).hexdigest()}"])
"""
    (found, nothing, expected), _ = online.python(script, *rules)
    assert found == expected and nothing.startswith("0 ")


def test_an_end_is_passed_down_and_the_client_may_go_on(online, world, rules):
    script = """
with dial("allowed.test", 9002) as connection:
    connection.sendall(b"100000\\n")
    down = len(read_all(connection))
    for _ in range(10): connection.sendall(b"x" * 1000)
show(down)
"""
    with world.watch() as seen:
        found, _ = online.python(script, *rules)
        assert found == 100000
        wait_until(lambda: "after-end 10000" in (world.directory / "log").read_text(), what="what came after the end")
    assert "after-end 10000" in seen


def test_resets_pass_both_ways(online, world, rules):
    script = """
server = fate("allowed.test", 9003, b"now\\n", half_close=False)
connection = dial("allowed.test", 9003)
connection.sendall(b"wait\\n")
show(server)
sys.stdout.flush()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
time.sleep(0.2)  # until the server has read its line: a reset throws away what is on its way
connection.close()
time.sleep(0.2)  # the end of the sandbox would reset it too
"""
    before = (world.directory / "log").read_text().count("was-reset")
    found, _ = online.python(script, *rules)
    assert found == "ConnectionResetError"
    wait_until(lambda: (world.directory / "log").read_text().count("was-reset") > before, what="the reset at the server")


def test_a_connection_that_the_server_refuses_is_reset(online, rules):
    found, _ = online.python("at = time.monotonic(); result = fate('allowed.test', 81); show([result, time.monotonic() - at])", *rules)
    assert found[0] == "ConnectionResetError" and found[1] < 1


def test_large_transfers_keep_every_byte(online, rules):
    script = """
import hashlib, threading
size = 64 << 20
block = bytes(range(256)) * 4096
up = hashlib.sha256()
with dial("allowed.test", 9001, 60) as connection:
    for _ in range(size // len(block)):
        connection.sendall(block); up.update(block)
    connection.shutdown(socket.SHUT_WR)
    answer = read_all(connection).decode()
down, expected = hashlib.sha256(), hashlib.sha256()
total = 0
with dial("allowed.test", 9002, 60) as connection:
    connection.sendall(b"%d\\n" % size)
    while data := connection.recv(1 << 20):
        down.update(data); total += len(data)
for _ in range(size // len(block)): expected.update(block)
both = hashlib.sha256()
with dial("allowed.test", 5432, 60) as connection:
    def send():
        for _ in range(32): connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send); sender.start()
    while data := connection.recv(1 << 20): both.update(data)
    sender.join()
echoed = hashlib.sha256(block * 32).hexdigest()
show([answer == f"{size} {up.hexdigest()}", total == size and down.digest() == expected.digest(), both.hexdigest() == echoed])
"""
    assert online.python(script, *rules, timeout=60)[0] == [True, True, True]


def test_a_flow_that_breaks_leaves_nothing_to_the_next(online):
    """Its bytes were on their way to a server that resets it: the pipe that large transfers go through is everybody's."""
    script = """
import hashlib
lost, good = b"now\\n" + b"n" * (8 << 20), b"g" * (1 << 20)
expected, answers = f"{len(good)} {hashlib.sha256(good).hexdigest()}", []
for _ in range(20):
    with dial("allowed.test", 9003) as broken:
        try: broken.sendall(lost)
        except OSError: pass
    answers.append(fate("allowed.test", 9001, good))
show([answers.count(expected), len(answers)])
"""
    assert online.python(script, *PORTS, timeout=60)[0] == [20, 20]


def test_a_slow_server_and_small_pieces(online):
    found, _ = online.python("show([fate('allowed.test', 9005), fate('six.test', 5432, b'six')])", *PORTS)
    assert found == ["slowly", "six"]


def test_stalled_peers_cost_no_memory_and_lose_nothing(converse, world):
    """Servers that read nothing: the sandbox is slowed down by its own kernel, and everything arrives later."""
    (world.directory / "go-on").unlink(missing_ok=True)
    script = """
import hashlib, select
held = [dial("allowed.test", 9004) for _ in range(30)]
sent = [hashlib.sha256() for _ in held]
totals = [0] * len(held)
for connection in held: connection.setblocking(False)
quiet = 0
while quiet < 3:
    _, writable, _ = select.select([], held, [], 0.2)
    quiet = 0 if writable else quiet + 1
    for connection in writable:
        number = held.index(connection)
        data = bytes([number + 30]) * 65536
        done = connection.send(data); sent[number].update(data[:done]); totals[number] += done
say(sum(totals))
answers = []
for connection in held:
    connection.setblocking(True); connection.settimeout(20); connection.shutdown(socket.SHUT_WR)
    answers.append(read_all(connection).decode())
say([answer == f"{total} {digest.hexdigest()}" for answer, total, digest in zip(answers, totals, sent)])
"""
    conversation = converse(script, *PORTS)
    total = conversation.next()
    assert total > 30 * 65536 and rss(conversation.nat) < 48 << 10, (total, rss(conversation.nat))
    (world.directory / "go-on").touch()
    conversation.go_on()
    assert conversation.next() == [True] * 30
    conversation.end()


def test_ten_thousand_flows_at_once(converse, world):
    """As many as there are descriptors for; the next ones are refused cleanly, said once, and room is used again."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    room = (hard - 64) // 2
    most = min(10000, room, hard - 200)
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)  # of each process: 4096 at most
address = socket.gethostbyname("allowed.test")
EACH = 2000
def hold(first, last, up, down):
    held = []
    for number in range(first, last):
        connection = socket.create_connection((address, 5432), 30)
        connection.sendall(b"%d" % number)
        held.append(connection)
    up.write("%d\\n" % sum(connection.recv(100) == b"%d" % number for number, connection in enumerate(held, first)))
    up.close()
    down.readline()  # until it is told to end, with everything it holds
    os._exit(0)
children = []
for first in range(0, {most}, EACH):
    (up_read, up_write), (down_read, down_write) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(down_write)
        for child in children: child[1].close()
        hold(first, min(first + EACH, {most}), open(up_write, "w"), open(down_read))
    os.close(up_write); os.close(down_read)
    children.append((open(up_read), open(down_write, "w")))
say(sum(int(up.readline()) for up, _ in children))
extra = [fate("allowed.test", 5432, b"x") for _ in range({room} - {most} + 20)][-1] if {room} < 10000 else "not tried"
children.pop()[1].close()
for _ in range(1000):
    after = fate("allowed.test", 5432, b"x")
    if after == "x": break
say([extra, after])
for _, down in children: down.close()
"""
    conversation = converse(script, *PORTS)
    assert conversation.next() == most
    assert rss(conversation.nat) < 64 << 10, rss(conversation.nat)
    conversation.go_on()
    extra, after = conversation.next()
    assert after == "x" and (extra == "not tried") == (room >= 10000) and extra != "x", extra
    lines = conversation.end()
    assert len([line for line in lines if "refusing more connections" in line]) == (room < 10000), lines


def test_a_limit_of_open_files_refuses_and_does_not_spin(converse, world):
    """With few descriptors: refused, said once, and the nat sleeps while nothing happens."""
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
    script = """
held, fates = [], []
for _ in range(400):
    try:
        connection = dial("allowed.test", 5432); connection.sendall(b"x"); connection.recv(1) or 1 / 0; held.append(connection)
    except (OSError, ZeroDivisionError) as error: fates.append(type(error).__name__)
    if len(held) + len(fates) == 200: break
say([len(held), sorted(set(fates))])
for connection in held: connection.close()
for _ in range(100):
    after = fate("allowed.test", 5432, b"x")
    if after == "x": break
say(after)
"""
    conversation = converse(script, *PORTS, preexec_fn=few)
    count, fates = conversation.next()
    assert 80 <= count <= 118 and set(fates) <= {"ConnectionResetError", "BrokenPipeError", "ZeroDivisionError"}, (count, fates)
    spent = cpu_ticks(conversation.nat)
    conversation.go_on()
    assert conversation.next() == "x"
    assert cpu_ticks(conversation.nat) - spent < 30
    lines = conversation.end()
    assert len([line for line in lines if "refusing more connections" in line]) == 1, lines


def test_an_end_that_has_hung_up_while_the_other_does_not_read(converse, world):
    """The server has sent all and closed, and the client has asked for nothing more: the nat sleeps until the client reads."""
    script = f"""
held = []
for number in range(98):
    connection = dial("allowed.test", {w.SOURCE})
    length = 60000 + number * 120000
    connection.sendall(b"%d\\n" % length); connection.shutdown(socket.SHUT_WR)
    held.append((connection, length))
say(len(held))
say(sum(len(read_all(connection)) == length for connection, length in held))
"""
    conversation = converse(script, *PORTS)
    assert conversation.next() == 98
    wait_until(lambda: quiet_second(conversation.nat), what="a nat that sleeps")
    conversation.go_on()
    assert conversation.next() == 98
    conversation.end()


def quiet_second(pid):
    """The relayed bytes take a moment at first."""
    spent = cpu_ticks(pid)
    time.sleep(1)
    return cpu_ticks(pid) - spent < 5


def cpu_ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_many_short_connections_with_flat_memory(converse, world):
    script = f"""
addresses = [socket.gethostbyname(name) for name in ("allowed.test", "www.allowed.test", "a.b.allowed.test", "neighbour.test", "both.test", "six.test")]
def burst(count):
    right = 0
    for number in range(count):
        with socket.socket() as connection:
            connection.connect((addresses[number % len(addresses)], 5432 + number // 8 % 10))
            connection.send(b"x")
            right += connection.recv(1) == b"x"
    return right
say(burst(2000))
say(burst({SHORT} - 2000))
"""
    conversation = converse(script, *PORTS)
    assert conversation.next() == 2000
    before = rss(conversation.nat)
    conversation.go_on()
    assert conversation.next() == SHORT - 2000
    assert rss(conversation.nat) - before < 512, (before, rss(conversation.nat))
    conversation.end()


def test_clients_that_vanish_while_connecting_leave_no_flow(online):
    """Half-open flows: to a dead address, the client goes before there is a connection."""
    script = """
for _ in range(300):
    connection = dial("dead.test", 80)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
held = [dial("allowed.test", 80) for _ in range(50)]
show([reaches("allowed.test"), len(held)])
"""
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
    found, done = online.python(script, "--network-allow", "dead.test,allowed.test", preexec_fn=few)
    assert found == [True, 50] and "connections are open" not in done.err, done
