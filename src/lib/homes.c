/* SPDX-License-Identifier: Apache-2.0
 *
 * See homes.h.
 */
#include "lib/homes.h"

#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

enum {
        MOST_PASSWD_BYTES = 16 << 20,
        FIRST_PERSON = 1000, /* lower ids are the accounts of the system (login.defs(5)) */
};

static void add_real(struct str_list *list, const char *path)
{
        char *real = path ? realpath(path, NULL) : NULL;
        if (real && real[1] && !str_list_has(list, real))
                str_list_take(list, real);
        else
                free(real);
}

/* Adds the homes that /etc/passwd names: the caller's, and for root everybody's, since root can grant them
 * all. A client may start hutch with a HOME of its own making, and the person's keys are in the real one. The
 * file itself, not getpwuid(): that loads what nsswitch.conf names into this process and may ask the network.
 * Returns the caller's as it is spelled there, which the caller frees, or NULL. */
static char *read_passwd(struct str_list *real)
{
        autofree char *text = NULL;
        char *own = NULL;
        uid_t caller = geteuid();
        if (fd_read_file("/etc/passwd", MOST_PASSWD_BYTES, &text) < 0)
                return NULL;
        /* name:password:uid:gid:comment:home:shell */
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                char *fields[6] = {0};
                for (size_t i = 0; line && i < sizeof(fields) / sizeof(*fields); i++)
                        fields[i] = strsep(&line, ":");
                if (!fields[5] || fields[5][0] != '/')
                        continue;
                unsigned long id = strtoul(fields[2], NULL, 10);
                if (id == caller && !own)
                        own = str_copy(fields[5]);
                if (id == caller || (caller == 0 && id >= FIRST_PERSON))
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
