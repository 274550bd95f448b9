/* SPDX-License-Identifier: Apache-2.0
 *
 * The MCP firewall judges the messages of both sides by the user's rules. Nothing passes that the scanner did
 * not understand. A refused call is answered here and never reaches the server.
 *
 * Theory of operation. The client and the server are both hostile: a message must not mean one thing here and
 * another to its reader, so the scanner (jsonl.h) accepts only what all parsers read alike, and the filter
 * forwards what it understood. The user decides, by the rules of policy/tools.h and by pins. Each line is
 * judged on its own, in order, without locks: one process with one event loop runs both directions
 * (direction.h).
 *
 * The two directions have separate ids. The firewall keeps each request of the client until it is answered
 * (requests.h), for two reasons: what was asked decides how the answer is judged, and an answer to no request
 * must not reach a client that may take it for the answer to another. It keeps nothing of the server's
 * requests, because it forwards or refuses each at once.
 *
 * tools/call is judged by name before the server sees it. The answer to tools/list loses the tools that may
 * not be called. The answer to initialize tells whether batches are permitted. sampling/createMessage,
 * elicitation/create and roots/list, sent by the server, are refused where the user said so; since revision
 * 2026-07-28 they are inputRequests inside results. Everything else passes as it was understood, unknown
 * methods and members too.
 */
#ifndef HUTCH_MCP_FIREWALL_H
#define HUTCH_MCP_FIREWALL_H

#include "lib/buf.h"
#include "mcp/call_log.h"
#include "mcp/explain.h"
#include "mcp/jsonl.h"
#include "mcp/pins.h"
#include "mcp/requests.h"
#include "policy/tools.h"

enum side { CLIENT, SERVER, SIDES };

/* What is known about the list of tools, whose pages come one by one. */
struct listing {
        bool begun;
        bool checked; /* unused rules have been reported */
        bool *allow_used, *deny_used;
};

struct firewall {
        struct tool_rules rules;
        struct pins pins; /* used with --pin only */
        struct jsonl scanner;
        struct requests requests; /* the client's */
        struct listing listing;
        struct call_log calls;
        struct explain explain;
        bool batches;              /* revision 2025-03-26 was negotiated */
        struct buf answers[SIDES]; /* the filter's own lines, by recipient */
};

/* The caller fills in `rules` and the pins; `seed` is random. */
void firewall_begin(struct firewall *firewall, uint64_t seed);

/* Judges a line of `from` without its LF, and changes it in place. Returns how many bytes of it, from its
 * beginning, to forward followed by an LF; 0: none. */
size_t firewall_judge(struct firewall *firewall, enum side from, char *line, size_t length);

/* Call when the server writes no more: records its unanswered calls. */
void firewall_end_server(struct firewall *firewall);

/* False for a line of the server that is not a message (lib/line.h), which it reports. firewall_judge() asks
 * it first; a caller that does not keep a long line asks it with the beginning. */
bool firewall_takes(enum side from, const char *line, size_t length);

/* Refuses a line that is longer than rules.message_max and was not kept. Needs its first and last bytes, and
 * may change them. */
void firewall_refuse_long(struct firewall *firewall, enum side from, char *head, size_t head_length,
                          char *tail, size_t tail_length);

#endif
