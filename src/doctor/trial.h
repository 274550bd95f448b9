/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that is really started, by the same steps as `hutch mcp`, and ends at once: the only proof that
 * this machine can run one. It grants nothing of the person's but what the command itself names, has no
 * input, and never lets a message or a byte of the command through to the caller's terminal.
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
        TRIAL_OVERLAY, /* --overlay of a directory of the machine's */
};

struct trial {
        bool started;           /* the command was executed inside and ended with status 0 */
        struct failure failure; /* the step that failed; stage STAGE_COUNT when it was none of them */
        struct error error;     /* what `hutch mcp` would say; status 0 when started */
        unsigned milliseconds;  /* from asking for the namespaces to the command's end */
        char path[PATH_MAX];    /* the command as it was found, "" when it was not */
        char line[128];         /* the first line of its standard output */
};

/* Runs `command` and fills *trial. Waits at most ten seconds; nothing of the sandbox is left afterwards. Main
 * thread only. */
void trial_run(const struct str_list *command, enum trial_kind kind, struct trial *trial);

#endif
