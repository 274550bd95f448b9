/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch and hutch-nat send each other. hutch-nat starts with four descriptors, and with a fifth under
 * --explain:
 *
 *   3  the set-up: a SOCK_SEQPACKET socket whose other end the entering child has. Each message is one
 *      struct nat_socket with one descriptor (SCM_RIGHTS); NAT_SOCKET_END is the last. End of file before
 *      it means that the sandbox was not made, and hutch-nat ends.
 *
 *   4  the supervisor: a SOCK_SEQPACKET socket. Its hang-up ends hutch-nat.
 *
 *   5  the rules: a sealed memory file of lines, see below.
 *
 *   6  pid 1 of the sandbox: a SOCK_SEQPACKET socket on which hutch-nat asks for connections to ports of
 *      the sandbox (struct nat_dial). Pid 1 answers in order, with a socket that is being connected
 *      (SCM_RIGHTS) or without one.
 *
 *   7  hutch-filter: a SOCK_SEQPACKET socket on which it asks what was refused (struct nat_asked).
 *
 * The lines of descriptor 5, and of a memory file that comes with NAT_RESOLVER:
 *
 *   allow TEXT | deny TEXT     one destination as the user wrote it (policy/destinations.h)
 *   host-port INSIDE HOST      a port inside that reaches a port of the host's loopback
 *   proxy HOST PORT [BASE64]   the upstream proxy and its Basic credentials
 *   no-proxy TEXT              one entry of NO_PROXY
 *   nameserver ADDRESS [PORT]  in order of preference; a link-local address ends in %NUMBER of its interface
 *   host ADDRESS NAME          one entry of the hosts file that a rule could need
 *   log                        send flows and questions as NAT_RECORD
 *   explain                    descriptor 7 exists
 */
#ifndef HUTCH_NAT_WIRE_H
#define HUTCH_NAT_WIRE_H

#include <stdint.h>

enum { NAT_SETUP = 3, NAT_SUPERVISOR = 4, NAT_RULES = 5, NAT_DIALLER = 6, NAT_FILTER = 7 };

enum nat_socket_kind {
        NAT_SOCKET_DNS_UDP = 1, /* any address, port 53, IP_PKTINFO or IPV6_RECVPKTINFO set */
        NAT_SOCKET_DNS_TCP,     /* any address, port 53, listening */
        NAT_SOCKET_TCP,         /* any address, `port`, listening; `port` 0: every port (IP_TRANSPARENT) */
        NAT_SOCKET_UDP,         /* any address, `port`, with packet information */
        NAT_SOCKET_HOST_PORT,   /* 127.0.0.1 (or ::1) inside, `port`, listening */
        NAT_SOCKET_ATTEMPTS,    /* AF_PACKET: attempts at ports without a listener */
        NAT_SOCKET_PUBLISH,     /* on the host's 127.0.0.1, listening; `port` is the sandbox's */
        NAT_SOCKET_END,         /* no descriptor; `port` is 1 when the sandbox has IPv6 */
};

struct nat_socket {
        uint32_t kind;
        uint32_t port;
};

/* A request on descriptor 6. The answer repeats it, with a socket or without one. */
struct nat_dial {
        uint16_t port;
        uint16_t v6; /* the sandbox's ::1 instead of its 127.0.0.1 */
};

/* A question on descriptor 7, and the head of the answer. After the head come the refusals since then, oldest
 * first, as half sentences that each end in an LF. Those that do not fit are lost. */
struct nat_asked {
        uint64_t number; /* the answer repeats it */
        int64_t since;   /* CLOCK_MONOTONIC, nanoseconds */
};

enum { NAT_REFUSALS_KEPT = 8 }; /* the latest ones; each is shorter than NAT_TEXT_MAX / 9 */

/* Messages on descriptor 4: one struct nat_message per datagram, then its text (no NUL). */
enum nat_message_type {
        /* to the nat */
        NAT_RESOLVER = 1, /* with a memory file: lines `nameserver` and `host`, which replace the earlier */
        NAT_FINISH,       /* report every open flow, and end */
        /* from the nat */
        NAT_READY,  /* hutch-nat has every socket and is confined */
        NAT_DENIED, /* text: one sentence for the user, with the option that would allow it */
        NAT_NOTE,   /* text: one sentence for the user */
        NAT_RECORD, /* text: the members of one JSON object for the log, without braces */
};

enum { NAT_TEXT_MAX = 4096 };

struct nat_message {
        uint32_t type;
};

#endif
