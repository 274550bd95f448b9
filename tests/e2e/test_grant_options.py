# SPDX-License-Identifier: Apache-2.0
"""Grants that may be missing, container spellings, directories in memory, --no-auto-grant, --unsafe-grant and the files of
variables: what a sandbox has of each, and which sentence says why not."""
import json
import os

import pytest
from harness import PYTHON

UNSAFE = "--unsafe-grant"


# grants that may be missing

@pytest.mark.parametrize("option", ["--ro-try", "--rw-try"])
def test_a_missing_path_is_skipped_and_an_existing_one_is_granted(hutch, option):
    path = hutch.directory / "cache"
    command = ["run", "-v", option, path, "--", "sh", "-c", f"cat {path}/f; echo x >{path}/new"]
    missing = hutch(*command)
    assert missing.status != 0 and f"{option} {path}: it does not exist" in missing.err and not path.exists(), missing
    path.mkdir()
    (path / "f").write_text("there\n")
    done = hutch(*command)
    assert done.out == "there\n", done
    assert (done.status == 0) == (path / "new").exists() == (option == "--rw-try"), done


@pytest.mark.parametrize("option", ["--ro-try", "--rw-try"])
def test_a_link_to_nothing_and_a_path_below_a_file_are_missing(hutch, option):
    (hutch.directory / "dangling").symlink_to("nothing")
    (hutch.directory / "file").write_text("")
    done = hutch("run", option, hutch.directory / "dangling", option, hutch.directory / "file/below", "--", "ls", hutch.home)
    assert (done.status, done.out, done.err) == (0, "", ""), done


def test_what_cannot_be_looked_at_is_not_missing(hutch, am_root):
    if am_root:
        pytest.skip("root may look everywhere")
    (hutch.directory / "closed/in").mkdir(parents=True)
    (hutch.directory / "closed").chmod(0)
    done = hutch("run", "--ro-try", hutch.directory / "closed/in", "--", "true")
    (hutch.directory / "closed").chmod(0o700)
    assert done.status == 125 and "Permission denied: check the path after --ro-try" in done.err, done


@pytest.mark.parametrize("words", [["--ro-try", "{home}/.ssh"], ["--rw-try", "{home}"], ["--volume", "{home}/.ssh:/keys:ro"],
                                   ["--mount", "type=bind,source={home}/.aws,target=/aws,readonly"], ["--rw-try", "{work}/innocent"]],
                         ids=lambda words: words[0])
def test_a_dangerous_path_is_refused_in_every_spelling(hutch, words):
    (hutch.directory / "innocent").symlink_to(hutch.home / ".ssh")
    done = hutch("run", *[word.format(home=hutch.home, work=hutch.directory) for word in words], "--", "true")
    assert done.status == 125 and "refusing to grant" in done.err and UNSAFE in done.err, done


# container spellings

@pytest.mark.parametrize("words, writable", [
    (["--volume", "{0}:/data"], True),
    (["--volume", "{0}:/data:ro"], False),
    (["--volume=./:/data"], True),
    (["--mount", "type=bind,source={0},target=/data"], True),
    (["--mount", "type=bind,src={0},dst=/data,readonly"], False),
    (["--mount=type=bind,src={0},destination=/data,ro"], False),
])
def test_container_spellings_are_grants(hutch, words, writable):
    (hutch.directory / "f").write_text("content\n")
    done = hutch("run", *[word.format(hutch.directory) for word in words], "--", "sh", "-c", "cat /data/f; echo x >/data/new")
    assert done.out == "content\n", done
    assert (hutch.directory / "new").exists() == writable == (done.status == 0), done


def test_a_volume_is_never_made_on_the_host(hutch):
    done = hutch("run", "--volume", f"{hutch.directory}/none:/data", "--", "true")
    assert done.status == 125 and "check the path after --volume" in done.err and os.listdir(hutch.directory) == [], done


def test_dash_v_with_a_volume_is_translated(hutch):
    done = hutch("run", "-v", f"{hutch.directory}:/data", "--", "true")
    assert done.status == 2 and "--volume SRC:DST" in done.err, done


# directories in memory

def describe(hutch, *words):
    done = hutch("run", *words, "--dry-run", "--", "true")
    assert done.status == 0, done
    return json.loads(done.out)


def test_memory_shares_the_one_budget_or_has_its_own(hutch):
    script = """
        stat -f -c %d,%b,%S / /tmp /mine /shared >/dev/null
        [ $(stat -c %d /tmp) = $(stat -c %d /shared) ] && [ $(stat -c %d /tmp) != $(stat -c %d /mine) ] || exit 3
        echo $(($(stat -f -c '%b*%S' /mine)))
        dd if=/dev/zero of=/mine/f bs=4k count=40 2>/dev/null && exit 4
        mkdir /mine/d && mv /mine/f /mine/d/f && dd if=/dev/zero of=/shared/f bs=4k count=40 2>/dev/null && stat -c %s /shared/f /mine/d/f
    """
    out = hutch.inside(script, "--tmpfs", "/mine:64k", "--mount", "type=tmpfs,target=/shared")
    assert out == f"{64 << 10}\n{160 << 10}\n{64 << 10}\n"
    box = describe(hutch, "--tmpfs", "/mine:64k", "--tmpfs", "/shared")
    assert {mount["destination"]: mount["bytes"] for mount in box["mounts"] if mount["why"] == "--tmpfs"} == {"/mine": 64 << 10, "/shared": None}


@pytest.mark.parametrize("layer", ["--require=landlock", "--allow-userns=full"])
def test_memory_is_writable_under_every_set_of_layers(hutch, layer, am_root):
    if am_root and "full" in layer:
        pytest.skip("refused for root")
    done = hutch("run", layer, "--tmpfs", "/m:1m", "--tmpfs", "/n", "--", "sh", "-c", "touch /m/a /n/b && ln -s a /m/l && mkdir /n/d && ls /m /n && ! touch /x")
    if "Landlock" in done.err and done.status == 125:
        pytest.skip("no Landlock here")
    assert done.out == "/m:\na\nl\n\n/n:\nb\nd\n", done


def test_memory_replaces_tmp_and_the_home_and_holds_grants(hutch):
    (hutch.directory / "f").write_text("deep\n")
    out = hutch.inside(f"cat /tmp/a/b/f && touch ~/x /tmp/x /dev/shm/x && stat -c %a /tmp && stat -f -c %b ~", "--tmpfs", "/tmp:1m", "--tmpfs", "~:2m",
                       "--tmpfs", "/dev/shm:1m", "--ro", f"{hutch.directory}:/tmp/a/b", "--cwd", "/tmp")
    assert out == "deep\n1777\n512\n"
    assert sorted(set(os.listdir(hutch.home)) - {".local"}) == [".aws", ".npmrc", ".ssh", "notes.txt"]


def test_memory_in_a_grant_hides_what_is_there_and_nothing_reaches_the_host(hutch):
    (hutch.directory / "build").mkdir()
    (hutch.directory / "build/old").write_text("")
    assert hutch.inside("ls build; touch build/new; ls build", "--rw", ".", "--tmpfs", hutch.directory / "build") == "new\n"
    assert os.listdir(hutch.directory / "build") == ["old"]
    done = hutch("run", "--rw", ".", "--tmpfs", hutch.directory / "none", "--", "true")
    assert done.status == 125 and "create it first" in done.err and os.listdir(hutch.directory) == ["build"], done


@pytest.mark.parametrize("place", ["/usr", "/proc", "/dev", "/bin/../usr/bin"])
def test_memory_does_not_hide_what_a_sandbox_needs(hutch, place):
    done = hutch("run", "--tmpfs", place, "--", "true")
    assert done.status == 125 and "would hide the sandbox's own" in done.err, done


# what the command names

def test_no_auto_grant_grants_nothing_of_the_command(hutch):
    (hutch.directory / "x.py").write_text("print('ran')")
    (hutch.directory / "x.sh").write_text("#!/bin/sh\necho ran\n")
    (hutch.directory / "x.sh").chmod(0o755)
    assert hutch("run", "--", PYTHON, hutch.directory / "x.py").out == hutch("run", "--", hutch.directory / "x.sh").out == "ran\n"
    done = hutch("run", "--no-auto-grant", "--", PYTHON, hutch.directory / "x.py")
    assert done.status != 0 and f"--ro {hutch.directory}/x.py would grant it" in done.err, done
    done = hutch("run", "--no-auto-grant", "--", hutch.directory / "x.sh")
    assert done.status == 125 and f"add --ro {hutch.directory}/x.sh" in done.err, done
    for command in ([PYTHON, hutch.directory / "x.py"], [hutch.directory / "x.sh"], ["./x.sh"]):
        done = hutch("run", "--no-auto-grant", "--ro", hutch.directory, "--", *command)
        assert (done.status, done.out) == (0, "ran\n"), done
    mounts = describe(hutch, "--no-auto-grant")["mounts"]
    assert {mount["why"] for mount in mounts} == {"base"}


# dangerous grants

def test_an_unsafe_grant_is_permitted_exactly_noted_and_described(hutch):
    keys = hutch.home / ".ssh"
    done = hutch("run", "--ro", keys, UNSAFE, keys, "--", "cat", keys / "id")
    assert done.out == "CANARY-ssh-key\n", done
    assert [line for line in done.own_lines if "voids the sandbox" in line] == [
        f"[hutch] note: --unsafe-grant voids the sandbox for {keys}: it holds keys, and the command can read it"], done
    assert describe(hutch, "--rw", keys, UNSAFE, "~/.ssh")["unsafe_grants"] == [str(keys)]
    assert describe(hutch, "--ro", hutch.directory)["unsafe_grants"] == []


@pytest.mark.parametrize("words", [["--ro", "{h}/.ssh"], ["--rw", "{h}/.ssh/../.ssh/"], ["--ro-try", "{h}/.ssh"], ["--volume", "{h}/.ssh:/k"],
                                   ["--mount", "type=bind,src={h}/.ssh,dst=/k"], ["--ro", "{w}/link"], ["--ro", "~/.ssh:/k"]], ids=" ".join)
@pytest.mark.parametrize("spelling", ["{h}/.ssh", "~/.ssh", "{w}/link"])
def test_real_paths_are_compared(hutch, words, spelling):
    (hutch.directory / "link").symlink_to(hutch.home / ".ssh")
    names = {"h": hutch.home, "w": hutch.directory}
    done = hutch("run", *[word.format(**names) for word in words], UNSAFE, spelling.format(**names), "--", "true")
    assert done.status == 0 and "voids the sandbox" in done.err, done


@pytest.mark.parametrize("granted, permitted", [("{h}/.ssh", "{h}/.ssh/id"), ("{h}/.ssh/id", "{h}/.ssh"), ("{h}/.aws", "{h}/.ssh"), ("{h}", "{h}/.ssh"),
                                                ("{h}/.ssh", "{h}"), ("{h}/.ssh", "{h}/.s?h"), ("/", "/")])
def test_anything_but_the_very_path_stays_refused(hutch, granted, permitted):
    done = hutch("run", "--ro", granted.format(h=hutch.home), UNSAFE, permitted.format(h=hutch.home), "--", "true")
    assert done.status == 125 and "refusing to grant" in done.err, done


def test_one_permission_does_not_carry_another_grant(hutch):
    done = hutch("run", "--ro", "~/.ssh", UNSAFE, "~/.ssh", "--ro", "~/.aws", "--", "true")
    assert done.status == 125 and ".aws: it holds cloud credentials" in done.err, done


def test_what_the_command_names_is_never_permitted(hutch):
    (hutch.home / ".ssh/server.py").write_text("print('ran')")
    done = hutch("run", UNSAFE, "~/.ssh", UNSAFE, "~/.ssh/server.py", "--", PYTHON, hutch.home / ".ssh/server.py")
    assert done.status == 125 and "it holds keys" in done.err, done
    done = hutch("run", "--ro", "~/.ssh", UNSAFE, "~/.ssh", "--", PYTHON, hutch.home / ".ssh/server.py")
    assert done.out == "ran\n", done  # there by the grant


def test_a_permission_without_its_grant_is_noted(hutch):
    for options in ([], ["--ro", hutch.directory, UNSAFE, hutch.directory]):
        done = hutch("run", *options, UNSAFE, "~/.ssh", "--", "ls", "-A", hutch.home)
        assert (done.status, done.out) == (0, ""), done
        assert done.err.count("has no effect") == 1 + bool(options), done


@pytest.mark.parametrize("place", ["/proc", "/dev"])
def test_a_permission_does_not_replace_what_a_sandbox_needs(hutch, place):
    done = hutch("run", "--ro", place, UNSAFE, place, "--", "true")
    assert done.status == 125 and f"would hide the sandbox's own {place}" in done.err, done
    done = hutch("run", "--ro", f"{place}:/host", UNSAFE, place, "--", "ls", "/host")
    assert done.status == 0 and done.out, done


# files of variables

def test_env_files_set_variables_and_env_wins(hutch):
    (hutch.directory / "one").write_text("# comment\n\nA=one\nB=one\nC= with blanks \r\nPATH=/usr/bin\n")
    (hutch.directory / "two").write_text("B=two\nD=two")
    for name in ("one", "two"):
        (hutch.directory / name).chmod(0o600)
    done = hutch("run", "--env", "A=named", "--env-file", "one", "--env-file", hutch.directory / "two", "--", "sh", "-c", 'echo "$A,$B,$C,$D,$PATH"')
    assert (done.out, done.err) == ("named,two, with blanks ,two,/usr/bin\n", ""), done


def test_values_of_a_file_are_secrets(hutch):
    file = hutch.directory / "file"
    file.write_text("KEY=swordfish\n")
    done = hutch("run", "-v", "--env-file", file, "--dry-run", "--", "true")
    box = json.loads(done.out)
    assert box["environment"]["KEY"] is None and box["forwarded"] == ["KEY"] and "swordfish" not in done.out + done.err, done
    assert "variable KEY" in done.err and f"other users can read {file}" in done.err, done


@pytest.mark.parametrize("line", ["swordfish", "export KEY=swordfish", "swordfish/+==", "KEY: swordfish", " =swordfish"])
def test_a_malformed_line_is_named_by_its_number_alone(hutch, line):
    (hutch.directory / "file").write_text(f"A=1\n\n{line}\n")
    done = hutch("run", "--env-file", "file", "--", "true")
    assert done.status == 2 and f"{hutch.directory}/file:3: " in done.err and "swordfish" not in done.err, done


def test_an_env_file_that_is_none_is_125(hutch):
    os.mkfifo(hutch.directory / "fifo")
    (hutch.directory / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    for name in ("missing", "fifo", "large", ".", "/dev/zero"):
        done = hutch("run", "--env-file", name, "--", "true", timeout=10)
        assert done.status == 125 and "cannot read --env-file" in done.err, done
