#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py DIRECTORY: adds up what one run of tests/run left in DIRECTORY and ends with one line alone,
`N passed, N failed, N skipped`; exit 1 if anything failed or nothing ran.

    *.xml      pytest's report
    *.again.xml  the same of what failed in the report of that name: what passes now counts as passed, and is named
    *.json     meson's log of unit tests, one object a line; a cmocka program counts with each of its tests
    *.failed   a stage that could not even report, with the reason
    *.skipped  a stage that was left out, with the reason
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


def count_again(path, first):
    """What a second run changes of the numbers of the first."""
    passed = count_pytest(path)[0]
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if not case.findall("*[@message]"):
            print(f"passed only when it was run again: {case.get('classname')}::{case.get('name')}")
    return passed, -min(passed, first[1]), 0


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
    total = [0, 0, 0]
    directory = Path(sys.argv[1])
    for path in sorted(directory.iterdir()):
        if path.name.endswith(".again.xml"):
            numbers = count_again(path, count_pytest(directory / path.name.replace(".again", "")))
        elif path.suffix == ".xml":
            numbers = count_pytest(path)
        elif path.suffix == ".json":
            numbers = count_meson(path)
        elif path.suffix in (".failed", ".skipped"):
            numbers = (0, 1, 0) if path.suffix == ".failed" else (0, 0, 1)
            print(f"{path.stem}: {path.read_text().strip()}")
        else:
            continue
        if numbers[1] >= 0:
            print(f"{path.stem:24} {numbers[0]:5} passed {numbers[1]:4} failed {numbers[2]:4} skipped")
        total = [sum(pair) for pair in zip(total, numbers)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(total[1] > 0 or total[0] == 0)


if __name__ == "__main__":
    main()
