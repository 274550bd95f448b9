/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of the MCP firewall.
 */
#ifndef HUTCH_OPTIONS_TOOL_OPTIONS_H
#define HUTCH_OPTIONS_TOOL_OPTIONS_H

#include "options/options.h"

/* Stores the value of one of them ("" for none). Status 2 with a sentence for what cannot be meant. */
bool tool_option_read(struct options *options, enum option_id id, const char *value, struct error *error);

/* What takes two options to judge, once all are read. */
bool tool_options_check(struct options *options, struct error *error);

#endif
