# SPDX-License-Identifier: Apache-2.0
"""What becomes of many figures, and what processes take of memory."""

import os
import statistics
import time

IDLE = 1.0  # seconds
PARTS = 10  # a ratio is also taken for each tenth of the run, to show how far it moves


def ratio_of_medians(values, reference, zero=None):
    """How many times `reference` the `values` are, both over the median of `zero`: over the whole run, and
    the lowest and highest of its parts."""
    def ratio(part):
        nothing = statistics.median(part(zero)) if zero else 0
        return (statistics.median(part(values)) - nothing) / (statistics.median(part(reference)) - nothing)

    size = len(values) // PARTS
    parts = [ratio(lambda figures, i=i: figures[i * size:(i + 1) * size]) for i in range(PARTS)]
    return {"all": ratio(lambda figures: figures), "lowest": min(parts), "highest": max(parts)}


def weigh_idle(parent, server):
    # What is kept running is meant, for every peer alike: half a second after its start hutch gives back what only
    # the start needed.
    time.sleep(IDLE)
    return weigh(parent, server)


def weigh(parent, server):
    """MiB that all descendants of `parent` except those named `server` take: proportional share, and private."""
    children, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        names[int(pid)] = name
        children.setdefault(int(rest.split()[1]), []).append(int(pid))
    total = {"pss": 0.0, "private": 0.0, "processes": 0}
    waiting = list(children.get(parent, []))
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        if names[pid] == server:
            continue
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in file if line.rstrip().endswith("kB")}
        except PermissionError:
            return None
        except (FileNotFoundError, ProcessLookupError):
            continue
        total["pss"] += kilobytes["Pss"] / 1024
        total["private"] += (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1024
        total["processes"] += 1
    return total
