/* SPDX-License-Identifier: Apache-2.0
 *
 * As much of D-Bus as a request to systemd for a scope needs: connect, authenticate, send three messages at
 * once, read the answers (D-Bus Specification 0.41; org.freedesktop.systemd1(5)). It is written out here
 * because a D-Bus library adds several milliseconds to every start. Every message from the bus is checked
 * before it is used, in a buffer of fixed size. Functions return 0 or a negative errno.
 */
#ifndef HUTCH_ENFORCE_SYSTEMD_SCOPE_H
#define HUTCH_ENFORCE_SYSTEMD_SCOPE_H

#include "lib/buf.h"
#include "limits/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
        SYSTEMD_SCOPE_BUFFER_SIZE = 16384,
        SYSTEMD_SCOPE_NAME_SIZE = 64,
};

struct systemd_scope {
        int socket; /* or -1 */
        char name[SYSTEMD_SCOPE_NAME_SIZE];
        bool authenticated; /* the bus has accepted the caller's user id */
        size_t length;
        unsigned char buffer[SYSTEMD_SCOPE_BUFFER_SIZE];
};

enum systemd_scope_progress {
        SYSTEMD_SCOPE_WAITING,
        SYSTEMD_SCOPE_DONE,    /* the scope exists and the process is in it */
        SYSTEMD_SCOPE_REFUSED, /* `why` says why not */
};

/* Connects to the socket at `path`. -EXDEV: the bus runs in another pid namespace, where the process id would
 * mean another process. */
int systemd_scope_connect(struct systemd_scope *scope, const char *path);

/* Asks for a scope with these limits around `process`, and for the signal that reports it. */
int systemd_scope_request(struct systemd_scope *scope, pid_t process, const struct limits *limits);

/* Reads what the bus has sent, without blocking. `why` receives half a sentence when the result is
 * SYSTEMD_SCOPE_REFUSED. */
enum systemd_scope_progress systemd_scope_read(struct systemd_scope *scope, char *why, size_t size);

/* The two pure parts of the functions above. The first appends the three messages, for the scope in
 * scope->name, to `requests`. The second judges one whole message from the bus. */
void systemd_scope_write_request(const struct systemd_scope *scope, pid_t process,
                                 const struct limits *limits, struct buf *requests);
enum systemd_scope_progress systemd_scope_judge_message(const struct systemd_scope *scope,
                                                        const unsigned char *message, size_t length,
                                                        char *why, size_t size);

#endif
