/* SPDX-License-Identifier: Apache-2.0
 *
 * See git_config.h. Git stops at the first mistake in a file; this reader goes on with the next line, because
 * to protect one path too many does no harm.
 */
#include "grants/git_config.h"

#include "lib/fd.h"

#include <stdlib.h>
#include <strings.h>

enum { MOST_VALUES = 64, LONGEST_WORD = 64 };

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Copies the letters at *at, as many as there is room for, and steps over all of them. */
static void take_word(const char **at, char *word)
{
        size_t length = 0;
        for (; is_word(**at); (*at)++)
                if (length + 1 < LONGEST_WORD)
                        word[length++] = **at;
        word[length] = 0;
}

static void skip_line(const char **at)
{
        *at += strcspn(*at, "\n");
}

/* [section], [section "anything"] or [section.anything]; *at is behind the bracket. */
static void take_section(const char **at, char *section)
{
        take_word(at, section);
        bool quoted = false;
        for (; **at && **at != '\n' && (quoted || **at != ']'); (*at)++) {
                if (**at == '"')
                        quoted = !quoted;
                else if (quoted && **at == '\\' && (*at)[1] && (*at)[1] != '\n')
                        (*at)++;
        }
        if (**at == ']')
                (*at)++;
}

/* The value at *at, which is behind the =, to the end of its last line: quotes and escapes are resolved, a
 * comment and blanks at the end are left out. The caller frees. */
static char *take_value(const char **at)
{
        while (is_blank(**at))
                (*at)++;
        char *value = str_or_die(malloc(strlen(*at) + 1));
        size_t length = 0, kept = 0; /* kept: without blanks that may be the last */
        for (bool quoted = false; **at && **at != '\n'; (*at)++) {
                char c = **at;
                if (!quoted && (c == '#' || c == ';')) {
                        skip_line(at);
                        break;
                }
                if (c == '"') {
                        quoted = !quoted;
                        continue;
                }
                if (c == '\r' && (*at)[1] == '\n')
                        continue;
                bool literal = quoted || c == '\\';
                if (c == '\\') {
                        if ((*at)[1] == '\r' && (*at)[2] == '\n')
                                (*at)++;
                        if (!(*at)[1])
                                continue;
                        c = *++*at;
                        if (c == '\n')
                                continue;
                        c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c);
                }
                value[length++] = c;
                if (literal || !is_blank(c))
                        kept = length;
        }
        value[kept] = 0;
        return value;
}

void git_config_read(const char *text, struct str_list *hooks, struct str_list *includes)
{
        char section[LONGEST_WORD] = "", key[LONGEST_WORD];
        if (str_starts(text, "\xef\xbb\xbf"))
                text += 3;
        for (const char *at = text; *at;) {
                if (is_blank(*at) || *at == '\n') {
                        at++;
                        continue;
                }
                if (*at == '[') {
                        at++;
                        take_section(&at, section);
                        continue;
                }
                take_word(&at, key);
                while (is_blank(*at))
                        at++;
                if (!key[0] || *at != '=') {
                        skip_line(&at);
                        continue;
                }
                at++;
                autofree char *value = take_value(&at);
                struct str_list *list = NULL;
                if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hookspath") == 0)
                        list = hooks;
                if ((strcasecmp(section, "include") == 0 || strcasecmp(section, "includeif") == 0) &&
                    strcasecmp(key, "path") == 0)
                        list = includes;
                if (list && value[0] && list->count < MOST_VALUES)
                        str_list_add(list, value);
        }
}
