/* SPDX-License-Identifier: Apache-2.0
 *
 * See machine_rig.h.
 */
#include "machine_rig.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit.h"

char machine_directory[64];

void machine_make_file(const char *name, const char *content)
{
        autofree char *path = str_format("%s%s", machine_directory, name);
        for (char *slash = path + strlen(machine_directory) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = 0;
                (void)mkdir(path, 0755);
                *slash = '/';
        }
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
        (void)status, (void)type, (void)where;
        return remove(path);
}

int machine_set_up(void **state)
{
        (void)state;
        snprintf(machine_directory, sizeof(machine_directory), "/tmp/hutch-machine-XXXXXX");
        return mkdtemp(machine_directory) ? 0 : -1;
}

int machine_tear_down(void **state)
{
        (void)state;
        return nftw(machine_directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
