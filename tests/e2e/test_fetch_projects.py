# SPDX-License-Identifier: Apache-2.0
"""`uv run` in a project that has no .venv: its environment is made in the fetch sandbox, once, and kept."""
import pytest
from fetching import call, entries, npm, uv  # noqa: F401 (fixtures)
from layouts import make

PROJECT = "[project]\nname = \"mine\"\nversion = \"1\"\ndependencies = [\"hello\"]\n"


@pytest.fixture
def project(uv):
    directory = uv.home / "project"
    uv.registry.publish("hello")
    make(directory / "pyproject.toml", PROJECT)
    make(directory / "main.py", "import hello, sys\nprint(hello.VERSION, sys.argv[1:])\n")
    return directory


def test_the_first_start_fetches_and_the_next_is_offline(uv, project):
    command = ["run", "--", "uv", "--directory", project, "run", "main.py", "x"]
    done = call(uv, *command)
    assert (done.status, done.out) == (0, "1.0.0 ['x']\n") and "fetching first, once" in done.err, done
    done = call(uv, *command)
    assert (done.status, done.out, done.own_lines) == (0, "1.0.0 ['x']\n", []), done
    assert call(uv, "run", "--", "uv", "run", "--directory", "project", "python", "main.py", cwd=uv.home).out == "1.0.0 []\n"
    assert uv.registry.asked() == ["/hello"] and len(entries(uv)) == 1
    assert sorted(path.name for path in project.iterdir()) == ["main.py", "pyproject.toml"]


def test_a_changed_list_is_fetched_anew(uv, project):
    command = ["uv", "--directory", project, "run", "main.py"]
    assert "fetched" in call(uv, "fetch", "--", *command).out
    make(project / "uv.lock", "locked")
    done = call(uv, "mcp", "--fetch", "never", "--", *command)
    assert done.status == 125 and f"hutch fetch -- uv --directory {project} run main.py" in done.err, done
    name, = entries(uv)
    uv.registry.publish("hello", "2.0.0")
    assert call(uv, "run", "--", *command).out == "2.0.0 []\n"
    assert entries(uv) == [name]
    uv.registry.publish("hello", "3.0.0")
    assert call(uv, "fetch", "--update").status == 0
    assert call(uv, "run", "--", *command).out == "3.0.0 []\n"
    assert str(project) in call(uv, "fetch", "--list").out
    assert call(uv, "fetch", "--verify").status == 0


def test_a_path_too_long_for_an_entry_is_one_sentence(uv, project):
    deep = uv.home / "/".join(["d" * 60] * 4)
    make(deep / "pyproject.toml", PROJECT)
    done = call(uv, "fetch", "--", "uv", "--directory", deep, "run", "main.py")
    assert done.status == 125 and "is too long for the name of an entry" in done.err and "move the project to a shorter path" in done.err, done


@pytest.mark.parametrize("words", [["uv", "run", "main.py"], ["uv", "run", "--project", ".", "main.py"]], ids=" ".join)
def test_what_is_not_fetched_fails_at_once_and_names_the_line(uv, project, words):
    done = call(uv, "mcp", "--fetch", "never", "--", *words, cwd=project)
    assert done.status == 125 and f"hutch fetch -- {' '.join(words)}" in done.err and "no .venv" in done.err and done.seconds < 1, done
    assert uv.registry.asked() == []


def test_a_project_that_is_a_package_is_installed(uv, project):
    make(project / "pyproject.toml", PROJECT + "\n[build-system]\nrequires = [\"backend\"]\n")
    uv.registry.publish("backend")
    done = call(uv, "run", "--", "uv", "--directory", project, "run", "python", "-c", "import main")
    assert (done.status, done.out) == (0, "1.0.0 []\n"), done
    assert sorted(path.name for path in project.iterdir()) == ["main.py", "pyproject.toml"]


def test_an_environment_of_the_persons_own_is_used(uv, project):
    make(project / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    (project / ".venv/bin").mkdir()
    (project / ".venv/bin/python").symlink_to("/usr/bin/python3")
    done = call(uv, "run", "--", "uv", "--directory", project, "run", "python", "-c", "print('own')")
    assert (done.status, done.out) == (0, "own\n") and not uv.store.exists(), done


@pytest.mark.parametrize("words", [["--with", "x"], ["--extra", "x"], ["--script"], ["--isolated"]], ids=" ".join)
def test_what_is_not_plain_is_not_fetched(uv, project, words):
    done = call(uv, "run", "--dry-run", "--", "uv", "run", *words, "main.py", cwd=project)
    assert done.status == 0 and "run `uv sync` there first" in done.err and not uv.store.exists(), done
    assert call(uv, "fetch", "--", "uv", "run", *words, "main.py", cwd=project).status == 2
