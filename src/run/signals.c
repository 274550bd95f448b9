/* SPDX-License-Identifier: Apache-2.0
 *
 * See signals.h.
 */
#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

/* Not SIGKILL and SIGSTOP, which cannot be caught, and not the signals of a fault, which are hutch's own. */
static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};

bool signals_open(struct signals *signals, struct error *error)
{
        sigset_t blocked;
        sigemptyset(&blocked);
        for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++) {
                struct sigaction action;
                if (sigaction(forwarded[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
                        sigaddset(&blocked, forwarded[i]);
                else if (forwarded[i] == SIGHUP)
                        signals->ignores_hang_up = true;
        }
        signals->descriptor = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
        if (signals->descriptor < 0)
                return error_set(error, EXIT_SETUP, "cannot watch for signals: %s", strerror(errno));
        sigaddset(&blocked, SIGTTOU); /* it would stop hutch when it takes the terminal back */
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL); /* ignored, it would make the kernel reap children before hutch can */
        return true;
}

bool signals_stop_run(enum box_kind kind, int signal_number)
{
        /* An interpreter or a debugger under `hutch run` may handle these two and go on. */
        if (signal_number == SIGINT || signal_number == SIGQUIT)
                return kind != BOX_RUN;
        return signal_number == SIGTERM || signal_number == SIGHUP;
}
