# SPDX-License-Identifier: Apache-2.0
"""Attempts to get out. Each is first proven to succeed without hutch: an attempt that fails everywhere shows nothing."""
import subprocess

import pytest
from harness import PYTHON

GOT_OUT = "GOT-OUT"


@pytest.fixture
def attempt(hutch):
    """attempt(script, …): runs a Python script that prints GOT-OUT when it succeeds, outside and then inside."""
    def run(script, *options, outside_before=(), proof=True, reset=lambda: None, arguments=(), timeout=20, **popen):
        path = hutch.directory / "attempt.py"
        path.write_text(script)
        words = [PYTHON, str(path), *map(str, arguments)]
        if proof:
            outside = subprocess.run([*map(str, outside_before), *words], capture_output=True, text=True, timeout=timeout, env=hutch.environment,
                                     cwd=hutch.directory, **({"stdin": subprocess.DEVNULL} | popen))
            assert GOT_OUT in outside.stdout, f"the attempt does not work outside, so it proves nothing: {outside}"
            reset()
        inside = hutch("run", *options, "--", *words, timeout=timeout, **popen)
        assert GOT_OUT not in inside.out, inside
        assert "Traceback" not in inside.err or "Error" in inside.err, inside
        return inside
    return run
