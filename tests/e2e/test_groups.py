# SPDX-License-Identifier: Apache-2.0
"""Asking systemd for a cgroup: what is asked, and what happens when the answer is no answer. That a group holds is
tested where there is one, in tests/slow. Here hutch runs where cgroups of version 2 are mounted, and the bus is a
test's own."""
import os
import subprocess

import bus
import pytest
from harness import needs_kernel

# In namespaces of its own, where the caller stays who it is and has no capability when hutch starts.
ENTER = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--cgroup", "sh", "-c",
         "mount -t cgroup2 none /sys/fs/cgroup && exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"", "sh"]


@pytest.fixture
def unified(am_root):
    """Words to put before a command that is to see cgroups of version 2."""
    if am_root:
        pytest.skip("root asks the machine's own bus, which is no test's")
    done = subprocess.run([*ENTER, "stat", "-fc", "%T", "/sys/fs/cgroup"], capture_output=True, text=True)
    needs_kernel(done.stdout == "cgroup2fs\n", f"cgroups cannot be mounted here: {done.stderr}")
    return ENTER


@pytest.fixture
def with_bus(hutch, unified, tmp_path):
    buses = []

    def run(answer, *options, command=("true",), timeout=30, **rest):
        directory = tmp_path / f"run{len(buses)}"
        directory.mkdir()
        made = bus.Bus(directory / "bus", answer, **rest)
        buses.append(made)
        done = hutch("run", "-v", *options, "--", *command, before=unified, env={"XDG_RUNTIME_DIR": str(directory)}, timeout=timeout)
        made.close()
        assert made.problem is None, made.problem
        return done, made

    yield run
    for made in buses:
        made.close()


def in_force(done):
    return next(line for line in done.own_lines if "limits in force" in line)


def test_what_is_asked(with_bus):
    done, made = with_bus(lambda bus_, unit: bus.refusal("no"), "--memory", "300m", "--pids", "50", "--cpus", "1.5")
    members = [(fields["member"], fields["destination"]) for fields, _ in made.calls]
    assert members == [("Hello", "org.freedesktop.DBus"), ("AddMatch", "org.freedesktop.DBus"), ("StartTransientUnit", "org.freedesktop.systemd1")]
    assert [fields["serial"] for fields, _ in made.calls] == [1, 2, 3]
    unit, mode, properties, others = made.calls[-1][1]
    properties = dict(properties)
    assert unit.startswith("hutch-") and unit.endswith(".scope") and mode == "fail" and others == []
    assert properties["MemoryMax"] == 300 << 20 and properties["MemorySwapMax"] == 0 and properties["TasksMax"] == 51
    assert properties["CPUQuotaPerSecUSec"] == 1500000 and properties["CollectMode"] == "inactive-or-failed"
    assert len(properties["PIDs"]) == 1 and properties["PIDs"][0] > 1
    assert done.status == 0 and "systemd refuses: no" in done.err, done


def test_no_quota_without_the_option(with_bus):
    _, made = with_bus(lambda bus_, unit: bus.refusal("no"))
    assert "CPUQuotaPerSecUSec" not in dict(made.calls[-1][1][2])


@pytest.mark.parametrize("answer, why", [
    (lambda bus_, unit: bus.refusal("Unit is masked.\n[hutch] forged"), "systemd refuses: Unit is masked."),
    (lambda bus_, unit: bus.job_removed(unit, "failed"), "systemd did not make the scope: failed"),
    (lambda bus_, unit: bus.job_removed(unit), "did not put the sandbox into its scope"),
    (lambda bus_, unit: bus.job_removed("other.scope") + bus.job_removed(unit), "did not put the sandbox into its scope"),
    (lambda bus_, unit: None, "closed the connection"),
    (lambda bus_, unit: b"nonsense" * 4, "invalid message"),
    (lambda bus_, unit: b"l\2\1\1" + b"\xff" * 12, "invalid message"),
    (lambda bus_, unit: b"l\2\1\1" + b"\0\0\0\0\1\0\0\0" + b"\xff\x0f\0\0" + b"\xff" * 5000, "invalid message"),
    (lambda bus_, unit: b"l\4\1\1" + b"\x10\0\0\0\1\0\0\0" + b"\0\0\0\0" + b"\xff" * 16 + bus.refusal("end"), "end"),
], ids=["refused", "failed", "not moved", "another's job", "hang-up", "nonsense", "too long", "fields", "body"])
def test_another_way_where_there_is_no_scope(with_bus, answer, why):
    """Nothing that the bus says makes the sandbox weaker than it would be without one."""
    done, _ = with_bus(answer)
    assert done.status == 0 and why in done.err, done
    assert "memory 2g: watchdog (can overshoot); pids 1024: rlimit" in in_force(done), done
    assert not any(line.startswith("[hutch] forged") for line in done.err.splitlines()), done


def test_a_greeting_that_refuses(with_bus, hutch):
    done, _ = with_bus(lambda bus_, unit: None, greeting=b"REJECTED EXTERNAL\r\n")
    assert done.status == 0 and "rejected your user id" in done.err and "watchdog" in in_force(done), done


def test_a_bus_that_says_nothing_costs_five_seconds(with_bus):
    done, _ = with_bus(lambda bus_, unit: b"", timeout=20)
    assert done.status == 0 and "did not answer in 5000 ms" in done.err and 5 <= done.seconds < 15, done


def test_what_is_required_is_refused_when_systemd_says_no(with_bus):
    done, _ = with_bus(lambda bus_, unit: bus.refusal("no"), "--require", "cgroup", command=("echo", "ran"))
    assert (done.status, done.out) == (125, "") and "--require cgroup cannot be met: systemd refuses: no" in done.err, done


def test_the_limits_hold_after_a_refusal(with_bus):
    """The filter and the resource limits are those of the way that was found in the end."""
    script = ("import os\ntry: os.memfd_create('x'); print('memfd')\nexcept OSError as error: print(error.errno)\n"
              "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[1] >> 20, resource.getrlimit(resource.RLIMIT_NPROC)[1])")
    done, _ = with_bus(lambda bus_, unit: bus.refusal("no"), "--memory", "200m", "--pids", "30", command=("/usr/bin/python3", "-c", script))
    assert done.out == "38\n400 31\n", done  # of memory twice the limit: the watchdog is to come first


def test_no_path_of_a_group_is_seen_inside(with_bus):
    done, _ = with_bus(lambda bus_, unit: bus.refusal("no"), command=("cat", "/proc/self/cgroup"))
    assert "0::/\n" in done.out, done


def test_no_bus_and_nothing_delegated(hutch, unified, tmp_path):
    done = hutch("run", "-v", "--", "true", before=unified, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.status == 0 and "no cgroup is delegated to you" in done.err, done
    refused = hutch("run", "--require", "memory", "--", "true", before=unified, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert refused.status == 125, refused


def test_hutch_killed_while_it_waits_for_the_bus(hutch, unified, tmp_path):
    """nothing_left_behind looks for the rest."""
    directory = tmp_path / "bus-directory"
    directory.mkdir()
    made = bus.Bus(directory / "bus", lambda bus_, unit: b"")
    process = hutch.start("run", "--", "echo", "ran", before=unified, env={"XDG_RUNTIME_DIR": str(directory)}, stdout=subprocess.PIPE)
    while not made.calls or made.calls[-1][0]["member"] != "StartTransientUnit":
        assert process.poll() is None
        os.sched_yield()
    process.kill()
    out, _ = process.communicate(timeout=10)
    assert out == b"", out
    made.close()
