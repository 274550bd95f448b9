/* SPDX-License-Identifier: Apache-2.0
 *
 * See readers.h.
 */
#include "options/readers.h"

#include "lib/fd.h"
#include "options/mount_syntax.h"
#include "options/tool_options.h"
#include "options/values.h"

#include <fcntl.h>
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

bool reader_set_flag(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        (void)value;
        (void)error;
        return *(bool *)field_of(options, row) = true;
}

bool reader_count_verbose(struct options *options, const struct option_row *row, const char *value,
                          struct error *error)
{
        (void)row;
        (void)value;
        (void)error;
        options->verbose++;
        return true;
}

bool reader_text(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        char **text = field_of(options, row);
        (void)error;
        free(*text);
        *text = str_copy(value);
        return true;
}

bool reader_add_text(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        (void)error;
        str_list_add(field_of(options, row), value);
        return true;
}

/* A path, with a leading ~ expanded. */
bool reader_path(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        return value_expand_path(option, value, field_of(options, row), error);
}

/* The same for an option that may be repeated. */
bool reader_add_path(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        char *path = NULL;
        if (!value_expand_path(option, value, &path, error))
                return false;
        str_list_take(field_of(options, row), path);
        return true;
}

bool reader_add_tool(struct options *options, const struct option_row *row, const char *value,
                     struct error *error)
{
        autofree char *option = str_format("--%s", row->name);
        if (!tool_pattern_check(option, value, error))
                return false;
        return reader_add_text(options, row, value, error);
}

bool reader_seconds(struct options *options, const struct option_row *row, const char *value,
                    struct error *error)
{
        uint64_t seconds;
        if (value[str_read_digits(value, SECONDS_MAX, &seconds)])
                return error_set(error, EXIT_USAGE, "--%s %s: not a whole number of seconds", row->name,
                                 error_shown(value));
        if (seconds > SECONDS_MAX)
                return error_set(error, EXIT_USAGE, "--%s %s: the maximum is %d seconds", row->name,
                                 error_shown(value), SECONDS_MAX);
        *(unsigned *)field_of(options, row) = (unsigned)seconds;
        return true;
}

bool reader_env(struct options *options, const struct option_row *row, const char *text, struct error *error)
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
        *array_add(options->grants, options->grant_count) = *grant;
}

bool reader_grant(struct options *options, const struct option_row *row, const char *value,
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

bool reader_volume(struct options *options, const struct option_row *row, const char *value,
                   struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_volume, value, error);
}

bool reader_mount(struct options *options, const struct option_row *row, const char *value,
                  struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_mount, value, error);
}

bool reader_tmpfs(struct options *options, const struct option_row *row, const char *value,
                  struct error *error)
{
        (void)row;
        return read_container_mount(options, mount_syntax_read_tmpfs, value, error);
}

bool reader_file(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        (void)row;
        struct file_option file = {0};
        if (!mount_syntax_read_file(value, &file, error)) {
                free(file.local);
                free(file.remote);
                return false;
        }
        *array_add(options->files, options->file_count) = file;
        return true;
}

bool reader_hide(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        if (strstr(value, "**"))
                return error_set(error, EXIT_USAGE,
                                 "--hide %s: ** is not supported; a pattern without a / matches names at any "
                                 "depth",
                                 error_shown(value));
        return reader_add_path(options, row, value, error);
}

bool reader_message_max(struct options *options, const struct option_row *row, const char *value,
                        struct error *error)
{
        (void)row;
        return tool_options_read_message_max(&options->tools, value, error);
}

bool reader_memory(struct options *options, const struct option_row *row, const char *value,
                   struct error *error)
{
        (void)row;
        return value_read_size_from("--memory", value, LIMITS_MEMORY_LEAST, &options->memory_bytes, error);
}

bool reader_disk(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        (void)row;
        return value_read_size_from("--disk", value, LIMITS_DISK_LEAST, &options->disk_bytes, error);
}

bool reader_cpus(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        (void)row;
        return value_read_cpus("--cpus", value, &options->cpus, error);
}

bool reader_pids(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        (void)row;
        return value_read_count("--pids", value, LIMITS_PIDS_MOST, &options->pids, error);
}

bool reader_require(struct options *options, const struct option_row *row, const char *value,
                    struct error *error)
{
        (void)row;
        return value_read_require(value, &options->required, error);
}

bool reader_userns(struct options *options, const struct option_row *row, const char *value,
                   struct error *error)
{
        (void)row;
        options->userns = value[0] ? USERNS_FULL : USERNS_ALLOWED;
        return !value[0] || str_equal(value, "full") ||
               error_set(error, EXIT_USAGE, "--allow-userns=%s: the only value is full", error_shown(value));
}

bool reader_proc(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        (void)row;
        options->no_proc = true;
        return str_equal(value, "none") ||
               error_set(error, EXIT_USAGE,
                         "--proc %s: the only value is none; without the option a sandbox has its own /proc",
                         error_shown(value));
}

bool reader_fetch(struct options *options, const struct option_row *row, const char *value,
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

bool reader_persist(struct options *options, const struct option_row *row, const char *value,
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

bool reader_days(struct options *options, const struct option_row *row, const char *value,
                 struct error *error)
{
        uint64_t days = 0;
        bool known = !*value || str_read_number(value, 9999, &days);
        (void)row;
        options->min_age_days = (unsigned)days;
        return known || error_set(error, EXIT_USAGE, "--min-age %s: not a number of days up to 9999",
                                  error_shown(value));
}

bool reader_status_fd(struct options *options, const struct option_row *row, const char *value,
                      struct error *error)
{
        (void)row;
        /* hutch has opened nothing yet, so what is open here is the caller's. Only a write shows whether a
         * write succeeds; this finds a wrong number, and a closed descriptor whose number hutch would later
         * use itself. */
        size_t length = strspn(value, "0123456789");
        int fd = length <= 6 && !value[length] ? (int)strtol(value, NULL, 10) : 0;
        int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFL) : -1;
        if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
                return error_set(
                    error, EXIT_USAGE,
                    "--status-fd %s: not the number of an open descriptor that can be written to, "
                    "3 or higher; in a shell: --status-fd 3 3>FILE",
                    error_shown(value));
        options->status_fd = fd;
        return true;
}
