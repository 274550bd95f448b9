/* SPDX-License-Identifier: Apache-2.0
 *
 * See tool_options.h.
 */
#include "options/tool_options.h"

#include "options/values.h"

/* A filter that holds one message of each side must be able to hold an ordinary one, and not all memory. */
#define MESSAGE_MAX_LEAST (64UL << 10)
#define MESSAGE_MAX_MOST  (1UL << 30)

bool tool_options_read_message_max(struct tool_rules *rules, const char *value, struct error *error)
{
        uint64_t bytes = 0;
        if (!value_read_size("--max-message", value, &bytes, error))
                return false;
        if (bytes < MESSAGE_MAX_LEAST || bytes > MESSAGE_MAX_MOST)
                return error_set(error, EXIT_USAGE, "--max-message %s: a size from 64k to 1g",
                                 error_shown(value));
        rules->message_max = bytes;
        return true;
}

bool tool_options_check(struct options *options, struct error *error)
{
        struct tool_rules *rules = &options->tools;
        if (rules->pin_accept && !rules->pins)
                return error_set(error, EXIT_USAGE, "--pin-accept needs --pin FILE, which it writes to");
        if (rules->log_arguments && !options->log)
                return error_set(error, EXIT_USAGE, "--log-arguments needs --log FILE, which it writes to");
        if ((tool_rules_exist(rules) || rules->log_arguments) && options->raw_stdout)
                return error_set(
                    error, EXIT_USAGE,
                    "--raw-stdout passes bytes that no rule for tools can judge; leave one of the two out");
        if (rules->message_max && !tool_rules_exist(rules) && !options->log)
                return error_set(
                    error, EXIT_USAGE,
                    "--max-message bounds nothing without a rule for tools, as --allow-tool or --pin");
        if (!rules->message_max)
                rules->message_max = TOOL_MESSAGE_MAX_DEFAULT;
        return true;
}
