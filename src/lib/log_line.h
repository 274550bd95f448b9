/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a log, each one JSON object on one line. Every value is made printable first, so it can neither
 * end the record nor begin another. Each line is written by one call, so lines of several writers of a file
 * opened for appending never mix. The functions need only memory, the clock and write(), because they run
 * under the supervisor's filter.
 */
#ifndef HUTCH_LIB_LOG_LINE_H
#define HUTCH_LIB_LOG_LINE_H

#include "lib/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_MAX = 4096, LOG_TEXT_MAX = 1024 };

/* A line in the making, which serves again after each begin. A member that does not fit is left out whole.
 * Initialize with zeros. */
struct log_line {
        struct buf text;
        struct json json;
        bool ended;
};
void log_line_free(struct log_line *line);
/* Releases at the end of the scope. */
#define autoline __attribute__((cleanup(log_line_free))) struct log_line

/* Begins with {"event":EVENT,"time_ms":NOW, in milliseconds since 1970. `event` is a plain word. */
void log_line_begin(struct log_line *line, const char *event);
/* Begins with the members of an object that a helper program has made, its event among them. The helper may
 * have been taken over: false when a byte is not printable ASCII, or when there are too many. */
bool log_line_begin_members(struct log_line *line, const char *members);

/* Keys are plain words. Keeps at most `limit` (up to LOG_TEXT_MAX) printable bytes of a text. */
void log_line_text(struct log_line *line, const char *key, const char *text, size_t limit);
void log_line_number(struct log_line *line, const char *key, uint64_t number);

/* A list with as many of the texts as fit. */
void log_line_list(struct log_line *line, const char *key, const struct str_list *list, size_t limit);

/* Ends the record: `text` is then a whole line. */
void log_line_finish(struct log_line *line);

/* Ends the record and writes it. A second call writes it to another file. Returns the bytes written, or a
 * negative errno; -EIO when only a part was written. */
int log_line_write(struct log_line *line, int fd);

#endif
