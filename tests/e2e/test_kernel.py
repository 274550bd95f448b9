# SPDX-License-Identifier: Apache-2.0
"""The kernel as the sandboxed program meets it, and older or narrower kernels as hutch meets them."""
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from harness import PYTHON, STUB_COMMAND, needs_kernel, without_deny_all

# What the filters answer. ENOSYS lets a C library fall back; EPERM is a refusal on purpose; never a signal.
EXPECTED = {
    "clone3": {"ENOSYS"}, "openat2": {"ENOSYS"}, "faccessat2": {"ok"}, "syscall-9999": {"ENOSYS"}, "io_uring_setup": {"ENOSYS"},
    "unshare-user": {"EPERM", "ENOSYS"}, "unshare-mount": {"EPERM", "ENOSYS"}, "clone-user": {"EPERM"}, "clone-net": {"EPERM"},
    "setns": {"EPERM", "ENOSYS"}, "mount": {"EPERM", "ENOSYS"}, "umount2": {"EPERM", "ENOSYS"}, "pivot_root": {"EPERM", "ENOSYS"},
    "fsopen": {"EPERM", "ENOSYS"}, "open_tree": {"EPERM", "ENOSYS"}, "bpf": {"EPERM", "ENOSYS"}, "keyctl": {"EPERM", "ENOSYS"},
    "add_key": {"EPERM", "ENOSYS"}, "userfaultfd": {"EPERM", "ENOSYS"}, "perf_event_open": {"EPERM", "ENOSYS"}, "kexec_load": {"EPERM", "ENOSYS"},
    "init_module": {"EPERM", "ENOSYS"}, "open_by_handle_at": {"EPERM", "ENOSYS"}, "socket-unix": {"ok"}, "socket-inet": {"ok"}, "socket-route": {"ok"},
    "socket-netlink-audit": {"EPERM"}, "socket-packet": {"EPERM"}, "socket-raw": {"EPERM"}, "socket-alg": {"EPERM", "EAFNOSUPPORT"},
    "socket-vsock": {"EPERM", "EAFNOSUPPORT"}, "tiocsti": {"EPERM"}, "tiocsti-high-bits": {"EPERM"}, "tioclinux": {"EPERM"}, "x32-getpid": {"ENOSYS"},
}


def probe(hutch, program, *options):
    done = hutch("run", "--ro", program, *options, "--", program)
    assert done.status == 0, done
    return dict(line.split() for line in done.out.splitlines())


def test_what_the_filters_answer(hutch, build_helper):
    found = probe(hutch, build_helper("probe_calls.c"))
    wrong = {name: answer for name, answer in found.items() if answer not in EXPECTED[name]}
    assert not wrong


def test_most_of_them_would_be_answered_otherwise_outside(build_helper):
    """A check of the check: without a filter the calls that need no right get through to the kernel."""
    out = subprocess.run([build_helper("probe_calls.c")], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    found = dict(line.split() for line in out.splitlines())
    for name in ("clone3", "unshare-user", "clone-user", "setns", "socket-netlink-audit", "tiocsti", "keyctl"):
        assert found[name] not in EXPECTED[name], name


def test_userns_option_opens_only_what_it_must(hutch, build_helper):
    found = probe(hutch, build_helper("probe_calls.c"), "--allow-userns")
    assert found["clone-user"] == "ok" and found["unshare-user"] == "ok"
    for name in ("tiocsti", "tiocsti-high-bits", "tioclinux", "bpf", "keyctl", "socket-packet", "syscall-9999", "io_uring_setup"):
        assert found[name] in EXPECTED[name], name


def test_32_bit_calls_fail(hutch, build_helper):
    """int 0x80 from a 64-bit program reaches the 32-bit table: a filter for one architecture would miss it."""
    if os.uname().machine != "x86_64":
        pytest.skip("the 32-bit entry exists on x86-64 only")
    program = build_helper("call_32_bit.c")
    outside = subprocess.run([program], capture_output=True, text=True)
    needs_kernel(outside.returncode == 0 and outside.stdout.split()[1].isdigit(), "this kernel has no 32-bit entry")
    done = hutch("run", "--ro", program, "--", program)
    assert done.out == "getpid -38\n", done


def test_threads_start(hutch, node):
    assert hutch.inside(f"{PYTHON} -c 'import threading as t; x = t.Thread(target=print, args=(\"thread\",)); x.start(); x.join()'") == "thread\n"
    if node.startswith("/usr/"):
        done = hutch("run", "--", node, "-e", 'new (require("worker_threads").Worker)("console.log(1)", {eval: true})')
        assert done.out == "1\n", done


def test_a_custom_profile_replaces_the_built_in(hutch):
    profile = hutch.directory / "profile.json"
    profile.write_text('{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["uname"], "action": "SCMP_ACT_ERRNO", "errnoRet": 95}]}')
    done = hutch("run", "--seccomp", profile, "--", PYTHON, "-c", "import os; os.uname()")
    assert done.status == 1 and "[Errno 95]" in done.err, done
    # the second filter does not go away with it
    done = hutch("run", "--seccomp", profile, "--", "unshare", "-U", "true")
    assert done.status != 0


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"defaultAction": "SCMP_ACT_MAYBE"}', '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": 5}',
                                    '{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_PDP11"]}',
                                    '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["ioctl"], "action": "SCMP_ACT_ERRNO", "args": '
                                    '[{"index": 1, "value": 1, "op": "SCMP_CMP_EQ"}, {"index": 1, "value": 2, "op": "SCMP_CMP_EQ"}]}]}'])
def test_a_broken_profile_is_refused(hutch, broken):
    (hutch.directory / "profile.json").write_text(broken)
    done = hutch("run", "--seccomp", "profile.json", "--", "true")
    assert done.status == 125 and done.err.count("\n") == 1, done


# Kernels of another age: each of these calls is newer than the floor (Linux 5.14), or often filtered, and has a substitute.

OPTIONAL_CALLS = ["clone3", "faccessat2", "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "epoll_pwait2", "statx", "memfd_create", "landlock_create_ruleset"]


@pytest.mark.parametrize("call", OPTIONAL_CALLS)
def test_a_missing_newer_call_has_a_substitute(hutch, deny_calls, call):
    secret = os.open(hutch.home / ".ssh/id", os.O_RDONLY)  # so that closing descriptors matters
    try:
        done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", "touch made && id -u && ls /proc/self/fd | wc -l && grep -c ^CapEff:.0000000000000000 /proc/self/status",
                     before=deny_calls(f"{call}=ENOSYS"), pass_fds=[secret])
    finally:
        os.close(secret)
    assert (done.status, done.out) == (0, "65532\n4\n1\n"), done
    assert len(done.own_lines) == ("landlock" in call), done


def test_all_substitutes_together_carry_a_conversation(strict, deny_calls):
    rules = [f"{call}=ENOSYS" for call in OPTIONAL_CALLS if "landlock" not in call]
    client = strict(before=deny_calls(*rules))
    assert client.call("echo", {"text": "old kernel"}) == "old kernel"
    assert client.close() == 0


def test_killed_without_newer_calls_nothing_remains(hutch, deny_calls):
    rules = [f"{call}=ENOSYS" for call in ("clone3", "pidfd_open", "pidfd_send_signal")]
    process = hutch.start("mcp", "--", *STUB_COMMAND, "ignore-eof", "ignore-term", "grandchild", before=deny_calls(*rules),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)


def landlock_version():
    libc = __import__("ctypes").CDLL(None)
    return libc.syscall(444, None, 0, 1)


@pytest.mark.parametrize("errno", ["ENOSYS", "EOPNOTSUPP"])
def test_without_landlock_one_note_and_the_run_goes_on(hutch, deny_calls, errno):
    done = hutch("run", "--", "echo", "ran", before=deny_calls(f"landlock_create_ruleset={errno}"))
    assert (done.status, done.out) == (0, "ran\n"), done
    assert len(done.own_lines) == 1 and "landlock" in done.err.lower(), done


def test_with_landlock_no_note(hutch):
    needs_kernel(landlock_version() >= 2, "this kernel has no Landlock 2")
    assert hutch("run", "--require", "landlock", "--", "true").err == ""


@pytest.mark.parametrize("call", ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"])
def test_landlock_that_is_required_and_missing_is_125(hutch, deny_calls, call):
    done = hutch("run", "--require", "landlock", "--rw", hutch.directory, "--", "touch", "made", before=deny_calls(f"{call}=ENOSYS"))
    assert done.status == 125 and not (hutch.directory / "made").exists(), done
    assert "landlock" in done.err.lower() and done.err.count("\n") == 1


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_older_landlock(hutch, preload, version):
    """Each older version is used for what it can do; nothing it does not know is asked of it."""
    needs_kernel(landlock_version() >= version, f"this kernel has no Landlock {version}")
    environment = {**preload("older_landlock.c"), "HUTCH_TEST_LANDLOCK": str(version)}
    done = hutch("run", "--rw", hutch.directory, "--", "sh", "-c", "mkdir a b && echo x >a/f && mv a/f b/f && cat b/f", env=environment)
    assert (done.status, done.out) == (0, "x\n"), done
    if version >= 2:
        assert hutch("run", "--require", "landlock", "--", "true", env=environment).status == 0


def test_newer_landlock_guards_sockets(hutch, preload):
    """From version 9: no grant lets sockets of others be connected to, but one that is granted itself and the
    sandbox's own memory. The kernel here need not have it: what it would be told is looked at."""
    path = hutch.directory / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        (hutch.directory / "read").mkdir()
        (hutch.directory / "file").touch()
        done = hutch("run", "--rw", hutch.directory, "--ro", hutch.directory / "read", "--rw", path, "--", "true", env=preload("newer_landlock.c"))
    assert done.status == 0, done
    assert "[landlock] sockets guarded" in done.err
    places = re.findall(r"sockets at (\d+)", done.err)
    assert str(path.stat().st_ino) in places
    assert not {str(hutch.directory.stat().st_ino), str((hutch.directory / "read").stat().st_ino)} & set(places)
    (hutch.directory / "layer").mkdir()
    plain, overlay = (hutch("run", *options, "--", "true", env=preload("newer_landlock.c")).err.count("sockets at")
                      for options in ([], ["--overlay", hutch.directory / "layer"]))
    assert plain == overlay > 0
    assert "sockets guarded" not in hutch("run", "--allow-userns=full", "--", "true", env=preload("newer_landlock.c")).err


# The main steps refused: never a run with less.

ESSENTIAL = {
    "no namespaces (clone)": ["clone3=ENOSYS", "clone+userns=EPERM"],
    "no namespaces (both)": ["clone3=EPERM", "clone+userns=EPERM", "unshare+userns=EPERM"],
    "namespaces used up": ["clone3=ENOSPC", "clone+userns=ENOSPC"],
    "no network namespace": ["unshare=EPERM"],
    "network namespaces used up": ["unshare=ENOSPC"],
    "no way into the network namespace": ["setns=EPERM"],
    "no processes left": ["clone3=EAGAIN", "clone+userns=EAGAIN"],
    "no mounts at all, as AppArmor does it": ["mount=EACCES", "umount2=EACCES", "pivot_root=EACCES", "fsopen=EPERM", "fsmount=EPERM", "open_tree=EPERM",
                                              "move_mount=EACCES", "mount_setattr=EPERM"],
    "no fsopen": ["fsopen=EPERM"],
    "no fsmount": ["fsmount=EPERM"],
    "no fsconfig": ["fsconfig=EPERM"],
    "no open_tree": ["open_tree=EPERM"],
    "no move_mount": ["move_mount=EACCES"],
    "no mount_setattr": ["mount_setattr=EPERM"],
    "an old kernel without mount_setattr": ["mount_setattr=ENOSYS"],
    "an old kernel without fsopen": ["fsopen=ENOSYS"],
    "no pivot_root": ["pivot_root=EPERM"],
    "no umount2": ["umount2=EPERM"],
    "no seccomp": ["seccomp=ENOSYS"],
    "seccomp refused": ["seccomp=EACCES"],
    "no sethostname": ["sethostname=EPERM"],
    "no capset": ["capset=EPERM"],
    "no setrlimit": ["prlimit64=EPERM", "setrlimit=EPERM"],
    "no setsid": ["setsid=EPERM"],
    "a kernel below the floor (close_range)": ["close_range=ENOSYS"],
    "Landlock that begins and fails": ["landlock_add_rule=ENOMEM"],
    "Landlock that cannot be switched on": ["landlock_restrict_self=EPERM"],
}


@pytest.mark.parametrize("kind", ["run", "mcp"])
@pytest.mark.parametrize("rules", ESSENTIAL.values(), ids=ESSENTIAL)
def test_a_refused_step_is_125_and_starts_nothing(hutch, deny_calls, rules, kind):
    if "setsid" in rules[0] and kind == "run":
        pytest.skip("run makes no session of its own on a terminal")
    marker = hutch.directory / "ran"
    done = hutch(kind, "--rw", hutch.directory, "--", "touch", marker, before=deny_calls(*rules))
    assert not marker.exists(), "the command ran"
    assert done.status == 125 and done.out == "", done
    assert done.err.startswith("[hutch] ") or done.err.startswith("hutch: "), done
    assert done.err.count("\n") == 1, done


def test_without_openat2_a_grant_is_searched_as_with_it(hutch, deny_calls):
    """A container's filter may not have the call: repositories further down stay protected, and names hidden."""
    repository = hutch.directory / "sub/.git"
    for name in ("objects", "refs", "hooks"):
        (repository / name).mkdir(parents=True)
    (repository / "HEAD").write_text("ref: refs/heads/main\n")
    (repository / "config").write_text("[core]\n")
    (hutch.directory / "sub/.env").write_text("CANARY")
    words = ["run", "--rw", hutch.directory, "--hide", ".env*", "--", "sh", "-c",
             f"cat {hutch.directory}/sub/.env; touch {repository}/hooks/x {repository}/config; echo x >{hutch.directory}/sub/made"]
    for before in ([], deny_calls("openat2=ENOSYS")):
        done = hutch(*words, **({"before": before} if before else {}))
        assert done.status == 0 and done.out == "", done
        assert not (repository / "hooks/x").exists() and done.err.count("Read-only file system") == 2, done
        (hutch.directory / "sub/made").unlink()


def test_apparmor_that_refuses_what_follows_the_clone_is_named(hutch, preload):
    """Ubuntu's rule about unprivileged user namespaces: the clone works, then writing the id map is refused."""
    marker = hutch.directory / "ran"
    done = hutch("run", "--rw", hutch.directory, "--", "touch", marker, env={**preload("refuse_open.c"), "HUTCH_TEST_REFUSE": "/uid_map"})
    assert done.status == 125 and not marker.exists(), done
    assert "AppArmor" in done.err and done.err.count("\n") == 1, done


def test_no_process_for_the_network_namespace_says_what_to_do(hutch, deny_calls):
    done = hutch("run", "--", "true", before=deny_calls("clone=EAGAIN"))
    assert done.status == 125 and "cannot make the sandbox's network namespace" in done.err, done
    assert "limit on processes" in done.err and "close other programs" in done.err, done


def test_mounts_refused_by_a_filter_are_named(hutch, deny_calls):
    """What a container engine's default profile does; hutch can tell it from AppArmor by its own status."""
    done = hutch("run", "--", "true", before=deny_calls(*ESSENTIAL["no mounts at all, as AppArmor does it"]))
    assert done.status == 125 and "filter" in done.err and "container" in done.err, done


def test_a_sysctl_that_forbids_user_namespaces_is_named(hutch):
    script = f"echo 0 >/proc/sys/user/max_user_namespaces && exec {hutch.path} run -- true"
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], env=hutch.environment, capture_output=True, text=True, timeout=10)
    assert done.returncode == 125 and done.stdout == "", done
    assert "max_user_namespaces" in done.stderr and without_deny_all(done.stderr).count("\n") == 1, done


def bubblewrap(hutch, *words):
    return subprocess.run(["bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev-bind", "/dev/null", "/proc/cmdline", "--", hutch.path, *words],
                          env=hutch.environment, cwd=hutch.directory, capture_output=True, text=True, timeout=10)


def test_a_masked_proc_as_containers_have_it_is_named(hutch):
    from shutil import which
    from harness import needs_installed
    needs_installed(which("bwrap"), "bubblewrap is missing")
    done = bubblewrap(hutch, "run", "--", "true")
    assert done.returncode == 125 and without_deny_all(done.stderr).count("\n") == 1, done
    assert "/proc" in done.stderr and "--proc none" in done.stderr, done
    # and the fix that it names works
    done = bubblewrap(hutch, "run", "--proc", "none", "--", "echo", "without proc")
    assert (done.returncode, done.stdout) == (0, "without proc\n"), done


def test_inside_itself_hutch_says_why_it_cannot(hutch):
    done = hutch("run", "--ro", Path(hutch.path).parent, "--", hutch.path, "run", "--", "true")
    assert done.status in (125, 126, 127) and done.out == "" and done.err, done
