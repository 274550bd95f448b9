# SPDX-License-Identifier: Apache-2.0
"""What --network-allow and --network-deny mean: a server reaches what the rules name, by name, and nothing else."""
import json
import re
import subprocess
import time

import pytest
import world as w
from harness import DENY_ALL, PYTHON, STUB_COMMAND, TESTS

DIALING = (TESTS / "lib" / "dialing.py").read_text()


def test_without_a_rule_there_is_no_network(online):
    found, done = online.python("show([reaches('allowed.test'), reaches('198.51.100.10'), [name for _, name in socket.if_nameindex()]])")
    assert found == [False, False, ["lo"]]
    assert DENY_ALL in done.whole_err and not done.own_lines


def test_an_allowed_name_is_reached_and_no_other(online, world):
    with world.watch() as seen:
        found, done = online.python("show([reaches('allowed.test'), reaches('notallowed.test'), reaches('198.51.100.11'), get('allowed.test')])",
                                    "--network-allow", "allowed.test")
    assert found[:3] == [True, False, False]
    assert "WORLD GET Host=allowed.test SNI=- at=198.51.100.10" in found[3]
    assert not [line for line in seen if "notallowed" in line or w.OTHER in line]
    assert [line for line in seen if line.startswith("dns allowed.test")]  # the log does see what happens
    assert "[hutch] network: refused to look up notallowed.test: no rule allows it; to permit it: --network-allow notallowed.test" in done.own_lines
    assert "[hutch] network: refused 198.51.100.11:80: no rule allows it; to permit it: --network-allow 198.51.100.11" in done.own_lines


def test_a_refused_name_is_refused_at_once(online):
    found, _ = online.python("at = time.monotonic(); results = [fate('notallowed.test', 80) for _ in range(20)]\n"
                             "show([results, time.monotonic() - at])", "--network-allow", "allowed.test")
    assert found[0] == ["no such name"] * 20 and found[1] < 1


HOSTS = ["allowed.test", "www.allowed.test", "a.b.allowed.test", "xallowed.test", "allowed.test.evil.test", "neighbour.test"]
COVERED = {
    "allowed.test": {"allowed.test"},
    "ALLOWED.TEST.": {"allowed.test"},
    "*.allowed.test": {"www.allowed.test", "a.b.allowed.test"},
    "*.ALLOWED.test.": {"www.allowed.test", "a.b.allowed.test"},
    "allowed.test,*.allowed.test": {"allowed.test", "www.allowed.test", "a.b.allowed.test"},
    "allowed.test:80": {"allowed.test"},
    "allowed.test:443": set(),
    "allowed.test:79-81": {"allowed.test"},
    "allowed.test:81-90": set(),
    "allowed.test:80/udp": set(),
    "allowed.test/private": {"allowed.test"},
    "allowed.test:80/private": {"allowed.test"},
    "allowed.test:*": {"allowed.test"},
    "*.allowed.test:80": {"www.allowed.test", "a.b.allowed.test"},
    "public": set(HOSTS),
    "public:80": set(HOSTS),
    "public:443": set(),
}


@pytest.mark.parametrize("rule", COVERED)
def test_what_a_rule_covers(online, rule):
    found, _ = online.python(f"show([host for host in {HOSTS} if reaches(host)])", "--network-allow", rule)
    assert set(found) == COVERED[rule]


ADDRESSES = {
    "198.51.100.10": ["198.51.100.10"],
    "198.51.100.10:80": ["198.51.100.10"],
    "198.51.100.10:443": [],
    "198.51.100.10/31": ["198.51.100.10", "198.51.100.11"],
    "198.51.100.0/24:80": ["198.51.100.10", "198.51.100.11", "198.51.100.12"],
    "198.51.100.10:*": ["198.51.100.10"],
    "[2001:db8::10]:80": ["2001:db8::10"],
    "2001:db8::10": ["2001:db8::10"],
    "2001:db8::/32": ["2001:db8::10"],
    "[2001:db8::/64]:80": ["2001:db8::10"],
    "public": ["198.51.100.10", "198.51.100.11", "198.51.100.12", "2001:db8::10"],
    "10.9.8.7": ["10.9.8.7"],
    "10.0.0.0/8/private": [],
    "11.22.33.44": ["11.22.33.44"],
    "169.254.169.254:80": ["169.254.169.254"],
    "169.254.0.0/16": [],
}


@pytest.mark.parametrize("rule", ADDRESSES)
def test_what_a_literal_address_covers(online, rule):
    tried = ["198.51.100.10", "198.51.100.11", "198.51.100.12", "2001:db8::10", "10.9.8.7", "11.22.33.44", "169.254.169.254"]
    found, _ = online.python(f"show([host for host in {tried} if reaches(host, name='h.test')])", "--network-allow", rule)
    assert found == ADDRESSES[rule]


def test_deny_wins(online):
    hosts = ["allowed.test", "www.allowed.test", "a.b.allowed.test", "198.51.100.10", "198.51.100.11"]
    for deny, left in {"www.allowed.test": ["allowed.test", "a.b.allowed.test", "198.51.100.10", "198.51.100.11"],
                       "*.allowed.test": ["allowed.test", "198.51.100.10", "198.51.100.11"],
                       "198.51.100.11": ["allowed.test", "www.allowed.test", "a.b.allowed.test", "198.51.100.10"],
                       "198.51.100.10": ["198.51.100.11"],  # a denied address is denied to names too
                       "allowed.test:443": hosts}.items():
        found, _ = online.python(f"show([host for host in {hosts} if reaches(host, name=host if host[0] != '1' else 'x.test')])",
                                 "--network-allow", "public", "--network-deny", deny)
        assert found == left, deny


def test_a_denied_name_is_reported_as_denied(online):
    """No option to permit it is named: there is none beside the one that refuses it."""
    _, done = online.python("show(get('www.allowed.test'))", "--network-allow", "public", "--network-deny", "www.allowed.test")
    assert done.own_lines == ["[hutch] network: refused to look up www.allowed.test: --network-deny names it"], done


MALFORMED = {
    "*": "public", "*.com": "example.com", "https://a.test/x": "a.test", "a.test:": "a.test", "a.test:0": "", "a.test:65536": "", "a.test:9-8": "",
    "a b.test": "", "a..test": "", "a.test,,b.test": "", "-a.test": "", "1.2.3": "", "1.2.3.4/33": "", "[2001:db8::1": "", "a.test:http": "",
    "*.*.a.test": "", "a.*.test": "", "user@a.test": "", "a.test/tcp": "", "2001:db8::1:80/129": "", "*.co.uk": "", "": "", ",": "", "a.test:80/udp/udp": "",
}


@pytest.mark.parametrize("rule", MALFORMED)
@pytest.mark.parametrize("option", ["--network-allow", "--network-deny"])
def test_a_malformed_rule_is_a_usage_error(online, option, rule):
    done = online("run", option, rule, "--", "true")
    if option == "--network-deny" and rule in ("*", "*.com", "*.co.uk"):
        assert done.status in (0, 2)  # what may be said where something is forbidden is the unit tests' business
        return
    assert done.status == 2 and done.out == "" and option in done.own_lines[0], done
    assert MALFORMED[rule] in done.own_lines[0]


def test_reports_name_the_rule_that_was_nearly_there(online):
    _, done = online.python("show([reaches(host) for host in ('www.allowed.test', 'neighbour.test')] + [fate('allowed.test', 5432)])",
                            "--network-allow", "allowed.test,*.neighbour.test")
    text = "\n".join(done.own_lines)
    assert "--network-allow www.allowed.test (allowed.test covers that name alone; *.allowed.test covers what is below it)" in text
    assert "--network-allow neighbour.test (*.neighbour.test does not cover neighbour.test itself)" in text
    assert "refused allowed.test:5432: the rules allow it on other ports only; to permit it: --network-allow allowed.test:5432" in text


def test_the_suggested_rule_works(online):
    script = "show([reaches('www.allowed.test'), fate('allowed.test', 5432, b'x'), reaches('2001:db8::10', name='x.test')])"
    found, done = online.python(script, "--network-allow", "allowed.test")
    assert found == [False, "ConnectionRefusedError", False]
    rules = re.findall(r"--network-allow (\S+)", done.err)
    found, done = online.python(script, "--network-allow", ",".join(["allowed.test", *rules]))
    assert found == [True, "x", True], (rules, done)


# ---- names ----


def test_every_kind_of_question(online, world):
    """A and AAAA are synthetic, HTTPS and SVCB and ANY empty, others forwarded for allowed names only."""
    script = """
kinds = [1, 28, 65, 64, 255, 16, 15, 33, 6, 2, 12, 5, 257, 41, 43, 46, 48, 250, 252, 10, 65280]
show([[kind, code_of(reply := ask("allowed.test", kind)), answers_of(reply), code_of(ask("refused.test", kind))] for kind in kinds])
"""
    with world.watch() as seen:
        found, _ = online.python(script, "--network-allow", "allowed.test,mail.allowed.test")
    by_kind = {kind: rest for kind, *rest in found}
    assert by_kind[1] == [0, 1, 3] and by_kind[28] == [0, 1, 3]
    for kind in (65, 64, 255):
        assert by_kind[kind] == [0, 0, 3], kind
    assert by_kind[16][:2] == [0, 1] and by_kind[15][:2] == [0, 1]
    assert by_kind[33][0] != 0 or by_kind[33][1] == 0  # its target is a name that no rule allows
    assert all(answer[2] == 3 for answer in by_kind.values()), found
    assert not [line for line in seen if "refused" in line]
    assert "dns allowed.test 16 udp" in seen and "dns allowed.test 1 udp" not in seen


def test_the_resolver_answers_on_every_address_and_transport(online):
    script = """
servers = ["1.1.1.1", "198.51.100.53", "198.18.0.1", "8.8.8.8", "2606:4700::1111", "fd68:7574:6368::1"]
show([[code_of(ask("allowed.test", 1, (server, 53), tcp)) for tcp in (False, True)] for server in servers])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test")
    assert found == [[0, 0]] * 6


def test_edns_case_and_oddities(online):
    script = r"""
opt = b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0)
cookie = b"\0" + struct.pack(">HHIH", 41, 4096, 0, 12) + struct.pack(">HH", 10, 8) + b"12345678"
mixed = ask("AlLoWeD.TeSt", 1)
show({
    "edns": code_of(ask("allowed.test", 1, extra=opt, additional=1)), "cookie": code_of(ask("allowed.test", 1, extra=cookie, additional=1)),
    "mixed": [code_of(mixed), b"AlLoWeD" in mixed], "chaos": code_of(ask("version.bind", 16, klass=3)),
    "root": code_of(ask("", 2)), "not recursive": code_of(ask("allowed.test", 1, flags=0)), "status": code_of(ask("allowed.test", 1, flags=0x1100)),
    "update": code_of(ask("allowed.test", 6, flags=0x2800)), "a reply": ask("allowed.test", 1, flags=0x8180, timeout=0.3),
    "bytes": code_of(ask("\xff\0.allowed.test", 1)), "big txt": answers_of(ask("allowed.test", 16, tcp=True)),
    "cut txt": answers_of(ask("www.allowed.test", 16, extra=opt, additional=1))})
"""
    found, _ = online.python(script, "--network-allow", "allowed.test,*.allowed.test")
    assert found["edns"] == 0 and found["cookie"] == 0 and found["mixed"] == [0, True]
    assert found["chaos"] in (3, 5) and found["root"] in (3, 5) and found["not recursive"] == 0
    assert found["status"] == 4 and found["update"] == 4 and found["a reply"] is None
    assert found["bytes"] == 3 and found["big txt"] >= 1
    assert found["cut txt"] is not None


def test_many_questions_on_one_connection(online):
    """RFC 7766: in one segment, byte by byte, and a client that ends its half before the answers are there."""
    script = r"""
def framed(number, kind=1):
    message = struct.pack(">HHHHHH", number, 256, 1, 0, 0, 0) + b"\7allowed\4test\0" + struct.pack(">HH", kind, 1)
    return struct.pack(">H", len(message)) + message
def identifiers(connection, count=None):
    reader, found = connection.makefile("rb"), []
    while len(found) != count and len(head := reader.read(2)) == 2:
        found.append(reader.read(struct.unpack(">H", head)[0])[1])
    return found
with dial("9.9.9.9", 53) as connection:
    connection.sendall(framed(1) + framed(2, 16) + framed(3))
    first = sorted(identifiers(connection, 3))
    for byte in framed(4): connection.sendall(bytes([byte]))
    second = identifiers(connection, 1)
with dial("9.9.9.9", 53) as connection:
    connection.sendall(framed(5) + framed(6, 16) + framed(7, 15)); connection.shutdown(socket.SHUT_WR)
    third = sorted(identifiers(connection))
show([first, second, third])
"""
    assert online.python(script, "--network-allow", "allowed.test,mail.allowed.test")[0] == [[1, 2, 3], [4], [5, 6, 7]]


def test_names_keep_their_addresses_and_never_share_them(online):
    found, _ = online.python("show([[socket.gethostbyname(name) for _ in range(2)] for name in ('allowed.test', 'www.allowed.test', 'ALLOWED.test')])",
                             "--network-allow", "allowed.test,www.allowed.test")
    (one, same), (two, _), (third, _) = found
    assert one == same == third != two and one.startswith("198.18.")


def test_a_name_that_does_not_exist_fails_with_a_reason(online):
    found, done = online.python("show(fate('empty.test', 80))", "--network-allow", "empty.test", "-v")
    assert found in ("ConnectionResetError", "ConnectionRefusedError", "OSError"), (found, done)


@pytest.mark.parametrize("text", ["", "# nothing\nsearch example.org\n"])
def test_a_host_without_a_resolver(online, world, text):
    """The sandbox starts; what fails says why; what needs no name works."""
    script = "show([fate('allowed.test', 80), reaches('198.51.100.10', name='x.test'), reaches('in-hosts.test')])"
    path = world.directory / "no-resolver"
    path.write_text(text)
    instead = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--propagation", "private", "sh", "-c",
               f'mount --bind {path} "$(realpath /etc/resolv.conf)" && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh"]
    done = online("run", "--network-allow", "allowed.test,198.51.100.10,in-hosts.test", "--", PYTHON, "-c", DIALING + script, before=instead)
    assert done.status == 0 and json.loads(done.out) == ["ConnectionResetError", True, True], done
    assert "[hutch] network: cannot reach allowed.test:80: this machine has no name server (/etc/resolv.conf names none)" in done.own_lines


def test_what_cannot_be_reached_is_said_once_with_the_reason(online):
    script = "show([[fate('allowed.test', 81), fate('empty.test', 81), fate('localhost', 81), fate('2001:db8::10', 82)] for _ in range(3)])"
    found, done = online.python(script, "--network-allow", "allowed.test:81,empty.test:81,[2001:db8::10]:82", "--host-port", "81")
    assert found == [["ConnectionResetError"] * 4] * 3
    for text in ("allowed.test:81: Connection refused", "empty.test:81: the name has no address", "localhost:81: Connection refused",
                 "[2001:db8::10]:82: Connection refused"):
        assert done.own_lines.count(f"[hutch] network: cannot reach {text}") == 1, done


def test_a_rotating_name_is_followed(online):
    script = "seen = set()\nfor _ in range(40):\n    seen.add(get('rotate.test').split('at=')[1].split()[0])\n    if len(seen) > 1: break\n    time.sleep(0.1)\nshow(sorted(seen))"
    found, _ = online.python(script, "--network-allow", "rotate.test")
    assert len(found) > 1  # each answer holds for its second, not for the run


@pytest.mark.parametrize("name", ["allowed.test", "six.test", "empty.test"])
def test_many_connections_cost_few_questions(online, world, name):
    """What the world says is kept, also that there is no address of one family."""
    with world.watch() as seen:
        online.python(f"show([fate('{name}', 5432, b'x') for _ in range(100)])", "--network-allow", f"{name}:5432")
    questions = [line for line in seen if line.startswith("dns ")]
    assert {line.split()[2] for line in questions} == {"1", "28"} and len(questions) <= 8, questions  # a second's lifetime each


def test_the_hosts_file_is_read(online):
    found, done = online.python("show([reaches('in-hosts.test'), reaches('hosts-loopback.test')])",
                                "--network-allow", "in-hosts.test,hosts-loopback.test")
    assert found == [True, False], done
    assert "refused hosts-loopback.test:80: it leads to 127.0.0.1" in done.err


def test_the_inner_resolver_is_the_only_one_named(online):
    out = online.inside("cat /etc/resolv.conf", "--network-allow", "allowed.test")
    assert re.findall(r"nameserver (\S+)", out) == ["198.18.0.1"], out


def test_getaddrinfo_with_both_families(online):
    found, _ = online.python("show(sorted({info[0].name for info in socket.getaddrinfo('six.test', 80, socket.AF_UNSPEC, socket.SOCK_STREAM)}))",
                             "--network-allow", "six.test")
    assert found == ["AF_INET", "AF_INET6"]


# ---- happy eyeballs ----


@pytest.mark.parametrize("name, most", [("dead-six.test", 0.3), ("no-route-six.test", 0.2), ("dead-four.test", 0.3), ("dead-first.test", 0.4),
                                        ("both.test", 0.2), ("slow-six.test", 0.2), ("six.test", 0.2)])
def test_a_dead_address_costs_little(online, name, most):
    """RFC 8305, for clients of either family: the inner family says nothing about the outer."""
    script = f"""
def took(family):
    address = socket.getaddrinfo('{name}', 80, family, socket.SOCK_STREAM)[0][4]
    at = time.monotonic()
    ok = reaches(address[0], name='{name}')
    return [ok, time.monotonic() - at]
socket.gethostbyname('{name}')
show([took(socket.AF_INET), took(socket.AF_INET6)])
"""
    best = []
    for _ in range(3):  # a busy machine may be late once
        found, done = online.python(script, "--network-allow", name)
        assert [ok for ok, _ in found] == [True, True], done
        best.append(max(seconds for _, seconds in found))
        if best[-1] <= most:
            return
    raise AssertionError(best)


def test_a_refused_first_address_costs_nothing(online):
    """The port is open on the second address alone."""
    script = "at = time.monotonic(); result = fate('both.test', 22, b'x')\nshow([result, time.monotonic() - at])"
    found, done = online.python(script, "--network-allow", "both.test:22")  # IPv6 first, where nothing listens
    assert found[0].startswith("SSH-2.0-test") and found[1] < 0.25, (found, done)


def test_name_servers_that_are_silent_end_in_time(online):
    found, _ = online.python("at = time.monotonic(); result = fate('silent.test', 80)\nshow([result, time.monotonic() - at])",
                             "--network-allow", "silent.test", timeout=60)
    assert found[0] in ("ConnectionResetError", "TimeoutError") and found[1] < 21


# ---- what the client says about where it goes ----


HELLO = '''
import ssl
def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
def records(hello, size):
    body = hello[5:]
    return b"".join(hello[:3] + struct.pack(">H", len(part)) + part for part in (body[i:i + size] for i in range(0, len(body), size)))
def answered(host, pieces, port=443, gap=0.0):
    """Whether the server's first TLS record came back."""
    try:
        with dial(host, port) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(gap)
            return connection.recv(1)[:1] == b"\\x16"
    except OSError:
        return False
def segments(data, size): return [data[i:i + size] for i in range(0, len(data), size)]
'''


def test_tls_server_name(online, world):
    script = HELLO + """
true, false, none = hello("allowed.test"), hello("neighbour.test"), hello(None)
show({"true": answered("allowed.test", [true]), "false": answered("allowed.test", [false]), "none": answered("allowed.test", [none]),
      "true in records": answered("allowed.test", [records(true, 7)]), "false in records": answered("allowed.test", [records(false, 7)]),
      "true in segments": answered("allowed.test", segments(true, 40), gap=0.002),
      "false in segments": answered("allowed.test", segments(false, 40), gap=0.002),
      "true in both": answered("allowed.test", segments(records(true, 50), 33), gap=0.002),
      "false in both": answered("allowed.test", segments(records(false, 50), 33), gap=0.002),
      "false in bytes": answered("allowed.test", segments(false[:120], 1) + [false[120:]], gap=0.001),
      "upper case": answered("allowed.test", [hello("ALLOWED.test")]),
      "literal with a name": answered("198.51.100.12", [false])})
"""
    with world.watch() as seen:
        found, done = online.python(script, "--network-allow", "allowed.test,198.51.100.12")
    assert {key for key, ok in found.items() if ok} == {"true", "true in records", "true in segments", "true in both", "upper case", "literal with a name"}, (found, done)
    assert "refused a connection to allowed.test:443: its TLS server name is neighbour.test; to permit that: --network-allow neighbour.test" in done.err
    assert not [line for line in seen if "http" in line]


def test_http_host(online, world):
    script = r"""
def send(*lines, pieces=1, port=80):
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    try:
        with dial("allowed.test", port) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(pieces):
                connection.sendall(head[len(head) * i // pieces:len(head) * (i + 1) // pieces])
                if pieces > 1: time.sleep(0.001)
            return b"200 OK" in read_all(connection)
    except OSError:
        return False
get = "GET / HTTP/1.1"
show({"true": send(get, "Host: allowed.test"), "with port": send(get, "Host: allowed.test:80"), "upper": send(get, "hOST: ALLOWED.TEST"),
      "final dot": send(get, "Host: allowed.test."), "true in pieces": send(get, "Host: allowed.test", pieces=40),
      "absolute": send("GET http://allowed.test/ HTTP/1.1", "Host: allowed.test"),
      "false": send(get, "Host: neighbour.test"), "false in pieces": send(get, "Host: neighbour.test", pieces=40),
      "two": send(get, "Host: allowed.test", "Host: neighbour.test"), "none": send("GET / HTTP/1.0"), "none 1.1": send(get),
      "absolute false": send("GET http://neighbour.test/ HTTP/1.1", "Host: allowed.test"),
      "folded": send(get, "Host: allowed.test", " neighbour.test"), "space": send(get, "Host : neighbour.test", "Host: allowed.test"),
      "bare line feeds": send("GET / HTTP/1.1\nHost: neighbour.test\n\nGET / HTTP/1.1", "Host: allowed.test"),
      "h2c": send(get, "Host: allowed.test", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
      "connect": send("CONNECT neighbour.test:443 HTTP/1.1", "Host: allowed.test")})
"""
    with world.watch() as seen:
        found, done = online.python(script, "--network-allow", "allowed.test")
    assert {key for key, ok in found.items() if ok} == {"true", "with port", "upper", "final dot", "true in pieces", "absolute"}, (found, done)
    assert not [line for line in seen if line.startswith("http") and "neighbour" in line]
    assert "its HTTP Host is neighbour.test" in done.err


def test_servers_that_speak_first_are_not_kept_waiting(online):
    script = """
def talk(port):
    at = time.monotonic()
    with dial("allowed.test", port) as connection:
        first = connection.recv(100)
        took = time.monotonic() - at
        connection.sendall(b"abc")
        return [len(first), took, connection.recv(3).decode()]
show([talk(port) for port in (25, 3306, 22)])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test:22,allowed.test:25,allowed.test:3306")
    for first, took, echo in found:
        assert first > 0 and took < 0.5 and echo == "ABC"


def test_clients_that_speak_no_tls_pass(online):
    script = """
show([fate("allowed.test", 5432, message) for message in (b"ping", bytes([0, 0, 0, 8, 4, 210, 22, 47]), b"", b"PRI * HTTP/2", b"\\x00")])
"""
    found, _ = online.python(script, "--network-allow", "allowed.test:5432")
    assert found[0] == "ping" and found[1] == "\0\0\0\x08\x04\xd2\x16/" and found[2] == "" and found[4] == "\0", found


# ---- UDP ----


def test_udp_rules(online, world):
    script = """
def echo(host, message=b"ping", port=9000, timeout=2):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(timeout)
        try:
            sender.connect((socket.getaddrinfo(host, port, family)[0][4][0], port))
            sender.send(message)
            return len(sender.recv(65536))
        except OSError as error:
            return type(error).__name__
show([echo("allowed.test"), echo("allowed.test", b"x" * 1400), echo("198.51.100.11"), echo("2001:db8::10"), echo("198.51.100.12", timeout=0.3),
      echo("allowed.test", port=9001, timeout=0.3), fate("allowed.test", 9000)])
"""
    with world.watch() as seen:
        found, done = online.python(script, "--network-allow", "allowed.test:9000/udp,198.51.100.11:9000/udp,[2001:db8::10]:9000/udp")
    assert found[:4] == [4, 1400, 4, 4], (found, done)
    assert isinstance(found[4], str) and isinstance(found[5], str) and found[6] == "ConnectionRefusedError"
    assert f"udp 9000 at {w.WEB6}" in seen
    for text in ("198.51.100.12:9000/udp", "allowed.test:9001/udp", "allowed.test:9000:"):
        assert f"refused {text}" in done.err, (text, done.err)


def test_many_datagrams_on_many_sockets(online):
    script = """
senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(200)]
address = socket.gethostbyname("allowed.test")
right = 0
for number, sender in enumerate(senders):
    sender.settimeout(3); sender.connect((address, 9000))
for round in range(3):
    for number, sender in enumerate(senders):
        sender.send(b"%d %d" % (number, round))
        right += sender.recv(100) == b"%d %d" % (number, round)
show(right)
"""
    found, _ = online.python(script, "--network-allow", "allowed.test:9000/udp")
    assert found == 600


# ---- every port ----


def test_every_port(online):
    script = """
show([fate("allowed.test", 5432, b"x"), reaches("allowed.test"), fate("allowed.test", 81), fate("allowed.test", 22)[:3], fate("notallowed.test", 5432),
      fate("198.51.100.11", 5432, b"x"), code_of(ask("allowed.test", tcp=True))])
"""
    for rule in ("allowed.test:*", "allowed.test:1-10000"):
        found, done = online.python(script, "--network-allow", rule)
        assert found[:2] == ["x", True] and found[3] == "SSH" and found[4] == "no such name" and found[6] == 0, done
        assert found[2] == "ConnectionResetError" and found[5] == "ConnectionResetError", done
    assert "refused 198.51.100.11:5432" in done.err


def test_every_port_in_both_families(online):
    script = """
def talk(family):
    with socket.socket(family) as connection:
        connection.connect(socket.getaddrinfo("allowed.test", 5432, family)[0][4]); connection.sendall(b"x"); return connection.recv(1).decode()
show([talk(socket.AF_INET), talk(socket.AF_INET6)])
"""
    assert online.python(script, "--network-allow", "allowed.test:*")[0] == ["x", "x"]


def test_port_53_is_the_resolver(online):
    for rule in ("allowed.test:53", "allowed.test:53/udp", "198.51.100.53:53"):
        done = online("run", "--network-allow", rule, "--", "true")
        assert done.status == 2 and "port 53 of every address is the sandbox's resolver" in done.own_lines[0], done
    script = "show([reaches('allowed.test'), code_of(ask('allowed.test', tcp=True)), code_of(ask('allowed.test'))])"
    for rule in ("allowed.test:50-90", "allowed.test,allowed.test:50-90/udp", "allowed.test:1-10000", "allowed.test:*"):
        assert online.python(script, "--network-allow", rule)[0] == [True, 0, 0], rule


# ---- host ports and published ports ----


def test_a_port_of_the_hosts_loopback(online):
    for options in (["--host-port", "8000"], ["--network-allow", "localhost:8000"]):
        found, _ = online.python("show([get('localhost', 8000), get('127.0.0.1', 8000), get('::1', 8000), fate('127.0.0.1', 5432)])", *options)
        assert all("HOST-LOOPBACK GET" in text for text in found[:3]), found
        assert found[3] == "ConnectionRefusedError"
    found, _ = online.python("show([get('localhost', 18000), fate('localhost', 8000)])", "--host-port", "18000:8000")
    assert "HOST-LOOPBACK" in found[0] and found[1] == "ConnectionRefusedError"


def test_a_host_port_where_nothing_listens_fails_and_later_works(online):
    found, _ = online.python("show(fate('localhost', 81))", "--host-port", "81")
    assert found == "ConnectionResetError"


def test_the_inner_loopback_is_its_own(online):
    script = """
server = socket.create_server(("127.0.0.1", 8000)); client = dial("127.0.0.1", 8000); accepted, _ = server.accept(); accepted.sendall(b"inner"); accepted.close()
show(read_all(client).decode())
"""
    assert online.python(script, "--network-allow", "allowed.test")[0] == "inner"


SERVER = """
import signal, threading
def serve(connection):
    data = connection.recv(65536)
    connection.sendall(b"inside got " + data); connection.close()
server = socket.create_server((%r, %d), family=socket.AF_INET6 if ":" in %r else socket.AF_INET, backlog=512)
print("listening", flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def published(online, address, *options, script=SERVER):
    text = DIALING + script % (address, 8765, address)
    process = online.start("run", *options, "--", PYTHON, "-c", text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "listening\n", process.stderr.read()
    return process


CLIENT = """
import sys; from concurrent.futures import ThreadPoolExecutor
def once(number):
    return fate(sys.argv[1], int(sys.argv[2]), b"%d" % number) == f"inside got {number}"
count = int(sys.argv[3])
with ThreadPoolExecutor(64) as pool:
    show([sum(pool.map(once, range(count))), count])
"""


def call_published(world, port, count=1, address="127.0.0.1"):
    done = world.run(PYTHON, "-c", DIALING + CLIENT, address, port, count)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0"])
def test_a_published_port(online, world, address):
    with published(online, address, "--publish", "18765:8765") as process:
        assert call_published(world, 18765) == [1, 1]
        assert call_published(world, 8765) == [0, 1]
        for elsewhere in (w.WEB, w.OWN, "::1"):
            assert call_published(world, 18765, address=elsewhere) == [0, 1]
        process.terminate()
        process.communicate(timeout=10)
    assert call_published(world, 18765) == [0, 1]


def test_many_connections_to_a_published_port(online, world):
    with published(online, "127.0.0.1", "--publish", "8765") as process:
        assert call_published(world, 8765, 1000) == [1000, 1000]
        process.terminate()
        _, err = process.communicate(timeout=10)
        assert "did not accept" not in err


def test_a_published_port_that_is_taken(online):
    done = online("run", "--publish", str(w.LOOPBACK_PORT), "--", "true")
    assert done.status == 125 and f"--publish {w.LOOPBACK_PORT}: cannot listen on 127.0.0.1:{w.LOOPBACK_PORT}" in done.own_lines[-1], done


def test_a_published_port_that_only_root_may_open(online, am_root):
    done = online("run", "--publish", "79", "--", "true")
    if am_root:
        assert done.status == 0, done
        return
    assert done.status == 125 and "Permission denied" in done.err and "use --publish 8079:79" in done.own_lines[-1], done


def test_a_published_port_before_the_server_listens(online, world):
    """Connections that come too early fail at once; a later one works."""
    script = SERVER.replace("server =", "print('listening', flush=True); sys.stdin.readline(); server =")
    text = DIALING + script % ("127.0.0.1", 8765, "127.0.0.1")
    process = online.start("run", "--publish", "8765", "--", PYTHON, "-c", text, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "listening\n"
        # Many: pid 1 may still hold a refused socket that the nat has closed already.
        assert call_published(world, 8765, 2000) == [0, 2000]
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "listening\n"
        assert call_published(world, 8765) == [1, 1]
        process.terminate()
        process.communicate(timeout=10)


# ---- reports ----


def test_each_refused_destination_is_said_once(online):
    script = """
for _ in range(5):
    fate("198.51.100.11", 80); fate("198.51.100.11", 4444); fate("2001:db8::10", 4444); fate("notallowed.test", 80)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender: sender.sendto(b"x", ("198.51.100.11", 4444))
fate("allowed.test", 80)
show(0)
"""
    _, done = online.python(script, "--network-allow", "allowed.test")
    for text in ("refused 198.51.100.11:80: ", "refused 198.51.100.11:4444: ", "refused [2001:db8::10]:4444: ", "refused to look up notallowed.test: ",
                 "refused 198.51.100.11:4444/udp: "):
        assert done.err.count(text) == 1, (text, done.err)


def test_reports_are_bounded(online):
    script = """
for port in range(10000, 12000): fate("198.51.100.11", port)
for number in range(2000): ask(f"n{number}.evil.test")
show(reaches("allowed.test"))
"""
    found, done = online.python(script, "--network-allow", "allowed.test")
    assert found is True and len(done.own_lines) < 140 and "refused so many destinations" in done.err


def test_a_server_under_mcp_has_the_network_too(online, strict, world):
    """The client's channel stays clean while refusals are reported."""
    client = strict("--network-allow", "allowed.test", before=world.before(online.directory), command=STUB_COMMAND)
    assert client.request("ping")["result"] == {}
