/* SPDX-License-Identifier: Apache-2.0
 *
 * See canonical.h. Writing and comparing recurse at most JSONL_DEPTH_MAX levels, which is what the scanner
 * accepts.
 */
#include "mcp/canonical.h"

#include "lib/fd.h"
#include "lib/json.h"
#include "lib/json_text.h"
#include "lib/str.h"
#include "lib/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- writing ---- */

struct member {
        char *key; /* unescaped */
        size_t length;
        struct json_span value;
};

static bool comes_before(const struct member *a, const struct member *b)
{
        size_t common = a->length < b->length ? a->length : b->length;
        int order = memcmp(a->key, b->key, common);
        return order ? order < 0 : a->length < b->length;
}

static void sift(struct member *heap, size_t root, size_t count)
{
        struct member moved = heap[root];
        size_t child;
        while ((child = 2 * root + 1) < count) {
                if (child + 1 < count && comes_before(&heap[child], &heap[child + 1]))
                        child++;
                if (!comes_before(&moved, &heap[child]))
                        break;
                heap[root] = heap[child];
                root = child;
        }
        heap[root] = moved;
}

/* Heapsort: it allocates nothing, makes no system call, which qsort() does, and no order of the keys makes it
 * slow. */
static void sort_members(struct member *members, size_t count)
{
        for (size_t i = count / 2; i > 0; i--)
                sift(members, i - 1, count);
        for (size_t left = count; left > 1; left--) {
                struct member largest = members[0];
                members[0] = members[left - 1];
                members[left - 1] = largest;
                sift(members, 0, left - 1);
        }
}

static bool is_any_of(struct json_span key, const char *const *wanted)
{
        while (*wanted && !json_text_is(key, *wanted))
                wanted++;
        return *wanted;
}

void canonical_put_members(struct buf *out, struct json_span object, const char *const *keys)
{
        struct member *members = NULL;
        struct json_span key, value;
        char *position = NULL;
        size_t count = 0, room = 0;
        while (json_next(object, &position, &key, &value)) {
                if (keys && !is_any_of(key, keys))
                        continue;
                if (count == room) { /* a hostile object has a million members */
                        room = room ? 2 * room : 8;
                        members = str_or_die(reallocarray(members, room, sizeof(*members)));
                }
                struct member *member = &members[count++];
                member->key = json_text_of(key, &member->length);
                member->value = value;
        }
        sort_members(members, count);
        buf_put(out, "{", 1);
        for (size_t i = 0; i < count; i++) {
                buf_put(out, ",", i > 0);
                json_string(out, members[i].key, members[i].length, SIZE_MAX, false);
                buf_put(out, ":", 1);
                canonical_put(out, members[i].value);
                free(members[i].key);
        }
        buf_put(out, "}", 1);
        free(members);
}

static void put_array(struct buf *out, struct json_span array)
{
        struct json_span key, value;
        char *position = NULL;
        bool first = true;
        buf_put(out, "[", 1);
        for (; json_next(array, &position, &key, &value); first = false) {
                buf_put(out, ",", !first);
                canonical_put(out, value);
        }
        buf_put(out, "]", 1);
}

void canonical_put(struct buf *out, struct json_span value)
{
        if (json_is_object(value)) {
                canonical_put_members(out, value, NULL);
        } else if (json_is_array(value)) {
                put_array(out, value);
        } else if (json_is_string(value)) {
                size_t length;
                autofree char *text = json_text_of(value, &length);
                json_string(out, text, length, SIZE_MAX, false);
        } else {
                buf_put(out, value.at, value.length);
        }
}

/* ---- comparing ---- */

enum { PLACE_MAX = 200, QUOTED_MAX = 160, QUOTED_BEFORE = 24 };

struct comparison {
        size_t left; /* lines that may still be reported */
        canonical_report *report;
        void *context;
        char place[PLACE_MAX + 1];
};

/* True for characters that are invisible, or that change how others are displayed: they can hide an
 * instruction in a text. */
static bool is_hidden(uint32_t code)
{
        return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
               (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xE0000 && code <= 0xE0FFF);
}

/* A part of a value that begins shortly before the byte where it differs; the caller frees. */
static char *quote_part(struct json_span value, size_t differs)
{
        const unsigned char *begin = (const unsigned char *)value.at, *end = begin + value.length,
                            *at = begin;
        struct buf out = {0};
        if (differs > QUOTED_BEFORE) {
                at += differs - QUOTED_BEFORE;
                while (at > begin && (*at & 0xC0) == 0x80)
                        at--;
                buf_put_text(&out, "…");
        }
        for (size_t shown = 0; at < end && shown < QUOTED_MAX; shown++) {
                size_t length = utf8_measure(at, end);
                uint32_t code = length ? utf8_decode(at, length) : 0;
                if (length == 0)
                        length = 1;
                if (is_hidden(code))
                        buf_format(&out, "\\u{%X}", code);
                else
                        buf_put(&out, at, length);
                at += length;
        }
        buf_put_text(&out, at < end ? "…" : "");
        return buf_take(&out);
}

static void report_difference(struct comparison *comparison, struct json_span was, struct json_span is)
{
        size_t same = 0, shorter = was.length < is.length ? was.length : is.length;
        while (was.at && is.at && same < shorter && was.at[same] == is.at[same])
                same++;
        autofree char *before = was.at ? quote_part(was, same) : NULL;
        autofree char *now = is.at ? quote_part(is, same) : NULL;
        autofree char *line = !before ? str_format("%s is new: %s", comparison->place, now)
                              : !now  ? str_format("%s is gone; it was %s", comparison->place, before)
                                      : str_format("%s was %s and is %s", comparison->place, before, now);
        comparison->report(comparison->context, line);
}

static void compare_values(struct comparison *comparison, struct json_span was, struct json_span is);

/* Compares a member: adds its key to the place, and removes it afterwards. */
static void compare_member(struct comparison *comparison, struct json_span key, struct json_span was,
                           struct json_span is)
{
        size_t length = strlen(comparison->place);
        (void)snprintf(comparison->place + length, sizeof(comparison->place) - length, "%s%.*s",
                       length ? "." : "", (int)(key.length < PLACE_MAX ? key.length - 2 : PLACE_MAX),
                       key.at + 1);
        compare_values(comparison, was, is);
        comparison->place[length] = 0;
}

static bool same_text(struct json_span a, struct json_span b)
{
        return a.at && b.at && a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The member with exactly this key. Both sides have their keys in the same order, so the search starts behind
 * the last member found (*from, NULL at first). A search from the beginning would take quadratic time. */
static struct json_span find_member(struct json_span object, struct json_span wanted, char **from)
{
        struct json_span key, value;
        char *position = *from;
        for (int round = 0; round < 2; round++, position = NULL)
                while (json_next(object, &position, &key, &value))
                        if (same_text(key, wanted)) {
                                *from = position;
                                return value;
                        }
        return (struct json_span){0};
}

static void compare_values(struct comparison *comparison, struct json_span was, struct json_span is)
{
        struct json_span key, value;
        char *position = NULL, *from = NULL;
        if (comparison->left == 0 || same_text(was, is))
                return;
        if (!json_is_object(was) || !json_is_object(is)) {
                comparison->left--;
                report_difference(comparison, was, is);
                return;
        }
        while (json_next(was, &position, &key, &value) && comparison->left > 0)
                compare_member(comparison, key, value, find_member(is, key, &from));
        position = from = NULL;
        while (json_next(is, &position, &key, &value) && comparison->left > 0)
                if (!find_member(was, key, &from).at)
                        compare_member(comparison, key, (struct json_span){0}, value);
}

void canonical_compare(struct json_span was, struct json_span is, size_t most, canonical_report *report,
                       void *context)
{
        struct comparison comparison = {.left = most, .report = report, .context = context};
        compare_values(&comparison, was, is);
}
