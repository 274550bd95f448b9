/* SPDX-License-Identifier: Apache-2.0
 *
 * The MCP firewall: judges the messages of both sides by the person's rules. Nothing passes that the scanner
 * did not understand; a call that is refused is answered here and never reaches the server.
 *
 * Theory of operation: in firewall.c.
 */
#ifndef HUTCH_MCP_FIREWALL_H
#define HUTCH_MCP_FIREWALL_H

#include "mcp/buf.h"
#include "mcp/call_log.h"
#include "mcp/explain.h"
#include "mcp/jsonl.h"
#include "mcp/pins.h"
#include "mcp/requests.h"
#include "policy/tools.h"

enum side { CLIENT, SERVER, SIDES };

/* What the filter knows of the list of tools, of which pages come one by one. */
struct listing {
        bool begun;
        bool checked; /* whether each rule matches a tool has been looked at, once */
        bool *allow_used, *deny_used;
};

struct firewall {
        struct tool_rules rules;
        struct pins pins; /* only with --pin */
        struct jsonl scanner;
        struct requests requests; /* of the client */
        struct listing listing;
        struct call_log calls;
        struct explain explain;
        bool batches;              /* revision 2025-03-26 was negotiated */
        struct buf answers[SIDES]; /* lines of the filter's own, by whom they are for */
};

/* `rules` and the pins are filled by the caller; `seed` is random. */
void firewall_begin(struct firewall *firewall, uint64_t seed);

/* Judges a line (no LF) of the side it is `from`, in place. Returns how much of it, from its beginning, goes
 * to the other side with an LF behind it; 0: nothing. */
size_t firewall_judge(struct firewall *firewall, enum side from, char *line, size_t length);

/* The server writes no more: the calls that it did not answer are recorded so. */
void firewall_end_server(struct firewall *firewall);

/* A line that is longer than rules.message_max and was not kept: its first bytes and its last, both of which
 * this may change. */
void firewall_refuse_long(struct firewall *firewall, enum side from, char *head, size_t head_length,
                          char *tail, size_t tail_length);

#endif
