# SPDX-License-Identifier: Apache-2.0
"""What a server left in a writable directory must not turn an option of the next run into more than the person meant, and
what is given to it in memory must stay there. Each way is first proven to lead somewhere without hutch's refusal."""
import os

import pytest
from harness import PYTHON, wait_until


@pytest.fixture
def private(hutch):
    directory = hutch.home / "private"
    directory.mkdir()
    (directory / "key").write_text("KEY=CANARY-private\n")
    return directory


SPELLINGS = [["--ro", "{0}/sub"], ["--ro-try", "{0}/sub"], ["--rw-try", "{0}/sub"], ["--ro", "{0}/sub:/data"], ["--volume", "{0}/sub:/data"],
             ["--mount", "type=bind,source={0}/sub,target=/data,ro"], ["--ro", "{0}/sub/key"], ["--ro", "{0}/./sub/../sub"]]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("words", SPELLINGS, ids=" ".join)
def test_a_link_that_a_server_left_does_not_widen_a_grant(hutch, private, words, last):
    """The server that may write the project replaces a directory of it that the next run grants by name."""
    words = [word.format(hutch.directory) for word in words]
    forgotten = {"XDG_STATE_HOME": str(hutch.home / "elsewhere")}  # or hutch would remember that the server could write there
    made = hutch("run", "--rw", hutch.directory, "--", "ln", "-s", private, hutch.directory / "sub", env=forgotten)
    assert made.status == 0 and (hutch.directory / "sub/key").exists(), made
    read = ["sh", "-c", f"cat {hutch.directory}/sub/key /data/key {private}/key"]
    alone = hutch("run", *words, "--", *read)
    assert "CANARY" in alone.out, f"the link leads nowhere, so it proves nothing: {alone}"
    options = [*words, "--rw", hutch.directory] if last else ["--rw", hutch.directory, *words]
    done = hutch("run", *options, "--", *read)
    assert done.status == 125 and "CANARY" not in done.out and "the server may have put it there" in done.err, done


def test_a_link_between_two_places_of_one_grant_is_no_way_out(hutch):
    (hutch.directory / "real").mkdir()
    (hutch.directory / "real/f").write_text("mine\n")
    (hutch.directory / "sub").symlink_to("real")
    assert hutch.inside(f"cat {hutch.directory}/sub/f", "--rw", hutch.directory, "--ro", hutch.directory / "sub") == "mine\n"


@pytest.mark.parametrize("granted", ["{0}/sub", "{1}"])
def test_a_link_that_a_server_left_does_not_choose_what_is_permitted(hutch, granted):
    keys = hutch.home / ".ssh"
    (hutch.directory / "sub").symlink_to(keys)
    words = ["--ro", granted.format(hutch.directory, keys), "--unsafe-grant", hutch.directory / "sub"]
    alone = hutch("run", *words, "--", "cat", keys / "id")
    assert "CANARY" in alone.out, alone
    done = hutch("run", "--rw", hutch.directory, *words, "--", "cat", keys / "id")
    assert done.status == 125 and "CANARY" not in done.out, done


def test_a_link_that_a_server_left_is_no_env_file(hutch, private):
    (hutch.directory / "env").symlink_to(private / "key")
    command = ["--env-file", hutch.directory / "env", "--", "sh", "-c", "echo $KEY"]
    alone = hutch("run", *command)
    assert alone.out == "CANARY-private\n", alone
    done = hutch("run", "--rw", hutch.directory, *command)
    assert done.status == 125 and done.out == "" and "the server may have put it there" in done.err, done


def test_a_link_where_memory_shall_be_does_not_lead_there(hutch, private):
    (hutch.directory / "sub").symlink_to(private)
    done = hutch("run", "--rw", hutch.directory, "--tmpfs", hutch.directory / "sub", "--", "touch", hutch.directory / "sub/x")
    assert done.status == 125 and os.listdir(private) == ["key"], done
    done = hutch("run", "--rw", hutch.directory, "--tmpfs", f"{hutch.directory}/sub/deep", "--", "true")
    assert done.status == 125 and os.listdir(private) == ["key"], done


def test_memory_is_no_way_to_devices_or_other_rights(hutch, attempt):
    """A set-user-ID program and a device in memory have no power there."""
    out = hutch.inside("cp /bin/sh /m/sh; chmod 4755 /m/sh; grep -c ' /m rw,nosuid,nodev' /proc/self/mountinfo; mknod /m/null c 1 3 2>&1 || true; ls /m",
                       "--tmpfs", "/m:8m")
    assert out.startswith("1\n") and out.endswith("\nsh\n") and "not permitted" in out, out


def test_many_small_files_in_memory_meet_a_bound(hutch):
    """The budget counts bytes; names cost the kernel's memory as well."""
    script = f"""
        import os
        n = 0
        try:
            while n < 300000:
                os.mknod(f"/m/{{n}}"); n += 1
        except OSError as error:
            print(error.errno)
        print(n < 300000)
    """
    (hutch.directory / "fill.py").write_text("\n".join(line[8:] for line in script.splitlines()))
    done = hutch("run", "--tmpfs", "/m:1m", "--", PYTHON, hutch.directory / "fill.py", timeout=60)
    assert done.out == "28\nTrue\n", done


def test_memory_is_gone_with_the_sandbox(hutch):
    with hutch.start("run", "--tmpfs", "/m:1m", "--rw", hutch.directory, "--", "sh", "-c", f"echo CANARY >/m/f; touch {hutch.directory}/ready; sleep 60") as process:
        wait_until((hutch.directory / "ready").exists, what="the start")
        process.kill()
    assert hutch.inside("ls /m", "--tmpfs", "/m:1m") == ""
