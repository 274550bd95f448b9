# SPDX-License-Identifier: Apache-2.0
"""--hide and --protect hold for the object, at whatever other place a bind mount of the host shows it; and for what a link
leads to."""
import os
import subprocess

import pytest


@pytest.fixture
def bind(hutch):
    """bind(what, where): a bind mount on the host until the test ends."""
    made = []

    def run(what, where):
        if not os.path.lexists(where):
            where.mkdir() if what.is_dir() else where.touch()
        subprocess.run(["mount", "--bind", what, where], check=True)
        made.append(where)
    yield run
    for where in reversed(made):
        subprocess.run(["umount", where], check=True)


@pytest.fixture
def data(hutch):
    """Something outside of the work directory, which shows it by a mount."""
    directory = hutch.home / "da ta"
    (directory / "deep").mkdir(parents=True)
    (directory / "key").write_text("CANARY")
    (directory / "deep/key").write_text("CANARY")
    return directory


@pytest.mark.root
@pytest.mark.parametrize("grant", ["--ro", "--rw"])
def test_hidden_below_a_mount(hutch, bind, data, grant):
    bind(data, hutch.directory / "s\tub")
    command = ["--", "sh", "-c", "find . -name key | sort; cat */key */deep/key"]
    assert hutch("run", grant, hutch.directory, *command).out.count("CANARY") == 2
    done = hutch("run", grant, hutch.directory, "--hide", data / "key", *command)
    assert done.out.count("CANARY") == 1, done
    assert hutch("run", grant, hutch.directory, "--hide", data / "deep", *command).out.count("key") == 1
    assert "CANARY" not in hutch("run", grant, hutch.directory, "--hide", data, *command).out
    # And the other way about: a part of what is hidden is granted by its own path.
    assert "CANARY" not in hutch("run", grant, data, "--hide", hutch.directory / "s\tub/key", "--", "cat", data / "key").out


@pytest.mark.root
def test_a_part_of_a_hidden_directory_that_is_mounted_elsewhere(hutch, bind, data):
    bind(data / "deep", hutch.directory / "elsewhere")
    bind(data / "key", hutch.directory / "file")
    command = ["--", "sh", "-c", "cat elsewhere/key file; rm -f file elsewhere/key; echo x >file; true"]
    assert hutch("run", "--ro", hutch.directory, *command).out.count("CANARY") == 2
    done = hutch("run", "--rw", hutch.directory, "--hide", data, *command)
    assert done.out == "" and (data / "key").read_text() == (data / "deep/key").read_text() == "CANARY", done


@pytest.mark.root
def test_protected_below_a_mount(hutch, bind, data):
    bind(data, hutch.directory / "sub")
    bind(data / "deep", hutch.directory / "part")
    command = ["--", "sh", "-c", f"cd {hutch.directory}; echo x >sub/key; rm -f sub/key; echo x >sub/deep/key; echo x >part/key; true"]
    hutch("run", "--rw", hutch.directory, "--protect", data / "key", "--protect", data / "deep", *command)
    assert (data / "key").read_text() == (data / "deep/key").read_text() == "CANARY"
    hutch("run", "--rw", hutch.directory, "--rw", data, "--protect", hutch.directory / "sub/key", "--", "sh", "-c", f"echo x >'{data}/key'")
    assert (data / "key").read_text() == "CANARY"
    hutch("run", "--rw", hutch.directory, *command)
    assert (data / "deep/key").read_text() == "x\n"


def test_protect_of_a_link_that_leads_out_of_the_grants(hutch, data):
    (hutch.directory / "link").symlink_to(data / "key")
    done = hutch("run", "--rw", hutch.directory, "--protect", "link", "--", "sh", "-c", f"echo alive; echo x >{hutch.directory}/link")
    assert "alive" in done.out and f"it is a link to {data}/key, which is in no writable grant" in done.err, done
    done = hutch("run", "--rw", hutch.directory, "--protect", "link", "--", "ln", "-sf", "x", hutch.directory / "link")
    assert f"{hutch.directory}/link was changed during the run" in done.err, done
    (hutch.directory / "link").unlink()
    (hutch.directory / "link").symlink_to(data / "key")
    done = hutch("run", "--rw", hutch.directory, "--rw", data, "--protect", "link", "--", "sh", "-c", f"echo x >'{data}/key'")
    assert (data / "key").read_text() == "CANARY" and "it is a link" not in done.err, done
    done = hutch("run", "--rw", data, "--protect", "link", "--", "sh", "-c", f"echo x >'{data}/key'")
    assert (data / "key").read_text() == "CANARY" and "cannot create" in done.err, done
    assert hutch("run", "--ro", hutch.directory, "--protect", "link", "--", "true").status == 2


@pytest.mark.parametrize("option", [["--protect", "link"], []])
def test_what_a_dangling_link_leads_to_is_reported_once_it_is_there(hutch, option):
    name = "link" if option else ".envrc"
    (hutch.directory / name).symlink_to("second")
    (hutch.directory / "second").symlink_to(hutch.directory / "a/../target")
    (hutch.directory / "a").mkdir()
    done = hutch("run", "--rw", hutch.directory, *option, "--", "sh", "-c", "echo x >target", cwd=hutch.directory)
    assert f"{hutch.directory}/target was created during the run" in done.err and done.err.count("during the run") == 1, done
    done = hutch("run", "--rw", hutch.directory, *option, "--", "sh", "-c", "echo y >target", cwd=hutch.directory)
    assert (hutch.directory / "target").read_text() == "x\n" and "during the run" not in done.err, done
