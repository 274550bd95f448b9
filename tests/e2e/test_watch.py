# SPDX-License-Identifier: Apache-2.0
"""What is said and done when somebody outside replaces, while a sandbox runs, what it hides or protects."""
import os
import select
import signal
import subprocess

import pytest
from harness import wait_until, without_deny_all


class Session:
    """A sandbox in which a shell takes commands."""

    def __init__(self, hutch, *options, settled=True, **popen):
        self.process = hutch.start("run", *["-v"][:settled], *options, "--", "sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)
        self.err = ""
        os.set_blocking(self.process.stderr.fileno(), False)
        assert self("echo started") == "started\n"
        if settled:
            self.wait_for("watching")  # what happened before is found by looking back

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def __call__(self, command):
        """What the command wrote, up to its end; "" when the sandbox has ended."""
        try:
            self.process.stdin.write(f"{{ {command}; }} 2>&1; echo; echo END-OF-COMMAND\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return ""
        out = ""
        for line in self.process.stdout:
            if line == "END-OF-COMMAND\n":
                return out.removesuffix("\n")
            out += line
        return out

    def errors(self):
        while select.select([self.process.stderr], [], [], 0)[0]:
            text = os.read(self.process.stderr.fileno(), 65536).decode()
            if not text:
                break
            self.err += text
        return self.err

    def said(self):
        """What was said about the host."""
        return [line for line in self.errors().splitlines() if "replaced" in line or "created" in line]

    def wait_for(self, text):
        wait_until(lambda: text in self.errors(), 5, f"{text!r} on stderr")

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)
        return self.said()

    def ended(self):
        status = self.process.wait(5)
        return status, "\n".join(self.said())


def replace(path, text="new"):
    """As git and editors do it."""
    new = path.with_name(path.name + ".lock")
    new.write_text(text)
    new.rename(path)


def recreate(path):
    path.unlink()
    path.write_text("new")


def move_away(path):
    path.rename(path.with_name(path.name + "~"))
    path.write_text("new")


@pytest.fixture
def project(hutch):
    (hutch.directory / ".git").mkdir()
    (hutch.directory / ".git/config").write_text("before\n")
    (hutch.directory / "sub").mkdir()
    (hutch.directory / "sub/secret").write_text("CANARY\n")
    (hutch.directory / "file").write_text("before\n")
    return hutch.directory


@pytest.mark.parametrize("how", [replace, recreate, move_away])
@pytest.mark.parametrize("grant", ["--ro", "--rw"])
def test_a_hidden_file_that_is_replaced_ends_the_sandbox(hutch, project, grant, how):
    with Session(hutch, grant, project, "--hide", "sub/secret") as session:
        assert session("cat sub/secret") == ""
        how(project / "sub/secret")
        status, err = session.ended()
    assert status == 125
    assert err.count("was replaced while the sandbox ran") == 1 and f"{project}/sub/secret" in err and "--hide sub/secret" in err, err


def test_a_pattern_is_an_order_too(hutch, project):
    with Session(hutch, "--ro", project, "--hide", "sec*") as session:
        replace(project / "sub/secret")
        assert session.ended()[0] == 125


def test_what_is_protected_by_name_ends_the_sandbox(hutch, project):
    with Session(hutch, "--rw", project, "--protect", "file") as session:
        replace(project / "file")
        status, err = session.ended()
    assert status == 125 and "--protect" in err, err


def test_a_narrower_grant_ends_the_sandbox(hutch, project):
    with Session(hutch, "--rw", project, "--ro", project / "sub") as session:
        (project / "sub").rename(project / "old")
        (project / "sub").mkdir()
        assert session.ended()[0] == 125


def test_the_same_grant_twice_is_no_loss(hutch, project):
    with Session(hutch, "--ro", project, "--ro", project / "sub", "--hide", "file") as session:
        (project / "sub").rename(project / "old")
        (project / "sub").mkdir()
        assert session("echo on") == "on\n"
        assert session.end() == []


def test_a_directory_above_that_is_replaced(hutch, project):
    (project / "a/b").mkdir(parents=True)
    (project / "a/b/secret").write_text("CANARY\n")
    with Session(hutch, "--rw", project, "--hide", "a/b/secret") as session:
        (project / "a").rename(project / "old")
        assert session("echo on") == "on\n"  # nothing is there: nothing is shown
        (project / "a/b").mkdir(parents=True)
        status, err = session.ended()
    assert status == 125 and f"{project}/a was replaced" in err, err


def test_a_built_in_name_is_reported_at_once_and_once(hutch, project):
    with Session(hutch, "--rw", project) as session:
        assert "Read-only" in session("echo x >>.git/config")
        subprocess.run(["git", "config", "--file", project / ".git/config", "a.b", "c"], check=True)
        session.wait_for(f"{project}/.git/config was replaced")
        assert session("echo x >>.git/config && echo open") == "open\n"
        replace(project / ".git/config")
        assert session("echo on") == "on\n"
        assert len(session.end()) == 1
    assert session.process.returncode == 0


def test_nothing_is_said_of_writing_in_place_and_of_other_files(hutch, project):
    with Session(hutch, "--rw", project, "--hide", "sub/secret", "--protect", "file") as session:
        (project / "sub/secret").write_text("written in place\n")
        (project / "file").write_text("written in place\n")
        replace(project / "other")
        replace(project / "sub/other")
        (project / ".git/config").touch()
        session("echo x >new; mv new newer; mkdir -p sub/deep; touch .git/index")
        assert session("cat sub/secret file") == "written in place\n"
        assert session.end() == []


def test_files_in_a_hidden_directory_can_be_replaced(hutch, project):
    with Session(hutch, "--rw", project, "--hide", "sub") as session:
        replace(project / "sub/secret")
        (project / "sub/more").write_text("more")
        assert session("ls sub") == ""
        assert session.end() == []


@pytest.mark.parametrize("option", ["--hide", "--protect"])
def test_a_replacement_right_after_the_start_is_noticed(hutch, project, option):
    with Session(hutch, "--rw", project, option, "file", settled=False) as session:
        replace(project / "file")
        assert session.ended()[0] == 125


def test_a_short_run_is_looked_at_when_it_has_ended(hutch, project):
    done = hutch("run", "--rw", project, "--rw", hutch.home / "notes.txt", "--protect", "file", "--", "sh", "-c", "echo >ready; while [ ! -e go ]; do :; done",
                 before=["sh", "-c", '"$@" & while [ ! -e ready ]; do :; done; echo new >n; mv n file; touch go; wait $!', "sh"])
    assert done.status == 125 and "was replaced" in done.err, done


def test_a_created_protected_name_is_said_at_once_and_once(hutch, project):
    with Session(hutch, "--rw", project) as session:
        session("echo '{}' >.mcp.json; mkdir .git/hooks")
        session.wait_for(".mcp.json was created")
        session.wait_for(".git/hooks was created")
        session("rm .mcp.json; echo '{}' >.mcp.json")
        err = "\n".join(session.end())
    assert err.count(".mcp.json was created") == 1 and err.count(".git/hooks was created") == 1, err


def test_a_flood_of_events_loses_nothing(hutch, project):
    limit = int(open("/proc/sys/fs/inotify/max_queued_events").read())
    with Session(hutch, "--rw", project, "--protect", "file") as session:
        os.kill(session.process.pid, signal.SIGSTOP)
        try:
            for i in range(limit // 2 + 100):  # two events each
                (project / "x").write_text("")
                (project / "x").rename(project / f"y{i % 2}")
            replace(project / "file")
        finally:
            os.kill(session.process.pid, signal.SIGCONT)
        assert session.ended()[0] == 125


def test_no_inotify_left_is_one_note(hutch, project, deny_calls):
    for rule in ("inotify_init1=EMFILE", "inotify_add_watch=ENOSPC"):
        with Session(hutch, "--rw", project, "--hide", "sub/secret", before=deny_calls(rule), settled=False) as session:
            session.wait_for("watched while the sandbox runs")
            assert session("echo on") == "on\n"
            session.end()
            assert without_deny_all(session.err).count("[hutch]") == 1, session.err
