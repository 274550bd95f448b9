# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of hutch in the first milliseconds of its life, many times over."""
import random
import subprocess
import time

from harness import Remains, assert_nothing_left, reap_adopted

WIDTH = 8


def kill_at_any_moment(hutch, rounds):
    """SIGKILL of hutch after 0 to 6 ms: from before the clone to after the exec. A command that outlives hutch briefly leaves a
    marker, and one that outlives the test leaves a process."""
    marker = hutch.directory / "outlived"
    command = ["--rw", hutch.directory, "--", "sh", "-c", f"trap '' TERM HUP INT; sleep 2; touch {marker}; sleep 300"]
    before = Remains()
    for _ in range(0, rounds, WIDTH):
        started = []
        for _ in range(WIDTH):
            process = hutch.start("mcp", *command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.append((process, time.monotonic() + random.uniform(0, 0.006)))
            while started and started[0][1] <= time.monotonic():
                kill_and_collect(*started.pop(0))
        for process, moment in started:
            kill_and_collect(process, moment)
        reap_adopted()
    assert_nothing_left(before)
    assert not marker.exists()


def kill_and_collect(process, moment):
    while time.monotonic() < moment:
        pass
    process.kill()
    process.wait(5)
    process.stdin.close()
