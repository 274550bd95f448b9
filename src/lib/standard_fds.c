/* SPDX-License-Identifier: Apache-2.0
 *
 * See standard_fds.h.
 */
#include "lib/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool standard_fds_settle(int kept, struct error *error)
{
        unsigned first = 3;
        for (int i = 0; i < 3; i++)
                if (fcntl(i, F_GETFD) < 0 && open("/dev/null", O_RDWR) != i)
                        return error_set(error, EXIT_SETUP, "cannot open /dev/null: %s", strerror(errno));
        if (kept >= 3) {
                /* It keeps its number, which the user chose, so that no reopened descriptor can differ from
                 * it. */
                if (fcntl(kept, F_SETFD, FD_CLOEXEC) < 0 ||
                    (kept > 3 && syscall(SYS_close_range, first, (unsigned)kept - 1, 0) < 0))
                        return error_set(error, EXIT_SETUP, "cannot keep the descriptor %d: %s", kept,
                                         strerror(errno));
                first = (unsigned)kept + 1;
        }
        if (syscall(SYS_close_range, first, ~0U, 0) < 0)
                return error_set(error, EXIT_SETUP,
                                 "cannot close the caller's descriptors (close_range): %s; hutch needs Linux "
                                 "5.14 or newer",
                                 strerror(errno));
        return true;
}
