/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a log: one JSON object in one line, whatever the values are. A value can neither end the record
 * nor begin another: it is made printable first. Each line is written by one call, so that lines of several
 * writers of a file opened for appending never mix. Nothing here allocates or asks the system for more than
 * the clock and write(): it serves under the supervisor's filter.
 */
#ifndef HUTCH_LIB_LOG_LINE_H
#define HUTCH_LIB_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_MAX = 4096, LOG_TEXT_MAX = 1024 };

/* A line that is being made; log_line_begin() fills it. What no longer fits is left out whole. */
struct log_line {
        size_t length;
        bool in_list, first, ended;
        char bytes[LOG_LINE_MAX];
};

/* {"event":EVENT,"time_ms":…: milliseconds since 1970. `event` is a plain word. */
void log_line_begin(struct log_line *line, const char *event);
/* The same with the members of an object that another program of hutch's has made, its event among them.
 * False when a byte of them is not printable ASCII, or they are too many: it may have been taken over. */
bool log_line_begin_members(struct log_line *line, const char *members);

/* Keys are plain words. Of a text at most `limit` (up to LOG_TEXT_MAX) printable bytes are kept. */
void log_line_text(struct log_line *line, const char *key, const char *text, size_t limit);
void log_line_number(struct log_line *line, const char *key, uint64_t number);

/* A list of texts: begin, items, end. */
void log_line_list(struct log_line *line, const char *key);
void log_line_item(struct log_line *line, const char *text, size_t limit);
void log_line_list_end(struct log_line *line);

/* Ends the record and writes it; once more writes it to another file. Bytes written, or a negative errno;
 * -EIO when only a part was taken. */
int log_line_write(struct log_line *line, int fd);

#endif
