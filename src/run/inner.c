/* SPDX-License-Identifier: Apache-2.0
 *
 * See inner.h.
 *
 * The lines come from the user's own hutch, through a pipe that nothing else has. They are read with cJSON
 * all the same, and an event or a member that is not known is skipped, as the manual asks of every reader.
 * The output of the command is hostile: it is kept, at most INNER_KEPT bytes of it, and never looked into
 * here.
 */
#include "run/inner.h"

#include "lib/fd.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

bool inner_start(struct inner *inner, const struct str_list *words, struct error *error)
{
        int pipes[4][2], given[CHILD_GIVEN_MAX] = {0};
        struct child child = inner->child;
        struct str_list all = {0};
        bool made = true;
        inner->lines = inner->output[0].pipe = inner->output[1].pipe = -1;
        inner->failure.stage = STAGE_COUNT;
        for (int i = 0; i < 4; i++)
                made &= pipe2(pipes[i], O_CLOEXEC) == 0;
        if (!made) /* the rest ends with this process */
                return error_set(error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
        for (size_t i = 0; i < words->count; i++) {
                if (str_equal(words->values[i], "--") && all.count == i)
                        str_list_take(&all, str_format("--status-fd=%d", INNER_STATUS));
                str_list_add(&all, words->values[i]);
        }
        if (child.given)
                memcpy(given, child.given, child.given_count * sizeof(*given));
        else /* no input: /dev/null may be one that cannot be opened */
                given[0] = pipes[0][0];
        close(pipes[0][1]);
        for (unsigned i = 0; i < inner->keeps; i++) {
                inner->output[i].pipe = fd_take(&pipes[1 + i][0]);
                given[1] = i == 0 ? pipes[1][1] : given[1];
                given[2] = pipes[1 + i][1];
        }
        inner->lines = fd_take(&pipes[INNER_STATUS][0]);
        given[INNER_STATUS] = pipes[INNER_STATUS][1];
        child.given_count = child.given ? child.given_count : INNER_STATUS + 1;
        child.given = given;
        child.environment = child.environment ? child.environment : environ;
        child.words = all.values;
        inner->process = child_start(&child);
        for (int i = 0; i < 4; i++) {
                fd_autoclose(&pipes[i][0]);
                if (i > 0)
                        close(pipes[i][1]);
        }
        str_list_free(&all);
        return inner->process > 0 ||
               error_set(error, EXIT_SETUP, "cannot start a process: %s", strerror(errno));
}

static const char *text_of(const cJSON *line, const char *key)
{
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));
        return text ? text : "";
}

static int number_of(const cJSON *line, const char *key)
{
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(line, key);
        return cJSON_IsNumber(number) ? number->valueint : 0;
}

static enum limit_mechanism mechanism_of(const cJSON *line, const char *key)
{
        enum limit_mechanism mechanism = 0;
        while (mechanism < LIMIT_MECHANISMS - 1 &&
               !str_equal(limit_mechanism_name(mechanism), text_of(line, key)))
                mechanism++;
        return mechanism;
}

static void take_note(struct inner *inner, const cJSON *line)
{
        const char *option = text_of(line, "option");
        enum message_kind kind = MESSAGE_NOTE;
        while (kind < MESSAGE_KINDS && !str_equal(message_kind_name(kind), text_of(line, "kind")))
                kind++;
        if (kind == MESSAGE_ERROR)
                error_set(&inner->error, EXIT_SETUP, "%s", text_of(line, "text"));
        else if (inner->note)
                inner->note(kind < MESSAGE_KINDS ? kind : MESSAGE_NOTE, option[0] ? option : NULL,
                            text_of(line, "text"));
}

static void take_line(struct inner *inner, const char *text, size_t length)
{
        cJSON *line = cJSON_ParseWithLength(text, length);
        const char *event = text_of(line, "event");
        if (str_equal(event, "note")) {
                take_note(inner, line);
        } else if (str_equal(event, "chosen")) {
                /* What was read back at the start, which is not always what was chosen before it. */
                inner->limits.memory = mechanism_of(line, "memory_by");
                inner->limits.processes = mechanism_of(line, "pids_by");
                inner->limits.processors = mechanism_of(line, "cpu_hundredths_by");
        } else if (str_equal(event, "started")) {
                inner->started = true;
        } else if (str_equal(event, "ended")) {
                inner->ended = true;
                inner->timed_out = number_of(line, "timeout") > 0;
                inner->signal_number = number_of(line, "signal");
                inner->failure.stage = failure_find_stage(text_of(line, "stage"));
                inner->failure.error = number_of(line, "errno");
                const char *path = text_of(line, "path");
                (void)memccpy(inner->failure.path, path, 0, sizeof(inner->failure.path) - 1);
        }
        cJSON_Delete(line);
}

/* One read, for which poll() has reported something, so it does not block. */
static void read_lines(struct inner *inner)
{
        ssize_t got = read(inner->lines, inner->line + inner->length, sizeof(inner->line) - inner->length);
        if (got < 0 && errno == EINTR)
                return;
        if (got <= 0) {
                fd_close(&inner->lines);
                return;
        }
        char *start = inner->line, *end = start + inner->length + got, *newline;
        while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
                take_line(inner, start, (size_t)(newline - start));
                start = newline + 1;
        }
        inner->length = (size_t)(end - start);
        memmove(inner->line, start, inner->length);
        if (inner->length == sizeof(inner->line)) /* no line of hutch is so long */
                fd_close(&inner->lines);
}

/* Keeps the last bytes, or the first. */
static void read_output(const struct inner *inner, struct inner_output *output)
{
        char data[4096];
        ssize_t got = read(output->pipe, data, sizeof(data));
        if (got <= 0) {
                if (got == 0 || errno != EINTR)
                        fd_close(&output->pipe);
                return;
        }
        if (inner->repeats)
                (void)fd_write_all(STDERR_FILENO, data, (size_t)got);
        size_t length = (size_t)got, room = INNER_KEPT - output->length;
        if (inner->keeps_last && length > room) {
                output->length -= length - room;
                memmove(output->data, output->data + length - room, output->length);
        } else if (length > room) {
                length = room;
        }
        memcpy(output->data + output->length, data, length);
        output->length += length;
}

static bool is_open(const struct inner *inner)
{
        return inner->lines >= 0 || inner->output[0].pipe >= 0 || inner->output[1].pipe >= 0;
}

bool inner_wait(struct inner *inner, struct pollfd *others, size_t count, int timeout_ms)
{
        enum { OWN = 3, OTHERS_MAX = 2 };
        struct pollfd polls[OWN + OTHERS_MAX] = {{inner->lines, POLLIN, 0},
                                                 {inner->output[0].pipe, POLLIN, 0},
                                                 {inner->output[1].pipe, POLLIN, 0}};
        if (count == 0 && !is_open(inner))
                return false;
        for (size_t i = 0; i < count; i++)
                polls[OWN + i] = others[i];
        if (poll(polls, OWN + count, timeout_ms) <= 0)
                for (size_t i = 0; i < OWN + count; i++)
                        polls[i].revents = 0;
        if (polls[0].revents)
                read_lines(inner);
        for (size_t i = 0; i < 2; i++)
                if (polls[1 + i].revents)
                        read_output(inner, &inner->output[i]);
        for (size_t i = 0; i < count; i++)
                others[i].revents = polls[OWN + i].revents;
        return is_open(inner);
}

bool inner_end(struct inner *inner)
{
        bool was_started = inner->process > 0;
        int status = child_wait(&inner->process);
        struct pollfd rest = {.fd = inner->lines, .events = POLLIN};
        while (inner->lines >= 0 && poll(&rest, 1, 0) > 0)
                read_lines(inner);
        fd_close(&inner->lines);
        for (size_t i = 0; i < 2 && was_started; i++)
                fd_close(&inner->output[i].pipe);
        inner->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (was_started && !inner->ended)
                error_set(&inner->error, EXIT_SETUP, "hutch ended early, with status %d", inner->status);
        return was_started && inner->ended && !inner->error.status && inner->status == 0;
}
