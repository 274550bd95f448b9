/* SPDX-License-Identifier: Apache-2.0
 *
 * See grant_list.h.
 */
#include "command/grant_list.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <stdlib.h>

static void append(struct grant_list *list, struct program_grant grant)
{
        *array_add(list->values, list->count) = grant;
}

void grant_list_add(struct grant_list *list, const char *path, const char *why)
{
        append(list, (struct program_grant){.path = str_copy(path), .why = str_copy(why)});
}

void grant_list_add_link(struct grant_list *list, const char *path, const char *text, const char *why)
{
        append(list,
               (struct program_grant){.path = str_copy(path), .link = str_copy(text), .why = str_copy(why)});
}

static void free_grant(struct program_grant *grant)
{
        free(grant->path);
        free(grant->link);
        free(grant->why);
}

/* True when the directory of `other` holds `grant`, both by its spelling and by its real path: a link on the
 * way may leave the directory. */
static bool covers(struct walker *walker, const struct program_grant *other,
                   const struct program_grant *grant)
{
        if (str_equal(grant->path, other->path))
                return true;
        if (other->link || !path_is_below(grant->path, other->path))
                return false;
        /* A granted link is an entry of its parent directory, wherever the link leads. */
        autofree char *place = grant->link ? path_parent(grant->path) : str_copy(grant->path);
        const char *real_place = path_walk_real(walker, place);
        const char *real_other = path_walk_real(walker, other->path);
        return real_place && real_other && path_is_below(real_place, real_other);
}

void grant_list_drop_covered(struct grant_list *list, struct walker *walker)
{
        size_t kept = 0;
        for (size_t i = 0; i < list->count; i++) {
                struct program_grant grant = list->values[i];
                bool covered = false;
                for (size_t j = 0; j < kept && !covered; j++)
                        covered = covers(walker, &list->values[j], &grant);
                for (size_t j = i + 1; j < list->count && !covered; j++)
                        covered = covers(walker, &list->values[j], &grant) &&
                                  !str_equal(list->values[j].path, grant.path);
                if (covered)
                        free_grant(&grant);
                else
                        list->values[kept++] = grant;
        }
        list->count = kept;
}

void grant_list_free(struct grant_list *list)
{
        for (size_t i = 0; i < list->count; i++)
                free_grant(&list->values[i]);
        free(list->values);
        *list = (struct grant_list){0};
}
