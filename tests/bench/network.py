# SPDX-License-Identifier: Apache-2.0
"""What a network for the sandbox costs: traffic through hutch-nat, slirp4netns and pasta against the loopback of their
host, how long the set-up takes, what stays in memory. That host is a network namespace of the benchmark's own, made
without any right: nothing leaves the machine.

Every peer gets its fastest spelling. What only hutch does is part of its figures: its clients come by a name, whose
first bytes are looked at.
"""

import os
import random
import shutil
import statistics
import stat
import subprocess

from figures import ratio_of_medians, weigh_idle
from peers import Command

ADDRESS, NAME, PORT = "198.51.100.1", "server.test", 7001  # an address for documentation: nobody's
RULE = f"{NAME}:{PORT}-{PORT + 3}"
TUN = "/dev/net/tun"
PASTA = "-4 --config-net -t none -u none -T none -U none".split()  # nothing that takes longer
START = 30  # seconds
WITH_RULE = "hutch, network"
# What traffic is asked for, the row's title and unit, a figure from a count in so many seconds, and the goal.
TRAFFIC = {
    "up": ("one TCP stream out of the sandbox", "MB/s", lambda count, seconds: count / 1e6 / seconds, 0.8),
    "down": ("one TCP stream into the sandbox", "MB/s", lambda count, seconds: count / 1e6 / seconds, 0.8),
    "connect": ("short connections", "per second", lambda count, seconds: count / seconds, 0.6),
    "ping": ("one byte there and back", "µs", lambda count, seconds: seconds * 1e6 / count, None),
}
SET_UP = f"""
ip -batch - <<END
link set lo up
address add {ADDRESS}/32 dev lo
link add out0 type veth peer name out1
link set out1 up
link set out0 up
address add 192.0.2.2/24 dev out0
route add default via 192.0.2.1
END
echo 127.0.0.1 localhost >hosts
echo {ADDRESS} {NAME} >>hosts
mount --bind hosts /etc/hosts
[ ! -e tun ] || mount --bind tun {TUN}
exec "$0" serve {ADDRESS} {PORT}
"""


class NoWorld(Exception):
    pass


class World:
    """A host without a way out, on which the services of traffic.c run. `before`: words that run a command on it."""

    def __init__(self, peers, traffic):
        self.directory = os.path.join(peers.stage, "home")
        self._give_tun(peers)
        self.process = subprocess.Popen(["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount",
                                         "sh", "-ec", SET_UP, traffic], stdin=subprocess.DEVNULL, cwd=self.directory,
                                        stdout=subprocess.PIPE, text=True, env=peers.environment, **peers.run_as)
        if self.process.stdout.readline() != "ready\n":
            self.__exit__()
            raise NoWorld("no network of its own, with addresses and a veth pair, could be made; ip or mount says above why")
        self.before = ["nsenter", "--preserve-credentials", "--user", "--net", "--mount", f"--wdns={peers.stage}", "-t",
                       str(self.process.pid), "--"]

    def _give_tun(self, peers):
        """The peers need it; where udev does not run, nobody has opened it for everybody."""
        if os.geteuid() == 0 and peers.run_as and os.path.exists(TUN):
            path = os.path.join(self.directory, "tun")
            os.mknod(path, stat.S_IFCHR, os.stat(TUN).st_rdev)
            os.chmod(path, 0o666)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Client:
    """A client of the services that lives for the whole run."""

    def __init__(self, command, peers, before):
        self.name = command.name
        self.process = subprocess.Popen([*before, *command.argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, cwd=peers.stage, env=peers.environment,
                                        **peers.run_as)

    def ask(self, what, amount):
        """(count, seconds)"""
        try:
            self.process.stdin.write(f"{what} {amount}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit(f"{self.name}: its traffic ended in the middle of `{what}`")
        return int(answer[0]), int(answer[1]) / 1e9

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(START)


def make_commands(bench, world, subcommand, program):
    """`program` on the host, and where each peer gives it a network. What does not work here is skipped."""
    peers, programs = bench.peers, bench.programs
    candidates = (
        (WITH_RULE, [programs["hutch"], subcommand, "--network-allow", RULE, "--", *program]),
        ("slirp4netns", [programs["in_slirp"], shutil.which("slirp4netns"), *program]),
        ("pasta", [shutil.which("pasta"), *PASTA, "--", *program]),
    )
    commands = [Command("host", program)]
    for name, argv in candidates:
        if None in argv:
            peers.skipped[name] = "not installed"
            continue
        command = Command(name, argv)
        refusal = peers.try_once(command, world.before)
        if refusal is None:
            commands.append(command)
        elif name == WITH_RULE:
            raise SystemExit(f"hutch {subcommand} --network-allow does not work here: {refusal}")
        else:
            peers.skipped[name] = refusal
    return commands


def measure(bench):
    try:
        world = World(bench.peers, bench.programs["traffic"])
    except NoWorld as error:
        bench.peers.skipped["network"] = str(error)
        return
    with world:
        measure_traffic(bench, world)
        measure_set_up(bench, world)
        measure_memory(bench, world)
        measure_churn(bench, world)


def measure_traffic(bench, world):
    commands = make_commands(bench, world, "run", [bench.programs["traffic"], "ask", NAME, str(PORT)])
    clients = [Client(command, bench.peers, world.before) for command in commands]
    figures = {what: {client.name: [] for client in clients} for what in TRAFFIC}
    for client in clients:
        for what in TRAFFIC:
            client.ask(what, 50)
    for _ in range(bench.scale(30)):
        for what, (_, _, figure, _) in TRAFFIC.items():
            for client in random.sample(clients, len(clients)):
                figures[what][client.name].append(figure(*client.ask(what, 200)))
    for client in clients:
        client.end()
    for what, (title, unit, _, goal) in TRAFFIC.items():
        bench.rows[f"network {what}"] = {"title": title, "unit": unit, "commands": {
            name: {"median": statistics.median(values), "p95": statistics.quantiles(values, n=20)[-1],
                   "samples": len(values), "ratio to host": ratio_of_medians(values, figures[what]["host"])}
            for name, values in figures[what].items()}}
        if goal:
            ratio = bench.rows[f"network {what}"]["commands"][WITH_RULE]["ratio to host"]["all"]
            bench.goal(title, f"{ratio:.2f} × host", f"≥ {goal} ×", ratio >= goal)


def measure_set_up(bench, world):
    """From spawn to the first answer; for each the difference to what it is without a network."""
    server = [bench.programs["tiny_server"]]
    host, *others = make_commands(bench, world, "mcp", server)
    commands = [Command("bare", host.argv), Command("bare again", host.argv),
                Command("namespaces", [bench.programs["in_slirp"], "", *server]),
                Command("hutch", [bench.programs["hutch"], "mcp", "--", *server]), *others]
    figures = bench.measure("roundtrip", ["initialize"], commands, bench.scale(300), 20, before=world.before)
    row = bench.record("network set-up", "spawn to the first answer, with a network", "ms", 1e6, figures)["commands"]
    for command in others:
        row[command.name]["added"] = row[command.name]["median"] - row[
            "hutch" if command.name == WITH_RULE else "namespaces"]["median"]
    added = row[WITH_RULE]["added"]
    bench.goal("set-up of the network", f"+{added:.2f} ms", "≤ +2 ms", added <= 2)


def measure_memory(bench, world):
    commands = make_commands(bench, world, "mcp", [bench.programs["tiny_server"]])[1:]
    row = bench.weigh_all("network memory", "memory of everything but the server, with a network, idle", commands,
                          before=world.before)
    if WITH_RULE in row:
        pss = row[WITH_RULE]["pss"]
        bench.goal("memory (PSS), with a network", f"{pss:.2f} MiB", "≤ 1.6 MiB", pss <= 1.6)


def measure_churn(bench, world):
    """Memory before and after many short connections. The world's processes are as good as the client's: not counted."""
    commands = make_commands(bench, world, "run", [bench.programs["traffic"], "ask", NAME, str(PORT)])
    client = Client(commands[1], bench.peers, world.before)
    client.ask("churn", 2000)
    before = weigh_idle(os.getpid(), "traffic")
    count, seconds = client.ask("churn", bench.scale(100000))
    after = weigh_idle(os.getpid(), "traffic")
    client.end()
    if before is None or after is None:
        bench.peers.skipped["churn"] = "the processes can be read by root only"
        return
    grown = after["pss"] - before["pss"]
    bench.rows["network churn"] = {"title": f"{count} short connections in {seconds:.0f} s, hutch's memory", "unit": "MiB",
                                   "commands": {"before": before, "after": after}}
    bench.goal(f"memory (PSS) after {count} connections", f"{grown:+.2f} MiB", "≤ +0.1 MiB", grown <= 0.1)
