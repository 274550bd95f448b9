# SPDX-License-Identifier: Apache-2.0
"""Attempts to reach through the network what no rule permits, or to harm the nat. What a test tries to reach is first
shown to be reachable without hutch."""
import json
import os
import re
import signal
import subprocess
import time

import pytest
import world as w
from harness import PYTHON, TESTS, descendants, read_stat, wait_until

DIALING = (TESTS / "lib" / "dialing.py").read_text()


def outside(world, script):
    """The same script in the world, without hutch."""
    done = world.run(PYTHON, "-c", DIALING + script)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


# ---- names as a channel ----


def test_no_refused_name_leaves_the_machine(online, world):
    script = """
names = ["secret1.evil.test", "secret2.allowed.test", "x.secret3.allowed.test", "secret4.test", "allowed.test.secret5.evil.test", "secret6"]
found = []
for name in names:
    for kind in (1, 28, 16, 15, 5, 33, 65, 255, 12, 2, 6, 10):
        for tcp in (False, True):
            for server in ("198.51.100.53", "2001:db8::53"):
                reply = ask(name, kind, (server, 53), tcp, timeout=2)
                found.append([code_of(reply), reply is not None and len(reply) > 12 and answers_of(reply)])
show(sorted({tuple(item) for item in found}))
"""
    with world.watch() as seen:
        outside(world, "show([code_of(ask('secret0.evil.test', 16, ('198.51.100.53', 53), tcp)) for tcp in (False, True)])")
    assert [line for line in seen if "secret0" in line]
    with world.watch() as seen:
        found, _ = online.python(script, "--network-allow", "allowed.test")
    assert found == [[3, 0]]
    assert not [line for line in seen if "secret" in line], seen


def test_little_can_be_hidden_in_a_question_about_an_allowed_name(online, world):
    """What goes out for an allowed name is the nat's own question: no case, no option, no extra record of the sandbox."""
    script = r"""
opt = b"\0" + struct.pack(">HHIH", 41, 4096, 0, 20) + struct.pack(">HH", 65001, 16) + b"SECRET-SECRET-SE"
ask("aLLoWed.tEST", 16, extra=opt, additional=1)
ask("allowed.test", 16, extra=b"SECRET" * 20)
extra = b"\0" + struct.pack(">HHIH", 16, 1, 0, 7) + b"\6SECRET"
ask("allowed.test", 16, extra=extra, additional=1)
show(0)
"""
    with world.watch() as seen:
        online.python(script, "--network-allow", "allowed.test")
    questions = [line for line in seen if line.startswith("dns")]
    assert questions and set(questions) == {"dns allowed.test 16 udp"}, questions


def test_forwarded_answers_name_only_what_is_allowed(online):
    found, _ = online.python("reply = ask('allowed.test', 33); show([b'evil' in reply, b'evil' in ask('allowed.test', 33, tcp=True)])",
                             "--network-allow", "allowed.test")
    assert found == [False, False]
    found, _ = online.python("show(b'evil' in ask('allowed.test', 33))", "--network-allow", "allowed.test,evil.test")
    assert found is True


# ---- rebinding ----


REBINDING = ["to-loopback.test", "to-loopback-two.test", "to-six-loopback.test", "to-private.test", "to-metadata.test", "to-metadata-six.test",
             "to-mapped.test", "to-nat64.test", "to-6to4.test", "to-own.test", "to-own-second.test", "to-this.test", "to-unspecified.test",
             "to-link-local.test", "to-unique-local.test"]


def test_an_allowed_name_that_leads_inside_is_refused(online, world):
    reached = outside(world, f"show([name for name in {REBINDING} if reaches(name)])")
    assert set(REBINDING) - set(reached) == set(), "these lead nowhere in the world, so they prove nothing"
    with world.watch() as seen:
        found, done = online.python(f"show([name for name in {REBINDING + ['to-compatible.test']} if reaches(name)])",
                                    "--network-allow", ",".join(REBINDING + ["to-compatible.test"]))
    assert found == [], done
    assert not [line for line in seen if line.startswith(("tcp", "http"))], seen
    for name in REBINDING:
        assert f"refused {name}:80: it leads to " in done.err, (name, done.err)


def test_public_does_not_lead_inside(online, world):
    with world.watch() as seen:
        found, done = online.python(f"show([name for name in {REBINDING} if reaches(name)])", "--network-allow", "public")
    assert found == [] and not [line for line in seen if line.startswith(("tcp", "http"))], (found, seen)


def test_only_the_addresses_that_lead_outside_are_used(online):
    found, _ = online.python("show(get('to-mixed.test'))", "--network-allow", "to-mixed.test")
    assert "at=2001:db8::10" in found


def test_private_permits_private_and_never_loopback_or_metadata(online):
    names = ",".join(f"{name}/private" for name in REBINDING)
    found, _ = online.python(f"show([name for name in {REBINDING} if reaches(name)])", "--network-allow", names)
    assert not set(found) & {"to-loopback.test", "to-loopback-two.test", "to-six-loopback.test", "to-metadata.test", "to-metadata-six.test", "to-mapped.test",
                             "to-nat64.test", "to-6to4.test", "to-this.test", "to-unspecified.test"}, found


def test_udp_does_not_rebind_either(online, world):
    script = """
def echo(host):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0.4)
        try:
            sender.sendto(b"x", (host, 9000)); return sender.recv(10).decode()
        except OSError: return ""
show([echo("to-loopback.test"), echo("127.0.0.1"), echo("allowed.test")])
"""
    assert outside(world, script) == ["x"] * 3
    found, done = online.python(script, "--network-allow", "to-loopback.test:9000/udp,allowed.test:9000/udp")
    assert found == ["", "", "x"], done


# ---- addresses ----


def test_the_hosts_loopback_by_every_alias(online, world):
    hosts = ["127.0.0.1", "127.0.0.2", "127.255.255.254", "localhost", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "0", "127.1", "2130706433", "0x7f000001",
             "198.18.0.1", "198.18.0.2", "198.18.0.0", "fd68:7574:6368::1", "fd68:7574:6368::2", "10.0.2.2", "169.254.1.1", "192.168.0.1", "172.17.0.1",
             w.OWN, w.OWN_SECOND, w.OWN_PRIVATE, w.METADATA, w.METADATA6, "64:ff9b::7f00:1", "2002:7f00:1::1", "::127.0.0.1", "ip6-localhost"]
    script = f"show([host for host in {hosts} for port in (80, 443, 8000, 5432, 25) if fate(host, port, b'GET / HTTP/1.0\\r\\n\\r\\n') not in " \
             "('', 'no such name', 'ConnectionRefusedError', 'ConnectionResetError', 'OSError', 'TimeoutError')])"
    assert len(set(outside(world, script.replace("443, ", "")))) > 15
    for rules in ("allowed.test:80,allowed.test:8000,allowed.test:5432,allowed.test:25", "public", "allowed.test:*,public:1-10000"):
        with world.watch() as seen:
            found, _ = online.python(script, "--network-allow", rules)
        assert found == [] and not [line for line in seen if line.startswith("tcp")], (rules, found, seen)


def test_a_port_scan_reaches_nothing(online, world):
    script = """
def scan(host, family):
    # What nothing listens on is refused at once.
    found = []
    for port in range(1, 65536):
        with socket.socket(family) as one:
            error = one.connect_ex((host, port))
            if error == 0: found.append(port)
            elif error != 111: found.append([port, error])
    return found
show([scan("198.18.0.1", socket.AF_INET), scan("fd68:7574:6368::1", socket.AF_INET6), reaches("allowed.test")])
"""
    with world.watch() as seen:
        found, done = online.python(script, "--network-allow", "allowed.test", timeout=100)
    # Of the gateway only the listeners of the rules and of the resolver are there, and they lead nowhere but by the rules.
    assert found == [[53, 80, 443]] * 2 + [True], found
    assert {line for line in seen if line.startswith("tcp")} == {f"tcp 80 at {w.WEB}"}, seen
    assert len(done.own_lines) < 140


# ---- the gateway's namespace ----


def test_nothing_of_the_gateway_can_be_entered(online):
    """N0 is no namespace that anything inside can name: not by /proc, not by a link, not by netlink."""
    script = r"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call):
    try:
        call(); return "done"
    except OSError as error:
        return "refused"
own = os.stat("/proc/self/ns/net").st_ino
others = set()
for process in os.listdir("/proc"):
    if process.isdigit():
        try: others.add(os.stat(f"/proc/{process}/ns/net").st_ino)
        except OSError: pass
def netlink(kind, flags, body):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as asked:
        asked.bind((0, 0))
        asked.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        reply = asked.recv(65536)
        length, kind = struct.unpack_from("=IH", reply)
        if kind == 2 and struct.unpack_from("=i", reply, 16)[0] != 0:
            raise OSError(-struct.unpack_from("=i", reply, 16)[0], "netlink")
link = struct.pack("=BxHiII", 0, 0, 2, 0, 0)
show({
    "namespaces": len(others | {own}),
    "raw": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)), "raw6": attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)),
    "ping": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)),
    "packet": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768)), "packet dgram": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 768)),
    "link down": attempt(lambda: netlink(16, 5, struct.pack("=BxHiII", 0, 0, 2, 0, 1))), "link delete": attempt(lambda: netlink(17, 5, link)),
    "namespace of the peer": attempt(lambda: netlink(88, 5, struct.pack("=BBH", 0, 0, 0) + struct.pack("=HHi", 8, 1, 0))),
    "address": attempt(lambda: netlink(20, 0x605, struct.pack("=BBBBI", 2, 8, 0, 0, 2) + struct.pack("=HH", 8, 2) + bytes([10, 0, 0, 1]))),
    "unshare": "done" if libc.unshare(0x40000000) == 0 else "refused", "unshare user": "done" if libc.unshare(0x50000000) == 0 else "refused",
    "tun": attempt(lambda: os.open("/dev/net/tun", os.O_RDWR)), "sysctl": attempt(lambda: open("/proc/sys/net/ipv4/ip_forward", "w").write("1")),
    "names": sorted(name for _, name in socket.if_nameindex())})
"""
    found, _ = online.python(script, "--network-allow", "allowed.test")
    assert found.pop("names") == ["eth0", "lo"] and found.pop("namespaces") == 1
    found.pop("ping")  # a ping socket is permitted where the kernel's range says so, and reaches nothing but the gateway
    assert set(found.values()) == {"refused"}, found


def test_nothing_of_the_nat_is_seen_inside(online, world):
    script = """
processes = [open(f"/proc/{entry}/comm").read() for entry in os.listdir("/proc") if entry.isdigit()]
unix = [line.split()[7] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7]
bound = []
for family, address in ((socket.AF_INET, "198.18.0.1"), (socket.AF_INET, "198.51.100.10"), (socket.AF_INET6, "fd68:7574:6368::1")):
    with socket.socket(family) as taker:
        try: taker.bind((address, 8080)); bound.append(address)
        except OSError: pass
files = [os.readlink(f"/proc/self/fd/{entry}") for entry in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{entry}")]
pid1 = []
try: pid1 = os.listdir("/proc/1/fd")
except OSError: pass
show([any("nat" in text for text in processes), unix, bound, [name for name in files if "socket" in name], pid1])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test", "--publish", "18765:8765")
    assert found == [False, [], [], [], []], found


def test_the_server_cannot_sit_on_the_nats_addresses(online):
    """A listener of the sandbox on the resolver's port or on every address changes nothing for the flows that leave."""
    script = """
servers = []
for port in (53, 80):
    for address in ("0.0.0.0", "198.18.0.2", "127.0.0.1"):
        try: servers.append(socket.create_server((address, port), reuse_port=True))
        except OSError: pass
show([code_of(ask("allowed.test", tcp=True)), reaches("allowed.test"), reaches("198.51.100.11")])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test")
    assert found == [0, True, False]


def test_pid_1_and_its_dialler_are_out_of_reach(online):
    """ptrace, its descriptors, signals: pid 1 is not the server's."""
    script = r"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def refused(call):
    try:
        return call() in (-1, None)
    except OSError:
        return True
show([libc.ptrace(16, 1, 0, 0), libc.syscall(434, 1, 0), refused(lambda: os.listdir("/proc/1/fd")), refused(lambda: os.open("/proc/1/mem", os.O_RDWR)),
      [refused(lambda: os.kill(1, number)) or True for number in (9, 15, 19)], libc.syscall(438, 3, 3, 0), reaches("allowed.test")])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test", "--publish", "18765:8765")
    assert found[0] == -1 and found[2] is True and found[3] is True and found[5] == -1 and found[6] is True, found


# ---- floods ----


def flood(online, script, rules="allowed.test", **options):
    """Runs a hostile script, and afterwards the same sandbox must still be served."""
    found, done = online.python(script + "\nshow([result, reaches('allowed.test')])", "--network-allow", rules, **options)
    assert found[1] is True, done
    assert len(done.own_lines) < 150, done
    return found[0], done


def test_garbage_for_the_resolver(online):
    script = r"""
import random
random.seed(5)
good = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"\7allowed\4test\0\0\1\0\1"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.connect(("1.1.1.1", 53))
    for number in range(20000):
        bad = bytearray(good if number % 2 else random.randbytes(random.randrange(0, 600)))
        for _ in range(number % 7):
            if bad: bad[random.randrange(len(bad))] = random.randrange(256)
        try: sender.send(bad[:random.randrange(len(bad) + 1)])
        except OSError: pass
for number in range(300):
    try:
        with dial("1.1.1.1", 53) as connection:
            connection.sendall(random.randbytes(random.randrange(0, 3000)))
    except OSError: pass
pointers = [b"\xc0\x0c", b"\x3f" + b"a" * 63 + b"\xc0\x0c", b"\x80", b"\x40", b"\x3f" * 300]
result = [code_of(ask("x", extra=pointer, timeout=0.05)) for pointer in pointers] and "sent"
"""
    flood(online, script)


def test_slow_clients_of_the_resolver_do_not_stop_it(online):
    script = r"""
held = []
for number in range(200):
    connection = dial("1.1.1.1", 53); connection.sendall(b"\xff"); held.append(connection)
result = [code_of(ask("allowed.test")) for _ in range(5)]
"""
    found, _ = flood(online, script)
    assert found == [0] * 5


def test_a_thousand_half_sent_heads_do_not_stop_others(online):
    script = r"""
held = []
for number in range(1000):
    connection = dial("allowed.test", 80); connection.sendall(b"GET / HT"); held.append(connection)
result = [reaches("allowed.test") for _ in range(5)]
"""
    found, _ = flood(online, script)
    assert found == [True] * 5


def test_first_bytes_without_end(online, world):
    """A head or a hello that never ends is cut off by its length."""
    script = r"""
def pour(start, filler):
    total = 0
    try:
        with dial("allowed.test", 80) as connection:
            connection.sendall(start)
            while total < 4 << 20:
                connection.sendall(filler); total += len(filler)
            return total
    except OSError:
        return total
record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + bytes(16380)
result = [pour(b"GET / HTTP/1.1\r\n", b"X: " + b"x" * 8000 + b"\r\n"), pour(record, b"\x16\x03\x01\x40\x00" + bytes(16384)), pour(b"GET /" , b"a" * 65536)]
"""
    with world.watch() as seen:
        found, _ = flood(online, script)
    assert all(total < 4 << 20 for total in found), found
    assert len([line for line in seen if line.startswith("http")]) == 1


def test_flows_that_nobody_reads_do_not_fill_the_memory(online):
    """Servers that pour, a sandbox that reads nothing: what waits is bounded over all flows."""
    script = DIALING + """
held = []
for _ in range(150):  # each is read for a while, so that the kernel makes its window wide, and then no more
    connection = dial("allowed.test", 9002); connection.sendall(b"20000000\\n"); held.append(connection)
    read = 0
    while read < 4 << 20: read += len(connection.recv(1 << 18))
print("pouring", flush=True)
sys.stdin.readline()
show(reaches("allowed.test"))
"""
    process = online.start("run", "--network-allow", "allowed.test,allowed.test:9002", "--", PYTHON, "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "pouring\n", process.stderr.read()
        nat, sizes = nat_of(process), [0]
        def settled():
            time.sleep(0.2)
            sizes.append(int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{nat}/status").read())[1]))
            return sizes[-1] <= sizes[-2]
        wait_until(settled, 30, "an end of what the nat takes in")
        assert max(sizes) < 80 << 10, sizes
        out, err = process.communicate("\n", timeout=30)
    assert out == "true\n" and process.returncode == 0, err


def test_more_names_than_there_are_addresses(online):
    """65,536 names, then SERVFAIL and one line; earlier names keep working."""
    script = r"""
first = socket.gethostbyname("n0.allowed.test")
senders = []
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.connect(("1.1.1.1", 53)); sender.settimeout(5)
    codes = {}
    def send(number):
        label = b"n%d" % number
        sender.send(struct.pack(">HHHHHH", number & 65535, 256, 1, 0, 0, 0) + bytes([len(label)]) + label + b"\7allowed\4test\0\0\1\0\1")
    total, window = 66500, 100
    for number in range(total + window):
        if number < total: send(number)
        if number >= window:
            code = sender.recv(512)[3] & 15
            codes[code] = codes.get(code, 0) + 1
result = [codes, socket.gethostbyname("n0.allowed.test") == first, [code_of(ask("a-new-one.allowed.test")) for _ in range(50)]]
"""
    # the name that is asked for afterwards was given its address before
    found, done = flood(online, "reaches('allowed.test')\n" + script, "allowed.test,*.allowed.test", timeout=100)
    codes, same, later = found
    assert codes["0"] in range(65000, 65537) and codes["2"] == 66500 - codes["0"] and same is True and set(later) == {2}
    assert len([line for line in done.own_lines if "as many as hutch has addresses for" in line]) == 1, done


def test_datagrams_from_more_sockets_than_there_are_flows(online):
    script = r"""
address = socket.gethostbyname("allowed.test")
right = 0
senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(1020)]
for round in range(3):
    for sender in senders:
        if sender.fileno() >= 0:
            sender.sendto(b"x", (address, 9000)); sender.close()
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(1020)]
for sender in senders: sender.close()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.settimeout(3); sender.sendto(b"last", (address, 9000))
    result = sender.recv(10).decode()
"""
    found, _ = flood(online, script, "allowed.test,allowed.test:9000/udp")
    assert found == "last"


# ---- the nat itself ----


def nat_of(process):
    """The process id of the network helper of a running hutch."""
    return wait_until(lambda: next((pid for pid, name in descendants(process.pid).items() if name.startswith("hutch-nat")), None), what="the nat")


def is_dead(pid):
    stat = read_stat(pid)
    return stat is None or stat[1] in "ZX"


HOLDING = DIALING + """
connection = dial("allowed.test", 5432); connection.sendall(b"x"); connection.recv(1)
print("flowing", flush=True)
while True:
    try: connection.sendall(b"x" * 1000); connection.recv(65536)
    except OSError: time.sleep(60)
"""


def holding(online, *options):
    process = online.start("run", "--network-allow", "allowed.test:5432", *options, "--", PYTHON, "-c", HOLDING, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "flowing\n", process.stderr.read()
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_nat_that_dies_ends_the_sandbox(online, number):
    with holding(online) as process:
        os.kill(nat_of(process), number)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 125 and "[hutch] the network helper (hutch-nat) has ended; ending the sandbox" in err, (process.returncode, err)


def test_a_stopped_nat_ends_with_hutch(online):
    with holding(online) as process:
        nat = nat_of(process)
        os.kill(nat, signal.SIGSTOP)
        process.terminate()
        process.communicate(timeout=15)
    assert is_dead(nat)


def test_nothing_is_left_when_hutch_is_killed_in_mid_flow(online):
    for _ in range(10):
        with holding(online, "--publish", "18765:8765") as process:
            nat = nat_of(process)
            process.kill()
            process.communicate(timeout=10)
        wait_until(lambda: is_dead(nat), what="the end of the nat")
    # the fixture nothing_left_behind looks for the nat, too


def open_files(pid):
    try:
        return {os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")}
    except OSError:
        return set()


def test_the_nat_is_confined(online):
    """No capability, no new privileges, a filter, an empty environment, no file and nothing of the client's."""
    with holding(online) as process:
        nat = nat_of(process)
        status = open(f"/proc/{nat}/status").read()
        assert re.search(r"NoNewPrivs:\s+1", status) and re.search(r"Seccomp:\s+2", status)
        assert re.search(r"CapEff:\s+0+\n", status) and re.search(r"CapPrm:\s+0+\n", status)
        if os.getuid() == 0:  # not dumpable, so its owner may not look
            links = [os.readlink(f"/proc/{nat}/fd/{entry}") for entry in os.listdir(f"/proc/{nat}/fd")]
            assert {re.sub(r"\W.*", "", link.removeprefix("/").removeprefix("anon_inode")) for link in links} <= {"socket", "dev", "pipe", ""}, links
            pipes = [link for link in links if link.startswith("pipe:")]  # what large transfers go through: both ends, and nobody else's
            assert len(pipes) == 2 and len(set(pipes)) == 1, links
            others = [other for other in os.listdir("/proc") if other.isdigit() and other != str(nat) and pipes[0] in open_files(other)]
            assert not others, others
            assert open(f"/proc/{nat}/environ").read() == ""
        process.kill()
        process.communicate(timeout=10)
