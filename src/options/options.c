/* SPDX-License-Identifier: Apache-2.0
 *
 * See options.h. One pass over the words before `--`: each is found in the table by its whole name (an
 * abbreviation would change its meaning with the next option), its value is taken and checked for form, and
 * stored. What needs two options to judge is judged at the end. Whether a path exists is asked here only to
 * split PATH:DEST; whether it may be granted is judged elsewhere. No sentence may hold a variable's value.
 */
#include "options/options.h"

#include "lib/fd.h"
#include "lib/suggest.h"
#include "options/conflicts.h"
#include "options/foreign_options.h"
#include "options/mount_syntax.h"
#include "options/subcommands.h"
#include "options/tool_options.h"
#include "options/values.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
        SECONDS_MAX = 31536000, /* a year: more is a slip of the hand */
        STOP_GRACE_DEFAULT = 5,
};

const struct option_row option_table[] = {
    {OPTION_TEMPLATE, "template", 't', ARGUMENT_REQUIRED, "NAME", "file", false,
     "the sandbox template; a name with a / is a file (default: mcp-server)", NULL},
    {OPTION_RO, "ro", 0, ARGUMENT_REQUIRED, "PATH[:DEST]", "path", true,
     "grant a file or directory for reading, at the same path or at DEST", NULL},
    {OPTION_RW, "rw", 0, ARGUMENT_REQUIRED, "PATH[:DEST]", "path", true,
     "the same for reading and writing; what is written stays", NULL},
    {OPTION_RO_TRY, "ro-try", 0, ARGUMENT_REQUIRED, "PATH[:DEST]", "path", true,
     "as --ro, and skipped when PATH does not exist", NULL},
    {OPTION_RW_TRY, "rw-try", 0, ARGUMENT_REQUIRED, "PATH[:DEST]", "path", true,
     "as --rw, and skipped when PATH does not exist", NULL},
    {OPTION_VOLUME, "volume", 0, ARGUMENT_REQUIRED, "SRC:DST[:ro]", "path", true,
     "as --rw SRC:DST, or with :ro as --ro SRC:DST", NULL},
    {OPTION_MOUNT, "mount", 0, ARGUMENT_REQUIRED, "SPEC", "none", true,
     "type=bind,source=PATH,target=DEST[,readonly] or type=tmpfs,target=PATH", NULL},
    {OPTION_TMPFS, "tmpfs", 0, ARGUMENT_REQUIRED, "PATH[:SIZE]", "none", true,
     "an empty, writable directory in memory, with SIZE as 64m of a size of its own", NULL},
    {OPTION_FILE, "file", 'f', ARGUMENT_REQUIRED, "LOCAL:REMOTE", "file", true,
     "copy a file in before the start, below /tmp, the home or a writable grant", NULL},
    {OPTION_NO_AUTO_GRANT, "no-auto-grant", 0, ARGUMENT_NONE, NULL, "none", false,
     "grant nothing of what the command itself names as its program", NULL},
    {OPTION_UNSAFE_GRANT, "unsafe-grant", 0, ARGUMENT_REQUIRED, "PATH", "path", true,
     "permit the grant of exactly PATH although it voids the sandbox", NULL},
    {OPTION_OVERLAY, "overlay", 0, ARGUMENT_REQUIRED, "PATH[:DEST]", "directory", true,
     "grant a directory; what is written there stays in memory and vanishes", NULL},
    {OPTION_PROTECT, "protect", 0, ARGUMENT_REQUIRED, "PATH", "path", true,
     "keep a path inside a writable grant read-only", NULL},
    {OPTION_NO_PROTECT, "no-protect", 0, ARGUMENT_NONE, NULL, "none", false,
     "make .git/hooks, .mcp.json and their like in writable grants writable too", NULL},
    {OPTION_HIDE, "hide", 0, ARGUMENT_REQUIRED, "PATTERN", "path", true,
     "hide a path, or what matches a pattern (.env*) anywhere in the grants", NULL},
    {OPTION_ENV, "env", 'e', ARGUMENT_REQUIRED, "KEY[=VALUE]", "env", true,
     "set a variable, or pass your own value of KEY on", NULL},
    {OPTION_ENV_FILE, "env-file", 0, ARGUMENT_REQUIRED, "FILE", "file", true,
     "set the variables of FILE, lines of KEY=VALUE; --env wins over it", NULL},
    {OPTION_NETWORK_ALLOW, "network-allow", 0, ARGUMENT_REQUIRED, "LIST", "none", true,
     "permit destinations, as api.example.com,*.example.org:443,public", NULL},
    {OPTION_NETWORK_DENY, "network-deny", 0, ARGUMENT_REQUIRED, "LIST", "none", true,
     "refuse destinations that --network-allow would permit", NULL},
    {OPTION_HOST_PORT, "host-port", 0, ARGUMENT_REQUIRED, "[PORT:]HOSTPORT", "none", true,
     "show a port of your own 127.0.0.1 inside, as 127.0.0.1:PORT", NULL},
    {OPTION_PUBLISH, "publish", 0, ARGUMENT_REQUIRED, "[HOSTPORT:]PORT", "none", true,
     "open a port that the command listens on, on your own 127.0.0.1 only", NULL},
    {OPTION_LOG, "log", 0, ARGUMENT_REQUIRED, "FILE", "file", false,
     "append lines of JSON: the start, names looked up, connections, the end", NULL},
    {OPTION_FETCH, "fetch", 0, ARGUMENT_REQUIRED, "auto|never|always", "auto never always", false,
     "fetch the packages of npx -y and uvx first, where they are missing (default: auto)", NULL},
    {OPTION_PERSIST, "persist", 0, ARGUMENT_REQUIRED, "NAME", "none", false,
     "keep the home inside between the runs that say the same NAME", NULL},
    {OPTION_ALLOW_TOOL, "allow-tool", 0, ARGUMENT_REQUIRED, "TOOL", "none", true,
     "permit the tools of that name or pattern (read_*), and no others", "mcp"},
    {OPTION_DENY_TOOL, "deny-tool", 0, ARGUMENT_REQUIRED, "TOOL", "none", true,
     "hide and refuse tools; wins over --allow-tool", "mcp"},
    {OPTION_PIN, "pin", 0, ARGUMENT_REQUIRED, "FILE", "file", false,
     "record the tools' definitions on first use, and refuse tools that have changed", "mcp"},
    {OPTION_PIN_ACCEPT, "pin-accept", 0, ARGUMENT_NONE, NULL, "none", false,
     "record the definitions of this run instead of those in the file of --pin", "mcp"},
    {OPTION_DENY_SAMPLING, "deny-sampling", 0, ARGUMENT_NONE, NULL, "none", false,
     "refuse the server's requests to use the client's model", "mcp"},
    {OPTION_DENY_ELICITATION, "deny-elicitation", 0, ARGUMENT_NONE, NULL, "none", false,
     "refuse the server's questions to you", "mcp"},
    {OPTION_DENY_ROOTS, "deny-roots", 0, ARGUMENT_NONE, NULL, "none", false,
     "refuse to tell the server which directories the client works in", "mcp"},
    {OPTION_MAX_MESSAGE, "max-message", 0, ARGUMENT_REQUIRED, "SIZE", "none", false,
     "with a rule for tools: refuse longer messages (default: 64m)", "mcp"},
    {OPTION_LOG_ARGUMENTS, "log-arguments", 0, ARGUMENT_NONE, NULL, "none", false,
     "write the arguments of tool calls to the log too", "mcp"},
    {OPTION_EXPLAIN, "explain", 0, ARGUMENT_NONE, NULL, "none", false,
     "tell the model, in the result of a failed call, what the network refused", "mcp"},
    {OPTION_CWD, "cwd", 0, ARGUMENT_REQUIRED, "DIR", "directory", false,
     "the working directory inside (default: yours where it is visible, else the home)", NULL},
    {OPTION_TIMEOUT, "timeout", 0, ARGUMENT_REQUIRED, "SECONDS", "none", false,
     "end the sandbox after so long; 0 is never (default: 0)", NULL},
    {OPTION_STOP_GRACE, "stop-grace", 0, ARGUMENT_REQUIRED, "SECONDS", "none", false,
     "end the command so long after its input ended (default: 5; under run: never)", NULL},
    {OPTION_RAW_STDOUT, "raw-stdout", 0, ARGUMENT_NONE, NULL, "none", false,
     "pass every byte of stdout on, also lines that are no messages", "mcp"},
    {OPTION_MEMORY, "memory", 0, ARGUMENT_REQUIRED, "SIZE", "none", false,
     "the most memory, everything in memory included (default: 2g)", NULL},
    {OPTION_CPUS, "cpus", 0, ARGUMENT_REQUIRED, "N", "none", false,
     "the most processor time, in processors, as 1 or 0.5 (default: no limit)", NULL},
    {OPTION_PIDS, "pids", 0, ARGUMENT_REQUIRED, "N", "none", false,
     "the most processes and threads (default: 1024)", NULL},
    {OPTION_DISK, "disk", 0, ARGUMENT_REQUIRED, "SIZE", "none", false,
     "what all that is writable in memory may hold, together (default: 1g)", NULL},
    {OPTION_REQUIRE, "require", 0, ARGUMENT_REQUIRED, "LIST", "landlock cgroup memory pids cpus", true,
     "refuse to start without: landlock, cgroup, memory, pids, cpus", NULL},
    {OPTION_SECCOMP, "seccomp", 0, ARGUMENT_REQUIRED, "FILE", "file", false,
     "another system call filter, a profile in the OCI format", NULL},
    {OPTION_ALLOW_USERNS, "allow-userns", 0, ARGUMENT_OPTIONAL, "full", "full", false,
     "let the command make user namespaces (browsers do); full: nested sandboxes too", NULL},
    {OPTION_PROC, "proc", 0, ARGUMENT_REQUIRED, "none", "none", false,
     "no /proc, where a container does not let hutch mount one", NULL},
    {OPTION_DRY_RUN, "dry-run", 0, ARGUMENT_NONE, NULL, "none", false,
     "write the sandbox's complete description as JSON and run nothing", NULL},
    {OPTION_LIST, "list", 0, ARGUMENT_NONE, NULL, "none", false, "list what was fetched", "fetch"},
    {OPTION_UPDATE, "update", 0, ARGUMENT_NONE, NULL, "none", false,
     "fetch again, in the newest versions; without a command all there is", "fetch"},
    {OPTION_VERIFY, "verify", 0, ARGUMENT_NONE, NULL, "none", false,
     "compare what is kept with what was written down when it was fetched", "fetch"},
    {OPTION_REMOVE, "remove", 0, ARGUMENT_REQUIRED, "NAME", "none", false, "remove what was fetched",
     "fetch"},
    {OPTION_MIN_AGE, "min-age", 0, ARGUMENT_REQUIRED, "DAYS", "none", false,
     "take no version that was published within so many days", "fetch"},
    {OPTION_JSON, "json", 0, ARGUMENT_NONE, NULL, "none", false, "write JSON for a program to read",
     "doctor prove"},
    {OPTION_VERBOSE, "verbose", 'v', ARGUMENT_NONE, NULL, "none", true,
     "say on stderr what was granted and why", NULL},
    {OPTION_HELP, "help", 'h', ARGUMENT_NONE, NULL, "none", false, "show this help", NULL},
};

_Static_assert(sizeof(option_table) / sizeof(*option_table) == OPTION_COUNT, "one row for each option");

/* The words that are still to be read, and what was given before. */
struct parse {
        struct options *options;
        const char *subcommand;
        char **words;
        size_t count;
        size_t next;
        const char
            *given[OPTION_COUNT]; /* the value an option had ("" for none), NULL before it stood there */
        struct error *error;
};

static const struct option_row *find_long(const char *name, size_t length)
{
        for (size_t i = 0; i < OPTION_COUNT; i++)
                if (strlen(option_table[i].name) == length && memcmp(option_table[i].name, name, length) == 0)
                        return &option_table[i];
        return NULL;
}

static const struct option_row *find_letter(char letter)
{
        for (size_t i = 0; i < OPTION_COUNT; i++)
                if (option_table[i].letter == letter)
                        return &option_table[i];
        return NULL;
}

/* False also for a name that no subcommand has. */
static bool starts_sandbox(const char *subcommand)
{
        const struct subcommand_row *row = subcommand_find(subcommand);
        return row && row->sandbox;
}

bool option_belongs(const struct option_row *row, const char *subcommand)
{
        if (row->id == OPTION_HELP)
                return true;
        if (!row->only && str_equal(subcommand, "fetch"))
                return row->id == OPTION_NETWORK_ALLOW || row->id == OPTION_TIMEOUT ||
                       row->id == OPTION_VERBOSE;
        return row->only ? str_words_have(row->only, subcommand, strlen(subcommand))
                         : starts_sandbox(subcommand);
}

/* ---- values ---- */

static bool read_seconds(const struct option_row *row, const char *text, unsigned *seconds,
                         struct error *error)
{
        unsigned long value = 0;
        for (const char *digit = text; *digit; digit++) {
                if (*digit < '0' || *digit > '9')
                        return error_set(error, EXIT_USAGE, "--%s %s: not a whole number of seconds",
                                         row->name, error_shown(text));
                value = value * 10 + (unsigned long)(*digit - '0');
                if (value > SECONDS_MAX)
                        return error_set(error, EXIT_USAGE, "--%s %s: the most is %d seconds", row->name,
                                         error_shown(text), SECONDS_MAX);
        }
        *seconds = (unsigned)value;
        return true;
}

static bool read_env(struct options *options, const char *text, struct error *error)
{
        size_t length = strcspn(text, "=");
        autofree char *name = str_copy_n(text, length);
        /* What stands there may be the secret itself, or KEY:VALUE: it is not repeated. */
        if (!str_is_variable_name(name, length))
                return error_set(
                    error, EXIT_USAGE,
                    "--env: what stands before = is no variable's name, which has letters, digits "
                    "and _ and starts with no digit: --env KEY[=VALUE]");
        const char *value = text[length] ? text + length + 1 : getenv(name);
        if (!value)
                return error_set(error, EXIT_USAGE,
                                 "--env %s: %s is not set in the environment that hutch was started with; "
                                 "set it there (a client's "
                                 "\"env\"), or leave the option out",
                                 error_shown(name), error_shown(name));
        if (strlen(value) + length + 2 > ENV_VARIABLE_MAX)
                return error_set(error, EXIT_USAGE, "--env %s: name and value have at most %d bytes together",
                                 error_shown(name), ENV_VARIABLE_MAX - 2);
        str_list_take(&options->env, str_format("%s=%s", name, value));
        return true;
}

static void add_grant(struct options *options, const struct grant_option *grant)
{
        options->grants =
            str_or_die(reallocarray(options->grants, options->grant_count + 1, sizeof(*options->grants)));
        options->grants[options->grant_count++] = *grant;
}

static bool read_grant(struct options *options, const struct option_row *row, const char *text,
                       struct error *error)
{
        struct grant_option grant;
        if (!mount_syntax_read_grant(row->id, row->name, text, &grant, error))
                return false;
        add_grant(options, &grant);
        return true;
}

static bool read_spelling(struct options *options, spelling_reader *read, const char *text,
                          struct error *error)
{
        struct grant_option grant = {0};
        bool understood = read(text, &grant, error);
        if (understood) {
                add_grant(options, &grant);
        } else {
                free(grant.path);
                free(grant.destination);
        }
        return understood;
}

static bool read_file(struct options *options, const char *text, struct error *error)
{
        struct file_option file = {0};
        if (!mount_syntax_read_file(text, &file, error)) {
                free(file.local);
                free(file.remote);
                return false;
        }
        options->files =
            str_or_die(reallocarray(options->files, options->file_count + 1, sizeof(*options->files)));
        options->files[options->file_count++] = file;
        return true;
}

/* Adds a path to a list, with a leading ~ expanded. */
static bool read_path(struct str_list *list, const char *option, const char *text, struct error *error)
{
        char *path = NULL;
        if (!value_expand_path(option, text, &path, error))
                return false;
        str_list_take(list, path);
        return true;
}

static bool read_hide(struct options *options, const char *text, struct error *error)
{
        if (strstr(text, "**"))
                return error_set(
                    error, EXIT_USAGE,
                    "--hide %s: ** means nothing here; a pattern without a / matches names at any "
                    "depth",
                    error_shown(text));
        return read_path(&options->hide, "--hide", text, error);
}

static bool read_fetch(struct options *options, const char *text, struct error *error)
{
        static const char *const words[] = {
            [OPTION_FETCH_AUTO] = "auto", [OPTION_FETCH_NEVER] = "never", [OPTION_FETCH_ALWAYS] = "always"};
        for (options->fetch = OPTION_FETCH_AUTO; options->fetch <= OPTION_FETCH_ALWAYS; options->fetch++)
                if (str_equal(text, words[options->fetch]))
                        return true;
        return error_set(error, EXIT_USAGE, "--fetch %s: auto, never or always", error_shown(text));
}

static bool read_persist(const char *text, char **name, struct error *error)
{
        free(*name);
        *name = str_copy(text);
        return (str_is_file_name(text) && strlen(text) <= NAME_MAX) ||
               error_set(error, EXIT_USAGE,
                         "--persist %s: letters, digits and ._+@-, no dot or dash in front",
                         error_shown(text));
}

static bool read_days(const char *text, unsigned *days, struct error *error)
{
        size_t length = strspn(text, "0123456789");
        *days = (unsigned)strtoul(text, NULL, 10);
        return (!text[length] && length <= 4) ||
               error_set(error, EXIT_USAGE, "--min-age %s: not a number of days up to 9999",
                         error_shown(text));
}

/* `value` is "" for an option without one. */
static bool store(struct parse *parse, const struct option_row *row, const char *value)
{
        struct options *options = parse->options;
        struct error *error = parse->error;
        switch (row->id) {
        case OPTION_TEMPLATE:
                return value_expand_path("--template", value, &options->template_name, error);
        case OPTION_TIMEOUT:
                return read_seconds(row, value, &options->timeout_seconds, error);
        case OPTION_STOP_GRACE:
                return read_seconds(row, value, &options->stop_grace_seconds, error);
        case OPTION_ENV:
                return read_env(options, value, error);
        case OPTION_VERBOSE:
                options->verbose++;
                return true;
        case OPTION_RO:
        case OPTION_RW:
        case OPTION_RO_TRY:
        case OPTION_RW_TRY:
        case OPTION_OVERLAY:
                return read_grant(options, row, value, error);
        case OPTION_VOLUME:
                return read_spelling(options, mount_syntax_read_volume, value, error);
        case OPTION_MOUNT:
                return read_spelling(options, mount_syntax_read_mount, value, error);
        case OPTION_TMPFS:
                return read_spelling(options, mount_syntax_read_tmpfs, value, error);
        case OPTION_FILE:
                return read_file(options, value, error);
        case OPTION_NO_AUTO_GRANT:
                return options->no_auto_grant = true;
        case OPTION_UNSAFE_GRANT:
                return read_path(&options->unsafe_grants, "--unsafe-grant", value, error);
        case OPTION_ENV_FILE:
                return read_path(&options->env_files, "--env-file", value, error);
        case OPTION_PROTECT:
                return read_path(&options->protect, "--protect", value, error);
        case OPTION_NO_PROTECT:
                return options->no_protect = true;
        case OPTION_HIDE:
                return read_hide(options, value, error);
        case OPTION_NETWORK_ALLOW:
                str_list_add(&options->network_allow, value);
                return true;
        case OPTION_NETWORK_DENY:
                str_list_add(&options->network_deny, value);
                return true;
        case OPTION_HOST_PORT:
                str_list_add(&options->host_ports, value);
                return true;
        case OPTION_PUBLISH:
                str_list_add(&options->publish, value);
                return true;
        case OPTION_LOG:
                return value_expand_path("--log", value, &options->log, error);
        case OPTION_ALLOW_TOOL:
        case OPTION_DENY_TOOL:
        case OPTION_PIN:
        case OPTION_PIN_ACCEPT:
        case OPTION_DENY_SAMPLING:
        case OPTION_DENY_ELICITATION:
        case OPTION_DENY_ROOTS:
        case OPTION_MAX_MESSAGE:
        case OPTION_LOG_ARGUMENTS:
        case OPTION_EXPLAIN:
                return tool_option_read(options, row->id, value, error);
        case OPTION_CWD:
                return value_expand_path("--cwd", value, &options->cwd, error);
        case OPTION_MEMORY:
                return value_read_size_from("--memory", value, LIMITS_MEMORY_LEAST, &options->memory_bytes,
                                            error);
        case OPTION_CPUS:
                return value_read_cpus("--cpus", value, &options->cpus, error);
        case OPTION_PIDS:
                return value_read_count("--pids", value, LIMITS_PIDS_MOST, &options->pids, error);
        case OPTION_DISK:
                return value_read_size_from("--disk", value, LIMITS_DISK_LEAST, &options->disk_bytes, error);
        case OPTION_REQUIRE:
                return value_read_require(value, &options->required, error);
        case OPTION_RAW_STDOUT:
                return options->raw_stdout = true;
        case OPTION_SECCOMP:
                return value_expand_path("--seccomp", value, &options->seccomp, error);
        case OPTION_ALLOW_USERNS:
                if (value[0] && !str_equal(value, "full"))
                        return error_set(error, EXIT_USAGE, "--allow-userns=%s: the only value is full",
                                         error_shown(value));
                options->userns = value[0] ? USERNS_FULL : USERNS_ALLOWED;
                return true;
        case OPTION_PROC:
                if (!str_equal(value, "none"))
                        return error_set(error, EXIT_USAGE,
                                         "--proc %s: the only value is none; a sandbox has its own /proc "
                                         "without the option",
                                         error_shown(value));
                return options->no_proc = true;
        case OPTION_DRY_RUN:
                return options->dry_run = true;
        case OPTION_FETCH:
                return read_fetch(options, value, error);
        case OPTION_PERSIST:
                return read_persist(value, &options->persist, error);
        case OPTION_LIST:
                return options->list = true;
        case OPTION_UPDATE:
                return options->update = true;
        case OPTION_VERIFY:
                return options->verify = true;
        case OPTION_REMOVE:
                free(options->remove);
                options->remove = str_copy(value);
                return true;
        case OPTION_MIN_AGE:
                return read_days(value, &options->min_age_days, error);
        case OPTION_JSON:
                return options->json = true;
        case OPTION_HELP:
                break;
        }
        return options->help = true;
}

/* ---- words ---- */

/* Blanks VALUE of KEY=VALUE, which `value` is and which ends `word`, in the process's own argv: until hutch
 * ends every user of the machine could read it in /proc. */
static void hide_value(char *word, const char *value)
{
        size_t name = strcspn(value, "=");
        if (value[name])
                memset(word + strlen(word) - strlen(value) + name + 1, '*', strlen(value) - name - 1);
}

/* Judges the value's presence, and an option that stands there a second time, before the value itself. */
static bool take(struct parse *parse, const struct option_row *row, const char *value)
{
        if (!option_belongs(row, parse->subcommand))
                return error_set(parse->error, EXIT_USAGE, "--%s is an option of hutch %s; leave it out here",
                                 row->name, row->only ? row->only : "mcp and run");
        if (row->argument == ARGUMENT_NONE && value)
                return error_set(parse->error, EXIT_USAGE, "--%s takes no value", row->name);
        if (row->argument == ARGUMENT_REQUIRED && !value) {
                const char *word = parse->next < parse->count ? parse->words[parse->next] : NULL;
                if (!word || str_equal(word, "--"))
                        return error_set(parse->error, EXIT_USAGE, "--%s needs a value: --%s %s", row->name,
                                         row->name, row->metavariable);
                if (str_starts(word, "--") && find_long(word + 2, strcspn(word + 2, "=")))
                        return error_set(parse->error, EXIT_USAGE,
                                         "--%s needs a value, but the option %s follows", row->name,
                                         error_shown(word));
                value = word;
                parse->next++;
        }
        if (value && !value[0])
                return error_set(parse->error, EXIT_USAGE, "--%s has an empty value", row->name);
        const char *before = parse->given[row->id];
        parse->given[row->id] = value ? value : "";
        if (before && !row->repeatable && !str_equal(before, parse->given[row->id]))
                return error_set(parse->error, EXIT_USAGE, "--%s stands there twice with two meanings",
                                 row->name);
        if (!store(parse, row, parse->given[row->id]))
                return false;
        if (row->id == OPTION_ENV)
                hide_value(parse->words[parse->next - 1], value);
        return true;
}

static bool refuse_unknown(struct parse *parse, const char *word)
{
        const char *names[OPTION_COUNT + 1] = {0};
        for (size_t i = 0, count = 0; i < OPTION_COUNT; i++)
                if (option_belongs(&option_table[i], parse->subcommand))
                        names[count++] = option_table[i].name;
        size_t length = strcspn(word, "=");
        const char *hint = foreign_option_find(word, length);
        /* What follows = may be anything, a secret too. */
        autofree char *option = str_copy_n(word, length);
        if (strchr(option, ' '))
                return error_set(
                    parse->error, EXIT_USAGE,
                    "unknown option %s: an option and its value are two words, in a client's \"args\" "
                    "two items",
                    error_shown(option));
        if (hint)
                return error_set(parse->error, EXIT_USAGE, "%s is not an option of hutch: %s", option, hint);
        const char *nearest = str_starts(option, "--") ? suggest_nearest(option + 2, names) : NULL;
        for (const char **name = names; !nearest && *name; name++) /* -rw */
                nearest = str_equal(option + 1, *name) ? *name : NULL;
        if (nearest)
                return error_set(parse->error, EXIT_USAGE, "unknown option %s; did you mean --%s?",
                                 error_shown(option), nearest);
        return error_set(parse->error, EXIT_USAGE, "unknown option %s", error_shown(option));
}

static bool take_letters(struct parse *parse, const char *word)
{
        const struct option_row *row = find_letter(word[1]);
        if (!row || foreign_option_find(word, strlen(word)))
                return refuse_unknown(parse, word);
        if (row->argument == ARGUMENT_REQUIRED && word[2])
                return error_set(parse->error, EXIT_USAGE,
                                 "the value of -%c is a word of its own: -%c %s, or --%s=%s", row->letter,
                                 row->letter, row->metavariable, row->name, row->metavariable);
        for (const char *letter = word + 1; *letter; letter++) {
                if (*letter != row->letter)
                        return refuse_unknown(parse, word);
                if (!take(parse, row, NULL))
                        return false;
        }
        return true;
}

static bool refuse_word(struct parse *parse, const char *word)
{
        const char *before = parse->next >= 2 ? parse->words[parse->next - 2] : "";
        /* KEY=VALUE without its --env: the value may be a secret. */
        autofree char *shown = str_copy_n(word, strcspn(word, "="));
        if (str_equal(before, "-v") && strchr(word, ':'))
                return error_set(
                    parse->error, EXIT_USAGE,
                    "-v is --verbose here; write --volume SRC:DST[:ro], or --ro PATH[:DEST] or --rw "
                    "PATH[:DEST]");
        for (size_t i = parse->next; i < parse->count; i++)
                if (str_equal(parse->words[i], "--"))
                        return error_set(parse->error, EXIT_USAGE,
                                         "%s is neither an option nor an option's value", error_shown(shown));
        /* Word processors and chats make one dash of the two. */
        if (str_starts(word, "\u2013") || str_starts(word, "\u2014"))
                return error_set(parse->error, EXIT_USAGE,
                                 "%s begins with a long dash; write two short ones, --", error_shown(shown));
        return error_set(parse->error, EXIT_USAGE, "-- is missing before the command %s", error_shown(shown));
}

static bool take_word(struct parse *parse, const char *word)
{
        if (word[0] != '-' || word[1] == 0)
                return refuse_word(parse, word);
        if (word[1] != '-')
                return take_letters(parse, word);
        size_t length = strcspn(word + 2, "=");
        const struct option_row *row = find_long(word + 2, length);
        if (!row)
                return refuse_unknown(parse, word);
        return take(parse, row, word[2 + length] ? word + 2 + length + 1 : NULL);
}

/* ---- what needs two options ---- */

/* Everything of a subcommand that starts no sandbox of the command's; a command may follow some. */
static bool parse_options_alone(struct parse *parse)
{
        const struct subcommand_row *row = subcommand_find(parse->subcommand);
        while (parse->next < parse->count) {
                const char *word = parse->words[parse->next++];
                if (str_equal(word, "--") && row && row->command) {
                        while (parse->next < parse->count)
                                str_list_add(&parse->options->command, parse->words[parse->next++]);
                        return parse->options->command.count > 0 ||
                               error_set(parse->error, EXIT_USAGE, "no command after --");
                }
                if (word[0] != '-' || word[1] == 0 || str_equal(word, "--"))
                        return error_set(parse->error, EXIT_USAGE, "%s takes options only, no %s",
                                         parse->subcommand, error_shown(word));
                if (!take_word(parse, word))
                        return false;
                if (parse->options->help)
                        return true;
        }
        return true;
}

bool options_parse(struct options *options, const char *subcommand, int argc, char **argv,
                   struct error *error)
{
        struct parse parse = {.options = options,
                              .subcommand = subcommand,
                              .words = argv,
                              .count = (size_t)argc,
                              .error = error};
        bool ends_with_client = str_equal(subcommand, "mcp");
        *options =
            (struct options){.stop_grace_seconds = ends_with_client ? STOP_GRACE_DEFAULT : LIMIT_NO_GRACE};
        if (!starts_sandbox(subcommand))
                return parse_options_alone(&parse);
        for (;;) {
                if (parse.next == parse.count)
                        return error_set(error, EXIT_USAGE, "no command: -- and the command are missing");
                const char *word = parse.words[parse.next++];
                if (str_equal(word, "--"))
                        break;
                if (!take_word(&parse, word))
                        return false;
                if (options->help)
                        return true;
        }
        for (; parse.next < parse.count; parse.next++)
                str_list_add(&options->command, parse.words[parse.next]);
        if (options->command.count == 0)
                return error_set(error, EXIT_USAGE, "no command after --");
        if (str_starts(options->command.values[0], "--"))
                return error_set(error, EXIT_USAGE,
                                 "%s stands after --, where the command begins; options stand before",
                                 error_shown(options->command.values[0]));
        if (options->command.values[0][0] == 0)
                return error_set(error, EXIT_USAGE, "the command after -- is an empty word");
        if (options->required & REQUIRE_CPUS && !options->cpus)
                return error_set(error, EXIT_USAGE,
                                 "--require cpus: there is no limit on processors to enforce; add --cpus N");
        return conflicts_check(options, error) && tool_options_check(options, error);
}

void options_free(struct options *options)
{
        for (size_t i = 0; i < options->grant_count; i++) {
                free(options->grants[i].path);
                free(options->grants[i].destination);
        }
        free(options->grants);
        for (size_t i = 0; i < options->file_count; i++) {
                free(options->files[i].local);
                free(options->files[i].remote);
        }
        free(options->files);
        free(options->template_name);
        free(options->persist);
        free(options->remove);
        free(options->cwd);
        free(options->seccomp);
        str_list_free(&options->protect);
        str_list_free(&options->hide);
        str_list_free(&options->network_allow);
        str_list_free(&options->network_deny);
        free(options->log);
        tool_rules_free(&options->tools);
        str_list_free(&options->host_ports);
        str_list_free(&options->publish);
        str_list_free(&options->env);
        str_list_free(&options->env_files);
        str_list_free(&options->unsafe_grants);
        str_list_free(&options->command);
        *options = (struct options){0};
}

const char *options_stray(const struct str_list *command)
{
        for (size_t i = 1; i < command->count && !str_equal(command->values[i], "--"); i++) {
                const char *word = command->values[i];
                size_t length = strcspn(word, "=");
                if (!str_starts(word, "--"))
                        continue;
                const struct option_row *row = find_long(word + 2, length - 2);
                if (row && !option_belongs(row, "mcp") && !option_belongs(row, "run"))
                        continue;
                /* Many programs have these of their own; Node.js has the last. */
                if (row && (row->id == OPTION_HELP || row->id == OPTION_VERBOSE || row->id == OPTION_FILE ||
                            row->id == OPTION_ENV_FILE))
                        continue;
                if (row)
                        return word;
        }
        return NULL;
}
