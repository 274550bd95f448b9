/* SPDX-License-Identifier: Apache-2.0
 *
 * See conflicts.h. Paths are compared as text: reading options looks at nothing on the host.
 */
#include "options/conflicts.h"

#include "lib/fd.h"

#include <stdlib.h>

/* Drops a repeated grant, and refuses two grants with one destination. */
static bool compare_grants(struct options *options, struct error *error)
{
        const char *cwd = options->directory ? options->directory : "/";
        for (size_t i = 0; i < options->grant_count; i++) {
                struct grant_option *one = &options->grants[i];
                autofree char *path = path_join(cwd, one->path);
                for (size_t j = i + 1; j < options->grant_count;) {
                        struct grant_option *other = &options->grants[j];
                        autofree char *other_path = path_join(cwd, other->path);
                        const char *inside = one->destination ? one->destination : path;
                        const char *other_inside = other->destination ? other->destination : other_path;
                        if (!str_equal(inside, other_inside)) {
                                j++;
                                continue;
                        }
                        if (one->memory != other->memory || one->bytes != other->bytes ||
                            !str_equal(path, other_path))
                                return error_set(error, EXIT_USAGE,
                                                 "two grants have the same destination %s: %s %s and %s %s",
                                                 error_shown(inside), one->option, error_shown(one->path),
                                                 other->option, error_shown(other->path));
                        if (one->writable != other->writable || one->overlay != other->overlay)
                                return error_set(error, EXIT_USAGE, "%s is granted with both %s and %s",
                                                 error_shown(one->path), one->option, other->option);
                        one->optional &= other->optional;
                        free(other->path);
                        free(other->destination);
                        options->grant_count--;
                        memmove(other, other + 1, (options->grant_count - j) * sizeof(*other));
                }
        }
        return true;
}

/* The same for files: one destination has one content. */
static bool compare_files(struct options *options, struct error *error)
{
        for (size_t i = 0; i < options->file_count; i++)
                for (size_t j = i + 1; j < options->file_count; j++)
                        if (str_equal(options->files[i].remote, options->files[j].remote) &&
                            !str_equal(options->files[i].local, options->files[j].local))
                                return error_set(
                                    error, EXIT_USAGE,
                                    "two files have the same destination %s: --file %s and --file %s",
                                    error_shown(options->files[i].remote),
                                    error_shown(options->files[i].local),
                                    error_shown(options->files[j].local));
        return true;
}

bool conflicts_check(struct options *options, struct error *error)
{
        return compare_grants(options, error) && compare_files(options, error);
}
