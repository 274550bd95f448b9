# SPDX-License-Identifier: Apache-2.0
"""A pytest plug-in that lets several processes share one run. Each collects every test and runs those that it claims
first; a claim is a file that it creates with O_EXCL in the directory of --claims. A process takes one file of tests after
another that no other process has begun. Then it helps with the rest of the others' files, so that all end together.

Without --claims it changes nothing."""
import hashlib
import itertools
import os
from pathlib import Path


def pytest_addoption(parser):
    parser.addoption("--claims", metavar="DIRECTORY", help="run only what no other process has claimed in DIRECTORY")


def is_first(directory, name):
    try:
        os.close(os.open(directory / hashlib.sha256(name.encode()).hexdigest(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    except FileExistsError:
        return False
    return True


def claimed(directory, items):
    """The items that this process runs. Claims each when it is asked for it."""
    files = [(path, list(group)) for path, group in itertools.groupby(items, lambda item: str(item.path.relative_to(item.config.rootpath)))]
    for path, group in files:
        if is_first(directory, path):
            yield from (item for item in group if is_first(directory, item.nodeid))
    for _, group in files:
        yield from (item for item in reversed(group) if is_first(directory, item.nodeid))


def pytest_runtestloop(session):
    directory = session.config.getoption("claims")
    if directory is None or session.config.option.collectonly or session.testsfailed:
        return None  # pytest's own loop
    mine = claimed(Path(directory), session.items)
    item = next(mine, None)
    while item is not None:
        following = next(mine, None)  # pytest keeps the fixtures that both need
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following
    return True
