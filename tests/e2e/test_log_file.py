# SPDX-License-Identifier: Apache-2.0
"""--log FILE: what a sandbox reached and what it was refused, a line of JSON each."""
import json
import os
import stat
import subprocess

import pytest

from harness import PYTHON
from offline import world  # noqa: F401 (a fixture)

FETCH = "import sys,urllib.request as u\nfor a in sys.argv[1:]:\n try: u.urlopen(a,timeout=20).read()\n except OSError: pass"


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_start_questions_connections_and_end(world):
    log = world.hutch.home / "log"
    done = world.run("run", "--log", log, "--network-allow", "allowed.test,*.below.test:443", "--network-deny", "public:81", "--",
                     PYTHON, "-c", FETCH, "http://allowed.test/", "http://refused.test/", "http://198.51.100.11/")
    assert done.status == 0, done
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    found = records(log)
    assert [r["event"] for r in found][:1] + [r["event"] for r in found][-1:] == ["start", "end"]
    assert len({r["sandbox"] for r in found}) == 1 and all(isinstance(r["time_ms"], int) for r in found)
    assert found[0]["network_allow"] == ["allowed.test", "*.below.test:443"] and found[0]["network_deny"] == ["public:81"]
    assert found[-1]["how"] == "exit" and found[-1]["status"] == 0 and found[-1]["duration_ms"] >= 0
    questions = {(r["name"], r["decision"]) for r in found if r["event"] == "dns"}
    assert ("allowed.test", "allowed") in questions and any(name == "refused.test" and said != "allowed" for name, said in questions)
    [allowed] = [r for r in found if r["event"] == "connection" and r["decision"] == "allowed"]
    assert allowed["destination"] == "allowed.test:80" and allowed["address"] == "198.51.100.10"
    assert allowed["bytes_up"] > 50 and allowed["bytes_down"] > 50 and allowed["duration_ms"] >= 0 and allowed["end"]
    [denied] = [r for r in found if r["event"] == "connection" and r["decision"] == "denied"]
    assert denied["destination"] == "198.51.100.11:80" and denied["reason"]


def test_the_id_is_that_of_ps_and_logs(hutch):
    log = hutch.home / "log"
    assert hutch("run", "--log", log, "--", "true").status == 0
    [run] = json.loads(hutch("logs", "--json").out)
    assert {r["sandbox"] for r in records(log)} == {run["id"]}
    assert [r["event"] for r in records(log)] == ["start", "end"]


def test_lines_are_appended(hutch):
    log = hutch.home / "log"
    log.write_text('{"mine": true}\n')
    for _ in range(2):
        assert hutch("run", "--log", log, "--", "true").status == 0
    found = records(log)
    assert found[0] == {"mine": True} and [r.get("event") for r in found[1:]] == ["start", "end"] * 2


def test_several_sandboxes_write_whole_lines(world):
    log = world.hutch.home / "log"
    command = ["run", "--log", log, "--network-allow", "allowed.test", "--", PYTHON, "-c", FETCH, *["http://allowed.test/"] * 20]
    running = [world.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert sum(r["event"] == "connection" for r in records(log)) == 80


def test_a_connection_that_is_open_at_the_end_is_recorded(world):
    log = world.hutch.home / "log"
    script = "import socket\ns=socket.create_connection(('allowed.test',80));s.send(b'hello');print('x',flush=True)\n" \
             "import os;os.kill(os.getpid(),9)"
    done = world.run("run", "--log", log, "--network-allow", "allowed.test", "--", PYTHON, "-c", script)
    assert done.status == 137 and done.out == "x\n", done
    found = [r for r in records(log) if r["event"] == "connection"]
    assert len(found) == 1 and found[0]["destination"] == "allowed.test:80" and found[0]["bytes_up"] in (0, 5), found


def test_a_proxied_connection_says_so(world):
    log = world.hutch.home / "log"
    world.run("run", "--log", log, "--network-allow", "allowed.test", "--", PYTHON, "-c", FETCH, "http://allowed.test/",
              env={"HTTPS_PROXY": "http://u:CANARYpass@198.51.100.12:3129"})
    [one] = [r for r in records(log) if r["event"] == "connection"]
    assert one["proxy_address"] == "198.51.100.12" and "address" not in one
    assert "CANARY" not in log.read_text()


def test_a_failed_start_is_recorded(hutch):
    log = hutch.home / "log"
    broken = hutch.home / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    assert hutch("run", "--log", log, "--", broken).status >= 125
    if log.exists():
        assert records(log)[-1]["how"] == "failed"


def test_dry_run_writes_nothing(hutch):
    log = hutch.home / "log"
    done = hutch("run", "--dry-run", "--log", log, "--", "true")
    assert json.loads(done.out)["log"] == str(log) and not log.exists()


@pytest.mark.parametrize("make, sentence", [
    (lambda p: p.symlink_to("/etc/hosts"), "it is a link"),
    (lambda p: p.symlink_to("nowhere"), "it is a link"),
    (lambda p: p.mkdir(), "directory"),
    (lambda p: os.mkfifo(p), "No such device"),
    (lambda p: (p.with_name("other").write_text(""), os.link(p.with_name("other"), p)), "second hard link"),
], ids=["link", "dangling", "directory", "fifo", "hard link"])
def test_what_is_no_file_of_its_own_is_refused(hutch, make, sentence):
    log = hutch.home / "log"
    make(log)
    done = hutch("run", "--log", log, "--", "true")
    assert done.status == 125 and done.err.count("\n") == 1 and str(log) in done.err and sentence in done.err, done
    assert not (hutch.home / "nowhere").exists()


def test_a_missing_directory_is_named(hutch):
    done = hutch("run", "--log", hutch.home / "no/log", "--", "true")
    assert done.status == 125 and "its directory does not exist" in done.err, done
