// SPDX-License-Identifier: Apache-2.0
//
// One conversation by the official MCP SDK's stdio client, as a client application would hold it.
//   sdk_client.mjs list -- COMMAND…              prints one line per tool
//   sdk_client.mjs script JSON -- COMMAND…       JSON: [[method, params], …]; prints one JSON line per answer:
//                                                {"result": …} or {"error": …}
// The SDK is taken from HUTCH_TEST_NPM/node_modules, by default build/npm of this tree. Must never print anything
// else to stdout.
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const packages = process.env.HUTCH_TEST_NPM ?? path.join(here, "../../build/npm");
const require = createRequire(path.join(packages, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href.replace("/dist/cjs/", "/dist/esm/"));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const types = await load("@modelcontextprotocol/sdk/types.js");

const resultSchemas = {
        "tools/list": types.ListToolsResultSchema,
        "tools/call": types.CallToolResultSchema,
        "resources/list": types.ListResourcesResultSchema,
        "prompts/list": types.ListPromptsResultSchema,
        ping: types.EmptyResultSchema,
};

function usage() {
        console.error("usage: sdk_client.mjs list|script JSON -- COMMAND…");
        process.exit(2);
}

async function listTools(client) {
        for (const tool of (await client.listTools()).tools)
                console.log(`${tool.name}: ${(tool.description ?? "").split("\n")[0]}`);
}

async function playScript(client, script) {
        for (const [method, params] of script) {
                try {
                        const result = await client.request({ method, params }, resultSchemas[method], { timeout: 30_000 });
                        console.log(JSON.stringify({ result }));
                } catch (error) {
                        console.log(JSON.stringify({ error: { code: error.code, message: error.message } }));
                }
        }
}

const separator = process.argv.indexOf("--");
const [what, json] = process.argv.slice(2, separator);
const [command, ...args] = process.argv.slice(separator + 1);
if (separator < 0 || !command || !["list", "script"].includes(what)) usage();

const client = new Client({ name: "hutch-test", version: "1" }, { capabilities: { roots: {} } });
client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [] }));
// A conversation that never ends is a failure, and the caller must learn it.
setTimeout(() => { console.error("sdk_client: no end after 60 s"); process.exit(3); }, 60_000).unref();
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }), { timeout: 30_000 });
await (what === "list" ? listTools(client) : playScript(client, JSON.parse(json)));
await client.close();
