# SPDX-License-Identifier: Apache-2.0
"""A server may write what it likes into a directory that was granted writable, and another account into one that all may
write. None of it may make hutch grant more the next time, by itself or by a grant that the person spells the same."""
import os
import shutil
import subprocess

import pytest
from flipping import flipping
from harness import PYTHON, TREE


@pytest.fixture
def private(hutch):
    """A directory that nobody grants."""
    directory = hutch.home / "private"
    directory.mkdir()
    (directory / "index.js").write_text("")
    (directory / "package.json").write_text("{}")
    (directory / "__main__.py").write_text(f"print(open({str(directory / 'key')!r}).read())")
    (directory / "key").write_text("CANARY-private")
    return directory


def refused(done):
    assert "CANARY" not in done.out and done.status != 0, done
    return True


def test_the_directory_of_the_program_becomes_a_link(hutch, private):
    project = hutch.directory / "app"
    project.mkdir()
    (project / "index.js").write_text("")
    command = ["run", "--rw", hutch.directory, "--", "node", project / "index.js"]
    assert hutch(*command).status == 0
    shutil.rmtree(project)
    project.symlink_to(private)
    done = hutch(*command)
    assert refused(done) and f"--ro {private} grants it" in done.err, done
    done = hutch("run", "--rw", hutch.directory, "--ro", private, *command[3:])
    assert done.status == 0, done  # the user's own word for it is enough


def test_a_directory_as_program_becomes_a_link(hutch, private):
    (hutch.directory / "app").symlink_to(private)
    refused(hutch("run", "--rw", hutch.directory, "--", PYTHON, hutch.directory / "app"))


def test_a_narrower_grant_after_its_directory_became_a_link(hutch, private):
    """The second run does not grant what the first one could write to."""
    docs = hutch.directory / "docs"
    docs.mkdir()
    move = f"cd {hutch.directory}; mv docs d; ln -s {private} docs"
    assert hutch("run", "--rw", hutch.directory, "--", "sh", "-c", move).status == 0
    for option in "--rw", "--ro", "--overlay":
        done = hutch("run", option, docs, "--", "sh", "-c", f"cat {docs}/key; echo x >{docs}/planted")
        assert refused(done) and done.status == 125 and f"name {private} itself" in done.err, done
    done = hutch("run", "--file", f"{docs}/key:/tmp/key", "--", "cat", "/tmp/key")
    assert refused(done) and "which an earlier run could write to" in done.err, done
    assert not (private / "planted").exists()
    assert "CANARY" in hutch("run", "--ro", private, "--", "cat", private / "key").out  # as the message says


def test_a_link_of_the_users_in_no_grant_is_followed(hutch, private):
    (hutch.directory / "link").symlink_to(private)
    assert "CANARY" in hutch("run", "--ro", hutch.directory / "link", "--", "cat", private / "key").out


def test_a_removed_package_json_widens_no_later_start(hutch):
    """The later run grants nothing writable."""
    package = hutch.directory / "mono/pkg"
    package.mkdir(parents=True)
    for directory in package.parent, package:
        (directory / "package.json").write_text("{}")
    (package.parent / "secret.env").write_text("CANARY")
    (package / "s.js").write_text(f"console.log(require('fs').readFileSync({str(package.parent / 'secret.env')!r}, 'utf8'))")
    assert refused(hutch("run", "--", "node", package / "s.js"))
    assert hutch("run", "--rw", package, "--", "rm", package / "package.json").status == 0
    assert refused(hutch("run", "--", "node", package / "s.js"))


def test_a_virtual_environment_names_a_pattern_that_matches_something_else(hutch, private):
    venv = hutch.directory / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").symlink_to("/usr/bin/python3")
    (hutch.directory / "evil/lib/python3.9").mkdir(parents=True)
    (hutch.directory / "evil/lib/python3.9/os.py").write_text("")
    (hutch.directory / "e[v]il").symlink_to(private)
    (venv / "pyvenv.cfg").write_text(f"home = {hutch.directory}/e[v]il/bin\n")
    refused(hutch("run", "--rw", hutch.directory, "--", venv / "bin/python", "-c", f"print(open({str(private / 'key')!r}).read())"))


def test_a_removed_package_json_does_not_make_the_directory_above_the_package(hutch):
    (hutch.directory / "package.json").write_text("{}")
    (hutch.directory / ".env").write_text("CANARY-env")
    package = hutch.directory / "packages/a"
    package.mkdir(parents=True)
    (package / "index.js").write_text("console.log(require('fs').readFileSync(__dirname + '/../../.env', 'utf8'))")
    refused(hutch("run", "--rw", package, "--", "node", package / "index.js"))


def test_a_package_json_of_somebody_else_does_not_widen_the_grant(hutch):
    hutch.directory.chmod(0o777)
    (hutch.directory / "package.json").write_text("{}")
    (hutch.directory / "key").write_text("CANARY-shared")
    program = hutch.directory / "mine"
    program.mkdir()
    (program / "index.js").write_text("console.log(require('fs').readFileSync(__dirname + '/../key', 'utf8'))")
    refused(hutch("run", "--", "node", program / "index.js"))


def test_a_granted_directory_is_swapped_while_hutch_judges_it(hutch):
    """`--ro DIR/c/gcloud` while somebody flips DIR/c and a link to ~/.config: what is granted is never the latter."""
    (hutch.home / ".config/gcloud").mkdir(parents=True)
    (hutch.home / ".config/gcloud/key").write_text("CANARY-gcloud")
    (hutch.directory / "c/gcloud").mkdir(parents=True)
    (hutch.directory / "c/gcloud/key").write_text("mine")
    (hutch.directory / "d").symlink_to(hutch.home / ".config")
    with flipping(hutch.directory / "c", hutch.directory / "d") as flips:
        ends = [hutch("run", "--ro", hutch.directory / "c/gcloud", "--", "cat", hutch.directory / "c/gcloud/key",
                      hutch.home / ".config/gcloud/key") for _ in range(60)]
    assert len(flips) > 1000 and set(flips) == {0}
    assert not [done for done in ends if "CANARY" in done.out]


def test_an_environment_is_exchanged_with_a_link_while_hutch_starts(hutch, private):
    """What was judged is what is mounted: .venv and a link to somebody's directory change places all the time."""
    project = hutch.directory / "proj"
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/bin/python").symlink_to(PYTHON)
    (project / ".venv/pyvenv.cfg").write_text(f"home = {os.path.dirname(PYTHON)}\n")
    (project / "server.py").write_text(f"try: print(open({str(private / 'key')!r}).read())\nexcept OSError: print('none')\n")
    (private / "bin").mkdir()
    (private / "bin/python").symlink_to(PYTHON)
    (project / "other").symlink_to(private)
    assert hutch("run", "--", project / ".venv/bin/python", project / "server.py").out == "none\n"
    with flipping(project / ".venv", project / "other") as flips:
        ends = [hutch("run", "--", project / ".venv/bin/python", project / "server.py") for _ in range(100)]
    assert len(flips) > 1000 and set(flips) == {0}
    assert not [done for done in ends if "CANARY" in done.out]


def test_two_dots_behind_a_link_that_the_server_made(hutch, private):
    """`../server/index.js` from a working directory that is a link by now is another directory's."""
    (private / "sub").mkdir()
    (private / "server").mkdir()
    (private / "server/index.js").write_text("console.log(require('fs').readFileSync(__dirname + '/../key', 'utf8'))")
    (hutch.directory / "server").mkdir()
    (hutch.directory / "server/index.js").write_text("")
    (hutch.directory / "app").symlink_to(private / "sub")
    refused(hutch("run", "--rw", hutch.directory, "--cwd", hutch.directory / "app", "--", "node", "../server/index.js"))


def test_a_script_that_is_itself_the_writable_grant(hutch, private):
    tool = private / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    script = hutch.directory / "server"
    script.write_text(f"#!/usr/bin/env -S -u {tool} sh\ncat {private}/key\n")
    script.chmod(0o755)
    refused(hutch("run", "--rw", script, "--", script))


@pytest.mark.root
def test_a_writable_grant_that_the_host_shows_at_two_places(hutch, private):
    other = hutch.home / "other-name"
    other.mkdir()
    subprocess.run(["mount", "--bind", hutch.directory, other], check=True)
    try:
        (hutch.directory / "app").symlink_to(private)
        (private / "index.js").write_text("console.log(require('fs').readFileSync(__dirname + '/key', 'utf8'))")
        refused(hutch("run", "--rw", hutch.directory, "--", "node", other / "app/index.js"))
        refused(hutch("run", "--rw", other, "--", "node", hutch.directory / "app/index.js"))
    finally:
        subprocess.run(["umount", other], check=True)


@pytest.mark.parametrize("option, source", [("--seccomp", "seccomp/default.json"), ("--template", "templates/mcp-server.json")])
def test_a_file_that_decides_about_the_sandbox_is_none_that_the_server_may_have_written(hutch, option, source):
    """Itself, a link to another one, a directory on the way that became a link, and two dots behind one."""
    mine = hutch.home / "mine.json"
    shutil.copy(TREE / "policy" / source, mine)
    project = hutch.directory / "project"
    (project / "sub").mkdir(parents=True)
    shutil.copy(mine, project / "file.json")
    (project / "link.json").symlink_to(mine)
    (project / "directory").symlink_to(hutch.home)
    (hutch.directory / "link.json").symlink_to(project / "file.json")
    for path in (project / "file.json", project / "link.json", project / "directory/mine.json", hutch.directory / "link.json"):
        assert hutch("run", "--ro", project, option, path, "--", "true").status == 0
        done = hutch("run", "--rw", project, option, path, "--", "true")
        assert done.status == 125 and f"refusing to use {option}" in done.err and "the server may have put it there" in done.err, done
    assert hutch("run", "--rw", project, option, "./file.json", "--", "true", cwd=project).status == 125
    assert hutch("run", "--rw", project, option, mine, "--", "true").status == 0
    assert hutch("run", "--rw", project, option, project / "none.json", "--", "true").status != 0


@pytest.mark.parametrize("words", [[], ["--template", "mcp-server"], ["--template", "mine"]], ids=["default", "shipped", "own"])
def test_a_template_by_name_is_none_that_the_server_may_have_written(hutch, words):
    """In an installation below the home, the templates' directory can be granted."""
    prefix = hutch.home / "prefix"
    templates = prefix / "share/hutch/templates"
    templates.mkdir(parents=True)
    (prefix / "bin").mkdir()
    hutch.path = shutil.copy(hutch.path, prefix / "bin/hutch")
    for name in ("mcp-server", "mine"):
        shutil.copy(TREE / "policy/templates/mcp-server.json", templates / f"{name}.json")
    assert hutch("run", "--ro", templates, *words, "--", "true").status == 0
    used = templates / f"{'mine' if 'mine' in words else 'mcp-server'}.json"
    for granted in (templates, used):
        done = hutch("run", "--rw", granted, *words, "--", "true")
        assert done.status == 125 and f"refusing to use --template {used}: it is in the writable {granted}" in done.err, done
    used.rename(hutch.home / "elsewhere.json")
    used.symlink_to(hutch.home / "elsewhere.json")
    done = hutch("run", "--rw", templates, *words, "--", "true")
    assert done.status == 125 and f"a link leads there out of the writable {templates}" in done.err, done


# what a name hides

def test_keys_behind_a_link_are_keys(hutch):
    (hutch.home / "dotfiles").mkdir()
    (hutch.home / ".ssh").rename(hutch.home / "dotfiles/ssh")
    (hutch.home / ".ssh").symlink_to("dotfiles/ssh")
    for path in (hutch.home / ".ssh", hutch.home / "dotfiles", hutch.home / "dotfiles/ssh/id"):
        done = hutch("run", "--ro", path, "--", "cat", hutch.home / "dotfiles/ssh/id")
        assert done.status == 125 and "it holds keys" in done.err, done


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"])
def test_hutchs_own_directories_are_not_granted_wherever_they_are(hutch, variable):
    directory = hutch.home / "moved/hutch"
    directory.mkdir(parents=True)
    for path in (directory, directory.parent):
        done = hutch("run", "--rw", path, "--", "true", env={variable: str(directory.parent)})
        assert done.status == 125 and "hutch's own state" in done.err, done


@pytest.mark.root
@pytest.mark.parametrize("path", ["/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/root", "/var/backups"])
def test_root_does_not_grant_what_only_root_reads(hutch, path):
    if not os.path.lexists(path):
        pytest.skip(f"{path} does not exist here")
    assert hutch("run", "--ro", path, "--", "true").status == 125


@pytest.mark.root
@pytest.mark.parametrize("shown, named", [("{home}/.ssh", ""), ("{home}", ".ssh"), ("{home}", ""), ("/", "etc/shadow")])
def test_keys_that_the_host_shows_at_another_place_are_keys(hutch, shown, named):
    place = hutch.directory / "place"
    place.mkdir()
    script = f'mount --bind {shown.format(home=hutch.home)} {place} && exec "$@"'
    for option, grant in ("--ro", place / named), ("--rw", place / named), ("--file", f"{place / 'etc/shadow'}:/tmp/x"):
        if option == "--file" and shown != "/":
            continue
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", str(hutch.path), "run", option, str(grant), "--", "true"], capture_output=True,
                              text=True, env=hutch.environment, cwd=hutch.directory, stdin=subprocess.DEVNULL)
        assert done.returncode == 125 and " too, and it " in done.stderr, done
