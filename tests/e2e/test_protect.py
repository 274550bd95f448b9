# SPDX-License-Identifier: Apache-2.0
"""What stays read-only inside a writable grant, and what a run put where a protected name would be."""
import json
import os
import signal
import subprocess

import pytest
from harness import signal_when_running

NAMES = [".mcp.json", ".envrc", ".bashrc", ".profile", ".bash_profile", ".zshrc", ".zshenv"]
DIRECTORIES = [".cursor", ".vscode", ".claude"]


@pytest.fixture
def project(hutch):
    """A repository with everything that is protected."""
    (hutch.directory / ".git/hooks").mkdir(parents=True)
    (hutch.directory / ".git/config").write_text("[core]\n")
    for name in NAMES:
        (hutch.directory / name).write_text("before\n")
    for name in DIRECTORIES:
        (hutch.directory / name).mkdir()
        (hutch.directory / name / "mcp.json").write_text("before\n")
    return hutch.directory


def snapshot(directory):
    return {str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in sorted(directory.rglob("*"))}


def test_what_exists_cannot_be_changed(hutch, project):
    before = snapshot(project)
    attempts = ["echo x >.git/hooks/post-checkout", "echo x >>.git/config", "mv .git x", "rm -rf .git", "rm -rf .git/hooks", "mv .git/hooks x",
                "mv .git/config .git/x", "ln .git/config x", "chmod 777 .git/config", "mkdir x && mv x .git/hooks"]
    attempts += [f"echo x >{name}" for name in NAMES] + [f"rm -f {name}" for name in NAMES] + [f"echo x >new && mv -f new {name}" for name in NAMES]
    attempts += [f"mv {name} x" for name in DIRECTORIES] + [f"echo x >{name}/mcp.json" for name in DIRECTORIES] + [f"touch {name}/new" for name in DIRECTORIES]
    script = "\n".join(f"({attempt}) 2>/dev/null && echo 'succeeded: {attempt}'" for attempt in attempts) + "\nrm -rf x new; true"
    assert hutch.inside(script, "--rw", project) == ""
    assert snapshot(project) == before


def test_everything_else_can_be_written(hutch, project):
    hutch.inside("echo x >file; mkdir -p src; echo x >src/.envrc; echo x >.git/index; mkdir .git/objects", "--rw", project)
    assert (project / "file").exists() and (project / "src/.envrc").exists() and (project / ".git/objects").is_dir()


@pytest.mark.parametrize("end", ["true", "kill -9 $$", "exit 3"])
def test_no_ghost_is_left_for_what_does_not_exist(hutch, end):
    subprocess.run(["git", "init", "-q", hutch.directory], check=True)
    hutch("run", "--rw", ".", "--", "sh", "-c", end)
    assert os.listdir(hutch.directory) == [".git"]
    assert subprocess.run(["git", "-C", hutch.directory, "status", "--porcelain", "--ignored"], capture_output=True, check=True).stdout == b""


def test_no_ghost_is_left_by_a_killed_hutch(hutch):
    process = hutch.start("run", "--rw", ".", "--", "sh", "-c", "touch started; sleep 60")
    signal_when_running(process, hutch.directory / "started", signal.SIGKILL)
    process.wait()
    assert os.listdir(hutch.directory) == ["started"]


def test_git_works_in_a_protected_repository(hutch):
    git = "git -c user.name=n -c user.email=e@e -c safe.directory='*'"
    subprocess.run(["git", "init", "-q", hutch.directory], check=True)
    assert "first" in hutch.inside(f"echo x >f && {git} add f && {git} commit -qm first && {git} log --oneline", "--rw", ".")


@pytest.mark.parametrize("name", [".mcp.json", ".git/hooks", ".git/config", ".git/commondir", ".cursor", ".envrc", ".zshenv"])
def test_what_was_created_during_the_run_is_reported(hutch, name):
    done = hutch("run", "--rw", ".", "--", "sh", "-c", f"mkdir -p {os.path.dirname(name) or '.'} && touch {name}")
    reports = [line for line in done.own_lines if "during the run" in line]
    assert len(reports) == 1 and f"{hutch.directory}/{name} was created" in reports[0], done
    assert done.status == 0


def test_nothing_is_reported_when_nothing_was_created(hutch, project):
    done = hutch("run", "--rw", ".", "--", "sh", "-c", "touch file; mkdir .github")
    assert "during the run" not in done.err, done


def test_a_created_file_in_the_place_of_the_repository_is_reported_once(hutch):
    done = hutch("run", "--rw", ".", "--", "sh", "-c", "echo gitdir: elsewhere >.git")
    assert [line for line in done.own_lines if f"{hutch.directory}/.git was created" in line] == \
        [line for line in done.own_lines if "during the run" in line] != [], done
    assert done.err.count("during the run") == 1


def test_the_file_of_a_linked_worktree_is_protected(hutch):
    (hutch.directory / ".git").write_text("gitdir: /somewhere\n")
    done = hutch("run", "--rw", ".", "--", "sh", "-c", "echo x >.git || rm -f .git || mv .git x")
    assert done.status != 0 and (hutch.directory / ".git").read_text() == "gitdir: /somewhere\n"


def test_a_granted_repository_directory_keeps_its_hooks(hutch, project):
    done = hutch("run", "--rw", project / ".git", "--", "sh", "-c", f"touch {project}/.git/hooks/x || echo x >{project}/.git/config")
    assert done.status != 0 and not os.listdir(project / ".git/hooks")


def test_no_protect_protects_nothing_and_reports_nothing(hutch, project):
    done = hutch("run", "--rw", ".", "--no-protect", "--", "sh", "-c", "echo x >.envrc && touch .git/hooks/new && touch .zlogin")
    assert done.status == 0 and "during the run" not in done.err, done
    assert (project / ".envrc").read_text() == "x\n" and (project / ".git/hooks/new").exists()


def test_the_persons_own_grant_decides(hutch, project):
    hutch.inside("touch .git/hooks/new", "--rw", ".", "--rw", project / ".git/hooks", "--cwd", project)
    assert (project / ".git/hooks/new").exists()


@pytest.mark.parametrize("options", [[], ["--no-protect"]])
def test_protect_adds_a_path(hutch, options):
    (hutch.directory / "a/b").mkdir(parents=True)
    (hutch.directory / "a/b/key").write_text("before")
    done = hutch("run", "--rw", ".", "--protect", "a/b/key", *options, "--", "sh", "-c", "echo x >a/b/key || rm -f a/b/key || mv a/b x || mv a x")
    assert done.status != 0 and (hutch.directory / "a/b/key").read_text() == "before", done
    assert hutch("run", "--rw", ".", "--protect=a/b", "--", "touch", "a/b/new").status != 0


def test_protect_holds_at_another_place_inside(hutch):
    (hutch.directory / "key").write_text("before")
    done = hutch("run", "--rw", f"{hutch.directory}:/mnt/work", "--protect", "key", "--", "sh", "-c", "echo x >/mnt/work/key")
    assert done.status != 0 and (hutch.directory / "key").read_text() == "before", done


def test_protect_of_a_link_protects_what_it_leads_to_and_reports_the_link(hutch):
    (hutch.directory / "real").write_text("before")
    (hutch.directory / ".envrc").symlink_to("real")
    done = hutch("run", "--rw", ".", "--protect", ".envrc", "--", "sh", "-c", "echo x >.envrc || { rm .envrc && ln -s other .envrc; }")
    assert (hutch.directory / "real").read_text() == "before" and f"{hutch.directory}/.envrc was changed" in done.err, done


@pytest.mark.parametrize("path, sentence", [("missing", "No such file"), ("/usr/bin/env", "in no writable grant"), ("/", "root"), (".", "in no writable grant")])
def test_protect_of_what_cannot_be_protected_is_a_mistake(hutch, path, sentence):
    done = hutch("run", "--rw", ".", "--protect", path, "--", "true")
    assert done.status == 2 and sentence in done.err, done


def test_other_names_of_a_protected_file_are_said(hutch):
    (hutch.directory / ".envrc").write_text("")
    os.link(hutch.directory / ".envrc", hutch.directory / "other")
    assert "has other names" in hutch("run", "--rw", ".", "--", "true").err


def test_directories_above_a_narrower_grant_cannot_be_moved(hutch):
    (hutch.directory / "a/b/c").mkdir(parents=True)
    (hutch.directory / "a/b/c/file").write_text("before")
    done = hutch("run", "--rw", ".", "--ro", "a/b/c", "--", "sh", "-c", "mv a/b x || mv a x || echo x >a/b/c/file")
    assert done.status != 0 and "busy" in done.err and (hutch.directory / "a/b/c/file").read_text() == "before", done
    hutch.inside("touch a/b/new a/new", "--rw", ".", "--ro", "a/b/c")


def test_dry_run_shows_what_is_protected_and_pinned(hutch, project):
    mounts = {mount["destination"]: mount for mount in json.loads(hutch("run", "--rw", ".", "--dry-run", "--", "true").out)["mounts"]}
    assert mounts[f"{project}/.git/hooks"]["why"] == "protected" and not mounts[f"{project}/.git/hooks"]["writable"]
    assert mounts[f"{project}/.git"]["writable"] and mounts[f"{project}/.git"]["why"].startswith("holds ")
    assert f"read-only {project}/.envrc (protected)" in hutch("run", "-v", "--rw", ".", "--", "true").err


def test_nothing_of_it_costs_a_look_without_a_writable_grant(hutch, project):
    mounts = json.loads(hutch("run", "--ro", ".", "--dry-run", "--", "true").out)["mounts"]
    assert not [mount for mount in mounts if mount["why"] == "protected" or mount["why"].startswith("holds ")]
