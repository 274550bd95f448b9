# SPDX-License-Identifier: Apache-2.0
"""Attempts on what the network needs of the host: the proxy and its password, the log, the resolver's
configuration, the certificates that a variable names."""
import base64
import os
import shutil

import pytest

from harness import PYTHON
from offline import world  # noqa: F401 (a fixture)

ALLOW = ("--network-allow", "allowed.test")
RAW = """
import socket, sys
try:
    s = socket.create_connection(('allowed.test', 80), timeout=20)
    s.settimeout(20)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n')
    got = b''
    while data := s.recv(65536): got += data
    print('got', len(got), got[:40])
except OSError as e: print('failed', type(e).__name__)
"""

HOSTILE = {
    "no HTTP": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\n\r\n",
    "HTTP/1.10": b"HTTP/1.10 200 OK\r\n\r\n",
    "two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "signed": b"HTTP/1.1 +20 OK\r\n\r\n",
    "bare line feeds": b"HTTP/1.1 200 OK\n\n",
    "half bare": b"HTTP/1.1 200 OK\nX: y\r\n\r\n",
    "NUL": b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
    "NUL in the status": b"HTTP/1.1 200\0OK\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
    "blank before the colon": b"HTTP/1.1 200 OK\r\nX : a\r\n\r\n",
    "no colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: http://198.51.100.11/\r\n\r\n",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 20000 + b"\r\n\r\n",
    "nothing": b"",
    "half": b"HTTP/1.1 200 OK\r\nX: y\r\n",
    "terminal control": b"HTTP/1.1 503 \x1b]0;owned\x07\r\n\r\n",
    "a quote": b'HTTP/1.1 503 ","forged":"1\r\n\r\n',
}


@pytest.mark.parametrize("reply", HOSTILE)
def test_a_hostile_proxys_answer_is_no_connection(world, reply):
    (world.directory / "reply").write_bytes(HOSTILE[reply])
    log = world.hutch.home / "log"
    done = world.run("run", "--log", log, *ALLOW, "--", PYTHON, "-c", RAW, env={"HTTPS_PROXY": "http://198.51.100.12:3130"})
    assert done.status == 0 and done.out.startswith(("failed", "got 0 ")), done
    text = done.err + log.read_text()
    assert "\x1b" not in text and "forged" not in text and "owned" not in text
    assert sum("the proxy 198.51.100.12:3130" in line and "gives no connection" in line for line in done.own_lines) == 1, done


def test_an_honest_answer_in_the_same_place_is_one(world):
    """So that the rows above mean something; and what stands behind the head is the server's, to the byte."""
    (world.directory / "reply").write_bytes(b"HTTP/1.0 200\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n12345")
    done = world.run("run", *ALLOW, "--", PYTHON, "-c", RAW, env={"HTTPS_PROXY": "http://198.51.100.12:3130"})
    assert done.out.startswith("got 5 b'12345'"), done


def test_a_proxy_that_never_answers_holds_nothing_else(world):
    (world.directory / "reply").write_bytes(b"HTTP/1.1 200 OK\r\n")
    (world.directory / "hang").write_text("")
    script = "import socket,threading,time\nfor i in range(50):\n s=socket.socket();s.setblocking(False)\n try: s.connect(('allowed.test',80))\n" \
             " except BlockingIOError: pass\n globals()[f's{i}']=s\nt=time.monotonic()\nsocket.getaddrinfo('allowed.test',80)\n" \
             "print(time.monotonic()-t<2)"
    done = world.run("run", *ALLOW, "--", PYTHON, "-c", script, env={"HTTPS_PROXY": "http://198.51.100.12:3130"})
    assert done.out == "True\n", done


@pytest.mark.parametrize("value", ["http://u:CANARYpass@198.51.100.12:3129", "http://CANARYpass@198.51.100.12:3129"])
def test_the_password_cannot_be_found_from_inside(world, value):
    """In the environment and memory of every process that can be seen, and in every request that reaches the server."""
    secret = "CANARYpass"
    forms = [secret, base64.b64encode(f"u:{secret}".encode()).decode(), base64.b64encode(f"{secret}:".encode()).decode()]
    script = "import glob,sys\nfound=0\nfor name in glob.glob('/proc/*/environ')+glob.glob('/proc/*/cmdline')+glob.glob('/proc/*/mem'):\n" \
             " try:\n  f=open(name,'rb')\n  if name.endswith('mem') and '/self/' not in name and '/thread-self/' not in name: print('opened',name)\n" \
             "  elif not name.endswith('mem'):\n   d=f.read()\n   found+=any(w.encode() in d for w in sys.stdin_words)\n except OSError: pass\nprint(found)"
    script = script.replace("sys.stdin_words", "WORDS")
    script = "WORDS=[''.join(map(chr,w)) for w in " + repr([[ord(c) for c in form] for form in forms]) + "]\n" + script
    done = world.run("run", *ALLOW, "--", PYTHON, "-c", script, env={name: value for name in ("HTTPS_PROXY", "http_proxy", "ALL_PROXY")})
    lines = done.out.splitlines()
    assert lines[-1] == "0", done
    assert not [line for line in lines[:-1] if line == "opened /proc/1/mem"], done


def test_a_name_cannot_end_the_request_line(world):
    """What the sandbox asks for reaches the proxy as a name, or not at all."""
    script = "import socket\nfor n in ['allowed.test\\r\\nX: y','allowed.test:80 HTTP/1.1','allowed.test/@x','allowed.test\\0','ALLOWED.TEST.']:\n" \
             " try: socket.create_connection((n,80),timeout=10).close()\n except (OSError,UnicodeError,ValueError): pass"
    world.run("run", "--network-allow", "allowed.test,*.test", "--", PYTHON, "-c", script, env={"HTTPS_PROXY": "http://198.51.100.12:3128"})
    assert set(world.log("proxy.log").splitlines()) <= {"allowed.test:80 -"}


# the log

@pytest.mark.parametrize("place", ["granted/log", "granted/below/log", "link/log", "granted/out/log", "granted/planted"])
def test_a_log_that_the_sandbox_could_write_is_refused(hutch, place):
    home = hutch.home
    for directory in ("granted/below", "elsewhere"):
        (home / directory).mkdir(parents=True)
    (home / "link").symlink_to("granted/below")
    (home / "granted/out").symlink_to(home / "elsewhere")  # as an earlier run may have left it
    (home / "granted/planted").symlink_to(home / "notes.txt")
    before = (home / "notes.txt").read_text()
    done = hutch("run", "--rw", home / "granted", "--log", home / place, "--", "true")
    assert done.status == 125 and "outside every writable grant" in done.err, done
    assert (home / "notes.txt").read_text() == before and not list((home / "elsewhere").iterdir())
    assert hutch("run", "--rw", home / "granted", "--log", home / "log", "--", "true").status == 0


def test_a_granted_file_is_no_log(hutch):
    log = hutch.home / "log"
    log.write_text("")
    assert hutch("run", "--rw", log, "--log", log, "--", "true").status == 125
    assert hutch("run", "--rw", hutch.home / "log:/tmp/x", "--log", log, "--", "true").status == 125
    assert log.read_text() == ""


def test_the_log_is_not_there_inside(hutch):
    log = hutch.home / "log"
    done = hutch("run", "--log", log, "--", "sh", "-c", f"ls -l /proc/self/fd; cat {log}; echo forged >> {log}")
    assert str(log) not in done.out and "forged" not in log.read_text(), done


def test_names_cannot_forge_a_line(world):
    log = world.hutch.home / "log"
    script = "import socket\nq=lambda n:bytes.fromhex('123401000001000000000000')+b''.join(bytes([len(l)])+l for l in n)+b'\\0\\0\\1\\0\\1'\n" \
             "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.settimeout(5)\n" \
             "for n in [[b'a\"},{\"forged\":\"1'],[b'a\\n{\"forged\":1}'],[b'\\x1b[2J'],[b'\\xff\\xfe']]:\n" \
             " s.sendto(q(n),('198.18.0.1',53))\n try: s.recv(512)\n except OSError: pass"
    done = world.run("run", "--log", log, *ALLOW, "--", PYTHON, "-c", script)
    import json
    for line in log.read_text().splitlines():
        assert "forged" not in json.loads(line), line
    assert log.read_text().isprintable() or all(c.isprintable() or c == "\n" for c in log.read_text())
    assert "\x1b" not in done.err


# the resolver's configuration

def test_a_storm_of_changes_costs_no_answer(world):
    """Half-written, absent and back, a hundred times: the command is answered all the time."""
    # A refusal takes no time: without the pause a hundred would fit into one moment in which the test was kept from going on.
    script = "import time, urllib.request as u\nfor i in range(200):\n try: print(u.urlopen('http://allowed.test/',timeout=20).read().decode(),end='')\n" \
             " except OSError as e: print('failed',e); time.sleep(0.1)\nprint('end')"
    import subprocess
    process = world.start("run", *ALLOW, "--", PYTHON, "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    resolv = world.etc / "resolv.conf"
    for i in range(100):
        new = resolv.with_name("new")
        new.write_text("nameserver 198.51.100.5%d\n" % (3 + i % 2))
        if i % 5 == 0:
            resolv.unlink(missing_ok=True)
        new.rename(resolv)
    resolv.write_text("nameserver 198.51.100.53\n")
    lines = process.communicate(timeout=60)[0].splitlines()
    assert lines[-1] == "end" and process.returncode == 0
    assert sum(line.startswith("served by") for line in lines) >= 190, lines


def test_resolv_conf_cannot_be_anything_but_read(world):
    """A device, a fifo, a directory, a socket, a loop of links in its place: it is as if it were not there, at once."""
    resolv = world.etc / "resolv.conf"
    for make in (os.mkfifo, os.mkdir, lambda p: os.symlink("resolv.conf", p), lambda p: os.symlink("/dev/zero", p)):
        resolv.unlink(missing_ok=True)
        make(resolv)
        done = world.run("run", *ALLOW, "--", PYTHON, "-c", RAW)
        assert done.out.startswith("failed Connection") and done.seconds < 5, (make, done)
        os.rmdir(resolv) if resolv.is_dir() and not resolv.is_symlink() else resolv.unlink()


def test_lines_of_hosts_add_no_rule(world):
    (world.etc / "hosts").write_text("127.0.0.1 localhost\n198.51.100.11 x\rallow refused.test\n198.51.100.11 allow\n198.51.100.11 refused.test\n")
    script = "import socket\ntry: print(socket.getaddrinfo('refused.test',80))\nexcept OSError: print('refused')"
    assert world.run("run", *ALLOW, "--", PYTHON, "-c", script).out == "refused\n"


# certificates

def test_a_certificate_variable_opens_nothing_else(hutch):
    home = hutch.home
    (home / "granted").mkdir()
    (home / "granted/ca.pem").symlink_to(home / "notes.txt")  # as an earlier run may have left it
    for value, status in [(home / ".ssh/id", 125), (home / ".aws/credentials", 125), (home / "granted/ca.pem", 125)]:
        done = hutch("run", "--rw", home / "granted", "--env", f"SSL_CERT_FILE={value}", "--", "cat", value)
        assert done.status == status and "CANARY" not in done.out and "refusing" in done.err, done
    for value in (home, "/", "/etc", f"/etc:{home}"):
        done = hutch("run", "--env", f"SSL_CERT_DIR={value}", "--", "cat", home / "notes.txt", "/etc/shadow")
        assert done.status != 0 and "CANARY" not in done.out and "root:" not in done.out, done
