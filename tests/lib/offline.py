# SPDX-License-Identifier: Apache-2.0
"""hutch in an internet that is not there (offline_world.py)."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import harness


class World:
    def __init__(self, directory, hutch):
        self.directory, self.etc, self.hutch = directory, directory / "etc", hutch
        script = Path(__file__).parent / "offline_world.py"
        self.process = subprocess.Popen(["unshare", "-Urnm", "--propagation", "private", harness.PYTHON, script, directory],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(directory / "world.err", "w"),
                                        text=True)
        if self.process.stdout.readline() != "ready\n":
            pytest.fail("the offline world did not begin: " + (directory / "world.err").read_text())

    @property
    def before(self):
        return ["nsenter", "-t", self.process.pid, "-U", "-n", "-m", "--preserve-credentials"]

    def run(self, *arguments, **popen):
        return self.hutch(*arguments, before=self.before, **popen)

    def start(self, *arguments, **popen):
        return self.hutch.start(*arguments, before=self.before, **popen)

    def log(self, name):
        path = self.directory / name
        return path.read_text() if path.exists() else ""

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture
def world(tmp_path, hutch):
    for program in ("unshare", "nsenter", "ip", "openssl"):
        harness.needs_installed(shutil.which(program), f"{program} is missing")
    directory = tmp_path / "world"
    directory.mkdir()
    os.chmod(directory, 0o755)
    world = World(directory, hutch)
    yield world
    world.end()
