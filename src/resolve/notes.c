/* SPDX-License-Identifier: Apache-2.0
 *
 * See notes.h.
 */
#include "resolve/notes.h"

#include "command/directories.h"
#include "command/linked_packages.h"
#include "command/toolchain.h"
#include "grants/repositories.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"

#include <stdlib.h>
#include <unistd.h>

/* Commands that download what they run: without a network they retry for a minute before they fail. */
static void note_download(const struct box *box, bool fetches)
{
        if (fetches && !box_has_network(box))
                message("note: %s downloads what is not installed, and this sandbox has no network; hutch "
                        "fetches first "
                        "only for npx, npm exec, uvx, uv tool run and uv run, and only what a registry has; "
                        "permit the registry with --network-allow, or install the package in a directory and "
                        "put its program after --",
                        path_base(box->argv.values[0]));
}

bool notes_is_container_engine(const struct box *box)
{
        static const char *const engines[] = {"docker", "podman", "nerdctl"};
        for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
                if (str_equal(path_base(box->argv.values[0]), engines[i]))
                        return true;
        return false;
}

/* Many published configurations start the server as a container. */
static void note_container_engine(const struct box *box)
{
        if (notes_is_container_engine(box))
                message(
                    "note: %s cannot start containers from inside a sandbox; install the server without one "
                    "and put its program after --",
                    path_base(box->argv.values[0]));
}

/* No shell reads a client's configuration. */
static void note_tilde(const struct box *box)
{
        for (size_t i = 0; i < box->argv.count; i++)
                if (str_starts(box->argv.values[i], "~/")) {
                        message("note: ~ is not expanded after --; write the whole path instead of %s",
                                error_shown(box->argv.values[i]));
                        return;
                }
}

static bool has_module(const char *directory, const char *module)
{
        autofree char *name = str_copy_n(module, strcspn(module, "."));
        autofree char *file = str_format("%s.py", name);
        return directory_has(directory, name) || directory_has(directory, file);
}

/* A relative path, or a Python module, that the command would look for in another directory. */
static void note_working_directory(const struct resolver *resolver)
{
        const struct box *box = resolver->box;
        const char *cwd = resolver->work;
        if (str_equal(box->cwd, cwd))
                return;
        const char *module = resolver->toolchain->command.module;
        for (size_t i = 1; i < box->argv.count; i++) {
                const char *word = box->argv.values[i];
                autofree char *path = path_join(cwd, word);
                bool relative =
                    word[0] != '/' && word[0] != '-' && strchr(word, '/') && access(path, F_OK) == 0;
                if (relative || (module && has_module(cwd, module))) {
                        const char *real = path_walk_real(resolver_walker(resolver), cwd);
                        bool refused = real && sensitive_path_any_home(real, false);
                        message("note: the working directory %s is not visible inside; the command starts in "
                                "%s; %s",
                                error_shown(cwd), error_shown(box->cwd),
                                refused ? "keep what it needs in a separate directory"
                                        : "--ro . would grant it");
                        return;
                }
        }
}

/* A program shares its directory with other files, which are granted with it. */
static void note_secrets_beside_program(const struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (!mount->is_directory || !mount_is_grant(mount) || mount_is_asked_for(mount))
                        continue;
                autofree char *file = path_join(mount->source, ".env");
                autofree char *place = path_join(mount->destination, ".env");
                if (box_find_mount(box, place)->kind != MOUNT_MASK && access(file, F_OK) == 0)
                        message("note: %s is readable inside, because %s (%s) is; keep secrets elsewhere",
                                file, mount->source, mount->why);
        }
}

void notes_say(const struct resolver *resolver)
{
        const struct box *box = resolver->box;
        note_download(box, resolver->toolchain->fetches);
        note_container_engine(box);
        note_tilde(box);
        note_working_directory(resolver);
        note_secrets_beside_program(box);
        linked_packages_note_unseen(resolver);
        repositories_note(resolver);
}
