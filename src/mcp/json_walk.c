/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_walk.h.
 */
#include "mcp/json_walk.h"

#include "lib/fd.h"
#include "lib/json_text.h"
#include "lib/str.h"

#include <stdlib.h>

/* The position behind the string that begins at `at`. */
static char *after_string(char *at, const char *end)
{
        for (at++;; at++) {
                at = (char *)json_skip_plain((const unsigned char *)at, (const unsigned char *)end);
                if (*at == '"')
                        return at + 1;
                if (*at == '\\')
                        at++;
        }
}

/* The position behind the value that begins at `at`. */
static char *after_value(char *at, const char *end)
{
        size_t depth = 0;
        do {
                if (*at == '"') {
                        at = after_string(at, end);
                } else if (*at == '{' || *at == '[') {
                        depth++;
                        at++;
                } else if (*at == '}' || *at == ']') {
                        depth--;
                        at++;
                } else if (*at == ',' || *at == ':') {
                        at++;
                } else {
                        while (at < end && !strchr(",:]}", *at))
                                at++;
                }
        } while (depth > 0);
        return at;
}

bool json_next(struct json_span value, char **position, struct json_span *key, struct json_span *item)
{
        const char *end = value.at + value.length;
        /* *position is behind the last item: at a comma, or at the closing bracket */
        char *at = *position ? *position : value.at;
        if (*position ? *at != ',' : (at[1] == ']' || at[1] == '}'))
                return false;
        at++;
        *key = (struct json_span){0};
        if (*value.at == '{') {
                char *behind = after_string(at, end);
                *key = (struct json_span){at, (size_t)(behind - at)};
                at = behind + 1;
        }
        *position = after_value(at, end);
        *item = (struct json_span){at, (size_t)(*position - at)};
        return true;
}

struct json_span json_member(struct json_span object, const char *wanted)
{
        struct json_span key, item;
        char *position = NULL;
        if (json_is_object(object))
                while (json_next(object, &position, &key, &item))
                        if (json_text_is(key, wanted))
                                return item;
        return (struct json_span){0};
}

char *json_text_of(struct json_span string, size_t *length)
{
        char *text = str_or_die(malloc(string.length + 1));
        *length = json_unescape(string.at, string.length, text);
        text[*length] = 0;
        return text;
}

bool json_text_is(struct json_span value, const char *text)
{
        size_t length = strlen(text);
        if (!json_is_string(value) || value.length < length + 2)
                return false;
        if (!memchr(value.at, '\\', value.length))
                return value.length == length + 2 && memcmp(value.at + 1, text, length) == 0;
        /* one byte of text is spelled with at most six bytes */
        if (value.length > 6 * length + 2)
                return false;
        size_t plain_length;
        autofree char *plain = json_text_of(value, &plain_length);
        return plain_length == length && memcmp(plain, text, length) == 0;
}
