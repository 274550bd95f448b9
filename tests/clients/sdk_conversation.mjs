// SPDX-License-Identifier: Apache-2.0
//
// One conversation with a server, the same for each line of the official SDK.
//   sdk_conversation.mjs 1|2|2-auto everything|echo -- COMMAND…
//      2-auto       the 2.x client asks the server for its era first, by starting it once more
//      everything   with server-everything: every kind of message occurs in both directions
//      echo         with a server that has one tool
// The SDKs are taken from HUTCH_TEST_NPM (1.x) and HUTCH_TEST_NPM_NEWER (2.x). Prints one JSON line per answer. No step
// starts before the one before it is done, so that two conversations are equal message by message.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const LONG_TEXT = "a line that fits in no pipe \u2028 \u{1F407} ".repeat(40_000);

const separator = process.argv.indexOf("--");
const [line, what] = process.argv.slice(2, separator);
const [command, ...args] = process.argv.slice(separator + 1);
if (separator < 0 || !command || !["1", "2", "2-auto"].includes(line) || !["everything", "echo"].includes(what)) {
        console.error("usage: sdk_conversation.mjs 1|2|2-auto everything|echo -- COMMAND…");
        process.exit(2);
}
// A conversation that never ends is a failure, and the caller must learn it.
setTimeout(() => { console.error("sdk_conversation: no end after 60 s"); process.exit(3); }, 60_000).unref();

// What the two lines call differently. `on` takes a method; 1.x names it by a schema.
async function loadSdk1() {
        const require = createRequire(path.join(process.env.HUTCH_TEST_NPM, "package.json"));
        const load = (name) => import(pathToFileURL(require.resolve(name)).href.replace("/dist/cjs/", "/dist/esm/"));
        const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
        const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
        const types = await load("@modelcontextprotocol/sdk/types.js");
        const schemas = {
                "roots/list": types.ListRootsRequestSchema,
                "sampling/createMessage": types.CreateMessageRequestSchema,
                "elicitation/create": types.ElicitRequestSchema,
                "notifications/message": types.LoggingMessageNotificationSchema,
        };
        return { Client, StdioClientTransport, on: (method) => schemas[method] };
}

async function loadSdk2() {
        const require = createRequire(path.join(process.env.HUTCH_TEST_NPM_NEWER, "package.json"));
        const load = (name) => import(pathToFileURL(require.resolve(name)).href.replace(/\.cjs$/, ".mjs"));
        const { Client } = await load("@modelcontextprotocol/client");
        const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
        return { Client, StdioClientTransport, on: (method) => method };
}

const { Client, StdioClientTransport, on } = line === "1" ? await loadSdk1() : await loadSdk2();
const client = new Client({ name: "hutch-test", version: "1" }, {
        capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
        ...(line === "2-auto" ? { versionNegotiation: { mode: "auto" } } : {}),
});
client.setRequestHandler(on("roots/list"), () => ({ roots: [{ uri: "file:///r", name: "r" }] }));
client.setRequestHandler(on("sampling/createMessage"), () => ({
        model: "none", role: "assistant", content: { type: "text", text: "as sampled" },
}));
client.setRequestHandler(on("elicitation/create"), () => ({ action: "decline" }));
// server-everything asks for the roots a while after the handshake and says so when it has them.
const rootsTaken = new Promise((resolve) => client.setNotificationHandler(on("notifications/message"), resolve));

const call = (name, args = {}) => ["callTool", { name, arguments: args }];
const conversation = what === "echo" ? [["listTools"], call("echo", { message: "hello" })] : [
        ["ping"],
        ["listTools"],
        ["listPrompts"],
        ["listResources"],
        ["listResourceTemplates"],
        call("echo", { message: "hello" }),
        call("echo", { message: LONG_TEXT }),
        call("echo", { message: 7 }),
        call("get-sum", { a: 40, b: 2 }),
        call("get-tiny-image"),
        call("get-annotated-message", { messageType: "error", includeImage: true }),
        call("get-structured-content", { location: "Chicago" }),
        call("get-resource-links", { count: 3 }),
        call("trigger-long-running-operation", { duration: 0.2, steps: 4 }),
        call("trigger-sampling-request", { prompt: "sample", maxTokens: 10 }),
        call("trigger-elicitation-request"),
        call("no-such-tool"),
        ["readResource", { uri: "demo://resource/static/document/architecture.md" }],
        ["readResource", { uri: "demo://no-such-thing" }],
        ["getPrompt", { name: "simple-prompt" }],
        ["getPrompt", { name: "args-prompt", arguments: { city: "Bern" } }],
        ["complete", { ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }],
        ["subscribeResource", { uri: "demo://resource/dynamic/text/1" }],
        ["unsubscribeResource", { uri: "demo://resource/dynamic/text/1" }],
        ["setLoggingLevel", "error"],
];

async function play([method, parameters]) {
        const options = { timeout: 30_000, onprogress: method === "callTool" ? () => {} : undefined };
        // 1.x has a schema of the result before the options of callTool.
        const rest = line === "1" && method === "callTool" ? [undefined, options] : [options];
        try {
                return { result: await client[method](...(parameters === undefined ? rest : [parameters, ...rest])) };
        } catch (error) {
                return { error: { code: error.code, message: error.message } };
        }
}

await client.connect(new StdioClientTransport({ command, args, stderr: "inherit", env: process.env }), { timeout: 30_000 });
if (what === "everything") await rootsTaken;
for (const step of conversation)
        console.log(JSON.stringify(await play(step)));
await client.close();
