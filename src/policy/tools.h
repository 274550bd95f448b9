/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of --allow-tool and --deny-tool: the name of a tool, or a pattern in which * matches any
 * characters and ? one. Names are compared byte by byte, as servers do, so case matters.
 */
#ifndef HUTCH_POLICY_TOOLS_H
#define HUTCH_POLICY_TOOLS_H

#include "lib/err.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

/* False, with status 2 and a sentence that names `option`, for a pattern that cannot match a tool as
 * intended. */
bool tool_pattern_check(const char *option, const char *pattern, struct error *error);

/* `name` may hold anything, NUL too. Takes time in proportion to both lengths at most. */
bool tool_pattern_matches(const char *pattern, const char *name, size_t length);

/* The rules of the MCP firewall. Without any of them hutch-filter does not run. */
struct tool_rules {
        struct str_list allow, deny; /* no `allow`: every tool */
        bool deny_sampling, deny_elicitation, deny_roots;
        char *pins; /* --pin FILE: absolute, or NULL */
        bool pin_accept;
        bool explain;
        bool log_arguments;
        size_t message_max; /* bytes of a line */
};

#define TOOL_MESSAGE_MAX_DEFAULT (64UL << 20)

/* Fills a zeroed copy, without the pins. */
void tool_rules_copy(struct tool_rules *copy, const struct tool_rules *rules);
void tool_rules_free(struct tool_rules *rules);

/* Whether there is any rule. */
bool tool_rules_exist(const struct tool_rules *rules);

#endif
