/* SPDX-License-Identifier: Apache-2.0
 *
 * See start.h. Of all that could make npx choose another program, only node_modules/.bin counts.
 */
#include "packages/start.h"

#include "grants/copy_in.h"
#include "lib/environment.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES_MAX = 100 };

static int open_within(int directory, const char *path, int flags, unsigned resolve)
{
        struct open_how how = {
            .flags = (unsigned)(flags | O_CLOEXEC),
            .resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        int file;
        unsigned tries = 0;
        /* The kernel gives up a path with ".." when anything is renamed or mounted meanwhile, anywhere. */
        do
                file = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
        while (file < 0 && errno == EAGAIN && ++tries < TRIES_MAX);
        return file;
}

/* True when the program is a file in the entry that the kernel can start. Links may lead to it, but not out
 * of the entry. */
static bool is_program(const struct package_mounts *use, const char *name)
{
        char head[4];
        struct stat status;
        autofree char *above = str_format("/%s", use->entry.directory);
        autofree char *tree = path_parent(above);
        autofree char *path = str_format("%s/%s", path_base(above), name);
        autoclose int cache = real_path_open(AT_FDCWD, use->source, O_RDONLY | O_DIRECTORY);
        autoclose int directory =
            cache < 0 ? -1 : open_within(cache, tree + 1, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        autoclose int file =
            directory < 0 ? -1 : open_within(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (file < 0 || fstat(file, &status) < 0 || !S_ISREG(status.st_mode) || !(status.st_mode & S_IXUSR))
                return false;
        ssize_t length = pread(file, head, sizeof(head), 0);
        return (length > 2 && memcmp(head, "#!", 2) == 0) || (length == 4 && memcmp(head, "\177ELF", 4) == 0);
}

/* The host's path of a path inside, or NULL where the sandbox shows nothing of the host. The caller frees. */
static char *find_outside(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        bool shown = mount && (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY);
        return shown ? str_format("%s%s", mount->source, path + strlen(mount->destination)) : NULL;
}

/* True when `directory` inside has an entry `name`, from the host or by --file. */
static bool is_there(const struct box *box, const char *directory, const char *name)
{
        autofree char *path = path_join(directory, name);
        autofree char *outside = find_outside(box, path);
        return copy_in_lead_to(box, path) || (outside && access(outside, F_OK) == 0);
}

/* The directories that npm puts on PATH: the package's own, then those of the projects upward. NULL where one
 * of the projects has the program `name`, which npx would start instead. The caller frees. */
static char *list_directories(const struct box *box, const char *own, const char *name)
{
        char *path = str_copy(own);
        for (autofree char *directory = str_copy(box->cwd);;) {
                autofree char *modules = path_join(directory, "node_modules/.bin");
                char *longer = is_there(box, modules, name) ? NULL : str_format("%s:%s", path, modules);
                free(path);
                path = longer;
                if (!path || !directory[1])
                        return path;
                char *above = path_parent(directory);
                free(directory);
                directory = above;
        }
}

/* The name of the program. The caller frees. */
static char *choose_program(const struct command *command, const struct entry *entry)
{
        const char *word = command->words.values[command->program];
        if (!command->names_package)
                return str_copy(word);
        return command->tool == COMMAND_NPX ? str_copy(entry->program)
                                            : command_package_name(command->tool, word);
}

void package_start(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const struct package_mounts *use = resolver->packages;
        const struct command *command = &resolver->toolchain->command;
        bool is_npm = command->tool == COMMAND_NPX;
        if (!use->source || !use->entry.directory[0] || !command->plain ||
            (!is_npm && command->tool != COMMAND_UVX))
                return;
        autofree char *name = choose_program(command, &use->entry);
        autofree char *directory = path_join(use->place, use->entry.directory);
        /* For `python…` uv starts an interpreter, not a package's program. */
        if (!str_is_file_name(name) || (!is_npm && str_starts(name, "python")) || !is_program(use, name))
                return;
        autofree char *front = is_npm ? list_directories(box, directory, name) : str_copy(directory);
        if (!front)
                return;
        const char *path = environment_find(&box->environment, "PATH");
        environment_set(&box->environment, str_format("PATH=%s:%s", front, path ? path : ""));
        if (is_npm) {
                environment_set(&box->environment, str_format("INIT_CWD=%s", box->cwd));
                environment_set(&box->environment, str_copy("npm_command=exec"));
                environment_set(&box->environment, str_copy("npm_lifecycle_event=npx"));
        }
        message_verbose("the fetched package's program %s is started directly, without %s", error_shown(name),
                        error_shown(box->argv.values[0]));
        free(box->executable);
        box->executable = path_join(directory, name);
        str_list_free(&box->started);
        str_list_add(&box->started, name);
        for (size_t i = command->program + 1; i < command->words.count; i++)
                str_list_add(&box->started, command->words.values[i]);
}
