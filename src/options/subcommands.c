/* SPDX-License-Identifier: Apache-2.0
 *
 * See subcommands.h.
 */
#include "options/subcommands.h"

#include "lib/str.h"
#include "lib/suggest.h"

const struct subcommand_row subcommand_table[] = {
    {"mcp", "[OPTIONS] -- COMMAND [ARG…]", true, true, "run a stdio MCP server in a sandbox",
     "Put it in front of the server's command in an MCP client's configuration. The server's messages pass\n"
     "through unchanged; it ends when the client goes away. It sees no file of yours but its own program,\n"
     "no network and no variable of yours until an option names it.\n\n"
     "For example: hutch mcp --rw /home/you/notes -- mcp-server-filesystem /home/you/notes\n",
     false},
    {"run", "[OPTIONS] -- COMMAND [ARG…]", true, true, "run any command in the same sandbox",
     "The terminal is passed through. hutch ends with the command's own exit status.\n", false},
    {"prove", "[--json] [OPTIONS]", true, true, "try to get out of a sandbox with these options",
     "Over 200 attempts, each shown to work without a sandbox first, where this machine permits that. "
     "Nothing\n"
     "of yours is read, changed or left behind. It takes no command.\n",
     false},
    {"fetch", "[OPTIONS] [-- COMMAND [ARG…]]", true, false, "download a server's packages once, in a sandbox",
     "COMMAND is what a client has: npx -y PACKAGE, npm exec, uvx PACKAGE, uv tool run, uv run. Its packages "
     "are "
     "fetched\n"
     "in a sandbox that reaches the registry and has nothing of yours, and kept; servers start from them "
     "offline.\n",
     true},
    {"doctor", "[OPTIONS]", true, false, "show what this machine can enforce",
     "Starts a real sandbox, and names what prevents or weakens it, with the fix. Exit status:\n"
     "0 when hutch mcp runs here, 1 when not; 2 a mistake in the options.\n",
     false},
    {"ps", "[--json]", false, false, "list the sandboxes that are running",
     "Shows only the caller's own; --json writes a JSON array.\n", false},
    {"logs", "[NAME] [--json]", false, false, "show how the last runs of a server went, and what was refused",
     "Without NAME, shows the last run of each server with its name; --json writes a JSON array of the "
     "runs.\n",
     false},
    {"version", "", false, false, "show the version", NULL, false},
    {"help", "[SUBCOMMAND]", false, false, "show this help, or a subcommand's", NULL, false},
    {NULL, NULL, false, false, NULL, NULL, false},
};

const struct subcommand_row *subcommand_find(const char *name)
{
        for (const struct subcommand_row *row = subcommand_table; row->name; row++)
                if (str_equal(row->name, name))
                        return row;
        return NULL;
}

const char *subcommand_nearest(const char *name)
{
        const char *names[sizeof(subcommand_table) / sizeof(*subcommand_table)];
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                names[i] = subcommand_table[i].name;
        return suggest_nearest(name, names);
}
