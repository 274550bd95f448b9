/* SPDX-License-Identifier: Apache-2.0
 *
 * See watched_names.h.
 */
#include "grants/watched_names.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/real_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* Looks one component after the other, so that no link is followed. */
struct found_name watched_names_look(int directory, const char *name)
{
        struct found_name found = {0};
        for (size_t end = 0; name[end];) {
                end += strspn(name + end, "/");
                end += strcspn(name + end, "/");
                autofree char *part = str_copy_n(name, end);
                if (fstatat(directory, part, &found.status, AT_SYMLINK_NOFOLLOW) < 0)
                        return (struct found_name){0};
                found.length = end;
                if (!S_ISDIR(found.status.st_mode))
                        return found;
        }
        return found;
}

/* A name that is not held by a mount: nothing is there, or a link, which nothing can be mounted on. */
struct watched_name {
        char *name;
        struct found_name before;
        bool said;
};

void watched_names_add(struct watched_directory *watched, const char *name, const struct found_name *before)
{
        for (size_t i = 0; i < watched->count; i++)
                if (str_equal(watched->names[i].name, name))
                        return;
        watched->names =
            str_or_die(reallocarray(watched->names, watched->count + 1, sizeof(*watched->names)));
        watched->names[watched->count++] = (struct watched_name){
            .name = str_copy_n(name, before->length ? before->length : strlen(name)), .before = *before};
}

/* Opens the grant's directory once for the run. */
bool watched_names_open(struct held_sources *held, const struct mount *grant, struct error *error)
{
        struct stat status;
        autoclose int directory = real_path_open(grant->source, O_PATH | O_DIRECTORY);
        if (directory < 0 || fstat(directory, &status) < 0 || status.st_dev != grant->device ||
            status.st_ino != grant->inode)
                return error_set(error, EXIT_SETUP, "cannot use %s: it was replaced while hutch started",
                                 grant->source);
        held->watched =
            str_or_die(reallocarray(held->watched, held->watched_count + 1, sizeof(*held->watched)));
        held->watched[held->watched_count++] =
            (struct watched_directory){.directory = fd_take(&directory), .path = str_copy(grant->source)};
        return true;
}

static void report_name(const struct watched_directory *watched, struct watched_name *name)
{
        struct found_name now = watched_names_look(watched->directory, name->name);
        const struct stat *before = &name->before.status, *after = &now.status;
        if (!now.length)
                return;
        /* A new link may get the number of the old one, but not its time. */
        if (name->before.length && before->st_ino == after->st_ino &&
            before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
            before->st_ctim.tv_nsec == after->st_ctim.tv_nsec)
                return;
        name->said = true;
        autofree char *part = str_copy_n(name->name, now.length);
        autofree char *path = path_join(watched->path, part);
        message(
            "%s was %s during the run, and other programs run or obey such a file outside of any sandbox: "
            "look at it first",
            error_shown(path), name->before.length ? "changed" : "created");
}

/* Several names end at the same file when one on the way is no directory: it is said once. */
static bool is_said_before(const struct watched_directory *watched, size_t index)
{
        struct found_name now = watched_names_look(watched->directory, watched->names[index].name);
        for (size_t i = 0; i < index && now.length; i++) {
                struct found_name other = watched_names_look(watched->directory, watched->names[i].name);
                if (other.length == now.length &&
                    memcmp(watched->names[i].name, watched->names[index].name, now.length) == 0)
                        return true;
        }
        return false;
}

void watched_names_list_directories(const struct held_sources *held, struct str_list *directories)
{
        for (size_t i = 0; i < held->watched_count; i++) {
                const struct watched_directory *watched = &held->watched[i];
                for (size_t j = 0; j < watched->count; j++) {
                        const char *name = watched->names[j].name, *slash = strrchr(name, '/');
                        autofree char *part = str_copy_n(name, slash ? (size_t)(slash - name) : 0);
                        autofree char *directory = path_join(watched->path, part);
                        if (!str_list_has(directories, directory))
                                str_list_add(directories, directory);
                }
                if (watched->count && !str_list_has(directories, watched->path))
                        str_list_add(directories, watched->path);
        }
}

/* A component of a path. */
static bool has_component(const char *path, const char *name)
{
        size_t length = strlen(name);
        for (const char *part = path; part; part = strchr(part, '/')) {
                part += *part == '/';
                if (strncmp(part, name, length) == 0 && (part[length] == '/' || part[length] == 0))
                        return true;
        }
        return false;
}

bool watched_names_may_concern(const struct held_sources *held, const char *name)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (has_component(held->watched[i].names[j].name, name))
                                return true;
        return false;
}

void watched_names_report(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (!held->watched[i].names[j].said && !is_said_before(&held->watched[i], j))
                                report_name(&held->watched[i], &held->watched[i].names[j]);
}

void watched_names_release(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++) {
                struct watched_directory *watched = &held->watched[i];
                for (size_t j = 0; j < watched->count; j++)
                        free(watched->names[j].name);
                free(watched->names);
                free(watched->path);
                close(watched->directory);
        }
        free(held->watched);
        held->watched = NULL;
        held->watched_count = 0;
}
