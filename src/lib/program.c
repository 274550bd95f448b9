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

char *program_self(void)
{
        /* The link's text is a real path; realpath() would read every component of it again. */
        char self[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
        return str_copy_n(self, length > 0 ? (size_t)length : 0);
}

char *program_find(const char *name)
{
        autofree char *self = program_self();
        autofree char *directory = path_parent(self);
        autofree char *beside = str_format("%s/%s", directory, name);
        autofree char *installed = str_format("%s/../libexec/hutch/%s", directory, name);
        autofree char *configured = str_format("%s/%s", HUTCH_LIBEXECDIR, name);
        autofree char *above = str_format("%s/../../bin/%s", directory, name);
        /* Only hutch itself is looked for in bin: two directories above ~/.local/bin is a ~/bin that a
         * sandbox may have been granted, and a helper there would not be one of hutch's. From libexec/hutch,
         * where the program that looks for hutch is, bin belongs to the same installation. */
        static const char in_bin[] = HUTCH_BINDIR "/hutch";
        const char *const candidates[] = {beside, installed, configured, above, in_bin};
        for (size_t i = 0; i < (str_equal(name, "hutch") ? 5 : 3); i++)
                if (access(candidates[i], X_OK) == 0)
                        return realpath(candidates[i], NULL);
        return NULL;
}
