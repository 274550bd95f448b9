# SPDX-License-Identifier: Apache-2.0
"""What package managers and version managers leave on a disk, as far as starting a program needs it."""
import json
import subprocess

from harness import PYTHON


def make(path, text="", mode=0o644):
    """A file with its parents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def package(directory, name, text="", **more):
    """An npm package whose main file is index.js."""
    make(directory / "package.json", json.dumps({"name": name, "version": "1.0.0", **more}))
    if text:
        make(directory / "index.js", text)
    return directory


def make_venv(directory):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", directory], check=True)
    return directory


def grants(hutch, *words, **popen):
    """The host paths that are visible beside the base."""
    done = hutch("run", "--dry-run", *words, **popen)
    assert done.status == 0, done
    return {mount["source"] for mount in json.loads(done.out)["mounts"] if mount["kind"] == "bind" and mount["why"] != "base"}


def installed(prefix, *more):
    """What hutch shows of an installation (policy/installations.json); of another directory all."""
    shown = {str(prefix / name) for name in ("bin", "include", "lib", "share", "Cellar", "opt", *more)
             if (prefix / name).exists() and not (prefix / name).is_symlink()}
    return shown or {str(prefix)}


# What pnpm writes (its package cmd-shim) where npm makes a link.
CMD_SHIM = """#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")

case `uname` in
    *CYGWIN*|*MINGW*|*MSYS*)
        if command -v cygpath > /dev/null 2>&1; then
            basedir=`cygpath -w "$basedir"`
        fi
    ;;
esac

if [ -z "$NODE_PATH" ]; then
  export NODE_PATH="{modules}"
else
  export NODE_PATH="{modules}:$NODE_PATH"
fi
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "$basedir/{target}" "$@"
else
  exec node  "$basedir/{target}" "$@"
fi
"""
