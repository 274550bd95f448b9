# SPDX-License-Identifier: Apache-2.0
"""A pseudo-terminal with a program on it, as a terminal emulator holds one."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


class Terminal:
    """Runs argv as the leader of a session on a fresh terminal."""

    def __init__(self, argv, env, cwd, rows=24, columns=80):
        self.master, self.slave = pty.openpty()  # the slave is kept open, to ask for modes after the end
        self.resize(rows, columns)
        self.seen = ""
        self.first_modes = self.modes()  # as they are before argv can change them
        self.process = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, cwd=cwd,
                                        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(5)
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read_some(self, timeout):
        """False once nothing came within the time."""
        if not select.select([self.master], [], [], max(0, timeout))[0]:
            return False
        self.seen += os.read(self.master, 65_536).decode(errors="replace")
        return True

    def expect(self, text, timeout=10):
        """Reads until `text` appears; forgets everything up to and with it."""
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            if not self.read_some(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} did not appear; the screen: {self.seen[-2000:]!r}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def modes(self):
        return termios.tcgetattr(self.slave)

    def foreground_group(self):
        """Asked through the master: the slave's question is only for the session itself."""
        return struct.unpack("i", fcntl.ioctl(self.master, termios.TIOCGPGRP, b"\0" * 4))[0]

    def hang_up(self):
        """The window is closed."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def wait(self, timeout=10):
        """The status, while what is written goes on being read."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            if self.master >= 0:
                self.read_some(0.05)
            if time.monotonic() > deadline:
                raise AssertionError(f"no end within {timeout} s; the screen: {self.seen[-2000:]!r}")
        while self.master >= 0 and self.read_some(0):
            pass
        return self.process.returncode
