/* SPDX-License-Identifier: Apache-2.0
 *
 * See versions.h.
 */
#include "command/versions.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* Appends a word to *words, which is NULL before the first. */
static void add_word(char **words, const char *word, size_t length)
{
        str_append(words, "%s%.*s", *words ? " " : "", (int)length, word);
}

static void add_words(char **words, char *line)
{
        line[strcspn(line, "#")] = 0;
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t:", &rest); word; word = strtok_r(NULL, " \t:", &rest))
                add_word(words, word, strlen(word));
}

char *versions_read_words(const char *text, const char *tool)
{
        (void)tool;
        autofree char *copy = str_copy(text);
        char *words = NULL, *rest = NULL;
        for (char *line = strtok_r(copy, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
                add_words(&words, line);
        return words;
}

char *versions_read_lines(const char *text, const char *tool)
{
        autofree char *copy = str_copy(text);
        char *rest = NULL;
        for (char *line = strtok_r(copy, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                line[strcspn(line, "#")] = 0;
                char *word_rest = NULL, *words = NULL;
                char *name = strtok_r(line, " \t", &word_rest);
                if (!name || !str_equal(name, tool))
                        continue;
                for (char *word; (word = strtok_r(NULL, " \t", &word_rest));)
                        add_word(&words, word, strlen(word));
                return words;
        }
        return NULL;
}

/* The length of the quoted string at `text`, without its quotes; -1 when there is none. */
static ptrdiff_t quoted_length(const char *text)
{
        const char *end = text[0] == '"' || text[0] == '\'' ? strchr(text + 1, text[0]) : NULL;
        return end ? end - text - 1 : -1;
}

/* The value after `key =`, with the key bare or quoted; NULL when the line has another key. */
static const char *value_of(const char *line, const char *key)
{
        size_t length = strlen(key);
        ptrdiff_t quoted = quoted_length(line);
        const char *name = quoted >= 0 ? line + 1 : line;
        size_t name_length = quoted >= 0 ? (size_t)quoted : strspn(line, STR_FILE_NAME_BYTES);
        if (name_length != length || memcmp(name, key, length) != 0)
                return NULL;
        const char *rest = name + name_length + (quoted >= 0);
        rest += strspn(rest, " \t");
        return *rest == '=' ? rest + 1 + strspn(rest + 1, " \t") : NULL;
}

/* The strings of one value: "20", ["20", "18"], {version = "20", …}. */
static char *read_toml_value(const char *value)
{
        char *words = NULL;
        if (value[0] == '{') {
                const char *version = strstr(value, "version");
                value = version ? value_of(version, "version") : NULL;
                if (!value)
                        return NULL;
        }
        bool list = value[0] == '[';
        for (value += list; *value; value++) {
                ptrdiff_t length = quoted_length(value);
                if (length > 0)
                        add_word(&words, value + 1, (size_t)length);
                if (!list)
                        break;
                if (length >= 0)
                        value += length + 1;
                else if (!strchr(" \t,", *value))
                        break;
        }
        return words;
}

/* The value of `key` in [table], or of `version` in [table.key]. */
static char *read_toml(const char *text, const char *table, const char *key)
{
        autofree char *copy = str_copy(text);
        autofree char *header = str_format("[%s]", table);
        autofree char *own_header = str_format("[%s.%s]", table, key);
        bool in_table = false, in_own_table = false;
        char *rest = NULL;
        for (char *line = strtok_r(copy, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                line += strspn(line, " \t");
                if (line[0] == '[') {
                        in_table = str_starts(line, header);
                        in_own_table = str_starts(line, own_header);
                        continue;
                }
                const char *value = in_table       ? value_of(line, key)
                                    : in_own_table ? value_of(line, "version")
                                                   : NULL;
                if (value)
                        return read_toml_value(value);
        }
        return NULL;
}

char *versions_read_toml(const char *text, const char *tool)
{
        return read_toml(text, "tools", tool);
}

char *versions_read_toml_setting(const char *text, const char *key)
{
        return read_toml(text, "settings", key);
}

char *versions_read_plain(const char *text, const char *tool)
{
        autofree char *words = versions_read_words(text, tool);
        if (!words)
                return NULL;
        const char *first = words + (words[0] == 'v' && words[1] >= '0' && words[1] <= '9');
        return str_copy_n(first, strcspn(first, " "));
}

char *versions_read_setting(const char *text, const char *key)
{
        autofree char *copy = str_copy(text);
        char *rest = NULL;
        for (char *line = strtok_r(copy, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                const char *value = value_of(line + strspn(line, " \t"), key);
                if (value)
                        return str_copy_n(value, strcspn(value, " \t#"));
        }
        return NULL;
}

char *versions_read_json(const char *text, const char *tool)
{
        cJSON *json = cJSON_Parse(text);
        const cJSON *value = json;
        autofree char *path = str_copy(tool);
        char *rest = NULL;
        for (char *key = strtok_r(path, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
                value = cJSON_GetObjectItemCaseSensitive(value, key);
        char *found = cJSON_IsString(value) && value->valuestring[0] ? str_copy(value->valuestring) : NULL;
        cJSON_Delete(json);
        return found;
}
