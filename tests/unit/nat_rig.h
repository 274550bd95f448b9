/* SPDX-License-Identifier: Apache-2.0
 *
 * A hutch-nat without a sandbox: rules, a loop, and the socket of a supervisor that the test reads. The
 * modules of hutch-nat keep their state in static variables, so each test runs in a child.
 */
#ifndef HUTCH_TESTS_NAT_RIG_H
#define HUTCH_TESTS_NAT_RIG_H

#include "unit.h"

#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/report.h"
#include "nat/wire.h"
#include "policy/addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RIG_SKIPPED = 77, RIG_BOUND_S = 30 };

/* In the child, where cmocka's assertions would unwind into the parent's tests. */
#define CHECK(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition)) {                                                                          \
                        fprintf(stderr, "%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #condition,          \
                                strerror(errno));                                                            \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

static inline void in_child(void (*test)(void))
{
        pid_t child = fork();
        int status;
        assert_true(child >= 0);
        if (child == 0) {
                alarm(RIG_BOUND_S);
                test();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == RIG_SKIPPED)
                skip();
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

/* Declares the cmocka test of a function that runs in a child. */
#define TEST_IN_CHILD(name)                                                                                  \
        static void test_##name(void **state)                                                                \
        {                                                                                                    \
                (void)state;                                                                                 \
                in_child(name);                                                                              \
        }

static int rig_supervisor = -1; /* the supervisor's end */

/* Starts the state, the loop and the report. Either list of rules may be NULL. */
static inline void rig_start(const char *allow, const char *deny, bool log)
{
        struct error error = {0};
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        rig_supervisor = ends[1];
        CHECK(nat_start(1024) && loop_start());
        report_start(ends[0], log);
        CHECK(!allow || destinations_add(&nat.rules.allow, DESTINATION_ALLOW, allow, &error));
        CHECK(!deny || destinations_add(&nat.rules.deny, DESTINATION_DENY, deny, &error));
}

/* The next message to the supervisor, "" when there is none. */
static inline const char *rig_message(uint32_t type)
{
        static struct {
                struct nat_message head;
                char text[NAT_TEXT_MAX + 1];
        } message;
        ssize_t length = recv(rig_supervisor, &message, sizeof(message) - 1, MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN)
                return "";
        CHECK(length >= (ssize_t)sizeof(message.head) && message.head.type == type);
        message.text[(size_t)length - sizeof(message.head)] = 0;
        return message.text;
}

static inline struct in6_addr rig_address(const char *text)
{
        struct in6_addr address;
        CHECK(address_parse(text, &address));
        return address;
}

/* A target as the sandbox addresses it, without a name. */
static inline struct target rig_target(const char *address, uint16_t port)
{
        return (struct target){.address = rig_address(address), .port = port, .transport = TRANSPORT_TCP};
}

#endif
