/* SPDX-License-Identifier: Apache-2.0
 *
 * See linked_packages.h.
 */
#include "command/linked_packages.h"

#include "command/directories.h"
#include "command/search.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "lib/tree_walk.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
        PACKAGE_NOTES_MAX = 4,
        PATHS_MAX = 64 * 1024, /* of a .pth file */
};

struct noting {
        const struct resolver *resolver;
        struct walker walker; /* a project can have thousands of links */
        size_t notes;
};

/* Prints a note unless `real` is visible inside or must not be granted. `how` is the verb between both. */
static void note_package(struct noting *noting, const char *place, const char *how, const char *real)
{
        if (mounts_show(noting->resolver->box, real) || directory_in_host_tree(real) ||
            sensitive_path_any_home(real, false) || noting->notes == PACKAGE_NOTES_MAX)
                return;
        noting->notes++;
        autofree char *shown = str_copy(error_shown(place));
        message("note: %s %s %s, which is not visible inside; --ro %s would grant it", shown, how,
                error_shown(real), error_shown(real));
}

/* Notes the links among the packages of `modules`, which may be a link itself, and of each @scope in it,
 * which is none. */
static void note_links(struct noting *noting, const char *modules, bool scoped)
{
        autoclosedir DIR *directory = tree_open(AT_FDCWD, modules);
        for (const struct dirent *entry; directory && (entry = tree_next(directory));) {
                if (entry->d_name[0] == '.')
                        continue;
                mode_t type = tree_entry_type(directory, entry);
                autofree char *place = path_join(modules, entry->d_name);
                if (type == S_IFDIR && entry->d_name[0] == '@' && !scoped)
                        note_links(noting, place, true);
                const char *real = type == S_IFLNK ? path_walk_real(&noting->walker, place) : NULL;
                if (real)
                        note_package(noting, place, "leads to", real);
        }
}

/* Notes the lines that are paths in the *.pth files of a virtual environment (Python's module site). */
static void note_paths(struct noting *noting, const char *venv)
{
        autofree char *escaped = search_escape(venv);
        autofree char *pattern = str_format("%s/lib/python3*/site-packages/*.pth", escaped);
        glob_t files = {0};
        glob(pattern, 0, NULL, &files);
        for (size_t i = 0; i < files.gl_pathc; i++) {
                autofree char *text = NULL;
                if (fd_read_file(files.gl_pathv[i], PATHS_MAX, &text) < 0)
                        continue;
                char *rest = NULL;
                for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                        const char *real = line[0] == '/' ? path_walk_real(&noting->walker, line) : NULL;
                        if (real)
                                note_package(noting, files.gl_pathv[i], "names", real);
                }
        }
        globfree(&files);
}

void linked_packages_note_unseen(const struct resolver *resolver)
{
        const struct box *box = resolver->box;
        struct noting noting = {.resolver = resolver, .walker = {.keeps_no_descriptor = true}};
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (!mount->is_directory || !mount_is_grant(mount) || mount_is_asked_for(mount))
                        continue;
                autofree char *modules = directory_path_has_name(mount->source, "node_modules")
                                             ? str_copy(mount->source)
                                             : path_join(mount->source, "node_modules");
                autofree char *venv = path_join(mount->source, ".venv");
                note_links(&noting, modules, false);
                if (directory_is_venv(mount->source))
                        note_paths(&noting, mount->source);
                else if (directory_is_venv(venv))
                        note_paths(&noting, venv);
        }
        walker_release(&noting.walker);
}
