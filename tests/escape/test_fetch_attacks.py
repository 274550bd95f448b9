# SPDX-License-Identifier: Apache-2.0
"""Hostile packages: what an install script can reach, and what it can leave behind for hutch or for other servers. Each attack is
shown to work without the sandbox first, by the same script run outside."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fetching import call, npm  # noqa: F401 (a fixture)
from layouts import make


def fetch(npm, name="evil"):
    return call(npm, "fetch", "--", "npx", "-y", name)


def publish(npm, script, name="evil", **manifest):
    """A package whose install script is this one of the shell; its command prints what the script left in `found`."""
    npm.registry.publish(name, scripts={"postinstall": "sh ./attack.sh"}, files={
        "attack.sh": script, "cli.js": "#!/usr/bin/env node\nconsole.log(require('fs').readFileSync(__dirname + '/found', 'utf8'))\n"}, **manifest)


def entry(npm, name="evil"):
    return npm.store / f"npm%3a{name}"


LOOK = """{
cat "$HOME/.ssh/id" "$HOME/.aws/credentials" "$HOME/.npmrc" "$HOME/notes.txt" /etc/shadow
env
cat /proc/[0-9]*/environ | tr '\\0' '\\n'
ls -d "$HOME/.local/share/hutch/packages/"*
} > found 2>&1
:
"""


def test_an_install_script_sees_nothing_of_the_person(npm):
    publish(npm, LOOK)
    outside = subprocess.run(["sh", "-c", LOOK + "cat found; rm found"], env=npm.environment, cwd=npm.folder, capture_output=True, text=True, timeout=20).stdout
    assert {"CANARY-ssh-key", "CANARY-aws", "CANARY-npm", "CANARY-notes"} <= set(outside.split()) and "CANARY-environment" in outside
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert done.status == 0 and "HOME=" in done.out and "CANARY" not in done.out and "packages/npm" not in done.out, done


def test_an_install_script_gets_nothing_of_the_servers_options(npm):
    publish(npm, 'env > found; cat "$HOME/shown/key" >> found 2>&1; :')
    make(npm.home / "shown/key", "CANARY-granted")
    done = call(npm, "run", "-e", "TOKEN=CANARY-token", "--ro", npm.home / "shown", "--", "npx", "-y", "evil")
    assert done.status == 0 and "CANARY" not in done.out, done


def test_an_install_script_reaches_the_registry_alone(npm, world):
    node = "const http = require('http'); http.get(process.argv[1], r => { console.log('reached', r.statusCode); process.exit() }).on('error', e => console.log('refused', e.code))"
    make(npm.folder / "get.js", node)
    places = ["http://allowed.test/", "http://198.51.100.10/", f"http://127.0.0.1:{8000}/", npm.registry.address + "x"]
    publish(npm, "".join(f'node -e "$(cat get.js)" {place} >> found 2>&1\n' for place in places) + ":\n")
    (next((npm.registry.folder / "packages").rglob("attack.sh")).parent / "get.js").write_text(node)
    outside = [world.run(shutil.which("node", path=npm.environment["PATH"]), "-e", node, place).stdout.split()[0] for place in places]
    assert outside[0] == outside[1] == outside[3] == "reached", outside
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert [line.split()[0] for line in done.out.split("\n") if line] == ["refused", "refused", "refused", "reached"], done


PLANT = """cd "$HOME/.npm"
ln -s {home}/.ssh link; ln -s {home}/.ssh/id _cacache/link; ln -s ../.. up
ln -s ../entry.json entry.json; ln -sfn {home}/victim _npx/0123456789abcdef
mkdir -p a/b; chmod 0 a/b
"""


def test_planted_links_lead_nowhere(npm):
    make(npm.home / "victim/file", "mine")
    publish(npm, PLANT.format(home=npm.home).replace("chmod 0 a/b", ":") + "cd - >/dev/null; : > found")
    assert fetch(npm).status == 0
    assert (entry(npm) / "cache/link").is_symlink()
    done = call(npm, "run", "--", "npx", "-y", "-p", "evil", "-c", 'cat "$HOME/.npm/link/id" "$HOME/.npm/_cacache/link" "$HOME/.npm/up/entry.json"; ls "$HOME/.npm/up"')
    assert "CANARY" not in done.out and "CANARY" not in done.err, done
    done = call(npm, "run", "--", "npx", "-y", "evil")
    assert done.status == 0, done
    assert call(npm, "fetch", "--verify").status == 0
    assert call(npm, "fetch", "--update").status == 0
    assert call(npm, "fetch", "--remove", "evil").status == 0 and os.listdir(npm.store) == []
    assert (npm.home / "victim/file").read_text() == "mine" and (npm.home / ".ssh/id").exists()


@pytest.mark.parametrize("script, says", [
    ("mkfifo $HOME/.npm/fifo", "no file, folder or link"), ("mkdir $HOME/.npm/a; echo > $HOME/.npm/a/b; chmod 0 $HOME/.npm/a", "Permission denied"),
    ("truncate -s 1G $HOME/.npm/1 $HOME/.npm/2 $HOME/.npm/3 $HOME/.npm/4 $HOME/.npm/5; sleep 20", "more than 4 GiB"),
    ("cd $HOME/.npm; for i in $(seq 300); do mkdir d; cd d; done", "deeper than"),
    ("head -c 1100000000 /dev/zero > $HOME/.npm/big || exit 3", "could not fetch"), ("yes | head -c 300000; exit 1", "could not fetch")],
    ids=["fifo", "unreadable", "sparse", "deep", "one file", "output"])
def test_what_cannot_be_kept_is_refused_and_removed(npm, script, says):
    if "chmod 0" in script and os.getuid() == 0:
        pytest.skip("root reads everything")
    publish(npm, script)
    done = fetch(npm)
    assert done.status == 125 and says in done.err and len(done.err) < 20000, done
    call(npm, "fetch", "--verify")
    assert os.listdir(npm.store) == []


def test_one_package_cannot_reach_anothers_entry(npm):
    """Neither when it is installed nor when it runs; and what it writes as a server is gone."""
    npm.registry.publish("good")
    assert fetch(npm, "good").status == 0
    before = {path: path.read_bytes() for path in entry(npm, "good").rglob("*") if path.is_file()}
    poison = """for f in $(find / -xdev -path '*hutch/packages*' 2>/dev/null) $(find "$HOME/.npm" -name cli.js); do echo "poison $f" >> found; echo poison >> "$f"; done; : >> found"""
    publish(npm, poison)
    done = call(npm, "run", "--", "npx", "-y", "-p", "evil", "-c", 'cat "$HOME"/.npm/_npx/*/node_modules/evil/found; find "$HOME/.npm" -path "*good*"; echo poison >> "$HOME"/.npm/_npx/*/node_modules/evil/cli.js')
    assert "good" not in done.out, done
    assert {path: path.read_bytes() for path in before} == before
    assert call(npm, "run", "--", "npx", "-y", "good").out == "good 1.0.0\n"
    assert call(npm, "fetch", "--verify", "--", "npx", "-y", "evil").status == 1 or call(npm, "fetch", "--verify").status == 0


def test_a_server_cannot_change_its_own_entry(npm):
    npm.registry.publish("evil", files={"cli.js": "#!/usr/bin/env node\nconst fs = require('fs'); console.log('v1'); fs.writeFileSync(__filename, 'console.log(\"poisoned\")'); console.log(fs.readFileSync(__filename, 'utf8'))\n"})
    for _ in range(2):
        done = call(npm, "run", "--", "npx", "-y", "evil")
        assert done.status == 0 and done.out.startswith("v1\n") and "poisoned" in done.out, done
    assert call(npm, "fetch", "--verify").status == 0


def test_what_an_install_script_says_is_not_written_down(npm):
    """The lock file is read before it runs."""
    publish(npm, 'sed -i s/1.0.0/9.9.9/ "$HOME"/.npm/_npx/*/package-lock.json "$HOME"/.npm/_npx/*/node_modules/.package-lock.json; : > found')
    assert fetch(npm).status == 0
    written = json.loads((entry(npm) / "entry.json").read_text())
    assert [package["version"] for package in written["packages"]] == ["1.0.0"]
    assert "9.9.9" in next(entry(npm).rglob("_npx/*/package-lock.json")).read_text()


def test_a_package_whose_commands_have_the_names_of_what_a_fetch_runs(npm):
    """`sh` and `true` of a package are not what runs before its install scripts are."""
    npm.registry.publish("evil", bin={"evil": "cli.js", "true": "bad.sh", "sh": "bad.sh"}, files={"bad.sh": '#!/bin/sh\necho owned > "$HOME/.npm/owned"\n'})
    assert fetch(npm).status == 0
    assert not (entry(npm) / "cache/owned").exists()


@pytest.mark.parametrize("name", ["..", ".", "../../x", "a/../../x", "@/../x", "%2e%2e", "x" * 300, "a b", "-x"])
def test_no_name_leads_out_of_the_store(npm, name):
    make(npm.home / ".local/share/hutch/x/file", "mine")
    npm.store.mkdir(parents=True, mode=0o700)
    (npm.home / ".local/share/hutch").chmod(0o700)
    for words in (["fetch", "--remove", name], ["fetch", "--remove", f"npm:{name}"], ["fetch", "--", "npx", "-y", f"--package={name}", "x"]):
        assert call(npm, *words).status in (1, 2, 125)
    assert (npm.home / ".local/share/hutch/x/file").read_text() == "mine" and os.listdir(npm.store) == []


@pytest.mark.parametrize("planted", ["on PATH", "beside npx", "behind a link"])
def test_a_program_in_a_writable_grant_is_not_asked_outside(npm, planted):
    """hutch asks npm for its settings outside; one that an earlier run may have made is not npm."""
    npm.registry.publish("good")
    owned, mine = npm.folder / "owned", npm.home / "project/bin"
    make(mine / "npm", f"#!/bin/sh\ntouch {owned}\nexec {shutil.which('npm', path=npm.environment['PATH'])} \"$@\"\n", 0o755)
    make(mine / "npx", "#!/bin/sh\n", 0o755)
    command = [mine / "npx"] if planted == "beside npx" else ["npx"]
    if planted == "on PATH":
        npm.environment["PATH"] = f"{mine}:{npm.environment['PATH']}"
    if planted == "behind a link":
        make(npm.home / "own/bin/keep", "")
        (npm.home / "own/bin/npx").symlink_to(shutil.which("npx", path=npm.environment["PATH"]))
        (npm.home / "own/bin/npm").symlink_to(mine / "npm")
        npm.environment["PATH"] = f"{npm.home}/own/bin:{npm.environment['PATH']}"
    done = call(npm, "run", "--rw", npm.home / "project", "--", *command, "-y", "good")
    assert done.status == 125 and "refusing to fetch" in done.err and not owned.exists() and not npm.store.exists(), done
    call(npm, "fetch", "--", "npx" if planted != "beside npx" else mine / "npx", "-y", "good")
    assert owned.exists()


def test_what_a_server_left_in_a_kept_home_opens_nothing(hutch):
    """A link in the place of a mount, or of npm's cache."""
    make(hutch.home / "notes/file", "granted")
    hutch.inside(f"rm -rf ~/notes; ln -s {hutch.home}/.ssh ~/notes; ln -s {hutch.home}/.ssh ~/.npm; ln -s {hutch.home}/.ssh/id ~/id", "--persist", "x")
    done = hutch("run", "--persist", "x", "--ro", hutch.home / "notes", "--", "sh", "-c", "cat ~/notes/* ~/id ~/.npm/id")
    assert "CANARY" not in done.out and done.status == 125 and "cannot make a place" in done.err, done
    assert "CANARY" not in hutch("run", "--persist", "x", "--", "sh", "-c", "cat ~/id ~/.npm/id").out
    assert not (hutch.home / ".ssh/file").exists()
    assert Path(hutch.home / ".local/share/hutch/homes/x/notes").is_symlink()
