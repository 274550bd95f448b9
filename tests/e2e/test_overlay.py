# SPDX-License-Identifier: Apache-2.0
"""--overlay: a directory that can be written, and nothing of it stays."""
import contextlib
import os
import sqlite3
import subprocess
import tempfile

import pytest
from harness import PYTHON


def listing(directory):
    return {str(path.relative_to(directory)): (os.lstat(path).st_mode, os.lstat(path).st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in sorted(directory.rglob("*"))}


@pytest.fixture
def project(hutch):
    (hutch.directory / "sub/deep").mkdir(parents=True)
    (hutch.directory / "file").write_text("before\n")
    (hutch.directory / "sub/deep/file").write_text("deep\n")
    return hutch.directory


def test_what_is_written_is_seen_inside_and_vanishes(hutch, project):
    before = listing(project)
    script = ("echo x >file; echo x >>sub/deep/file; touch new; mkdir d; rm -r sub/deep; mkdir sub/deep; echo y >sub/deep/y; chmod 700 file; "
              "mv new newer; ln newer hard; ln -s file soft; cat file; find . | sort | tr '\\n' ' '")
    assert hutch.inside(script, "--overlay", ".", cwd=project) == \
        "x\n. ./d ./file ./hard ./newer ./soft ./sub ./sub/deep ./sub/deep/y "
    assert listing(project) == before


@pytest.mark.parametrize("name", ["a,b", "a:b", "a\\b", "a b", "lower=x", "a\nb", "'\"", "-o", "ä"])
def test_any_name_of_the_directory(hutch, name):
    directory = hutch.directory / name
    directory.mkdir()
    (directory / "f").write_text("there\n")
    done = hutch("run", f"--overlay={directory}", "--cwd", directory, "--", "sh", "-c", "cat f; echo x >f; cat f")
    assert (done.out, (directory / "f").read_text()) == ("there\nx\n", "there\n"), done


def test_a_name_that_is_no_utf_8(hutch):
    directory = os.fsencode(hutch.directory) + b"/\xff\xfe"
    os.mkdir(directory)
    assert hutch("run", "--overlay", os.fsdecode(directory), "--cwd", os.fsdecode(directory), "--", "touch", "x").status == 0
    assert os.listdir(directory) == []


def test_at_another_place_and_with_narrower_grants(hutch, project):
    out = hutch.inside("cd /mnt/work && echo x >file && echo y >>sub/deep/file && cat file sub/deep/file", "--overlay", f"{project}:/mnt/work",
                       "--rw", f"{project}/sub/deep:/mnt/work/sub/deep")
    assert out == "x\ndeep\ny\n"
    assert (project / "file").read_text() == "before\n" and (project / "sub/deep/file").read_text() == "deep\ny\n"
    done = hutch("run", "--rw", project, "--overlay", project / "sub", "--", "sh", "-c", f"echo x >{project}/sub/new; mv {project}/sub {project}/x")
    assert done.status != 0 and sorted(os.listdir(project)) == ["file", "sub"] and os.listdir(project / "sub") == ["deep"], done


def test_two_overlays(hutch, project):
    assert hutch.inside("echo x >/mnt/a/file; cat /mnt/b/file", "--overlay", f"{project}:/mnt/a", "--overlay", f"{project}:/mnt/b") == "before\n"


def test_the_program_in_it_is_the_overlays(hutch, project):
    (project / "main.py").write_text("open(__file__ + '.new', 'w'); print('wrote')")
    (project / "package.json").write_text("{}")
    done = hutch("run", "--overlay", project, "--", PYTHON, project / "main.py")
    assert done.out == "wrote\n" and not (project / "main.py.new").exists(), done


def test_the_memory_it_takes_is_bounded(hutch, project):
    done = hutch("run", "--overlay", project, "--", "sh", "-c", f"dd if=/dev/zero of={project}/big bs=1M count=1100 2>&1")
    assert "No space left" in done.out, done


def test_a_database_with_a_journal_can_be_read(hutch):
    path = hutch.directory / "a.db"
    database = sqlite3.connect(path)
    database.executescript("pragma journal_mode=wal; create table t(x); insert into t values(7)")
    database.close()
    before = listing(hutch.directory)
    script = f"import sqlite3\nprint(sqlite3.connect('file:{path}?mode=ro', uri=True).execute('select x from t').fetchone()[0])"
    assert hutch("run", "--overlay", hutch.directory, "--", PYTHON, "-c", script).out == "7\n"
    done = hutch("run", "--ro", hutch.directory, "--", PYTHON, "-c", script)
    assert done.status != 0 and "unable to open database file" in done.err, done
    assert listing(hutch.directory) == before and os.listdir(hutch.directory) == ["a.db"]


# Opens a database, begins as asked, says so, and waits for its input to end.
HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    database.execute(statement).fetchall()
print(flush=True)
sys.stdin.read()
"""


class Holder:
    """Another program that has a database open."""

    def __init__(self, *words):
        self.process = subprocess.Popen([PYTHON, "-c", HOLD, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"\n"

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def deep(hutch):
    """A database some directories down."""
    path = hutch.directory / "a/b/data.db"
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("create table t(x); insert into t values(7)")
    return path


READ = "import sqlite3, sys\nprint(sqlite3.connect(sys.argv[1]).execute('select x from t').fetchall())"


@pytest.mark.parametrize("statements", [["pragma journal_mode=wal", "insert into t values(8)"], ["pragma journal_mode=wal", "select * from t"],
                                        ["pragma locking_mode=exclusive", "pragma journal_mode=wal", "insert into t values(8)"],
                                        ["begin", "pragma cache_size=1", "insert into t values(8)", "pragma cache_spill=1"]])
def test_a_live_journal_is_refused_and_a_left_one_is_not(hutch, deep, statements):
    options = ["--overlay", hutch.directory, "--", PYTHON, "-c", READ, deep]
    with Holder(deep, *statements) as process:
        done = hutch("run", *options)
        assert done.status == 125 and "another program is using the journal a/b/data.db-" in done.err and done.out == "", done
        assert hutch("run", "--ro", hutch.directory, "--", "true").status == 0
        assert hutch("run", "--rw", hutch.directory, "--", "true").status == 0
        process.kill()  # a crash: its journal stays
        process.wait()
        assert [name for name in os.listdir(deep.parent) if name.endswith(("-wal", "-journal"))]
        before = listing(hutch.directory)
        done = hutch("run", *options)
        assert done.status == 0 and done.out.startswith("[(7,)") and listing(hutch.directory) == before, done


def test_a_database_that_is_open_without_a_journal_in_use_can_be_an_overlay(hutch, deep):
    with Holder(deep, "select * from t"):
        assert hutch("run", "--overlay", hutch.directory, "--", PYTHON, "-c", READ, deep).out == "[(7,)]\n"


def test_names_of_journals_that_are_none(hutch):
    os.mkfifo(hutch.directory / "a-shm")
    (hutch.directory / "a-wal").write_text("")
    (hutch.directory / "b-wal").mkdir()
    (hutch.directory / "c-wal").symlink_to("/dev/zero")
    (hutch.directory / "c-shm").symlink_to("/dev/zero")
    (hutch.directory / "-wal").write_text("x")
    (hutch.directory / "-journal").write_text("x")
    (hutch.directory / "d-journal").write_text("x")
    os.mkfifo(hutch.directory / "d")
    assert hutch("run", "--overlay", hutch.directory, "--", "true", timeout=10).status == 0


def test_what_cannot_be_an_overlay(hutch, project):
    done = hutch("run", "--overlay", project / "file", "--", "true")
    assert done.status == 125 and "not a directory" in done.err, done
    assert hutch("run", "--overlay", hutch.home, "--", "true").status == 125
    assert hutch("run", "--overlay", hutch.home / ".ssh", "--", "true").status == 125
    assert hutch("run", "--overlay", project / "missing", "--", "true").status == 125
    for other in ("--ro", "--rw"):
        done = hutch("run", "--overlay", project, other, project, "--", "true")
        assert done.status == 2 and f"both --overlay and {other}" in done.err, done


@pytest.mark.skipif(os.getuid() == 0, reason="only files of the caller's own id can be copied up")
def test_a_directory_of_the_system(hutch):
    done = hutch("run", "--overlay", "/usr/share", "--proc", "none", "--", "sh", "-c", "ls -d /usr/share/doc; touch /usr/share/hutch-test")
    assert done.out == "/usr/share/doc\n" and not os.path.exists("/usr/share/hutch-test"), done


def test_nothing_of_the_directories_behind_it_is_reachable(hutch, project):
    out = hutch.inside("ls -A /tmp; grep -c lower /proc/self/mounts; grep overlay /proc/self/mountinfo", "--overlay", project)
    listed, mounted, overlay = out.splitlines()[:-2], *out.splitlines()[-2:]
    assert listed in ([], [project.relative_to("/tmp").parts[0]]) and mounted == "1", out  # the way to the grant alone
    assert str(project.parent) not in overlay.split(" - ")[1], out


def test_the_mode_of_the_directory_is_the_hosts(hutch):
    with tempfile.TemporaryDirectory(dir=hutch.directory) as directory:
        os.chmod(directory, 0o750)
        assert hutch.inside(f"stat -c %a {directory}", "--overlay", directory) == "750\n"
