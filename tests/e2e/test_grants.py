# SPDX-License-Identifier: Apache-2.0
"""Which files of the host a sandbox sees, at which path, and whether it may write them."""
import os
import subprocess
import tempfile

import pytest
from harness import PYTHON, STUB


def test_nothing_is_visible_without_a_grant(hutch):
    (hutch.directory / "file").write_text("secret\n")
    assert hutch("run", "--", "cat", hutch.directory / "file").status != 0


def test_a_read_only_grant_can_be_read_and_nothing_else(hutch):
    (hutch.directory / "file").write_text("content\n")
    os.chmod(hutch.directory / "file", 0o666)
    assert hutch.inside(f"cat {hutch.directory}/file", "--ro", hutch.directory) == "content\n"
    for attempt in ("echo x >>{0}/file", "touch {0}/new", "rm {0}/file", "chmod 777 {0}/file", "mv {0}/file {0}/other", "mkdir {0}/d", "ln {0}/file {0}/l",
                    "mount -o remount,rw {0}", "truncate -s 0 {0}/file"):
        assert hutch("run", "--ro", hutch.directory, "--", "sh", "-c", attempt.format(hutch.directory)).status != 0, attempt
    assert (hutch.directory / "file").read_text() == "content\n" and os.listdir(hutch.directory) == ["file"]


def test_a_writable_grant_is_the_hosts_directory(hutch):
    (hutch.directory / "old").write_text("old\n")
    hutch.inside(f"cd {hutch.directory} && cat old && echo new >new && mkdir d && mv old d/old && chmod 700 d && ln -s d l", "--rw", hutch.directory)
    assert (hutch.directory / "new").read_text() == "new\n" and (hutch.directory / "l" / "old").read_text() == "old\n"
    assert (hutch.directory / "new").stat().st_uid == os.getuid()


def test_a_single_file_can_be_granted(hutch):
    for name in ("one", "two"):
        (hutch.directory / name).write_text(name + "\n")
    done = hutch("run", "--rw", hutch.directory / "one", "--", "sh", "-c", f"cat {hutch.directory}/one; echo more >>{hutch.directory}/one; ls {hutch.directory}")
    assert done.out == "one\none\n", done
    assert (hutch.directory / "one").read_text() == "one\nmore\n"


def test_a_grant_can_lie_elsewhere_inside(hutch):
    (hutch.directory / "file").write_text("moved\n")
    assert hutch.inside("cat /data/set/file", "--ro", f"{hutch.directory}:/data/set") == "moved\n"
    assert hutch.inside("echo x >/data/new", "--rw", f"{hutch.directory}:/data") == ""
    assert (hutch.directory / "new").exists()


@pytest.mark.parametrize("order", [0, 1])
def test_the_more_specific_grant_wins_in_any_order(hutch, order):
    inner = hutch.directory / "a" / "b"
    inner.mkdir(parents=True)
    options = [["--ro", hutch.directory], ["--rw", inner]]
    options = sum(options if order == 0 else options[::-1], [])
    hutch.inside(f"touch {inner}/yes; ! touch {hutch.directory}/no 2>/dev/null; ! touch {hutch.directory}/a/no 2>/dev/null", *options)
    assert (inner / "yes").exists() and not (hutch.directory / "no").exists()


def test_a_read_only_grant_inside_a_writable_one_stays_read_only(hutch):
    inner = hutch.directory / "a"
    inner.mkdir()
    hutch.inside(f"touch {hutch.directory}/yes; ! touch {inner}/no 2>/dev/null", "--rw", hutch.directory, "--ro", inner)
    assert (hutch.directory / "yes").exists() and not (inner / "no").exists()


def test_a_relative_grant_and_a_tilde_mean_what_the_caller_means(hutch):
    (hutch.directory / "sub").mkdir()
    (hutch.directory / "sub" / "f").write_text("relative\n")
    assert hutch.inside(f"cat {hutch.directory}/sub/f", "--ro", "sub") == "relative\n"
    assert hutch.inside('cat "$HOME/notes.txt"', "--ro", "~/notes.txt") == "CANARY-notes\n"


def test_strange_names_work(hutch):
    strange = hutch.directory / "a b,c=d'e\"f\\g ü"
    strange.mkdir()
    (strange / "f").write_text("strange\n")
    assert hutch("run", "--ro", strange, "--", "cat", strange / "f").out == "strange\n"


@pytest.mark.parametrize("parent", ["/var/tmp", "/tmp", "/dev/shm"])
def test_grants_and_home_may_lie_below_directories_that_the_sandbox_has_itself(hutch, parent):
    with tempfile.TemporaryDirectory(dir=parent, prefix="granted-") as directory:
        if parent == "/dev/shm":  # /dev is hutch's own: refused, or there; never silently elsewhere
            done = hutch("run", "--rw", directory, "--", "sh", "-c", "echo x >made && pwd", cwd=directory)
            assert done.status == 125 or os.path.exists(f"{directory}/made"), done
            return
        done = hutch("run", "--rw", f"{directory}", "--", "sh", "-c", "echo x >made && pwd", cwd=directory, env={"HOME": f"{directory}-home"})
        assert done.out == f"{directory}\n" and os.path.exists(f"{directory}/made"), done
        done = hutch("run", "--", "sh", "-c", "cd && pwd", env={"HOME": f"{directory}-home"})
        assert done.out == f"{directory}-home\n", done
        assert not os.path.exists(f"{directory}-home") and (parent == "/tmp" or not os.path.exists(f"/tmp/{os.path.basename(directory)}"))


def test_a_link_in_the_way_of_a_mount_point_does_not_lead_to_the_host(hutch):
    """A link that a server left in its own writable directory stands where the next run's mount point shall be: the
    directories on the way to it must never be made on the host, nor the mount end up elsewhere."""
    (hutch.home / "victim").mkdir()
    (hutch.directory / "link").symlink_to(hutch.home / "victim")
    for options in (["--ro", f"/usr/share:{hutch.directory}/link/sub/deep"], ["--ro", f"/etc/hostname:{hutch.directory}/link/file"]):
        done = hutch("run", "--rw", hutch.directory, *options, "--", "true")
        assert os.listdir(hutch.home / "victim") == [], done
        assert done.status in (0, 125), done


def test_a_link_inside_a_grant_does_not_lead_out(hutch):
    (hutch.directory / "way-out").symlink_to(hutch.home / ".ssh" / "id")
    (hutch.directory / "up").symlink_to("../home/.ssh")
    done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", f"cd {hutch.directory}; cat way-out up/id ../home/.ssh/id")
    assert "CANARY" not in done.out and done.status != 0


def test_a_file_system_mounted_later_below_a_read_only_grant_is_not_writable_inside(hutch, am_root, tmp_path):
    if not am_root:
        pytest.skip("only root can mount on the host")
    script = f"""
        mount --make-rshared / 2>/dev/null
        mkdir -p {hutch.directory}/later
        {hutch.path} run --ro {hutch.directory} -- sh -c 'echo ready; read _; ! touch {hutch.directory}/later/x 2>/dev/null' < {tmp_path}/in > {tmp_path}/out &
        exec 3> {tmp_path}/in
        read _ < {tmp_path}/out
        mount -t tmpfs none {hutch.directory}/later
        echo go >&3
        wait $!
    """
    os.mkfifo(tmp_path / "in")
    os.mkfifo(tmp_path / "out")
    done = subprocess.run(["unshare", "-m", "--propagation", "unchanged", "sh", "-c", script], env=hutch.environment, cwd=hutch.directory,
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done


# working directory

def test_cwd_is_the_callers_where_granted_else_the_home(hutch):
    assert hutch.inside("pwd", "--rw", hutch.directory) == f"{hutch.directory}\n"
    assert hutch.inside("pwd", "--rw", ".") == f"{hutch.directory}\n"
    assert hutch.inside("pwd") == f"{hutch.home}\n"


def test_cwd_can_be_chosen(hutch):
    assert hutch.inside("pwd", "--cwd", "/usr/share") == "/usr/share\n"
    (hutch.directory / "sub").mkdir()
    assert hutch.inside("pwd", "--rw", hutch.directory, "--cwd", hutch.directory / "sub") == f"{hutch.directory}/sub\n"
    assert hutch.inside("pwd", "--cwd", "/tmp") == "/tmp\n"


def test_client_and_server_see_the_project_at_the_same_path(strict, hutch):
    client = strict("--rw", ".")
    assert client.call("cwd") == str(hutch.directory)
    client.call("write", {"path": f"{hutch.directory}/out.txt", "text": "1"})
    assert client.close() == 0
    assert (hutch.directory / "out.txt").read_text() == "1"


# the program that the command names

def make_project(directory, marker):
    """A package with a data file beside it and a neighbour that belongs to nobody."""
    package = directory / "package"
    (package / "src").mkdir(parents=True)
    (package / marker).write_text("{}\n")
    (package / "data.txt").write_text("data of the package\n")
    (package / "src" / "main.py").write_text("import pathlib, sys\nprint(pathlib.Path(__file__).parent.parent.joinpath('data.txt').read_text(), end='')\n"
                                             "for name in sys.argv[1:]:\n    print(open(name).read(), end='')\n")
    (directory / "neighbour.txt").write_text("CANARY-neighbour\n")
    return package


@pytest.mark.parametrize("marker", ["package.json", "pyproject.toml", "setup.py"])
def test_the_program_is_granted_with_its_package(hutch, marker):
    package = make_project(hutch.directory, marker)
    done = hutch("run", "--", PYTHON, package / "src" / "main.py")
    assert (done.status, done.out) == (0, "data of the package\n"), done


def test_the_program_is_granted_by_a_relative_name(hutch):
    package = make_project(hutch.directory, "package.json")
    done = hutch("run", "--", PYTHON, "src/main.py", cwd=package)
    assert done.out == "data of the package\n", done


def test_a_neighbour_of_the_package_and_a_data_argument_are_not_granted(hutch):
    package = make_project(hutch.directory, "package.json")
    done = hutch("run", "--", PYTHON, package / "src" / "main.py", hutch.directory / "neighbour.txt")
    assert done.status != 0 and "CANARY" not in done.out, done
    assert any(str(hutch.directory / "neighbour.txt") in line for line in done.own_lines), "no note about the data argument"


def test_the_programs_directory_cannot_be_written(hutch):
    package = make_project(hutch.directory, "package.json")
    (package / "src" / "main.py").write_text("import sys\nopen(__file__ + '.new', 'w')\n")
    done = hutch("run", "--", PYTHON, package / "src" / "main.py")
    assert done.status != 0 and "Read-only" in done.err, done


def test_a_script_in_the_home_is_granted_alone(hutch):
    (hutch.home / "server.py").write_text("import os\nprint(sorted(os.listdir(os.path.dirname(__file__))))\n")
    done = hutch("run", "--", PYTHON, hutch.home / "server.py")
    assert done.out == "['server.py']\n", done


def test_a_script_with_an_interpreter_line_is_granted(hutch):
    tools = hutch.directory / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho hello from a script\n")
    (tools / "hello").chmod(0o755)
    for command in (tools / "hello", "tools/hello"):
        done = hutch("run", "--", command)
        assert (done.status, done.out) == (0, "hello from a script\n"), done


def test_dry_run_and_verbose_show_the_program_grant(hutch):
    package = make_project(hutch.directory, "package.json")
    command = ["--", PYTHON, package / "src" / "main.py"]
    assert str(package) in hutch("run", "--dry-run", *command).out
    assert str(package) in hutch("run", "--verbose", *command).err


def test_node_in_usr_and_its_launchers_work(hutch, node):
    if not node.startswith("/usr/"):
        pytest.skip("node lies outside /usr; its tool chain is granted by a later option")
    assert hutch("run", "--", "node", "-e", "console.log(40 + 2)").out == "42\n"
    if os.path.exists("/usr/bin/npx"):
        done = hutch("run", "--", "npx", "--version")
        assert done.status == 0 and done.out[0].isdigit(), done


def test_the_stub_server_is_granted_by_its_name(strict):
    client = strict(command=[PYTHON, STUB])
    assert client.call("echo", {"text": "hi"}) == "hi"
    assert client.close() == 0


def test_a_destination_behind_one_of_the_sandboxs_links_is_where_the_link_leads(hutch):
    """/bin is a link inside: what is granted at /bin/x must not end up on the host, nor hide /bin."""
    (hutch.directory / "f").write_text("there\n")
    done = hutch("run", "--ro", f"{hutch.directory}/f:/bin/dash", "--", "cat", "/usr/bin/dash")
    assert done.out == "there\n", done
    done = hutch("run", "--ro", f"{hutch.directory}/f:/bin/hutch-is-not-here", "--", "true")
    assert done.status == 125 and not os.path.exists("/bin/hutch-is-not-here"), done


def test_a_granted_etc_replaces_the_sandboxs_own_and_nothing_is_written_into_it(hutch):
    (hutch.directory / "passwd").write_text("me:x:65532:65532::/:/bin/sh\n")
    done = hutch("run", "--rw", f"{hutch.directory}:/etc", "--", "sh", "-c", "cat /etc/passwd; ls /etc")
    assert done.out == "me:x:65532:65532::/:/bin/sh\npasswd\n", done
    assert os.listdir(hutch.directory) == ["passwd"]


def test_a_relative_program_below_a_directory_that_is_not_granted(hutch):
    """Only the package is granted, but the working directory is the caller's, or the command would mean another."""
    package = hutch.directory / "package"
    package.mkdir()
    (package / "package.json").write_text("{}")
    (package / "server.py").write_text("import os; print(os.getcwd(), os.listdir())")
    (hutch.directory / "secret").write_text("CANARY")
    done = hutch("run", "--", PYTHON, "package/server.py")
    assert done.out == f"{hutch.directory} ['package']\n", done
