# SPDX-License-Identifier: Apache-2.0
"""A package registry of our own for npm, on a loopback port of the offline world (world.py). Run as a program it serves the
packages of a directory; imported it starts one. Must never listen anywhere but on 127.0.0.1.

A package is a directory NAME/VERSION with what its archive holds; `published` in package.json is the time npm is told."""
import base64
import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import time
import urllib.parse
from pathlib import Path

import harness


class Registry:
    """A running registry. `publish` may be called at any time."""

    def __init__(self, directory, before):
        self.directory = Path(directory)
        (self.directory / "packages").mkdir(parents=True)
        self.process = subprocess.Popen([*before, harness.PYTHON, __file__, str(self.directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = f"http://127.0.0.1:{int(self.process.stdout.readline())}/"

    def publish(self, name, version="1.0.0", files=None, published="2020-01-01T00:00:00.000Z", **manifest):
        directory = self.directory / "packages" / urllib.parse.quote(name, safe="") / version
        for file, text in {"cli.js": f"#!/usr/bin/env node\nconsole.log('{name}', '{version}', ...process.argv.slice(2))\n", **(files or {})}.items():
            (directory / file).parent.mkdir(parents=True, exist_ok=True)
            (directory / file).write_text(text)
            (directory / file).chmod(0o755)
        manifest = {"name": name, "version": version, "bin": {name.split("/")[-1]: "cli.js"}, **manifest}
        (directory / "package.json").write_text(json.dumps(manifest))
        (directory / ".published").write_text(published)

    def asked(self):
        """The paths that were asked for."""
        log = self.directory / "log"
        return log.read_text().split() if log.exists() else []

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def archive(directory):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as tar:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and path.name != ".published":
                info = tar.gettarinfo(path, f"package/{path.relative_to(directory)}")
                info.mtime = 0
                with open(path, "rb") as file:
                    tar.addfile(info, file)
    data = bytearray(data.getvalue())
    data[4:8] = bytes(4)  # gzip's own time: the integrity must not change
    return bytes(data)


def describe(directory, name, address):
    versions, times = {}, {}
    for version in sorted(directory.iterdir()):
        data = archive(version)
        manifest = json.loads((version / "package.json").read_text())
        scripts = set(manifest.get("scripts", {})) & {"preinstall", "install", "postinstall"}
        manifest |= {"hasInstallScript": True} if scripts else {}
        manifest["dist"] = {"tarball": f"{address}{urllib.parse.quote(name, safe='@')}/-/{version.name}.tgz",
                            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
                            "shasum": hashlib.sha1(data).hexdigest()}
        versions[version.name], times[version.name] = manifest, (version / ".published").read_text()
    newest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
    return {"name": name, "dist-tags": {"latest": newest, "first": min(versions)}, "versions": versions,
            "time": {"created": min(times.values()), "modified": max(times.values()), **times}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(self.server.directory / "log", "a") as log:
            log.write(self.path + "\n")
        path, _, file = urllib.parse.unquote(self.path.lstrip("/")).partition("/-/")
        directory = self.server.directory / "packages" / urllib.parse.quote(path, safe="")
        while (self.server.directory / "stall").exists() and file:
            time.sleep(0.05)
        address = f"http://127.0.0.1:{self.server.server_port}/"
        known = directory.is_dir()
        body = archive(directory / file.removesuffix(".tgz")) if known and file else json.dumps(describe(directory, path, address) if known else {}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/octet-stream" if file else "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.directory = Path(sys.argv[1])
    import threading
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
