/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that is really started, by the same steps as `hutch mcp`, and ends at once: the only proof that
 * this machine can run one. It grants nothing of the user's except what the command itself needs, has no
 * input, and never passes a message or a byte of the command to the caller's terminal.
 */
#ifndef HUTCH_DOCTOR_TRIAL_H
#define HUTCH_DOCTOR_TRIAL_H

#include "lib/err.h"
#include "lib/str.h"
#include "ns/failure.h"

#include <limits.h>
#include <stdbool.h>

enum trial_kind {
        TRIAL_PLAIN,
        TRIAL_NO_PROC, /* --proc none */
        TRIAL_OVERLAY, /* --overlay of a directory of the machine */
};

struct trial {
        bool started;           /* the command was executed inside and exited with status 0 */
        struct failure failure; /* the step that failed; stage STAGE_COUNT if none of them did */
        struct error error;     /* what `hutch mcp` would report; status 0 if started */
        unsigned milliseconds;  /* from cloning to the end of the command */
        char path[PATH_MAX];    /* the command as found, or "" */
        char line[128];         /* the first line of its standard output */
};

/* Runs `command` and fills in *trial. Takes at most ten seconds, and leaves nothing of the sandbox behind.
 * Main thread only. */
void trial_run(const struct str_list *command, enum trial_kind kind, struct trial *trial);

#endif
