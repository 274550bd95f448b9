#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the order of the directories of src/. A file may include headers of its own directory and of those to its left,
and no chain of includes leads back to where it began. With --objects the same holds for what the linker sees: no object of a
program uses a symbol of a directory to its right, and no chain of uses leads back, neither among directories nor among files.
It prints one line for each violation and exits with 1 when there is any. It only reads files.

    includes.py [--objects BUILD-DIRECTORY] [SOURCE-DIRECTORY]

    a/x.c → b/y.h                   an include that the order does not allow
    a/x.c → b/y.c: name             a use of a symbol that the order does not allow
    circle: a/x.h → a/y.h → a/x.h   the files, or directories, of a circle
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# The one place of the order. `main` is src/main.c.
ORDER = ("lib seccomp policy limits options box grants command packages resolve nat mcp ns enforce run fetch doctor prove cli "
         "main").split()
PROGRAMS = ("hutch", "hutch-nat", "hutch-filter", "hutch-prove", "hutch-fetch")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:[^"\\\n]|\\.)*")', re.S)


def directory_of(file):
    """The directory of a file whose name is relative to src/."""
    return os.path.dirname(file) or "main"


def is_allowed(user, used):
    """Whether a file may use the other by the order. A directory that has no place in it may use nothing and be used by none."""
    user, used = directory_of(user), directory_of(used)
    return user == used or (user in ORDER and used in ORDER and ORDER.index(used) < ORDER.index(user))


def find_circles(graph):
    """One circle, as a list of nodes that ends with its first, for each set of nodes that all lead to one another."""
    circles = []
    seen = set()
    for start in sorted(graph):
        if start in seen:
            continue
        path = find_path(graph, start, start)
        if path:
            seen |= reachable(graph, start) & {node for node in graph if start in reachable(graph, node)}
            circles.append(path)
    return circles


def reachable(graph, start):
    found, waiting = set(), [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def find_path(graph, start, end):
    """The shortest way of at least one step, or None."""
    before = {}
    waiting = collections.deque([start])
    while waiting:
        node = waiting.popleft()
        for next_node in sorted(graph.get(node, ())):
            if next_node == end:
                path = [end, node]
                while node != start:
                    node = before[node]
                    path.append(node)
                return path[::-1]
            if next_node not in before:
                before[next_node] = node
                waiting.append(next_node)
    return None


def show_circles(graph):
    return ["circle: " + " → ".join(circle) for circle in find_circles(graph)]


def check_includes(source):
    problems = []
    graph = {}
    for path in sorted(source.rglob("*.[ch]")):
        file = str(path.relative_to(source))
        if directory_of(file) not in ORDER:
            problems.append(f"{file}: the directory has no place in the order")
        text = COMMENT.sub(lambda found: found.group(1) or " ", path.read_text())
        # A header without a slash is generated, or the C library's.
        graph[file] = {name for name in INCLUDE.findall(text) if "/" in name}
        problems += [f"{file} → {name}" for name in sorted(graph[file]) if not is_allowed(file, name)]
    return problems + show_circles(graph)


class Build:
    """What a build directory of meson's says of objects: build.ninja, compile_commands.json and the objects themselves."""

    def __init__(self, build, source):
        self.build = build
        self.inputs = {}
        for line in (build / "build.ninja").read_text().splitlines():
            rule = re.match(r"build (\S+): (?:c_LINKER|STATIC_LINKER) ([^|]*)(?:\|(?!\|)([^|]*))?", line)
            if rule:
                self.inputs[rule[1]] = [word for words in rule.groups("")[1:] for word in words.split()]
        self.sources = {}
        for command in json.loads((build / "compile_commands.json").read_text()):
            path = os.path.normpath(os.path.join(command["directory"], command["file"]))
            self.sources[command["output"]] = os.path.relpath(path, source)
        self.symbols = {}

    def read_symbols(self, objects):
        """Fills self.symbols with (defined, used) names by object."""
        objects = [name for name in objects if name not in self.symbols]
        self.symbols.update((name, (set(), set())) for name in objects)
        if objects:
            done = subprocess.run(["nm", "-A", "-P", "-g", *objects], cwd=self.build, check=True, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                name, symbol, kind = line.split()[:3]
                if kind not in "vw":  # nothing needs to define it
                    self.symbols[name.removesuffix(":")][kind == "U"].add(symbol)

    def link(self, program):
        """{object: {object: {symbol}}} of what the linker puts into the program: its objects, and those of static
        libraries that something needs."""
        if program not in self.inputs:
            sys.exit(f"includes.py: {self.build} has no {program}")
        own = [name for name in self.inputs[program] if name.endswith(".o")]
        others = [member for name in self.inputs[program] if name.endswith(".a") for member in self.inputs.get(name, ())]
        self.read_symbols([*own, *others])
        owner = {}
        for name in [*own, *others]:
            for symbol in self.symbols[name][0]:
                owner.setdefault(symbol, name)
        uses = {}
        waiting = list(own)
        while waiting:
            name = waiting.pop()
            if name in uses:
                continue
            uses[name] = collections.defaultdict(set)
            for symbol in self.symbols[name][1] & owner.keys():
                uses[name][owner[symbol]].add(symbol)
            waiting += uses[name]
        return uses


def check_objects(build, source):
    problems = []
    files, directories = collections.defaultdict(set), collections.defaultdict(set)
    for program in PROGRAMS:
        for user_object, uses in build.link(program).items():
            for used_object, symbols in uses.items():
                user, used = build.sources[user_object], build.sources[used_object]
                if user != used:
                    files[user].add(used)
                if directory_of(user) != directory_of(used):
                    directories[directory_of(user)].add(directory_of(used))
                if not is_allowed(user, used):
                    problems += [f"{user} → {used}: {symbol}" for symbol in sorted(symbols)]
    return sorted(set(problems)) + show_circles(directories) + show_circles(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--objects", metavar="BUILD-DIRECTORY", type=Path, help="also read the objects of a build")
    parser.add_argument("source", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    arguments = parser.parse_args()
    source = arguments.source.resolve() / "src"
    problems = check_includes(source)
    if arguments.objects:
        problems += check_objects(Build(arguments.objects.resolve(), source), source)
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
