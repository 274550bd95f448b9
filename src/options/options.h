/* SPDX-License-Identifier: Apache-2.0
 *
 * The one option table: parsing, --help, the check of the man pages and of the shell completions all read it.
 * struct options holds what the user wrote, checked for form only; resolve/ makes the box of it. Every option
 * that is read here must be used there.
 */
#ifndef HUTCH_OPTIONS_OPTIONS_H
#define HUTCH_OPTIONS_OPTIONS_H

#include "lib/err.h"
#include "lib/str.h"
#include "limits/limits.h"
#include "policy/tools.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_argument {
        ARGUMENT_NONE,
        ARGUMENT_REQUIRED,
        ARGUMENT_OPTIONAL, /* only as --name=value */
};

/* The headings of --help and of the manuals, in their order. */
enum option_group {
        OPTIONS_COMMON,
        OPTIONS_FILES,
        OPTIONS_ENVIRONMENT,
        OPTIONS_NETWORK,
        OPTIONS_TOOLS,
        OPTIONS_LIMITS,
        OPTIONS_PACKAGES,
        OPTIONS_SANDBOX,
        OPTIONS_OUTPUT,
        OPTION_GROUPS
};

struct options;
struct option_row;

/* Checks `value` ("" for none) and stores it. Status 2 with a sentence for what cannot be meant. */
typedef bool option_reader(struct options *options, const struct option_row *row, const char *value,
                           struct error *error);

struct option_row {
        enum option_group group;
        const char *name; /* without the dashes */
        char letter;      /* short form, or 0 */
        enum option_argument argument;
        const char *metavariable; /* as help and manual show it, or NULL */
        const char
            *complete; /* what a shell completes: "file", "directory", "path", "env", "none", or words */
        bool repeatable;
        bool secret;      /* the value after = is blanked in argv once it is read */
        bool always;      /* every subcommand that has options has it */
        bool fetch;       /* `hutch fetch` has it besides those in `only` */
        const char *only; /* the subcommands that have it, blanks between them; NULL: every one that starts a
                             sandbox */
        option_reader *read;
        size_t field;     /* of struct options: where `read` stores a flag, a text, a path or a list */
        const char *help; /* one line, no final stop */
};

enum { OPTION_COUNT = 56 };

/* In the order of --help, group after group. */
extern const struct option_row option_table[];

/* True when `subcommand` has the option. Every subcommand that has options has --help. */
bool option_belongs(const struct option_row *row, const char *subcommand);

struct grant_option {
        char *path;        /* as written, with a leading ~ expanded; of memory: the place inside, normal */
        char *destination; /* absolute and normal, never "/"; or NULL: the same path */
        bool writable;
        bool overlay;       /* changes stay in memory and vanish */
        bool optional;      /* skipped when there is nothing at `path` */
        bool memory;        /* nothing of the host: an empty directory in memory */
        uint64_t bytes;     /* of memory: its size; 0: it shares the common one */
        const char *option; /* as it was spelled, with its dashes; static */
};

struct file_option {
        char *local;  /* as written, with a leading ~ expanded */
        char *remote; /* absolute and normal, never "/" */
};

enum option_fetch {
        OPTION_FETCH_AUTO,
        OPTION_FETCH_NEVER,
        OPTION_FETCH_ALWAYS,
};

struct options {
        char *template_name;       /* or NULL: the default, mcp-server */
        struct str_list env;       /* KEY=VALUE, in order; a KEY alone has the caller's value by now */
        struct str_list env_files; /* as written, with a leading ~ expanded */
        struct grant_option *grants;
        size_t grant_count;
        struct file_option *files;
        size_t file_count;
        struct str_list unsafe_grants; /* as written, with a leading ~ expanded */
        bool no_auto_grant;
        struct str_list protect; /* as written, with a leading ~ expanded */
        bool no_protect;
        struct str_list hide;                        /* the same; a pattern when it has one of *?[ */
        struct str_list network_allow, network_deny; /* as written: lists of destinations */
        struct str_list host_ports;                  /* as written: [PORT:]HOSTPORT */
        struct str_list publish;                     /* as written: [HOSTPORT:]PORT */
        char *log;                                   /* as written, with a leading ~ expanded, or NULL */
        struct tool_rules tools; /* tools.pins as written, with a leading ~ expanded, or NULL */
        char *cwd;               /* the same */
        char *directory; /* the caller's working directory, where the others begin; NULL: it was deleted */
        char *seccomp;   /* the same */
        unsigned timeout_seconds;
        unsigned stop_grace_seconds; /* LIMIT_NO_GRACE: the end of input ends nothing */
        unsigned verbose;
        bool raw_stdout;
        uint64_t memory_bytes, disk_bytes; /* 0: the default */
        unsigned pids;                     /* the same */
        unsigned cpus;                     /* hundredths of a processor; 0: no limit */
        unsigned required;                 /* bits of limits/limits.h */
        enum userns_mode userns;
        bool no_proc;
        int status_fd; /* open for writing, at least 3; 0: none. Closed unless standard_fds_settle() keeps it
                        */
        bool dry_run;
        bool json;
        bool help;
        enum option_fetch fetch;
        char *persist; /* a name that is one component of a path; or NULL */
        /* of `hutch fetch` */
        bool list, update, verify;
        char *remove; /* as written, or NULL */
        unsigned min_age_days;
        struct str_list command; /* the words after -- */
};

/* Parses what follows the subcommand, argv[0] being the first word after it. `subcommand` is one of
 * subcommand_table; one that starts no sandbox takes options only, and no command. Status 2 with one sentence
 * on anything unknown, missing, empty, malformed or contradictory. No sentence contains the value of a
 * variable, and values are blanked in `argv`. After `--help` nothing more is read. Free `options` in both
 * cases. */
bool options_parse(struct options *options, const char *subcommand, int argc, char **argv,
                   struct error *error);

void options_free(struct options *options);

/* The first word of `command` that is an option of hutch, exactly `--long` or `--long=…`, after the program
 * and before any further `--`. The command gets it although the user may have meant hutch. NULL when there is
 * none; the word belongs to the list. */
const char *options_stray(const struct str_list *command);

#endif
