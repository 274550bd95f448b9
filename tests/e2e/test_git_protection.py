# SPDX-License-Identifier: Apache-2.0
"""What git, run by the person outside, executes or obeys: read-only in a writable grant wherever git may keep it."""
import json
import os
import shutil
import subprocess
import time

import pytest
from harness import needs_installed


@pytest.fixture
def git(hutch):
    """git(*words): the real one, outside, as a person with a name."""
    needs_installed(shutil.which("git"), "git is missing")

    def run(*words, cwd=hutch.directory):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *map(str, words)],
                       cwd=cwd, env={**hutch.environment, "GIT_CONFIG_NOSYSTEM": "1"}, check=True, capture_output=True)
    return run


@pytest.fixture
def main(hutch, git):
    directory = hutch.directory / "main"
    git("init", "-q", directory)
    git("commit", "-qm", "x", "--allow-empty", cwd=directory)
    return directory


def cannot_be_changed(hutch, paths, *options):
    """Every one of them, by writing, removing and renaming it and each directory above it."""
    state = {path: (os.lstat(path).st_ino, path.read_bytes() if path.is_file() else sorted(os.listdir(path))) for path in paths}
    for path in paths:
        script = (f"echo x >>'{path}'; touch '{path}/new'; rm -rf '{path}'; mv '{path}' '{path}.x'; "
                  + "; ".join(f"mv '{above}' '{above}.x'" for above in list(path.parents)[:3]) + "; true")
        done = hutch("run", *options, "--", "sh", "-c", script)
        assert done.status == 0, done
    assert state == {path: (os.lstat(path).st_ino, path.read_bytes() if path.is_file() else sorted(os.listdir(path))) for path in paths}


def protected(hutch, *options):
    done = hutch("run", *options, "--dry-run", "--", "true")
    return {mount["destination"] for mount in json.loads(done.out)["mounts"] if mount["why"] == "protected"}, done.err


def test_submodules(hutch, git, main):
    inner = hutch.directory / "inner"
    git("clone", "-q", main, inner)
    git("submodule", "add", "-q", inner, "third/party", cwd=main)
    git("submodule", "update", "--init", cwd=main)
    nested = main / ".git/modules/third/party"
    cannot_be_changed(hutch, [nested / "config", nested / "hooks", main / "third/party/.git"], "--rw", main)
    done = hutch("run", "--rw", main, "--", "sh", "-c", f"touch {nested}/commondir")
    assert f"{nested}/commondir was created during the run" in done.err, done
    (nested / "commondir").unlink()
    assert hutch.inside(f"cd {main}/third/party && echo x >f && git add f && git status --short", "--rw", main) == "A  f\n"


def test_a_submodule_in_a_submodule(hutch, git, main):
    for name in ("a", "b"):
        git("clone", "-q", main, hutch.directory / name)
    git("submodule", "add", "-q", hutch.directory / "a", "deep", cwd=hutch.directory / "b")
    git("commit", "-qm", "y", cwd=hutch.directory / "b")
    git("submodule", "add", "-q", hutch.directory / "b", "sub", cwd=main)
    git("submodule", "update", "--init", "--recursive", cwd=main)
    nested = main / ".git/modules/sub/modules/deep"
    cannot_be_changed(hutch, [nested / "config", nested / "hooks", main / "sub/deep/.git"], "--rw", main)


def test_a_linked_worktree_and_its_repository(hutch, git, main):
    tree = hutch.directory / "tree"
    git("worktree", "add", "-q", tree, cwd=main)
    git("config", "extensions.worktreeConfig", "true", cwd=main)
    git("config", "--worktree", "core.pager", "cat", cwd=tree)
    own = main / ".git/worktrees/tree"
    paths = [tree / ".git", main / ".git/config", main / ".git/hooks", own / "commondir", own / "gitdir", own / "config.worktree"]
    cannot_be_changed(hutch, paths, "--rw", tree, "--rw", main)
    cannot_be_changed(hutch, paths, "--rw", tree, "--rw", main / ".git")
    cannot_be_changed(hutch, paths, "--rw", hutch.directory)
    cannot_be_changed(hutch, [tree / ".git"], "--rw", tree)
    done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", f"cd {tree} && echo x >f && git add f && git -c user.name=n -c user.email=e@e commit -qm y")
    assert done.status == 0, done


def test_config_worktree(hutch, git, main):
    done = hutch("run", "--rw", main, "--", "touch", main / ".git/config.worktree")
    assert f"{main}/.git/config.worktree was created during the run" in done.err, done
    cannot_be_changed(hutch, [main / ".git/config.worktree"], "--rw", main)


@pytest.mark.parametrize("value, directory, kept", [(".githooks", ".githooks", ".githooks"), ("tools/hooks/", "tools/hooks", "tools/hooks"),
                                                 (".husky/_", ".husky/_", ".husky"), ("./a/../.h", ".h", ".h")])
def test_hooks_path(hutch, git, main, value, directory, kept):
    (main / directory).mkdir(parents=True)
    (main / "a").mkdir(exist_ok=True)
    (main / directory / "pre-commit").write_text("#!/bin/sh\n")
    git("config", "core.hooksPath", value, cwd=main)
    cannot_be_changed(hutch, [main / directory / "pre-commit", main / kept], "--rw", main)


def test_hooks_path_absolute_in_another_grant_and_of_the_persons_own_configuration(hutch, git, main):
    other = hutch.directory / "other"
    (other / "hooks").mkdir(parents=True)
    git("config", "core.hooksPath", other / "hooks", cwd=main)
    cannot_be_changed(hutch, [other / "hooks"], "--rw", main, "--rw", other)
    git("config", "--unset", "core.hooksPath", cwd=main)
    (hutch.home / ".gitconfig").write_text("[core]\n\thooksPath = .mine\n")
    (main / ".mine").mkdir()
    cannot_be_changed(hutch, [main / ".mine"], "--rw", main)


def test_hooks_path_that_does_not_exist_yet_is_reported(hutch, git, main):
    git("config", "core.hooksPath", ".githooks", cwd=main)
    done = hutch("run", "--rw", main, "--", "mkdir", main / ".githooks")
    assert f"{main}/.githooks was created during the run" in done.err, done


def test_hooks_path_of_the_repository_around_the_grant(hutch, git, main):
    (main / "app/hooks").mkdir(parents=True)
    git("config", "core.hooksPath", "app/hooks", cwd=main)
    cannot_be_changed(hutch, [main / "app/hooks"], "--rw", main / "app")


def test_hooks_path_that_is_the_whole_grant_is_said(hutch, git, main):
    git("config", "core.hooksPath", ".", cwd=main)
    done = hutch("run", "--rw", main, "--", "touch", main / "file")
    assert done.status == 0 and f"core.hooksPath makes git run what is in {main}" in done.err, done


def test_included_configuration(hutch, git, main):
    (main / "conf").mkdir()
    (main / "conf/git").write_text("[include]\n\tpath = more\n")
    (main / "conf/more").write_text("[core]\n\thooksPath = conf/hooks\n")
    (main / "conf/hooks").mkdir()
    (main / "conf/other").write_text("")
    with open(main / ".git/config", "a") as config:
        config.write('[include] path = ../conf/git\n[includeIf "onbranch:x"]\n\tpath = "../conf/other" ; a comment\n')
    cannot_be_changed(hutch, [main / "conf/git", main / "conf/more", main / "conf/hooks", main / "conf/other"], "--rw", main)


def test_what_the_persons_own_configuration_includes(hutch, git, main):
    (main / "dotfiles").mkdir()
    (main / "dotfiles/git").write_text("")
    (hutch.home / ".gitconfig").write_text(f"[include]\n\tpath = {main}/dotfiles/git\n")
    cannot_be_changed(hutch, [main / "dotfiles/git"], "--rw", main)


def test_hooks_behind_a_link(hutch, git, main):
    shutil.rmtree(main / ".git/hooks")
    (main / "myhooks").mkdir()
    (main / ".git/hooks").symlink_to("../myhooks")
    cannot_be_changed(hutch, [main / "myhooks"], "--rw", main)


def test_a_repository_behind_a_link(hutch, git, main):
    (main / ".git").rename(main / "repository")
    (main / ".git").symlink_to("repository")
    cannot_be_changed(hutch, [main / "repository/config", main / "repository/hooks"], "--rw", main)
    done = hutch("run", "--rw", main, "--", "sh", "-c", f"rm {main}/.git && mkdir {main}/.git")
    assert f"{main}/.git was changed during the run" in done.err, done


def test_nested_and_bare_repositories(hutch, git, main):
    git("init", "-q", main / "a/b/c/d")
    git("init", "-q", "--bare", main / "store")
    paths = [main / "a/b/c/d/.git/config", main / "a/b/c/d/.git/hooks", main / "store/config", main / "store/hooks"]
    cannot_be_changed(hutch, paths, "--rw", main)
    cannot_be_changed(hutch, paths[2:], "--rw", main / "store")


def test_too_many_directories_are_said_and_bounded(hutch):
    for i in range(2100):
        (hutch.directory / str(i)).mkdir()
    done = hutch("run", "--rw", hutch.directory, "--", "true")
    assert done.status == 0 and "holds too much to look for every Git repository" in done.err, done
    assert "holds too much" not in hutch("run", "--ro", hutch.directory, "--", "true").err
    assert "holds too much" not in hutch("run", "--rw", hutch.directory, "--no-protect", "--", "true").err


def test_no_protect(hutch, git, main):
    git("init", "-q", main / "sub")
    assert protected(hutch, "--rw", main, "--no-protect")[0] == set()
    assert protected(hutch, "--ro", main)[0] == set()
    assert f"{main}/sub/.git/hooks" in protected(hutch, "--rw", main)[0]


def test_a_thousand_worktrees_of_nothing_take_no_time(hutch):
    """Pointers that lead in a circle, and configurations that include themselves."""
    for i in range(300):
        (hutch.directory / str(i)).mkdir()
        (hutch.directory / str(i) / ".git").write_text(f"gitdir: ../{(i + 1) % 300}\n")
        (hutch.directory / str(i) / "commondir").write_text(f"../{(i + 2) % 300}\n")
        (hutch.directory / str(i) / "config").write_text(f"[include]\npath = config\npath = ../{(i + 1) % 300}/config\n")
    started = time.monotonic()
    done = hutch("run", "--rw", hutch.directory, "--", "true", timeout=10)
    assert done.status == 0 and time.monotonic() - started < 5, done
