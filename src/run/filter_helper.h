/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-filter as its supervisor sees it: put between the client and the server in the bridge's place, told
 * the rules, listened to.
 */
#ifndef HUTCH_RUN_FILTER_HELPER_H
#define HUTCH_RUN_FILTER_HELPER_H

#include "box/box.h"
#include "run/run_log.h"

struct filter_helper {
        pid_t process; /* 0: none */
        int control;   /* mcp/wire.h's descriptor 3, this end; -1: none */
        int pins;      /* the file of --pin, open for appending; -1: none */
        char *server;  /* whose pins they are, as JSON text without its quotes */

        /* How far the bytes are (mcp/wire.h), as bridge.h says it where there is no filter. */
        bool input_ended, client_gone, drained;
        unsigned long long given, taken; /* they grow while bytes move after the end of their writer */
};

#define FILTER_HELPER_NONE ((struct filter_helper){.control = -1, .pins = -1})

/* Starts it, with the client's 0 and 1. server[0] and server[1] receive the ends for the server (O_CLOEXEC,
 * the caller's). `nat`: its end of what connects it with hutch-nat, which does not block, or -1. */
bool filter_helper_start(struct filter_helper *helper, const struct box *box, const struct run_log *log,
                         int nat, int server[3], struct error *error);

/* Waits until it has read its rules and the pins and is confined: before that nothing may be started. */
bool filter_helper_await(const struct filter_helper *helper, struct error *error);

/* Says, pins and records what it has to say. False when it has ended: the sandbox must too. */
bool filter_helper_read(struct filter_helper *helper, struct run_log *log);

/* Hears the last of it, ends it and waits for that. */
void filter_helper_end(struct filter_helper *helper, struct run_log *log);

#endif
