# SPDX-License-Identifier: Apache-2.0
"""The caller's upstream proxy: the rules first, then CONNECT; and nobody learns its password."""
import base64
import json
import subprocess

import pytest

from harness import PYTHON, wait_until
from offline import world  # noqa: F401 (a fixture)

PROXY = "http://198.51.100.12:3128"
FETCH = "import sys,urllib.request as u\nfor a in sys.argv[1:]:\n try: print(u.urlopen(a,timeout=20).read().decode(),end='')\n" \
        " except Exception as e: print('failed',e)"


def fetch(world, *addresses, options=("--network-allow", "allowed.test"), env=None, **popen):
    return world.run("run", *options, "--", PYTHON, "-c", FETCH, *addresses, env=env, **popen)


def test_a_connection_goes_through_the_proxy_by_name(world):
    (world.etc / "resolv.conf").write_text("")  # nothing here can look names up
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": PROXY})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == "allowed.test:80 -\n"
    assert sum("looks the names up" in line for line in done.own_lines) == 1


def test_tls_through_the_proxy(world):
    script = "import ssl,urllib.request as u;print(u.urlopen('https://allowed.test/',context=ssl.create_default_context(" \
             f"cafile='{world.directory}/ca.pem')).read().decode(),end='')"
    done = world.run("run", "--network-allow", "allowed.test", "--ro", world.directory / "ca.pem", "--", PYTHON, "-c", script,
                     env={"https_proxy": PROXY})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == "allowed.test:443 -\n"


def test_what_the_rules_refuse_never_reaches_the_proxy(world):
    done = fetch(world, "http://notallowed.test/", "http://198.51.100.11/", "http://allowed.test:8080/", "http://allowed.test/",
                 env={"ALL_PROXY": PROXY})
    assert done.out.count("failed") == 3 and "served by" in done.out, done
    assert world.log("proxy.log") == "allowed.test:80 -\n"


def test_a_literal_address_goes_through_the_proxy_too(world):
    done = fetch(world, "http://198.51.100.11/", options=("--network-allow", "198.51.100.11"), env={"HTTPS_PROXY": PROXY})
    assert done.out == "served by 198.51.100.10\n", done  # this proxy leads everything there
    assert world.log("proxy.log") == "198.51.100.11:80 -\n"


@pytest.mark.parametrize("exceptions", ["allowed.test", ".test", "*", "other.example, ALLOWED.test", "allowed.test:80", "test"])
def test_no_proxy(world, exceptions):
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == ""


@pytest.mark.parametrize("exceptions", ["lowed.test", "allowed.test:443", "198.51.100.0/24", "", "www.allowed.test"])
def test_no_proxy_that_means_something_else(world, exceptions):
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == "allowed.test:80 -\n"


def test_no_proxy_for_a_network(world):
    done = fetch(world, "http://198.51.100.11/", options=("--network-allow", "198.51.100.11"),
                 env={"HTTPS_PROXY": PROXY, "NO_PROXY": "198.51.100.0/24"})
    assert done.out == "served by 198.51.100.11\n", done


def test_lower_case_decides_and_nothing_means_no_proxy(world):
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": PROXY, "https_proxy": ""})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == ""


@pytest.mark.parametrize("place", ["proxy.test:3128", "localhost:3128", "127.0.0.1:3128", "named.proxy:3128"])
def test_proxies_by_name_and_on_this_machine(world, place):
    (world.etc / "hosts").write_text("127.0.0.1 localhost\n198.51.100.12 Named.Proxy\n")
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": f"http://{place}/"})
    assert done.out == "served by 198.51.100.10\n", done
    assert world.log("proxy.log") == "allowed.test:80 -\n"


def test_the_proxy_itself_is_not_reachable_inside(world):
    done = fetch(world, "http://198.51.100.12:3128/", "http://proxy.test:3128/", env={"HTTPS_PROXY": PROXY})
    assert done.out.count("failed") == 2, done


def test_credentials_are_sent_decoded(world):
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": "http://us%40er:p%3Ass%2F@198.51.100.12:3129"})
    assert done.out == "served by 198.51.100.10\n", done
    expected = base64.b64encode(b"us@er:p:ss/").decode()
    assert world.log("proxy.log") == f"allowed.test:80 Proxy-Authorization: Basic {expected}\n"


def test_a_proxy_that_wants_a_password(world):
    done = fetch(world, "http://allowed.test/", "http://allowed.test/", env={"HTTPS_PROXY": "http://198.51.100.12:3129"})
    assert done.out.count("failed") == 2
    lines = [line for line in done.own_lines if "407" in line]
    assert len(lines) == 1 and "USER:PASSWORD@HOST:PORT" in lines[0], done


def test_each_destination_that_the_proxy_refuses_is_said_once(world):
    (world.directory / "reply").write_bytes(b"HTTP/1.1 403 Forbidden\r\n\r\n")
    done = fetch(world, *["http://allowed.test/", "http://other.test/"] * 2, options=("--network-allow", "allowed.test,other.test"),
                 env={"HTTPS_PROXY": "http://198.51.100.12:3130"})
    lines = [line for line in done.own_lines if "it refuses with status 403" in line]
    assert len(lines) == 2 and "allowed.test:80" in lines[0] and "other.test:80" in lines[1], done


def test_a_proxy_that_is_not_there(world):
    done = fetch(world, "http://allowed.test/", env={"HTTPS_PROXY": "http://198.51.100.12:9"})
    assert "failed" in done.out
    assert sum("no connection to the proxy 198.51.100.12:9: Connection refused" in line for line in done.own_lines) == 1, done


@pytest.mark.parametrize("value, sentence", [
    ("https://proxy:443", "names a proxy that hutch cannot use"),
    ("socks5h://u:CANARY@proxy:1080", "names a proxy that hutch cannot use"),
    ("http://", "is not the URL of a proxy"),
    ("http://u:CANARY@", "is not the URL of a proxy"),
    ("http://u:CANARY%zz@proxy", "is not the URL of a proxy"),
    ("http://proxy:0", "is not the URL of a proxy"),
    ("http://proxy:99999", "is not the URL of a proxy"),
    ("http://pro xy:1", "is not the URL of a proxy"),
    ("http://[::1:3128", "is not the URL of a proxy"),
])
def test_a_proxy_that_cannot_be_used_ends_it(hutch, value, sentence):
    done = hutch("run", "--network-allow", "allowed.test", "--", "true", env={"HTTPS_PROXY": value})
    assert done.status == 125 and sentence in done.err and "HTTPS_PROXY" in done.err, done
    assert "CANARY" not in done.err


def test_without_a_rule_no_variable_matters(hutch):
    done = hutch("run", "--", "true", env={"HTTPS_PROXY": "socks5://proxy", "ALL_PROXY": "nonsense://"})
    assert done.status == 0, done


def test_the_password_is_shown_nowhere(world, tmp_path):
    secret, encoded = "CANARYpass", base64.b64encode(b"user:CANARYpass").decode()
    env = {"HTTPS_PROXY": f"http://user:{secret}@198.51.100.12:3129", "http_proxy": f"http://user:{secret}@x", "NO_PROXY": "a.b"}
    options = ["--network-allow", "allowed.test"]
    shown = world.run("run", "-v", "--dry-run", *options, "--", "true", env=env)
    description = json.loads(shown.out)
    assert description["network"]["proxy"] == {"place": "198.51.100.12 3129", "credentials": True, "except": ["a.b"]}
    inside = world.run("run", "-v", *options, "--", "sh", "-c",
                       "env; cat /proc/*/environ /proc/*/cmdline /proc/*/mountinfo 2>/dev/null; cat /etc/*.conf", env=env)
    assert inside.status == 0
    for finished in (shown, inside):
        for text in (secret, encoded, "_proxy", "_PROXY", "3129"):
            assert text not in (finished.out if finished is inside else ""), text
            assert text in ("3129", "_PROXY", "_proxy") or text not in finished.out + finished.err, text


def test_no_process_of_hutch_has_the_password(world, tmp_path):
    marker = tmp_path / "shared"
    marker.mkdir()
    env = {"HTTPS_PROXY": "http://user:CANARYpass@198.51.100.12:3129"}
    process = world.start("run", "--network-allow", "allowed.test", "--rw", marker, "--", "sh", "-c",
                          f"echo > {marker}/here; exec sleep 60", env=env)
    control = subprocess.Popen([*map(str, world.before), "sleep", "60"], env={**env, "PATH": "/usr/bin:/bin"})  # one that does have it
    try:
        wait_until(lambda: (marker / "here").exists(), 10)
        # By root of the user namespace that all of them are in, for whom nothing is not dumpable.
        seen = subprocess.run([*map(str, world.before), "sh", "-c", "grep -l CANARY[p]ass /proc/[0-9]*/environ /proc/[0-9]*/cmdline"],
                              capture_output=True, text=True)
        assert seen.stdout.split() == [f"/proc/{control.pid}/environ"], seen
    finally:
        for one in (process, control):
            one.terminate()
            one.wait(10)
