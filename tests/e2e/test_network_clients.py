# SPDX-License-Identifier: Apache-2.0
"""Real clients, with no proxy variable and no setting but a CA: each reaches the allowed name and fails fast on another."""
import json
import os
import shutil
import subprocess

import pytest
from harness import HELPERS, PYTHON, TREE, needs_installed

URLS = ["http://allowed.test/", "https://allowed.test/"]


@pytest.fixture
def trust(world):
    """Options that let a client inside trust the world's CA."""
    return ["--network-allow", "allowed.test", "--ro", world.authority]


def good(text, method="GET"):
    lines = [line for line in text.splitlines() if line.startswith("WORLD")]
    return lines == [line for line in lines if line.startswith(f"WORLD {method} Host=allowed.test SNI=")] and \
        len(lines) == 2 and "SNI=-" in lines[0] and "SNI=allowed.test" in lines[1]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_node_fetch(online, world, trust, node, method):
    script = f"for (const u of {json.dumps(URLS)}) process.stdout.write(await (await fetch(u, {{method: '{method}'}})).text());" \
             "try { await fetch('http://notallowed.test/') } catch (e) { console.log(e.cause.code) }"
    done = online("run", *trust, "-e", f"NODE_EXTRA_CA_CERTS={world.authority}", "--", node, "--input-type=module", "-e", script)
    assert done.status == 0 and good(done.out, method) and "ENOTFOUND" in done.out, done


def test_node_http(online, world, trust, node):
    script = f"""
const get = u => new Promise((ok, bad) => require(u.split(':')[0]).get(u, r => {{ let t = ''; r.on('data', d => t += d).on('end', () => ok(t)) }}).on('error', bad));
(async () => {{ for (const u of {json.dumps(URLS)}) process.stdout.write(await get(u)); get('http://notallowed.test/').catch(e => console.log(e.code)) }})()"""
    done = online("run", *trust, "-e", f"NODE_EXTRA_CA_CERTS={world.authority}", "--", node, "-e", script)
    assert done.status == 0 and good(done.out) and "ENOTFOUND" in done.out, done


def test_python_urllib(online, world, trust):
    script = f"""
import urllib.request
for u in {URLS}: print(urllib.request.urlopen(u).read().decode(), end="")
try: urllib.request.urlopen("http://notallowed.test/")
except OSError as error: print(error)"""
    done = online("run", *trust, "-e", f"SSL_CERT_FILE={world.authority}", "--", PYTHON, "-c", script)
    assert done.status == 0 and good(done.out) and "not known" in done.out, done


def test_curl(online, world, trust):
    needs_installed(shutil.which("curl"), "curl is missing")
    done = online("run", *trust, "--", "curl", "-sS", "--cacert", world.authority, *URLS)
    assert done.status == 0 and good(done.out), done
    done = online("run", *trust, "--", "curl", "-sS", "http://notallowed.test/")
    assert done.status == 6 and done.seconds < 1, done


def test_git_over_https(online, world, trust):
    done = online("run", *trust, "--", "sh", "-c",
                  f"cd && git -c http.sslCAInfo={world.authority} clone -q https://allowed.test/repository.git r && cat r/file;"
                  "git ls-remote https://notallowed.test/repository.git")
    assert "from the repository" in done.out and "Could not resolve host: notallowed.test" in done.err, done


def test_dig_at_any_server(online, trust):
    dig = shutil.which("dig")
    needs_installed(dig, "dig (bind9-dnsutils) is missing")
    out = online.inside("for o in +notcp +tcp '+edns=0 +cookie' '+noedns' '-x 198.18.1.0'; do dig $o +time=2 +tries=1 @1.1.1.1 allowed.test; done;"
                        "dig +short AAAA allowed.test; dig +time=2 +tries=1 @1.1.1.1 notallowed.test", *trust)
    assert out.count("status: NOERROR") == 5 and out.count("status: NXDOMAIN") == 2 and "timed out" not in out, out


def test_a_static_binary_of_go(online, world, trust, tmp_path_factory):
    program = TREE / "build" / "get-go"  # tests/run builds it once, because the first build takes half a minute
    if not program.exists():
        go = shutil.which("go")
        needs_installed(go, "go (golang-go) is missing")
        program = tmp_path_factory.mktemp("go") / "get"
        subprocess.run([go, "build", "-o", program, HELPERS / "get.go"], check=True, timeout=120, env={**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off"})
    done = online("run", *trust, "-e", f"SSL_CERT_FILE={world.authority}", "--ro", program, "--", program, *URLS, "http://notallowed.test/")
    assert done.status == 0 and good(done.out) and "no such host" in done.out, done


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_getaddrinfo_of_either_c_library(online, trust, tmp_path_factory, compiler):
    needs_installed(shutil.which(compiler), f"{compiler} is missing")
    program = tmp_path_factory.mktemp("resolve") / "get"
    subprocess.run([compiler, "-O1", *(["-static"] if compiler != "gcc" else []), "-o", program, HELPERS / "get_host.c"], check=True)
    done = online("run", *trust, "--ro", program, "--", program, "allowed.test", "notallowed.test", "ALLOWED.TEST")
    assert done.out == "allowed.test: HTTP/1.1 200 OK\nnotallowed.test: no address\nALLOWED.TEST: HTTP/1.1 200 OK\n", done


def test_an_mcp_server_calls_its_api(strict, online, world, node, tmp_path):
    """The whole way: a client, its server under hutch, one API; and nothing on stdout but messages."""
    server = tmp_path / "server.mjs"
    server.write_text("""
import { createInterface } from 'node:readline'
const say = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n')
createInterface({ input: process.stdin }).on('line', async line => {
    const m = JSON.parse(line)
    if (m.method === 'initialize') say({ id: m.id, result: { protocolVersion: m.params.protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } } })
    if (m.method === 'fetch') { try { say({ id: m.id, result: { text: await (await fetch(m.params.url)).text() } }) } catch (e) { say({ id: m.id, result: { text: e.cause?.code } }) } }
})""")
    client = strict("--network-allow", "allowed.test", before=world.before(online.directory), command=[node, str(server)])
    assert "Host=allowed.test" in client.request("fetch", {"url": URLS[0]})["result"]["text"]
    assert client.request("fetch", {"url": "http://notallowed.test/"})["result"]["text"] == "ENOTFOUND"
