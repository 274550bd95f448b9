/* SPDX-License-Identifier: Apache-2.0
 *
 * See installations.h.
 */
#include "command/installations.h"

#include "command/directories.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <stdlib.h>

struct installation {
        const char *variable; /* of the caller: `path` is below what it names */
        const char *path;     /* absolute, or below the home; a * is one component */
        const char *shows;    /* entries with blanks between them, or "." */
};

#include "installations-table.h"

/* The part of `real` that matches the row's place, or NULL. The caller frees. */
static char *match_place(const struct resolver *resolver, const struct installation *row, const char *real)
{
        const char *base = row->variable ? getenv(row->variable) : row->path[0] == '/' ? "/" : resolver->home;
        if (!base || base[0] != '/')
                return NULL;
        /* A manager's directory may be a link of the user. Below it, a link does not count. */
        autofree char *plain = str_copy_n(row->path, strcspn(row->path, "*"));
        autofree char *joined = path_join(base, plain);
        const char *start = path_walk_real(resolver_walker(resolver), joined);
        if (!start || !path_is_below(real, start))
                return NULL;
        const char *rest = real + strlen(start), *pattern = row->path + strlen(plain);
        while (*pattern) {
                size_t length = strcspn(pattern, "/"), found = strcspn(rest + (*rest == '/'), "/");
                if (*rest++ != '/' || !found ||
                    (*pattern != '*' && (length != found || memcmp(pattern, rest, length) != 0)))
                        return NULL;
                rest += found;
                pattern += length + (pattern[length] == '/');
        }
        return str_copy_n(real, (size_t)(rest - real));
}

/* The installation in `root` shows `real`. Adds what it shows to `grants`, unless that is NULL. */
static bool shows(const struct resolver *resolver, const struct installation *row, const char *root,
                  const char *real, const char *why, struct grant_list *grants)
{
        bool found = false;
        autofree char *words = str_copy(row->shows);
        char *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
                autofree char *place = path_join(root, word);
                const struct walked *walked = path_walk(resolver_walker(resolver), place);
                /* lib64 is a link to lib in some of them; one that leads out shows nothing. */
                if (!walked->real || !path_is_below(walked->real, root) ||
                    (S_ISDIR(walked->status.st_mode) && !directory_is_own(resolver, place)))
                        continue;
                found |= path_is_below(real, place);
                if (grants)
                        grant_list_add(grants, place, why);
        }
        return found;
}

bool installation_add(const struct resolver *resolver, const char *real, const char *why,
                      struct grant_list *grants)
{
        for (size_t i = 0; i < sizeof(installations) / sizeof(*installations); i++) {
                const struct installation *row = &installations[i];
                autofree char *root = match_place(resolver, row, real);
                if (!root || !shows(resolver, row, root, real, why, NULL))
                        continue;
                if (grants)
                        (void)shows(resolver, row, root, real, why, grants);
                return true;
        }
        return false;
}
