/* SPDX-License-Identifier: Apache-2.0
 *
 * See git_config.h. Git stops at the first error in a file. This reader continues with the next line: one
 * protected path too many does no harm.
 */
#include "grants/git_config.h"

#include "lib/fd.h"

#include <stdlib.h>
#include <strings.h>

enum { MAX_VALUES = 64, MAX_WORD = 64 };

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Copies the word at *at, cut to the room in `word`, and moves *at past all of it. */
static void read_word(const char **at, char *word)
{
        size_t length = 0;
        for (; is_word(**at); (*at)++)
                if (length + 1 < MAX_WORD)
                        word[length++] = **at;
        word[length] = 0;
}

static void skip_line(const char **at)
{
        *at += strcspn(*at, "\n");
}

/* [section], [section "anything"] or [section.anything]; *at is after the opening bracket. */
static void read_section(const char **at, char *section)
{
        read_word(at, section);
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

/* The value at *at, which is after the =, to the end of its last line, with quotes and escapes resolved and
 * without a comment or blanks at the end. The caller frees. */
static char *read_value(const char **at)
{
        while (is_blank(**at))
                (*at)++;
        char *value = str_or_die(malloc(strlen(*at) + 1));
        size_t length = 0, kept = 0; /* kept: up to the last byte that is not an unquoted blank */
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
        char section[MAX_WORD] = "", key[MAX_WORD];
        if (str_starts(text, "\xef\xbb\xbf"))
                text += 3;
        for (const char *at = text; *at;) {
                if (is_blank(*at) || *at == '\n') {
                        at++;
                        continue;
                }
                if (*at == '[') {
                        at++;
                        read_section(&at, section);
                        continue;
                }
                read_word(&at, key);
                while (is_blank(*at))
                        at++;
                if (!key[0] || *at != '=') {
                        skip_line(&at);
                        continue;
                }
                at++;
                autofree char *value = read_value(&at);
                struct str_list *list = NULL;
                if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hookspath") == 0)
                        list = hooks;
                if ((strcasecmp(section, "include") == 0 || strcasecmp(section, "includeif") == 0) &&
                    strcasecmp(key, "path") == 0)
                        list = includes;
                if (list && value[0] && list->count < MAX_VALUES)
                        str_list_add(list, value);
        }
}
