/* SPDX-License-Identifier: Apache-2.0
 *
 * See terminal.h.
 */
#include "run/terminal.h"

#include <sys/stat.h>
#include <unistd.h>

struct terminal terminal_find(void)
{
        struct terminal terminal = {.descriptor = -1};
        struct stat output, other;
        /* tcgetpgrp() succeeds only for the controlling terminal of this session. */
        if (!isatty(STDOUT_FILENO) || tcgetpgrp(STDOUT_FILENO) < 0 || fstat(STDOUT_FILENO, &output) < 0)
                return terminal;
        terminal.descriptor = STDOUT_FILENO;
        terminal.has_modes = tcgetattr(STDOUT_FILENO, &terminal.modes) == 0;
        for (int i = 0; i < 3; i++)
                terminal.passed[i] = fstat(i, &other) == 0 && other.st_rdev == output.st_rdev && isatty(i);
        return terminal;
}

bool terminal_lend(struct terminal *terminal)
{
        bool foreground = terminal->descriptor >= 0 && tcgetpgrp(terminal->descriptor) == getpgrp();
        terminal->lent |= foreground;
        return foreground;
}

void terminal_restore(const struct terminal *terminal)
{
        if (terminal->has_modes)
                (void)tcsetattr(terminal->descriptor, TCSANOW, &terminal->modes);
}

void terminal_take_back(struct terminal *terminal)
{
        if (terminal->lent)
                (void)tcsetpgrp(terminal->descriptor, getpgrp());
        terminal->lent = false;
}
