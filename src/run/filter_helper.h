/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-filter, as its supervisor handles it. It takes the place of the bridge between the client and the
 * server. The supervisor sends it the rules, writes what it reports, and ends it.
 */
#ifndef HUTCH_RUN_FILTER_HELPER_H
#define HUTCH_RUN_FILTER_HELPER_H

#include "box/box.h"
#include "lib/buf.h"
#include "run/bridge.h"
#include "run/run_log.h"

struct filter_helper {
        pid_t process; /* 0: none */
        int control;   /* this end of descriptor 3 in mcp/wire.h, or -1 */
        int pins;      /* the file of --pin, open for appending; or -1 */
        char *server;  /* the server that new pins belong to, as JSON text without quotes */

        struct bytes_state
            state; /* as the filter reports it (mcp/wire.h); counts reports in place of bytes */
};

#define FILTER_HELPER_NONE ((struct filter_helper){.control = -1, .pins = -1})

/* Starts the filter with the client's 0 and 1. server[0] and server[1] receive the ends for the server, which
 * are close-on-exec and the caller's. `nat` is its end of the socket to hutch-nat, which must not block, or
 * -1. */
bool filter_helper_start(struct filter_helper *helper, const struct box *box, const struct run_log *log,
                         int nat, int server[3], struct error *error);

/* The rules as lines of mcp/wire.h. */
void filter_helper_write_rules(const struct box *box, const char *server, bool explain, struct buf *out);

/* Waits until the filter has read its rules and pins and is confined. The server must not start before. */
bool filter_helper_await(const struct filter_helper *helper, struct error *error);

/* Reads one message: prints it, pins it or records it. False when the filter has exited; the sandbox must
 * then end. */
bool filter_helper_read(struct filter_helper *helper, struct run_log *log);

/* Reads what is left, kills the filter and waits for it. */
void filter_helper_end(struct filter_helper *helper, struct run_log *log);

#endif
