# SPDX-License-Identifier: Apache-2.0
"""What a program sees inside: itself, its grants, and nothing of the host or of the caller."""
import json
import os
import socket
from pathlib import Path

import harness
import pytest
from harness import PYTHON

TEMPLATE = json.loads((harness.TREE / "policy" / "templates" / "mcp-server.json").read_text())
FIXED_NAMES = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "TMPDIR", "SHELL"} | set(TEMPLATE.get("environment", {}))


def variables(hutch, *options, **popen):
    out = hutch("run", *options, "--", "env", "-0", **popen).out
    return dict(item.split("=", 1) for item in out.split("\0") if item)


# environment

def test_environment_has_the_fixed_names_and_nothing_of_the_caller(hutch):
    found = variables(hutch)
    assert set(found) == FIXED_NAMES
    assert found["HOME"] == str(hutch.home)
    assert found["USER"] == found["LOGNAME"] == "nonroot"
    assert all("CANARY" not in value for value in found.values())


def test_environment_is_complete_for_a_caller_without_any(hutch):
    done = hutch("run", "--", "env", before=["env", "-i", f"HOME={hutch.home}"])
    assert done.status == 0, done
    assert {line.split("=")[0] for line in done.out.splitlines()} == FIXED_NAMES


@pytest.mark.parametrize("options", [["--env", "CANARY_VARIABLE"], ["-e", "CANARY_VARIABLE"], ["--env=CANARY_VARIABLE"]], ids=" ".join)
def test_a_named_variable_is_forwarded_beside_the_fixed_ones(hutch, options):
    found = variables(hutch, *options)
    assert set(found) == FIXED_NAMES | {"CANARY_VARIABLE"}
    assert found["CANARY_VARIABLE"] == "CANARY-environment"


def test_a_variable_can_be_set_to_anything_but_nul(hutch):
    value = "two\nlines = and \"quotes\" ümlaut " + "x" * 10_000
    assert variables(hutch, "--env", f"VALUE={value}")["VALUE"] == value


def test_an_empty_value_is_a_value(hutch):
    assert variables(hutch, "--env", "EMPTY=")["EMPTY"] == ""


def test_an_unset_variable_is_refused_by_name(hutch):
    done = hutch("run", "--env", "SURELY_NOT_SET", "--", "true")
    assert done.status == 2 and "SURELY_NOT_SET" in done.err


# identity

def test_identity_is_one_unprivileged_user_with_a_name(hutch):
    assert hutch.inside("id -u; id -g; id -un; id -gn") == "65532\n65532\nnonroot\nnonroot\n"
    assert hutch.inside(f'getent passwd "$(id -u)"').split(":")[5] == str(hutch.home)


def test_identity_holds_for_a_caller_without_an_account(hutch, tmp_path, am_root):
    if not am_root:
        pytest.skip("only root can become somebody without an account")
    os.chmod(hutch.directory, 0o777)
    done = hutch("run", "--", "sh", "-c", "id -un; echo ~", cwd="/",
                 before=["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"], env={"HOME": "/nonexistent"})
    assert done.out.split() == ["nonroot", "/nonexistent"], done


def test_passwd_and_group_name_nobody_of_the_host(hutch):
    for file in ("passwd", "group"):
        names = {line.split(":")[0] for line in hutch.inside(f"cat /etc/{file}").splitlines()}
        assert "nonroot" in names and names <= {"root", "nobody", "nogroup", "nonroot"}, names


def test_no_capability_no_new_privileges_two_filters(hutch):
    status = dict(line.split(":\t") for line in hutch.inside("cat /proc/self/status").splitlines() if ":\t" in line)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert int(status["Seccomp_filters"]) >= 2


def test_hostname_is_hutch_and_hostnames_own_resolution_works(hutch):
    assert hutch.inside("uname -n; cat /etc/hostname") == "hutch\nhutch\n"
    assert hutch.inside("getent hosts localhost").split()[0] in ("127.0.0.1", "::1")
    assert hutch.inside("getent hosts hutch")


# files

def test_etc_is_synthetic(hutch):
    permitted = {"passwd", "group", "hosts", "hostname", "resolv.conf", "nsswitch.conf", "localtime", "ld.so.cache", "alternatives", "ssl",
                 "ca-certificates", "pki", "ca-certificates.conf", "services", "protocols", "mime.types", "ld.so.conf", "ld.so.conf.d", "gitconfig"}
    found = set(hutch.inside("ls -A /etc").split())
    assert {"passwd", "group", "hosts", "hostname", "nsswitch.conf"} <= found
    assert found <= permitted, found - permitted


def test_no_private_key_comes_with_the_certificates(hutch):
    assert hutch.inside("test ! -e /etc/ssl/private || ls -A /etc/ssl/private") == ""


def test_the_home_exists_empty_and_writable(hutch):
    assert hutch.inside('ls -A "$HOME"; echo x >"$HOME/x"; cat "$HOME/x"') == "x\n"
    assert not (hutch.home / "x").exists()


def test_caches_can_be_written_in_the_home_and_do_not_reach_the_real_one(hutch):
    hutch.inside("true")  # hutch's own record of the runs is there from now on
    before = sorted(str(path) for path in hutch.home.rglob("*") if path.is_dir() or ".local" not in path.parts)
    hutch.inside("for d in ~/.npm/_cacache ~/.cache/uv ~/.local/share/uv/tools ~/.config/x; do mkdir -p $d && touch $d/t || exit 1; done")
    assert sorted(str(path) for path in hutch.home.rglob("*") if path.is_dir() or ".local" not in path.parts) == before


def test_temporary_directory_is_private(hutch):
    name = f"/tmp/seen-inside-{os.getpid()}"
    assert hutch.inside(f'cd "$TMPDIR" && echo y >{name} && cat {name}') == "y\n"
    assert not os.path.exists(name)
    way_to_home = {hutch.home.parts[2]} if hutch.home.parts[1] == "tmp" else set()  # the home's own mount point
    assert set(hutch.inside("ls -A /tmp").split()) == way_to_home


def test_the_root_holds_only_what_is_needed_and_cannot_be_written(hutch):
    assert set(hutch.inside("ls -A /").split()) <= {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libo32", "usr", "etc", "proc", "dev",
                                                    "tmp", "home", "root", "var", "run", *Path(hutch.home).parts[1:2], *Path(hutch.directory).parts[1:2]}
    for path in ("/x", "/usr/x", "/etc/x", "/etc/passwd", "/bin/x", "/dev/x", "/proc/x"):
        assert hutch("run", "--", "sh", "-c", f"echo x >>{path}").status != 0, path


def test_everything_writable_in_memory_shares_one_gibibyte(hutch):
    blocks = hutch.inside('stat -f -c "%b %S" /tmp /dev/shm "$HOME"').splitlines()
    assert {int(size) * int(count) for count, size in (line.split() for line in blocks)} == {1 << 30}
    assert hutch.inside("head -c 300M /dev/zero >/dev/shm/x && stat -c %s /dev/shm/x") == f"{300 << 20}\n"
    done = hutch("run", "--", "sh", "-c", 'head -c 700M /dev/zero >/dev/shm/x && head -c 700M /dev/zero >/tmp/x', timeout=60)
    assert done.status != 0 and "space" in done.err, done


def test_shared_memory_and_native_code_in_memory_work(hutch):
    hutch.inside(f"{PYTHON} -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=1 << 20); m.close(); m.unlink()'")
    assert hutch.inside("cp /bin/echo /tmp/e && /tmp/e from memory") == "from memory\n"


def test_devices_are_the_fixed_set_and_work(hutch):
    assert set(hutch.inside("ls -A /dev").split()) <= {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr",
                                                       "ptmx", "pts", "shm", "console"}
    hutch.inside("echo x >/dev/null; head -c 4 /dev/zero | cmp -n 4 - /dev/zero; head -c 4 /dev/urandom | wc -c | grep -qx 4")
    assert hutch("run", "--", "sh", "-c", "echo x >/dev/full").status != 0
    hutch.inside(f"{PYTHON} -c 'import pty, os; m, s = pty.openpty(); os.write(m, b\"x\\n\"); assert os.read(s, 9) == b\"x\\n\"'")
    assert hutch("run", "--", "sh", "-c", "cat /dev/stdin; echo err >/dev/stderr; echo out >/dev/stdout", input="in\n").out == "in\nout\n"


def test_sys_is_absent(hutch):
    assert hutch.inside("ls -A /sys 2>/dev/null | head -1; true") == ""


def test_without_proc_there_is_none(hutch):
    assert hutch.inside("ls -A /proc 2>/dev/null; true", "--proc", "none") == ""


# network

def test_only_loopback_exists_and_it_works(hutch):
    assert hutch.inside("tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]
    script = ("import socket; s = socket.create_server((\"127.0.0.1\", 0)); c = socket.create_connection(s.getsockname(), 5);"
              "p, _ = s.accept(); c.sendall(b\"inner\"); print(p.recv(9))")
    assert hutch.inside(f"{PYTHON} -c '{script}'") == "b'inner'\n"
    assert hutch("run", "--", PYTHON, "-c", "import socket; socket.create_connection(('198.51.100.1', 80), 5)").status != 0


# descriptors

LEAKS = 64


def test_only_the_standard_streams_are_open_whatever_the_caller_leaks(hutch):
    held = [os.open("/", os.O_RDONLY | os.O_DIRECTORY), os.open(hutch.home / ".ssh/id", os.O_RDONLY), *os.pipe(),
            os.open("/", os.O_PATH)]
    pair = socket.socketpair()
    try:
        held += [end.fileno() for end in pair]
        high = [os.dup2(held[0], 300 + number) for number in range(LEAKS)]
        held += high
        for kind in ("run", "mcp"):
            done = hutch(kind, *(["--raw-stdout"] if kind == "mcp" else []), "--", PYTHON, "-c",
                         "import os; print(sorted(n for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)))",
                         pass_fds=held, input="")
            # the listing's own descriptor is closed again by the time it is looked at
            assert (done.status, done.out) == (0, "['0', '1', '2']\n"), done
    finally:
        for end in pair:
            end.detach()
        for fd in held:
            os.close(fd)


def test_no_process_inside_holds_anything_of_the_host(hutch):
    """Every descriptor that can be looked at, of every process, with a directory and a secret leaked by the caller."""
    secret = os.open(hutch.home / ".ssh/id", os.O_RDONLY)
    try:
        done = hutch("run", "--", "sh", "-c", "for p in /proc/[0-9]*; do echo $p; ls -l $p/fd $p/cwd $p/root $p/exe 2>&1; cat $p/cmdline; done",
                     pass_fds=[secret])
    finally:
        os.close(secret)
    # For a caller who is root pid 1 is hidden: its files belong to root, so root could list them.
    assert ("/proc/1" in done.out.split()) == (os.geteuid() != 0), done
    assert ".ssh" not in done.out and "CANARY" not in done.out and "hutch" not in done.out.replace(str(hutch.home), ""), done


# processes

def test_no_process_of_the_host_is_visible(hutch):
    pids = [int(pid) for pid in hutch.inside("ls /proc | grep -x '[0-9]*'").split()]
    assert (1 in pids) == (os.geteuid() != 0), pids
    assert 0 < len(pids) <= 5 and max(pids) < 30, pids


@pytest.mark.parametrize("name", ["environ", "maps", "mem", "auxv", "stack", "exe", "cwd", "root", "map_files", "io", "syscall", "fd/0", "fd/3", "fd/16", "fd/17"])
def test_pid_1_cannot_be_looked_into(hutch, name):
    done = hutch("run", "--", "sh", "-c", f"if [ -L /proc/1/{name} ]; then readlink /proc/1/{name}; elif [ -d /proc/1/{name} ]; "
                                          f"then ls /proc/1/{name}; else head -c 100 /proc/1/{name}; fi")
    assert done.out == "" and done.status != 0, done


def test_pid_1_shows_nothing_of_the_callers_command_line(hutch):
    done = hutch("run", "--env", "CANARY_VARIABLE", "--env", "SECRET=CANARY-inline", "--", "cat", "/proc/1/cmdline", "/proc/1/comm", "/proc/1/status")
    assert "CANARY" not in done.out and str(hutch.home) not in done.out, done


def test_mount_table_names_no_directory_that_was_not_granted(hutch):
    table = hutch.inside("cat /proc/self/mountinfo", "--ro", hutch.directory)
    assert str(hutch.directory) in table
    assert str(hutch.home / ".ssh") not in table


def test_dangerous_parts_of_proc_are_masked(hutch):
    for name in ("kcore", "keys", "kmsg", "kallsyms", "timer_list"):
        assert hutch.inside(f"test -e /proc/{name} && head -c 10 /proc/{name} 2>/dev/null; true") == "", name
    for name in ("sys/kernel/core_pattern", "sys/vm/overcommit_memory", "sysrq-trigger", "irq/default_smp_affinity"):
        if os.path.exists(f"/proc/{name}"):
            assert hutch("run", "--", "sh", "-c", f"exec 3>>/proc/{name}").status != 0, name


def test_namespace_budget_is_zero_unless_allowed(hutch):
    assert hutch("run", "--", "unshare", "-U", "true").status != 0
    assert hutch("run", "--allow-userns", "--", "unshare", "-U", "true").status == 0
    assert hutch("run", "--allow-userns", "--", "unshare", "-Ur", "true").status == 0


def test_limits_are_set(hutch):
    limits = hutch.inside("ulimit -Hc; ulimit -Hn").split()
    assert limits == ["0", "4096"]
    watches = hutch.inside("cat /proc/sys/user/max_inotify_watches /proc/sys/user/max_user_namespaces").split()
    assert int(watches[0]) < int(Path("/proc/sys/user/max_inotify_watches").read_text()) and watches[1] == "0"


def test_every_namespace_is_new(hutch):
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        assert hutch.inside(f"readlink /proc/self/ns/{kind}").strip() != os.readlink(f"/proc/self/ns/{kind}"), kind


def test_the_server_sees_the_same_through_mcp(strict):
    client = strict("--env", "INLINE=value")
    found = json.loads(client.call("env"))
    assert set(found) - {"LC_CTYPE"} == FIXED_NAMES | {"INLINE"}  # Python itself may set LC_CTYPE
    assert json.loads(client.call("whoami"))["uid"] == 65532
    assert client.close() == 0
