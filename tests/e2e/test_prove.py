# SPDX-License-Identifier: Apache-2.0
"""`hutch prove`: what it reports about a sandbox that holds, about one that was opened, and about one of which it
learns nothing; and that it leaves nothing behind."""
import collections
import json
import os
import pty
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import TREE, descendants, needs_kernel, wait_until

STATES = {"held", "got-out", "open-by-option", "not-limited", "not-shown", "failed"}
SHOWN = {"as-caller", "as-root", "in-namespaces", "no"}
STORMS = {"fork-storm", "memory-storm", "processor-storm", "buffered-memory", "unmapped-memory"}


def prove_json(hutch, *options, **popen):
    """(status, {id: attempt}, the whole object)."""
    done = hutch("prove", "--json", *options, timeout=60, **popen)
    assert done.status in (0, 1) and "network: refused" not in done.err, done
    result = json.loads(done.out)
    attempts = {attempt["id"]: attempt for attempt in result["attempts"]}
    assert len(attempts) == len(result["attempts"]), "an id is given twice"
    return done.status, attempts, result


def ids_of(attempts, state):
    return {name for name, attempt in attempts.items() if attempt["state"] == state}


def shared_objects():
    """System V and POSIX objects of this machine that could be a run's."""
    found = set(os.listdir("/dev/shm"))
    for kind in ("shm", "msg"):
        found |= {f"{kind} {line.split()[0]}" for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
                  if int(line.split()[7]) == os.getuid()}
    return found


@pytest.fixture(autouse=True)
def no_directory_left():
    """Whatever a test does to hutch: what was attacked is gone soon afterwards."""
    def own():
        return {entry.path for entry in os.scandir("/tmp") if entry.name.startswith("hutch-prove-") and entry.stat().st_uid == os.getuid()}
    before = own()
    yield
    wait_until(lambda: own() <= before, 10, "the end of what was attacked")


# a sandbox that holds

def test_everything_is_held(hutch, am_root):
    status, attempts, result = prove_json(hutch)
    assert ids_of(attempts, "got-out") == ids_of(attempts, "failed") == ids_of(attempts, "open-by-option") == set(), result["totals"]
    assert status == 0 and result["ok"] is True
    assert len(attempts) >= 80 and len(ids_of(attempts, "held")) >= 120
    assert STORMS <= ids_of(attempts, "not-limited") | ids_of(attempts, "held")


def test_what_is_called_held_was_shown_to_work(hutch, am_root):
    _, attempts, result = prove_json(hutch)
    for attempt in attempts.values():
        assert set(attempt) - ({"option"} if attempt["state"] == "not-limited" else set()) == {"id", "group", "gain", "shown", "state"}, attempt
        assert attempt["state"] in STATES and attempt["shown"] in SHOWN and attempt["gain"] and attempt["group"], attempt
        assert attempt["state"] != "held" or attempt["shown"] != "no", attempt
        assert attempt["shown"] != ("as-caller" if am_root else "as-root"), attempt
    assert collections.Counter(attempt["state"] for attempt in attempts.values()) == {
        state: count for state, count in result["totals"].items() if count}
    assert set(result) == {"ok", "totals", "attempts"} and set(result["totals"]) == STATES
    # What needs nothing but this machine's kernel and an ordinary account must have been shown on every run.
    for name in ("ssh-key", "aws-credentials", "shell-history", "host-environments", "host-ptrace", "hutch-memory", "pid1-memory",
                 "inherited-directory", "loopback-tcp", "loopback-udp", "abstract-socket-later", "container-engine", "sysv-memory",
                 "userns", "mount-bind", "pivot-root", "chroot-climb", "rename-git", "link-race", "ro-write", "open-files"):
        assert attempts[name]["state"] == "held", attempts[name]


@pytest.mark.root
def test_as_root_more_can_be_shown(hutch):
    _, attempts, _ = prove_json(hutch)
    for name in ("etc-shadow", "write-usr", "core-pattern", "make-device", "run-setuid-grant", "reboot", "clock", "setns-mount"):
        assert (attempts[name]["shown"], attempts[name]["state"]) == ("as-root", "held"), attempts[name]


def test_the_table(hutch):
    done = hutch("prove", timeout=60)
    lines = done.out.splitlines()
    assert done.status == 0 and len(lines) <= 24 and max(map(len, lines)) <= 130, done
    assert "\x1b" not in done.out and "GOT OUT" not in done.out
    assert re.match(r"^[0-9]+ escape attempts", lines[0]) and "not limited here" in done.out
    assert re.search(r"^nothing got out: [0-9]+ held", done.out, re.M)
    everything = hutch("prove", "-v", timeout=60)
    assert len(everything.out.splitlines()) > 200 and re.search(r"ssh-key +your SSH key +held, shown as-", everything.out)


@pytest.mark.parametrize("variables, colours", [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_on_a_terminal_only(hutch, variables, colours):
    master, slave = pty.openpty()
    with hutch.start("prove", stdout=slave, stderr=subprocess.PIPE, env=variables) as process:
        os.close(slave)
        text = b""
        try:
            while data := os.read(master, 65536):
                text += data
        except OSError:
            pass  # the other end is closed
        os.close(master)
        assert process.wait(30) == 0
    assert (b"\x1b[" in text) == colours and b"held" in text


def test_nothing_of_the_callers_is_changed_or_read(hutch):
    def state():
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_atime_ns, path.lstat().st_mode) for path in hutch.home.rglob("*") if path.is_file()}
    before, directories = state(), sorted(hutch.home.rglob("*"))
    assert hutch("prove", timeout=60).status == 0
    assert state() == before and sorted(hutch.home.rglob("*")) == directories


def test_a_directory_of_everybodys_is_not_used(hutch):
    """Somebody else could put another thing in the place of what is made there."""
    with tempfile.TemporaryDirectory(prefix="p", dir="/tmp") as directory:
        for mode, used in ((0o777, False), (0o1777, True), (0o700, True)):
            os.chmod(directory, mode)
            done = hutch("prove", "--dry-run", env={"TMPDIR": directory})
            grants = [mount["source"] for mount in json.loads(done.out)["mounts"] if mount.get("source", "").endswith("/inside/grant")]
            assert len(grants) == 1 and grants[0].startswith(directory + "/") is used, (oct(mode), grants)


# a sandbox that was opened

@pytest.fixture
def opened():
    """(the options' directory, variables): a home that also holds what is attacked. Short, because paths of sockets are."""
    with tempfile.TemporaryDirectory(prefix="p", dir="/tmp") as directory:
        yield directory, {"HOME": directory, "TMPDIR": directory}


def test_what_an_unsafe_grant_opens_got_out(hutch, opened):
    directory, variables = opened
    status, attempts, result = prove_json(hutch, "--unsafe-grant", directory, "--ro", directory, env=variables)
    assert status == 1 and result["ok"] is False
    for name in ("ssh-key", "aws-credentials", "shell-history"):
        assert attempts[name]["state"] == "got-out" and attempts[name]["option"] == f"--unsafe-grant {directory}", attempts[name]
    done = hutch("prove", "--unsafe-grant", directory, "--ro", directory, env=variables, timeout=60)
    assert done.status == 1 and re.search(rf"ssh-key .*GOT OUT \(--unsafe-grant {directory}\)", done.out), done


def test_changes_are_seen_from_outside(hutch, opened):
    directory, variables = opened
    _, attempts, _ = prove_json(hutch, "--unsafe-grant", directory, "--rw", directory, env=variables)
    assert {"plant-ssh-login", "plant-shell-start", "plant-unit"} <= ids_of(attempts, "got-out")
    assert "ro-write" in ids_of(attempts, "held")  # the narrower grant wins


def test_a_home_that_can_be_written_to_is_open_to_plants(hutch):
    """The decoys are elsewhere: it is the home itself that is looked at."""
    status, attempts, _ = prove_json(hutch, "--unsafe-grant", hutch.home, "--rw", hutch.home)
    plants = {"plant-shell-start", "plant-autostart", "plant-unit"}
    assert status == 1 and plants <= ids_of(attempts, "got-out")
    _, attempts, _ = prove_json(hutch, "--unsafe-grant", hutch.home, "--overlay", hutch.home)
    assert plants <= ids_of(attempts, "held")


def test_a_filter_that_permits_everything_is_noticed(hutch):
    profile = hutch.directory / "open.json"
    profile.write_text('{"defaultAction": "SCMP_ACT_ALLOW"}')
    status, attempts, _ = prove_json(hutch, "--seccomp", profile)
    assert status == 1 and {"keyring-own", "userfaultfd", "personality"} <= ids_of(attempts, "got-out"), attempts
    assert {"ssh-key", "loopback-tcp", "pid1-memory"} <= ids_of(attempts, "held")  # other layers


@pytest.mark.parametrize("options, names", [
    (["--allow-userns"], {"userns", "userns-clone", "userns-clone3"}),
    (["--no-protect"], {"git-hook", "git-config", "rename-git", "envrc"}),
    (["--ro", "/var/log"], {"host-logs"}),
])
def test_what_an_option_opens_is_said_to_be_opened_by_it(hutch, options, names):
    needs_kernel(os.path.isdir("/var/log") and len(os.listdir("/var/log")), "this machine has no logs")
    status, attempts, _ = prove_json(hutch, *options)
    assert status == 0 and names <= ids_of(attempts, "open-by-option")
    assert all(attempts[name]["option"].startswith(options[0]) for name in names)


# a sandbox with a network

@pytest.mark.parametrize("options", [["--network-allow", "a.example"], ["--network-allow", "localhost:9"], ["--host-port", "9"],
                                     ["--publish", "18765:9"]])
def test_a_network_is_no_way_out(online, options):
    log = online.directory / "log"
    status, attempts, result = prove_json(online, *options, "--log", log)
    assert status == 0 and not ids_of(attempts, "open-by-option"), result["totals"]
    assert {attempts[name]["state"] for name in ("route-out", "metadata-service", "interfaces")} <= {"held", "not-shown"}
    refused = {record["destination"] for record in map(json.loads, log.read_text().splitlines()) if record.get("decision") == "denied"}
    assert refused >= {"192.0.2.1:443", "169.254.169.254:80"}, "they were not really asked for"


@pytest.mark.parametrize("rule, opened", [("public", "route-out"), ("192.0.2.0/24:8443", "route-out"), ("169.254.169.254", "metadata-service")])
def test_what_a_rule_of_the_network_opens(online, rule, opened):
    status, attempts, result = prove_json(online, "--network-allow", rule)
    assert status == 0 and ids_of(attempts, "open-by-option") == {opened}, result["totals"]
    assert attempts[opened]["option"] == f"--network-allow {rule}"


# other options

@pytest.mark.parametrize("options", [["--proc", "none"],
                                     ["--no-auto-grant", "--tmpfs", "/scratch", "--cwd", "/usr", "--require", "landlock", "--env", "A=b",
                                      "--timeout", "60", "--hide", ".env*", "--stop-grace", "1", "--template", "mcp-server"]])
def test_options_of_a_sandbox(hutch, options):
    status, attempts, result = prove_json(hutch, *options)
    assert status == 0 and len(attempts) >= 80, result["totals"]


def test_the_log(hutch):
    log = hutch.directory / "log"
    status, attempts, result = prove_json(hutch, "--log", log)
    assert status == 0 and not ids_of(attempts, "failed"), result["totals"]
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(record["event"], record.get("kind", record.get("how"))) for record in records if record["event"] in ("start", "end")] == [
        ("start", "mcp"), ("end", "exit"), ("start", "run"), ("end", "exit")]
    assert not list(hutch.home.rglob("*.jsonl")), "a run was kept, of which nothing should be"


@pytest.mark.parametrize("nice", [5, 18, 19])
def test_a_low_priority_of_the_caller(hutch, nice):
    status, attempts, result = prove_json(hutch, before=["nice", "-n", str(nice)])
    assert status == 0 and attempts["host-priority"]["state"] == "held", result["totals"]


def test_a_home_that_is_kept_is_not_the_callers(hutch):
    status, attempts, result = prove_json(hutch, "--persist", "name")
    plants = {name for name in attempts if name.startswith("plant-")} & ids_of(attempts, "open-by-option")
    assert status == 0 and "plant-ssh-login" in plants and not ids_of(attempts, "got-out"), result["totals"]
    assert {(attempts[name]["option"], attempts[name]["gain"]) for name in plants} == {("--persist name", "the home that its runs share")}


# a sandbox of which nothing is learned

def test_no_result_is_no_good_result(hutch):
    profile = json.loads((TREE / "policy/seccomp/default.json").read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in ("clone", "fork", "vfork")]
    file = hutch.directory / "no-clone.json"
    file.write_text(json.dumps(profile))
    status, attempts, result = prove_json(hutch, "--seccomp", file)
    assert status == 1 and result["totals"]["failed"] > 200 and result["totals"]["held"] == 0
    assert attempts["ssh-key"]["failure"] == "failed"


def test_a_grant_that_cannot_be_made(hutch):
    done = hutch("prove", "--ro", "/nonexistent", timeout=60)
    assert done.status == 125 and done.out == "" and "/nonexistent" in done.err, done


def test_a_sandbox_that_cannot_start(hutch, deny_calls):
    """No table: nothing was attacked, and all that is known is why."""
    done = hutch("prove", before=deny_calls("pivot_root=EPERM"), timeout=60)
    assert done.status == 125 and done.out == "" and "the sandbox's root" in done.err, done


def test_a_sandbox_that_ends_early(hutch, am_root):
    """The time is over before the attempts are: what has no result is not held."""
    with hutch.start("prove", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        def init():
            return [pid for pid, line in descendants(process.pid).items() if line.startswith("hutch-init")]
        os.kill(wait_until(init, 20, "the sandbox")[0], signal.SIGKILL)
        result = json.loads(process.stdout.read())
    assert process.returncode == 1 and result["ok"] is False and result["totals"]["failed"] > 0, result["totals"]


# usage

@pytest.mark.parametrize("words", [["--", "true"], ["--raw-stdout"], ["extra"], ["--json=yes"]])
def test_usage(hutch, words):
    done = hutch("prove", *words)
    assert done.status == 2 and done.out == "", done


@pytest.mark.parametrize("subcommand", ["mcp", "run"])
def test_json_is_an_option_of_prove_alone(hutch, subcommand):
    assert hutch(subcommand, "--json", "--", "true").status == 2


def test_the_program_is_not_looked_for_on_path(hutch):
    fake = hutch.directory / "hutch-prove"
    fake.write_text(f"#!/bin/sh\ntouch {hutch.directory}/ran\n")
    fake.chmod(0o755)
    assert hutch("prove", env={"PATH": f"{hutch.directory}:/usr/bin:/bin"}, timeout=60).status == 0
    assert not (hutch.directory / "ran").exists()


def test_a_missing_program_is_named(hutch):
    alone = hutch.directory / "bin/hutch"
    alone.parent.mkdir()
    alone.write_bytes(Path(hutch.path).read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([alone, "prove"], env=hutch.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    if not os.path.exists("/usr/local/libexec/hutch/hutch-prove"):
        assert done.returncode == 125 and "hutch-prove" in done.stderr, done


def test_the_description(hutch):
    done = hutch("prove", "--dry-run")
    assert done.status == 0 and json.loads(done.out)["argv"][1] == "inside", done


# an early end

@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["outside", "inside"])
def test_nothing_is_left_behind_by_an_early_end(hutch, number, moment):
    before = shared_objects()
    with hutch.start("prove", stdout=subprocess.DEVNULL) as process:
        name = "hutch-init" if moment == "inside" else "victim"
        wait_until(lambda: process.poll() is not None or any(name in line for line in descendants(process.pid).values()), 20, name)
        assert process.poll() is None, "it ended before it was stopped"
        process.send_signal(number)
        assert process.wait(10) == -number
    wait_until(lambda: shared_objects() <= before, 10, "the end of shared objects")
