# SPDX-License-Identifier: Apache-2.0
"""Attempts to plant what git, run by the person outside, would execute: in submodules, worktrees, nested repositories and
directories of hooks; and directories that an earlier run prepared against the search for them. Each is first proven to succeed
outside."""
import os
import shutil
import subprocess

import pytest
from flipping import flipping
from harness import needs_installed


@pytest.fixture
def project(hutch):
    """A repository with one of each kind, and a way to make it again."""
    needs_installed(shutil.which("git"), "git is missing")
    directory, other = hutch.directory / "project", hutch.directory / "other"
    environment = {**hutch.environment, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words, cwd=directory):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *map(str, words)],
                       cwd=cwd, env=environment, check=True, capture_output=True)

    def make():
        shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(other, ignore_errors=True)
        for path in (directory, other):
            path.mkdir()
            git("init", "-q", cwd=path)
            git("commit", "-qm", "x", "--allow-empty", cwd=path)
        git("submodule", "add", "-q", other, "sub")
        git("worktree", "add", "-q", directory / "tree")
        git("init", "-q", directory / "nested")
        (directory / ".githooks").mkdir()
        git("config", "core.hooksPath", "../.githooks", cwd=directory / "nested")
    make()
    return directory, make


# Each way plants a program that git status runs (core.fsmonitor), or a hook, and proves it by running git as the person does.
PLANT = """
import os, shutil, subprocess, sys
root = sys.argv[1]
os.chdir(root)
marker = root + "/ran"
with open("evil", "w") as script:
    script.write("#!/bin/sh\\necho >" + marker + "\\n")
os.chmod("evil", 0o755)
LINE = "[core]\\n\\tfsmonitor = " + root + "/evil\\n"
def append(path):
    with open(path, "a") as config:
        config.write(LINE)
def swap(directory, name):
    shutil.copytree(directory, directory + ".copy", symlinks=True)
    append(directory + ".copy/" + name)
    os.rename(directory, directory + ".away")
    os.rename(directory + ".copy", directory)
def replace(path, text):
    with open(path + ".new", "w") as new:
        new.write(text)
    os.rename(path + ".new", path)
def redirect(path):
    shutil.copytree("nested/.git", "fake")
    append("fake/config")
    replace(path, "gitdir: " + root + "/fake\\n")
def common(path):
    shutil.copytree(".git", "fake", symlinks=True)
    append("fake/config")
    replace(path, root + "/fake\\n")
def hook(directory):
    shutil.copy("evil", directory + "/pre-commit")
ways = {
    "submodule": (lambda: append(".git/modules/sub/config"), "sub"),
    "submodule-moved": (lambda: swap(".git/modules/sub", "config"), "sub"),
    "modules-moved": (lambda: swap(".git/modules", "sub/config"), "sub"),
    "submodule-file": (lambda: redirect("sub/.git"), "sub"),
    "submodule-hook": (lambda: hook(".git/modules/sub/hooks"), "sub"),
    "worktree-file": (lambda: redirect("tree/.git"), "tree"),
    "worktree-common": (lambda: common(".git/worktrees/tree/commondir"), "tree"),
    "worktree-config": (lambda: append(".git/config"), "tree"),
    "nested": (lambda: append("nested/.git/config"), "nested"),
    "nested-moved": (lambda: swap("nested", ".git/config"), "nested"),
    "hooks-path": (lambda: hook(".githooks"), "nested"),
}
plant, where = ways[sys.argv[2]]
plant()
if len(sys.argv) == 3:
    git = ["git", "-C", where, "-c", "user.name=n", "-c", "user.email=a@b"]
    subprocess.run([*git, "status"], capture_output=True)
    subprocess.run([*git, "commit", "-qm", "y", "--allow-empty"], capture_output=True)
    if os.path.exists(marker):
        print("GOT-OUT")
"""

WAYS = ["submodule", "submodule-moved", "modules-moved", "submodule-file", "submodule-hook", "worktree-file", "worktree-common", "worktree-config",
        "nested", "nested-moved", "hooks-path"]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_planted(attempt, hutch, project, way):
    directory, make = project
    attempt(PLANT, "--rw", directory, arguments=[directory, way], reset=make)
    # And what it left behind is not run by a git outside either.
    make()
    hutch("run", "--rw", directory, "--", "/usr/bin/python3", hutch.directory / "attempt.py", directory, way, "plant-only")
    for where in ("sub", "tree", "nested"):
        for words in (["status"], ["-c", "user.name=n", "-c", "user.email=a@b", "commit", "-qm", "y", "--allow-empty"]):
            subprocess.run(["git", "-C", directory / where, *words], capture_output=True, env=hutch.environment)
    assert not (directory / "ran").exists()


# what an earlier run prepared

def test_pointers_and_configurations_that_are_no_files(hutch):
    """Fifos, devices' names, directories and links to the person's files in every place that is read."""
    directory = hutch.directory / "project"
    secret = hutch.home / "private"
    secret.mkdir()
    (secret / "HEAD").write_text("")
    (secret / "objects").mkdir()
    (secret / "config").write_text("[core]\nhooksPath = /CANARY\n")
    for number, kind in enumerate(("fifo", "link", "directory", "zero", "loop")):
        place = directory / str(number)
        (place / ".git").mkdir(parents=True)
        for name in ("HEAD", "objects"):
            (place / ".git" / name).write_text("")
        for name in ("config", "commondir", "config.worktree", "hooks", "gitdir"):
            path = place / ".git" / name
            if kind == "fifo":
                os.mkfifo(path)
            elif kind == "directory":
                path.mkdir()
            else:
                path.symlink_to({"link": secret / "config", "zero": "/dev/zero", "loop": name}[kind])
    for name in ("modules", "worktrees"):
        (directory / "0/.git" / name).symlink_to(secret)
    os.mkfifo(directory / ".git")
    (directory / "5").mkdir()
    (directory / "5/.git").write_text(f"gitdir: {secret}\n")
    (directory / "6").mkdir()
    (directory / "6/.git").symlink_to(secret)
    done = hutch("run", "--rw", directory, "--", "sh", "-c", f"echo alive; ls {secret}; cat {directory}/[1456]/.git/config", timeout=10)
    assert "alive" in done.out and "CANARY" not in done.out + done.err, done


def test_configurations_of_garbage(hutch):
    (hutch.directory / ".git").mkdir()
    for text in (b"\0" * 1000, b"[" * 300000, b"[core]\nhooksPath = " + b"a/" * 100000, b'[core "', b"[core]\nhooksPath = \"x\\", b"[core]hooksPath=\\\n\\\n",
                 b"[include]\npath=\n" * 1000, b"[core]\nhooksPath = " + b"\xff\x1b[2J\n", b"\xef\xbb\xbf[core]\r\nhooksPath = ../../../..\r\n",
                 b"[include]\npath = config\n" * 60, b"[core]\nhooksPath=%(prefix)/x\nhooksPath=~nobody/x\nhooksPath=:(optional)\nhooksPath=/\n"):
        (hutch.directory / ".git/config").write_bytes(text)
        done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", "echo alive >alive; cat alive", cwd=hutch.directory, timeout=10)
        assert done.out == "alive\n" and "\x1b" not in done.err, (text[:40], done)


def test_a_deep_and_a_wide_tree(hutch):
    path = hutch.directory
    for _ in range(300):
        path = path / "d"
        path.mkdir()
    for i in range(60):
        (hutch.directory / f"m{i}").mkdir()
        directory = os.open(hutch.directory / f"m{i}", os.O_RDONLY)
        for j in range(1000):
            os.symlink("x", str(j), dir_fd=directory)
        os.close(directory)
    done = hutch("run", "--rw", hutch.directory, "--", "true", timeout=10)
    assert done.status == 0 and done.seconds < 5, done


def test_a_nested_repository_is_swapped_while_hutch_starts(hutch):
    """Somebody flips a repository and a link to the person's own: what is mounted is never the latter."""
    (hutch.home / "private/.git/hooks").mkdir(parents=True)
    (hutch.home / "private/.git/config").write_text("CANARY-config")
    (hutch.directory / "a/.git/hooks").mkdir(parents=True)
    (hutch.directory / "a/.git/config").write_text("mine")
    (hutch.directory / "b").symlink_to(hutch.home / "private")
    with flipping(hutch.directory / "a", hutch.directory / "b") as flips:
        ends = [hutch("run", "--rw", hutch.directory, "--", "sh", "-c", f"cat {hutch.directory}/*/.git/config; ls {hutch.home}/private") for _ in range(40)]
    assert len(flips) > 1000 and not [done for done in ends if "CANARY" in done.out + done.err or "hooks" in done.out]
