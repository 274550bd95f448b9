/* SPDX-License-Identifier: Apache-2.0
 *
 * See program.h.
 */
#include "lib/program.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

char *program_find(const char *name)
{
        char self[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
        self[length > 0 ? length : 0] = 0;
        autofree char *directory = path_parent(self);
        autofree char *beside = str_format("%s/%s", directory, name);
        autofree char *installed = str_format("%s/../libexec/hutch/%s", directory, name);
        autofree char *configured = str_format("%s/%s", HUTCH_LIBEXECDIR, name);
        const char *const candidates[] = {beside, installed, configured};
        for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++)
                if (access(candidates[i], X_OK) == 0)
                        return realpath(candidates[i], NULL);
        return NULL;
}
