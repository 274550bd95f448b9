/* SPDX-License-Identifier: Apache-2.0
 *
 * A step of entering that failed: the record that the sandbox sends to its supervisor, and the sentence that
 * the supervisor makes of it. The sandbox must never write a sentence itself: by then it may see no
 * terminal, no log and no host file that explains the cause.
 */
#ifndef HUTCH_NS_FAILURE_H
#define HUTCH_NS_FAILURE_H

#include "lib/err.h"
#include "ns/diagnose.h"

#include <stdint.h>

/* The steps in their order. failure.c has the words for each. */
enum stage {
        STAGE_NAMESPACES, /* clone3 */
        STAGE_ID_MAP,
        STAGE_MEMORY_FS,
        STAGE_SOURCE,  /* opening a granted path */
        STAGE_SWAPPED, /* a source is not the object that was judged */
        STAGE_MOUNT_POINT,
        STAGE_OVERLAY,
        STAGE_MOUNT,
        STAGE_PROC,
        STAGE_PROC_MASK,
        STAGE_DEVICES,
        STAGE_NETWORK,
        STAGE_HOST_NAME,
        STAGE_BUDGET,
        STAGE_ROOT, /* pivot_root, and unmounting the old root */
        STAGE_LIMIT,
        STAGE_CAPABILITIES,
        STAGE_STDIO,
        STAGE_FILE_READ,  /* reading a file of --file */
        STAGE_FILE_PLACE, /* writing it at its destination */
        STAGE_CWD,
        STAGE_LANDLOCK,
        STAGE_SECCOMP,
        STAGE_FORK,
        STAGE_EXEC,
        STAGE_COUNT
};

/* One message on the failure pipe. It is smaller than PIPE_BUF, so it arrives whole or not at all. */
struct failure {
        uint32_t stage;
        int32_t error;   /* positive errno */
        char path[1024]; /* cut when longer; "" when the step has no path */
};

/* The name of a step for programs, and the step of a name; STAGE_COUNT: there is none. */
const char *failure_stage_name(enum stage stage);
enum stage failure_find_stage(const char *name);

/* Fills *error with one sentence (which step, why, what to do) and the exit status. Looks at the machine for
 * the cause. */
void failure_explain(const struct failure *failure, struct error *error);

/* Fills *reason with the setting of this machine that made the step fail. False when none of them did. */
bool failure_diagnose(const struct failure *failure, const struct machine *machine, struct reason *reason);

#endif
