/* SPDX-License-Identifier: Apache-2.0
 *
 * See pins.h.
 */
#include "mcp/pins.h"

#include "lib/fd.h"
#include "lib/json.h"
#include "lib/json_text.h"
#include "lib/str.h"
#include "mcp/canonical.h"
#include "mcp/report.h"

#include <stdlib.h>

enum { CHANGES_SHOWN_MAX = 8, NAMES_SHOWN_MAX = 8, NAME_SHOWN_MAX = 100 };

static const char *const pinned_members[] = {"annotations",  "description", "inputSchema", "name",
                                             "outputSchema", "title",       NULL};

/* ---- lists ---- */

static struct pin *find_pin(const struct pins *pins, const char *name, size_t length)
{
        for (size_t i = 0; i < pins->pinned_count; i++)
                if (pins->pinned[i].name_length == length && memcmp(pins->pinned[i].name, name, length) == 0)
                        return &pins->pinned[i];
        return NULL;
}

static void free_pin(struct pin *pin)
{
        free(pin->name);
        free(pin->definition);
        *pin = (struct pin){0};
}

/* Adds a pin, which the pins then own, and replaces an earlier pin with that name. False when the list is
 * full. */
static bool set_pin(struct pins *pins, struct pin *pin)
{
        struct pin *earlier = find_pin(pins, pin->name, pin->name_length);
        if (earlier) {
                free_pin(earlier);
                *earlier = *pin;
                return true;
        }
        if (pins->pinned_count == PINS_MAX)
                return false;
        *array_add(pins->pinned, pins->pinned_count) = *pin;
        return true;
}

static void remove_pin(struct pins *pins, struct pin *pin)
{
        free_pin(pin);
        *pin = pins->pinned[--pins->pinned_count];
}

void pins_free(struct pins *pins)
{
        for (size_t i = 0; i < pins->pinned_count; i++)
                free_pin(&pins->pinned[i]);
        free(pins->pinned);
        pins->pinned = NULL;
        pins->pinned_count = 0;
        buf_free(&pins->names);
}

/* ---- the file ---- */

static bool read_hash(struct json_span hex, char hash[SHA256_DIGEST_STRING_LENGTH])
{
        const size_t digits = SHA256_DIGEST_STRING_LENGTH - 1;
        if (!json_is_string(hex) || hex.length != digits + 2)
                return false;
        memcpy(hash, hex.at + 1, digits);
        hash[digits] = 0;
        return strspn(hash, "0123456789abcdef") == digits;
}

static bool read_tool(struct pins *pins, struct json_span record, struct json_span name)
{
        struct pin pin = {0};
        struct json_span definition = json_member(record, "definition");
        bool removed = json_member(record, "removed").at;
        if (!removed && !read_hash(json_member(record, "sha256"), pin.hash))
                return false;
        pin.name = json_text_of(name, &pin.name_length);
        if (removed) {
                struct pin *earlier = find_pin(pins, pin.name, pin.name_length);
                if (earlier)
                        remove_pin(pins, earlier);
                free_pin(&pin);
                return true;
        }
        if (json_is_object(definition)) {
                pin.definition = str_copy_n(definition.at, definition.length);
                pin.definition_length = definition.length;
        }
        if (set_pin(pins, &pin))
                return true;
        free_pin(&pin);
        return false;
}

static bool read_record(struct pins *pins, struct jsonl *scanner, char *line, size_t length)
{
        struct json_span record;
        if (!jsonl_scan_object(scanner, line, length, &record))
                return false;
        struct json_span server = json_member(record, "server"), tool = json_member(record, "tool");
        autofree char *quoted = str_format("\"%s\"", pins->server);
        size_t own_length;
        autofree char *own = json_text_of((struct json_span){quoted, strlen(quoted)}, &own_length);
        if (!json_is_string(server) || (tool.at && !json_is_string(tool)))
                return false;
        if (!json_text_is(server, own))
                return true;
        pins->known = true;
        return !tool.at || read_tool(pins, record, tool);
}

size_t pins_read(struct pins *pins, struct jsonl *scanner, char *text, size_t length)
{
        char *end = text + length, *newline;
        size_t number = 1;
        for (char *line = text; line < end; line = newline + 1, number++) {
                newline = memchr(line, '\n', (size_t)(end - line));
                /* A line without an LF is a record that a full disk cut off. */
                if (!newline || !read_record(pins, scanner, line, (size_t)(newline - line)))
                        return number;
        }
        return 0;
}

/* Sends the record of one tool; the supervisor adds the server. Returns its length. */
static size_t send_record(const struct pin *pin, bool removed)
{
        autobuf out = {0};
        struct json json = {.out = &out};
        json_exact(&json, "tool", pin->name, pin->name_length);
        if (removed)
                json_bool(&json, "removed", true);
        else
                json_exact(&json, "sha256", pin->hash, strlen(pin->hash));
        if (!removed && pin->definition && out.length + pin->definition_length < FILTER_PIN_MAX - 64)
                json_raw(&json, "definition", pin->definition, pin->definition_length);
        filter_report(FILTER_PIN, out.bytes, out.length);
        return out.length;
}

/* ---- a listing ---- */

static void make_pin(struct pin *pin, struct json_span tool, struct json_span name)
{
        struct buf definition = {0};
        *pin = (struct pin){0};
        canonical_put_members(&definition, tool, pinned_members);
        (void)SHA256Data((const uint8_t *)definition.bytes, definition.length, pin->hash);
        pin->name = json_text_of(name, &pin->name_length);
        if (definition.length <= PINS_KEPT_MAX) {
                pin->definition = definition.bytes;
                pin->definition_length = definition.length;
        } else {
                free(definition.bytes);
        }
}

static void report_difference(void *context, const char *line)
{
        (void)context;
        filter_report_line("  %s", line);
}

static void report_change(const struct pin *was, const struct pin *is)
{
        autofree char *name = json_shown(is->name, is->name_length, NAME_SHOWN_MAX);
        filter_report_line(
            "tool \"%s\" differs from the one pinned, and is refused; to accept it as it is now: "
            "--pin-accept",
            name);
        if (was->definition && is->definition)
                canonical_compare((struct json_span){was->definition, was->definition_length},
                                  (struct json_span){is->definition, is->definition_length},
                                  CHANGES_SHOWN_MAX, report_difference, NULL);
        else
                filter_report_line("  its definition is too large to store and show; its hash differs");
}

/* Counts a tool that --pin-accept accepts, and keeps the first names for the report. */
static void add_change(struct pins *pins, const struct pin *pin)
{
        autofree char *name = json_shown(pin->name, pin->name_length, NAME_SHOWN_MAX);
        autofree char *item = str_format("%s\"%s\"", pins->changes == 0 ? ": " : ", ", name);
        if (pins->changes < NAMES_SHOWN_MAX)
                buf_put_text(&pins->names, item);
        else if (pins->changes == NAMES_SHOWN_MAX)
                buf_put_text(&pins->names, ", …");
        pins->changes++;
}

static bool refuse_surplus(void)
{
        filter_report_note("at most %d tools of a server can be pinned, with names and definitions of "
                           "reasonable length; the others are refused",
                           PINS_MAX);
        return false;
}

static bool is_pinning(const struct pins *pins)
{
        return !pins->known || pins->accept;
}

/* Pins a tool as it is now. Does not wait for the end of the list: a server that never ends it would have no
 * pins. */
static bool pin_tool(struct pins *pins, const struct pin *was, struct pin *now)
{
        bool same = was && str_equal(was->hash, now->hash);
        if (now->name_length >= FILTER_PIN_MAX / 8 || (!was && pins->pinned_count == PINS_MAX) ||
            pins->recorded > PINS_RECORDED_MAX) {
                free_pin(now);
                return refuse_surplus();
        }
        if (pins->recorded > PINS_RECORDED_MAX / 2) { /* keep the hash only, to save space */
                free(now->definition);
                now->definition = NULL;
        }
        if (!pins->known && !pins->announced)
                filter_report(FILTER_PIN, "", 0);
        pins->announced = true;
        if (!same) {
                pins->recorded += send_record(now, false);
                add_change(pins, now);
        }
        now->seen = now->pinned_now = true;
        return set_pin(pins, now);
}

void pins_list_begin(struct pins *pins)
{
        pins->listed = 0;
        for (size_t i = 0; i < pins->pinned_count; i++)
                pins->pinned[i].seen = false;
}

bool pins_list_tool(struct pins *pins, struct json_span tool)
{
        struct pin now;
        if (pins->listed == PINS_MAX) /* each tool costs a search */
                return refuse_surplus();
        pins->listed++;
        make_pin(&now, tool, json_member(tool, "name"));
        struct pin *pin = find_pin(pins, now.name, now.name_length);
        if (is_pinning(pins) && !(pin && pin->pinned_now))
                return pin_tool(pins, pin, &now);
        if (!pin) {
                autofree char *name = json_shown(now.name, now.name_length, NAME_SHOWN_MAX);
                filter_report_note(
                    "tool \"%s\" is new since this server's tools were pinned, and is refused; to accept it: "
                    "--pin-accept",
                    name);
                free_pin(&now);
                return false;
        }
        bool changed = !str_equal(pin->hash, now.hash);
        if (changed && !pin->changed)
                report_change(pin, &now);
        pin->seen = true;
        pin->changed = changed;
        free_pin(&now);
        return !changed;
}

/* Ends the first listing, or the one that --pin-accept accepts. */
static void end_pinning(struct pins *pins)
{
        for (size_t i = pins->pinned_count; i > 0; i--) {
                struct pin *pin = &pins->pinned[i - 1];
                if (pin->seen)
                        continue;
                (void)send_record(pin, true);
                add_change(pins, pin);
                remove_pin(pins, pin);
        }
        if (!pins->known && !pins->announced)
                filter_report(FILTER_PIN, "", 0);
        if (!pins->known)
                filter_report_line("pinned %zu tools of this server, as they are now", pins->pinned_count);
        else
                filter_report_line(
                    "--pin-accept: %zu of this server's tools were added, changed or removed (leave "
                    "the option out from the next start on)%.*s",
                    pins->changes, (int)pins->names.length, pins->names.length > 0 ? pins->names.bytes : "");
        pins->known = true;
        pins->accept = false;
}

void pins_list_end(struct pins *pins)
{
        pins->listed = 0;
        if (is_pinning(pins)) {
                end_pinning(pins);
                return;
        }
        for (size_t i = 0; i < pins->pinned_count; i++) {
                const struct pin *pin = &pins->pinned[i];
                if (pin->seen)
                        continue;
                autofree char *name = json_shown(pin->name, pin->name_length, NAME_SHOWN_MAX);
                filter_report_note("tool \"%s\" was pinned and is gone from this server", name);
        }
}

const char *pins_refuse_call(const struct pins *pins, const char *name, size_t length)
{
        const struct pin *pin = find_pin(pins, name, length);
        if (pin)
                return pin->changed
                           ? "it differs from the one pinned; to accept it as it is now: --pin-accept"
                           : NULL;
        return is_pinning(pins) ? NULL
                                : "it is not among the tools that were pinned; to accept it: --pin-accept";
}
