/* SPDX-License-Identifier: Apache-2.0
 *
 * See homes.h.
 */
#include "lib/homes.h"

#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

enum {
        MAX_PASSWD_BYTES = 16 << 20,
        FIRST_USER = 1000, /* UID_MIN: lower ids are system accounts (login.defs(5)) */
};

static void add_real(struct str_list *list, const char *path)
{
        char *real = path ? realpath(path, NULL) : NULL;
        if (real && real[1] && !str_list_has(list, real))
                str_list_take(list, real);
        else
                free(real);
}

/* Adds the homes that /etc/passwd names: the caller's, and for root those of all users, since root can grant
 * them all. A client may start hutch with another HOME, while the user's keys are in the real one. This reads
 * the file and does not call getpwuid(), which loads the modules of nsswitch.conf into this process and may
 * use the network. Returns the caller's home as the file spells it, which the caller frees, or NULL. */
static char *read_passwd(struct str_list *real)
{
        autofree char *text = NULL;
        char *own = NULL;
        uid_t caller = geteuid();
        if (fd_read_file("/etc/passwd", MAX_PASSWD_BYTES, &text) < 0)
                return NULL;
        /* name:password:uid:gid:comment:home:shell */
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                char *fields[6] = {0};
                for (size_t i = 0; line && i < sizeof(fields) / sizeof(*fields); i++)
                        fields[i] = strsep(&line, ":");
                uint64_t id;
                if (!fields[5] || fields[5][0] != '/' || !str_read_number(fields[2], UINT32_MAX, &id))
                        continue;
                if (id == caller && !own)
                        own = str_copy(fields[5]);
                if (id == caller || (caller == 0 && id >= FIRST_USER))
                        add_real(real, fields[5]);
        }
        return own;
}

const struct caller_homes *caller_homes(void)
{
        static struct caller_homes homes;
        if (homes.spelled)
                return &homes;
        const char *variable = getenv("HOME");
        autofree char *database = read_passwd(&homes.real);
        if (!variable || variable[0] != '/')
                variable = database;
        homes.spelled = variable ? path_join("/", variable) : str_copy("");
        add_real(&homes.real, variable);
        return &homes;
}
