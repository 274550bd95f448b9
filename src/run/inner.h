/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way to start a sandbox from within hutch: the program hutch, with the words of its options, in a
 * process that dies with this one. What it tells on --status-fd (status_lines.h) is read here. What the
 * command writes is in its own descriptors and can never be taken for it.
 */
#ifndef HUTCH_RUN_INNER_H
#define HUTCH_RUN_INNER_H

#include "lib/child.h"
#include "lib/log_line.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "limits/limits.h"
#include "ns/failure.h"

#include <poll.h>

enum { INNER_STATUS = 3, INNER_KEPT = 8192 };

/* What the program writes to one pipe: the first bytes or the last. */
struct inner_output {
        int pipe; /* -1: closed, or none */
        size_t length;
        char data[INNER_KEPT + 1]; /* with a NUL */
};

struct inner {
        /* Set before the start, else zero. */
        message_teller *note; /* gets each note but errors */
        struct child child; /* `program`; and what differs from: this environment, no input, `given` alone */
        unsigned keeps;     /* 1: descriptors 1 and 2 go to one pipe, 2: to one each; else they are given */
        bool keeps_last, repeats; /* of its output: the last bytes, and also to standard error */

        int lines;              /* to poll; -1 after the end of the lines */
        bool started, ended;    /* the lines came */
        bool timed_out;         /* of `ended`: --timeout was over */
        int signal_number;      /* of `ended`: what killed the command, or 0 */
        struct limits limits;   /* of `chosen`: what holds each */
        struct failure failure; /* the step that failed; stage STAGE_COUNT: none */
        struct error error;     /* why hutch failed; status 0: it did not */
        pid_t process;
        int status; /* its exit status, also 128 and the signal; known after inner_end() */
        struct inner_output output[2];
        char line[LOG_LINE_MAX];
        size_t length;
};

/* Starts the program with `words`, which end with -- and a command; adds --status-fd, for which
 * given[INNER_STATUS] is free. False with a sentence; inner_end() may follow. */
bool inner_start(struct inner *inner, const struct str_list *words, struct error *error);

/* Waits for news of the program and reads them, and for those of `others` (at most two; fills their revents),
 * at most `timeout_ms` (-1: for ever). False when everything of the program is closed. */
bool inner_wait(struct inner *inner, struct pollfd *others, size_t count, int timeout_ms);

/* Waits for the end, reads the rest and closes. True when the command ran and exited with status 0. */
bool inner_end(struct inner *inner);

#endif
