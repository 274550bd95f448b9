# SPDX-License-Identifier: Apache-2.0
"""What a server could do to hutch's own state, and through it to the person, with grants near it."""
import os
import subprocess

import pytest
from harness import PYTHON


@pytest.fixture
def state(home):
    return home / ".local" / "state"


@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay"])
@pytest.mark.parametrize("place", [".local", ".local/state", ".local/state/hutch", ".local/state/hutch/runs/true"])
def test_a_grant_of_the_state_is_refused(hutch, home, state, option, place):
    assert hutch("run", "--", "true").status == 0
    done = hutch("run", option, home / place, "--", "true")
    assert done.status == 125 and "refusing" in done.err, done


@pytest.mark.parametrize("made", [False, True])
def test_a_grant_that_a_link_makes_the_states_is_refused(attempt, hutch, tmp_path, made):
    """Nothing of hutch's need be there yet: its directory would be made inside of the grant."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    variables = {"XDG_STATE_HOME": str(link)}
    if made:
        assert hutch("run", "--", "true", env=variables).status == 0
    done = hutch("run", "--rw", real, "--", "true", env=variables)
    assert done.status == 125 and "hutch's own state" in done.err, done


@pytest.mark.parametrize("link, leads_to, place", [
    (".config", "files/config", ".config/autostart"), (".config", "files/config", ".config/fish"), (".cache", "files/cache", ".cache/hutch"),
    (".config/hutch", "files/hutch", ".config/hutch"), (".gnupg", "files/gnupg", ".gnupg"), (".bash_aliases", "files/aliases", ".bash_aliases"),
    (".local", "files/a/b/../c", ".local/bin")])
def test_what_would_be_made_in_a_grant_by_a_link_of_the_home(hutch, home, link, leads_to, place):
    """Dotfiles are often links into one directory. What is not there yet could be made in it by the server."""
    files = home / "files"
    files.mkdir()
    (home / link).parent.mkdir(exist_ok=True)
    (home / link).symlink_to(os.path.relpath(home / leads_to, (home / link).parent))
    assert not (home / place).exists()
    done = hutch("run", "--rw", files, "--", "true")
    assert done.status == 125 and "refusing" in done.err, done
    (home / link).unlink()
    assert hutch("run", "--rw", files, "--", "true").status == 0


def test_a_cache_that_a_link_would_put_into_a_grant(hutch, tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    done = hutch("run", "--rw", real, "--", "true", env={"XDG_CACHE_HOME": str(link / "not" / "there")})
    assert done.status == 125 and "hutch's own state" in done.err, done


def test_the_log_is_out_of_reach(attempt, hutch, home, state):
    """It is the caller's file and the server is the caller outside."""
    assert hutch("run", "--", "true").status == 0
    attempt(f"import glob\nfor path in glob.glob('{state}/hutch/runs/*/*'): open(path, 'a').write('x'); print('GOT-OUT')")


def plant(hutch, state, script):
    """Runs a script in a sandbox that was given the state's directory against every warning."""
    state.mkdir(parents=True, exist_ok=True)
    done = hutch("run", "--unsafe-grant", state, "--rw", state, "--", PYTHON, "-c", script)
    assert done.status == 0, done


def test_nothing_is_kept_where_the_server_could_write(hutch, state):
    plant(hutch, state, "pass")
    assert not [path for path in state.rglob("*") if path.is_file()]


def test_a_link_in_the_place_of_the_state(hutch, home, state):
    """A later run, without any grant, must not write where it leads."""
    victim = home / "victim"
    victim.mkdir(mode=0o700)
    for place in ("hutch", "hutch/runs", "hutch/runs/true"):
        plant(hutch, state, f"import os, shutil\nshutil.rmtree('{state}/hutch', ignore_errors=True)\n"
              f"os.makedirs(os.path.dirname('{state}/{place}'), 0o700, exist_ok=True)\n"
              f"[os.chmod(d, 0o700) for d, _, _ in os.walk('{state}')]\n"
              f"if os.path.islink('{state}/{place}'): os.unlink('{state}/{place}')\n"
              f"os.symlink('{victim}', '{state}/{place}')")
        assert (state / place).is_symlink()
        done = hutch("run", "--", "true")
        assert done.status == 0 and not done.err, done
        assert not list(victim.iterdir()), place
        (state / place).unlink()


def test_other_names_of_the_persons_files_among_the_runs(hutch, home, state):
    """A hard link in the place of a run: never appended to, truncated or changed, only unlinked."""
    victim = state / "victim"
    state.mkdir(parents=True)
    victim.write_text("mine\n")
    plant(hutch, state, f"import os\nos.makedirs('{state}/hutch/runs/true', 0o700)\n[os.chmod(d, 0o700) for d, _, _ in os.walk('{state}/hutch')]\n"
          f"for i in range(30): os.link('{victim}', f'{state}/hutch/runs/true/{{i:013x}}.00000000')")
    assert victim.stat().st_nlink == 31
    mode = victim.stat().st_mode
    for _ in range(25):
        assert hutch("run", "--", "true").status == 0
    assert victim.read_text() == "mine\n" and victim.stat().st_nlink == 1 and victim.stat().st_mode == mode


def test_what_would_make_a_start_wait(hutch, state):
    """Named pipes, and locks that another sandbox holds on every file."""
    plant(hutch, state, f"import os\nos.makedirs('{state}/hutch/runs/true', 0o700)\n[os.chmod(d, 0o700) for d, _, _ in os.walk('{state}/hutch')]\n"
          f"for i in range(30): os.mkfifo(f'{state}/hutch/runs/true/{{i:013x}}.00000000')")
    done = hutch("run", "--", "true", timeout=10)
    assert done.status == 0 and not done.err, done
    assert hutch("ps", timeout=10).status == hutch("logs", timeout=10).status == 0


def test_another_path_of_the_states_directory(hutch, home, state, tmp_path):
    """A bind mount of the host gives it a name that the list of dangerous grants cannot know."""
    alias = tmp_path / "alias"
    for directory in (alias, home / ".local", state):
        directory.mkdir(mode=0o700)
    before = ["unshare", "-Urm", "sh", "-c", f'mount --bind {home}/.local {alias} && exec "$@"', "sh"]
    done = hutch("run", "--rw", alias, "--", "sh", "-c", f"ls -R {alias}", before=before)
    assert done.status == 125 and f"refusing to grant {alias}" in done.err, done
    assert subprocess.run(["true"], check=True) and hutch("run", "--", "true", before=before).status == 0
    assert len([path for path in state.rglob("*") if path.is_file()]) == 2
