# SPDX-License-Identifier: Apache-2.0
"""What is protected, or granted, is reached through links: a link that is replaced, or one in a protected directory,
must not let the command decide about what other programs run."""
import os
import time

import pytest

WRITE = "import sys\nopen(sys.argv[1], 'a').write('EVIL')\nprint('GOT-OUT')\n"
RELINK = """import os, sys
place, target = sys.argv[1:]
os.symlink(target, place + "-new")
os.rename(place + "-new", place)
print("GOT-OUT")
"""


@pytest.fixture
def project(hutch):
    directory = hutch.directory / "project"
    (directory / ".git/hooks").mkdir(parents=True)
    (directory / "scripts").mkdir()
    (directory / "scripts/check").write_text("#!/bin/sh\n")
    return directory


@pytest.mark.parametrize("link, text", [(".git/hooks/pre-commit", "../../scripts/check"), (".vscode/tasks.json", "../scripts/check"),
                                        (".claude/commands/deep/x.md", "../../../scripts/check"), (".cursor/mcp.json", "../way/check")])
def test_a_link_in_a_protected_directory_protects_what_it_leads_to(attempt, project, link, text):
    (project / "way").symlink_to("scripts")
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(text)
    attempt(WRITE, "--rw", str(project), arguments=[project / "scripts/check"], reset=lambda: (project / "scripts/check").write_text("#!/bin/sh\n"))
    assert (project / "scripts/check").read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("text", ["..", "../scripts", "../..", ".", "loop", "/"])
def test_a_link_to_a_directory_in_a_protected_directory_takes_nothing_away(hutch, project, text):
    (project / ".vscode").mkdir()
    (project / ".vscode/link").symlink_to(text)
    (project / ".vscode/loop").symlink_to("loop")
    done = hutch("run", "--rw", str(project), "--", "/bin/sh", "-c", f"echo more >> {project}/scripts/check")
    assert done.status == 0 and (project / "scripts/check").read_text().endswith("more\n"), done


def test_what_a_link_in_a_protected_directory_will_lead_to_is_reported(hutch, project):
    (project / ".git/hooks/pre-push").symlink_to("../../scripts/later")
    done = hutch("run", "--rw", str(project), "--", "/bin/sh", "-c", f"echo x > {project}/scripts/later")
    assert done.status == 0 and f"{project}/scripts/later was created during the run" in done.err, done


# Where the protected name leads through links, the way is as good as the name.
@pytest.mark.parametrize("links, replaced", [({".mcp.json": "one", "one": "scripts/check"}, "one"),
                                             ({".mcp.json": "way/check", "way": "scripts"}, "way"),
                                             ({".vscode": "one", "one": "two", "two": "scripts"}, "two"),
                                             ({".envrc": "one", "one": "two/check", "two": "scripts"}, "one")])
def test_a_link_on_the_way_to_a_protected_file_is_watched(hutch, project, links, replaced):
    for place, text in links.items():
        (project / place).symlink_to(text)
    (project / "evil").mkdir()
    (hutch.directory / "relink.py").write_text(RELINK)
    done = hutch("run", "--rw", str(project), "--", "/usr/bin/python3", str(hutch.directory / "relink.py"), f"{project}/{replaced}", "evil")
    assert "GOT-OUT" in done.out and os.readlink(project / replaced) == "evil", done
    assert f"{project}/{replaced} was changed during the run" in done.err, done


@pytest.mark.parametrize("options", [("--ro", "real", "--rw", "link"), ("--rw", "link", "--ro", "real"), ("--overlay", "link", "--rw", "real"),
                                     ("--rw", "real", "--overlay", "link/"), ("--ro", "other:/link", "--ro", "real:/link/")])
def test_two_grants_of_one_place_by_a_link_are_refused(hutch, options):
    for name in "real", "other":
        (hutch.directory / name).mkdir()
    (hutch.directory / "link").symlink_to("real")
    done = hutch("run", *options, "--", "/bin/sh", "-c", "touch real/made")
    assert done.status == 2 and "the same destination" in done.err, done
    assert not os.listdir(hutch.directory / "real")


def test_the_same_grant_by_a_link_is_one_grant(hutch):
    (hutch.directory / "real").mkdir()
    (hutch.directory / "link").symlink_to("real")
    done = hutch("run", "--rw", "real", "--rw", "link", "--", "/bin/sh", "-c", "touch link/made")
    assert done.status == 0 and os.listdir(hutch.directory / "real") == ["made"], done


def test_configurations_that_name_thousands_of_directories_do_not_delay_the_start(hutch, project):
    """Bare repositories can be files of a clone, and a configuration can include others."""
    for i in range(250):
        bare = project / f"bare/{i}"
        for directory in "objects", "refs":
            (bare / directory).mkdir(parents=True)
        (bare / "HEAD").write_text("ref: refs/heads/main\n")
        (bare / "config").write_text("".join(f"[include]\npath = include-{j}\n" for j in range(7)))
        for j in range(7):
            (bare / f"include-{j}").write_text("".join(f"[core]\nhooksPath = /nowhere/{i}-{j}-{k}\n" for k in range(64)))
    begin = time.monotonic()
    done = hutch("run", "--rw", str(project), "--", "/bin/true", timeout=60)
    assert done.status == 0 and "holds too much to look for every Git repository" in done.err, done
    assert time.monotonic() - begin < 10
