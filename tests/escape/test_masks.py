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
    """A folder for the attempts to work on, beside the attempt itself."""
    folder = hutch.folder / "project"

    def make():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / ".git/hooks").mkdir(parents=True)
        (folder / ".git/config").write_text("before")
        (folder / "sub").mkdir()
        (folder / "sub/.env").write_text("CANARY")
    make()
    return folder, make


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
    folder, make = project
    attempt(PLANT, "--rw", folder, arguments=[folder], reset=make)
    assert os.listdir(folder / ".git/hooks") == [] and (folder / ".git/config").read_text() == "before"
    attempt(PLANT, "--rw", folder, "--allow-userns", arguments=[folder], proof=False)
    assert os.listdir(folder / ".git/hooks") == [] and (folder / ".git/config").read_text() == "before"


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
    folder, make = project
    attempt(REVEAL, grant, folder, "--hide", ".env*", *userns, arguments=[folder], reset=make)


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
    folder, make = project

    def again():
        make()
        (folder / "sub/deep").mkdir()
    again()
    attempt(BESIDE, outer, folder, inner, folder / "sub/deep", "--hide", folder / "sub", *userns, arguments=[folder], reset=again)
    assert sorted(os.listdir(folder / "sub")) == [".env", "deep"]


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
    folder, make = project
    (hutch.folder / "a.py").write_text(OVERWRITE)
    subprocess.run([PYTHON, hutch.folder / "a.py", folder], check=True)
    assert "GOT-OUT" in (folder / ".git/config").read_text()
    make()
    for userns in ([], ["--allow-userns"]):
        hutch("run", "--overlay", folder, *userns, "--", PYTHON, hutch.folder / "a.py", folder)
        assert (folder / ".git/config").read_text() == "before"


# what an earlier run left

def test_links_in_the_place_of_protected_names_lead_nowhere(hutch, project):
    """Nothing behind a link is opened, mounted, created or said to exist."""
    folder, _ = project
    shutil.rmtree(folder / ".git")
    (hutch.home / "private/hooks").mkdir(parents=True)
    (folder / ".git").symlink_to(hutch.home / "private")
    (folder / ".envrc").symlink_to(hutch.home / "notes.txt")
    (folder / ".claude").symlink_to("/nowhere")
    done = hutch("run", "--rw", folder, "--", "sh", "-c", f"cat {folder}/.envrc {folder}/.git/hooks/* || ls {hutch.home}")
    assert done.status == 0 and "CANARY" not in done.out and "during the run" not in done.err and "private" not in done.err, done
    done = hutch("run", "--rw", folder, "--", "sh", "-c", f"rm {folder}/.git && ln -s {hutch.home}/.ssh {folder}/.git")
    assert f"{folder}/.git was changed" in done.err and "hooks" not in done.err, done


def test_a_fifo_or_socket_in_the_place_of_a_protected_name_does_not_hang(hutch, project):
    folder, _ = project
    os.mkfifo(folder / ".envrc")
    os.mkfifo(folder / ".env")
    done = hutch("run", "--rw", folder, "--hide", ".env*", "--", "cat", folder / ".env", folder / ".envrc", timeout=10)
    assert (done.status, done.out) == (0, ""), done


def test_names_that_are_no_text_in_reports(hutch, project):
    """What a run creates is said on one line, whatever the folder is called."""
    folder = hutch.folder / "a\n[hutch] all is well\x1b[2J"
    folder.mkdir()
    done = hutch("run", "--rw", folder, "--cwd", folder, "--", "touch", ".envrc")
    assert "\x1b" not in done.err and "\n[hutch] all is well" not in done.err and "was created during the run" in done.err, done


def test_a_link_that_matches_a_pattern_hides_nothing_of_the_system(hutch, project):
    folder, _ = project
    (folder / ".env.a").symlink_to("/usr/bin")
    (folder / ".env.b").symlink_to("/")
    (folder / ".env.c").symlink_to(".env.c")
    (folder / ".env.d").symlink_to("..")
    done = hutch("run", "--rw", folder, "--hide", ".env*", "--", "sh", "-c", "echo alive")
    assert done.out == "alive\n", done
