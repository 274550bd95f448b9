/* SPDX-License-Identifier: Apache-2.0
 *
 * See requests.h.
 */
#include "mcp/requests.h"

#include "lib/json_text.h"
#include "lib/str.h"
#include "mcp/jsonl.h"

#include <stdlib.h>

/* The form of an id that is the same for all its spellings. Returns its length. */
static size_t write_key(struct json_span id, char key[JSONL_ID_MAX])
{
        if (!json_is_string(id)) {
                memcpy(key, id.at, id.length);
                return id.length;
        }
        key[0] = '"';
        return 1 + json_unescape(id.at, id.length, key + 1);
}

static struct request **find_bucket(const struct requests *requests, const char *key, size_t length)
{
        uint64_t hash = requests->seed;
        for (size_t i = 0; i < length; i++)
                hash = (hash ^ (unsigned char)key[i]) * 0x100000001B3;
        hash ^= hash >> 32;
        return (struct request **)&requests->buckets[hash % REQUEST_BUCKETS];
}

struct request *requests_find(const struct requests *requests, struct json_span id)
{
        char key[JSONL_ID_MAX];
        size_t length = write_key(id, key);
        struct request *request = *find_bucket(requests, key, length);
        while (request && (request->id_length != length || memcmp(request->id, key, length) != 0))
                request = request->next_in_bucket;
        return request;
}

void requests_remove(struct requests *requests, struct request *request)
{
        struct request **link = find_bucket(requests, request->id, request->id_length);
        while (*link != request)
                link = &(*link)->next_in_bucket;
        *link = request->next_in_bucket;
        *(request->older ? &request->older->newer : &requests->oldest) = request->newer;
        *(request->newer ? &request->newer->older : &requests->newest) = request->older;
        requests->count--;
        buf_free(&request->record);
        free(request);
}

struct request *requests_add(struct requests *requests, struct json_span id)
{
        char key[JSONL_ID_MAX];
        size_t length = write_key(id, key);
        struct request *earlier = requests_find(requests, id);
        if (!earlier && requests->count == REQUEST_MAX)
                earlier = requests->oldest;
        if (earlier)
                requests_remove(requests, earlier);

        struct request *request = str_or_die(calloc(1, sizeof(*request) + length));
        struct request **bucket = find_bucket(requests, key, length);
        request->id_length = length;
        memcpy(request->id, key, length);
        request->next_in_bucket = *bucket;
        *bucket = request;
        request->older = requests->newest;
        *(requests->newest ? &requests->newest->newer : &requests->oldest) = request;
        requests->newest = request;
        requests->count++;
        return request;
}
