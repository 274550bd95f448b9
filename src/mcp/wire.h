/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between hutch and hutch-filter. hutch-filter starts with ten descriptors, and with an eleventh
 * for `explain`:
 *
 *   0   the client's standard input, to wait for
 *   1   the client's standard output, the same
 *   2   /dev/null
 *   3   the supervisor: a SOCK_SEQPACKET socket; when it hangs up, the filter ends
 *   4   to the server: a non-blocking pipe
 *   5   from the server, the same
 *   6   the rules: a sealed memfd of lines, see below
 *   7   the pins (pins.h): a sealed copy of the file; empty without --pin
 *   8   the client's standard input, to read from: see lib/endpoint.h
 *   9   the client's standard output, to write to
 *   10  hutch-nat, which reports what it refused (struct nat_asked in nat/wire.h); non-blocking
 *
 * Lines of descriptor 6:
 *
 *   allow PATTERN | deny PATTERN     policy/tools.h
 *   deny-sampling | deny-elicitation | deny-roots
 *   message-max BYTES
 *   server IDENTITY                  the server whose pins count, as JSON text without quotes
 *   pin FILE | pin-accept            compare with the pins of that file; record what differs
 *   input KIND | output KIND         the client's descriptor: none, plain, socket, or `burst BYTES`
 *   explain                          descriptor 10 is open; add the network's refusals to results
 *   log | log-arguments              send calls as FILTER_RECORD; include their arguments
 *   secret TEXT                      a value that no record may contain, as JSON text without quotes
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

/* Messages on descriptor 3, all sent by the filter: one struct filter_message per datagram, followed by its
 * text (without a NUL). */
enum filter_message_type {
        FILTER_READY = 1, /* the filter is confined */
        FILTER_NOTE,      /* text: one sentence for the user */
        FILTER_NOISE,     /* text: a line of the server's stdout that is not a message */
        FILTER_PIN,       /* text: one record for the file of pins, without its server and its LF */
        FILTER_RECORD,    /* text: the members of one JSON object for the log, without braces */
        /* These have no text. They say where the bytes are, because that decides when the sandbox ends. */
        FILTER_INPUT_ENDED, /* the client has closed its end */
        FILTER_GIVEN,       /* after that: the server took some of what was left */
        FILTER_CLIENT_GONE, /* the client no longer reads */
        FILTER_TAKEN,       /* the server has ended, and the client took some of what was left */
        FILTER_DRAINED,     /* nothing is left for the client, or it no longer reads */
};

/* The largest text of a message; a pin or a record may be longer. */
enum { FILTER_TEXT_MAX = 4096, FILTER_PIN_MAX = 96 * 1024 };

struct filter_message {
        uint32_t type;
};

#endif
