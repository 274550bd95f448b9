# SPDX-License-Identifier: Apache-2.0
"""--overlay: a directory that can be written, and nothing of it stays."""
import os
import sqlite3
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
