/* SPDX-License-Identifier: Apache-2.0
 *
 * So much of D-Bus as asking systemd for a scope takes: connect, say who calls, send three messages at once,
 * read what comes back. Written out here, because a library for it costs every start several milliseconds
 * (D-Bus Specification 0.41, systemd's org.freedesktop.systemd1(5)). What the bus sends is checked before it
 * is believed, and read into a bounded buffer. Functions return 0 or a negative errno.
 */
#ifndef HUTCH_RUN_BUS_H
#define HUTCH_RUN_BUS_H

#include "box/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { BUS_BUFFER_SIZE = 16384, BUS_NAME_SIZE = 64 };

struct bus {
        int socket; /* -1: none */
        char scope[BUS_NAME_SIZE];
        bool greeted; /* the bus has accepted the caller */
        size_t length;
        unsigned char buffer[BUS_BUFFER_SIZE];
};

enum bus_progress {
        BUS_WAITING,
        BUS_DONE,    /* the scope exists, with the process in it */
        BUS_REFUSED, /* bus_error() says why */
};

/* Connects to the socket at `path`. -EXDEV: who listens lives in another pid namespace, where numbers of
 * processes mean others. */
int bus_connect(struct bus *bus, const char *path);

/* Asks for a scope with these limits around `process`, and for word of it. */
int bus_ask_scope(struct bus *bus, pid_t process, const struct limits *limits);

/* Takes what has come. */
enum bus_progress bus_read(struct bus *bus, char *why, size_t size);

/* Two parts of the former, for tests: the messages that are sent, returning their length, and the judgement
 * of one whole message. */
size_t bus_write_request(const struct bus *bus, pid_t process, const struct limits *limits,
                         unsigned char *message, size_t size);
enum bus_progress bus_judge(const struct bus *bus, const unsigned char *message, size_t length, char *why,
                            size_t size);

#endif
