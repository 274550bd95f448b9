/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge of a line: whether a line of a server's stdout is meant as a message of the protocol. The
 * supervisor's bridge and hutch-filter both ask it first, so that a tool rule never changes what is a
 * message. It does not parse: whether a message is valid JSON is for the client or hutch-filter to decide. A
 * key spelled with \u escapes, which JSON permits and no SDK writes, is not found.
 */
#ifndef HUTCH_LIB_LINE_H
#define HUTCH_LIB_LINE_H

#include <stddef.h>

/* A longer line is judged by its first bytes, so many. */
enum { LINE_WHOLE_MAX = 64 * 1024 };

enum line_kind {
        LINE_BLANK,
        LINE_MESSAGE,
        LINE_NOISE /* such as a banner or a log line */
};

/* Judges a line of `length` bytes, without its newline. Of a line longer than LINE_WHOLE_MAX, one byte more
 * than that is enough. */
enum line_kind line_judge(const char *line, size_t length);

#endif
