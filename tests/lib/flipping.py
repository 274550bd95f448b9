# SPDX-License-Identifier: Apache-2.0
"""Races: two names that change places all the time, by a thread of the tests."""
import os
import sys
import threading

from harness import libc

RENAME_EXCHANGE = 2
AT_FDCWD = -100


class flipping:
    """Two names change places all the time. The value is what each call returned."""

    def __init__(self, one, other):
        self.one, self.other, self.over, self.flips = os.fsencode(one), os.fsencode(other), threading.Event(), []
        self.thread = threading.Thread(target=self.flip)
        self.interval = sys.getswitchinterval()

    def flip(self):
        while not self.over.is_set():
            self.flips.append(libc.renameat2(AT_FDCWD, self.one, AT_FDCWD, self.other, RENAME_EXCHANGE))

    def __enter__(self):
        sys.setswitchinterval(1e-4)
        self.thread.start()
        return self.flips

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        sys.setswitchinterval(self.interval)
