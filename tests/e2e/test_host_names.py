# SPDX-License-Identifier: Apache-2.0
"""What the host's resolver is configured with, in every shape, and its changes while a sandbox runs: the first name
server leads allowed.test to 198.51.100.10, the second to .11."""
import subprocess

import pytest

from harness import PYTHON, descendants
from offline import world  # noqa: F401 (a fixture)

ASK = """
import sys, time, urllib.request as u
def ask(tries=60):
    try: return u.urlopen('http://allowed.test/', timeout=20).read().decode().split()[-1]
    except OSError as e: return 'nothing'
print(ask(), flush=True)
for line in sys.stdin:
    wanted = line.strip()
    for i in range(100):
        got = ask()
        if got == wanted: break
        time.sleep(0.05)
    print(got, flush=True)
"""
FIRST, SECOND = "198.51.100.10", "198.51.100.11"


class Asking:
    """A command inside that asks for allowed.test again and again."""

    def __init__(self, world):
        self.process = world.start("run", "--network-allow", "allowed.test", "--", PYTHON, "-c", ASK, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().strip()

    def until(self, wanted):
        self.process.stdin.write(wanted + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0, self.process.stderr.read()


@pytest.fixture
def ask(world):
    started = []

    def start():
        started.append(Asking(world))
        return started[-1]
    yield start
    for asking in started:
        asking.end()


def replace(path, text):
    new = path.with_name("new")
    new.write_text(text)
    new.rename(path)


def link(path, target):
    new = path.with_name("new")
    new.symlink_to(target)
    new.rename(path)


def server(address):
    return f"# made by a test\noptions edns0\nnameserver {address}\n"


def resolv(world):
    return world.etc / "resolv.conf"


@pytest.mark.parametrize("text, served_by", [
    ("nameserver 198.51.100.54\nnameserver 198.51.100.53\n", SECOND),
    ("nameserver\t198.51.100.54   # trailing\r\n", SECOND),
    ("; comment\nsearch example\n\nnameserver nonsense\nnameserver 198.51.100.54", SECOND),
    ("nameserver 198.51.100.99\nnameserver 198.51.100.54\n", SECOND),  # nobody is there
    ("nameserver fe80::53%d0\n", SECOND),
    ("nameserver fe80::53%nowhere\nnameserver 198.51.100.53\n", FIRST),
    ("nameserver 2001:db8::dead\nnameserver 198.51.100.53\n", FIRST),
    ("", "nothing"),
])
def test_shapes(world, ask, text, served_by):
    resolv(world).write_text(text)
    asking = ask()
    assert asking.first == served_by
    if "nowhere" in text:  # what the watcher reads is read in the same way
        replace(resolv(world), "nameserver fe80::53%d0\n")
        assert asking.until(SECOND) == SECOND


def test_absent_and_then_there(world, ask):
    resolv(world).unlink()
    asking = ask()
    assert asking.first == "nothing"
    resolv(world).write_text(server("198.51.100.54"))
    assert asking.until(SECOND) == SECOND


def test_a_link_that_dangles_until_its_directory_is_made(world, ask):
    resolv(world).unlink()
    resolv(world).symlink_to("later/on/resolv.conf")
    asking = ask()
    assert asking.first == "nothing"
    (world.etc / "later").mkdir()
    (world.etc / "later/on").mkdir()
    (world.etc / "later/on/resolv.conf").write_text(server("198.51.100.54"))
    assert asking.until(SECOND) == SECOND


def test_rewritten_in_place(world, ask):
    asking = ask()
    assert asking.first == FIRST
    resolv(world).write_text(server("198.51.100.54"))
    assert asking.until(SECOND) == SECOND
    resolv(world).write_text(server("198.51.100.53"))
    assert asking.until(FIRST) == FIRST


def test_replaced_by_rename(world, ask):
    asking = ask()
    for address, served_by in [("198.51.100.54", SECOND), ("198.51.100.53", FIRST)] * 3:
        replace(resolv(world), server(address))
        assert asking.until(served_by) == served_by


def test_the_target_of_a_link_is_replaced(world, ask):
    directory = world.etc / "stub"
    directory.mkdir()
    (directory / "resolv.conf").write_text(server("198.51.100.53"))
    link(resolv(world), "stub/resolv.conf")
    asking = ask()
    assert asking.first == FIRST
    replace(directory / "resolv.conf", server("198.51.100.54"))
    assert asking.until(SECOND) == SECOND


def test_another_link_takes_its_place(world, ask):
    for name, address in [("one", "198.51.100.53"), ("two", "198.51.100.54")]:
        (world.etc / name).mkdir()
        (world.etc / name / "resolv.conf").write_text(server(address))
    link(world.etc / "current", "one")
    link(resolv(world), "current/resolv.conf")
    asking = ask()
    assert asking.first == FIRST
    link(world.etc / "current", "two")  # a link in the middle
    assert asking.until(SECOND) == SECOND
    link(resolv(world), "/etc/one/resolv.conf")  # and at the end
    assert asking.until(FIRST) == FIRST


def test_a_directory_that_is_removed_and_made_again(world, ask):
    directory = world.etc / "run"
    directory.mkdir()
    (directory / "resolv.conf").write_text(server("198.51.100.53"))
    link(resolv(world), "run/resolv.conf")
    asking = ask()
    assert asking.first == FIRST
    (directory / "resolv.conf").unlink()
    directory.rmdir()
    assert asking.until("nothing") == "nothing"
    directory.mkdir()
    (directory / "resolv.conf").write_text(server("198.51.100.54"))
    assert asking.until(SECOND) == SECOND


def test_the_hosts_file_changes(world, ask):
    asking = ask()
    assert asking.first == FIRST
    replace(world.etc / "hosts", "127.0.0.1 localhost\n198.51.100.11 Allowed.Test other.test\n")
    assert asking.until(SECOND) == SECOND
    replace(world.etc / "hosts", "127.0.0.1 localhost\n")
    assert asking.until(FIRST) == FIRST


def test_a_change_of_nothing_is_not_told(world, ask):
    asking = ask()
    questions = world.log("dns.log").count("allowed.test 1\n")
    for _ in range(5):
        replace(resolv(world), "nameserver 198.51.100.53\n")
    replace(world.etc / "hosts", "127.0.0.1 localhost\n198.51.100.99 somebody.else\n")
    assert asking.until(FIRST) == FIRST
    assert world.log("dns.log").count("allowed.test 1\n") == questions  # the answers that are kept were not forgotten


def test_a_link_that_leaves_its_directories(world, ask):
    """The supervisor may read the directories alone that had the files at the start: it goes on with what is known until
    the link comes back."""
    elsewhere = world.directory / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "resolv.conf").write_text("# no name server\n")
    (world.etc / "back").write_text(server("198.51.100.54"))
    asking = ask()
    link(resolv(world), elsewhere / "resolv.conf")
    assert asking.until(FIRST) == FIRST
    link(resolv(world), "/etc/back")
    assert asking.until(SECOND) == SECOND


def test_name_servers_that_come_back_soon_are_not_missed(world, ask):
    """Programs that write resolv.conf empty it first."""
    asking = ask()
    for _ in range(5):
        resolv(world).write_text("")
        resolv(world).write_text(server("198.51.100.53"))
    assert asking.until(FIRST) == FIRST


def test_the_supervisor_is_confined(world, ask):
    ask()
    supervisors = [pid for pid, name in descendants().items() if " run --network-allow" in name and name.startswith("hutch ")]
    assert len(supervisors) == 1
    status = open(f"/proc/{supervisors[0]}/status").read()
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status
