/* SPDX-License-Identifier: Apache-2.0
 *
 * The line judge: which bytes of a server's stdout can be protocol messages. It looks at the first and the
 * last character of a line that are not blank, and no further: whether the line is valid JSON is the client's
 * business. It only reads memory that it is given and keeps no copy.
 */
#ifndef HUTCH_RUN_STDOUT_LINES_H
#define HUTCH_RUN_STDOUT_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A line of at most this many bytes, its newline not counted, is held until its end has been seen. A longer
 * one is judged by this many bytes of its beginning. */
enum { STDOUT_LINES_HELD_MAX = 64 * 1024 };

enum stdout_lines_verdict {
        STDOUT_LINES_HOLD,    /* nothing can be said before more bytes (or the end) have come */
        STDOUT_LINES_MESSAGE, /* pass these bytes on unchanged: one or many lines, or a part of a long one */
        STDOUT_LINES_NOISE,   /* one line, or the beginning of a long one, that cannot be a message */
        STDOUT_LINES_IGNORE,  /* a blank line, or the rest of a long noisy one: forget these bytes */
};

/* Where the judge stands between two calls. Zero it to begin. */
struct stdout_lines {
        enum {
                STDOUT_LINES_AT_START,
                STDOUT_LINES_IN_MESSAGE,
                STDOUT_LINES_IN_NOISE
        } state;         /* the last two: inside a long line */
        size_t searched; /* bytes of the held line that are known to have no newline */
};

/* Judges the bytes at the front of `data`: the ones that no earlier verdict has covered, and at least those
 * an earlier STDOUT_LINES_HOLD left. `final`: no more will come. *run receives how many bytes the verdict
 * covers (0 only with STDOUT_LINES_HOLD); the caller takes them away before the next call. */
enum stdout_lines_verdict stdout_lines_judge(struct stdout_lines *lines, const char *data, size_t length,
                                             bool final, size_t *run);

#endif
