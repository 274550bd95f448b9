#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds decisions on the text that a mount shows to users (`why`), where mount.origin must decide: comparisons of a
`why` member with any string function. A reworded sentence must never unprotect a path. Prints file:line, exit 1 if any."""
import pathlib
import re
import sys

COMPARISON = re.compile(r"\b(str_equal|str_starts|strcmp|strncmp|strstr|strchr|str_words_have)\s*\([^;]*(->|\.)why\b")
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])


def main():
    found = 0
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        text = path.read_text()
        for match in COMPARISON.finditer(text):
            print(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}")
            found += 1
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
