# SPDX-License-Identifier: Apache-2.0
"""What a grant holds and the sandbox does not see: by path, by pattern, and sockets of other programs."""
import json
import os
import socket
import subprocess

import pytest
from harness import PYTHON


@pytest.fixture
def project(hutch):
    for name in (".env", "sub/.env.local", "sub/deep/.env", "sub/other.txt", "secrets/key", "app/[id]/page"):
        (hutch.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (hutch.directory / name).write_text(f"CANARY {name}\n")
    return hutch.directory


@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_a_file_is_empty_and_a_directory_too(hutch, project, grant):
    done = hutch("run", grant, ".", "--hide", "sub/other.txt", "--hide", "secrets", "--", "sh", "-c",
                 "cat sub/other.txt; ls -A secrets; cat .env; touch secrets/new || echo x >sub/other.txt; rm -rf secrets sub/other.txt; mv secrets x; mv sub x")
    assert done.out == "CANARY .env\n", done
    assert (project / "secrets/key").read_text() and (project / "sub/other.txt").read_text() == "CANARY sub/other.txt\n"


@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_a_pattern_matches_names_at_any_depth(hutch, project, grant):
    assert hutch.inside("cat .env sub/.env.local sub/deep/.env sub/other.txt", grant, ".", "--hide", ".env*") == "CANARY sub/other.txt\n"


@pytest.mark.parametrize("name", [".env", ".env/"])
def test_a_name_without_a_slash_is_looked_for_at_any_depth(hutch, project, name):
    """Below every grant, and where it leads to from the working directory."""
    out = hutch.inside("cat .env sub/.env.local sub/deep/.env sub/other.txt", "--rw", ".", "--hide", name)
    assert out == "CANARY sub/.env.local\nCANARY sub/other.txt\n"
    out = hutch.inside(f"cat {project}/.env {project}/sub/deep/.env", "--ro", project, "--hide", name, cwd=hutch.home)
    assert out == ""
    assert hutch.inside("cat .env; cat sub/deep/.env", "--ro", ".", "--hide", "./.env") == "CANARY sub/deep/.env\n"
    assert hutch.inside("ls sub/deep", "--ro", ".", "--hide", "deep/") == ""
    assert hutch.inside("cat sub/.env.local sub/deep/.env", "--rw", ".", "--hide", ".env*", "--hide", ".env.local") == ""


def test_a_name_without_a_slash_is_no_pattern(hutch, project):
    (project / "sub/a\\b").write_text("CANARY a\\b\n")
    (project / "sub/[id]").write_text("CANARY id\n")
    (project / "sub/i").write_text("i\n")
    assert hutch.inside("cat 'sub/a\\b'", "--ro", ".", "--hide", "a\\b") == ""
    (project / "[id]").write_text("")
    assert hutch.inside("cat 'sub/[id]' sub/i", "--ro", ".", "--hide", "[id]") == "i\n"


def test_patterns_hold_in_a_narrower_grant_of_a_hidden_directory(hutch, project):
    for name in ("s*b", "sub"):
        assert hutch.inside("ls -A sub; cat sub/deep/.env", "--ro", ".", "--ro", "sub/deep", "--hide", name, "--hide", ".env*") == "deep\n"


def test_a_pattern_with_a_slash_is_a_path(hutch, project):
    out = hutch.inside("cat .env sub/.env.local sub/deep/.env", "--ro", ".", "--hide", "sub/.env*")
    assert out == "CANARY .env\nCANARY sub/deep/.env\n"
    (hutch.home / "link").symlink_to(project)
    assert hutch.inside("cat sub/.env.local", "--ro", ".", "--hide", "~/link/s*/.env*") == ""


def test_a_pattern_with_two_stars_is_a_mistake(hutch, project):
    assert hutch("run", "--ro", ".", "--hide", "**/.env", "--", "true").status == 2


def test_a_name_with_brackets_that_exists_is_a_path(hutch, project):
    assert hutch.inside("ls -A 'app/[id]'", "--ro", ".", "--hide", "app/[id]") == ""


def test_it_holds_at_every_place_that_shows_it(hutch, project):
    out = hutch.inside(f"cat /mnt/a/.env /mnt/b/.env {project}/.env; cat /mnt/b/sub/other.txt", "--ro", f"{project}:/mnt/a",
                       "--ro", f"{project}:/mnt/b", "--ro", project, "--hide", ".env")
    assert out == "CANARY sub/other.txt\n"


def test_it_wins_over_a_grant_of_the_same_file_and_hides_in_the_programs_directory(hutch, project):
    assert hutch.inside("cat .env", "--ro", ".", "--ro", project / ".env", "--hide", ".env*", cwd=project) == ""
    (project / "package.json").write_text("{}")
    (project / "main.py").write_text("print(open('.env').read())")
    done = hutch("run", "--hide", ".env*", "--", PYTHON, project / "main.py")
    assert done.out == "\n" and "is readable inside" not in done.err, done


def test_a_file_of_the_system_can_be_hidden(hutch):
    assert hutch("run", "--hide", "/usr/share/dict", "--hide", "/usr/bin/env", "--", "/usr/bin/env").status != 0


def test_a_link_that_matches_hides_what_it_leads_to(hutch, project):
    (project / "sub/other.txt").rename(project / "sub/values")
    (project / ".env.link").symlink_to("sub/values")
    assert hutch.inside("cat .env.link sub/values", "--ro", ".", "--hide", ".env*") == ""


def test_a_missing_path_in_a_writable_grant_is_a_mistake(hutch, project):
    for path in ("missing", "missing/deeper", project / ".evn"):
        done = hutch("run", "--rw", ".", "--hide", path, "--", "true")
        assert done.status == 2 and "there is no such file" in done.err, done
    assert hutch("run", "--ro", ".", "--hide", "missing", "--", "true").status == 0
    assert hutch("run", "--rw", ".", "--hide", "missing*", "--", "true").status == 0


@pytest.mark.parametrize("outer", ["--ro", "--rw", "--overlay"])
@pytest.mark.parametrize("inner", ["--ro", "--rw"])
@pytest.mark.parametrize("hidden", ["sub", "s*b"])
def test_a_narrower_grant_in_a_hidden_directory_is_seen(hutch, project, outer, inner, hidden):
    """In any order; and nothing else of the directory, in which nothing can be made."""
    for options in (["--hide", hidden, outer, ".", inner, "sub/deep"], [inner, "sub/deep", outer, ".", "--hide", hidden]):
        done = hutch("run", *options, "--", "sh", "-c", "find sub | sort; cat sub/deep/.env; touch sub/new; mkdir sub/new; rmdir sub/deep; mv sub x")
        assert done.out == "sub\nsub/deep\nsub/deep/.env\nCANARY sub/deep/.env\n" and done.status != 0, done
        assert sorted(os.listdir(project / "sub")) == [".env.local", "deep", "other.txt"]
    done = hutch("run", *options, "--", "touch", "sub/deep/new")
    assert (done.status == 0) == (project / "sub/deep/new").exists() == (inner == "--rw"), done


def test_grants_of_every_kind_in_a_hidden_directory(hutch, project):
    """A file, a directory some way down, memory, and a grant whose path leads through a link there."""
    (project / "secrets/a/b").mkdir(parents=True)
    (project / "secrets/a/b/f").write_text("deep\n")
    (project / "secrets/link").symlink_to("../app")
    script = "cat secrets/key secrets/a/b/f; ls secrets/link; find secrets | sort | tr '\\n' ' '; echo x >secrets/memory/x; touch secrets/a/new || touch secrets/new || echo closed"
    done = hutch("run", "--ro", ".", "--hide", "secrets", "--ro", "secrets/key", "--ro", "secrets/a/b", "--tmpfs", project / "secrets/memory",
                 "--ro", "secrets/link", "--", "sh", "-c", script)
    assert done.out == ("CANARY secrets/key\ndeep\n[id]\nsecrets secrets/a secrets/a/b secrets/a/b/f secrets/key secrets/link secrets/memory closed\n"), done
    assert sorted(os.listdir(project / "secrets")) == ["a", "key", "link"]


def test_hidden_again_in_a_narrower_grant(hutch, project):
    out = hutch.inside("find sub | sort | tr '\\n' ' '; cat sub/deep/.env", "--ro", ".", "--hide", "sub", "--ro", "sub/deep", "--hide", "sub/deep/.env")
    assert out == "sub sub/deep sub/deep/.env "


def test_more_than_can_be_looked_at_is_an_error(hutch):
    for i in range(200):  # second links: a disk takes minutes for as many new files
        (hutch.directory / str(i)).mkdir()
        directory = os.open(hutch.directory / str(i), os.O_RDONLY)
        os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
        for j in range(1000):
            os.link("x", str(j), src_dir_fd=directory, dst_dir_fd=directory)
        os.close(directory)
    done = hutch("run", "--ro", ".", "--hide", ".env*", "--", "true")
    assert done.status == 125 and "more than 200000" in done.err, done


@pytest.mark.skipif(os.getuid() == 0, reason="root looks into every directory")
def test_a_directory_that_only_the_sandbox_could_open_is_an_error(hutch, project):
    (project / "sub").chmod(0)
    try:
        assert hutch("run", "--rw", ".", "--hide", ".env*", "--", "true").status == 125
        assert hutch("run", "--ro", ".", "--hide", ".env*", "--", "true").status == 0
    finally:
        (project / "sub").chmod(0o755)


def test_dry_run_and_verbose_show_it(hutch, project):
    mounts = json.loads(hutch("run", "--ro", ".", "--hide", ".env*", "--dry-run", "--", "true").out)["mounts"]
    masks = {mount["destination"]: mount for mount in mounts if mount["kind"] == "mask"}
    assert set(masks) == {f"{project}/.env", f"{project}/sub/.env.local", f"{project}/sub/deep/.env"}
    assert masks[f"{project}/.env"]["why"] == "--hide .env*"
    assert f"hidden {project}/.env (--hide .env*)" in hutch("run", "-v", "--ro", ".", "--hide", ".env*", "--", "true").err


# sockets

CONNECT = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.settimeout(5)\ns.connect(sys.argv[1])\nprint('connected')\n"


@pytest.fixture
def listener(hutch, monkeypatch):
    (hutch.directory / "run/deep").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(hutch.directory)  # the name of a socket has 107 bytes at most
        path = hutch.directory / "run/deep/s"
        if len(str(path)) > 107:
            pytest.skip("the test directory's path is too long for a socket")
        server.bind(str(path))
        server.listen()
        yield path


@pytest.mark.parametrize("grant", ["--ro", "--rw", "--overlay"])
def test_sockets_below_a_grant_cannot_be_reached(hutch, listener, grant):
    assert subprocess.run([PYTHON, "-c", CONNECT, listener], capture_output=True, text=True).stdout == "connected\n"
    done = hutch("run", grant, hutch.directory, "--", PYTHON, "-c", CONNECT, listener)
    assert done.status != 0 and "connected" not in done.out, done
    done = hutch("run", grant, hutch.directory, "--", "sh", "-c", f"rm -f {listener} || mv {hutch.directory}/run/deep {hutch.directory}/x || mv {hutch.directory}/run {hutch.directory}/x")
    assert done.status != 0 or grant == "--overlay", done


def test_a_socket_that_is_granted_itself_can_be_reached(hutch, listener):
    assert hutch("run", "--ro", hutch.directory, "--ro", listener, "--", PYTHON, "-c", CONNECT, listener).out == "connected\n"


def test_a_socket_of_another_network_namespace_cannot_be_reached(hutch):
    path = hutch.directory / "s"
    script = f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind({str(path)!r})\ns.listen()\nprint(flush=True)\ninput()\n"
    with subprocess.Popen(["unshare", "-rn", PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        try:
            # In this order: a connection from here would put the socket on this namespace's own list.
            assert "connected" not in hutch("run", "--ro", hutch.directory, "--", PYTHON, "-c", CONNECT, path).out
            assert subprocess.run([PYTHON, "-c", CONNECT, path], capture_output=True, text=True).stdout == "connected\n"
        finally:
            server.stdin.close()
