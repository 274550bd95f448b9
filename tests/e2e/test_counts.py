# SPDX-License-Identifier: Apache-2.0
"""tests/bench/counts fails when a start does more than its table says. What a start does is not looked at here: tests/run calls the
command when nothing else runs."""
import argparse
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import PYTHON, TESTS

COMMAND = TESTS / "bench/counts"
MACHINE = "debian 12, of the table"


@pytest.fixture(scope="module")
def counts():
    sys.path.insert(0, str(COMMAND.parent))
    loader = importlib.machinery.SourceFileLoader("counts", str(COMMAND))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("counts", loader))
    loader.exec_module(module)
    yield module
    sys.path.remove(str(COMMAND.parent))


FIGURES = {"calls": 826, "faults": 258, "tasks": 5, "memory": 1779}


@pytest.fixture
def judge(counts, tmp_path, capsys, monkeypatch):
    """judge({figure: change}): the status and the line for a start that differs so from the table."""
    monkeypatch.delenv("HUTCH_TESTS_MUST_RUN", raising=False)
    counts.write_table(tmp_path / "table", MACHINE, {"plain": FIGURES})

    def run(changes, machine=MACHINE, kind="plain"):
        report = counts.Report(tmp_path / "log")
        figures = {**FIGURES, **{name: FIGURES[name] + change for name, change in changes.items()}, "pss": 900, "by_name": {}}
        counts.judge(report, argparse.Namespace(table=tmp_path / "table", calls=False), machine, {kind: figures})
        report.log.close()
        logged = json.loads((tmp_path / "log").read_text())
        assert logged["result"] == {0: "OK", 1: "FAIL", 77: "SKIP"}[report.status]
        return report.status, capsys.readouterr().out

    return run


def test_the_same_figures_pass(judge):
    assert judge({}) == (0, "plain: 826 calls, 258 faults, 5 tasks, 1779 KiB (PSS here 900 KiB): as in the table\n")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_that_rises_above_its_tolerance_fails(judge, counts, name):
    tolerance = counts.TOLERANCE[name]
    assert judge({name: tolerance})[0] == 0
    status, line = judge({name: tolerance + 1})
    assert status == 1 and f"({tolerance + 1} above the table)" in line and "risen" in line, line


def test_a_figure_that_fell_passes_and_is_named(judge):
    status, line = judge({"calls": -100, "memory": -5})
    assert status == 0 and "726 calls (100 below the table)" in line and "lower the table" in line, line


def test_what_fell_does_not_hide_what_rose(judge):
    assert judge({"calls": -100, "tasks": 1})[0] == 1


def test_another_machine_compares_only_what_did_not_rise(judge, monkeypatch):
    assert judge({}, machine="debian 13")[0] == 0
    status, line = judge({"faults": 100}, machine="debian 13")
    assert status == 77 and f"counted on {MACHINE}, and this is debian 13" in line, line
    monkeypatch.setenv("HUTCH_TESTS_MUST_RUN", "1")
    assert judge({"faults": 100}, machine="debian 13")[0] == 1


def test_a_kind_that_the_table_lacks_fails(judge):
    assert judge({}, kind="novel")[0] == 1


def run(hutch, *arguments, path="/usr/bin:/bin", must=""):
    return subprocess.run([PYTHON, COMMAND, "--build", Path(hutch.path).parent, *arguments], env={"PATH": path, "HUTCH_TESTS_MUST_RUN": must},
                          capture_output=True, text=True, check=False)


def test_the_command_fails_where_a_start_does_more_than_the_table(hutch, counts, tmp_path):
    machine, rows = counts.read_table(TESTS / "bench/counts.table")
    assert set(rows) == set(counts.counting.KINDS)
    counts.write_table(tmp_path / "table", machine, {"plain": {**rows["plain"], "tasks": rows["plain"]["tasks"] - 1}})
    done = run(hutch, "plain", "--rounds", "3", "--table", tmp_path / "table", must="1")
    assert done.returncode == 1 and f"{rows['plain']['tasks']} tasks (1 above the table)" in done.stdout, done


@pytest.mark.parametrize("must, status", [("", 77), ("1", 1)])
def test_a_machine_without_strace_does_not_count(hutch, tmp_path, must, status):
    done = run(hutch, path=str(tmp_path), must=must)
    assert (done.returncode, done.stdout) == (status, "not counted: strace is missing\n"), done
