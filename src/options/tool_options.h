/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of the MCP firewall.
 */
#ifndef HUTCH_OPTIONS_TOOL_OPTIONS_H
#define HUTCH_OPTIONS_TOOL_OPTIONS_H

#include "options/options.h"

/* Reads the value of --max-message. Status 2 with a sentence for a value that is not a size, or out of
 * bounds. */
bool tool_options_read_message_max(struct tool_rules *rules, const char *value, struct error *error);

/* What takes two options to judge, once all are read. */
bool tool_options_check(struct options *options, struct error *error);

#endif
