#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A tool of the build: makes the table of paths that hutch refuses or protects, and its lists in the manuals, from
sensitive-paths.json. It must never accept a row that hutch would not compare: a path that is not normal never matches.

    sensitive-paths.py table JSON OUT.h
    sensitive-paths.py manual JSON PAGE OUT    replaces each line `.\\" sensitive-paths KIND [WHERE]` of a page by a list
"""
import json
import re
import sys

KINDS = ("never", "never-writable", "protected")
PLACES = {"/": "machine", "~/": "home", "**/": "anywhere", "": "grant"}  # by the beginning of the path
POSSIBLE = {"never": ("machine", "home"), "never-writable": ("machine", "home", "anywhere"), "protected": ("grant",)}


def read_rows(file):
    """[(kind, where, path as hutch compares it, path as written, why)]"""
    with open(file, encoding="utf-8") as stream:
        rows = json.load(stream)["rows"]
    found = []
    for row in rows:
        if sorted(row) != ["kind", "path", "why"]:
            sys.exit(f"{file}: a row has path, kind and why: {row}")
        start, rest = re.fullmatch(r"(/|~/|\*\*/|)(.*)", row["path"]).groups()
        where = PLACES[start]
        if not re.fullmatch(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*", rest) or {".", ".."} & set(rest.split("/")):
            sys.exit(f"{file}: not a normal path: {row['path']}")
        if row["kind"] not in KINDS or where not in POSSIBLE[row["kind"]]:
            sys.exit(f"{file}: {row['path']} cannot be of the kind {row['kind']}")
        if not re.fullmatch(r"[a-zA-Z][A-Za-z ,:'-]+", row["why"]):
            sys.exit(f"{file}: {row['path']}: the reason is half a sentence in plain letters: {row['why']}")
        found.append((row["kind"], where, "/" + rest if where in ("machine", "anywhere") else rest, row["path"], row["why"]))
    if len({row[3:4] + row[:1] for row in found}) != len(found):
        sys.exit(f"{file}: a path has two rows of one kind")
    return found


def write_table(rows):
    lines = [f"        {{SENSITIVE_{kind.upper().replace('-', '_')}, SENSITIVE_{where.upper()}, \"{path}\", \"{why}\"}},"
             for kind, where, path, _, why in rows]
    return ("/* Made from policy/sensitive-paths.json. */\nconst struct sensitive_row sensitive_rows[] = {\n" + "\n".join(lines) +
            "\n};\nconst size_t sensitive_row_count = sizeof(sensitive_rows) / sizeof(*sensitive_rows);\n")


def write_list(rows, kind, places):
    """An mdoc list: an item for each reason, with its paths in the order of the file."""
    reasons = {}
    for row_kind, where, _, written, why in rows:
        if row_kind == kind and where in places:
            reasons.setdefault(why, []).append(written.removeprefix("**/"))
    if not reasons:
        sys.exit(f"a page asks for a list of {kind} that has no rows")
    lines = [".Bl -bullet"]
    for why, paths in reasons.items():
        lines += [".It", why + ":"]
        for first in range(0, len(paths), 4):
            last = first + 4 >= len(paths)
            lines.append(".Pa " + " , ".join(paths[first:first + 4]) + (" ;" if last else " ,"))
    lines[-1] = lines[-1].removesuffix(" ;") + " ."
    return "\n".join(lines + [".El"])


def main():
    form, file, *names = sys.argv[1:]
    rows = read_rows(file)
    if form == "table":
        text = write_table(rows)
    else:
        with open(names[0], encoding="utf-8") as stream:
            page = stream.read()
        text, count = re.subn(r'^\.\\" sensitive-paths (\S+) ?(.*)$',
                              lambda found: write_list(rows, found[1], found[2].split() or list(PLACES.values())),
                              page, flags=re.M)
        if count == 0:
            sys.exit(f"{names[0]}: no line asks for a list")
    with open(names[-1], "w", encoding="utf-8") as stream:
        stream.write(text)


main()
