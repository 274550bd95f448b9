/* SPDX-License-Identifier: Apache-2.0
 *
 * See ending.h.
 */
#include "run/ending.h"

#include "lib/err.h"

#include <signal.h>
#include <sys/wait.h>

enum { STATUS_OF_SIGNAL = 128 }; /* what a shell adds to the number of the signal that killed a command */

enum ending ending_judge(const struct ending_facts *facts)
{
        if (facts->limit_reached)
                return ENDING_LIMIT;
        if (facts->unenforced)
                return ENDING_UNENFORCED;
        if (facts->timed_out)
                return ENDING_TIMED_OUT;
        if (facts->stop_signal)
                return ENDING_STOPPED;
        if (facts->exited && WIFEXITED(facts->wait_status))
                return ENDING_EXITED;
        if (facts->abandoned)
                return ENDING_ABANDONED;
        return facts->exited ? ENDING_SIGNALLED : ENDING_KILLED;
}

int ending_status(enum ending ending, const struct ending_facts *facts, int *signal_number)
{
        *signal_number = 0;
        switch (ending) {
        case ENDING_FAILED:
        case ENDING_UNENFORCED:
                return EXIT_SETUP;
        case ENDING_TIMED_OUT:
                return EXIT_TIMED_OUT;
        case ENDING_EXITED:
                return WEXITSTATUS(facts->wait_status);
        case ENDING_ABANDONED: /* the server obeyed hutch's SIGTERM, which is not a failure */
                return 0;
        case ENDING_STOPPED:
                *signal_number = facts->stop_signal;
                break;
        case ENDING_SIGNALLED:
                *signal_number = WTERMSIG(facts->wait_status);
                break;
        case ENDING_LIMIT:
        case ENDING_KILLED:
                *signal_number = SIGKILL;
                break;
        }
        return STATUS_OF_SIGNAL + *signal_number;
}

const char *ending_name(enum ending ending)
{
        static const char *const names[] = {
            [ENDING_FAILED] = "failed",     [ENDING_EXITED] = "exit",     [ENDING_SIGNALLED] = "signal",
            [ENDING_TIMED_OUT] = "timeout", [ENDING_STOPPED] = "stopped", [ENDING_ABANDONED] = "client gone",
            [ENDING_KILLED] = "killed",     [ENDING_LIMIT] = "limit",     [ENDING_UNENFORCED] = "unenforced",
        };
        return names[ending];
}
