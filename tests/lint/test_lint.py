# SPDX-License-Identifier: Apache-2.0
"""The scripts of this directory, on small trees that are made for them."""
import subprocess
from pathlib import Path

import pytest

LINT = Path(__file__).resolve().parent


@pytest.fixture
def lint(tmp_path):
    """lint("name.py", {file of src/: text}, …): the status and the lines that the script prints for such a tree."""
    def run(script, files, *arguments):
        for file, text in files.items():
            path = tmp_path / "src" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([LINT / script, *arguments, tmp_path], capture_output=True, text=True, check=False)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout.splitlines()

    return run


def include(*names):
    return "".join(f'#include "{name}"\n' for name in names)


ALLOWED = {"lib/str.h": "", "lib/str.c": include("lib/str.h"), "run/run.h": include("lib/str.h"), "main.c": include("run/run.h", "lib/str.h"),
           "run/run.c": '#include <run/absent.h>\n  #  include "run/run.h"\n#include "generated.h"\n'}


def test_includes_to_the_left_are_allowed(lint):
    assert lint("includes.py", ALLOWED) == (0, [])


@pytest.mark.parametrize("file, text, problems", [
    ("lib/fd.c", include("lib/str.h", "run/run.h"), ["lib/fd.c → run/run.h"]),
    ("lib/fd.h", " # include  \"run/run.h\"\n", ["lib/fd.h → run/run.h"]),
    ("run/bridge.c", include("cli/ps.h"), ["run/bridge.c → cli/ps.h"]),
    ("run/bridge.c", include("../lib/str.h"), ["run/bridge.c → ../lib/str.h"]),
    ("run/bridge.c", include("zoo/ape.h"), ["run/bridge.c → zoo/ape.h"]),
    ("zoo/ape.c", include("lib/str.h"), ["zoo/ape.c: the directory has no place in the order", "zoo/ape.c → lib/str.h"]),
    ("lib/a/b.c", "", ["lib/a/b.c: the directory has no place in the order"]),
    ("lib/fd.c", "/* #include \"run/run.h\"\n#include \"run/run.h\" */\n// #include \"cli/ps.h\"\nconst char x[] = \"/*\";\n", []),
    ("lib/fd.c", "const char x[] = \"/*\";\n" + include("run/run.h"), ["lib/fd.c → run/run.h"])])
def test_other_includes_are_named(lint, file, text, problems):
    assert lint("includes.py", {**ALLOWED, file: text}) == (1 if problems else 0, problems)


def test_circles_of_includes_are_named_once(lint):
    circle = {"lib/a.h": include("lib/b.h"), "lib/b.h": include("lib/c.h"), "lib/c.h": include("lib/a.h"), "lib/d.h": include("lib/a.h"),
              "run/own.h": include("run/own.h")}
    assert lint("includes.py", circle) == (1, ["circle: lib/a.h → lib/b.h → lib/c.h → lib/a.h", "circle: run/own.h → run/own.h"])


MESON = """project('small', 'c')
lib_lib = static_library('lib', 'src/lib/str.c', 'src/lib/idle.c')
run_lib = static_library('run', 'src/run/run.c', 'src/run/bridge.c', link_with: lib_lib)
foreach name : ['hutch', 'hutch-nat', 'hutch-filter', 'hutch-prove', 'hutch-fetch']
  executable(name, 'src/main.c', link_with: run_lib)
endforeach
"""
LINKED = {"main.c": "void run(void);\nint main(void) { run(); }\n", "run/run.c": "void str(void);\nvoid run(void) { str(); }\n",
          "run/bridge.c": "void run(void);\nvoid bridge(void) { run(); }\n", "lib/str.c": "void str(void) {}\n",
          # Nothing needs it, so no program has it.
          "lib/idle.c": "void run(void);\nvoid idle(void) { run(); }\n"}


@pytest.mark.parametrize("changed, problems", [
    ({}, []),
    ({"lib/str.c": "void run(void);\nvoid str(void) { run(); }\n"},
     ["lib/str.c → run/run.c: run", "circle: lib → run → lib", "circle: lib/str.c → run/run.c → lib/str.c"]),
    ({"lib/str.c": "extern int shown;\nint *str(void) { return &shown; }\n", "run/bridge.c": "int shown;\n"},
     ["lib/str.c → run/bridge.c: shown", "circle: lib → run → lib"]),
    ({"run/run.c": "void bridge(void);\nvoid run(void) { bridge(); }\n"}, ["circle: run/bridge.c → run/run.c → run/bridge.c"]),
    ({"lib/str.c": "__attribute__((weak)) void run(void);\nvoid str(void) { if (run) run(); }\n"}, [])],
    ids=["allowed", "a call to the right", "a variable to the right", "a circle of files", "a weak use"])
def test_the_objects_of_programs(lint, tmp_path, changed, problems):
    lint("includes.py", {**LINKED, **changed})
    (tmp_path / "meson.build").write_text(MESON)
    build = tmp_path / "build"
    subprocess.run(["meson", "setup", build, tmp_path], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
    assert lint("includes.py", {}, "--objects", build) == (1 if problems else 0, problems)


def test_a_build_without_a_program_is_an_error(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "build.ninja").write_text("")
    (tmp_path / "compile_commands.json").write_text("[]")
    done = subprocess.run([LINT / "includes.py", "--objects", tmp_path, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "has no hutch" in done.stderr, done


BODY = ["        int sum = 0;", "        for (size_t i = 0; i < count; i++)", "                if (values[i] > 0)",
        "                        sum += values[i];", '        message("a sum");', "        return sum;"]


def function(name, *lines):
    return f"static int {name}(const int *values,\n        size_t count)\n{{\n" + "\n".join(lines) + "\n}\n"


def test_a_repeated_body_is_named(lint):
    spread = ["        /* The same. */", "        int sum=0;", "", "        for (size_t i = 0;", "             i < count; i++) // all", *BODY[2:]]
    files = {"lib/a.c": "#include <stdio.h>\n\n" + function("add", *BODY), "run/b.c": function("put", *spread) + function("sum", *BODY)}
    assert lint("duplicates.py", files) == (1, ["lib/a.c:3 add = run/b.c:1 put", "lib/a.c:3 add = run/b.c:14 sum", "run/b.c:1 put = run/b.c:14 sum"])


@pytest.mark.parametrize("lines", [[line.replace("sum", "total") for line in BODY], [line.replace("a sum", "a  sum") for line in BODY]],
                         ids=["other names", "another text"])
def test_another_body_is_not(lint, lines):
    assert lint("duplicates.py", {"lib/a.c": function("add", *BODY), "run/b.c": function("put", *lines)}) == (0, [])


def test_short_bodies_do_not_count(lint):
    short = ["        " + "\n\n        ".join(["first();", "second();", "/* three */", "third();", "fourth();", "fifth();"])]
    assert lint("duplicates.py", {"lib/a.c": function("add", *short), "run/b.c": function("put", *short)}) == (0, [])
