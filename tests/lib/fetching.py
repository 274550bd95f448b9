# SPDX-License-Identifier: Apache-2.0
"""What the tests of `hutch fetch` share: hutch in the offline world, beside a registry of its own."""
import shutil

import pytest
from harness import TESTS, needs_installed
from registry import Registry


@pytest.fixture
def npm(hutch, world, tmp_path):
    """hutch in the world, with npm's configuration naming the registry there; `npm.registry` publishes."""
    needs_installed(shutil.which("npx", path=hutch.environment["PATH"]), "npx is missing")
    hutch.registry = Registry(tmp_path / "registry", world.before(tmp_path))
    hutch.environment["npm_config_registry"] = hutch.registry.address
    hutch.store = hutch.home / ".local/share/hutch/packages"
    hutch.world = world
    yield hutch
    hutch.registry.end()


@pytest.fixture
def uv(npm):
    """The same with uv's stand-in (stand_in_uv.py) on PATH, whose index is the registry."""
    for name in ("uv", "uvx"):
        place = npm.home / ".local/bin" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTS / "lib/stand_in_uv.py", place)
        place.chmod(0o755)
    npm.environment["PATH"] = f"{npm.home}/.local/bin:{npm.environment['PATH']}"
    (npm.home / ".config/uv").mkdir(parents=True)
    (npm.home / ".config/uv/uv.toml").write_text(f"# mine\nindex-url = \"{npm.registry.address}\"\n")
    return npm


def before(npm, cwd=None):
    """The words that bring a command into the world."""
    return npm.world.before(cwd or npm.directory)


def call(npm, *words, cwd=None, **rest):
    return npm(*words, before=before(npm, cwd), timeout=120, **rest)


def entries(npm):
    return sorted(path.name for path in npm.store.iterdir())


def is_direct(done):
    """Whether the package's program was started without npx or uvx; needs -v."""
    return any("is started directly, without" in line for line in done.own_lines)
