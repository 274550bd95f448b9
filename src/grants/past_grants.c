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

static const struct own_base state = {"XDG_STATE_HOME", ".local/state"};

static int open_file(int flags)
{
        autoclose int own = own_directory_of(&state, (flags & O_CREAT) != 0);
        if (own < 0)
                return fd_take(&own);
        int file = openat(own, "writable", flags | O_NOFOLLOW | O_CLOEXEC, 0600);
        return file < 0 ? -errno : file;
}

/* The known paths, read once. */
static const struct str_list *read_paths(struct held_sources *held)
{
        if (held->past_is_read)
                return &held->past;
        held->past_is_read = true;
        autofree char *text = NULL;
        autoclose int file = open_file(O_RDONLY);
        ssize_t length = file < 0 ? file : fd_read_all(file, MAX_FILE_BYTES, &text);
        for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1)
                str_list_add(&held->past, text + at);
        if (length < 0 && length != -ENOENT)
                message("note: hutch cannot read which paths earlier runs could write to: %s",
                        own_directory_explain((int)length));
        return &held->past;
}

const char *past_grants_find(const struct resolver *resolver, const char *real)
{
        const struct str_list *paths = read_paths(resolver->held);
        const char *deepest = NULL;
        for (size_t i = 0; i < paths->count; i++)
                if (path_is_below(real, paths->values[i]) &&
                    (!deepest || strlen(paths->values[i]) > strlen(deepest)))
                        deepest = paths->values[i];
        return deepest;
}

/* Only what the user granted: nothing but sandboxes uses a home of --persist. */
static bool is_kept(const struct mount *mount)
{
        return mount->kind == MOUNT_BIND && mount->writable && mount->origin == ORIGIN_OPTION;
}

void past_grants_keep(struct held_sources *held, const struct box *box)
{
        autobuf added = {0};
        for (size_t i = 0; i < box->mount_count; i++) {
                const char *source = box->mounts[i].source;
                if (!is_kept(&box->mounts[i]) || str_list_has(read_paths(held), source))
                        continue;
                str_list_add(&held->past, source);
                buf_put(&added, source, strlen(source) + 1);
        }
        if (!added.length)
                return;
        autoclose int file = open_file(O_WRONLY | O_APPEND | O_CREAT);
        int error = file < 0 ? file : fd_write_all(file, added.bytes, added.length);
        if (error < 0)
                message_verbose("hutch cannot keep that this run may write to its grants: %s",
                                own_directory_explain(error));
}
