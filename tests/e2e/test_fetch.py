# SPDX-License-Identifier: Apache-2.0
"""`hutch fetch`, --fetch and --persist, with a registry of our own in the offline world. The real one is in the slow tier."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest
from fetching import before, call, entries, npm as empty  # noqa: F401 (a fixture)
from harness import descendants, wait_until
from layouts import make


@pytest.fixture
def npm(empty):
    empty.registry.publish("hello")
    return empty


def test_the_first_start_fetches_and_the_next_is_offline(npm):
    done = call(npm, "run", "--", "npx", "-y", "hello", "one", "two words")
    assert (done.status, done.out) == (0, "hello 1.0.0 one two words\n"), done
    assert [line for line in done.own_lines if "fetching first, once: hello is not here yet" in line], done
    assert entries(npm) == ["npm%3ahello"] and npm.store.stat().st_mode & 0o777 == 0o700
    asked = npm.registry.asked()
    assert "/hello" in asked
    done = call(npm, "run", "--", "npx", "-y", "hello", "three")
    assert (done.status, done.out, done.own_lines) == (0, "hello 1.0.0 three\n", []), done
    assert npm.registry.asked() == asked


@pytest.mark.parametrize("words, out", [
    (["npx", "-y", "hello@1.0.0"], "hello 1.0.0"), (["npx", "--yes", "hello@latest"], "hello 2.0.0"), (["npx", "-y", "hello@first"], "hello 1.0.0"),
    (["npx", "-y", "hello@^1.0.0"], "hello 1.0.0"), (["npx", "-y", "@me/tool"], "@me/tool 1.0.0"),
    (["npx", "-y", "--package", "@me/tool", "tool"], "@me/tool 1.0.0"), (["npx", "-y", "-p", "hello@1", "-p", "@me/tool", "--", "hello"], "hello 1.0.0"),
    (["npm", "exec", "--yes", "--package=hello", "--", "hello"], "hello 2.0.0")], ids=lambda words: " ".join(words) if isinstance(words, list) else "")
def test_names_versions_tags_and_scopes(npm, words, out):
    npm.registry.publish("hello", "2.0.0")
    npm.registry.publish("@me/tool")
    for _ in range(2):
        done = call(npm, "run", "--", *words)
        assert (done.status, done.out) == (0, out + "\n"), done
    assert len(entries(npm)) == 1


def test_unpinned_packages_stay_at_their_version_until_an_update(npm):
    assert call(npm, "fetch", "--", "npx", "-y", "hello").out == "npm:hello: fetched, 1 packages\n"
    npm.registry.publish("hello", "2.0.0")
    assert call(npm, "run", "--", "npx", "-y", "hello").out == "hello 1.0.0\n"
    assert "fetched already" in call(npm, "fetch", "--", "npx", "-y", "hello").out
    assert call(npm, "run", "--", "npx", "-y", "hello").out == "hello 1.0.0\n"
    done = call(npm, "fetch", "--update")
    assert done.status == 0, done
    assert call(npm, "run", "--", "npx", "-y", "hello").out == "hello 2.0.0\n"
    assert entries(npm) == ["npm%3ahello"]
    assert "npm:hello  2.0.0" in call(npm, "fetch", "--list").out


def test_an_update_that_fails_keeps_what_was_kept(npm):
    call(npm, "fetch", "--", "npx", "-y", "hello")
    shutil.rmtree(npm.registry.directory / "packages/hello")
    done = call(npm, "fetch", "--update")
    assert done.status == 125 and "npm:hello: npm could not fetch (status 1); the entry that exists is unchanged" in done.err, done
    assert call(npm, "run", "--", "npx", "-y", "hello").out == "hello 1.0.0\n"


@pytest.mark.parametrize("words", [["uvx", "hello"], ["uv", "tool", "run", "hello"]])
def test_a_tool_that_is_not_installed(npm, words):
    if shutil.which(words[0], path=npm.environment["PATH"]):
        npm.environment["PATH"] = "/usr/bin:/bin"
    done = call(npm, "fetch", "--", *words)
    assert done.status == 127 and f"the command {words[0]} was not found on PATH" in done.err and "install it" in done.err, done


def test_a_running_server_keeps_what_it_has_during_an_update(npm):
    npm.registry.publish("late", files={"cli.js": "#!/usr/bin/env node\nconsole.log('up'); process.stdin.once('data', () => { console.log(require('./part.js')); process.exit() })\n",
                                        "part.js": "module.exports = 'old'"})
    call(npm, "fetch", "--", "npx", "-y", "late")
    process = npm.start("run", "--", "npx", "-y", "late", before=before(npm), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    npm.registry.publish("late", "2.0.0", files={"part.js": "module.exports = 'new'"})
    assert call(npm, "fetch", "--update", "--", "npx", "-y", "late").status == 0
    out, _ = process.communicate(b"go\n", timeout=30)
    assert (process.returncode, out) == (0, b"old\n")
    call(npm, "fetch", "--update")
    assert entries(npm) == ["npm%3alate"]


@pytest.mark.parametrize("options, words, says", [(["--fetch", "never"], ["npx", "-y", "hello", "it's"], "hutch fetch -- npx -y hello \"it's\""),
                                                  ([], ["npx", "hello"], "hutch fetch -- npx hello"), (["--fetch", "never"], ["uvx", "x"], "hutch fetch -- uvx x")])
def test_what_is_not_fetched_fails_at_once_and_names_the_line(npm, options, words, says):
    make(npm.home / "bin/uvx", "#!/bin/sh\n", 0o755)
    npm.environment["PATH"] += f":{npm.home}/bin"
    done = call(npm, "mcp", *options, "--", *words)
    assert done.status == 125 and says in done.err and done.seconds < 1, done
    assert npm.registry.asked() == [] and not npm.store.exists()


def test_always_fetches_without_the_commands_consent(npm):
    done = call(npm, "run", "--fetch", "always", "--", "npx", "hello")
    assert (done.status, done.out) == (0, "hello 1.0.0\n"), done


def test_a_package_that_no_registry_has(npm):
    done = call(npm, "run", "--", "npx", "-y", "absent")
    assert done.status == 125 and "could not be fetched" in done.err and "404" in done.err, done
    log = call(npm, "logs").out
    assert "404" in log and "npm:absent: npm could not fetch (status 1)" in log and "the lines above" in log, log
    assert entries(npm) == []


def test_a_description_fetches_nothing(npm):
    done = call(npm, "run", "--dry-run", "--", "npx", "-y", "hello")
    assert done.status == 0 and "would be fetched first" in done.err and not npm.store.exists(), done
    call(npm, "fetch", "--", "npx", "-y", "hello")
    mounts = json.loads(call(npm, "run", "--dry-run", "--", "npx", "-y", "hello").out)["mounts"]
    assert [mount["destination"] for mount in mounts if "packages of npm:hello" in mount["why"]] == [f"{npm.home}/.npm"]


def test_eight_starts_at_once_of_what_is_not_there(npm):
    started = [npm.start("run", "--", "npx", "-y", "hello", str(i), before=before(npm), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(8)]
    for i, process in enumerate(started):
        out, err = process.communicate(timeout=140)
        assert (process.returncode, out) == (0, b"hello 1.0.0 %d\n" % i), err
    assert entries(npm) == ["npm%3ahello"]
    assert sum(path.endswith(".tgz") for path in npm.registry.asked()) == 1


def wait_for_the_end():
    """Of all that a fetch has started: each ends with the one before."""
    wait_until(lambda: not [name for name in descendants().values() if "npx" in name or "npm" in name], 10, "the end of the fetch")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_fetch_leaves_nothing_broken(npm, number):
    (npm.registry.directory / "stall").touch()
    process = npm.start("run", "--", "npx", "-y", "hello", before=before(npm), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: any(path.endswith(".tgz") for path in npm.registry.asked()), 60, "the download")
    assert entries(npm) == [".new:npm%3ahello"]
    process.send_signal(number)
    process.communicate(timeout=10)
    wait_for_the_end()
    (npm.registry.directory / "stall").unlink()
    npm.registry.publish("other")
    assert call(npm, "fetch", "--", "npx", "-y", "other").status == 0
    assert entries(npm) == ["npm%3aother"]
    assert call(npm, "run", "--", "npx", "-y", "hello").out == "hello 1.0.0\n"


def test_a_fetch_ends_when_the_client_has_gone(npm):
    (npm.registry.directory / "stall").touch()
    process = npm.start("mcp", "--", "npx", "-y", "hello", before=before(npm), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: any(path.endswith(".tgz") for path in npm.registry.asked()), 60, "the download")
    process.stdin.close()
    process.stdout.close()
    assert process.wait(5) == 125
    wait_for_the_end()


def test_install_scripts_run_when_fetched_and_not_later(npm):
    npm.registry.publish("native", scripts={"postinstall": "echo built > built"},
                         files={"cli.js": "#!/usr/bin/env node\nconsole.log(require('fs').readFileSync(__dirname + '/built', 'utf8').trim())\n"})
    done = call(npm, "run", "--", "npx", "-y", "native")
    assert (done.status, done.out) == (0, "built\n"), done


def test_versions_that_are_too_young(npm):
    npm.registry.publish("hello", "2.0.0", published=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 86400)))
    done = call(npm, "fetch", "--min-age", "7", "--", "npx", "-y", "hello@latest")
    assert done.status == 0, done
    assert call(npm, "run", "--", "npx", "-y", "hello@latest").out == "hello 1.0.0\n"
    assert call(npm, "fetch", "--min-age", "7", "--", "npx", "-y", "hello@2.0.0").status == 125
    assert call(npm, "fetch", "--", "npx", "-y", "hello@2.0.0").status == 0
    assert "fetched already (its age was not checked)" in call(npm, "fetch", "--min-age", "7", "--", "npx", "-y", "hello@2.0.0").out


def test_what_is_kept_is_compared_listed_and_removed(npm):
    assert call(npm, "fetch", "--verify").status == 0 and call(npm, "fetch", "--verify", "--", "npx", "-y", "hello").status == 1
    call(npm, "fetch", "--", "npx", "-y", "hello")
    done = call(npm, "fetch", "--verify")
    assert (done.status, done.out) == (0, "npm:hello: as it was fetched\n"), done
    done = call(npm, "fetch", "--list", "-v")
    assert "npm:hello" in done.out and "hello 1.0.0 sha512-" in done.out, done
    script = next(npm.store.rglob("node_modules/hello/cli.js"))
    script.write_text(script.read_text() + "//\n")
    done = call(npm, "fetch", "--verify")
    assert done.status == 1 and "changed since they were fetched" in done.out, done
    assert call(npm, "fetch", "--remove", "absent").status == 1
    assert call(npm, "fetch", "--verify", "--", "npx", "-y", "other").status == 1
    for name in ("hello", "npm:hello"):
        assert call(npm, "fetch", "--update", "--", "npx", "-y", "hello").status == 0
        done = call(npm, "fetch", "--remove", name)
        assert (done.status, done.out) == (0, "npm:hello: removed\n") and entries(npm) == [], done
    assert call(npm, "fetch", "--list").out == ""


MISTAKES = [["--list", "--verify"], ["--", "ls"], ["--"], [], ["--list", "--", "npx", "x"], ["--min-age", "x", "--", "npx", "x"], ["--ro", "/", "--", "npx", "x"],
            ["--", "npx", "-y", "./directory"], ["--", "npx", "-y", "me/repository"], ["--", "npx", "-y", "../x"], ["--", "npx", "--registry=http://x", "x"]]


def test_mistakes(npm):
    for words in MISTAKES:
        done = call(npm, "fetch", *words)
        assert done.status == 2 and npm.registry.asked() == [], (words, done)


def test_a_store_that_others_can_write_to_is_not_used(npm):
    call(npm, "fetch", "--", "npx", "-y", "hello")
    npm.store.chmod(0o777)
    done = call(npm, "run", "--", "npx", "-y", "hello")
    assert done.status == 125 and "it must belong to this account and have mode 0700" in done.err, done


def test_hutch_loads_no_library_of_its_helpers(hutch):
    loaded = subprocess.run(["ldd", hutch.path], capture_output=True, text=True, check=True).stdout
    assert "libseccomp.so" in loaded and not any(name in loaded for name in ("libmd.so", "libcares.so")), loaded


# --persist

def test_a_home_that_is_kept(hutch):
    make(hutch.home / "notes/deep/file", "granted")
    for name in ("one", "two"):
        done = hutch("run", "--persist", name, "--ro", hutch.home / "notes/deep", "--", "sh", "-c", f"echo {name} >> ~/kept; cat ~/kept ~/notes/deep/file")
        assert (done.status, done.out) == (0, f"{name}\ngranted"), done
    assert hutch("run", "--persist", "one", "--", "cat", hutch.home / "kept").out == "one\n"
    assert hutch("run", "--", "cat", hutch.home / "kept").status == 1
    assert not (hutch.home / "kept").exists()
    assert (hutch.home / ".local/share/hutch/homes/one").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["../x", ".x", "a/b", "-x"])
def test_a_kept_homes_name_leads_nowhere(hutch, name):
    assert hutch("run", f"--persist={name}", "--", "true").status == 2
