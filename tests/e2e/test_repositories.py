# SPDX-License-Identifier: Apache-2.0
"""Git and ssh in granted directories: no complaint about who owns what, and a work tree whose repository is elsewhere is named."""
import os
import shutil
import subprocess

import pytest
from harness import needs_installed


@pytest.fixture
def git(hutch):
    """git(*words): the real one, outside, as a person with a name."""
    needs_installed(shutil.which("git"), "git is missing")

    def run(*words, cwd=hutch.directory):
        environment = {**hutch.environment, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *map(str, words)],
                       cwd=cwd, env=environment, check=True, capture_output=True)
    return run


COMMIT = "git -c user.name=n -c user.email=a@b commit -qm inside"


@pytest.fixture
def main(hutch, git):
    directory = hutch.directory / "main"
    git("init", "-q", directory)
    git("commit", "-qm", "x", "--allow-empty", cwd=directory)
    return directory


def test_a_granted_repository(hutch, main):
    script = f"cd {main} && echo h >f && git add f && {COMMIT} && git status --short && git log --format=%s"
    done = hutch("run", "--rw", main, "--", "sh", "-c", script)
    assert (done.status, done.out, done.err) == (0, "inside\nx\n", ""), done
    done = hutch("run", "--ro", main, "--", "git", "-C", main, "log", "--format=%s")
    assert (done.status, done.out, done.err) == (0, "inside\nx\n", ""), done


def test_a_linked_worktree_names_the_grant_that_it_needs(hutch, git, main):
    tree = hutch.directory / "tree"
    git("worktree", "add", "-q", tree, cwd=main)
    script = f"cd {tree} && echo h >f && git add f && {COMMIT} && git log --format=%s"
    done = hutch("run", "--rw", tree, "--", "sh", "-c", script)
    assert done.status != 0 and len(done.own_lines) == 1, done
    assert f"the Git repository of {tree} is {main}/.git, which is not visible inside; for git to work there, add --rw {main}/.git" in done.err, done
    done = hutch("run", "--rw", tree, "--rw", main / ".git", "--", "sh", "-c", script)
    assert (done.status, done.out, done.err) == (0, "inside\nx\n", ""), done
    done = hutch("run", "--ro", tree, "--", "true")
    assert f"add --ro {main}/.git" in done.err, done
    done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", f"cd {tree} && git status --short")
    assert (done.status, done.err) == (0, ""), done


def test_a_submodule_names_the_grant_that_it_needs(hutch, git, main):
    outer = hutch.directory / "outer"
    git("init", "-q", outer)
    git("submodule", "--quiet", "add", main, "sub", cwd=outer)
    done = hutch("run", "--rw", outer / "sub", "--", "git", "-C", outer / "sub", "status")
    assert done.status != 0 and f"add --rw {outer}/.git" in done.err, done
    done = hutch("run", "--rw", outer / "sub", "--ro", outer / ".git", "--", "git", "-C", outer / "sub", "status", "--short")
    assert (done.status, done.err) == (0, ""), done


def test_a_file_of_the_server_names_no_grant(hutch, git, main):
    """What a work tree says of its repository is repeated only when the repository says the same."""
    git("init", "-q", hutch.home / "secret")
    git("commit", "-qm", "x", "--allow-empty", cwd=hutch.home / "secret")
    git("worktree", "add", "-q", hutch.home / "w", cwd=hutch.home / "secret")
    tree = hutch.directory / "tree"
    tree.mkdir()
    fake = tree / "fake/worktrees/x"
    fake.mkdir(parents=True)
    (fake / "gitdir").write_text(f"{tree}/.git\n")
    (fake / "commondir").write_text(f"{hutch.home}/secret/.git\n")
    for text in (f"gitdir: {hutch.home}/secret/.git\n", f"gitdir: {hutch.home}/secret/.git/worktrees/w\n", f"gitdir: {hutch.home}/.ssh\n", "gitdir: ../../home/secret/.git\n",
                 f"gitdir: {fake}\n", f"gitdir: {hutch.home}/.git/modules/x\n", "gitdir: \n", "gitdir: " + "x" * 9000):
        (tree / ".git").write_text(text)
        for grant in (tree, f"{tree}:/elsewhere"):
            done = hutch("run", "--rw", grant, "--", "true")
            assert (done.status, done.err) == (0, ""), done
    (tree / ".git").unlink()
    os.mkfifo(tree / ".git")
    assert hutch("run", "--rw", tree, "--", "true").status == 0


@pytest.mark.root
def test_a_repository_of_another_account(hutch, main):
    """Outside, git refuses it; inside, its owner is nobody, and what git would run is confined."""
    for directory, _, files in os.walk(main):
        os.chown(directory, 1234, 1234)
        for name in files:
            os.chown(os.path.join(directory, name), 1234, 1234)
    outside = subprocess.run(["git", "-C", main, "log"], env=hutch.environment, capture_output=True, text=True)
    assert "dubious ownership" in outside.stderr
    done = hutch("run", "--ro", main, "--", "git", "-C", main, "log", "--format=%s")
    assert (done.status, done.out, done.err) == (0, "x\n", ""), done


def test_a_repository_below_a_directory_of_another_account(hutch, main):
    """/ and /tmp are root's, who is nobody inside."""
    assert os.stat("/").st_uid == 0
    done = hutch("run", "--rw", main, "--", "git", "-C", main, "status", "--short")
    assert (done.status, done.err) == (0, ""), done


def test_ssh_has_no_complaint_about_its_configuration(hutch):
    needs_installed(shutil.which("ssh"), "ssh is missing")
    done = hutch("run", "--", "ssh", "-T", "-G", "example.com")
    assert done.status == 0 and "hostname example.com" in done.out and done.err == "", done
    (hutch.home / "config").write_text("Host example.com\n  Port 2222\n")
    done = hutch("run", "--ro", f"{hutch.home}/config:{hutch.home}/.ssh/config", "--", "ssh", "-F", hutch.home / ".ssh/config", "-T", "-G", "example.com")
    assert done.status == 0 and "port 2222" in done.out and "Bad owner" not in done.err, done
