/* SPDX-License-Identifier: Apache-2.0
 *
 * See entering.h.
 */
#include "ns/entering.h"

#include "lib/fd.h"

#include <string.h>

void entering_fail(const struct entering *entering, enum stage stage, int error, const char *path)
{
        struct failure failure = {.stage = stage, .error = error};
        if (path)
                memccpy(failure.path, path, 0, sizeof(failure.path) - 1);
        (void)fd_write_all(entering->failure, &failure, sizeof(failure));
        _exit(EXIT_SETUP);
}
