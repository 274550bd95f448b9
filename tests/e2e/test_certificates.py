# SPDX-License-Identifier: Apache-2.0
"""TLS inside: the machine's certificates in the layouts that distributions have, and those that a variable names."""
import shutil

import pytest

from harness import PYTHON, needs_installed
from offline import world  # noqa: F401 (a fixture)

URL = "https://allowed.test/"
ALLOW = ("--network-allow", "allowed.test")
SERVED = "served by 198.51.100.10\n"
URLLIB = [PYTHON, "-c", f"import urllib.request as u;print(u.urlopen('{URL}',timeout=20).read().decode(),end='')"]
FETCH = ["node", "-e", f"fetch('{URL}').then(r=>r.text()).then(t=>process.stdout.write(t),e=>{{console.error(e.cause||e);process.exit(1)}})"]
CURL = ["curl", "-sS", URL]


def node(world):
    return shutil.which("node", path=world.hutch.environment["PATH"]) or needs_installed(False, "node is missing")


def company(world, name="company ca.pem"):
    directory = world.hutch.home / "certs"
    directory.mkdir(exist_ok=True)
    (directory / "beside.txt").write_text("CANARY\n")
    shutil.copy(world.directory / "ca.pem", directory / name)
    return directory / name


@pytest.mark.parametrize("variable, command", [
    ("NODE_EXTRA_CA_CERTS", FETCH), ("SSL_CERT_FILE", URLLIB), ("CURL_CA_BUNDLE", CURL), ("SSL_CERT_FILE", CURL)])
def test_a_variable_brings_its_file_along(world, variable, command):
    if command is FETCH:
        node(world)
    needs_installed(command is not CURL or shutil.which("curl"), "curl is missing")
    file = company(world)
    assert world.run("run", *ALLOW, "--", *command).status != 0  # outside of every bundle
    done = world.run("run", *ALLOW, "--env", variable, "--", *command, env={variable: str(file)})
    assert (done.status, done.out) == (0, SERVED), done


def test_git_and_its_variable(world):
    needs_installed(shutil.which("git"), "git is missing")
    command = ["git", "ls-remote", URL + "x.git"]
    file = company(world)
    for env, trusted in [((), False), (("--env", f"GIT_SSL_CAINFO={file}"), True)]:
        done = world.run("run", *ALLOW, *env, "--", *command)
        assert done.status != 0 and ("certificate" not in done.err) == trusted, done


def test_exactly_the_file_and_only_for_reading(world):
    file = company(world)
    done = world.run("run", "--env", f"REQUESTS_CA_BUNDLE={file}", "--", "sh", "-c",
                     f"cat '{file}'; ls '{file.parent}'; echo x >> '{file}'")
    assert done.out == file.read_text() + file.name + "\n" and done.status != 0 and "CANARY" not in done.out, done


@pytest.mark.parametrize("variable", ["SSL_CERT_DIR", "GIT_SSL_CAPATH"])
def test_directories(world, variable):
    one, two = world.hutch.home / "one", world.hutch.home / "two"
    for directory in (one, two):
        directory.mkdir()
        (directory / "ca.pem").write_text(directory.name)
    done = world.run("run", "--env", f"{variable}={one}::{two}:/nowhere", "--", "cat", one / "ca.pem", two / "ca.pem")
    assert done.out == "onetwo", done
    assert sum("/nowhere, which does not exist" in line for line in done.own_lines) == 1


def test_a_link_is_granted_as_it_is_spelled(world):
    file = company(world)
    spelled = world.hutch.home / "ca.pem"
    spelled.symlink_to(file)
    assert world.run("run", "--env", f"SSL_CERT_FILE={spelled}", "--", "cat", spelled).out == file.read_text()


def test_what_is_there_already_needs_nothing(world):
    done = world.run("run", "-v", "--env", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "--", "true")
    assert done.status == 0 and "read-only /etc/ssl/certs/ca" not in done.err and "note" not in done.err, done


def test_a_missing_file_is_named(world):
    done = world.run("run", "--env", "NODE_EXTRA_CA_CERTS=/no/such/ca.pem", "--", "true")
    assert done.status == 0 and "NODE_EXTRA_CA_CERTS names /no/such/ca.pem, which does not exist" in done.err, done


@pytest.mark.parametrize("directory", ["/tmp", "/var/tmp/deeper", "/dev/shm"])
def test_a_file_that_is_missing_below_a_directory_in_memory_is_named(world, directory):
    """Those directories are there inside, and empty: another file's being sent into one makes it no reason to be silent."""
    done = world.run("run", "--env", f"NODE_EXTRA_CA_CERTS={directory}/missing.pem", "--file", f"{company(world)}:/tmp/other.pem", "--", "true")
    assert done.status == 0 and f"NODE_EXTRA_CA_CERTS names {directory}/missing.pem, which does not exist" in done.err, done


def test_a_file_that_is_sent_in_is_not_missing(world):
    done = world.run("run", "--env", "NODE_EXTRA_CA_CERTS=/tmp/sent/ca.pem", "--env", "SSL_CERT_DIR=/tmp/sent", "--file",
                     f"{company(world)}:/tmp/sent/ca.pem", "--", "true")
    assert done.status == 0 and "does not exist" not in done.err, done


def test_a_variable_that_was_not_named_brings_nothing(world):
    file = company(world)
    done = world.run("run", "--", "cat", file, env={"SSL_CERT_FILE": str(file), "NODE_EXTRA_CA_CERTS": str(file)})
    assert done.status != 0 and not done.out


def test_from_a_file_of_variables(world):
    file = company(world)
    (world.hutch.home / "variables").write_text(f"AWS_CA_BUNDLE={file}\n")
    assert world.run("run", "--env-file", world.hutch.home / "variables", "--", "cat", file).out == file.read_text()


def test_a_directory_for_a_file_is_not_granted(world):
    directory = world.hutch.home / "directory"
    directory.mkdir()
    done = world.run("run", "--env", f"SSL_CERT_FILE={directory}", "--", "ls", directory)
    assert done.status != 0 and "which is not a file" in done.err, done


LAYOUTS = {
    "debian": {"ssl/certs/ca-certificates.crt": None},
    "fedora": {"pki/ca-trust/extracted/pem/tls-ca-bundle.pem": None,
               "pki/tls/certs/ca-bundle.crt": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
               "pki/tls/cert.pem": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "ssl/certs": "../pki/tls/certs"},
    "arch": {"ca-certificates/extracted/tls-ca-bundle.pem": None,
             "ssl/certs/ca-certificates.crt": "../../ca-certificates/extracted/tls-ca-bundle.pem",
             "ssl/cert.pem": "../ca-certificates/extracted/tls-ca-bundle.pem"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_machines_own_certificates(world, layout):
    """The bundle is readable by every name that programs know, among them Go, which tries all of them."""
    for name in ("ssl", "pki", "ca-certificates"):
        shutil.rmtree(world.etc / name, ignore_errors=True)
    (world.etc / "ssl/private").mkdir(parents=True)
    (world.etc / "ssl/private/server.key").write_text("CANARY\n")
    for name, target in LAYOUTS[layout].items():
        place = world.etc / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if target:
            place.symlink_to(target)
        else:
            shutil.copy(world.directory / "ca.pem", place)
    names = [f"/etc/{name}" for name in LAYOUTS[layout] if name != "ssl/certs"]
    done = world.run("run", *ALLOW, "--", "sh", "-c", "ls -R /etc/ssl >&2; cat /etc/ssl/private/server.key; for f; do sha256sum <$f; done",
                     "x", *names)
    sums = done.out.split("\n")[:-1]
    assert len(sums) == len(names) and len(set(sums)) == 1, done
    assert "CANARY" not in done.out and "server.key" not in done.err.replace("server.key: No", ""), done
    needs_installed(shutil.which("curl"), "curl is missing")
    for name in names:
        assert world.run("run", *ALLOW, "--", "curl", "-sS", "--cacert", name, URL).out == SERVED
