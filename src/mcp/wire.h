/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch and hutch-filter say to each other. Eight descriptors are all that hutch-filter is started
 * with, and a ninth with `explain`:
 *
 *   0  from the client: a pipe that does not block, as all four are
 *   1  to the client
 *   2  /dev/null
 *   3  the supervisor: a SOCK_SEQPACKET socket. Its hang-up is the filter's end.
 *   4  to the server
 *   5  from the server
 *   6  the rules: a sealed memory file of lines, see below
 *   7  the pins (pins.h): a copy of the file, sealed; empty without --pin
 *   8  hutch-nat, which says what it refused (struct nat_asked in nat/wire.h); does not block
 *
 * Lines of descriptor 6:
 *
 *   allow PATTERN | deny PATTERN     policy/tools.h
 *   deny-sampling | deny-elicitation | deny-roots
 *   message-max BYTES
 *   server IDENTITY                  whose pins count, as JSON text without its quotes
 *   pin | pin-accept                 compare with the pins; record what differs
 *   explain                          descriptor 8 is there; what the network refused is wanted in results
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
        FILTER_NAT = 8,
};

/* Messages on descriptor 3, all from the filter: one struct filter_message per datagram, its text after it
 * (no NUL). */
enum filter_message_type {
        FILTER_READY = 1, /* it is confined */
        FILTER_NOTE,      /* text: one sentence for the person */
        FILTER_NOISE,     /* text: a line of the server's stdout that is no message */
        FILTER_PIN,       /* text: one record for the file of pins, without its server and its line end */
        FILTER_RECORD,    /* text: the members of one JSON object for the log, without braces */
};

/* The most text of a message; a pin may be longer. */
enum { FILTER_TEXT_MAX = 4096, FILTER_PIN_MAX = 96 * 1024 };

struct filter_message {
        uint32_t type;
};

#endif
