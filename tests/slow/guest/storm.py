# SPDX-License-Identifier: Apache-2.0
"""Takes what its first word says, until something stops it. Runs with python3-minimal."""
import os
import sys
import time

MIB = 1 << 20


def memory():
    kept = []
    while True:
        kept.append(bytearray(8 * MIB))


def memfd():
    file = os.memfd_create("storm")
    while True:
        os.write(file, bytes(MIB))


def tmpfs():
    with open("/tmp/storm", "wb") as file:
        for _ in range(400):
            file.write(bytes(MIB))
            file.flush()


def pipes():
    """Buffers of pipes: nothing but a cgroup sees them."""
    kept = []
    while True:
        if os.fork() == 0:
            while True:
                try:
                    ends = os.pipe()
                    os.set_blocking(ends[1], False)
                    kept.append(ends)
                    os.write(ends[1], bytes(65536))
                except OSError:
                    time.sleep(60)


def forks():
    children = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            children += 1
    except OSError as error:
        print("forked", children, error.errno, flush=True)
    time.sleep(1)


def busy():
    used = sum(os.times()[:4])
    for _ in range(2):
        if os.fork() == 0:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                pass
            os._exit(0)
    began = time.monotonic()
    for _ in range(2):
        os.wait()
    print("processors %.2f" % ((sum(os.times()[:4]) - used) / (time.monotonic() - began)))


globals()[sys.argv[1]]()
