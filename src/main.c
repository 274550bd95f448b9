/* SPDX-License-Identifier: Apache-2.0
 *
 * The program hutch: dispatches to the subcommands. Each settles its descriptors, prints one sentence when
 * something fails, and returns the exit status.
 */
#include "box/describe.h"
#include "cli/ps.h"
#include "command/search.h"
#include "doctor/doctor.h"
#include "grants/watched_names.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "lib/standard_fds.h"
#include "ns/launch.h"
#include "options/help.h"
#include "options/options.h"
#include "options/subcommands.h"
#include "prove/prove.h"
#include "resolve/notes.h"
#include "resolve/resolve.h"
#include "run/fetch_first.h"
#include "run/run_log.h"
#include "run/status_lines.h"
#include "run/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int run_box(const struct box *box, struct held_sources *held, const struct options *options,
                   struct run_log *record, struct error *error)
{
        if (options->dry_run) {
                record->ending = ENDING_EXITED;
                return help_print(describe_box(box, stdout));
        }
        /* A container engine has options of the same names. */
        const char *stray = notes_is_container_engine(box) ? NULL : options_stray(&options->command);
        if (stray)
                message("note: %.*s comes after --, so the command gets it; put options of hutch before --",
                        (int)strcspn(stray, "="), stray);
        return supervise(box, held, record, error);
}

static void release_box(struct box *box, struct held_sources *held)
{
        held_sources_release(held);
        watched_names_release(held);
        box_free(box);
}

/* Makes the box; where that needs packages that are missing, fetches them and makes it again. */
static bool make_box(struct box *box, struct held_sources *held, enum box_kind kind, struct options *options,
                     struct error *error)
{
        if (resolve_box(box, held, kind, options, error))
                return true;
        if (!box->fetch_first || !fetch_first(options, error))
                return false;
        release_box(box, held);
        *held = (struct held_sources){0};
        options->fetch = OPTION_FETCH_NEVER; /* once */
        return resolve_box(box, held, kind, options, error);
}

static int start_sandbox(const struct subcommand_row *row, int argc, char **argv)
{
        enum box_kind kind = str_equal(row->name, "mcp") ? BOX_MCP : BOX_RUN;
        struct error error = {0};
        struct options options = {0};
        struct box box = {.kind = kind};
        struct held_sources held = {0};
        struct run_log record;
        int status = 0;

        run_log_prepare(&record, argc, argv);
        /* First the options, because they may name a descriptor to keep. */
        bool ready = options_parse(&options, row->name, argc, argv, &error);
        ready &= standard_fds_settle(options.status_fd, &error);
        status_lines_begin(options.status_fd);
        messages_set_verbose(options.verbose);
        record.cwd = options.cwd;
        record.directory = options.directory;
        record.for_log_alone = options.status_fd != 0;
        if (ready && options.help)
                status = help_print(help_write(row, stdout));
        else if (ready && make_box(&box, &held, kind, &options, &error))
                status = run_box(&box, &held, &options, &record, &error);
        if (error.status)
                status = help_complain(&error, row);
        /* A start that failed belongs in `hutch logs` too. */
        if (error.status && !record.begun && !options.dry_run)
                run_log_begin(&record, &box);
        run_log_end(&record, status);
        status_lines_ended(record.ending, status, record.signal_number, options.timeout_seconds,
                           &record.failure);

        release_box(&box, &held);
        options_free(&options);
        return status;
}

static int subcommand_prove(const struct subcommand_row *row, int argc, char **argv)
{
        struct error error = {0};
        struct options options = {0};
        struct str_list words = {0};
        int status = 0;

        bool ready = standard_fds_settle(0, &error) && prove_words(argc, argv, &words, &error) &&
                     options_parse(&options, row->name, (int)words.count, words.values, &error);
        messages_set_verbose(options.verbose);
        if (ready && options.help)
                status = help_print(help_write(row, stdout));
        else if (ready)
                status = prove(&options, &error);
        if (error.status)
                status = help_complain(&error, row);
        options_free(&options);
        free(words.values);
        return status;
}

/* A separate program: a start of a server does not need the code that downloads. */
static int subcommand_fetch(const struct subcommand_row *row, int argc, char **argv)
{
        struct error error = {0};
        autofree char *program = program_find("hutch-fetch");
        if (program)
                execv(program, argv - 1);
        (void)argc;
        error_set(&error, EXIT_SETUP,
                  "cannot start hutch-fetch, which downloads packages: %s; reinstall hutch",
                  program ? strerror(errno) : "it is not installed");
        return help_complain(&error, row);
}

static int subcommand_doctor(const struct subcommand_row *row, int argc, char **argv)
{
        struct error error = {0}, settled = {0};
        struct options options = {0};
        bool runs = false;
        int status = 0;
        if (!options_parse(&options, row->name, argc, argv, &error)) {
                status = help_complain(&error, row);
        } else if (options.help) {
                status = help_print(help_write(row, stdout));
        } else {
                (void)standard_fds_settle(0, &settled);
                status = help_print(doctor_run(&settled, options.json, stdout, &runs)) || !runs;
        }
        options_free(&options);
        return status;
}

static int refuse_arguments(const struct subcommand_row *row, const char *argument)
{
        struct error error = {0};
        error_set(&error, EXIT_USAGE, "%s takes no %s", row->name, argument);
        return help_complain(&error, row);
}

static int subcommand_version(const struct subcommand_row *row, int argc, char **argv)
{
        if (argc > 0)
                return refuse_arguments(row, argv[0]);
        return help_print(printf("hutch %s\n", HUTCH_VERSION) > 0);
}

static int subcommand_help(const struct subcommand_row *row, int argc, char **argv)
{
        const struct subcommand_row *about = argc > 0 ? subcommand_find(argv[0]) : NULL;
        if (argc == 1 && !about) {
                struct error error = {0};
                error_set(&error, EXIT_USAGE, "no subcommand %s: `hutch --help` lists them", argv[0]);
                return help_complain(&error, row);
        }
        if (argc > 1)
                return refuse_arguments(row, argv[1]);
        return help_print(help_write(about, stdout));
}

static const struct {
        const char *name;
        int (*run)(const struct subcommand_row *row, int argc, char **argv);
} subcommands[] = {
    {"mcp", start_sandbox},      {"run", start_sandbox},          {"prove", subcommand_prove},
    {"fetch", subcommand_fetch}, {"doctor", subcommand_doctor},   {"ps", ps_show},
    {"logs", ps_show},           {"version", subcommand_version}, {"help", subcommand_help},
};

/* The user left the subcommand out: `hutch npx …`. */
static bool is_command(const char *name)
{
        autofree char *found = search_path(getenv("PATH"), "/", name, NULL);
        return found || strchr(name, '/');
}

int main(int argc, char **argv)
{
        launch_remember_arguments(argc, argv, environ);
        const char *name = argc > 1 ? argv[1] : "";
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
                name = "help";
        if (strcmp(name, "--version") == 0)
                name = "version";
        for (size_t i = 0; i < sizeof(subcommands) / sizeof(*subcommands); i++)
                if (strcmp(name, subcommands[i].name) == 0)
                        return subcommands[i].run(subcommand_find(name), argc - 2, argv + 2);

        struct error error = {0};
        const char *nearest = subcommand_nearest(name);
        if (!name[0])
                error_set(&error, EXIT_USAGE, "no subcommand: `hutch --help` lists them");
        else if (strcmp(name, "--") == 0)
                error_set(&error, EXIT_USAGE, "the subcommand is missing before --: hutch mcp -- COMMAND");
        else if (name[0] == '-')
                error_set(&error, EXIT_USAGE,
                          "%s comes before the subcommand; options go after it: hutch mcp %s …", name, name);
        else if (strchr(name, ' '))
                error_set(&error, EXIT_USAGE,
                          "no subcommand %s: each word must be a separate argument; in a client's \"args\", "
                          "an item",
                          name);
        else if (is_command(name))
                error_set(&error, EXIT_USAGE,
                          "no subcommand %s: to run it in a sandbox, write hutch mcp -- %s …",
                          error_shown(name), error_shown(name));
        else if (nearest)
                error_set(&error, EXIT_USAGE, "no subcommand %s: did you mean %s?", name, nearest);
        else
                error_set(&error, EXIT_USAGE, "no subcommand %s: `hutch --help` lists them", name);
        return help_complain(&error, NULL);
}
