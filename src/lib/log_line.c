/* SPDX-License-Identifier: Apache-2.0
 *
 * See log_line.h. Texts pass through error_quote(), like everything that hutch prints.
 */
#include "lib/log_line.h"

#include "lib/err.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAIL = 4 }; /* room for the ends of a list, of the object and of the line */

/* Goes back to the state before the last value if the record is too long with it. */
static void keep_if_it_fits(struct log_line *line, size_t length, struct json before)
{
        if (line->text.length <= LOG_LINE_MAX - TAIL)
                return;
        line->text.length = length;
        line->json = before;
}

static void put_time(struct log_line *line)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        log_line_number(line, "time_ms", (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

static void begin(struct log_line *line)
{
        buf_clear(&line->text);
        line->json = (struct json){.out = &line->text};
        line->ended = false;
        json_open(&line->json, NULL, '{');
}

void log_line_begin(struct log_line *line, const char *event)
{
        begin(line);
        json_text(&line->json, "event", event);
        put_time(line);
}

bool log_line_begin_members(struct log_line *line, const char *members)
{
        enum { ROOM = 128 }; /* for the members that the supervisor adds */
        size_t length = strlen(members);
        for (size_t i = 0; i < length; i++)
                if (members[i] < ' ' || members[i] > '~')
                        return false;
        if (length == 0 || length > LOG_LINE_MAX - ROOM)
                return false;
        begin(line);
        json_raw(&line->json, NULL, members, length);
        put_time(line);
        return true;
}

void log_line_text(struct log_line *line, const char *key, const char *text, size_t limit)
{
        struct json before = line->json;
        size_t length = line->text.length;
        char shown[LOG_TEXT_MAX + 1];
        error_quote(shown, (limit < LOG_TEXT_MAX ? limit : LOG_TEXT_MAX) + 1, text, strlen(text));
        json_text(&line->json, key, shown);
        keep_if_it_fits(line, length, before);
}

void log_line_number(struct log_line *line, const char *key, uint64_t number)
{
        struct json before = line->json;
        size_t length = line->text.length;
        json_number(&line->json, key, number);
        keep_if_it_fits(line, length, before);
}

void log_line_list(struct log_line *line, const char *key, const struct str_list *list, size_t limit)
{
        struct json before = line->json;
        size_t length = line->text.length;
        json_open(&line->json, key, '[');
        keep_if_it_fits(line, length, before);
        if (line->json.depth == before.depth)
                return;
        for (size_t i = 0; i < list->count; i++)
                log_line_text(line, NULL, list->values[i], limit);
        json_close(&line->json, "]"); /* TAIL keeps room for it */
}

void log_line_free(struct log_line *line)
{
        buf_free(&line->text);
}

void log_line_finish(struct log_line *line)
{
        if (line->ended)
                return;
        json_close(&line->json, "}");
        buf_put_text(&line->text, "\n");
        line->ended = true;
}

int log_line_write(struct log_line *line, int fd)
{
        log_line_finish(line);
        ssize_t written;
        do
                written = write(fd, line->text.bytes, line->text.length);
        while (written < 0 && errno == EINTR);
        if (written < 0)
                return -errno;
        return (size_t)written == line->text.length ? (int)written : -EIO;
}
