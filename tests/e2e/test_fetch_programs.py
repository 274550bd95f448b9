# SPDX-License-Identifier: Apache-2.0
"""A fetched package's program is started without npx and uvx, and neither it nor the person can tell. Each way of writing the command is
run twice: as it is, and with an option that leaves everything to npx."""
import json
import os

import pytest
from fetching import call, entries, is_direct, npm, uv  # noqa: F401 (fixtures)
from layouts import make

TELL = """#!/usr/bin/env node
const { env } = process, known = ['HOME', 'INIT_CWD', 'npm_command', 'npm_lifecycle_event', 'npm_config_offline', 'npm_config_registry']
console.log(JSON.stringify({
  argv: process.argv, argv0: process.argv0, name: __filename, cwd: process.cwd(), PATH: env.PATH.split(':').filter(p => !p.includes('node-gyp-bin')),
  cmdline: require('fs').readFileSync('/proc/self/cmdline', 'utf8').split('\\0'), env: known.map(name => env[name])}))
if (process.argv[2] === 'exit') process.exit(+process.argv[3])
if (process.argv[2] === 'die') process.kill(process.pid, process.argv[3])
"""
BY_ITSELF = "--loglevel=error"  # npx runs


def both(npm, before, words, *options):
    """What the program tells, started by hutch itself and by npx, which must be the same; and the statuses."""
    told = []
    for option in ([], [BY_ITSELF]):
        done = call(npm, "run", "-v", *options, "--", *before, *option, *words)
        assert is_direct(done) == (not option), done
        told.append((done.status, json.loads(done.out) if done.out else None))
    assert told[0] == told[1]
    return told[0]


def test_the_program_cannot_tell(npm):
    npm.registry.publish("tell", files={"cli.js": TELL})
    _, told = both(npm, ["npx", "-y"], ["tell", "a", "two words", "", "$HOME", "*", "it's", "--", "--yes"])
    assert told["argv"][2:] == ["a", "two words", "", "$HOME", "*", "it's", "--", "--yes"]
    assert told["argv"][1] == f"{npm.home}/.npm/_npx/{told['argv'][1].split('/')[-4]}/node_modules/.bin/tell"
    for before, words in [(["npm", "exec", "--yes"], ["--", "tell", "a", "-b"]), (["npx", "-y"], ["-p", "tell", "tell", "-x"]), (["npx"], ["--", "tell", "-x"])]:
        assert both(npm, before, words)[1]["argv"][2:][-1] == words[-1]
    assert both(npm, ["npx", "-y"], ["tell", "exit", "7"])[0] == 7
    assert both(npm, ["npx", "-y"], ["tell", "die", "SIGTERM"])[0] == 143
    for words in (["npx", "-y", "-c", "tell a"], ["npx", "-y", "-p", "tell", "-c", "tell a"]):
        done = call(npm, "run", "-v", "--", *words)
        assert not is_direct(done) and (done.status != 0 or json.loads(done.out)["argv"][2:] == ["a"]), done
    assert entries(npm) == ["npm%3atell"]


@pytest.mark.parametrize("bin, choice", [({"other": "cli.js"}, "other"), ({"tool": "cli.js", "cli": "other.js"}, "tool"), ({"z": "cli.js", "a": "cli.js"}, "z"),
                                         ({"a": "cli.js", "b": "other.js"}, None), ("cli.js", "tool")],
                         ids=["single", "named", "alias", "unclear", "text"])
def test_the_choice_is_npms(npm, bin, choice):
    npm.registry.publish("@me/tool", files={"cli.js": TELL, "other.js": "#!/usr/bin/env node\n"}, bin=bin)
    if choice:
        _, told = both(npm, ["npx", "-y"], ["@me/tool@1.0.0", "x"])
        assert os.path.basename(told["argv"][1]) == choice
        return
    direct, npx = (call(npm, "run", "-v", "--", "npx", "-y", *option, "@me/tool") for option in ([], [BY_ITSELF]))
    assert not is_direct(direct) and direct.status == npx.status == 1, (direct, npx)


def test_a_program_of_the_project_is_left_to_npx(npm):
    """A program of that name in node_modules/.bin, from the working directory upward; nothing else of a project counts."""
    npm.registry.publish("tell", files={"cli.js": TELL})
    call(npm, "fetch", "--", "npx", "-y", "tell")
    project = npm.home / "project"
    make(project / "package.json", json.dumps({"name": "mine", "version": "1.0.0", "bin": {"tell": "mine.js"}}))
    make(project / "node_modules/other/package.json", "{}")
    make(project / ".npmrc", "loglevel=silent\n")
    make(project / "below/file")
    command = ["run", "-v", "--rw", project, "--cwd", project / "below", "-e", "npm_config_loglevel=error", "--", "npx", "-y", "tell"]
    done = call(npm, *command)
    assert is_direct(done) and f"{project}/node_modules/.bin" in json.loads(done.out)["PATH"], done
    make(project / "node_modules/.bin/tell", "#!/bin/sh\necho of the project\n", 0o755)
    done = call(npm, *command)
    assert not is_direct(done) and done.out == "of the project\n", done
    described = json.loads(call(npm, "run", "--dry-run", "--", "npx", "-y", "tell", "x").out)
    assert described["argv"] == ["npx", "-y", "tell", "x"] and described["started"] == ["tell", "x"] and described["executable"].endswith("/.bin/tell")


@pytest.mark.parametrize("words, out", [(["uvx", "hello", "x"], "tool hello x"), (["uvx", "hello==1.0", "x"], "tool hello==1.0 x"), (["uvx", "hello@1.0", "-x"], "tool hello==1.0 -x"),
                                        (["uv", "tool", "run", "hello", "x"], "tool hello x"), (["uvx", "--from", "hello", "tool", "x"], "tool hello x")],
                         ids=lambda words: " ".join(words) if isinstance(words, list) else "")
def test_tools_of_uv(uv, words, out):
    uv.registry.publish("hello")
    for option in ([], [], ["-v"]):
        done = call(uv, "run", *option, "--", *words)
        assert (done.status, done.out) == (0, out + "\n"), done
    assert is_direct(done) and uv.registry.asked() == ["/hello"] and entries(uv)[0].startswith("uv%3ahello")


def test_a_rename_elsewhere_is_no_reason_for_npx(npm, preload):
    """The kernel fails a lookup below a directory with EAGAIN while anything on the machine is renamed or mounted."""
    npm.registry.publish("tell", files={"cli.js": TELL})
    call(npm, "fetch", "--", "npx", "-y", "tell")
    done = call(npm, "run", "-v", "--", "npx", "-y", "tell", env=preload("openat2_again.c"))
    assert done.status == 0 and is_direct(done), done
