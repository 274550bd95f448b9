/* SPDX-License-Identifier: Apache-2.0
 *
 * See log_line.h. Texts pass through error_quote(), like everything that hutch prints; after it only two
 * characters have a meaning in JSON.
 */
#include "lib/log_line.h"

#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAIL = 4 }; /* room for the ends of a list, of the object and of the line */

/* Appends all of it, or nothing and returns false. */
static bool put(struct log_line *line, const char *bytes, size_t length)
{
        if (length > LOG_LINE_MAX - TAIL - line->length)
                return false;
        memcpy(line->bytes + line->length, bytes, length);
        line->length += length;
        return true;
}

static bool put_text(struct log_line *line, const char *text, size_t limit)
{
        char shown[LOG_TEXT_MAX + 1], escaped[2 * LOG_TEXT_MAX + 2];
        size_t used = 0;
        error_quote(shown, (limit < LOG_TEXT_MAX ? limit : LOG_TEXT_MAX) + 1, text, strlen(text));
        escaped[used++] = '"';
        for (const char *c = shown; *c; c++) {
                if (*c == '"' || *c == '\\')
                        escaped[used++] = '\\';
                escaped[used++] = *c;
        }
        escaped[used++] = '"';
        return put(line, escaped, used);
}

static bool put_key(struct log_line *line, const char *key)
{
        size_t before = line->length;
        if (put(line, ",\"", 2) && put(line, key, strlen(key)) && put(line, "\":", 2))
                return true;
        line->length = before;
        return false;
}

static void put_time(struct log_line *line)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        log_line_number(line, "time_ms", (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

static void clear(struct log_line *line)
{
        line->length = 0;
        line->in_list = line->ended = false;
}

void log_line_begin(struct log_line *line, const char *event)
{
        clear(line);
        (void)put(line, "{\"event\":", strlen("{\"event\":"));
        (void)put_text(line, event, LOG_TEXT_MAX);
        put_time(line);
}

bool log_line_begin_members(struct log_line *line, const char *members)
{
        enum { ROOM = 128 }; /* for the members that the supervisor adds */
        size_t length = strlen(members);
        for (size_t i = 0; i < length; i++)
                if (members[i] < ' ' || members[i] > '~')
                        return false;
        clear(line);
        if (length == 0 || length > LOG_LINE_MAX - ROOM || !put(line, "{", 1) || !put(line, members, length))
                return false;
        put_time(line);
        return true;
}

void log_line_text(struct log_line *line, const char *key, const char *text, size_t limit)
{
        size_t before = line->length;
        if (!put_key(line, key) || !put_text(line, text, limit))
                line->length = before;
}

void log_line_number(struct log_line *line, const char *key, uint64_t number)
{
        char digits[24];
        size_t before = line->length;
        int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
        if (!put_key(line, key) || !put(line, digits, (size_t)length))
                line->length = before;
}

void log_line_list(struct log_line *line, const char *key)
{
        size_t before = line->length;
        line->in_list = put_key(line, key) && put(line, "[", 1);
        line->first = true;
        if (!line->in_list)
                line->length = before;
}

void log_line_item(struct log_line *line, const char *text, size_t limit)
{
        size_t before = line->length;
        if (!line->in_list)
                return;
        if ((line->first || put(line, ",", 1)) && put_text(line, text, limit))
                line->first = false;
        else
                line->length = before;
}

void log_line_list_end(struct log_line *line)
{
        if (line->in_list)
                line->bytes[line->length++] = ']'; /* TAIL keeps room for it */
        line->in_list = false;
}

int log_line_write(struct log_line *line, int fd)
{
        if (!line->ended) {
                log_line_list_end(line);
                line->bytes[line->length++] = '}';
                line->bytes[line->length++] = '\n';
                line->ended = true;
        }
        ssize_t written;
        do
                written = write(fd, line->bytes, line->length);
        while (written < 0 && errno == EINTR);
        if (written < 0)
                return -errno;
        return (size_t)written == line->length ? (int)written : -EIO;
}
