/* SPDX-License-Identifier: Apache-2.0
 *
 * See tool_options.h.
 */
#include "options/tool_options.h"

#include "lib/suggest.h"
#include "options/values.h"

/* A filter that holds one message of each side must be able to hold an ordinary one, and not all memory. */
#define MESSAGE_MAX_LEAST (64UL << 10)
#define MESSAGE_MAX_MOST  (1UL << 30)

static bool read_pattern(struct str_list *list, const char *option, const char *value, struct error *error)
{
        if (!tool_pattern_check(option, value, error))
                return false;
        str_list_add(list, value);
        return true;
}

static bool read_message_max(struct tool_rules *rules, const char *value, struct error *error)
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

bool tool_option_read(struct options *options, enum option_id id, const char *value, struct error *error)
{
        struct tool_rules *rules = &options->tools;
        switch (id) {
        case OPTION_ALLOW_TOOL:
                return read_pattern(&rules->allow, "--allow-tool", value, error);
        case OPTION_DENY_TOOL:
                return read_pattern(&rules->deny, "--deny-tool", value, error);
        case OPTION_PIN:
                return value_expand_path("--pin", value, &rules->pins, error);
        case OPTION_PIN_ACCEPT:
                return rules->pin_accept = true;
        case OPTION_DENY_SAMPLING:
                return rules->deny_sampling = true;
        case OPTION_DENY_ELICITATION:
                return rules->deny_elicitation = true;
        case OPTION_DENY_ROOTS:
                return rules->deny_roots = true;
        case OPTION_MAX_MESSAGE:
                return read_message_max(rules, value, error);
        case OPTION_LOG_ARGUMENTS:
                return rules->log_arguments = true;
        case OPTION_EXPLAIN:
                return rules->explain = true;
        default:
                return false;
        }
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
