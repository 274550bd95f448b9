/* SPDX-License-Identifier: Apache-2.0
 *
 * See program.h.
 */
#include "lib/program.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <limits.h>
#include <unistd.h>

char *program_find(const char *name)
{
        char self[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
        if (length > 0) {
                self[length] = 0;
                autofree char *folder = path_parent(self);
                char *beside = path_join(folder, name);
                if (access(beside, X_OK) == 0)
                        return beside;
                free(beside);
        }
        char *installed = str_format("%s/%s", HUTCH_LIBEXECDIR, name);
        if (access(installed, X_OK) == 0)
                return installed;
        free(installed);
        return NULL;
}
