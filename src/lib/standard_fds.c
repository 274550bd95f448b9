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

bool standard_fds_settle(struct error *error)
{
        for (int i = 0; i < 3; i++)
                if (fcntl(i, F_GETFD) < 0 && open("/dev/null", O_RDWR) != i)
                        return error_set(error, EXIT_SETUP, "cannot open /dev/null: %s", strerror(errno));
        if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
                return error_set(error, EXIT_SETUP,
                                 "cannot close the caller's descriptors (close_range): %s; hutch needs Linux "
                                 "5.14 or newer",
                                 strerror(errno));
        return true;
}
