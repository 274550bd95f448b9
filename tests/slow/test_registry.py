# SPDX-License-Identifier: Apache-2.0
"""The registry that npm's own configuration names, and published servers from it. Skipped where npm reaches none."""
import ipaddress
import os
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from harness import needs_installed, needs_kernel
from layouts import make

EVERYTHING = "@modelcontextprotocol/server-everything"


def npm_setting(npm, name, environment):
    done = subprocess.run([npm, "config", "get", name], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=60)
    value = done.stdout.strip()
    return None if done.returncode != 0 or value in ("", "null", "undefined") else value


@pytest.fixture
def registry(hutch, tmp_path):
    """The registry that npm's own configuration names, where it answers: (rule, options, environment of the caller)."""
    npm = shutil.which("npm")
    needs_installed(npm, "npm is missing")
    environment = {**os.environ, "HOME": str(tmp_path), "npm_config_cache": str(tmp_path / "cache"), "npm_config_update_notifier": "false"}
    address = npm_setting(npm, "registry", environment)
    known = subprocess.run([npm, "view", EVERYTHING, "version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=60)
    needs_kernel(address and known.returncode == 0, "npm reaches no registry from here")
    place = urllib.parse.urlsplit(address)
    rule = place.hostname if place.port in (None, 80, 443) else f"{place.hostname}:{place.port}"
    if any(not ipaddress.ip_address(info[4][0]).is_global for info in socket.getaddrinfo(place.hostname, None)):
        rule += "/private"
    options = ["--network-allow", rule, "-e", f"npm_config_registry={address}"]
    authority = npm_setting(npm, "cafile", environment)
    if authority:
        options += ["--ro", authority, "-e", f"npm_config_cafile={authority}"]
    proxy = npm_setting(npm, "https-proxy", environment) or npm_setting(npm, "proxy", environment)
    return options, {"HTTPS_PROXY": proxy} if proxy else {}


def test_a_real_server_from_the_real_registry(strict, registry):
    """npx downloads a server through the nat, with one name allowed, and it answers a strict client."""
    options, environment = registry
    client = strict(*options, "--fetch", "never", command=["npx", "-y", EVERYTHING], env=environment, timeout=120)
    tools = {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}
    assert "echo" in tools
    answer = client.request("tools/call", {"name": "echo", "arguments": {"message": "through the nat"}})
    assert "through the nat" in answer["result"]["content"][0]["text"]


def test_the_example_of_the_readme(strict, hutch):
    npm = shutil.which("npm", path=hutch.environment["PATH"])
    needs_installed(npm, "npm is missing")
    known = subprocess.run([npm, "view", "@modelcontextprotocol/server-filesystem", "version"], capture_output=True, stdin=subprocess.DEVNULL,
                           env=hutch.environment, cwd=hutch.directory, timeout=60)
    needs_kernel(known.returncode == 0, "npm reaches no registry from here")
    directory = hutch.home / "shown"
    make(directory / "file", "x")
    for _ in range(2):
        client = strict("--ro", directory, command=["npx", "-y", "@modelcontextprotocol/server-filesystem", str(directory)], timeout=140)
        assert "read_file" in {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}
        client.__exit__()
    assert os.listdir(hutch.home / ".local/share/hutch/packages") == ["npm%3a@modelcontextprotocol%2fserver-filesystem"]
