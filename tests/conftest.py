# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests that run the built program. tests/run calls pytest as accounts
without privileges and as root; nothing here asks which, except through `am_root`."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parent / "clients")]
import harness  # noqa: E402
from harness import needs_installed  # noqa: E402
from strict_client import StrictClient  # noqa: E402
from world import World  # noqa: E402

TEST_BOUND = 150  # seconds
failed = []
pytest_plugins = ["sharing"]


def pytest_addoption(parser):
    parser.addoption("--failed-list", metavar="FILE", help="where to list what failed, a name a line")


def pytest_sessionfinish(session):
    if session.config.getoption("failed_list"):
        Path(session.config.getoption("failed_list")).write_text("".join(f"{name}\n" for name in dict.fromkeys(failed)))


def pytest_runtest_logreport(report):
    if report.failed:
        failed.append(report.nodeid)


def pytest_configure(config):
    config.addinivalue_line("markers", "root: means something only when root calls hutch")
    harness.become_subreaper()
    harness.reset_signals()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and os.getuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only for root"))


def pytest_report_header():
    return f"account: uid {os.getuid()}; hutch: {hutch_path()}"


def hutch_path():
    return Path(os.environ.get("HUTCH", harness.TREE / "build" / "hutch"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    harness.set_bound(TEST_BOUND)
    yield
    harness.set_bound(0)


@pytest.fixture(scope="session", autouse=True)
def sandbox_possible():
    """Without user namespaces nothing here means anything; found out without hutch."""
    assert hutch_path().exists(), f"{hutch_path()} is not built"
    unshare = shutil.which("unshare")
    needs_installed(unshare, "unshare (util-linux) is missing")
    done = subprocess.run([unshare, "-Urmpf", "--mount-proc", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    needs_installed(done.returncode == 0, f"this machine makes no sandboxes: {done.stderr.strip()}")


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Every test: what it started is gone afterwards, and nothing of it lies about."""
    before = harness.Remains()
    yield
    harness.assert_nothing_left(before)
    harness.reap_adopted()


@pytest.fixture
def am_root():
    return os.getuid() == 0


@pytest.fixture
def home(tmp_path):
    """A caller's home with something to steal."""
    home = tmp_path / "home"
    for name, text in {".ssh/id": "CANARY-ssh-key\n", ".aws/credentials": "CANARY-aws\n", ".npmrc": "CANARY-npm\n",
                       "notes.txt": "CANARY-notes\n"}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return home


@pytest.fixture
def hutch(tmp_path, home):
    """The program, called from a directory of its own by somebody with `home`."""
    directory = tmp_path / "work"
    directory.mkdir()
    node = os.path.dirname(os.environ.get("HUTCH_TEST_NODE", shutil.which("node") or "/usr/bin/node"))
    path = os.pathsep.join(dict.fromkeys([node, "/usr/local/bin", "/usr/bin", "/bin"]))
    environment = {"PATH": path, "HOME": str(home), "USER": "caller", "LOGNAME": "caller", "LANG": "C.UTF-8", "TERM": "xterm",
                   "SHELL": "/bin/sh", "CANARY_VARIABLE": "CANARY-environment"}
    return harness.Hutch(hutch_path(), home, environment, directory)


@pytest.fixture
def strict(hutch):
    """strict(*options, command=…): a strict client of a server under `hutch mcp`, already initialized."""
    clients = []

    def start(*options, command=harness.STUB_COMMAND, before=(), env=None, **rest):
        argv = [*before, *hutch.argv("mcp", *options, "--", *command)]
        rest.setdefault("cwd", hutch.directory)
        client = StrictClient(argv, env={**hutch.environment, **(env or {})}, **rest)
        clients.append(client)
        client.initialize()
        return client

    yield start
    for client in clients:
        client.__exit__()


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """One offline internet for all tests of a session (lib/world.py)."""
    for program in ("ip", "openssl", "nsenter", "git"):
        needs_installed(shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"), f"{program} is missing")
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.end()


class Online(harness.Hutch):
    """hutch, called in the offline internet."""

    def __init__(self, hutch, world):
        super().__init__(hutch.path, hutch.home, hutch.environment, hutch.directory)
        self.world = world

    def start(self, *arguments, **popen):
        before = [*self.world.before(popen.get("cwd", self.directory)), *popen.pop("before", [])]
        return super().start(*arguments, before=before, **popen)

    def python(self, script, *options, **popen):
        """Runs a script of Python inside that prints one JSON value; what was printed, and how it ended."""
        done = self("run", *options, "--", harness.PYTHON, "-c", (harness.TESTS / "lib" / "dialing.py").read_text() + script, **popen)
        assert done.status == 0, done
        return json.loads(done.out), done


@pytest.fixture
def online(hutch, world):
    return Online(hutch, world)


@pytest.fixture(scope="session")
def build_helper(tmp_path_factory):
    """build_helper("name.c", *flags): the compiled program (or, with -shared, library) of tests/e2e/helpers."""
    directory = tmp_path_factory.mktemp("helpers")

    def build(source, *flags):
        result = directory / source.removesuffix(".c")
        if not result.exists():
            needs_installed(shutil.which("gcc"), "gcc is missing")
            subprocess.run(["gcc", "-O1", "-Wall", "-o", result, harness.HELPERS / source, *flags], check=True)
        return result

    return build


@pytest.fixture
def deny_calls(build_helper):
    """deny_calls("clone3=ENOSYS", …): the words to put before a command for which those calls fail."""
    program = build_helper("deny_calls.c", "-lseccomp")
    return lambda *rules: [program, *rules, "--"]


@pytest.fixture
def preload(build_helper):
    """preload("older_landlock.c"): the variables that load this library before the C library."""
    return lambda source: {"LD_PRELOAD": str(build_helper(source, "-shared", "-fPIC"))}


@pytest.fixture(scope="session")
def node():
    """A Node.js that this account can run."""
    program = os.environ.get("HUTCH_TEST_NODE") or shutil.which("node")
    needs_installed(program, "node is missing")
    return program


@pytest.fixture(scope="session")
def npm_packages():
    needs_installed((harness.NPM / "node_modules").is_dir(), f"the pinned npm packages are not in {harness.NPM}")
    return harness.NPM / "node_modules"


@pytest.fixture(scope="session")
def newer_clients(npm_packages):
    """The packages of tests/clients/newer: they are many, and not everybody who tests can reach a registry."""
    needs_installed((harness.NPM_NEWER / ".complete").exists(), f"the pinned newer clients are not in {harness.NPM_NEWER}")
    return harness.NPM_NEWER / "node_modules"
