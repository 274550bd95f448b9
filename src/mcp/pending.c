/* SPDX-License-Identifier: Apache-2.0
 *
 * See pending.h.
 */
#include "mcp/pending.h"

#include "lib/str.h"
#include "mcp/json_text.h"
#include "mcp/jsonl.h"

#include <stdlib.h>

/* The id by which two spellings of it compare. Returns its length. */
static size_t write_key(struct json_span id, char key[JSONL_ID_MAX])
{
        if (!json_is_string(id)) {
                memcpy(key, id.at, id.length);
                return id.length;
        }
        key[0] = '"';
        return 1 + json_unescape(id.at, id.length, key + 1);
}

static struct pending **find_bucket(const struct pending_table *table, const char *key, size_t length)
{
        uint64_t hash = table->seed;
        for (size_t i = 0; i < length; i++)
                hash = (hash ^ (unsigned char)key[i]) * 0x100000001B3;
        hash ^= hash >> 32;
        return (struct pending **)&table->buckets[hash % (sizeof(table->buckets) / sizeof(*table->buckets))];
}

static struct pending *find(const struct pending_table *table, const char *key, size_t length)
{
        for (struct pending *request = *find_bucket(table, key, length); request;
             request = request->next_in_bucket)
                if (request->id_length == length && memcmp(request->id, key, length) == 0)
                        return request;
        return NULL;
}

struct pending *pending_find(const struct pending_table *table, struct json_span id)
{
        char key[JSONL_ID_MAX];
        size_t length = write_key(id, key);
        return find(table, key, length);
}

void pending_remove(struct pending_table *table, struct pending *request)
{
        struct pending **link = find_bucket(table, request->id, request->id_length);
        while (*link != request)
                link = &(*link)->next_in_bucket;
        *link = request->next_in_bucket;
        *(request->older ? &request->older->newer : &table->oldest) = request->newer;
        *(request->newer ? &request->newer->older : &table->newest) = request->older;
        table->count--;
        free(request->record);
        free(request);
}

struct pending *pending_add(struct pending_table *table, struct json_span id)
{
        char key[JSONL_ID_MAX];
        size_t length = write_key(id, key);
        struct pending *earlier = find(table, key, length);
        if (!earlier && table->count == PENDING_MAX)
                earlier = table->oldest;
        if (earlier)
                pending_remove(table, earlier);

        struct pending *request = str_or_die(calloc(1, sizeof(*request) + length));
        struct pending **bucket = find_bucket(table, key, length);
        request->id_length = length;
        memcpy(request->id, key, length);
        request->next_in_bucket = *bucket;
        *bucket = request;
        request->older = table->newest;
        *(table->newest ? &table->newest->newer : &table->oldest) = request;
        table->newest = request;
        table->count++;
        return request;
}
