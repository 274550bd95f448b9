#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A tool of the build: makes the table of installations from installations.json. It must never accept a row that shows private
data, or one that hutch would not compare: a path that is not normal never matches.

    installations.py JSON OUT.h
"""
import json
import re
import sys

NAME = r"[A-Za-z0-9_.-]+"
PRIVATE = {"var", "etc", "envs"}


def read_rows(file):
    """[(variable or None, path, shows)], one for each place."""
    with open(file, encoding="utf-8") as stream:
        rows = json.load(stream)["rows"]
    found = []
    for row in rows:
        if sorted(row) != ["at", "name", "shows"] or not re.fullmatch(r"[A-Za-z]+", row["name"]):
            sys.exit(f"{file}: a row has name, at and shows: {row}")
        shown = row["shows"].split()
        for name in shown:
            parts = set(name.split("/"))
            if not re.fullmatch(f"{NAME}(/{NAME})*", name) or parts & (PRIVATE | {".."}) or ("." in parts and name != "."):
                sys.exit(f"{file}: {row['name']} must not show {name}")
        for place in row["at"]:
            start, path = re.fullmatch(r"(/|~/|\$[A-Za-z_]+/?|)(.*)", place).groups()
            parts = path.split("/") if path else []
            if not start or (start[0] != "$" and not parts) or \
                    any(part != "*" and (not re.fullmatch(NAME, part) or part in (".", "..")) for part in parts):
                sys.exit(f"{file}: not a place: {place}")
            if not shown or (shown == ["."] and (start != "/" or len(parts) < 2)):
                sys.exit(f"{file}: {place} must not show everything")
            found.append((start.strip("$/") if start[0] == "$" else None, "/" + path if start == "/" else path, row["shows"]))
    if len(set(found)) != len(found):
        sys.exit(f"{file}: a place has two equal rows")
    return found


def main():
    file, out = sys.argv[1:]
    lines = ["        {%s, \"%s\", \"%s\"}," % (f'"{variable}"' if variable else "NULL", path, shows) for variable, path, shows in read_rows(file)]
    with open(out, "w", encoding="utf-8") as stream:
        stream.write("/* Made from policy/installations.json. */\nstatic const struct installation installations[] = {\n" + "\n".join(lines) + "\n};\n")


main()
