# SPDX-License-Identifier: Apache-2.0
"""A file system of the kernel's FUSE protocol, served by a thread of the tests: one directory with one file, for one user, which
can stop answering. It needs root, mounts in the namespace of its caller and must be closed."""
import ctypes
import os
import struct
import threading

libc = ctypes.CDLL(None, use_errno=True)
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, INIT, OPENDIR, READDIR, ACCESS, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 17, 18, 26, 27, 28, 34, 36, 42
NAME, CONTENT = b"file.txt", b"content of fuse\n"
MNT_FORCE, MNT_DETACH = 1, 2


def attributes(node, uid):
    mode, size = (0o40755, 0) if node == 1 else (0o100644, len(CONTENT))
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, uid, uid, 0, 4096, 0)


class Fuse:
    """`deaf`: answers the first request, INIT, and nothing else."""

    def __init__(self, directory, uid, deaf=False, allow_other=False):
        self.directory, self.uid, self.deaf = str(directory), uid, deaf
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id={uid},group_id={uid}" + (",allow_other" if allow_other else "")
        if libc.mount(b"hutch-test", self.directory.encode(), b"fuse", 0, options.encode()) != 0:
            error = ctypes.get_errno()
            os.close(self.device)
            raise OSError(error, os.strerror(error))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        libc.umount2(self.directory.encode(), MNT_FORCE | MNT_DETACH)  # by force: whoever still waits gets an error
        self.thread.join(5)
        assert not self.thread.is_alive()
        os.close(self.device)

    def serve(self):
        try:
            while True:
                request = os.read(self.device, 1 << 17)
                length, code, unique, node = struct.unpack_from("<IIQQ", request)
                body = request[40:length]
                if code in (FORGET, BATCH_FORGET, INTERRUPT) or (self.deaf and code != INIT):
                    continue
                answer, error = self.answer(code, node, body)
                os.write(self.device, struct.pack("<IiQ", 16 + len(answer), -error, unique) + answer)
        except OSError:
            return  # unmounted

    def answer(self, code, node, body):
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0) + bytes(28), 0
        if code == LOOKUP:
            if body.rstrip(b"\0") != NAME:
                return b"", 2
            return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2, self.uid), 0
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + attributes(node, self.uid), 0
        if code in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0), 0
        if code == READ:
            offset, size = struct.unpack_from("<QQI", body)[1], struct.unpack_from("<QQI", body)[2]
            return CONTENT[offset:offset + size], 0
        if code == READDIR:
            if struct.unpack_from("<QQ", body)[1]:
                return b"", 0
            return struct.pack("<QQII", 2, 1, len(NAME), 8) + NAME + bytes(-len(NAME) % 8), 0
        if code == STATFS:
            return bytes(80), 0
        if code in (RELEASE, 29, ACCESS, 25):
            return b"", 0
        return b"", 38
