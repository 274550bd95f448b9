/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a client or a server: the first byte says whether batches are accepted. What is accepted is
 * accepted again as it was written, without a change; walking through it stays inside it.
 */
#include "fuzz.h"

#include "lib/fd.h"
#include "lib/json_text.h"
#include "mcp/jsonl.h"

static struct jsonl jsonl = {.seed = 0xFEDCBA9876543210};

static void walk(struct json_span value, const char *begin, const char *end)
{
        struct json_span key, item;
        char *position = NULL;
        FUZZ_CHECK(value.length > 0 && value.at >= begin && value.at + value.length <= end);
        if (json_is_string(value)) {
                autofree char *text = str_or_die(malloc(value.length));
                FUZZ_CHECK(json_unescape(value.at, value.length, text) <= value.length - 2);
        }
        if (!json_is_object(value) && !json_is_array(value))
                return;
        while (json_next(value, &position, &key, &item)) {
                FUZZ_CHECK(json_is_string(key) == json_is_object(value));
                walk(item, begin, end);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct jsonl_message message, again;
        if (size == 0)
                return 0;
        autofree char *line = (char *)fuzz_copy(data + 1, size - 1);
        if (jsonl_scan(&jsonl, line, size - 1, data[0] & 1, &message))
                return 0;
        FUZZ_CHECK(message.length <= size - 1);
        if (message.kind == JSONL_BLANK)
                return 0;
        walk((struct json_span){line, message.length}, line, line + message.length);
        autofree char *copy = (char *)fuzz_copy((const uint8_t *)line, message.length);
        FUZZ_CHECK(!jsonl_scan(&jsonl, copy, message.length, data[0] & 1, &again));
        FUZZ_CHECK(again.length == message.length && again.kind == message.kind);
        FUZZ_CHECK(memcmp(copy, line, message.length) == 0);
        return 0;
}
