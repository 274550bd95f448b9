# SPDX-License-Identifier: Apache-2.0
"""Starts hutch in a small world that is the same on every machine, and counts what the start does. For tests/bench/counts,
whose first lines define each figure.

The world is a user, mount, pid and network namespace: no process, socket, route or interface of the machine is in it, and
/etc is a directory of a few files. What remains of the machine is the kernel, /usr, and the host's mounts.
"""
import collections
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
ADDR_NO_RANDOMIZE = 0x0040000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
PR_SET_DUMPABLE, PR_SET_PDEATHSIG = 4, 1

STEADY = 1.0  # seconds; hutch gives memory back half a second after the start
NODE = ".nvm/versions/node/v20.0.0"  # below the home
READY = b'{"jsonrpc":"2.0","method":"ready"}\n'
STAY = f"printf '%s\\n' '{READY.decode().strip()}'; read line"  # says a line that every kind lets through, then waits

TRUE = ["/bin/true"]
STAYING = ["/bin/sh", "-c", STAY]
# The words of hutch, without the command.
KINDS = {
    "plain": ["run"],
    "ro": ["run", "--ro", "granted"],
    "rw": ["run", "--rw", "granted"],
    "network": ["run", "--network-allow", "192.0.2.1:443"],
    "tools": ["mcp", "--allow-tool", "*"],
    "npx": ["run"],
}


class CannotCount(Exception):
    """This machine does not permit it."""


class Failed(Exception):
    """hutch did not do what was counted."""


def words(kind, stays):
    """hutch's arguments for a start of the kind."""
    if kind == "npx":
        return [*KINDS[kind], "--", "npx", "-y", "hello", *(["stay"] if stays else [])]
    return [*KINDS[kind], "--", *(STAYING if stays else TRUE)]


# -- the world

def call(name, *arguments):
    """Calls a function of the C library that returns -1 when it fails."""
    if getattr(LIBC, name)(*arguments) != 0:
        raise CannotCount(f"this machine makes no sandboxes: {name}: {os.strerror(ctypes.get_errno())}")


def make_stage(stage, build, policy):
    """Fills a new directory with the programs, hutch's data, an /etc and a home."""
    programs = stage / "programs"
    programs.mkdir()
    for program in build.glob("hutch*"):
        if program.is_file() and os.access(program, os.X_OK):
            shutil.copy(program, programs)
    shutil.copytree(policy, programs / "policy")
    make_etc(stage / "etc")
    make_home(stage / "home")
    for path in (stage, *stage.rglob("*")):  # whatever the umask
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def make_etc(etc):
    (etc / "alternatives").mkdir(parents=True)
    (etc / "ssl/certs").mkdir(parents=True)
    shutil.copy("/etc/ld.so.cache", etc)
    texts = {"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "hosts": "127.0.0.1 localhost\n", "hostname": "counts\n",
             "resolv.conf": "nameserver 192.0.2.53\n", "nsswitch.conf": "hosts: files dns\n", "ssl/certs/ca-certificates.crt": "none\n"}
    for name, text in texts.items():
        (etc / name).write_text(text)
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")


# npm, as far as a fetch asks it: it has one package, `hello`, whose program runs with the shell.
NPM = """#!/usr/bin/env node
set -e
[ "$1" != config ] || { echo '{"registry": "http://127.0.0.1:9/"}'; exit; }
cache=$HOME/.npm/_npx/0123456789abcdef
mkdir -p "$cache/node_modules/.bin" "$cache/node_modules/hello"
cp "${0%/*}/../lib/node_modules/npm/bin/hello.sh" "$cache/node_modules/hello/cli.sh"
ln -s ../hello/cli.sh "$cache/node_modules/.bin/hello"
echo '{"name": "hello", "version": "1.0.0", "bin": {"hello": "cli.sh"}}' >"$cache/node_modules/hello/package.json"
echo '{"packages": {"node_modules/hello": {"version": "1.0.0", "bin": {"hello": "cli.sh"}}}}' >"$cache/package-lock.json"
"""


def make_home(home):
    """A home with an empty directory to grant and, as nvm installs it, a Node.js that is the shell, with the npm above."""
    (home / "granted").mkdir(parents=True)
    node = home / NODE
    npm = node / "lib/node_modules/npm/bin"
    npm.mkdir(parents=True)
    (node / "bin").mkdir()
    shutil.copy("/bin/sh", node / "bin/node")
    for name, text in {"npm-cli.js": NPM, "npx-cli.js": NPM, "hello.sh": f"#!/bin/sh\n[ -z \"$1\" ] || {{ {STAY}; }}\n"}.items():
        (npm / name).write_text(text)
        (npm / name).chmod(0o755)
    (npm.parent / "package.json").write_text(json.dumps({"name": "npm", "version": "10.0.0"}))
    for name in ("npm", "npx"):
        (node / "bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")


def enter(stage):
    """Makes this process an ordinary user with the world around it; the caller goes on in a child, pid 1 of the world. The
    parent ends with the child's status."""
    uid, gid = os.geteuid(), os.getegid()
    call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # lost by setuid, and needed to write the maps
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(status if status >= 0 else 128 - status)
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", os.fsencode(stage / "etc"), b"/etc", None, MS_BIND, None)
    call("mount", b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
    # Where a mapping begins decides how many of its pages one fault brings.
    LIBC.personality(ADDR_NO_RANDOMIZE)


# -- counting

class Counter:
    """Counts in the world of `stage`."""

    def __init__(self, stage):
        self.home = stage / "home"
        self.hutch = str(stage / "programs/hutch")
        self.trace = stage / "home/trace"
        path = f"{self.home}/{NODE}/bin:/usr/bin:/bin"
        self.environment = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8"}
        os.umask(0o022)
        os.chdir(self.home)

    def run(self, *argv):
        self.forget_runs()
        return subprocess.run(argv, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def forget_runs(self):
        """Removes what `hutch logs` keeps of earlier runs, because each costs calls."""
        for path in self.home.glob(".local/state/hutch/runs/*/*"):
            path.unlink()

    def start(self, *argv):
        """Runs a start that must succeed."""
        done = self.run(*argv)
        if done.returncode != 0:
            raise Failed(f"status {done.returncode} of {' '.join(map(str, argv))}: {done.stderr.strip()}")
        return done

    def prepare(self, kinds):
        """Does what only the first start of a kind does: it makes directories, and fetches."""
        done = self.run("strace", "-f", "-qq", "-o", self.trace, "/bin/true")
        if done.returncode != 0:
            raise CannotCount(f"strace does not work here: {done.stderr.strip()}")
        if "npx" in kinds:
            self.start(self.hutch, "fetch", "--", "npx", "-y", "hello")
            box = json.loads(self.start(self.hutch, "run", "--dry-run", *words("npx", False)[1:]).stdout)
            if not box["executable"].endswith("/.bin/hello"):
                raise Failed("hutch starts npx instead of the package's program")
        for kind in kinds:
            self.start(self.hutch, *words(kind, False))

    def count_calls(self, kind):
        """The system calls of one start by name, and its tasks."""
        # strace and what it traces take turns: on one processor, fewer things happen in another order each time.
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(processors)})
        try:
            self.start("strace", "-f", "-qq", "-e", "signal=none", "-e", "raw=all", "-o", self.trace, self.hutch, *words(kind, False))
        finally:
            os.sched_setaffinity(0, processors)
        calls, tasks = collections.Counter(), set()
        for line in self.trace.read_text().splitlines():
            task, _, rest = line.partition(" ")
            begun = re.match(r" *(\w+)\(", rest)  # an interrupted call ends on a line `<... NAME resumed>`
            calls.update(begun.groups() if begun else ())
            tasks.add(task)
        return calls, len(tasks)

    def count_faults(self, kind):
        """The page faults of one start."""
        self.forget_runs()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.devnull, "r+b") as null:
            files = [(os.POSIX_SPAWN_DUP2, null.fileno(), number) for number in range(3)]
            started = os.posix_spawn(self.hutch, [self.hutch, *words(kind, False)], self.environment, file_actions=files)
        status = os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])
        if status != 0:
            raise Failed(f"status {status} of a start of the kind {kind}")
        while True:  # pid 1 inherits what hutch leaves behind
            try:
                os.wait()
            except ChildProcessError:
                break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt

    def weigh(self, kind):
        """(memory, PSS) in KiB of what stays while the command of one start runs."""
        self.forget_runs()
        with subprocess.Popen([self.hutch, *words(kind, True)], env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            if process.stdout.readline() != READY:
                raise Failed(f"the command of a start of the kind {kind} did not begin")
            weight, since = weigh(process.pid), time.monotonic()
            while time.monotonic() < since + STEADY:
                time.sleep(0.05)
                now = weigh(process.pid)
                if now[0] != weight[0]:
                    since = time.monotonic()
                weight = now
            process.stdin.close()
        return weight


def read_sizes(text):
    return {name: int(size) for name, size in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}


def weigh(pid):
    """(memory, PSS) in KiB of hutch's processes at and below `pid`."""
    anonymous = proportional = 0
    of_files = collections.Counter()
    for process in find_below(pid):
        sizes = read_sizes(Path(f"/proc/{process}/smaps_rollup").read_text())
        proportional += sizes["Pss"]
        anonymous += sizes["Pss_Anon"]
        for mapping in re.split(r"^(?=[0-9a-f]+-)", Path(f"/proc/{process}/smaps").read_text(), flags=re.MULTILINE)[1:]:
            _, _, offset, device, inode, *_ = mapping.split(maxsplit=5)
            sizes = read_sizes(mapping)
            if inode != "0":
                of_files[device, inode, offset] = max(of_files[device, inode, offset], sizes["Rss"] - sizes["Anonymous"])
    return anonymous + of_files.total(), proportional


def find_below(pid):
    """The process and its descendants, without the command."""
    children, names = collections.defaultdict(list), {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        names[int(path.parent.name)] = name
        children[int(rest.split()[1])].append(int(path.parent.name))
    found = [pid]
    for process in found:
        found += children[process]
    return [process for process in found if names.get(process, "").startswith("hutch")]


class Starts:
    """What the starts of one kind did."""

    def __init__(self):
        self.calls, self.tasks, self.faults, self.seconds = [], [], [], []

    def add(self, counter, kind):
        begun = time.monotonic()
        calls, tasks = counter.count_calls(kind)
        self.seconds.append(time.monotonic() - begun)
        self.calls.append(calls)
        self.tasks.append(tasks)
        self.faults.append(counter.count_faults(kind))

    def undisturbed(self):
        """Which starts other load did not delay: in the others timers run out, and tasks are killed before their last call."""
        return [i for i, seconds in enumerate(self.seconds) if seconds <= 3 * min(self.seconds)]

    def figures(self):
        chosen = self.undisturbed()
        by_name = {name: statistics.mode(sorted(self.calls[i][name] for i in chosen)) for name in set().union(*self.calls)}
        return {"calls": sum(by_name.values()), "faults": sorted(self.faults)[len(self.faults) * 3 // 4],
                "tasks": statistics.mode(self.tasks[i] for i in chosen), "by_name": by_name}


def count(stage, kinds, rounds):
    """{kind: {figure: value}}, with `pss` and `by_name`, for the process in the world."""
    counter = Counter(stage)
    counter.prepare(kinds)
    results = {}
    for kind in kinds:
        starts = Starts()
        while len(starts.undisturbed()) < rounds and len(starts.seconds) < 5 * rounds:
            starts.add(counter, kind)
        memory, pss = counter.weigh(kind)
        results[kind] = {**starts.figures(), "memory": memory, "pss": pss}
    return results
