#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py DIRECTORY QUARANTINE: adds up what one run of tests/run left in DIRECTORY and ends with one line alone,
`N passed, N failed, N skipped`; exit 1 if anything failed or nothing ran.

    KIND.N.xml      the report of one of the pytest processes that shared the tests of a kind
    KIND.again.xml  the second run of what failed: a test that passes now is named and stays a failure, unless QUARANTINE lists it
    NAME.json       meson's log of unit tests, one object a line; a cmocka program counts with each of its tests.
                    tests/bench/counts writes the same
    NAME.failed     a stage that could not even report, with the reason
    NAME.skipped    a stage that was left out, with the reason
    NAME.not-run    tests that this run does not include, and the command that runs them
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count_pytest(path):
    suite = ElementTree.parse(path).getroot().find("testsuite")
    number = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    return max(0, number["tests"] - failed - number["skipped"]), failed, number["skipped"]


def read_quarantine(path):
    """{test: reason}; a line without a reason is a mistake."""
    lines = [line.split(maxsplit=1) for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(lines)


def count_again(path, quarantine):
    """What a second run changes of the numbers of the first."""
    pardoned = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if any(case.find(kind) is not None for kind in ("failure", "error", "skipped")):
            continue
        name = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
        reason = quarantine.get(name.split("[")[0])
        print(f"failed, and passed when it was run again: {name}: " + (f"in quarantine: {reason}" if reason else "a failure"))
        pardoned += reason is not None
    return pardoned, -pardoned, 0


def count_cmocka(text, kind):
    return sum(int(number) for number in re.findall(rf"\[ +{kind} +\] (\d+) test\(s\)", text))


def count_meson(path):
    passed = failed = skipped = 0
    for line in path.read_text().splitlines():
        test = json.loads(line)
        text = test.get("stdout", "") + test.get("stderr", "")
        passed_here, failed_here, skipped_here = (count_cmocka(text, kind) for kind in ("PASSED", "FAILED", "SKIPPED"))
        result = test["result"]
        if result in ("OK", "EXPECTEDFAIL"):
            passed += passed_here or 1
            skipped += skipped_here
        elif result == "SKIP":
            skipped += 1
        else:  # a crash reports no failed test of its own
            passed += passed_here
            failed += failed_here or 1
    return passed, failed, skipped


def main():
    directory, quarantine = Path(sys.argv[1]), read_quarantine(Path(sys.argv[2]))
    kinds = {}
    for path in sorted(directory.iterdir()):
        if path.name.endswith(".again.xml"):
            numbers = count_again(path, quarantine)
        elif path.suffix == ".xml":
            numbers = count_pytest(path)
        elif path.suffix == ".json":
            numbers = count_meson(path)
        elif path.suffix in (".failed", ".skipped"):
            numbers = (0, 1, 0) if path.suffix == ".failed" else (0, 0, 1)
            print(f"{path.stem}: {path.read_text().strip()}")
        else:
            continue
        kind = path.name.split(".")[0]
        kinds[kind] = [sum(pair) for pair in zip(kinds.get(kind, (0, 0, 0)), numbers)]
    for kind, numbers in kinds.items():
        print(f"{kind:24} {numbers[0]:5} passed {numbers[1]:4} failed {numbers[2]:4} skipped")
    for path in sorted(directory.glob("*.not-run")):
        print(f"not run: {path.read_text().strip()}")
    total = [sum(column) for column in zip(*kinds.values())] or [0, 0, 0]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(total[1] > 0 or total[0] == 0)


if __name__ == "__main__":
    main()
