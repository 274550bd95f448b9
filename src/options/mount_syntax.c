/* SPDX-License-Identifier: Apache-2.0
 *
 * See mount_syntax.h.
 */
#include "options/mount_syntax.h"

#include "lib/fd.h"
#include "options/values.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool is_absolute(const char *path)
{
        return path[0] == '/' || str_equal(path, "~") || str_starts(path, "~/");
}

/* Reads a destination into *place: an absolute path, or one below the home. */
static bool read_place(const char *option, const char *text, char **place, struct error *error)
{
        autofree char *path = NULL;
        if (!is_absolute(text))
                return error_set(error, EXIT_USAGE, "%s: the destination %s is not an absolute path", option,
                                 error_shown(text));
        if (!value_expand_path(option, text, &path, error))
                return false;
        *place = path_join("/", path);
        if ((*place)[1] == 0)
                return error_set(error, EXIT_USAGE, "%s: the root of the sandbox cannot be replaced", option);
        return true;
}

/* The last colon that an absolute path follows, or NULL. */
static char *find_destination(char *text)
{
        char *colon = strrchr(text, ':');
        while (colon && !is_absolute(colon + 1))
                colon = memrchr(text, ':', (size_t)(colon - text));
        return colon;
}

bool mount_syntax_read_volume(const char *text, struct grant_option *grant, struct error *error)
{
        autofree char *source = str_copy(text);
        grant->option = "--volume";
        grant->writable = true;
        char *colon = strrchr(source, ':');
        if (colon && (str_equal(colon + 1, "ro") || str_equal(colon + 1, "rw"))) {
                grant->writable = str_equal(colon + 1, "rw");
                *colon = 0;
        }
        colon = find_destination(source);
        /* A further colon in DST begins an engine's option, as :z; ignoring it would lose its meaning. */
        if (!colon || colon == source || strchr(colon + 1, ':'))
                return error_set(
                    error, EXIT_USAGE,
                    "--volume %s: write SRC:DST or SRC:DST:ro, where DST is an absolute path inside",
                    error_shown(text));
        *colon = 0;
        if (!strchr(source, '/') && source[0] != '.' && source[0] != '~')
                return error_set(error, EXIT_USAGE,
                                 "--volume %s: hutch has no named volumes; write a path: ./%s",
                                 error_shown(text), error_shown(source));
        return value_expand_path("--volume", source, &grant->path, error) &&
               read_place("--volume", colon + 1, &grant->destination, error);
}

/* The keys of --mount, and the values given. */
enum mount_field { FIELD_TYPE, FIELD_SOURCE, FIELD_TARGET, FIELD_READ_ONLY, FIELD_SIZE, FIELD_COUNT };

static const struct {
        const char *key;
        enum mount_field field;
} mount_keys[] = {
    {"type", FIELD_TYPE},          {"source", FIELD_SOURCE},      {"src", FIELD_SOURCE},
    {"target", FIELD_TARGET},      {"destination", FIELD_TARGET}, {"dst", FIELD_TARGET},
    {"readonly", FIELD_READ_ONLY}, {"ro", FIELD_READ_ONLY},       {"tmpfs-size", FIELD_SIZE},
};

/* Takes one `key=value` or `key` apart. */
static bool read_field(char *item, const char *fields[FIELD_COUNT], struct error *error)
{
        const char *value = NULL;
        char *equals = strchr(item, '=');
        if (equals) {
                *equals = 0;
                value = equals + 1;
        }
        size_t i = 0;
        while (i < sizeof(mount_keys) / sizeof(*mount_keys) && !str_equal(mount_keys[i].key, item))
                i++;
        if (i == sizeof(mount_keys) / sizeof(*mount_keys))
                return error_set(error, EXIT_USAGE,
                                 "--mount: the key \"%s\" is unknown; the keys are type, source, target, "
                                 "readonly and tmpfs-size (a path with a comma: --ro or --rw PATH:DEST)",
                                 error_shown(item));
        enum mount_field field = mount_keys[i].field;
        if (field == FIELD_READ_ONLY && !value)
                value = "true";
        if (!value || !value[0])
                return error_set(error, EXIT_USAGE, "--mount: %s has no value: %s=…", item, item);
        if (fields[field])
                return error_set(error, EXIT_USAGE, "--mount: %s is given twice", item);
        fields[field] = value;
        return true;
}

static bool read_bind(const char *const fields[FIELD_COUNT], struct grant_option *grant, struct error *error)
{
        const char *read_only = fields[FIELD_READ_ONLY] ? fields[FIELD_READ_ONLY] : "false";
        if (!fields[FIELD_SOURCE] || !fields[FIELD_TARGET] || fields[FIELD_SIZE])
                return error_set(error, EXIT_USAGE,
                                 "--mount: write type=bind,source=PATH,target=DEST[,readonly]");
        grant->writable = str_equal(read_only, "false") || str_equal(read_only, "0");
        if (!grant->writable && !str_equal(read_only, "true") && !str_equal(read_only, "1"))
                return error_set(error, EXIT_USAGE, "--mount: readonly=%s is neither true nor false",
                                 error_shown(read_only));
        return value_expand_path("--mount", fields[FIELD_SOURCE], &grant->path, error) &&
               read_place("--mount", fields[FIELD_TARGET], &grant->destination, error);
}

static bool read_memory(const char *const fields[FIELD_COUNT], struct grant_option *grant,
                        struct error *error)
{
        if (!fields[FIELD_TARGET] || fields[FIELD_SOURCE] || fields[FIELD_READ_ONLY])
                return error_set(error, EXIT_USAGE,
                                 "--mount: write type=tmpfs,target=PATH[,tmpfs-size=SIZE]");
        grant->memory = true;
        if (fields[FIELD_SIZE] && !value_read_size("--mount", fields[FIELD_SIZE], &grant->bytes, error))
                return false;
        return read_place("--mount", fields[FIELD_TARGET], &grant->path, error);
}

bool mount_syntax_read_mount(const char *text, struct grant_option *grant, struct error *error)
{
        const char *fields[FIELD_COUNT] = {0};
        autofree char *copy = str_copy(text);
        grant->option = "--mount";
        for (char *rest = copy, *item; (item = strsep(&rest, ","));)
                if (!read_field(item, fields, error))
                        return false;
        const char *type = fields[FIELD_TYPE] ? fields[FIELD_TYPE] : "";
        if (str_equal(type, "bind"))
                return read_bind(fields, grant, error);
        if (str_equal(type, "tmpfs"))
                return read_memory(fields, grant, error);
        return error_set(error, EXIT_USAGE,
                         "--mount: type=%s is not supported; write type=bind (a path) or type=tmpfs (memory)",
                         error_shown(type));
}

bool mount_syntax_read_tmpfs(const char *text, struct grant_option *grant, struct error *error)
{
        autofree char *path = str_copy(text);
        grant->option = "--tmpfs";
        grant->memory = true;
        char *colon = strrchr(path, ':');
        if (colon && !strchr(colon, '/')) {
                *colon = 0;
                if (!value_read_size("--tmpfs", colon + 1, &grant->bytes, error))
                        return false;
        }
        return read_place("--tmpfs", path, &grant->path, error);
}

/* True when `path` has an empty part, `.` or `..`: the user may mean another path than the kernel would. */
static bool has_odd_part(const char *path)
{
        for (const char *part = strchr(path, '/'); part; part = strchr(part + 1, '/')) {
                size_t length = strcspn(part + 1, "/");
                if (length == 0 || (length <= 2 && strncmp(part + 1, "..", length) == 0))
                        return true;
        }
        return false;
}

static bool refuse_file(const char *text, struct error *error)
{
        const char *last = strrchr(text, ':');
        if (!last || last == text || !last[1])
                return error_set(error, EXIT_USAGE,
                                 "--file %s: write LOCAL:REMOTE, as in server.py:/tmp/server.py",
                                 error_shown(text));
        return error_set(error, EXIT_USAGE, "--file %s: REMOTE, %s, is not an absolute path: write /tmp/%s",
                         error_shown(text), error_shown(last + 1), error_shown(last + 1));
}

bool mount_syntax_read_file(const char *text, struct file_option *file, struct error *error)
{
        autofree char *local = str_copy(text);
        char *colon = find_destination(local);
        if (!colon || colon == local)
                return refuse_file(text, error);
        *colon = 0;
        const char *remote = colon + 1;
        if (!value_expand_path("--file", local, &file->local, error) ||
            !read_place("--file", remote, &file->remote, error))
                return false;
        if (remote[strlen(remote) - 1] == '/')
                return error_set(error, EXIT_USAGE,
                                 "--file %s: REMOTE names the file, not its directory: write %s/%s",
                                 error_shown(text), error_shown(file->remote), error_shown(path_base(local)));
        if (has_odd_part(remote))
                return error_set(error, EXIT_USAGE, "--file %s: REMOTE has empty, . or .. parts: write %s",
                                 error_shown(text), error_shown(file->remote));
        return true;
}

/* ---- --ro, --rw, their -try, --overlay ---- */

static bool path_exists(const char *path)
{
        struct stat status;
        return lstat(path, &status) == 0;
}

/* What each option grants. */
static const struct grant_option grant_options[] = {
    {.option = "--ro"},
    {.option = "--rw", .writable = true},
    {.option = "--ro-try", .optional = true},
    {.option = "--rw-try", .writable = true, .optional = true},
    {.option = "--overlay", .overlay = true},
};

static const struct grant_option *find_grant(const char *name)
{
        size_t i = 0;
        while (!str_equal(grant_options[i].option + 2, name))
                i++; /* the option table has no others */
        return &grant_options[i];
}

/* Splits PATH[:DEST]. A file name may contain colons, so a text that names something is a path as a whole. */
bool mount_syntax_read_grant(const char *name, const char *text, struct grant_option *grant,
                             struct error *error)
{
        *grant = *find_grant(name);
        autofree char *path = NULL, *destination = NULL;
        if (!value_expand_path(grant->option, text, &path, error))
                return false;
        char *colon = strrchr(path, ':');
        if (colon && !path_exists(path)) {
                const char *suffix = colon + 1;
                if (str_equal(suffix, "ro") || str_equal(suffix, "rw") || str_equal(suffix, "z") ||
                    str_equal(suffix, "Z"))
                        return error_set(
                            error, EXIT_USAGE,
                            "--%s %s: \":%s\" is another tool's spelling; --ro grants for reading, --rw for "
                            "writing too",
                            name, error_shown(text), suffix);
                while (colon && colon[1] != '/' && !str_equal(colon + 1, "~") && !str_starts(colon + 1, "~/"))
                        colon = memrchr(path, ':', (size_t)(colon - path));
                if (colon) {
                        autofree char *inside = NULL;
                        if (!value_expand_path(grant->option, colon + 1, &inside, error))
                                return false;
                        *colon = 0;
                        destination = path_join("/", inside);
                } else {
                        *strrchr(path, ':') = 0;
                        if (path_exists(path))
                                return error_set(error, EXIT_USAGE,
                                                 "--%s %s: DEST in PATH:DEST must be an absolute path", name,
                                                 error_shown(text));
                        /* It names nothing either way: the step that opens it reports that. */
                        path[strlen(path)] = ':';
                }
        }
        if (path[0] == 0)
                return error_set(error, EXIT_USAGE, "--%s %s: PATH is empty", name, error_shown(text));
        if (destination && destination[1] == 0)
                return error_set(error, EXIT_USAGE, "--%s %s: the root of the sandbox cannot be replaced",
                                 name, error_shown(text));
        grant->path = path;
        grant->destination = destination;
        path = destination = NULL;
        return true;
}
