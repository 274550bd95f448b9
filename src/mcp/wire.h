/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch and hutch-filter say to each other. Ten descriptors are all that hutch-filter is started with,
 * and an eleventh with `explain`:
 *
 *   0   the client's own standard input, to wait on
 *   1   the client's own standard output, the same
 *   2   /dev/null
 *   3   the supervisor: a SOCK_SEQPACKET socket. Its hang-up is the filter's end.
 *   4   to the server: a pipe that does not block
 *   5   from the server, the same
 *   6   the rules: a sealed memory file of lines, see below
 *   7   the pins (pins.h): a copy of the file, sealed; empty without --pin
 *   8   the client's standard input, to read from, and
 *   9   its standard output, to write to: see lib/endpoint.h
 *   10  hutch-nat, which says what it refused (struct nat_asked in nat/wire.h); does not block
 *
 * Lines of descriptor 6:
 *
 *   allow PATTERN | deny PATTERN     policy/tools.h
 *   deny-sampling | deny-elicitation | deny-roots
 *   message-max BYTES
 *   server IDENTITY                  whose pins count, as JSON text without its quotes
 *   pin FILE | pin-accept            compare with the pins of that file; record what differs
 *   input KIND | output KIND         what the client's are: none, plain, socket, or `burst BYTES`
 *   explain                          descriptor 10 is there; what the network refused is wanted in results
 *   log | log-arguments              calls are wanted as FILTER_RECORD, with their arguments
 *   secret TEXT                      what no record may show, as JSON text without its quotes
 */
#ifndef HUTCH_MCP_WIRE_H
#define HUTCH_MCP_WIRE_H

#include <stdint.h>

enum {
        FILTER_SUPERVISOR = 3,
        FILTER_TO_SERVER = 4,
        FILTER_FROM_SERVER = 5,
        FILTER_RULES = 6,
        FILTER_PINS = 7,
        FILTER_CLIENT_IN = 8,
        FILTER_CLIENT_OUT = 9,
        FILTER_NAT = 10,
};

/* Messages on descriptor 3, all from the filter: one struct filter_message per datagram, its text after it
 * (no NUL). */
enum filter_message_type {
        FILTER_READY = 1, /* it is confined */
        FILTER_NOTE,      /* text: one sentence for the person */
        FILTER_NOISE,     /* text: a line of the server's stdout that is no message */
        FILTER_PIN,       /* text: one record for the file of pins, without its server and its line end */
        FILTER_RECORD,    /* text: the members of one JSON object for the log, without braces */
        /* Without a text: how far the bytes are, which the end of the sandbox depends on. */
        FILTER_INPUT_ENDED, /* the client has said all it will */
        FILTER_GIVEN,       /* after that: the server took some of what is left */
        FILTER_CLIENT_GONE, /* the client takes nothing any more */
        FILTER_TAKEN,       /* the server has ended, and the client took some of what is left */
        FILTER_DRAINED,     /* nothing is left for the client, or nobody to take it */
};

/* The most text of a message; a pin may be longer. */
enum { FILTER_TEXT_MAX = 4096, FILTER_PIN_MAX = 96 * 1024 };

struct filter_message {
        uint32_t type;
};

#endif
