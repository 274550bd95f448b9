/* SPDX-License-Identifier: Apache-2.0
 *
 * See past_grants.h. Two hutch may append at the same time: O_APPEND keeps each write in one piece, and a
 * path that is there twice means the same.
 */
#include "grants/past_grants.h"

#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/own_directory.h"

#include <errno.h>
#include <fcntl.h>

enum { MAX_FILE_BYTES = 4 << 20 };

#define NAME "writable"

static ssize_t read_paths(int file, struct str_list *paths)
{
        autofree char *text = NULL;
        ssize_t length = file < 0 ? file : fd_read_all(file, MAX_FILE_BYTES, &text);
        for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1)
                str_list_add(paths, text + at);
        return length;
}

static void read_past(struct str_list *paths)
{
        autoclose int own = own_directory_of(&own_base_state, false);
        autoclose int file = own < 0 ? own : openat(own, NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        ssize_t length = own >= 0 && file < 0 ? -errno : read_paths(file, paths);
        if (length < 0 && length != -ENOENT)
                message("note: hutch cannot read which paths earlier runs could write to: %s",
                        own_directory_explain((int)length));
}

const char *past_grants_find(const struct resolver *resolver, const char *real)
{
        struct held_sources *held = resolver->held;
        const struct str_list *paths = &held->past;
        if (!held->past_is_read)
                read_past(&held->past);
        held->past_is_read = true;
        const char *deepest = NULL;
        for (size_t i = 0; i < paths->count; i++)
                if (path_is_below(real, paths->values[i]) &&
                    (!deepest || strlen(paths->values[i]) > strlen(deepest)))
                        deepest = paths->values[i];
        return deepest;
}

const char *past_grants_find_left(const struct resolver *resolver, const char *link, const char *reached)
{
        const char *past = past_grants_find(resolver, link);
        return past && !path_is_below(reached, past) ? past : NULL;
}

const char *past_grants_find_escape(const struct resolver *resolver, const struct walked *walked)
{
        const char *past = NULL;
        for (size_t i = 0; walked->real && i < walked->links.count && !past; i++)
                past = past_grants_find_left(resolver, walked->links.values[i], walked->real);
        return past;
}

/* Only what the user granted: nothing but sandboxes uses a home of --persist. */
static bool is_kept(const struct mount *mount)
{
        return mount->kind == MOUNT_BIND && mount->writable && mount->origin == ORIGIN_OPTION;
}

static bool any_is_kept(const struct box *box)
{
        size_t i = 0;
        while (i < box->mount_count && !is_kept(&box->mounts[i]))
                i++;
        return i < box->mount_count;
}

void past_grants_keep(int runs, const struct box *box)
{
        autobuf added = {0};
        struct str_list known = {0};
        if (!any_is_kept(box))
                return;
        autoclose int file =
            openat(runs, "../" NAME, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        int error = file < 0 ? -errno : (int)read_paths(file, &known);
        for (size_t i = 0; error >= 0 && i < box->mount_count; i++) {
                const char *source = box->mounts[i].source;
                if (!is_kept(&box->mounts[i]) || str_list_has(&known, source))
                        continue;
                str_list_add(&known, source);
                buf_put(&added, source, strlen(source) + 1);
        }
        str_list_free(&known);
        if (error >= 0 && added.length)
                error = fd_write_all(file, added.bytes, added.length);
        if (error < 0)
                message_verbose("hutch cannot keep that this run may write to its grants: %s",
                                own_directory_explain(error));
}
