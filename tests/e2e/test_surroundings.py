# SPDX-License-Identifier: Apache-2.0
"""Where and how people and clients start hutch: homes, directories, variables and accounts as they really are."""
import os
import subprocess

import pytest
from harness import PYTHON, STUB_COMMAND, needs_kernel, without_deny_all
from layouts import make


# home

@pytest.mark.parametrize("spelling", ["{home}/", "{home}//", "{home}/.", "{home}/../home"])
def test_a_home_that_is_spelled_oddly(hutch, spelling):
    done = hutch("run", "--rw", "~/project", "--", "sh", "-c", 'echo "$HOME"; echo x >~/project/made; touch ~/.cache; cat ~/.ssh/id', env={"HOME": spelling.format(home=hutch.home)},
                 cwd=make(hutch.home / "project/.keep").parent)
    assert done.out == f"{hutch.home}\n" and (hutch.home / "project/made").exists() and "CANARY" not in done.out, done
    assert not (hutch.home / ".cache").exists()


def test_a_home_that_is_a_link(hutch, tmp_path):
    """And the caller in a directory that is reached through it."""
    (tmp_path / "linked").symlink_to("home")
    project = make(hutch.home / "project/.keep").parent
    (project / "out").symlink_to(hutch.home / ".ssh")
    done = hutch("run", "--rw", ".", "--", "sh", "-c", 'touch x; pwd; cd ~/project && ls; cat out/id', cwd=tmp_path / "linked/project", env={"HOME": f"{tmp_path}/linked"})
    assert (done.out.splitlines()[0], (project / "x").exists()) == (str(project), True) and "CANARY" not in done.out, done
    assert done.out.splitlines()[1:] == ["out", "x"], done


@pytest.mark.parametrize("value", [None, "", "relative", "/", "/nonexistent/home", "/etc", "/tmp"])
def test_a_home_that_is_none(hutch, value):
    environment = {key: text for key, text in hutch.environment.items() if key != "HOME"}
    if value is not None:
        environment["HOME"] = value
    done = subprocess.run(hutch.argv("run", "--", "sh", "-c", 'cd && touch x && pwd && [ "$HOME" = "$PWD" ]'), env=environment, cwd=hutch.directory, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 0 and done.stdout.startswith("/") and not without_deny_all(done.stderr), done


@pytest.mark.parametrize("name", [".npm/_cacache", ".cache/uv", ".local/share/uv/tools", ".config/x", ".local/state/x", ".cache/pip", ".cache/node/corepack"])
def test_caches_and_settings_are_written_and_vanish(hutch, name):
    assert hutch.inside(f'mkdir -p ~/{name} && echo x >~/{name}/t && cat ~/{name}/t') == "x\n"
    assert not os.path.exists(os.path.join(hutch.home, name))


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP", "LC_ALL", "TZ", "EDITOR", "DISPLAY",
                                  "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "GIT_DIR"])
def test_variables_of_the_session_do_not_decide_inside(hutch, name):
    """A directory that one of them names is not there."""
    done = hutch("run", "--", "sh", "-c", f'echo "${{{name}-unset}}"; mktemp >/dev/null && echo made', env={name: str(hutch.directory / "nowhere/at/all")})
    assert (done.status, done.out) == (0, ("/tmp" if name == "TMPDIR" else "unset") + "\nmade\n"), done


def test_a_shared_tool_directory_has_the_same_path_inside(hutch):
    """What a tool links in it by absolute path leads to the same outside."""
    make(hutch.home / "store/py-1/bin")
    done = hutch("run", "--rw", "~/store", "--", "sh", "-c", "ln -sfn $(cd ~; pwd)/store/py-1 ~/store/py")
    assert done.status == 0 and os.path.realpath(hutch.home / "store/py") == str(hutch.home / "store/py-1"), done


# working directory

def run_in(hutch, prepare, *words, directory="place"):
    """hutch started by a shell that prepared its working directory."""
    (hutch.directory / directory).mkdir(exist_ok=True)
    return subprocess.run(["sh", "-c", f'cd {directory} && {prepare} && exec "$@"', "-", *hutch.argv(*words)], cwd=hutch.directory, env=hutch.environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=30)


def test_a_working_directory_that_was_deleted(hutch):
    done = run_in(hutch, "rmdir ../place", "run", "--", "sh", "-c", "pwd; echo ran")
    assert (done.returncode, done.stdout) == (0, f"{hutch.home}\nran\n"), done


def test_a_grant_of_a_working_directory_that_was_deleted_is_an_error(hutch):
    for path in (".", "x"):
        done = run_in(hutch, "rmdir ../place", "run", "--rw", path, "--", "true")
        assert done.returncode == 125 and done.stderr.count("\n") == 1 and "working directory" in done.stderr, done


def test_a_working_directory_that_cannot_be_read(hutch, am_root):
    done = run_in(hutch, "chmod 0 .", "run", "--", "sh", "-c", "pwd; echo ran")
    (hutch.directory / "place").chmod(0o700)
    assert (done.returncode, done.stdout) == (0, f"{hutch.home}\nran\n"), done
    if not am_root:
        done = run_in(hutch, "chmod 0 .", "run", "--ro", "x", "--", "true")
        (hutch.directory / "place").chmod(0o700)
        assert done.returncode == 125 and done.stderr.count("\n") == 1 and "Permission denied" in done.stderr, done


@pytest.mark.parametrize("mask", ["077", "0777", "000"])
def test_a_umask_of_the_caller(hutch, mask):
    """The sandbox works under any, and the server inherits it."""
    done = run_in(hutch, f"umask {mask}", "run", "--rw", "..", "--", "sh", "-c", "umask; touch ~/x /tmp/x ../made-inside && cat /etc/passwd >/dev/null && echo ran")
    assert (done.returncode, done.stdout) == (0, f"{mask.zfill(4)}\nran\n"), done
    assert (hutch.directory / "made-inside").stat().st_mode & 0o777 == 0o666 & ~int(mask, 8)


@pytest.mark.parametrize("text", [":/usr/bin:/bin", "/usr/bin::/bin", "/usr/bin:/bin:", ".:/usr/bin:/bin", "tools:/usr/bin:/bin", "/no/where:/usr/bin:/bin:/usr/bin", "/usr/bin/:/bin//"])
def test_a_path_with_relative_and_empty_parts(hutch, text):
    make(hutch.directory / "tools/mine", "#!/bin/sh\necho mine\n", 0o755)
    make(hutch.directory / "here", "#!/bin/sh\necho here\n", 0o755)
    done = hutch("run", "--", "sh", "-c", "echo ran", env={"PATH": text})
    assert (done.status, done.out) == (0, "ran\n"), done
    if text.startswith("tools"):
        assert hutch("run", "--", "mine", env={"PATH": text}).out == "mine\n"
    if text.startswith(".") or "::" in text or text.startswith(":") or text.endswith("bin:"):
        assert hutch("run", "--", "here", env={"PATH": text}).out == "here\n"


def test_no_path_at_all(hutch):
    done = subprocess.run(hutch.argv("run", "--", "sh", "-c", "echo $PATH"), env={}, cwd=hutch.directory, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 0 and "/usr/bin" in done.stdout, done


@pytest.mark.parametrize("value", ["/nowhere", "relative", "", "/proc", "/root", "/tmp/with space/.."])
def test_a_directory_for_temporary_files_that_is_odd(hutch, value):
    done = hutch("run", "--", PYTHON, "-c", "import tempfile; print(tempfile.gettempdir())", env={"TMPDIR": value})
    assert (done.status, done.out) == (0, "/tmp\n"), done


# language and time

@pytest.mark.parametrize("language, inside", [("de_DE.UTF-8", "de_DE.UTF-8"), ("xx_XX.utf8", "xx_XX.utf8"), ("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("de_DE@euro", "C.UTF-8"),
                                              ("de_DE.ISO-8859-1", "C.UTF-8"), ("", "C.UTF-8"), ("../../x.UTF-8", "C.UTF-8"), ("a b.UTF-8", "C.UTF-8")])
def test_messages_are_utf_8_whatever_the_language(hutch, language, inside):
    done = hutch("run", "--", PYTHON, "-c", "import os, sys; print(os.environ['LANG'], sys.stdout.encoding, 'ü')", env={"LANG": language, "LC_ALL": "C", "LC_CTYPE": "POSIX"})
    assert (done.status, done.out) == (0, f"{inside} utf-8 ü\n"), done


def test_the_hour_is_the_machines(hutch):
    outside = subprocess.run(["date", "+%Z %z"], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}).stdout
    assert hutch.inside("date '+%Z %z'") == outside
    assert hutch.inside("date +%z", "--env", "TZ=Asia/Kolkata") == "+0530\n"


@pytest.mark.root
@pytest.mark.parametrize("kind", ["link", "relative link", "copy", "missing"])
def test_every_kind_of_time_zone_file(hutch, kind):
    """In a mount namespace of its own, /etc is a copy whose localtime is as distributions and people make it."""
    make_localtime = {"link": "ln -s /usr/share/zoneinfo/Asia/Kolkata /etc/localtime", "relative link": "ln -s ../usr/share/zoneinfo/Asia/Kolkata /etc/localtime",
                      "copy": "cp /usr/share/zoneinfo/Asia/Kolkata /etc/localtime", "missing": "true"}[kind]
    needs_kernel(os.path.exists("/usr/share/zoneinfo/Asia/Kolkata"), "no time zones are installed")
    copy = hutch.directory / "etc"
    subprocess.run(["cp", "-a", "/etc", copy], check=True)
    done = subprocess.run(["unshare", "-m", "sh", "-c", f'mount --bind {copy} /etc && rm -f /etc/localtime && {make_localtime} && exec "$@"', "-",
                           *hutch.argv("run", "--", "date", "+%z")], env=hutch.environment, cwd=hutch.directory, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert (done.returncode, done.stdout) == (0, "+0000\n" if kind == "missing" else "+0530\n"), done


# accounts

@pytest.mark.root
@pytest.mark.parametrize("uid", [12345, 65532, 65534, 2**31])
def test_an_account_without_an_entry(hutch, uid):
    """Names and a home for a user whom the machine does not know."""
    place = hutch.directory
    for directory in [place, *place.parents][:-2]:
        directory.chmod(directory.stat().st_mode | 0o055)
    done = subprocess.run(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *hutch.argv("run", "--", PYTHON, "-c", "import os, pwd, getpass; "
                           "e = pwd.getpwuid(os.getuid()); print(e.pw_name, getpass.getuser(), os.path.isdir(e.pw_dir), os.access(e.pw_dir, os.W_OK))")],
                          env={"PATH": "/usr/bin:/bin"}, cwd="/", capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert (done.returncode, done.stdout) == (0, "nonroot nonroot True True\n"), done


def test_a_real_configuration_that_wrapped_its_server_by_hand(strict, hutch):
    """No network, optional directories for reading, the project writable, a variable, and a second -- for the server."""
    argv = strict("--rw", hutch.directory, "--ro-try", f"{hutch.home}/bin", "--env", "DEPOT", command=[*STUB_COMMAND, "--startup-file=no", "--", "worker", "--threads=4"],
                  env={"DEPOT": str(hutch.directory / "depot")})
    assert argv.list_tools()
    done = hutch("run", "--rw", hutch.directory, "--ro-try", f"{hutch.home}/bin", "--env", "DEPOT", "--", "sh", "-c", 'echo "$DEPOT" "$@" >log', "-", "--", "worker", "--threads=4",
                 env={"DEPOT": "depot"})
    assert done.status == 0 and (hutch.directory / "log").read_text() == "depot -- worker --threads=4\n", done


def test_a_tmp_that_permits_no_programs(hutch):
    """noexec on the host's /tmp does not reach the sandbox's own; a program that lies there cannot start, and the reason is said."""
    script = make(hutch.directory / "tool", "#!/bin/sh\necho ran\n", 0o755)
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", 'mount --bind . . && mount -o remount,bind,noexec . && cd "$PWD" && exec "$@"', "-",
                           *hutch.argv("run", "--", "sh", "-c", 'printf "#!/bin/sh\necho native\n" >/tmp/x; chmod +x /tmp/x; /tmp/x')], env=hutch.environment, cwd=hutch.directory,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert (done.returncode, done.stdout) == (0, "native\n"), done
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", 'mount --bind . . && mount -o remount,bind,noexec . && cd "$PWD" && exec "$@"', "-", *hutch.argv("run", "--", str(script))],
                          env=hutch.environment, cwd=hutch.directory, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == 126 and without_deny_all(done.stderr).count("\n") == 1 and "noexec" in done.stderr, done
