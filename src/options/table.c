/* SPDX-License-Identifier: Apache-2.0
 *
 * The option table, and the functions that read an option's value into struct options. A reader checks form
 * only: whether a path exists is asked only to split PATH:DEST, and whether it may be granted is decided
 * elsewhere. No sentence may hold the value of a variable.
 */
#include "lib/fd.h"
#include "options/mount_syntax.h"
#include "options/options.h"
#include "options/tool_options.h"
#include "options/values.h"

#include <limits.h>
#include <stdlib.h>

enum {
        SECONDS_MAX = 31536000, /* a year: more is a slip of the hand */
};

/* The field of *options that the row names. */
static void *field_of(struct options *options, const struct option_row *row)
{
        return (char *)options + row->field;
}

static bool set_flag(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        (void)value;
        (void)error;
        return *(bool *)field_of(options, row) = true;
}

static bool count_verbose(struct options *options, const struct option_row *row, const char *value,
                          struct error *error)
{
        (void)row;
        (void)value;
        (void)error;
        options->verbose++;
        return true;
}

static bool read_text(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        char **text = field_of(options, row);
        (void)error;
        free(*text);
        *text = str_copy(value);
        return true;
}

static bool add_text(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        (void)error;
        str_list_add(field_of(options, row), value);
        return true;
}

/* A path, with a leading ~ expanded. */
static bool read_path(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        return value_expand_path(option, value, field_of(options, row), error);
}

/* The same for an option that may be repeated. */
static bool add_path(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        char *path = NULL;
        if (!value_expand_path(option, value, &path, error))
                return false;
        str_list_take(field_of(options, row), path);
        return true;
}

static bool add_tool(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        if (!tool_pattern_check(option, value, error))
                return false;
        return add_text(options, row, value, error);
}

static bool read_seconds(struct options *options, const struct option_row *row, const char *value,
                         struct error *error)
{
        unsigned long seconds = 0;
        for (const char *digit = value; *digit; digit++) {
                if (*digit < '0' || *digit > '9')
                        return error_set(error, EXIT_USAGE, "--%s %s: not a whole number of seconds",
                                         row->name, error_shown(value));
                seconds = seconds * 10 + (unsigned long)(*digit - '0');
                if (seconds > SECONDS_MAX)
                        return error_set(error, EXIT_USAGE, "--%s %s: the maximum is %d seconds", row->name,
                                         error_shown(value), SECONDS_MAX);
        }
        *(unsigned *)field_of(options, row) = (unsigned)seconds;
        return true;
}

static bool read_env(struct options *options, const struct option_row *row, const char *text,
                     struct error *error)
{
        (void)row;
        size_t length = strcspn(text, "=");
        autofree char *name = str_copy_n(text, length);
        /* The text may be the secret itself, or KEY:VALUE: it is not repeated. */
        if (!str_is_variable_name(name, length))
                return error_set(
                    error, EXIT_USAGE,
                    "--env: what comes before = is not a variable name (letters, digits and _, not starting "
                    "with a digit): --env KEY[=VALUE]");
        const char *value = text[length] ? text + length + 1 : getenv(name);
        if (!value)
                return error_set(error, EXIT_USAGE,
                                 "--env %s: %s is not set in the environment of hutch; set it there (a "
                                 "client's \"env\"), or leave the option out",
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

static bool read_grant(struct options *options, const struct option_row *row, const char *value,
                       struct error *error)
{
        struct grant_option grant;
        if (!mount_syntax_read_grant(row->name, value, &grant, error))
                return false;
        add_grant(options, &grant);
        return true;
}

static bool read_container_mount(struct options *options, mount_syntax_reader *read, const char *value,
                                 struct error *error)
{
        struct grant_option grant = {0};
        bool understood = read(value, &grant, error);
        if (understood) {
                add_grant(options, &grant);
        } else {
                free(grant.path);
                free(grant.destination);
        }
        return understood;
}

static bool read_volume(struct options *options, const struct option_row *row, const char *value,
                        struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_volume, value, error);
}

static bool read_mount(struct options *options, const struct option_row *row, const char *value,
                       struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_mount, value, error);
}

static bool read_tmpfs(struct options *options, const struct option_row *row, const char *value,
                       struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_tmpfs, value, error);
}

static bool read_file(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        struct file_option file = {0};
        if (!mount_syntax_read_file(value, &file, error)) {
                free(file.local);
                free(file.remote);
                return false;
        }
        options->files =
            str_or_die(reallocarray(options->files, options->file_count + 1, sizeof(*options->files)));
        options->files[options->file_count++] = file;
        return true;
}

static bool read_hide(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        if (strstr(value, "**"))
                return error_set(error, EXIT_USAGE,
                                 "--hide %s: ** is not supported; a pattern without a / matches names at any "
                                 "depth",
                                 error_shown(value));
        return add_path(options, row, value, error);
}

static bool read_message_max(struct options *options, const struct option_row *row, const char *value,
                             struct error *error)
{
        (void)row;
        return tool_options_read_message_max(&options->tools, value, error);
}

static bool read_memory(struct options *options, const struct option_row *row, const char *value,
                        struct error *error)
{
        (void)row;
        return value_read_size_from("--memory", value, LIMITS_MEMORY_LEAST, &options->memory_bytes, error);
}

static bool read_disk(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        return value_read_size_from("--disk", value, LIMITS_DISK_LEAST, &options->disk_bytes, error);
}

static bool read_cpus(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        return value_read_cpus("--cpus", value, &options->cpus, error);
}

static bool read_pids(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        return value_read_count("--pids", value, LIMITS_PIDS_MOST, &options->pids, error);
}

static bool read_require(struct options *options, const struct option_row *row, const char *value,
                         struct error *error)
{
        (void)row;
        return value_read_require(value, &options->required, error);
}

static bool read_userns(struct options *options, const struct option_row *row, const char *value,
                        struct error *error)
{
        (void)row;
        options->userns = value[0] ? USERNS_FULL : USERNS_ALLOWED;
        return !value[0] || str_equal(value, "full") ||
               error_set(error, EXIT_USAGE, "--allow-userns=%s: the only value is full", error_shown(value));
}

static bool read_proc(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        options->no_proc = true;
        return str_equal(value, "none") ||
               error_set(error, EXIT_USAGE,
                         "--proc %s: the only value is none; without the option a sandbox has its own /proc",
                         error_shown(value));
}

static bool read_fetch(struct options *options, const struct option_row *row, const char *value,
                       struct error *error)
{
        static const char *const words[] = {
            [OPTION_FETCH_AUTO] = "auto", [OPTION_FETCH_NEVER] = "never", [OPTION_FETCH_ALWAYS] = "always"};
        (void)row;
        for (options->fetch = OPTION_FETCH_AUTO; options->fetch <= OPTION_FETCH_ALWAYS; options->fetch++)
                if (str_equal(value, words[options->fetch]))
                        return true;
        return error_set(error, EXIT_USAGE, "--fetch %s: auto, never or always", error_shown(value));
}

static bool read_persist(struct options *options, const struct option_row *row, const char *value,
                         struct error *error)
{
        (void)row;
        free(options->persist);
        options->persist = str_copy(value);
        return (str_is_file_name(value) && strlen(value) <= NAME_MAX) ||
               error_set(error, EXIT_USAGE,
                         "--persist %s: letters, digits and ._+@-, no dot or dash in front",
                         error_shown(value));
}

static bool read_days(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        size_t length = strspn(value, "0123456789");
        (void)row;
        options->min_age_days = (unsigned)strtoul(value, NULL, 10);
        return (!value[length] && length <= 4) ||
               error_set(error, EXIT_USAGE, "--min-age %s: not a number of days up to 9999",
                         error_shown(value));
}

const struct option_row option_table[] = {
    {.group = OPTIONS_COMMON,
     .name = "ro",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:DEST]",
     .complete = "path",
     .repeatable = true,
     .read = read_grant,
     .help = "grant a file or directory for reading, at the same path or at DEST"},
    {.group = OPTIONS_COMMON,
     .name = "rw",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:DEST]",
     .complete = "path",
     .repeatable = true,
     .read = read_grant,
     .help = "grant a file or directory for reading and writing"},
    {.group = OPTIONS_COMMON,
     .name = "env",
     .letter = 'e',
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "KEY[=VALUE]",
     .complete = "env",
     .repeatable = true,
     .secret = true,
     .read = read_env,
     .help = "set a variable, or pass your own value of KEY on"},
    {.group = OPTIONS_COMMON,
     .name = "network-allow",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "LIST",
     .complete = "none",
     .repeatable = true,
     .fetch = true,
     .read = add_text,
     .field = offsetof(struct options, network_allow),
     .help = "permit destinations, as api.example.com,*.example.org:443,public"},
    {.group = OPTIONS_COMMON,
     .name = "verbose",
     .letter = 'v',
     .complete = "none",
     .repeatable = true,
     .fetch = true,
     .read = count_verbose,
     .help = "print on stderr what is granted and why"},
    {.group = OPTIONS_FILES,
     .name = "file",
     .letter = 'f',
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "LOCAL:REMOTE",
     .complete = "file",
     .repeatable = true,
     .read = read_file,
     .help = "copy a file in before the start, below /tmp, the home or a writable grant"},
    {.group = OPTIONS_FILES,
     .name = "ro-try",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:DEST]",
     .complete = "path",
     .repeatable = true,
     .read = read_grant,
     .help = "as --ro, and skipped when PATH does not exist"},
    {.group = OPTIONS_FILES,
     .name = "rw-try",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:DEST]",
     .complete = "path",
     .repeatable = true,
     .read = read_grant,
     .help = "as --rw, and skipped when PATH does not exist"},
    {.group = OPTIONS_FILES,
     .name = "overlay",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:DEST]",
     .complete = "directory",
     .repeatable = true,
     .read = read_grant,
     .help = "grant a directory; what is written there stays in memory and vanishes"},
    {.group = OPTIONS_FILES,
     .name = "volume",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SRC:DST[:ro]",
     .complete = "path",
     .repeatable = true,
     .read = read_volume,
     .help = "as --rw SRC:DST, or with :ro as --ro SRC:DST"},
    {.group = OPTIONS_FILES,
     .name = "mount",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SPEC",
     .complete = "none",
     .repeatable = true,
     .read = read_mount,
     .help = "type=bind,source=PATH,target=DEST[,readonly] or type=tmpfs,target=PATH"},
    {.group = OPTIONS_FILES,
     .name = "tmpfs",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH[:SIZE]",
     .complete = "none",
     .repeatable = true,
     .read = read_tmpfs,
     .help = "an empty, writable directory in memory; SIZE as 64m limits it"},
    {.group = OPTIONS_FILES,
     .name = "hide",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATTERN",
     .complete = "path",
     .repeatable = true,
     .read = read_hide,
     .field = offsetof(struct options, hide),
     .help = "hide a path, or what matches a pattern (.env*) anywhere in the grants"},
    {.group = OPTIONS_FILES,
     .name = "protect",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH",
     .complete = "path",
     .repeatable = true,
     .read = add_path,
     .field = offsetof(struct options, protect),
     .help = "keep a path inside a writable grant read-only"},
    {.group = OPTIONS_FILES,
     .name = "no-protect",
     .complete = "none",
     .read = set_flag,
     .field = offsetof(struct options, no_protect),
     .help = "make .git/hooks, .mcp.json and their like in writable grants writable too"},
    {.group = OPTIONS_FILES,
     .name = "persist",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "NAME",
     .complete = "none",
     .read = read_persist,
     .help = "keep the sandbox's home between runs that give the same NAME"},
    {.group = OPTIONS_FILES,
     .name = "cwd",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "DIR",
     .complete = "directory",
     .read = read_path,
     .field = offsetof(struct options, cwd),
     .help = "the working directory inside (default: yours where it is visible, else the home)"},
    {.group = OPTIONS_FILES,
     .name = "no-auto-grant",
     .complete = "none",
     .read = set_flag,
     .field = offsetof(struct options, no_auto_grant),
     .help = "grant nothing of what the command itself names as its program"},
    {.group = OPTIONS_FILES,
     .name = "unsafe-grant",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "PATH",
     .complete = "path",
     .repeatable = true,
     .read = add_path,
     .field = offsetof(struct options, unsafe_grants),
     .help = "permit the grant of exactly PATH although it voids the sandbox"},
    {.group = OPTIONS_ENVIRONMENT,
     .name = "env-file",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "FILE",
     .complete = "file",
     .repeatable = true,
     .read = add_path,
     .field = offsetof(struct options, env_files),
     .help = "set the variables of FILE, lines of KEY=VALUE; --env wins over it"},
    {.group = OPTIONS_NETWORK,
     .name = "network-deny",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "LIST",
     .complete = "none",
     .repeatable = true,
     .read = add_text,
     .field = offsetof(struct options, network_deny),
     .help = "refuse destinations that --network-allow would permit"},
    {.group = OPTIONS_NETWORK,
     .name = "host-port",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "[PORT:]HOSTPORT",
     .complete = "none",
     .repeatable = true,
     .read = add_text,
     .field = offsetof(struct options, host_ports),
     .help = "make a port of your 127.0.0.1 reachable inside, as 127.0.0.1:PORT"},
    {.group = OPTIONS_NETWORK,
     .name = "publish",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "[HOSTPORT:]PORT",
     .complete = "none",
     .repeatable = true,
     .read = add_text,
     .field = offsetof(struct options, publish),
     .help = "open a port that the command listens on, on your 127.0.0.1 only"},
    {.group = OPTIONS_TOOLS,
     .name = "allow-tool",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "TOOL",
     .complete = "none",
     .repeatable = true,
     .only = "mcp",
     .read = add_tool,
     .field = offsetof(struct options, tools.allow),
     .help = "permit the tools of that name or pattern (read_*), and no others"},
    {.group = OPTIONS_TOOLS,
     .name = "deny-tool",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "TOOL",
     .complete = "none",
     .repeatable = true,
     .only = "mcp",
     .read = add_tool,
     .field = offsetof(struct options, tools.deny),
     .help = "hide and refuse tools; wins over --allow-tool"},
    {.group = OPTIONS_TOOLS,
     .name = "pin",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "FILE",
     .complete = "file",
     .only = "mcp",
     .read = read_path,
     .field = offsetof(struct options, tools.pins),
     .help = "record the tools' definitions on first use, and refuse tools that have changed"},
    {.group = OPTIONS_TOOLS,
     .name = "pin-accept",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.pin_accept),
     .help = "record the definitions of this run instead of those in the file of --pin"},
    {.group = OPTIONS_TOOLS,
     .name = "deny-sampling",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.deny_sampling),
     .help = "refuse the server's requests to use the client's model"},
    {.group = OPTIONS_TOOLS,
     .name = "deny-elicitation",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.deny_elicitation),
     .help = "refuse the server's questions to you"},
    {.group = OPTIONS_TOOLS,
     .name = "deny-roots",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.deny_roots),
     .help = "refuse to tell the server which directories the client works in"},
    {.group = OPTIONS_TOOLS,
     .name = "max-message",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SIZE",
     .complete = "none",
     .only = "mcp",
     .read = read_message_max,
     .help = "refuse longer messages, where a rule for tools applies (default: 64m)"},
    {.group = OPTIONS_TOOLS,
     .name = "explain",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.explain),
     .help = "tell the model, in the result of a failed call, what the network refused"},
    {.group = OPTIONS_TOOLS,
     .name = "raw-stdout",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, raw_stdout),
     .help = "pass every byte of stdout on, also lines that are not messages"},
    {.group = OPTIONS_LIMITS,
     .name = "memory",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SIZE",
     .complete = "none",
     .read = read_memory,
     .help = "memory limit, files in memory included (default: 2g)"},
    {.group = OPTIONS_LIMITS,
     .name = "cpus",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "N",
     .complete = "none",
     .read = read_cpus,
     .help = "processors that may be used at once, as 1 or 0.5 (default: no limit)"},
    {.group = OPTIONS_LIMITS,
     .name = "pids",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "N",
     .complete = "none",
     .read = read_pids,
     .help = "limit of processes and threads (default: 1024)"},
    {.group = OPTIONS_LIMITS,
     .name = "disk",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SIZE",
     .complete = "none",
     .read = read_disk,
     .help = "size of everything writable in memory, together (default: 1g)"},
    {.group = OPTIONS_LIMITS,
     .name = "timeout",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SECONDS",
     .complete = "none",
     .fetch = true,
     .read = read_seconds,
     .field = offsetof(struct options, timeout_seconds),
     .help = "end the sandbox after this time; 0 means never (default: 0)"},
    {.group = OPTIONS_LIMITS,
     .name = "stop-grace",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "SECONDS",
     .complete = "none",
     .read = read_seconds,
     .field = offsetof(struct options, stop_grace_seconds),
     .help = "wait after end of input before sending SIGTERM (default: 5; run: for ever)"},
    {.group = OPTIONS_LIMITS,
     .name = "require",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "LIST",
     .complete = "landlock cgroup memory pids cpus",
     .repeatable = true,
     .read = read_require,
     .help = "refuse to start without: landlock, cgroup, memory, pids, cpus"},
    {.group = OPTIONS_PACKAGES,
     .name = "fetch",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "auto|never|always",
     .complete = "auto never always",
     .read = read_fetch,
     .help = "fetch the packages of npx -y and uvx first, where they are missing (default: auto)"},
    {.group = OPTIONS_PACKAGES,
     .name = "list",
     .complete = "none",
     .only = "fetch",
     .read = set_flag,
     .field = offsetof(struct options, list),
     .help = "list what was fetched"},
    {.group = OPTIONS_PACKAGES,
     .name = "update",
     .complete = "none",
     .only = "fetch",
     .read = set_flag,
     .field = offsetof(struct options, update),
     .help = "fetch again, in the newest versions; without a command, everything"},
    {.group = OPTIONS_PACKAGES,
     .name = "verify",
     .complete = "none",
     .only = "fetch",
     .read = set_flag,
     .field = offsetof(struct options, verify),
     .help = "compare what is kept with what was recorded when it was fetched"},
    {.group = OPTIONS_PACKAGES,
     .name = "remove",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "NAME",
     .complete = "none",
     .only = "fetch",
     .read = read_text,
     .field = offsetof(struct options, remove),
     .help = "remove what was fetched"},
    {.group = OPTIONS_PACKAGES,
     .name = "min-age",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "DAYS",
     .complete = "none",
     .only = "fetch",
     .read = read_days,
     .help = "take no version that was published within so many days"},
    {.group = OPTIONS_SANDBOX,
     .name = "template",
     .letter = 't',
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "NAME",
     .complete = "file",
     .read = read_path,
     .field = offsetof(struct options, template_name),
     .help = "the sandbox template; a name with a / is a file (default: mcp-server)"},
    {.group = OPTIONS_SANDBOX,
     .name = "seccomp",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "FILE",
     .complete = "file",
     .read = read_path,
     .field = offsetof(struct options, seccomp),
     .help = "another system call filter, a profile in the OCI format"},
    {.group = OPTIONS_SANDBOX,
     .name = "allow-userns",
     .argument = ARGUMENT_OPTIONAL,
     .metavariable = "full",
     .complete = "full",
     .read = read_userns,
     .help = "let the command make user namespaces (browsers do); full: nested sandboxes too"},
    {.group = OPTIONS_SANDBOX,
     .name = "proc",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "none",
     .complete = "none",
     .read = read_proc,
     .help = "no /proc, where a container does not let hutch mount one"},
    {.group = OPTIONS_OUTPUT,
     .name = "log",
     .argument = ARGUMENT_REQUIRED,
     .metavariable = "FILE",
     .complete = "file",
     .read = read_path,
     .field = offsetof(struct options, log),
     .help = "append lines of JSON: the start, names looked up, connections, the end"},
    {.group = OPTIONS_OUTPUT,
     .name = "log-arguments",
     .complete = "none",
     .only = "mcp",
     .read = set_flag,
     .field = offsetof(struct options, tools.log_arguments),
     .help = "write the arguments of tool calls to the log too"},
    {.group = OPTIONS_OUTPUT,
     .name = "dry-run",
     .complete = "none",
     .read = set_flag,
     .field = offsetof(struct options, dry_run),
     .help = "write the sandbox's complete description as JSON and run nothing"},
    {.group = OPTIONS_OUTPUT,
     .name = "json",
     .complete = "none",
     .only = "doctor prove",
     .read = set_flag,
     .field = offsetof(struct options, json),
     .help = "write JSON for a program to read"},
    {.group = OPTIONS_OUTPUT,
     .name = "help",
     .letter = 'h',
     .complete = "none",
     .always = true,
     .read = set_flag,
     .field = offsetof(struct options, help),
     .help = "show this help"},
};

_Static_assert(sizeof(option_table) / sizeof(*option_table) == OPTION_COUNT, "one row for each option");
