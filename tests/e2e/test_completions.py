# SPDX-License-Identifier: Apache-2.0
"""Tab in the real shells: every subcommand, option and value, and files where files are meant."""
import re

import pytest
from harness import needs_installed
from layouts import make
from shells import SHELLS, installed

FILES = {"a-file.txt", "with space"}
DIRECTORIES = {"a-directory"}


@pytest.fixture(params=SHELLS)
def offered(request, hutch):
    """offered(line): what the shell offers for its last word, in a directory with some files."""
    needs_installed(installed(request.param), f"{request.param} is missing")
    make(hutch.directory / "a-file.txt")
    make(hutch.directory / "with space")
    make(hutch.directory / "a-directory/below")
    with SHELLS[request.param](hutch.directory) as ask:
        yield lambda line: {name.replace("\\ ", " ") for name in ask(line)}


def options(hutch, subcommand):
    """{name: what its value is called, or ""} by hutch's own help."""
    text = hutch(subcommand, "--help").out
    found = {name: (value or "").strip() for name, value in re.findall(r"^  (?:-\w,|   ) (--[a-z-]+)([ \[]\S+)?(?:  |$)", text, re.M)}
    assert len(found) > 20
    return found


def subcommands(hutch):
    found = set(re.findall(r"^  ([a-z]+)  ", hutch("help").out.split("Subcommands:")[1], re.M))
    assert {"mcp", "run", "help", "version"} <= found
    return found


def test_subcommands(offered, hutch):
    assert offered("hutch ") == subcommands(hutch)
    assert offered("hutch m") == {name for name in subcommands(hutch) if name.startswith("m")}
    assert {"mcp", "run"} <= offered("hutch help ")
    assert not FILES & offered("hutch version ")


@pytest.mark.parametrize("subcommand", ["mcp", "run"])
def test_options(offered, hutch, subcommand):
    names = set(options(hutch, subcommand))
    found = {name for name in offered(f"hutch {subcommand} --") if len(name) > 2}
    assert names <= found and found <= names | set(options(hutch, "mcp")) | set(options(hutch, "prove")), names ^ found
    found = offered(f"hutch {subcommand} --ro a-file.txt -v --no")
    assert {name for name in found if name.startswith("--")} == {name for name in names if name.startswith("--no")}


@pytest.mark.parametrize("form", ["{} ", "{}="])
def test_values(offered, hutch, form):
    """By what the help calls the value."""
    for name, value in options(hutch, "mcp").items():
        if not value:
            continue
        if value.startswith("["):
            if form == "{} ":
                continue  # its value stands behind = only
        found = offered("hutch mcp " + form.format(name))
        if name in ("--overlay", "--cwd"):
            assert DIRECTORIES <= found and not FILES & found, (name, found)
        elif re.match("PATH(?!.*SIZE)|FILE|SRC|PATTERN|LOCAL", value) or name == "--template":
            assert DIRECTORIES | FILES <= found, (name, found)
        else:
            assert not FILES & found, (name, found)
    assert offered("hutch mcp " + form.format("--require")) >= {"landlock"}
    assert offered("hutch mcp " + form.format("--proc")) == {"none"}
    assert "EXPORTED_ONE" in offered("hutch mcp " + form.format("--env") + "EXPORTED_")


def test_a_value_that_only_stands_behind_the_equals_sign(offered):
    assert offered("hutch mcp --allow-userns=") == {"full"}


def test_short_options_have_the_same_values(offered):
    assert "EXPORTED_ONE" in offered("hutch run -e EXPORTED_")
    assert FILES <= offered("hutch run -t ")


def test_a_part_of_a_name(offered):
    assert offered("hutch run --ro a-") >= {"a-file.txt", "a-directory"}
    assert {name.rsplit("/", 1)[-1] for name in offered("hutch run --rw a-directory/")} == {"below"}


def test_the_command_behind_the_separator_is_completed_as_itself(offered):
    assert "sha256sum" in offered("hutch mcp --ro a-file.txt -- sha256")
    found = offered("hutch run -- cat --ro")
    assert "--ro" not in found and "--ro-try" not in found
    assert FILES <= offered("hutch run --rw . -- cat ")
