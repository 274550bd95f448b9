# SPDX-License-Identifier: Apache-2.0
"""The commands that are measured against each other: the same program bare, in hutch, and in what else there is.

Bubblewrap gets the mounts, the environment and the namespaces that `hutch --dry-run` lists, in its cheapest
spelling, so that a ratio compares the same work. What hutch does in addition (Landlock, masks in /proc,
namespace budgets, the bridge) is left out of it. firejail cannot express that tree: it gets the options that
come nearest.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field

REFERENCE = "bubblewrap + seccomp"
FIRST_FILE = 50  # the first descriptor under which a command finds a file; below 100 (command.c)


@dataclass
class Command:
    name: str
    argv: list
    files: dict = field(default_factory=dict)  # descriptor: path

    def line(self):
        fields = [self.name, *(f"{number}<{path}" for number, path in self.files.items()), *self.argv]
        if any("\t" in text or "\n" in text for text in fields):
            raise ValueError(f"{self.name}: a tab or a newline in an argument")
        return "\t".join(fields) + "\n"

    def add_file(self, path):
        number = FIRST_FILE + len(self.files)
        self.files[number] = path
        return str(number)


class Peers:
    """Makes the commands of one row. `run_as` are the arguments that make subprocess switch accounts."""

    def __init__(self, hutch, stage, filter_helper, profile, environment, run_as):
        self.hutch = hutch
        self.stage = stage
        self.environment = environment
        self.run_as = run_as
        self.skipped = {}
        self.filters = self._make_filters(filter_helper, profile)

    def commands(self, subcommand, program):
        """`program` bare and in everything that can run it; what cannot is noted in `skipped`."""
        box = self._read_box(subcommand, program)
        others = (
            ("unshare", lambda tool: Command("unshare", [tool, "--user", "--map-root-user", "--mount", "--ipc", "--net",
                                                         "--pid", "--uts", "--cgroup", "--fork", "--mount-proc", "--",
                                                         *program])),
            ("bwrap", lambda tool: self._bubblewrap("bubblewrap", tool, box, program, [])),
            ("bwrap", lambda tool: self._bubblewrap(REFERENCE, tool, box, program, self.filters)),
            ("firejail", lambda tool: Command("firejail", [tool, "--quiet", "--noprofile", "--net=none",
                                                           "--private-dev", "--caps.drop=all", "--nonewprivs",
                                                           "--seccomp", "--", *program])),
        )
        commands = [Command("bare", program), Command("bare again", program)]
        for tool, make in others:
            path = shutil.which(tool)
            if not path:
                self.skipped[tool] = "not installed"
                continue
            command = make(path)
            refusal = self.try_once(command)
            if refusal is None:
                commands.append(command)
            else:
                self.skipped[command.name] = refusal
        hutch = Command("hutch", [self.hutch, subcommand, "--", *program])
        refusal = self.try_once(hutch)
        if refusal is not None:
            raise SystemExit(f"hutch {subcommand} does not work here: {refusal}")
        return commands + [hutch]

    def try_once(self, command, before=()):
        """None when it runs `program` to status 0 with nothing on its input, else why not."""
        for number, path in command.files.items():
            fd = os.open(path, os.O_RDONLY)
            os.dup2(fd, number)
            os.close(fd)
        try:
            done = subprocess.run([*before, *command.argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, errors="replace", timeout=30,
                                  env=self.environment, cwd=self.stage, pass_fds=tuple(command.files), **self.run_as)
        except subprocess.TimeoutExpired:
            return "did not end within 30 s"
        finally:
            for number in command.files:
                os.close(number)
        if done.returncode == 0:
            return None
        return f"status {done.returncode}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'silent'}"

    def _read_box(self, subcommand, program):
        done = subprocess.run([self.hutch, subcommand, "--dry-run", "--", *program], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=self.environment, cwd=self.stage, check=False,
                              timeout=30, **self.run_as)
        if done.returncode != 0:
            raise SystemExit(f"hutch {subcommand} --dry-run: status {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def _bubblewrap(self, name, tool, box, program, filters):
        command = Command(name, [tool, "--unshare-all", "--die-with-parent", "--new-session", "--uid", "65532",
                                 "--gid", "65532", "--hostname", "hutch", "--clearenv"])
        argv = command.argv
        for key, value in box["environment"].items():
            argv += ["--setenv", key, value]
        for mount in box["mounts"]:
            destination = mount["destination"]
            if mount["kind"] == "bind":
                argv += ["--bind" if mount["writable"] else "--ro-bind", mount["source"], destination]
            elif mount["kind"] == "memory":
                argv += ["--tmpfs", destination]
            elif mount["kind"] == "link":
                argv += ["--symlink", mount["source"], destination]
            elif mount["kind"] == "file":
                path = os.path.join(self.stage, "content" + destination.replace("/", "_"))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(mount["content"])
                argv += ["--file", command.add_file(path), destination]
            elif mount["kind"] in ("proc", "dev"):
                argv += ["--" + mount["kind"], destination]
            else:
                raise ValueError(f"a mount of the unknown kind {mount['kind']}")
        argv += ["--remount-ro", "/", "--chdir", box["cwd"]]
        for path in filters:
            argv += ["--add-seccomp-fd", command.add_file(path)]
        argv += ["--", *program]
        return command

    def _make_filters(self, helper, profile):
        with open(profile, encoding="utf-8") as file:
            rules = json.load(file)["syscalls"]
        names = sorted({name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]})
        paths = [os.path.join(self.stage, name) for name in ("calls.bpf", "arguments.bpf")]
        subprocess.run([helper, *paths], input="".join(name + "\n" for name in names), text=True, check=True)
        for path in paths:
            os.chmod(path, 0o644)
        return paths
