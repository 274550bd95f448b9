/* SPDX-License-Identifier: Apache-2.0
 *
 * See watched_names.h.
 */
#include "grants/watched_names.h"

#include "lib/fd.h"
#include "lib/messages.h"

#include <errno.h>
#include <fcntl.h>

struct watched_name {
        char *name;               /* relative to the directory */
        struct found_name before; /* at the start */
        bool reported;
};

bool watched_names_open(const struct resolver *resolver, const struct mount *grant)
{
        struct held_sources *held = resolver->held;
        const struct walked *source = path_walk(resolver_walker(resolver), grant->source);
        int directory = fcntl(source->descriptor, F_DUPFD_CLOEXEC, 0);
        if (directory < 0)
                return error_set(resolver->error, EXIT_SETUP, "cannot watch %s: %s", grant->source,
                                 strerror(errno));
        *array_add(held->watched, held->watched_count) =
            (struct watched_directory){.directory = directory, .path = str_copy(grant->source)};
        return true;
}

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

void watched_names_add(struct watched_directory *watched, const char *name, const struct found_name *before)
{
        for (size_t i = 0; i < watched->count; i++)
                if (str_equal(watched->names[i].name, name))
                        return;
        *array_add(watched->names, watched->count) = (struct watched_name){
            .name = str_copy_n(name, before->length ? before->length : strlen(name)), .before = *before};
}

/* A name that vanished is not worth a report: nothing can obey it. */
static bool has_changed(const struct found_name *before, const struct found_name *now)
{
        if (!now->length || !before->length)
                return now->length > 0;
        /* A new link can get the inode number of the old one, but not its time of change. */
        return before->status.st_ino != now->status.st_ino ||
               before->status.st_ctim.tv_sec != now->status.st_ctim.tv_sec ||
               before->status.st_ctim.tv_nsec != now->status.st_ctim.tv_nsec;
}

/* Several names end at the same object when one component on the way is not a directory. One report is
 * enough. */
static bool is_named_before(const struct watched_directory *watched, size_t index,
                            const struct found_name *now)
{
        for (size_t i = 0; i < index; i++) {
                struct found_name other = watched_names_look(watched->directory, watched->names[i].name);
                if (other.length == now->length &&
                    memcmp(watched->names[i].name, watched->names[index].name, now->length) == 0)
                        return true;
        }
        return false;
}

static void report_name(const struct watched_directory *watched, size_t index)
{
        struct watched_name *name = &watched->names[index];
        struct found_name now = watched_names_look(watched->directory, name->name);
        if (!has_changed(&name->before, &now) || is_named_before(watched, index, &now))
                return;
        name->reported = true;
        autofree char *part = str_copy_n(name->name, now.length);
        autofree char *path = path_join(watched->path, part);
        message("%s was %s during the run; programs outside the sandbox run or obey such a file: look at it "
                "before you use it",
                error_shown(path), name->before.length ? "changed" : "created");
}

void watched_names_report(struct held_sources *held)
{
        for (size_t i = 0; i < held->watched_count; i++)
                for (size_t j = 0; j < held->watched[i].count; j++)
                        if (!held->watched[i].names[j].reported)
                                report_name(&held->watched[i], j);
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
