# SPDX-License-Identifier: Apache-2.0
"""Bad input starts nothing, says one sentence, and ends with 2 or 125; --dry-run describes and runs nothing."""
import json
import os

import harness
import pytest

LONG = "x" * 120_000  # more than any path, name or number may have, less than one argument of execve may

# Words that follow `hutch`; {ran} is a marker file that the command would make.
USAGE_ERRORS = {
    "no subcommand": [],
    "unknown subcommand": ["launch", "--", "touch", "{ran}"],
    "no separator": ["run", "touch", "{ran}"],
    "no command": ["run", "--"],
    "no command at all": ["mcp"],
    "empty command": ["run", "--", ""],
    "unknown option": ["run", "--nonetwork", "--", "touch", "{ran}"],
    "misspelt option": ["mcp", "--netwrok-allow", "x.test", "--", "touch", "{ran}"],
    "unknown letter": ["run", "-Z", "--", "touch", "{ran}"],
    "value for a flag": ["run", "--raw-stdout=yes", "--", "touch", "{ran}"],
    "missing value": ["run", "--env"],
    "value swallowed by the separator": ["run", "--cwd", "--", "touch", "{ran}"],
    "empty value": ["run", "--env=", "--", "touch", "{ran}"],
    "empty cwd": ["run", "--cwd=", "--", "touch", "{ran}"],
    "empty grant": ["run", "--rw=", "--", "touch", "{ran}"],
    "grant with an empty destination": ["run", "--rw", "/usr:", "--", "touch", "{ran}"],
    "grant to a relative destination": ["run", "--ro", "/usr:there", "--", "touch", "{ran}"],
    "variable that is not set": ["run", "--env", "SURELY_NOT_SET", "--", "touch", "{ran}"],
    "variable without a name": ["run", "--env", "=value", "--", "touch", "{ran}"],
    "timeout is no number": ["run", "--timeout", "soon", "--", "touch", "{ran}"],
    "timeout is negative": ["run", "--timeout", "-1", "--", "touch", "{ran}"],
    "timeout is fractional": ["run", "--timeout", "1.5", "--", "touch", "{ran}"],
    "timeout has a unit": ["run", "--timeout", "5s", "--", "touch", "{ran}"],
    "timeout overflows": ["run", "--timeout", "99999999999999999999", "--", "touch", "{ran}"],
    "timeout wraps": ["run", "--timeout", "4294967297", "--", "touch", "{ran}"],
    "grace is no number": ["run", "--stop-grace", "x", "--", "touch", "{ran}"],
    "grace is empty": ["run", "--stop-grace=", "--", "touch", "{ran}"],
    "unknown layer": ["run", "--require", "magic", "--", "touch", "{ran}"],
    "empty item of a list": ["run", "--require", "landlock,,", "--", "touch", "{ran}"],
    "unknown kind of userns": ["run", "--allow-userns=some", "--", "touch", "{ran}"],
    "empty kind of userns": ["run", "--allow-userns=", "--", "touch", "{ran}"],
    "unknown kind of proc": ["run", "--proc", "some", "--", "touch", "{ran}"],
    "two single values": ["run", "--cwd", "/usr", "--cwd", "/tmp", "--", "touch", "{ran}"],
}

SETUP_ERRORS = {
    "grant of nothing": ["run", "--rw", "/no/such/directory", "--", "touch", "{ran}"],
    "read-only grant of nothing": ["run", "--ro", "{directory}/missing", "--", "touch", "{ran}"],
    "grant below a file": ["run", "--ro", "/etc/passwd/x", "--", "touch", "{ran}"],
    "cwd is a file": ["run", "--ro", "{directory}/file", "--cwd", "{directory}/file", "--", "touch", "{ran}"],
    "cwd is not inside": ["run", "--cwd", "/no/such/directory", "--", "touch", "{ran}"],
    "grant of the root": ["run", "--rw", "/", "--", "touch", "{ran}"],
    "grant of the home": ["run", "--rw", "{home}", "--", "touch", "{ran}"],
    "grant above the home": ["run", "--ro", "{home}/..", "--", "touch", "{ran}"],
    "grant of the home with a ~": ["run", "--ro", "~/", "--", "touch", "{ran}"],
    "grant of keys": ["run", "--ro", "{home}/.ssh", "--", "touch", "{ran}"],
    "grant of one key": ["run", "--ro", "{home}/.ssh/id", "--", "touch", "{ran}"],
    "grant of keys through a link": ["run", "--ro", "{directory}/innocent", "--", "touch", "{ran}"],
    "grant of run": ["run", "--rw", "/run", "--", "touch", "{ran}"],
    "grant of proc": ["run", "--ro", "/proc", "--", "touch", "{ran}"],
    "grant of sys": ["run", "--ro", "/sys", "--", "touch", "{ran}"],
    "grant of dev": ["run", "--rw", "/dev", "--", "touch", "{ran}"],
    "profile that is no JSON": ["run", "--seccomp", "{directory}/file", "--", "touch", "{ran}"],
    "profile that is a directory": ["run", "--seccomp", "{directory}", "--", "touch", "{ran}"],
    "profile that never ends": ["run", "--seccomp", "/dev/zero", "--", "touch", "{ran}"],
    "profile that is a fifo": ["run", "--seccomp", "{directory}/fifo", "--", "touch", "{ran}"],
    "profile in which nothing starts": ["run", "--seccomp", "{directory}/nothing.json", "--", "touch", "{ran}"],
}

EITHER = {
    "unknown template": ["run", "--template", "no-such-template", "--", "touch", "{ran}"],
    "template with a long name": ["run", "--template", LONG, "--", "touch", "{ran}"],
    "template that climbs": ["run", "--template", "../../etc/passwd", "--", "touch", "{ran}"],
    "template file that is no template": ["run", "--template", "{directory}/nothing.json", "--", "touch", "{ran}"],
    "long grant": ["run", "--rw", "/" + LONG, "--", "touch", "{ran}"],
    "long destination": ["run", "--ro", "/usr:/" + LONG, "--", "touch", "{ran}"],
    "long cwd": ["run", "--cwd", "/" + LONG, "--", "touch", "{ran}"],
    "long number": ["run", "--timeout", "1" * 5000, "--", "touch", "{ran}"],
    "long option": ["run", "--" + LONG, "--", "touch", "{ran}"],
    "long variable name": ["run", "--env", LONG, "--", "touch", "{ran}"],
    "long profile name": ["run", "--seccomp", "/" + LONG, "--", "touch", "{ran}"],
    "control bytes in a path": ["run", "--rw", "/no/such\n[hutch] fine\x1b[2J", "--", "touch", "{ran}"],
    "broken UTF-8 in an option": ["run", os.fsdecode(b"--\xff\xfe"), "--", "touch", "{ran}"],
    "destination inside proc": ["run", "--ro", "{directory}:/proc/self", "--", "touch", "{ran}"],
}


def refuse(hutch, words):
    """Runs bad words and returns how it ended, after checking what holds for every refusal."""
    ran = hutch.directory / "ran"
    (hutch.directory / "file").write_text("not JSON, and no directory\n")
    (hutch.directory / "nothing.json").write_text('{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []}')
    os.mkfifo(hutch.directory / "fifo")
    (hutch.directory / "innocent").symlink_to(hutch.home / ".ssh")
    words = [word.replace("{ran}", str(ran)).replace("{directory}", str(hutch.directory)).replace("{home}", str(hutch.home))
             for word in words]
    if "--rw" not in words and len(words) > 2 and words[0] in ("run", "mcp"):
        words[1:1] = ["--rw", str(hutch.directory)]  # so that the command could make its marker
    done = hutch(*words, timeout=10)
    assert not ran.exists(), "the command ran"
    assert done.out == "", done
    sentence, *usage = done.err.splitlines()
    assert sentence.startswith("[hutch] ") and done.err.endswith("\n"), done
    # a usage error is followed by the usage line, anything else stands alone
    assert [line.startswith("[hutch] usage: ") for line in usage] == [True] * (done.status == 2), done
    assert all(line.isprintable() for line in done.err.splitlines()), done
    assert len(done.err) < 4000
    return done


def test_the_marker_can_be_made(hutch):
    """Without this every refusal below would prove nothing."""
    done = hutch("run", "--rw", hutch.directory, "--", "touch", hutch.directory / "ran")
    assert done.status == 0 and (hutch.directory / "ran").exists(), done


@pytest.mark.parametrize("words", USAGE_ERRORS.values(), ids=USAGE_ERRORS)
def test_usage_error_is_2(hutch, words):
    assert refuse(hutch, words).status == 2


@pytest.mark.parametrize("words", SETUP_ERRORS.values(), ids=SETUP_ERRORS)
def test_what_cannot_be_set_up_is_125(hutch, words):
    assert refuse(hutch, words).status == 125


@pytest.mark.parametrize("words", EITHER.values(), ids=EITHER)
def test_other_bad_input_is_2_or_125(hutch, words):
    assert refuse(hutch, words).status in (2, 125)


@pytest.mark.parametrize("kind", ["run", "mcp"])
def test_the_nearest_option_is_named(hutch, kind):
    assert "--timeout" in refuse(hutch, [kind, "--timeuot", "3", "--", "touch", "{ran}"]).err


@pytest.mark.parametrize("words", [["--bind", "/a"], ["--network", "none"], ["--read-only"], ["--cap-drop", "ALL"], ["--rm"], ["-i"]],
                         ids=lambda words: words[0])
def test_an_option_of_another_tool_is_translated(hutch, words):
    assert refuse(hutch, ["run", *words, "--", "touch", "{ran}"]).status == 2


def test_a_hutch_option_behind_the_separator_is_the_commands_own_and_noted(hutch):
    done = hutch("run", "--", "echo", "--rw", "/usr")
    assert (done.status, done.out) == (0, "--rw /usr\n"), done


def test_an_argument_that_is_a_second_separator_is_passed_on(hutch):
    assert hutch("run", "--", "echo", "a", "--", "b").out == "a -- b\n"


def test_dry_run_is_one_json_object_and_starts_nothing(hutch):
    ran = hutch.directory / "ran"
    done = hutch("run", "--dry-run", "--rw", hutch.directory, "--env", "CANARY_VARIABLE", "--env", "INLINE=CANARY-inline", "--timeout", 7,
                 "--", "touch", ran)
    assert done.status == 0 and not ran.exists(), done
    box = json.loads(done.out)
    assert isinstance(box, dict)
    text = json.dumps(box)
    assert "CANARY-environment" not in text and "CANARY-inline" not in text, "a value of a secret is shown"
    assert "CANARY_VARIABLE" in text and "INLINE" in text, "the names are missing"
    assert str(hutch.directory) in text and str(ran) in text
    assert "CANARY" not in done.err


def test_dry_run_refuses_what_a_run_refuses(hutch):
    assert refuse(hutch, ["run", "--dry-run", "--rw", "/no/such/directory", "--", "touch", "{ran}"]).status == 125


def test_verbose_names_secrets_and_never_shows_them(hutch):
    done = hutch("run", "--verbose", "--env", "CANARY_VARIABLE", "--", "true")
    assert done.status == 0 and done.err, done
    assert "CANARY_VARIABLE" in done.err and "CANARY-environment" not in done.err


def test_verbose_says_nothing_on_stdout(hutch):
    assert hutch("mcp", "-v", "--", "true", input="").out == ""


@pytest.mark.parametrize("kind", ["run", "mcp"])
def test_no_network_is_said_once(hutch, kind):
    assert hutch(kind, "--", "true", input="").whole_err == harness.DENY_ALL
    assert hutch(kind, "--network-deny", "public", "--", "true", input="").whole_err == harness.DENY_ALL
    assert harness.DENY_ALL not in hutch(kind, "--network-allow", "example.com", "--", "true", input="").whole_err
    assert hutch(kind, "--dry-run", "--", "true").whole_err == ""
    assert hutch(kind, "--", "/no/such/command").whole_err.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["mcp", "--help"], ["help"], ["help", "run"], ["version"], ["--version"]],
                         ids=" ".join)
def test_help_and_version_go_to_stdout(hutch, words):
    done = hutch(*words)
    assert done.status == 0 and done.out and done.err == "", done


# what a beginner writes: one sentence that says what to do

@pytest.mark.parametrize("words, status, says", [
    (["--", "node", "x"], 2, "hutch mcp --"),
    (["--ro", "/usr", "mcp", "--", "true"], 2, "options go after it"),
    (["mcp --ro /usr -- true"], 2, "each word must be a separate argument"),
    (["run", "--ro /usr", "--", "true"], 2, "two words"),
    (["run", "--", "--ro", "/usr", "true"], 2, "put options before --"),
    (["run", "true"], 2, "-- is missing before the command true"),
    (["npx", "-y", "server"], 2, "write hutch mcp -- npx …"),
    (["./server", "x"], 2, "write hutch mcp -- ./server …"),
    (["mpc", "--", "true"], 2, "did you mean mcp?"),
    (["run", "-m", "1g", "--", "true"], 2, "write --memory SIZE"),
    (["mcp", "-rw", "/usr", "--", "true"], 2, "did you mean --rw?"),
    (["run", "--allow-network", "a.b", "--", "true"], 2, "did you mean --network-allow?"),
    (["run", "--network-allow", "a.test b.test", "--", "true"], 2, "write a.test,b.test"),
    (["run", "--network-allow", "a.test/443", "--", "true"], 2, "write a.test:443"),
    (["run", "--network-allow", "a.test:443/upd", "--", "true"], 2, "write a.test:443/udp"),
    (["run", "--network-allow", "udp://a.test:123", "--", "true"], 2, "write a.test:123/udp"),
    (["run", "--network-allow", "a.test:443,8080", "--", "true"], 2, "write a.test:8080"),
    (["run", "--network-allow", "localhost:https", "--", "true"], 2, "https is neither a port nor a range of ports (1 to 65535); write localhost:443"),
    (["run", "--network-allow", "internet", "--", "true"], 2, "write public for every public destination"),
    (["mcp", "\u2013", "true"], 2, "write two short ones, --"),
    (["run", "--", "KEY=value", "true"], 127, "write --env KEY=… before --"),
    (["run", "--", "~/server"], 127, "~ is not expanded after --"),
    (["run", "--ro", "$HOME/notes", "--", "true"], 125, "no variable is expanded"),
    (["run", "--", "python3 /x.py"], 127, "as separate words"),
    (["run", "--", "surely-no-such-command"], 127, "install it, or name it by its path"),
    (["run", "--env", "SURELY_NOT_SET", "--", "true"], 2, "leave the option out"),
    (["run", "--cwd", "{home}/.ssh", "--", "true"], 125, "it exists, but is not visible inside"),
    (["run", "--ro", "{home}/notes.txt:/usr", "--", "true"], 125, "would hide the sandbox's own /usr"),
    (["run", "--rw", "{home}/.bashrc", "--", "true"], 125, "runs outside the sandbox"),
    (["run", "--rw", "{home}/.mcp.json", "--", "true"], 125, "MCP client's configuration"),
    (["run", "--rw", "{home}/project/.cursor", "--", "true"], 125, "MCP client's configuration"),
    (["run", "--rw", "{home}/dot", "--", "true"], 125, "runs outside the sandbox"),
])
def test_a_beginners_mistake_gets_the_hint_it_needs(hutch, words, status, says):
    for name in (".bashrc", ".mcp.json"):
        (hutch.home / name).write_text("")
    (hutch.home / "project/.cursor").mkdir(parents=True)
    (hutch.home / "dot").mkdir()
    (hutch.home / "dot/zshrc").write_text("")
    (hutch.home / ".zshrc").symlink_to("dot/zshrc")
    done = hutch(*[word.format(home=hutch.home) for word in words])
    assert done.status == status and says in done.err, done


@pytest.mark.parametrize("words, says", [
    (["npx", "--version", "-y"], "downloads what is not installed"),
    (["ls", "~/x"], "~ is not expanded after --"),
    (["{directory}/docker", "run", "--rm", "image"], "cannot start containers from inside a sandbox"),
])
def test_what_will_not_do_what_was_meant_is_noted_before_it_runs(hutch, words, says):
    (hutch.directory / "docker").write_text("#!/bin/sh\n")
    (hutch.directory / "docker").chmod(0o755)
    done = hutch("run", "--", *[word.format(directory=hutch.directory) for word in words])
    assert [line for line in done.own_lines if says in line] and "the command gets it" not in done.err, done


@pytest.mark.parametrize("word", ["--allow-net", "--name", "-m", "--bind", "--network=none"])
def test_options_that_many_commands_have_are_theirs_after_the_separator(hutch, word):
    done = hutch("run", "--", "true", word)
    assert done.status == 0 and not done.own_lines, done


def test_directories_that_the_sandbox_has_itself_are_no_missing_data(hutch):
    done = hutch("run", "--", "ls", "/", "/etc", "/var")
    assert done.status == 0 and not done.own_lines, done


def test_secrets_beside_a_program_are_pointed_out(hutch):
    (hutch.directory / "server.py").write_text("")
    assert not hutch("run", "--", "python3", hutch.directory / "server.py").own_lines
    (hutch.directory / ".env").write_text("KEY=1")
    done = hutch("run", "--", "python3", hutch.directory / "server.py")
    assert done.status == 0 and f"{hutch.directory}/.env is readable inside" in done.err, done
