/* SPDX-License-Identifier: Apache-2.0
 *
 * See help.h.
 */
#include "options/help.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "options/options.h"

#include <errno.h>

static const char *const headings[OPTION_GROUPS] = {
    [OPTIONS_COMMON] = "Most used",
    [OPTIONS_FILES] = "Files",
    [OPTIONS_ENVIRONMENT] = "Environment",
    [OPTIONS_NETWORK] = "Network",
    [OPTIONS_TOOLS] = "Tools and messages",
    [OPTIONS_LIMITS] = "Limits",
    [OPTIONS_PACKAGES] = "Packages",
    [OPTIONS_SANDBOX] = "Sandbox",
    [OPTIONS_OUTPUT] = "Output",
};

static void write_option(const struct option_row *row, FILE *out)
{
        enum { COLUMN = 27 };
        const char letter[] = {'-', row->letter, ',', 0};
        autofree char *value = row->argument == ARGUMENT_NONE       ? str_copy("")
                               : row->argument == ARGUMENT_OPTIONAL ? str_format("[=%s]", row->metavariable)
                                                                    : str_format(" %s", row->metavariable);
        fprintf(out, "  %-3s --%s%s", row->letter ? letter : "", row->name, value);
        int used = 8 + (int)(strlen(row->name) + strlen(value));
        /* A name that leaves no gap gets its own line. */
        if (used + 2 > 2 + COLUMN) {
                fputc('\n', out);
                used = 0;
        }
        fprintf(out, "%*s%s%s\n", 2 + COLUMN - used, "", row->help,
                row->repeatable && row->argument ? "; repeatable" : "");
}

/* Headings where a sandbox is started: other subcommands have few options. */
static void write_options(const struct subcommand_row *subcommand, FILE *out)
{
        int group = -1;
        fputs(subcommand->sandbox
                  ? "\nOptions (--name VALUE or --name=VALUE; a leading ~/ in a path is your home):\n"
                  : "\nOptions:\n",
              out);
        for (size_t i = 0; i < OPTION_COUNT; i++) {
                const struct option_row *row = &option_table[i];
                if (!option_belongs(row, subcommand->name))
                        continue;
                if (subcommand->sandbox && (int)row->group != group)
                        fprintf(out, "\n%s:\n", headings[row->group]);
                group = (int)row->group;
                write_option(row, out);
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
                fputs(
                    "hutch runs a program in a sandbox without root. The program sees no file of yours but "
                    "itself, no\n"
                    "network and no variable of yours until an option names it, and never your processes.\n\n"
                    "Subcommands:\n",
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
                return str_copy("hutch SUBCOMMAND [OPTIONS] …");
        return str_format("hutch %s%s%s", row->name, row->arguments[0] ? " " : "", row->arguments);
}

int help_complain(const struct error *error, const struct subcommand_row *row)
{
        message_as(MESSAGE_ERROR, error->option, "%s", error->text);
        if (error->status == EXIT_USAGE) {
                autofree char *usage = help_usage(row);
                if (!row)
                        message("usage: %s   (hutch --help lists the subcommands)", usage);
                else if (row->options)
                        message("usage: %s   (hutch %s --help lists the options)", usage, row->name);
                else
                        message("usage: %s", usage);
        }
        return error->status;
}

int help_print(bool written)
{
        if (written && fflush(stdout) == 0)
                return 0;
        message("cannot write to standard output: %s", strerror(errno));
        return 1;
}
