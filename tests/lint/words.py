#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Finds turns that hutch's text was once translated with and that plain technical English does not use. It reads the
manuals, the README files, the completions, the comments of policies, the scripts that a user runs, and the string
literals of the C sources, where adjacent literals count as one. With --comments it reads the comments of the C sources
too. It prints `file:line: turn` for each and exits with 1 when there is any. It only reads files.

    words.py [--comments] [SOURCE-DIRECTORY]
"""
import re
import sys
from pathlib import Path

# The turn, as it is printed, and what finds it. "There is no", "is no longer" and "some of its own lines" are English.
TURNS = (
    ("folder", r"folders?"),
    ("the person", r"\b(?:the|a) persons?\b"),
    ("is no", r"(?<!there )\b(?:is|are|was|were) no\b(?! (?:longer|more)\b)"),
    ("lies in", r"\b(?:lie|lies|lying)\b"),
    ("of its own", r"\bof (?:its|their|your|his|her|our|my|\w+'s) own(?! (?!(?:and|or|as|at|by|for|from|in|is|of|on|that|to|"
                   r"was|were|where|which|while|with)\b)\w)"),
    ("is said", r"\b(?:is|are|was|were|be) said\b"),
    ("stands", r"\b(?:stand|stands|stood|standing)\b"),
)

# Names that other programs or older versions of hutch chose. They are cut out before the search.
EXCEPTIONS = (
    r"\Afolder\Z",  # a key in entry.json
    r"\$\{workspaceFolder\}",
)

PROSE = ("README.md", "CONTRIBUTING.md", "src/README.md", "man/*.1", "completions/*", "policy/apparmor/*", "policy/**/*.json",
         "bootstrap", ".ci/run", "tests/run")

C_TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<include>^[ \t]*\#[ \t]*include[^\n]*)
  | (?P<literal>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<character>'(?:[^'\\\n]|\\.)+')
  | (?P<space>\s+|\\\n)
  | (?P<other>\w+|.)
""", re.X | re.M | re.S)


class Text:
    """Running text, each run of blanks as one, that knows the line of each character."""

    def __init__(self):
        self.characters = []
        self.lines = []

    def add(self, text, line):
        for character in text:
            blank = character.isspace()
            if not blank or (self.characters and self.characters[-1] != " "):
                self.characters.append(" " if blank else character)
                self.lines.append(line)
            line += character == "\n"

    def find(self):
        """Yields (line, turn)."""
        text = "".join(self.characters)
        for exception in EXCEPTIONS:
            text = re.sub(exception, lambda found: "\0" * len(found.group()), text)
        for turn, pattern in TURNS:
            for found in re.finditer(pattern, text, re.I):
                yield self.lines[found.start()], turn


def read_prose(path):
    text = Text()
    text.add(path.read_text(), 1)
    return [text]


def read_literal(token):
    """The text of a literal: an escape that breaks the line is a blank, any other stays a letter."""
    body = token[token.index('"') + 1:-1]
    return re.sub(r"\\([ntrvf])", " ", re.sub(r"\\\n", "", body))


def read_comment(token):
    return re.sub(r"(?m)^[ \t]*\*?", lambda found: " " * len(found.group()), token.removeprefix("/*").removesuffix("*/"))


def read_c(path, comments):
    """A Text for each literal, with those that follow it directly, and for each comment."""
    source = path.read_text()
    texts = []
    literal = None
    line = 1
    for token in C_TOKEN.finditer(source):
        if token.lastgroup == "literal":
            if literal is None:
                literal = Text()
                texts.append(literal)
            literal.add(read_literal(token.group()), line)
        elif token.lastgroup == "comment" and comments:
            texts.append(Text())
            texts[-1].add(read_comment(token.group()), line)
        elif token.lastgroup not in ("comment", "space"):
            literal = None
        line += token.group().count("\n")
    return texts


def main():
    words = [word for word in sys.argv[1:] if word != "--comments"]
    source = Path(words[0]) if words else Path(__file__).resolve().parents[2]
    problems = []
    for pattern in PROSE:
        for path in sorted(source.glob(pattern)):
            problems += [(path, *found) for text in read_prose(path) for found in text.find()]
    for path in sorted((source / "src").rglob("*.[ch]")):
        problems += [(path, *found) for text in read_c(path, "--comments" in sys.argv) for found in text.find()]
    for path, line, turn in sorted(problems):
        print(f"{path.relative_to(source)}:{line}: {turn}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
