# SPDX-License-Identifier: Apache-2.0
"""The configurations of the official MCP tutorials, unchanged behind `hutch mcp --` and called by the official SDK's client.
Their directories are made as the tutorials make them; only the weather comes from nowhere."""
import json
import os
import shutil
import subprocess

import pytest
from harness import NPM, PYTHON, TESTS, needs_installed, without_deny_all
from layouts import installed, make, make_venv
from test_everyday import UV

# What `tsc` makes of the tutorial's src/index.ts, the requests to the weather service aside.
INDEX_JS = r"""
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
const server = new McpServer({ name: "weather", version: "1.0.0" });
server.registerTool("get_alerts", { description: "Get weather alerts for a state", inputSchema: { state: z.string().length(2).describe("Two-letter state code") } },
    async ({ state }) => ({ content: [{ type: "text", text: `No active alerts for ${state}` }] }));
server.registerTool("get_forecast", { description: "Get weather forecast for a location",
    inputSchema: { latitude: z.number().min(-90).max(90), longitude: z.number().min(-180).max(180) } },
    async ({ latitude, longitude }) => ({ content: [{ type: "text", text: `Forecast for ${latitude}, ${longitude} by ${process.execPath}` }] }));
async function main() {
    await server.connect(new StdioServerTransport());
    console.error("Weather MCP Server running on stdio");
}
main().catch((error) => { console.error("Fatal error in main():", error); process.exit(1); });
"""


@pytest.fixture
def client(hutch, node, npm_packages):
    """client(configuration, [method, params]…): the SDK's client starts each server of an `mcpServers` object."""
    def play(configuration, *script, cwd="/"):
        server, = json.loads(configuration)["mcpServers"].values()
        command = hutch.argv("mcp", "--", server["command"], *server["args"])
        done = subprocess.run([node, TESTS / "clients" / "sdk_client.mjs", "script", json.dumps(script), "--", *command], capture_output=True, text=True,
                              env={**hutch.environment, "HUTCH_TEST_NPM": str(NPM)}, cwd=cwd, timeout=90, stdin=subprocess.DEVNULL)
        answers = [json.loads(line).get("result") for line in done.stdout.splitlines()]
        assert done.returncode == 0 and len(answers) == len(script), done
        return answers, without_deny_all(done.stderr)
    return play


@pytest.fixture
def own_node(hutch, node):
    """Node.js as nvm installs it, and the PATH that its shell function sets."""
    prefix = hutch.home / ".nvm/versions/node/v22.11.0"
    (prefix / "bin").mkdir(parents=True)
    shutil.copyfile(node, prefix / "bin/node")
    (prefix / "bin/node").chmod(0o755)
    make(prefix / "include/node/node.h")
    (prefix / "lib/node_modules").mkdir(parents=True)
    hutch.environment["PATH"] = f"{prefix}/bin:/usr/bin:/bin"
    return prefix


def call(tool, **arguments):
    return ["tools/call", {"name": tool, "arguments": arguments}]


def test_the_typescript_tutorial(hutch, client, own_node, npm_packages):
    project = hutch.home / "code/weather"
    make(project / "package.json", json.dumps({"name": "weather", "version": "1.0.0", "type": "module", "bin": {"weather": "./build/index.js"},
                                               "scripts": {"build": "tsc && chmod 755 build/index.js"}, "files": ["build"]}))
    make(project / "tsconfig.json", "{}")
    make(project / "src/index.ts")
    make(project / "build/index.js", INDEX_JS, 0o755)
    shutil.copytree(npm_packages, project / "node_modules", symlinks=True)
    make(hutch.home / "code/other/key", "CANARY")
    configuration = """
        {
          "mcpServers": {
            "weather": {
              "command": "node",
              "args": ["/ABSOLUTE/PATH/TO/PARENT/DIRECTORY/weather/build/index.js"]
            }
          }
        }""".replace("/ABSOLUTE/PATH/TO/PARENT/DIRECTORY/weather", str(project))
    for cwd in ("/", hutch.home, project):
        (listed, alerts, forecast), err = client(configuration, ["tools/list", {}], call("get_alerts", state="CA"), call("get_forecast", latitude=38.5, longitude=-121.5), cwd=cwd)
        assert {tool["name"] for tool in listed["tools"]} == {"get_alerts", "get_forecast"}
        assert alerts["content"][0]["text"] == "No active alerts for CA"
        assert forecast["content"][0]["text"] == f"Forecast for 38.5, -121.5 by {own_node}/bin/node"
        assert "Weather MCP Server running on stdio" in err and "[hutch]" not in err
        shown = {mount["source"]: mount["why"] for mount in describe(hutch, configuration, cwd) if mount["kind"] == "bind" and mount["why"] != "base"}
        assert shown == {**dict.fromkeys(installed(own_node), "the command"), str(project): "program of the command"}


def describe(hutch, configuration, cwd):
    server, = json.loads(configuration)["mcpServers"].values()
    done = hutch("mcp", "--dry-run", "--", server["command"], *server["args"], cwd=cwd)
    assert done.status == 0, done
    return json.loads(done.out)["mounts"]


@pytest.mark.parametrize("base", ["system", "pyenv"])
def test_the_python_tutorial(hutch, client, base):
    """`uv init weather; uv venv; uv add mcp[cli] httpx`: the module that stands for those lies in the environment."""
    for name in ("uv", "uvx"):
        make(hutch.home / ".local/bin" / name, UV, 0o755)
    make(hutch.home / ".local/bin/other-tool", "CANARY", 0o755)
    hutch.environment["PATH"] = f"{hutch.home}/.local/bin:{hutch.environment['PATH']}"
    project = hutch.home / "code/weather"
    make(project / "pyproject.toml", '[project]\nname = "weather"\nversion = "0.1.0"\nrequires-python = ">=3.10"\ndependencies = ["httpx", "mcp[cli]>=1.2.0"]\n')
    make(project / ".python-version", "3.11\n")
    make(project / "uv.lock")
    make_venv(project / ".venv")
    if base == "pyenv":
        move_base(project / ".venv", hutch.home / ".local/share/uv/python/cpython-3.11.9-linux-x86_64-gnu")
    library = next((project / ".venv/lib").glob("python3*")) / "site-packages/stub_server.py"
    shutil.copyfile(TESTS / "clients/stub_server.py", library)
    make(project / "weather.py", "import runpy, sys\nimport stub_server\nsys.argv[1:] = []\n"
         "if __name__ == '__main__':\n    runpy.run_path(stub_server.__file__, run_name='__main__')\n")
    make(hutch.home / "code/other/key", "CANARY")
    configuration = """
        {
          "mcpServers": {
            "weather": {
              "command": "uv",
              "args": [
                "--directory",
                "/ABSOLUTE/PATH/TO/PARENT/DIRECTORY/weather",
                "run",
                "weather.py"
              ]
            }
          }
        }""".replace("/ABSOLUTE/PATH/TO/PARENT/DIRECTORY/weather", str(project))
    (listed,), err = client(configuration, ["tools/list", {}])
    assert listed["tools"] and "[hutch]" not in err
    shown = {mount["source"] for mount in describe(hutch, configuration, "/") if mount["kind"] == "bind" and mount["why"] != "base"}
    assert not [path for path in shown if "other" in path] and {str(project), f"{hutch.home}/.local/bin"} <= shown, shown


def move_base(venv, prefix):
    """The environment's Python becomes one of uv's own installations."""
    real = os.path.realpath(PYTHON)
    name = os.path.basename(real)
    (prefix / "bin").mkdir(parents=True)
    shutil.copyfile(real, prefix / "bin" / name)
    (prefix / "bin" / name).chmod(0o755)
    library = subprocess.run([PYTHON, "-c", "import os; print(os.path.dirname(os.__file__))"], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copytree(library, prefix / "lib" / name, ignore=shutil.ignore_patterns("test", "__pycache__", "config-*", "sitecustomize.py", "dist-packages"))
    for link in ("python", "python3", name):
        (venv / "bin" / link).unlink(missing_ok=True)
        (venv / "bin" / link).symlink_to(prefix / "bin" / name)
    (venv / "pyvenv.cfg").write_text(f"home = {prefix}/bin\ninclude-system-site-packages = false\nversion = 3.11.9\n")


def test_the_filesystem_server_of_the_user_quickstart(hutch, client, npm_packages):
    """`npx -y` of a package that is installed, with directories as arguments; they need their options, and a note says which."""
    needs_installed(shutil.which("npx"), "npx is missing")
    project = hutch.home / "servers"
    make(project / "package.json", "{}")
    shutil.copytree(npm_packages, project / "node_modules", symlinks=True)
    modules = project / "node_modules/.bin"
    modules.mkdir(exist_ok=True)
    if not (modules / "mcp-server-filesystem").exists():
        (modules / "mcp-server-filesystem").symlink_to("../@modelcontextprotocol/server-filesystem/dist/index.js")
    desktop = make(hutch.home / "Desktop/note.txt", "a note").parent
    configuration = json.dumps({"mcpServers": {"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", str(desktop)]}}})
    server, = json.loads(configuration)["mcpServers"].values()
    done = subprocess.run([shutil.which("node"), TESTS / "clients/sdk_client.mjs", "script", json.dumps([["tools/list", {}], call("read_text_file", path=f"{desktop}/note.txt")]), "--",
                           *hutch.argv("mcp", "--rw", desktop, "--", server["command"], *server["args"])], capture_output=True, text=True,
                          env={**hutch.environment, "HUTCH_TEST_NPM": str(NPM)}, cwd=project, timeout=90, stdin=subprocess.DEVNULL)
    listed, read = [json.loads(line)["result"] for line in done.stdout.splitlines()]
    assert {"read_text_file", "write_file"} <= {tool["name"] for tool in listed["tools"]} and "a note" in read["content"][0]["text"], done
    assert "[hutch]" not in without_deny_all(done.stderr), done
    bare = hutch("mcp", "--", server["command"], *server["args"], cwd=project, timeout=60)
    assert f"--ro {desktop} would grant it" in bare.err, bare
