/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to the supervisor: what the user reads, and the records of the log. The number of messages is
 * bounded, because the sandbox can cause refusals without end.
 */
#ifndef HUTCH_NAT_REPORT_H
#define HUTCH_NAT_REPORT_H

#include "nat/target.h"
#include "nat/wire.h"

/* Sets the socket of the supervisor, and whether it wants records (NAT_RECORD). */
void report_start(int supervisor, bool log);
/* Tells the supervisor that hutch-nat has every socket and is confined. */
void report_ready(void);
/* The supervisor reads what is left to the end: from now on messages wait for it and records are not limited.
 */
void report_finish(void);

/* A target that the rules refuse. The user reads each destination once. */
void report_denied(const struct target *target, enum verdict verdict);
/* An allowed name that resolves to an address that the rules refuse. */
void report_denied_address(const struct target *target, const struct in6_addr *address, enum verdict verdict);
/* A flow whose first bytes name another host: `what` is "TLS server name" or "HTTP Host"; `named` is NULL
 * when it is missing or malformed. */
void report_mismatch(const struct target *target, const char *what, const char *named);
/* A name that the sandbox asked for and that no rule covers. */
void report_name(const char *name);
/* An allowed destination that could not be reached; the client in the sandbox only sees a reset. */
void report_failed(const struct target *target, const char *why);
/* The proxy gave no connection: to this target, or (NULL) at all. */
void report_proxy(const char *proxy, const struct target *target, const char *why);
/* Any other sentence. Each format is used once in a run, whatever its values: the sandbox can cause it
 * without end. report_sentence() repeats it unless `once`. */
#define report_note(...) report_sentence(NAT_NOTE, true, __VA_ARGS__)
void report_sentence(enum nat_message_type type, bool once, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A question to the sandbox's resolver, for the log. */
void report_question(const char *name, uint16_t type, bool allowed);

/* What the log tells of a flow. */
struct flow_report {
        struct target target;
        bool connected;
        bool proxied;            /* the address is the proxy's */
        struct in6_addr address; /* that hutch-nat is connected to */
        uint64_t up, down;       /* bytes from the sandbox and to it */
        long long began;         /* monotonic ms */
};
/* A flow has ended. `why`: half a sentence; NULL: in order. */
void report_flow(const struct flow_report *flow, const char *why);

#endif
