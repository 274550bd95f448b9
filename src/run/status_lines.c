/* SPDX-License-Identifier: Apache-2.0
 *
 * See status_lines.h.
 *
 * Theory of operation. The descriptor belongs to whoever started hutch and may be shared, so its flags stay
 * as they are: endpoint.h writes without blocking. A line has at most 4096 bytes, PIPE_BUF, so that a pipe
 * takes it whole or not at all. Other kinds of descriptors may take a part; then the rest is kept and goes
 * first, and new lines are dropped meanwhile, because a reader must never see two lines in one. The last
 * line alone is worth a moment's wait: the sandbox is over by then.
 *
 * The lines begin with the first option that is read and end with the process. Nobody but hutch writes them:
 * the sandbox closes its copies first thing (ns/launch.c), and the helpers get no descriptor that is not
 * given to them (lib/child.h).
 */
#include "run/status_lines.h"

#include "lib/endpoint.h"
#include "lib/log_line.h"
#include "lib/messages.h"
#include "ns/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

enum { LAST_WAIT_MS = 1000 };

static struct {
        struct endpoint out;
        struct log_line line; /* the last one; of it, `sent` bytes are written */
        size_t sent;
        unsigned dropped;
} status = {.out = {.fd = -1, .io = -1}};

/* Writes what is left of the last line. False while a part of it is left. */
static bool flush(void)
{
        while (status.out.fd >= 0 && status.sent < status.line.text.length) {
                ssize_t put = endpoint_write(&status.out, status.line.text.bytes + status.sent,
                                             status.line.text.length - status.sent);
                if (put == -EAGAIN)
                        return false;
                if (put < 0) /* the reader has gone */
                        endpoint_close(&status.out);
                status.sent += put > 0 ? (size_t)put : 0;
        }
        return true;
}

/* Begins a line, or counts one that has no room. */
static struct log_line *begin(const char *event)
{
        if (status.out.fd < 0)
                return NULL;
        if (!flush()) {
                status.dropped++;
                return NULL;
        }
        log_line_begin(&status.line, event);
        if (status.dropped)
                log_line_number(&status.line, "dropped", status.dropped);
        return &status.line;
}

static void end(struct log_line *line)
{
        log_line_finish(line);
        status.sent = 0;
        if (flush() || status.sent > 0) {
                status.dropped = 0;
                return;
        }
        status.sent = line->text.length; /* nothing of it is written */
        status.dropped++;
}

static void tell(enum message_kind kind, const char *option, const char *text)
{
        struct log_line *line = begin("note");
        if (!line)
                return;
        log_line_text(line, "kind", message_kind_name(kind), LOG_TEXT_MAX);
        if (option)
                log_line_text(line, "option", option, LOG_TEXT_MAX);
        log_line_text(line, "text", text, LOG_TEXT_MAX);
        end(line);
}

void status_lines_begin(int fd)
{
        if (fd == 0)
                return;
        signal(SIGPIPE, SIG_IGN);
        endpoint_open(&status.out, fd, O_WRONLY);
        messages_tell(tell);
}

void status_lines_descriptors(int descriptors[2])
{
        bool private = status.out.io != status.out.fd;
        descriptors[0] = status.out.fd;
        descriptors[1] = private ? status.out.io : -1;
}

static void put_limit(struct log_line *line, const char *key, uint64_t value, enum limit_mechanism mechanism)
{
        char by[32];
        snprintf(by, sizeof(by), "%s_by", key);
        if (value)
                log_line_number(line, key, value);
        log_line_text(line, by, limit_mechanism_name(mechanism), LOG_TEXT_MAX);
}

void status_lines_chosen(const struct box *box, const struct limits *limits)
{
        /* A list of str.h, whose strings stay here. */
        char *layers[] = {(char *)"namespaces", (char *)"mounts", (char *)"capabilities", (char *)"seccomp",
                          (char *)"landlock"};
        struct str_list list = {layers, sizeof(layers) / sizeof(*layers)};
        const char *why;
        struct log_line *line = begin("chosen");
        if (!line)
                return;
        log_line_text(line, "isolation", "namespaces", LOG_TEXT_MAX);
        put_limit(line, "memory", limits->memory_bytes, limits->memory);
        put_limit(line, "pids", limits->pids, limits->processes);
        put_limit(line, "cpu_hundredths", limits->cpus, limits->processors);
        log_line_number(line, "disk", box->memory_fs_bytes);
        list.count -= !landlock_guards_files(box, landlock_abi(), &why);
        log_line_list(line, "layers", &list, LOG_TEXT_MAX);
        end(line);
}

void status_lines_started(pid_t process)
{
        struct log_line *line = begin("started");
        if (!line)
                return;
        log_line_number(line, "pid", (uint64_t)process);
        end(line);
}

void status_lines_ended(enum ending ending, int exit_status, int signal_number, unsigned timeout_seconds,
                        const struct failure *failure)
{
        struct pollfd room = {.fd = status.out.fd, .events = POLLOUT};
        if (room.fd >= 0)
                (void)poll(&room, 1, LAST_WAIT_MS);
        struct log_line *line = begin("ended");
        if (!line)
                return;
        log_line_text(line, "how", ending_name(ending), LOG_TEXT_MAX);
        log_line_number(line, "status", (uint64_t)exit_status);
        if (signal_number)
                log_line_number(line, "signal", (uint64_t)signal_number);
        if (ending == ENDING_LIMIT) /* no other limit ends a sandbox */
                log_line_text(line, "limit", "memory", LOG_TEXT_MAX);
        if (ending == ENDING_TIMED_OUT)
                log_line_number(line, "timeout", timeout_seconds);
        if (failure && failure->stage < STAGE_COUNT) {
                log_line_text(line, "stage", failure_stage_name((enum stage)failure->stage), LOG_TEXT_MAX);
                log_line_number(line, "errno", (uint64_t)failure->error);
                log_line_text(line, "path", failure->path, LOG_TEXT_MAX);
        }
        end(line);
}
