/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines in pieces: which bytes of a server's stdout are lines that lib/line.h judges to be messages. A line
 * of at most LINE_WHOLE_MAX bytes is held until its end is there. It keeps no copy of the bytes.
 */
#ifndef HUTCH_RUN_STDOUT_LINES_H
#define HUTCH_RUN_STDOUT_LINES_H

#include "lib/line.h"

#include <stdbool.h>
#include <stddef.h>

enum stdout_lines_verdict {
        STDOUT_LINES_IGNORE = LINE_BLANK,    /* a blank line, or the rest of a long line of noise */
        STDOUT_LINES_MESSAGE = LINE_MESSAGE, /* pass on unchanged: lines, or a part of a long line */
        STDOUT_LINES_NOISE = LINE_NOISE,     /* a line, or the start of a long line, that is not a message */
        STDOUT_LINES_HOLD                    /* undecided: more bytes or the end are needed */
};

/* The state between two calls. All zero at the start. */
struct stdout_lines {
        enum {
                STDOUT_LINES_AT_START,
                STDOUT_LINES_IN_MESSAGE,
                STDOUT_LINES_IN_NOISE
        } state;         /* the last two: inside a long line */
        size_t searched; /* bytes of the held line that have no newline */
};

/* Judges the bytes at the front of `data`, which begins with the first byte that no verdict has covered.
 * `final`: no bytes follow. *run receives how many bytes the verdict covers; it is 0 only with
 * STDOUT_LINES_HOLD. The caller removes them before the next call. */
enum stdout_lines_verdict stdout_lines_judge(struct stdout_lines *lines, const char *data, size_t length,
                                             bool final, size_t *run);

#endif
