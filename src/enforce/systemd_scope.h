/* SPDX-License-Identifier: Apache-2.0
 *
 * So much of D-Bus as asking systemd for a scope takes: connect, say who calls, send three messages at once,
 * read what comes back. Written out here, because a library for it costs every start several milliseconds
 * (D-Bus Specification 0.41, systemd's org.freedesktop.systemd1(5)). What the bus sends is checked before it
 * is believed, and read into a bounded buffer. Functions return 0 or a negative errno.
 */
#ifndef HUTCH_ENFORCE_SYSTEMD_SCOPE_H
#define HUTCH_ENFORCE_SYSTEMD_SCOPE_H

#include "limits/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SYSTEMD_SCOPE_BUFFER_SIZE = 16384, SYSTEMD_SCOPE_NAME_SIZE = 64 };

struct systemd_scope {
        int socket; /* -1: none */
        char scope[SYSTEMD_SCOPE_NAME_SIZE];
        bool greeted; /* the bus has accepted the caller */
        size_t length;
        unsigned char buffer[SYSTEMD_SCOPE_BUFFER_SIZE];
};

enum systemd_scope_progress {
        SYSTEMD_SCOPE_WAITING,
        SYSTEMD_SCOPE_DONE,    /* the scope exists, with the process in it */
        SYSTEMD_SCOPE_REFUSED, /* bus_error() says why */
};

/* Connects to the socket at `path`. -EXDEV: who listens lives in another pid namespace, where numbers of
 * processes mean others. */
int systemd_scope_connect(struct systemd_scope *bus, const char *path);

/* Asks for a scope with these limits around `process`, and for word of it. */
int systemd_scope_ask(struct systemd_scope *bus, pid_t process, const struct limits *limits);

/* Takes what has come. */
enum systemd_scope_progress systemd_scope_read(struct systemd_scope *bus, char *why, size_t size);

/* Two parts of the former, for tests: the messages that are sent, returning their length, and the judgement
 * of one whole message. */
size_t systemd_scope_write_request(const struct systemd_scope *bus, pid_t process,
                                   const struct limits *limits, unsigned char *message, size_t size);
enum systemd_scope_progress systemd_scope_judge(const struct systemd_scope *bus, const unsigned char *message,
                                                size_t length, char *why, size_t size);

#endif
