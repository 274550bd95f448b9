/* SPDX-License-Identifier: Apache-2.0
 *
 * See help.h.
 */
#include "cli/help.h"

#include "cli/options.h"
#include "lib/fd.h"
#include "lib/name.h"
#include "lib/str.h"

const struct subcommand_row subcommand_table[] = {
    {"mcp", "[OPTIONS] -- COMMAND [ARG…]", true, "run a stdio MCP server in a sandbox",
     "Put it in front of the server's command in an MCP client's configuration. The server's messages pass\n"
     "through unchanged; it ends when the client goes away. It sees no file of yours but its own program,\n"
     "no network and no variable of yours until an option names it.\n"},
    {"run", "[OPTIONS] -- COMMAND [ARG…]", true, "run any command in the same sandbox",
     "The terminal is passed through. hutch ends with the command's own exit status.\n"},
    {"ps", "[--json]", false, "list the sandboxes that are running",
     "The caller's own; --json writes a JSON array.\n"},
    {"logs", "[NAME] [--json]", false, "show how the last runs of a server went, and what was refused",
     "Without NAME the last run of each server, which names them; --json writes a JSON array of the runs.\n"},
    {"version", "", false, "show the version", NULL},
    {"help", "[SUBCOMMAND]", false, "show this help, or a subcommand's", NULL},
    {NULL, NULL, false, NULL, NULL},
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
        return name_nearest(name, names);
}

static void write_options(const char *subcommand, FILE *out)
{
        enum { COLUMN = 27 };
        fputs("\nOptions (--name VALUE or --name=VALUE; a leading ~/ in a path is your home):\n", out);
        for (size_t i = 0; i < OPTION_COUNT; i++) {
                const struct option_row *row = &option_table[i];
                if (row->only && strcmp(row->only, subcommand) != 0)
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
                if (row->sandbox)
                        write_options(row->name, out);
        }
        return fflush(out) == 0 && !ferror(out);
}

char *help_usage(const struct subcommand_row *row)
{
        if (!row)
                return str_copy("hutch SUBCOMMAND [OPTIONS] …   (hutch --help lists the subcommands)");
        if (row->sandbox)
                return str_format("hutch %s %s   (hutch %s --help lists the options)", row->name,
                                  row->arguments, row->name);
        return str_format("hutch %s%s%s", row->name, row->arguments[0] ? " " : "", row->arguments);
}
