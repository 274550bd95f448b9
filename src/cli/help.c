/* SPDX-License-Identifier: Apache-2.0
 *
 * See help.h.
 */
#include "cli/help.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "lib/suggest.h"
#include "options/options.h"

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
     "A sandbox is really started; what stands in its way, or weakens it, is named with the fix. Exit "
     "status:\n"
     "0 when hutch mcp runs here, 1 when not; 2 a mistake in the options.\n",
     false},
    {"ps", "[--json]", false, false, "list the sandboxes that are running",
     "The caller's own; --json writes a JSON array.\n", false},
    {"logs", "[NAME] [--json]", false, false, "show how the last runs of a server went, and what was refused",
     "Without NAME the last run of each server, which names them; --json writes a JSON array of the runs.\n",
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

static void write_options(const struct subcommand_row *subcommand, FILE *out)
{
        enum { COLUMN = 27 };
        fputs(subcommand->sandbox
                  ? "\nOptions (--name VALUE or --name=VALUE; a leading ~/ in a path is your home):\n"
                  : "\nOptions:\n",
              out);
        for (size_t i = 0; i < OPTION_COUNT; i++) {
                const struct option_row *row = &option_table[i];
                if (!option_belongs(row, subcommand->name))
                        continue;
                const char letter[] = {'-', row->letter, ',', 0};
                autofree char *value = row->argument == ARGUMENT_NONE ? str_copy("")
                                       : row->argument == ARGUMENT_OPTIONAL
                                           ? str_format("[=%s]", row->metavariable)
                                           : str_format(" %s", row->metavariable);
                fprintf(out, "  %-3s --%s%s", row->letter ? letter : "", row->name, value);
                int used = 8 + (int)(strlen(row->name) + strlen(value));
                /* A name that leaves no gap gets a line of its own. */
                if (used + 2 > 2 + COLUMN) {
                        fputc('\n', out);
                        used = 0;
                }
                fprintf(out, "%*s%s%s\n", 2 + COLUMN - used, "", row->help,
                        row->repeatable && row->argument ? "; repeatable" : "");
        }
}

static void write_statuses(const struct subcommand_row *row, FILE *out)
{
        if (str_equal(row->name, "prove")) {
                fputs("\nExit status: 0 nothing got out; 1 an attempt got out, or has no result; 125 the "
                      "sandbox "
                      "could not\nbe set up; 2 a mistake in the options.\n",
                      out);
                return;
        }
        fputs("\nExit status: the command's own; 128+N when a signal ended it; 124 time-out; 125 the sandbox "
              "could not\n"
              "be set up; 126 the command is not executable; 127 it was not found; 2 a mistake in the "
              "options.\n",
              out);
}

bool help_write(const struct subcommand_row *row, FILE *out)
{
        autofree char *usage = help_usage(row);
        fprintf(out, "usage: %s\n\n", usage);
        if (!row) {
                fputs("hutch runs a program in a sandbox without root: no file, network, variable or process "
                      "of yours is\n"
                      "inside until an option names it.\n\nSubcommands:\n",
                      out);
                for (row = subcommand_table; row->name; row++)
                        fprintf(out, "  %-9s %s\n", row->name, row->help);
                fputs("\n`hutch help SUBCOMMAND` shows a subcommand's options.\n", out);
        } else {
                fprintf(out, "%s.\n", row->help);
                if (row->detail)
                        fprintf(out, "\n%s", row->detail);
                if (row->options)
                        write_options(row, out);
                if (row->sandbox)
                        write_statuses(row, out);
        }
        return fflush(out) == 0 && !ferror(out);
}

char *help_usage(const struct subcommand_row *row)
{
        if (!row)
                return str_copy("hutch SUBCOMMAND [OPTIONS] …   (hutch --help lists the subcommands)");
        if (row->options)
                return str_format("hutch %s %s   (hutch %s --help lists the options)", row->name,
                                  row->arguments, row->name);
        return str_format("hutch %s%s%s", row->name, row->arguments[0] ? " " : "", row->arguments);
}
