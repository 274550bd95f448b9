/* SPDX-License-Identifier: Apache-2.0
 *
 * See unseen.h.
 */
#include "command/unseen.h"

#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <stdlib.h>

enum { NOTES_MAX = 8 };

static bool is_visible(const struct box *box, const char *path)
{
        autofree char *place = mounts_follow_inside(box, path);
        const struct mount *mount = box_find_mount(box, place);
        return mount &&
               (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY || mount->kind == MOUNT_PROC ||
                mount->kind == MOUNT_DEV || str_equal(mount->destination, place));
}

/* True for /, /etc, /home: the sandbox has a directory there that leads to its mounts. */
static bool leads_inside(const struct box *box, const char *path)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (path_is_below(box->mounts[i].destination, path))
                        return true;
        return false;
}

void unseen_note(const struct resolver *resolver, const struct str_list *paths)
{
        const struct box *box = resolver->box;
        const char *real_home = path_walk_real(resolver_walker(resolver), box->home);
        size_t notes = 0;
        for (size_t i = 0; i < paths->count; i++) {
                const char *path = paths->values[i];
                if (is_visible(box, path) || leads_inside(box, path))
                        continue;
                if (notes++ == NOTES_MAX) {
                        message("note: more of the arguments are paths that are not visible inside");
                        return;
                }
                const char *real = path_walk_real(resolver_walker(resolver), path);
                const char *refusal =
                    real ? sensitive_path_reason(real, real_home ? real_home : "", false) : NULL;
                if (refusal)
                        message("note: %s is not visible inside (%s)", path, refusal);
                else
                        message(
                            "note: %s is not visible inside; --ro %s would grant it (--rw for writing too)",
                            path, path);
        }
}
