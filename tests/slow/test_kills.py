# SPDX-License-Identifier: Apache-2.0
"""A thousand kills: in 0 of 300 starts a process outlived its supervisor, where another order of the same steps lost a third."""
from killing import kill_at_any_moment


def test_killed_at_any_moment_nothing_remains(hutch):
    kill_at_any_moment(hutch, 1000)
