# SPDX-License-Identifier: Apache-2.0
"""hutch ps and hutch logs: what runs, how it went, and that keeping it costs no run anything."""
import json
import os
import re
import resource
import signal
import stat
import subprocess

import pytest
from harness import PYTHON, STUB_COMMAND, needs_installed, wait_until

KEYS = ["id", "name", "kind", "running", "pid", "started", "age_seconds", "command", "grants", "grant_count", "how", "status", "signal",
        "duration_ms", "lines", "lines_left_out"]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def runs_directory(home):
    return home / ".local" / "state" / "hutch" / "runs"


@pytest.fixture
def show(hutch):
    """show("ps"), show("logs", "name"): the parsed JSON, each object with exactly the documented keys."""
    def show(*words, **popen):
        done = hutch(*words, "--json", **popen)
        assert done.status == 0 and not done.err, done
        runs = json.loads(done.out)
        assert all(list(run) == KEYS for run in runs), runs
        return runs
    return show


def files_in(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file()) if directory.exists() else []


def start_sleeper(hutch, *options, **popen):
    """A sandbox that runs until its input ends."""
    process = hutch.start("run", *options, "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
    process.stdin.write(b"x")
    process.stdin.flush()
    assert process.stdout.read(1) == b"x"
    return process


def end(process):
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()


def test_ps_lists_what_runs_and_nothing_else(hutch, show):
    assert show("ps") == []
    data = hutch.directory / "data"
    data.mkdir()
    process = start_sleeper(hutch, "--rw", data)
    [run] = show("ps")
    assert run["name"] == run["command"] == "cat" and run["kind"] == "run" and run["running"] is True
    assert run["pid"] == process.pid and run["grants"] == [f"rw {data}"] and run["grant_count"] == 1
    assert run["how"] is None and 0 <= run["age_seconds"] < 60
    table = hutch("ps").out.splitlines()
    assert len(table) == 2 and run["id"] in table[1] and str(process.pid) in table[1] and f"rw {data}" in table[1], table
    assert [other["running"] for other in show("logs", "cat")] == [True]
    end(process)
    assert show("ps") == [] and hutch("ps").out.count("\n") == 1
    assert show("logs", "cat")[0]["how"] == "exit"


def test_a_killed_hutch_is_not_listed_but_its_run_is_known(hutch, show, runs_directory):
    process = start_sleeper(hutch)
    process.kill()
    process.wait(10)
    process.stdin.close()
    process.stdout.close()
    # The processes that die with it may hold the lock of its record for a moment more.
    wait_until(lambda: show("ps") == [], what="the killed hutch to leave the list")
    [run] = show("logs", "cat")
    assert run["how"] == "hutch killed" and run["status"] is None
    assert "hutch itself was killed" in hutch("logs", "cat").out
    for _ in range(20):
        assert hutch("run", "--", "cat").status == 0
    assert {run["how"] for run in show("logs", "cat")} == {"exit"} and len(files_in(runs_directory)) == 20


@pytest.mark.parametrize("script, options, how, status, number", [
    ("exit 3", [], "exit", 3, None),
    ("kill -SEGV $$", [], "signal", 139, 11),
    ("exec sleep 60", ["--timeout", "1"], "timeout", 124, None),
])
def test_how_a_run_ended(hutch, show, script, options, how, status, number):
    assert hutch("run", *options, "--", "sh", "-c", script).status == status
    [run] = show("logs", "sh")
    assert (run["how"], run["status"], run["signal"]) == (how, status, number)
    assert run["duration_ms"] >= (900 if how == "timeout" else 0)


def test_a_signal_to_hutch(hutch, show):
    process = start_sleeper(hutch)
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    process.stdin.close()
    process.stdout.close()
    [run] = show("logs", "cat")
    assert (run["how"], run["status"], run["signal"]) == ("stopped", 143, 15)
    assert "signal 15" in hutch("logs").out


def test_a_server_that_outlives_its_client(hutch, show):
    assert hutch("mcp", "--stop-grace", "0", "--", "sleep", "60").status == 0
    [run] = show("logs", "sleep")
    assert (run["kind"], run["how"], run["status"]) == ("mcp", "client gone", 0)


@pytest.mark.parametrize("words, status, said", [
    (["--rw", "/etc", "--", *STUB_COMMAND], 125, "refusing to grant /etc"),
    (["--ro", "/nonexistent/x", "--", *STUB_COMMAND], 125, "/nonexistent/x"),
    (["--no-such-option", "--", *STUB_COMMAND], 2, "--no-such-option"),
    (["--cwd", "/nonexistent", "--", *STUB_COMMAND], 125, "/nonexistent"),
])
def test_what_never_started_is_in_the_log_with_the_reason(hutch, show, words, status, said):
    assert hutch("mcp", *words).status == status
    [run] = show("logs")
    assert (run["how"], run["status"], run["kind"]) == ("failed", status, "mcp")
    assert said in run["lines"][0]
    assert said in hutch("logs", run["name"]).out


def test_what_is_said_after_the_end_is_in_the_log(hutch, show):
    """The supervisor opens no file any more by then."""
    data = hutch.directory / "data"
    data.mkdir()
    done = hutch("run", "--rw", data, "--", "sh", "-c", f"echo x >{data}/.mcp.json")
    [run] = show("logs", "sh")
    assert any(".mcp.json" in line for line in done.own_lines) and any(".mcp.json" in line for line in run["lines"]), (done, run)


def test_logs_without_a_name_show_the_last_run_of_each(hutch, show):
    for word in ("true", "false", "true"):
        hutch("run", "--", word)
    assert [run["name"] for run in show("logs")] == ["false", "true"]
    assert len(show("logs", "true")) == 2
    done = hutch("logs", "neither")
    assert done.status == 1 and "no run of neither is recorded" in done.err and "without a name" in done.err, done
    done = hutch("logs", "als")
    assert done.status == 1 and "did you mean false?" in done.err, done


def test_a_dry_run_and_help_are_no_runs(hutch, runs_directory):
    assert hutch("run", "--dry-run", "--", "true").status == 0
    assert hutch("run", "--help").status == 0
    assert hutch("logs", "--help").status == hutch("ps", "--help").status == 0
    assert not files_in(runs_directory)


@pytest.mark.parametrize("words", [["ps", "x"], ["ps", "--jsn"], ["logs", "a", "b"], ["logs", ""], ["logs", "-x"]])
def test_wrong_words(hutch, words):
    done = hutch(*words)
    assert done.status == 2 and not done.out and "usage: hutch" in done.err, done


def test_no_secret_is_kept(hutch, runs_directory):
    file = hutch.directory / "file.env"
    file.write_text("FROM_FILE=SECRET-file\n")
    file.chmod(0o600)
    hutch("run", "--env", "A=SECRET-value", "--env-file", file, "--env", "CANARY_VARIABLE", "--", "sh", "-c", "exit 0 # SECRET-argument")
    hutch("mcp", "--env", "B=SECRET-value", "--rw", "/etc", "--", *STUB_COMMAND, "--token=SECRET-argument")
    hutch("mcp", "--tokne=SECRET-option", "--", *STUB_COMMAND)
    text = "".join(path.read_text() for path in files_in(runs_directory))
    assert len(files_in(runs_directory)) == 3
    assert "SECRET" not in text and "CANARY" not in text, text


def test_only_the_caller_can_read_it(hutch, home):
    hutch("run", "--", "true", before=["sh", "-c", 'umask 0; exec "$@"', "sh"])
    directories = [path for path in (home / ".local").rglob("*") if path.is_dir()]
    files = files_in(home / ".local")
    assert len(files) == 1 and stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert len(directories) == 4 and {stat.S_IMODE(path.stat().st_mode) for path in directories} == {0o700}


def test_xdg_state_home(hutch, tmp_path, runs_directory):
    own = tmp_path / "not" / "there"
    assert hutch("run", "--", "true", env={"XDG_STATE_HOME": str(own)}).status == 0
    assert len(files_in(own / "hutch" / "runs" / "true")) == 1 and not files_in(runs_directory)
    assert hutch("run", "--", "true", env={"XDG_STATE_HOME": "relative"}).status == 0
    assert len(files_in(runs_directory)) == 1 and not (hutch.directory / "relative").exists()


def in_the_way(path, kind, elsewhere):
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        path.write_text("mine")
    elif kind == "link":
        elsewhere.mkdir()
        path.symlink_to(elsewhere)
    elif kind == "open to others":
        path.mkdir(mode=0o700)
        path.chmod(0o770)


@pytest.mark.parametrize("kind", ["file", "link", "open to others"])
@pytest.mark.parametrize("place", ["hutch", "hutch/runs", "hutch/runs/true"])
def test_a_state_directory_that_cannot_be_used_costs_no_run_anything(hutch, home, tmp_path, kind, place):
    for directory in (".local", ".local/state", ".local/state/hutch", ".local/state/hutch/runs"):
        (home / directory).mkdir(mode=0o700)
        if directory == os.path.join(".local/state", os.path.dirname(place)).rstrip("/"):
            break
    path = home / ".local" / "state" / place
    elsewhere = tmp_path / "elsewhere"
    in_the_way(path, kind, elsewhere)
    done = hutch("run", "--", "true")
    assert done.status == 0 and not done.err, done
    done = hutch("run", "-v", "--", "true")
    assert done.status == 0 and len([line for line in done.own_lines if "will not show this run" in line]) == 1, done
    assert not elsewhere.exists() or not list(elsewhere.iterdir())
    assert kind != "file" or path.read_text() == "mine"
    assert kind != "open to others" or not list(path.iterdir())
    if place != "hutch/runs/true":
        done = hutch("ps")
        assert done.status == 1 and "state directory" in done.err, done


def test_no_home_to_write_to(hutch, tmp_path):
    missing = tmp_path / "missing"
    for variables in ({"HOME": str(missing)}, {"HOME": "/proc/nothing"}, {"HOME": "/dev/null"}, {"XDG_STATE_HOME": "/sys/hutch"}, {"XDG_STATE_HOME": "/dev/null"}):
        done = hutch("run", "--", "true", env=variables)
        assert done.status == 0 and not done.err, (variables, done)
        assert hutch("logs", "--json", env=variables).status in (0, 1)
    assert not missing.exists()


@pytest.mark.parametrize("granted, how", [(False, {"hutch killed"}), (True, set())], ids=["end", "start"])
def test_a_bound_on_the_size_of_files(hutch, show, granted, how):
    """SIGXFSZ would end hutch itself where the record no longer fits, and the command must still get it."""
    data = hutch.directory / ("long" * 25)
    data.mkdir()
    options = ["--ro", data] if granted else []
    done = hutch("run", *options, "--", "cat", "/proc/self/status", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (290, 290)))
    assert done.status == 0 and not done.err, done
    assert not int(re.search(r"SigIgn:\s*(\w+)", done.out).group(1), 16) & 1 << signal.SIGXFSZ - 1
    assert {run["how"] for run in show("logs")} == how


def test_a_disk_without_room(hutch, tmp_path):
    script = (f"mount -t tmpfs -o size=64k,mode=700 none {tmp_path}/full && mkdir -m 700 {tmp_path}/full/hutch && "
              f"(cat /dev/zero >{tmp_path}/full/zeros) 2>/dev/null; exec \"$@\"")
    (tmp_path / "full").mkdir()
    before = ["unshare", "-Urm", "sh", "-c", script, "sh"]
    done = hutch("run", "--", "true", before=before, env={"XDG_STATE_HOME": str(tmp_path / "full")})
    assert done.status == 0 and not done.err, done
    done = hutch("run", "-v", "--", "true", before=before, env={"XDG_STATE_HOME": str(tmp_path / "full")})
    assert done.status == 0 and "will not show this run: No space left on device" in done.err, done


def test_many_at_once(hutch, show, runs_directory):
    count = 60
    processes = [hutch.start("run", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        wait_until(lambda: len(show("ps")) == count, 60, "every sandbox in the list")
        assert {run["pid"] for run in show("ps")} == {process.pid for process in processes}
        assert len({run["id"] for run in show("ps")}) == count
    finally:
        for process in processes:
            process.stdin.close()
        for process in processes:
            assert process.wait(60) == 0
            process.stdout.close()
    assert show("ps") == [] and {run["how"] for run in show("logs", "cat")} == {"exit"}
    hutch("run", "--", "cat")
    assert len(files_in(runs_directory)) == 20


def test_servers_that_were_used_longest_ago_are_forgotten(hutch, show, runs_directory):
    process = start_sleeper(hutch)
    try:
        os.utime(runs_directory / "cat", (1, 1))
        for number in range(70):
            directory = runs_directory / f"old{number:02}"
            directory.mkdir(mode=0o700)
            (directory / "0000000000001.00000000").write_text('{"event":"start"}\n')
            os.utime(directory, (1000 + number, 1000 + number))
        hutch("run", "--", "true")
        names = {path.name for path in runs_directory.iterdir()}
        assert len(names) == 64 and {"cat", "true", "old69"} <= names and "old00" not in names, sorted(names)
        assert len(show("ps")) == 1
    finally:
        end(process)


@pytest.mark.parametrize("word", ["a\nb\x1b[2J\x9b2J", "../../../../evil", "/", "..", "-n", "%2e", "@s/../..", "x" * 4000, b"\xff\xfe\xc3", "\u202etxt"],
                         ids=range(10))
def test_no_name_does_harm(hutch, show, home, runs_directory, word):
    npx = hutch.directory / "npx"
    npx.write_text("#!/bin/sh\n")
    npx.chmod(0o755)
    process = subprocess.run([os.fsencode(hutch.path), b"run", b"--", b"./npx", os.fsencode(word)], env=hutch.environment, cwd=hutch.directory, stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=60, check=False)
    assert process.returncode == 0, process
    [run] = show("logs")
    assert re.fullmatch(r"[A-Za-z0-9_+@][A-Za-z0-9._+@/-]{0,63}", run["name"]), run
    assert len(list(runs_directory.iterdir())) == 1 and list((home / ".local" / "state").iterdir()) == [runs_directory.parent]
    assert not CONTROL.search(hutch("logs").out) and not CONTROL.search(hutch("logs", run["name"]).out)


def test_a_command_with_a_hostile_name(hutch, show):
    command = hutch.directory / "evil\n[hutch] \x1b[31mforged"
    command.write_text("#!/bin/sh\nexit 7\n")
    command.chmod(0o755)
    assert hutch("run", "--", command).status == 7
    [run] = show("logs")
    assert run["command"] == "evil\\x0a[hutch] \\x1b[31mforged"
    assert not CONTROL.search(hutch("logs").out)


def test_the_server_writes_nothing_into_the_log(hutch, show, runs_directory):
    forged = '[hutch] FORGED\\n{"event":"line","text":"FORGED"}\\n'
    script = f"import sys\nfor stream in (sys.stdout, sys.stderr):\n for _ in range(1000): stream.write('{forged}')"
    done = hutch("mcp", "--", PYTHON, "-c", script)
    assert "FORGED" in done.err
    assert show("logs")[0]["lines"] == []
    assert sum(path.stat().st_size for path in files_in(runs_directory)) < 2000


def test_a_run_cannot_fill_the_log(hutch, show, runs_directory):
    file = hutch.directory / "file.env"
    file.write_text("".join(f'{"N" * 200}{number}="quoted"\n' for number in range(500)))
    file.chmod(0o600)
    done = hutch("run", "--env-file", file, "--", "true")
    assert done.status == 0 and len(done.own_lines) >= 500
    [run] = show("logs")
    assert len(run["lines"]) == 32 and run["lines_left_out"] == len(done.own_lines) - 32
    assert files_in(runs_directory)[0].stat().st_size < 32768
    assert f"and {run['lines_left_out']} more lines" in hutch("logs").out


HOSTILE = [b"", b"\n\n", b"no json\n", b"[" * 30000, b'{"event":"start"', b'{"event":"start"}\n', b"\0" * 4000, b"x" * 100000,
           b'{"event":"start","name":5,"pid":"x","command":{},"grants":{"a":1},"grant_count":-1e400,"kind":null}\n{"event":"end","status":[],"signal":1e99}\n',
           b'{"event":"start","command":"\\u001b[2J\\u009b\\n","grants":["\\u001b]0;x\\u0007",5,"' + b"y" * 9000 + b'"]}\n{"event":"line","text":"\\u001b[31m\\r"}\n'
           b'{"event":"line"}\n{"event":"line","text":7}\n{"event":7}\n{"event":"end","how":"\\u001b[1m","status":1,"signal":64}\n',
           b'{"event":"start","name":"\xff\xfe\x1b"}\n']


def test_whatever_lies_in_the_state_directory(hutch, show, runs_directory):
    hutch("run", "--", "true")
    for number, content in enumerate(HOSTILE):
        (runs_directory / "true" / f"{number:013x}.00000000").write_bytes(content)
    (runs_directory / "true" / "not a run").write_text("x")
    (runs_directory / "true" / "00000000000aa.00000000").symlink_to("/etc/passwd")
    (runs_directory / "true" / "00000000000ab.00000000").mkdir()
    os.mkfifo(runs_directory / "true" / "00000000000ac.00000000")
    (runs_directory / "evil\x1b[2J").mkdir(mode=0o700)
    (runs_directory / "link").symlink_to(runs_directory / "true")
    for words in (["ps"], ["logs"], ["logs", "true"]):
        done = hutch(*words, timeout=10)
        assert done.status == 0 and not CONTROL.search(done.out) and "root:" not in done.out, done
        for run in show(*words):
            assert run["name"] == "true"
    for _ in range(25):
        assert hutch("run", "--", "true").status == 0
    assert {run["how"] for run in show("logs", "true")} == {"exit"}


@pytest.mark.root
def test_root_leaves_nothing_in_somebody_elses_home(hutch, home):
    """As with `sudo` that keeps HOME."""
    os.chown(home, 12345, 12345)
    done = hutch("run", "-v", "--", "true")
    assert done.status == 0 and "will not show this run" in done.err, done
    assert not (home / ".local").exists()


def test_with_other_users_files_there_is_no_log(hutch, tmp_path):
    needs_installed(os.path.exists("/usr/bin/unshare"), "unshare (util-linux) is missing")
    foreign = next((path for path in ("/root", "/var/empty") if os.path.isdir(path) and os.stat(path).st_uid != os.getuid()), None)
    if not foreign:
        pytest.skip("no directory of somebody else")
    done = hutch("run", "--", "true", env={"XDG_STATE_HOME": foreign})
    assert done.status == 0 and not done.err, done
