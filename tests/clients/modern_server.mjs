// SPDX-License-Identifier: Apache-2.0
//
// A server of the stateless revision of MCP (2026-07-28) by the official SDK 2.x: one tool, `echo`.
//   modern_server.mjs DIRECTORY      the directory whose node_modules has the SDK
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.argv[2], "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href.replace(/\.cjs$/, ".mjs"));
const { McpServer } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
const { z } = require("zod");

serveStdio(() => {
        const server = new McpServer({ name: "modern", version: "1" }, { capabilities: { tools: {} } });
        server.registerTool("echo", { description: "Says it again", inputSchema: z.object({ message: z.string() }) },
                ({ message }) => ({ content: [{ type: "text", text: message }] }));
        return server;
});
