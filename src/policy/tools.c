/* SPDX-License-Identifier: Apache-2.0
 *
 * See tools.h.
 */
#include "policy/tools.h"

#include <stdlib.h>

bool tool_pattern_check(const char *option, const char *pattern, struct error *error)
{
        for (const char *c = pattern; *c; c++) {
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return error_set(error, EXIT_USAGE, "%s %s: a tool's name has no control characters",
                                         option, error_shown(pattern));
                if (*c == ',')
                        return error_set(
                            error, EXIT_USAGE,
                            "%s %s: each %s takes one tool or pattern; repeat the option in place of a comma",
                            option, error_shown(pattern), option);
                if (strchr("[]{}", *c))
                        return error_set(
                            error, EXIT_USAGE,
                            "%s %s: patterns know * and ? only; repeat the option for several names", option,
                            error_shown(pattern));
        }
        return true;
}

/* The position after one UTF-8 character; after one byte where it is not UTF-8. */
static const char *next_character(const char *at, const char *end)
{
        do
                at++;
        while (at < end && ((unsigned char)*at & 0xC0) == 0x80);
        return at;
}

bool tool_pattern_matches(const char *pattern, const char *name, size_t length)
{
        const char *end = name + length, *star = NULL, *resume = name;
        while (name < end) {
                if (*pattern == '*') {
                        star = ++pattern;
                        resume = name;
                } else if (*pattern == '?') {
                        pattern++;
                        name = next_character(name, end);
                } else if (*pattern && *pattern == *name) {
                        pattern++;
                        name++;
                } else if (star) { /* the last * takes one more byte */
                        pattern = star;
                        name = ++resume;
                } else {
                        return false;
                }
        }
        while (*pattern == '*')
                pattern++;
        return *pattern == 0;
}

void tool_rules_copy(struct tool_rules *copy, const struct tool_rules *rules)
{
        *copy = *rules;
        copy->allow = copy->deny = (struct str_list){0};
        copy->pins = NULL;
        str_list_add_all(&copy->allow, &rules->allow);
        str_list_add_all(&copy->deny, &rules->deny);
}

void tool_rules_free(struct tool_rules *rules)
{
        str_list_free(&rules->allow);
        str_list_free(&rules->deny);
        free(rules->pins);
        *rules = (struct tool_rules){0};
}

bool tool_rules_exist(const struct tool_rules *rules)
{
        return rules->allow.count || rules->deny.count || rules->deny_sampling || rules->deny_elicitation ||
               rules->deny_roots || rules->pins || rules->explain;
}
