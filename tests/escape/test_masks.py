# SPDX-License-Identifier: Apache-2.0
"""Attempts to undo, from inside and by what an earlier run left in a writable grant, what is protected or hidden. Each is
first proven to succeed outside."""
import os
import shutil
import subprocess

import pytest
from harness import PYTHON


@pytest.fixture
def project(hutch):
    """A directory for the attempts to work on, beside the attempt itself."""
    directory = hutch.directory / "project"

    def make():
        shutil.rmtree(directory, ignore_errors=True)
        (directory / ".git/hooks").mkdir(parents=True)
        (directory / ".git/config").write_text("before")
        (directory / "sub").mkdir()
        (directory / "sub/.env").write_text("CANARY")
    make()
    return directory, make


PLANT = """
import os, sys
os.chdir(sys.argv[1])
def ways():
    yield lambda: open(".git/hooks/post-checkout", "w").close()
    yield lambda: os.rename(".git", "x") or os.makedirs(".git/hooks") or open(".git/hooks/post-checkout", "w").close()
    yield lambda: os.rename(".git/hooks", ".git/x") or os.mkdir(".git/hooks") or open(".git/hooks/post-checkout", "w").close()
    yield lambda: os.link(".git/config", "config") or open("config", "w").write("x") and print("GOT-OUT")
    yield lambda: open(f"/proc/self/cwd/.git/config", "w").write("x") and print("GOT-OUT")
    yield lambda: os.chmod(".git/config", 0o600) or open(".git/config", "r+").write("x") and print("GOT-OUT")
for way in ways():
    try:
        way()
    except OSError:
        pass
    if os.path.exists(".git/hooks/post-checkout"):
        print("GOT-OUT")
"""


def test_nothing_is_planted_in_a_repository(attempt, project):
    directory, make = project
    attempt(PLANT, "--rw", directory, arguments=[directory], reset=make)
    assert os.listdir(directory / ".git/hooks") == [] and (directory / ".git/config").read_text() == "before"
    attempt(PLANT, "--rw", directory, "--allow-userns", arguments=[directory], proof=False)
    assert os.listdir(directory / ".git/hooks") == [] and (directory / ".git/config").read_text() == "before"


REVEAL = """
import ctypes, os, subprocess, sys
os.chdir(sys.argv[1])
def look(path):
    if "CANARY" in open(path).read():
        print("GOT-OUT")
def ways():
    yield lambda: look("sub/.env")
    yield lambda: os.link("sub/.env", "other") or look("other")
    yield lambda: os.rename("sub/.env", "sub/x") or look("sub/x")
    yield lambda: os.rename("sub", "x") or look("x/.env")
    yield lambda: [look(f"/proc/self/fd/{os.open('sub', os.O_PATH)}/.env")]
    yield lambda: ctypes.CDLL(None).umount2(b"sub/.env", 2) or look("sub/.env")
    yield lambda: subprocess.run(["unshare", "-Urm", "sh", "-c", "umount sub/.env; cat sub/.env >leak"]) and look("leak")
    yield lambda: subprocess.run(["unshare", "-Urm", "sh", "-c", "mkdir -p v; mount --bind . v; cat v/sub/.env >leak"]) and look("leak")
for way in ways():
    try:
        way()
    except OSError:
        pass
"""


@pytest.mark.parametrize("grant", ["--rw", "--overlay"])
@pytest.mark.parametrize("userns", [[], ["--allow-userns"], ["--allow-userns=full"]])
def test_nothing_hidden_is_seen(attempt, project, am_root, grant, userns):
    if am_root and userns == ["--allow-userns=full"]:
        pytest.skip("refused to root")
    directory, make = project
    attempt(REVEAL, grant, directory, "--hide", ".env*", *userns, arguments=[directory], reset=make)


BESIDE = """
import os, shutil, subprocess, sys
os.chdir(sys.argv[1])
def look(path):
    if "CANARY" in open(path).read():
        print("GOT-OUT")
def ways():
    yield lambda: look("sub/.env")
    yield lambda: look("sub/deep/../.env")
    yield lambda: os.chdir("sub/deep") or look("../.env")
    yield lambda: os.chdir(sys.argv[1]) or os.rename("sub/deep", "sub/x") or look("sub/.env")
    yield lambda: os.symlink("../.env", "sub/deep/link") or look("sub/deep/link")
    yield lambda: os.link("sub/.env", "sub/deep/hard") or look("sub/deep/hard")
    yield lambda: os.rmdir("sub/deep") or look("sub/.env")
    yield lambda: open("sub/new", "w").close() or print("GOT-OUT")
    yield lambda: os.mkdir("sub/newer") or print("GOT-OUT")
    yield lambda: os.chmod("sub", 0o777) or print("GOT-OUT")
    yield lambda: subprocess.run(["unshare", "-Urm", "sh", "-c", "umount sub/deep; umount sub; cat sub/.env >leak"]) and look("leak")
    yield lambda: subprocess.run(["unshare", "-Urm", "sh", "-c", "mount -o remount,bind,rw sub; touch sub/new"]).returncode or print("GOT-OUT")
for way in ways():
    try:
        way()
    except OSError:
        pass
"""


@pytest.mark.parametrize("outer, inner", [("--ro", "--ro"), ("--rw", "--rw"), ("--overlay", "--rw"), ("--rw", "--overlay")])
@pytest.mark.parametrize("userns", [[], ["--allow-userns"]])
def test_a_narrower_grant_opens_nothing_beside_it(attempt, project, outer, inner, userns):
    directory, make = project

    def again():
        make()
        (directory / "sub/deep").mkdir()
    again()
    attempt(BESIDE, outer, directory, inner, directory / "sub/deep", "--hide", directory / "sub", *userns, arguments=[directory], reset=again)
    assert sorted(os.listdir(directory / "sub")) == [".env", "deep"]


OVERWRITE = """
import os, subprocess, sys
os.chdir(sys.argv[1])
for way in (lambda: open(".git/config", "w").write("GOT-OUT"),
            lambda: subprocess.run(["unshare", "-Urm", "sh", "-c", "umount .; echo GOT-OUT >" + sys.argv[1] + "/.git/config"], stderr=-3)):
    try:
        way()
    except OSError:
        pass
"""


def test_an_overlay_changes_nothing_outside(hutch, project):
    directory, make = project
    (hutch.directory / "a.py").write_text(OVERWRITE)
    subprocess.run([PYTHON, hutch.directory / "a.py", directory], check=True)
    assert "GOT-OUT" in (directory / ".git/config").read_text()
    make()
    for userns in ([], ["--allow-userns"]):
        hutch("run", "--overlay", directory, *userns, "--", PYTHON, hutch.directory / "a.py", directory)
        assert (directory / ".git/config").read_text() == "before"


# what an earlier run left

def test_links_in_the_place_of_protected_names_lead_nowhere(hutch, project):
    """Nothing behind a link is opened, mounted, created or said to exist."""
    directory, _ = project
    shutil.rmtree(directory / ".git")
    (hutch.home / "private/hooks").mkdir(parents=True)
    (directory / ".git").symlink_to(hutch.home / "private")
    (directory / ".envrc").symlink_to(hutch.home / "notes.txt")
    (directory / ".claude").symlink_to("/nowhere")
    done = hutch("run", "--rw", directory, "--", "sh", "-c", f"cat {directory}/.envrc {directory}/.git/hooks/* || ls {hutch.home}")
    assert done.status == 0 and "CANARY" not in done.out and "during the run" not in done.err and "private" not in done.err, done
    done = hutch("run", "--rw", directory, "--", "sh", "-c", f"rm {directory}/.git && ln -s {hutch.home}/.ssh {directory}/.git")
    assert f"{directory}/.git was changed" in done.err and "hooks" not in done.err, done


def test_a_fifo_or_socket_in_the_place_of_a_protected_name_does_not_hang(hutch, project):
    directory, _ = project
    os.mkfifo(directory / ".envrc")
    os.mkfifo(directory / ".env")
    done = hutch("run", "--rw", directory, "--hide", ".env*", "--", "cat", directory / ".env", directory / ".envrc", timeout=10)
    assert (done.status, done.out) == (0, ""), done


def test_names_that_are_no_text_in_reports(hutch, project):
    """What a run creates is said on one line, whatever the directory is called."""
    directory = hutch.directory / "a\n[hutch] all is well\x1b[2J"
    directory.mkdir()
    done = hutch("run", "--rw", directory, "--cwd", directory, "--", "touch", ".envrc")
    assert "\x1b" not in done.err and "\n[hutch] all is well" not in done.err and "was created during the run" in done.err, done


def test_a_link_that_matches_a_pattern_hides_nothing_of_the_system(hutch, project):
    directory, _ = project
    (directory / ".env.a").symlink_to("/usr/bin")
    (directory / ".env.b").symlink_to("/")
    (directory / ".env.c").symlink_to(".env.c")
    (directory / ".env.d").symlink_to("..")
    done = hutch("run", "--rw", directory, "--hide", ".env*", "--", "sh", "-c", "echo alive")
    assert done.out == "alive\n", done
