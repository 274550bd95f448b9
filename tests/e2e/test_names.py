# SPDX-License-Identifier: Apache-2.0
"""Any name that a file may have, through every option that takes one: it works, sentences stay one line of valid text, and
--dry-run stays valid JSON."""
import json
import os
import subprocess

import pytest
from harness import without_deny_all

NAMES = {"spaces": b"a b  c", "quotes": b"it's \"q\" `x` $(y) \\z", "newlines": b"one\ntwo\r\nthree\t", "no utf-8": b"\xff\xfe\x80bad", "half a letter": b"ab\xc3",
         "other letters": "naïve 文件 😀".encode(), "options": b"--rw", "control": b"\x1b[31mred\x07\x7f", "marks": b"*?[a]{b}!#%&;|<>", "commas": b"a,b=c"}


def path_bytes(path):
    return os.fsencode(path)


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def strange(request, hutch):
    """A directory of that name with a file of that name in it, as the str that Python makes of it."""
    directory = os.path.join(path_bytes(hutch.directory), request.param)
    os.mkdir(directory)
    with open(os.path.join(directory, request.param), "wb") as file:
        file.write(b"content\n")
    return os.fsdecode(directory)


class Raw:
    """hutch with bytes in its words, checked: stderr is valid UTF-8 of whole lines without control characters."""

    def __init__(self, hutch):
        self.hutch = hutch

    def __call__(self, *words, status=0):
        done = subprocess.run([path_bytes(word) for word in [self.hutch.path, *words]], cwd=self.hutch.directory, env=self.hutch.environment, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=30)
        text = without_deny_all(done.stderr.decode())
        own = [line for line in text.splitlines() if line.startswith("[hutch] ")]
        assert done.returncode == status, done
        assert not [c for line in own for c in line if ord(c) < 32 or ord(c) == 127], done
        return done, own


@pytest.fixture
def raw(hutch):
    return Raw(hutch)


@pytest.mark.parametrize("option", ["--ro", "--rw", "--ro-try", "--rw-try", "--overlay"])
def test_a_grant(raw, strange, option):
    name = os.path.basename(strange)
    if ":" in name:
        pytest.skip("a colon separates the place inside")
    done, own = raw("run", f"{option}={strange}", "--", "cat", f"{strange}/{name}")
    assert done.stdout == b"content\n" and not own, done
    raw("run", "-v", option, strange, "--", "true")
    done, _ = raw("run", "--dry-run", option, strange, "--", "true")
    mounts = json.loads(done.stdout)["mounts"]
    assert [mount for mount in mounts if mount.get("why") == option], done


def test_what_is_protected_and_hidden(raw, strange):
    name = os.path.basename(strange)
    script = 'cat "$1"; echo x 2>/dev/null >"$1" || echo refused'
    done, own = raw("run", "--rw", strange, "--protect", f"{strange}/{name}", "--", "sh", "-c", script, "-", f"{strange}/{name}")
    assert b"content\n" in done.stdout and b"refused" in done.stdout and not own, done
    done, own = raw("run", "--rw", strange, "--hide", f"{strange}/{name}", "--", "sh", "-c", 'cat "$1"; echo end', "-", f"{strange}/{name}")
    assert done.stdout == b"end\n" and not own, done
    for option in ("--protect", "--hide"):
        done, _ = raw("run", "--dry-run", "--rw", strange, option, f"{strange}/{name}", "--", "true")
        assert json.loads(done.stdout)["mounts"]


def test_sentences_about_it(raw, strange):
    """Missing, not granted, refused: each is one line."""
    name = os.path.basename(strange)
    for option in ("--ro", "--rw", "--overlay"):
        _, own = raw("run", option, f"{strange}/missing-{name}", "--", "true", status=125)
        assert len(own) == 1, own
    _, own = raw("run", "--", "cat", f"{strange}/{name}", status=1)
    assert len(own) == 1 and "is not visible inside" in own[0], own
    _, own = raw("run", "--", f"{strange}/no-{name}", status=127)
    assert len(own) == 1, own
    if not set(name) & set("*?["):  # a missing one with these is a pattern
        _, own = raw("run", "--rw", strange, "--hide", f"{strange}/none-{name}", "--", "true", status=2)
        assert own, own


def test_a_program_and_a_working_directory(raw, strange):
    name = os.path.basename(strange)
    program = os.path.join(path_bytes(strange), b"run")
    with open(program, "wb") as file:
        file.write(b'#!/bin/sh\npwd\ncat "$(dirname "$0")/$1"\n')
    os.chmod(program, 0o755)
    done, own = raw("run", "--ro", strange, "--cwd", strange, "--", os.fsdecode(program), f"./{name}")
    assert done.stdout.replace(path_bytes(strange), b"X") == b"X\ncontent\n" and not own, done
    done, own = raw("run", "--", os.fsdecode(program), name)
    assert done.stdout.endswith(b"content\n"), done


def deep(directory, total):
    """A directory whose path has `total` bytes; made step by step, because no call takes more than 4,095 at once."""
    here = os.open(directory, os.O_PATH)
    path = str(directory)
    while len(path) < total:
        name = "d" * min(200, total - len(path) - 1) if total - len(path) - 1 > 0 else ""
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_PATH, dir_fd=here)
        os.close(here)
        here, path = below, f"{path}/{name}"
        if total - len(path) == 1:
            break
    os.close(here)
    return path


@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay"])
def test_a_path_of_four_thousand_bytes(raw, hutch, option):
    path = deep(hutch.directory, 4000)
    with open(f"{path}/f", "w", encoding="utf-8") as file:
        file.write("content\n")
    done, own = raw("run", option, path, "--", "cat", f"{path}/f")
    assert done.stdout == b"content\n" and not own, done
    done, _ = raw("run", "--dry-run", option, path, "--", "true")
    assert path in [mount["source"] for mount in json.loads(done.stdout)["mounts"] if "source" in mount]


@pytest.mark.parametrize("length", [4090, 4095, 4096, 5000, 100_000])
@pytest.mark.parametrize("option", ["--ro", "--rw", "--overlay", "--ro-try", "--hide", "--protect", "--cwd"])
def test_a_path_that_is_longer_than_paths_may_be(raw, hutch, option, length):
    path = str(hutch.directory) + "/" + "/".join("d" * 200 for _ in range(length // 201 + 1))
    path = path[:length].rstrip("/")
    words = ["--rw", hutch.directory] if option in ("--hide", "--protect") else []
    done = subprocess.run([hutch.path, "run", *map(str, words), option, path, "--", "true"], cwd=hutch.directory, env=hutch.environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=30)
    own = [line for line in without_deny_all(done.stderr).splitlines() if line.startswith("[hutch] ")]
    assert done.returncode in (2, 125) and 1 <= len(own) <= 2 or (option == "--ro-try" and done.returncode == 0 and not own), done
    assert len(done.stderr) < 20_000, done


def test_a_thousand_grants(raw, hutch):
    """Of every kind; all there, in one start and in valid JSON."""
    words = []
    for i in range(1000):
        (hutch.directory / f"g{i}").mkdir()
        (hutch.directory / f"g{i}/f").write_text(str(i))
        words += [("--ro", "--rw", "--ro-try", "--rw-try")[i % 4], f"g{i}"]
    done, own = raw("run", *words, "--", "sh", "-c", f"cat {hutch.directory}/g*/f | wc -c; touch {hutch.directory}/g1/new; touch {hutch.directory}/g0/new 2>/dev/null || echo refused")
    assert done.stdout.split() == [str(sum(len(str(i)) for i in range(1000))).encode(), b"refused"] and not own, done
    assert (hutch.directory / "g1/new").exists()
    done, _ = raw("run", "--dry-run", *words, "--", "true")
    assert sum(mount["kind"] == "bind" and "/g" in mount["source"] for mount in json.loads(done.stdout)["mounts"]) >= 1000
