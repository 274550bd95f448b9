/* SPDX-License-Identifier: Apache-2.0
 *
 * See str.h.
 */
#include "lib/str.h"

#include "lib/err.h"
#include "lib/fd.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *str_or_die(void *pointer)
{
        static const char sentence[] = "[hutch] out of memory: close other programs and try again\n";
        if (pointer)
                return pointer;
        (void)fd_write_all(STDERR_FILENO, sentence, sizeof(sentence) - 1);
        _exit(EXIT_SETUP);
}

char *str_copy(const char *text)
{
        return str_or_die(strdup(text));
}

char *str_copy_n(const char *text, size_t length)
{
        return str_or_die(strndup(text, length));
}

char *str_format(const char *format, ...)
{
        char *text = NULL;
        va_list arguments;
        va_start(arguments, format);
        int length = vasprintf(&text, format, arguments);
        va_end(arguments);
        return str_or_die(length < 0 ? NULL : text);
}

void str_append(char **text, const char *format, ...)
{
        autofree char *added = NULL, *before = *text;
        va_list arguments;
        va_start(arguments, format);
        int length = vasprintf(&added, format, arguments);
        va_end(arguments);
        *text = str_format("%s%s", before ? before : "", (char *)str_or_die(length < 0 ? NULL : added));
}

char *str_join(const struct str_list *list, const char *between)
{
        char *text = str_copy("");
        for (size_t i = 0; i < list->count; i++)
                str_append(&text, "%s%s", i ? between : "", list->values[i]);
        return text;
}

void str_list_take(struct str_list *list, char *value)
{
        /* The capacity doubles, so a count of 2^n - 1 means that the array is full. */
        if ((list->count & (list->count + 1)) == 0) {
                size_t room = (list->count + 1) * 2;
                list->values = str_or_die(reallocarray(list->values, room, sizeof(*list->values)));
        }
        list->values[list->count++] = value;
        list->values[list->count] = NULL;
}

void str_list_add(struct str_list *list, const char *value)
{
        str_list_take(list, str_copy(value));
}

void str_list_free(struct str_list *list)
{
        for (size_t i = 0; i < list->count; i++)
                free(list->values[i]);
        free(list->values);
        *list = (struct str_list){0};
}

bool str_list_has(const struct str_list *list, const char *value)
{
        for (size_t i = 0; i < list->count; i++)
                if (str_equal(list->values[i], value))
                        return true;
        return false;
}

/* Appends the components of `path` to the normal path in `out`. Returns its new length. */
static size_t append_components(char *out, size_t used, const char *path)
{
        while (*path) {
                size_t length = strcspn(path, "/");
                if (length == 2 && path[0] == '.' && path[1] == '.') {
                        while (used > 0 && out[--used] != '/')
                                ;
                } else if (length > 0 && !(length == 1 && path[0] == '.')) {
                        out[used++] = '/';
                        memcpy(out + used, path, length);
                        used += length;
                }
                path += length;
                path += strspn(path, "/");
        }
        return used;
}

char *path_join(const char *base, const char *path)
{
        char *out = str_or_die(malloc(strlen(base) + strlen(path) + 3));
        size_t used = path[0] == '/' ? 0 : append_components(out, 0, base);
        used = append_components(out, used, path);
        if (used == 0)
                out[used++] = '/';
        out[used] = 0;
        return out;
}

bool path_is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);
        if (length == 1)
                return true; /* "/" */
        return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == 0);
}

size_t path_depth(const char *path)
{
        size_t depth = 0;
        if (path[1] == 0)
                return 0;
        for (; *path; path++)
                depth += *path == '/';
        return depth;
}

const char *path_base(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

char *path_parent(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash == path ? str_copy("/") : str_copy_n(path, (size_t)(slash - path));
}

size_t str_read_digits(const char *text, uint64_t most, uint64_t *number)
{
        size_t length = 0;
        *number = 0;
        for (; text[length] >= '0' && text[length] <= '9'; length++)
                if (*number <= most)
                        *number = *number * 10 + (uint64_t)(text[length] - '0');
        if (*number > most)
                *number = most + 1;
        return length;
}

bool str_read_number(const char *text, uint64_t most, uint64_t *number)
{
        size_t length = str_read_digits(text, most, number);
        return length > 0 && !text[length] && *number <= most;
}

bool str_read_release(const char *text, uint64_t release[2])
{
        size_t length = str_read_digits(text, UINT16_MAX, &release[0]);
        return length > 0 && text[length] == '.' &&
               str_read_digits(text + length + 1, UINT16_MAX, &release[1]) > 0;
}

bool str_is_release(const char *text, uint64_t major, uint64_t minor)
{
        uint64_t found[2];
        return str_read_release(text, found) &&
               (found[0] > major || (found[0] == major && found[1] >= minor));
}

size_t str_distance(const char *a, const char *b)
{
        enum { LONGEST = 64 };
        size_t rows = strnlen(a, LONGEST), columns = strnlen(b, LONGEST);
        size_t line[LONGEST + 1];
        for (size_t j = 0; j <= columns; j++)
                line[j] = j;
        for (size_t i = 1; i <= rows; i++) {
                size_t diagonal = line[0];
                line[0] = i;
                for (size_t j = 1; j <= columns; j++) {
                        size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
                        size_t removed = line[j] + 1, inserted = line[j - 1] + 1;
                        diagonal = line[j];
                        line[j] = removed < inserted ? removed : inserted;
                        if (replaced < line[j])
                                line[j] = replaced;
                }
        }
        return line[columns];
}

bool str_words_have(const char *list, const char *word, size_t length)
{
        for (const char *item = list; *item; item += strspn(item, " ")) {
                size_t item_length = strcspn(item, " ");
                if (item_length == length && memcmp(item, word, length) == 0)
                        return true;
                item += item_length;
        }
        return false;
}

bool str_is_file_name(const char *name)
{
        size_t length = strlen(name);
        return length > 0 && length <= 128 && name[0] != '.' && name[0] != '-' &&
               strspn(name, STR_FILE_NAME_BYTES) == length;
}

static bool is_letter(char c)
{
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool str_is_variable_name(const char *text, size_t length)
{
        if (length == 0 || !is_letter(text[0]))
                return false;
        for (size_t i = 1; i < length; i++)
                if (!is_letter(text[i]) && !(text[i] >= '0' && text[i] <= '9'))
                        return false;
        return true;
}

void str_list_add_array(struct str_list *list, const char *const *values)
{
        for (; *values; values++)
                str_list_add(list, *values);
}

void str_list_add_all(struct str_list *to, const struct str_list *from)
{
        for (size_t i = 0; i < from->count; i++)
                str_list_add(to, from->values[i]);
}
