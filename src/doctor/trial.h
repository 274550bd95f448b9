/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that is really started, with `hutch mcp`, and ends at once: the only proof that this machine can
 * run one. It grants nothing of the user's except what the command itself needs, has no input, and never
 * passes a message or a byte of the command to the caller's terminal.
 */
#ifndef HUTCH_DOCTOR_TRIAL_H
#define HUTCH_DOCTOR_TRIAL_H

#include "lib/err.h"
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
        unsigned milliseconds;  /* from the start of hutch to its end */
        char path[PATH_MAX];    /* the command */
        char line[128];         /* the first line of its standard output */
};

/* Runs `command`, which was found at `path`, with an argument or NULL, and fills in *trial. Takes little more
 * than ten seconds, and leaves nothing of the sandbox behind. */
void trial_run(struct trial *trial, enum trial_kind kind, const char *command, const char *path,
               const char *argument);

#endif
