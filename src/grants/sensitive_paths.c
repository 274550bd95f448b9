/* SPDX-License-Identifier: Apache-2.0
 *
 * See sensitive_paths.h. The rows are compared in the order of the table, and the first that applies gives
 * the reason.
 */
#include "grants/sensitive_paths.h"

#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/path_walk.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sensitive-table.h"

/* A path below a home, and the real path it leads to where it exists: dotfiles are often links to another
 * directory. */
struct home_place {
        char *named, *real;
};

/* The places of one home, looked up once for all grants of a start. */
struct home {
        struct home *next;
        char *path;
        struct home_place *places; /* one for each row, empty where the row is of another place */
};

/* Most places of a home do not exist, and a missing one leads elsewhere only through a link. Neighbours in
 * the tables share one look at their first component. */
struct home_reader {
        int directory;
        const char *path;
        char first[NAME_MAX + 1];
        bool exists, is_link;
};

static void read_place(struct home_reader *reader, const char *name, struct home_place *place)
{
        size_t length = strcspn(name, "/");
        place->named = path_join(reader->path, name);
        if (strncmp(reader->first, name, length) != 0 || reader->first[length]) {
                struct stat status;
                autofree char *first = str_copy_n(name, length);
                (void)snprintf(reader->first, sizeof(reader->first), "%s", first);
                reader->exists = fstatat(reader->directory, first, &status, AT_SYMLINK_NOFOLLOW) == 0;
                reader->is_link = reader->exists && S_ISLNK(status.st_mode);
        }
        if (!reader->exists)
                return;
        if (reader->is_link || faccessat(reader->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                place->real = real_path_of_missing(place->named);
}

static const struct home *look_at_home(const char *path)
{
        static struct home *known;
        for (const struct home *home = known; home; home = home->next)
                if (str_equal(home->path, path))
                        return home;
        struct home *home = str_or_die(calloc(1, sizeof(*home)));
        home->path = str_copy(path);
        home->next = known;
        known = home;
        autoclose int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct home_reader reader = {.directory = directory, .path = path};
        home->places = str_or_die(calloc(sensitive_row_count, sizeof(*home->places)));
        for (size_t i = 0; i < sensitive_row_count; i++)
                if (sensitive_rows[i].where == SENSITIVE_HOME)
                        read_place(&reader, sensitive_rows[i].path, &home->places[i]);
        return home;
}

static bool touches(const char *path, const char *place)
{
        return path_is_below(path, place) || path_is_below(place, path);
}

/* `home`: NULL when there is none, so that no row of it applies. */
static bool row_applies(size_t index, const char *path, const struct home *home)
{
        const struct sensitive_row *row = &sensitive_rows[index];
        size_t length = strlen(path), end = strlen(row->path);
        const struct home_place *place;
        switch (row->where) {
        case SENSITIVE_MACHINE:
                return touches(path, row->path);
        case SENSITIVE_ANYWHERE:
                return length >= end && str_equal(path + length - end, row->path);
        case SENSITIVE_HOME:
                place = home ? &home->places[index] : NULL;
                return place && (touches(path, place->named) || (place->real && touches(path, place->real)));
        case SENSITIVE_GRANT:
                break;
        }
        return false;
}

/* hutch's own directories, where the user moved them (XDG base directory specification). */
static bool touches_own_state(const char *path)
{
        static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                                "XDG_CONFIG_HOME"};
        for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
                const char *directory = getenv(variables[i]);
                autofree char *named =
                    directory && directory[0] == '/' ? path_join(directory, "hutch") : NULL;
                autofree char *real = named ? real_path_of_missing(named) : NULL;
                if ((named && touches(path, named)) || (real && touches(path, real)))
                        return true;
        }
        return false;
}

/* /run/media/USER/LABEL: where desktops mount removable media. */
static bool is_removable_medium(const char *path)
{
        return str_starts(path, "/run/media/") && path_depth(path) >= 4;
}

const char *sensitive_path_reason(const char *real_path, const char *home, bool writable)
{
        if (real_path[1] == 0)
                return "it is the whole file system";
        if (home[0] && path_is_below(home, real_path))
                return "it is or contains a home directory";
        if (str_equal(real_path, "/tmp"))
                return "it holds the sockets and temporary files of every program of the machine";
        const struct home *places = home[0] ? look_at_home(home) : NULL;
        bool is_medium = is_removable_medium(real_path);
        for (size_t i = 0; i < sensitive_row_count; i++) {
                const struct sensitive_row *row = &sensitive_rows[i];
                bool counts = row->kind == SENSITIVE_NEVER
                                  ? !is_medium || row->where != SENSITIVE_MACHINE
                                  : writable && row->kind == SENSITIVE_NEVER_WRITABLE;
                if (counts && row_applies(i, real_path, places))
                        return row->why;
        }
        return touches_own_state(real_path) ? "it holds hutch's own state" : NULL;
}

const char *sensitive_path_any_home(const char *real_path, bool writable)
{
        const struct caller_homes *homes = caller_homes();
        const char *why = sensitive_path_reason(real_path, "", writable);
        for (size_t i = 0; i < homes->real.count && !why; i++)
                why = sensitive_path_reason(real_path, homes->real.values[i], writable);
        return why;
}
