#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Finds functions of src/ with the same body: the same tokens, names included, whatever the blanks, line breaks and comments
between them. Bodies of fewer than six lines do not count. It prints each pair and exits with 1 when there is any. It only
reads files.

    duplicates.py [SOURCE-DIRECTORY]

    a/x.c:12 name = b/y.c:34 other
"""
import re
import sys
from pathlib import Path

LEAST_LINES = 6  # between the braces, without empty ones

# As clang-format writes a function: its braces are alone on a line, without indentation.
FUNCTION = re.compile(r"^(?P<head>[^\s#}/][^;{}]*\([^;{}]*\)[^;{}()]*)\n\{\n(?P<body>.*?)^\}$", re.M | re.S)
NAME = re.compile(r"(\w+)\s*\(")
TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')|\w+|\S""", re.S)


def without_comments(text):
    """The same lines, with comments blank."""
    return TOKEN.sub(lambda found: re.sub(r"\S", " ", found.group()) if found["comment"] else found.group(), text)


def read_functions(path):
    """Yields (line, name, body) of each function that counts."""
    text = without_comments(path.read_text())
    for function in FUNCTION.finditer(text):
        body = function["body"]
        if sum(1 for line in body.splitlines() if line.strip()) >= LEAST_LINES:
            yield (text.count("\n", 0, function.start()) + 1, NAME.search(function["head"])[1],
                   " ".join(token.group() for token in TOKEN.finditer(body)))


def main():
    source = (Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]) / "src"
    found = {}
    problems = []
    for path in sorted(source.rglob("*.[ch]")):
        for line, name, body in read_functions(path):
            place = f"{path.relative_to(source)}:{line} {name}"
            problems += [f"{other} = {place}" for other in found.setdefault(body, [])]
            found[body].append(place)
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
