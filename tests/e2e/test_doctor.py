# SPDX-License-Identifier: Apache-2.0
"""`hutch doctor` on machines of several kinds: it says what `hutch mcp` says, and ends with 1 exactly where that
does not run."""
import json
import os
import pty
import shutil
import subprocess

import pytest
from harness import needs_installed, needs_kernel, without_deny_all

KEYS = ["sandbox", "kernel", "namespaces", "proc", "landlock", "seccomp", "identity", "overlay",
        "limits", "cgroups", "pid_max", "node", "npx", "python3", "uv", "uvx", "deno", "bun", "kvm"]


class Report:
    """What `hutch doctor --json` found, beside what `hutch mcp` does in the same place."""

    def __init__(self, doctor, mcp):
        report = json.loads(doctor.stdout)
        self.runs, self.status = report["runs"], doctor.returncode
        self.checks = {check["key"]: check for check in report["checks"]}
        self.mcp_status, self.mcp_err = mcp.returncode, without_deny_all(mcp.stderr)
        assert [check["key"] for check in report["checks"]] == KEYS
        assert all(set(check) == {"key", "state", "used", "detail", "fix"} for check in report["checks"])
        assert all(check["state"] in ("ok", "degraded", "missing") for check in report["checks"])
        assert doctor.stderr == "", doctor.stderr

    def agrees(self):
        """The status and the sentence are those of `hutch mcp`."""
        assert self.runs == (self.mcp_status == 0), self.mcp_err
        assert self.status == (0 if self.runs else 1)
        assert (self.checks["sandbox"]["state"] == "ok") == self.runs
        if not self.runs:
            assert self.mcp_status == 125
            assert self.checks["sandbox"]["detail"] == self.mcp_err.removeprefix("[hutch] ").rstrip("\n")

    def states(self, *keys):
        return [self.checks[key]["state"] for key in keys]


@pytest.fixture
def examine(hutch):
    """examine(*words): a Report of doctor and mcp with these words before them, or in a shell script's `$HUTCH`."""
    def run(*arguments, before, env):
        argv = [*map(str, before), hutch.path, *arguments]
        return subprocess.run(argv, env={**hutch.environment, **env}, cwd=hutch.directory, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def both(*before, env={}):
        report = Report(run("doctor", "--json", before=before, env=env), run("mcp", "--", "/bin/true", before=before, env=env))
        report.agrees()
        return report

    return both


def in_namespace(script):
    """Words that run what follows in a user namespace of its own, after a script."""
    return ["unshare", "-Ur", "sh", "-c", script + ' && exec "$@"', "sh"]


def test_where_sandboxes_start(examine, am_root):
    report = examine()
    assert report.runs and report.status == 0
    assert set(report.states("sandbox", "kernel", "namespaces", "proc", "seccomp", "python3")) == {"ok"}
    assert report.checks["identity"]["state"] == ("degraded" if am_root else "ok")
    assert "/bin/true" in report.checks["sandbox"]["detail"]
    assert os.uname().release in report.checks["kernel"]["detail"]
    assert [key for key in KEYS if not report.checks[key]["used"]] == ["kvm"]


def test_the_version_of_a_tool_was_printed_inside(examine, hutch):
    bin_directory = hutch.home / ".bun" / "bin"
    bin_directory.mkdir(parents=True)
    (bin_directory / "bun").write_text("#!/bin/sh\necho \"$1 as $(id -u)\"\n")
    (bin_directory / "bun").chmod(0o755)
    broken = bin_directory / "deno"
    broken.write_text("#!/bin/sh\necho Oh no >&2; exit 3\n")
    broken.chmod(0o755)
    report = examine(env={"PATH": f"{bin_directory}:{hutch.environment['PATH']}"})
    assert report.checks["bun"]["state"] == "ok"
    assert report.checks["bun"]["detail"].endswith("(bun), works: --version as 65532")
    assert report.checks["deno"]["state"] == "missing" and "status 3: Oh no" in report.checks["deno"]["detail"]
    report = examine()
    assert str(bin_directory / "bun") in report.checks["bun"]["detail"] and report.checks["bun"]["state"] == "missing"


def test_a_tool_that_writes_for_ever_is_ended(examine, hutch):
    """What it writes is a line among others, whatever is in it."""
    directory = hutch.directory / "bin"
    directory.mkdir()
    (directory / "uv").write_text("#!/bin/sh\nprintf '\\033[31m\\377red\\nmore\\n'\n")
    (directory / "deno").write_text("#!/bin/sh\nyes | head -c 10000000\nwhile echo y; do sleep 0.1; done\n")
    for tool in directory.iterdir():
        tool.chmod(0o755)
    report = examine(env={"PATH": f"{directory}:{hutch.environment['PATH']}"})
    assert report.checks["uv"]["detail"].endswith("works: \\x1b[31m\\xffred")
    assert report.checks["deno"]["state"] == "missing" and "did not end within 10 seconds" in report.checks["deno"]["detail"]


def test_a_program_of_snap_cannot_work(examine, hutch):
    """snap is put where it would be, in a mount namespace of the test's own."""
    for name in ("memory", "bin"):
        (hutch.directory / name).mkdir()
    (hutch.directory / "bin" / "uv").symlink_to("/usr/bin/snap")
    script = (f"cd {hutch.directory}/memory && mount -t tmpfs tmpfs . && cd ../memory && mkdir upper work"
              " && mount -t overlay overlay -o userxattr,lowerdir=/usr/bin,upperdir=upper,workdir=work /usr/bin && cp /bin/true /usr/bin/snap")
    report = examine("unshare", "-Urm", "sh", "-c", script + ' && exec "$@"', "sh", env={"PATH": f"{hutch.directory}/bin:{hutch.environment['PATH']}"})
    assert report.runs and report.checks["uv"]["state"] == "missing"
    assert "(snap) cannot work" in report.checks["uv"]["detail"]


@pytest.mark.parametrize("kind", ["user", "pid", "ipc", "uts", "cgroup", "mnt", "net"])
def test_a_limit_of_no_namespaces(examine, kind):
    report = examine(*in_namespace(f"echo 0 >/proc/sys/user/max_{kind}_namespaces"))
    assert not report.runs and report.states("namespaces") == ["missing"]
    assert f"user.max_{kind}_namespaces" in report.checks["namespaces"]["detail"]
    assert f"`sudo sysctl -w user.max_{kind}_namespaces=15000`" in report.checks["namespaces"]["fix"]
    assert report.states("overlay", "python3") == ["degraded", "degraded"]


def test_a_container_that_refuses_namespaces(examine, deny_calls):
    report = examine(*deny_calls("clone3=ENOSYS", "clone+userns=EPERM", "unshare+userns=EPERM"))
    assert not report.runs and report.states("namespaces") == ["missing"]
    assert "filter" in report.checks["namespaces"]["detail"] and "container" in report.checks["namespaces"]["fix"]


def test_a_container_that_refuses_mounts(examine, deny_calls):
    report = examine(*deny_calls("mount=EACCES", "fsopen=EPERM", "open_tree=EPERM", "move_mount=EACCES", "mount_setattr=EPERM"))
    assert not report.runs and report.states("namespaces") == ["missing"]
    assert "filter" in report.checks["namespaces"]["detail"]


def test_apparmor_that_refuses_what_follows_the_clone(examine, preload):
    report = examine(env={**preload("refuse_open.c"), "HUTCH_TEST_REFUSE": "/uid_map"})
    assert not report.runs and report.states("namespaces") == ["missing"]
    assert "AppArmor" in report.checks["namespaces"]["detail"]


def test_a_masked_proc(examine):
    needs_installed(shutil.which("bwrap"), "bubblewrap is missing")
    report = examine("bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev-bind", "/dev/null", "/proc/cmdline", "--")
    assert not report.runs and report.states("proc", "namespaces") == ["missing", "ok"]
    assert "/proc/cmdline" in report.checks["proc"]["detail"] and "--proc none" in report.checks["proc"]["fix"]
    assert report.checks["sandbox"]["fix"] == "use --proc none: a sandbox starts with it"


@pytest.mark.parametrize("rules, key", [(["seccomp=ENOSYS"], "seccomp"), (["close_range=ENOSYS"], "sandbox"), (["pivot_root=EPERM"], "namespaces"),
                                        (["sethostname=EPERM"], "namespaces"), (["clone3=EAGAIN", "clone+userns=EAGAIN"], "namespaces")])
def test_a_refused_step(examine, deny_calls, rules, key):
    report = examine(*deny_calls(*rules))
    assert not report.runs and report.states(key) == ["missing"]


@pytest.mark.parametrize("call", ["clone3", "pidfd_send_signal", "faccessat2", "pidfd_open"])
def test_a_missing_newer_call_does_not_matter(examine, deny_calls, call):
    assert examine(*deny_calls(f"{call}=ENOSYS")).runs


@pytest.mark.parametrize("errno, words", [("ENOSYS", "not in this kernel"), ("EOPNOTSUPP", "not enabled at boot")])
def test_without_landlock_it_runs(examine, deny_calls, errno, words):
    report = examine(*deny_calls(f"landlock_create_ruleset={errno}"))
    assert report.runs and report.states("landlock") == ["missing"]
    assert words in report.checks["landlock"]["detail"] and report.checks["landlock"]["fix"]


@pytest.mark.parametrize("version, state", [(1, "degraded"), (2, "degraded"), (5, "degraded"), (6, "ok")])
def test_older_landlock(examine, preload, version, state):
    needs_kernel(__import__("ctypes").CDLL(None).syscall(444, None, 0, 1) >= version, f"this kernel has no Landlock {version}")
    report = examine(env={**preload("older_landlock.c"), "HUTCH_TEST_LANDLOCK": str(version)})
    assert report.runs and report.states("landlock") == [state]
    assert f"version {version}" in report.checks["landlock"]["detail"]


def test_sigchld_ignored_by_the_caller_does_not_matter(examine):
    assert examine("sh", "-c", "trap '' CHLD; exec \"$@\"", "sh").runs
    assert examine("/usr/bin/python3", "-c", "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])").runs


def test_it_works_anywhere(examine, hutch):
    """No home, no PATH, no working directory, no descriptors."""
    assert examine("env", "-i").runs
    assert examine("sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh").runs
    done = subprocess.run(["sh", "-c", f"exec {hutch.path} doctor <&- 2>&-"], env=hutch.environment, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0 and "`hutch mcp` runs here." in done.stdout


def test_one_screen_without_colours_in_a_pipe(hutch):
    done = hutch("doctor")
    lines = done.out.splitlines()
    assert done.status == 0 and done.err == "" and "\033" not in done.out, done
    assert [line.split()[1] for line in lines if line[:2] == "  " and line[2:3].isalpha()] == KEYS
    assert lines[-1] == "`hutch mcp` runs here."
    assert len(lines) <= 50 and all(len(line) <= 100 for line in lines if "fix:" not in line)


@pytest.mark.parametrize("variables, coloured", [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_on_a_terminal(hutch, variables, coloured):
    ours, theirs = pty.openpty()
    process = hutch.start("doctor", env=variables, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    with process:
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            shown += data
    os.close(ours)
    assert b"sandbox" in shown and (b"\033[32mok" in shown) == coloured


def test_a_full_disk_is_no_success(hutch):
    with open("/dev/full", "wb") as full:
        process = hutch.start("doctor", "--json", stdout=full, stderr=subprocess.PIPE)
        with process:
            assert process.wait(30) == 1 and b"cannot write" in process.stderr.read()


@pytest.mark.parametrize("words, sentence", [(["--ro", "/x"], "--ro is an option of hutch mcp and run"), (["x"], "doctor takes options only"),
                                             (["--", "true"], "doctor takes options only"), (["--jsn"], "did you mean --json?"),
                                             (["--json=1"], "--json takes no value"), (["-v"], "--verbose is an option of hutch mcp and run")])
def test_mistakes(hutch, words, sentence):
    done = hutch("doctor", *words)
    assert done.status == 2 and done.out == "" and sentence in done.err, done
    assert done.own_lines[-1].startswith("[hutch] usage: hutch doctor"), done


def test_the_others_have_no_json(hutch):
    done = hutch("run", "--json", "--", "true")
    assert done.status == 2 and "--json is an option of hutch doctor" in done.err, done
    assert hutch("run", "--", "echo", "--json").err == ""
