# SPDX-License-Identifier: Apache-2.0
"""A thousand kills at random moments: a race that one start in a hundred loses shows here."""
from killing import kill_at_any_moment


def test_killed_at_any_moment_nothing_remains(hutch):
    kill_at_any_moment(hutch, 1000)
