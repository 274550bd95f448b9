/* SPDX-License-Identifier: Apache-2.0
 *
 * See entering.h.
 */
#include "ns/entering.h"

#include "lib/fd.h"

#include <errno.h>
#include <string.h>

void entering_fail(const struct entering *entering, enum stage stage, int error, const char *path)
{
        struct failure failure = {.stage = stage, .error = error};
        if (path)
                memccpy(failure.path, path, 0, sizeof(failure.path) - 1);
        (void)fd_write_all(entering->failure, &failure, sizeof(failure));
        _exit(EXIT_SETUP);
}

int entering_check(const struct entering *entering, enum stage stage, const char *path, long result)
{
        if (result < 0)
                entering_fail(entering, stage, errno, path);
        return (int)result;
}
