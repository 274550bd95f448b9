/* SPDX-License-Identifier: Apache-2.0
 *
 * See jsonl.h.
 *
 * Theory of operation. One pass with two pointers into the same line: `in` reads, and `out` writes. `out`
 * never overtakes `in`, because only white space is ever left out. Each byte that is written has just been
 * understood, or belongs to a token that has just been validated. Strings are most of a line, so their plain
 * bytes are scanned sixteen at a time, and they are moved only if something before them was left out.
 *
 * There is no recursion: `frames` holds the open objects and arrays. Each frame knows its context: how far it
 * belongs to the message itself, and not to a payload. In a context with known keys, a key that another
 * parser could fold onto one of them is refused: Go and cJSON ignore case, Go also takes U+017F for s, and
 * the Python SDK takes input_requests for inputRequests. Repeated keys are found when their object closes, by
 * hashes whose seed the writer of the line does not know. Two keys with the same hash are refused too: that
 * fails closed, and happens once in 10^7 objects of a million members.
 */
#include "mcp/jsonl.h"

#include "lib/fd.h"
#include "lib/json_text.h"
#include "lib/str.h"
#include "lib/utf8.h"

#include <stdlib.h>

/* How far an object or array belongs to the message itself. */
enum context {
        PAYLOAD, /* opaque: checked for form and repeated keys only */
        BATCH,
        ENVELOPE,
        PARAMS,
        META,
        RESULT,
        TOOLS,
        TOOL,
        INPUTS,
        INPUT,
        FAILURE,
        FAILURE_DATA,
};

/* Where a message has the value: the offset of that part, of which none is 0. */
#define PART(name) offsetof(struct jsonl_message, name)
enum { NO_PART };

struct known_key {
        enum context context;
        const char *key;
        enum context inside; /* of its value */
        bool is_text;        /* decisions depend on its value: if it is a string, it must be plain text */
        size_t part;
};

static const struct known_key known_keys[] = {
    {ENVELOPE, "jsonrpc", PAYLOAD, true, PART(version)},
    {ENVELOPE, "id", PAYLOAD, true, PART(id)},
    {ENVELOPE, "method", PAYLOAD, true, PART(method)},
    {ENVELOPE, "params", PARAMS, false, PART(params)},
    {ENVELOPE, "result", RESULT, false, PART(result)},
    {ENVELOPE, "error", FAILURE, false, PART(error)},
    {PARAMS, "name", PAYLOAD, true, NO_PART},
    {PARAMS, "arguments", PAYLOAD, false, NO_PART},
    {PARAMS, "_meta", META, false, NO_PART},
    {PARAMS, "task", PAYLOAD, false, NO_PART},
    {PARAMS, "uri", PAYLOAD, false, NO_PART},
    {PARAMS, "cursor", PAYLOAD, false, NO_PART},
    {PARAMS, "requestId", PAYLOAD, true, NO_PART},
    {PARAMS, "protocolVersion", PAYLOAD, true, NO_PART},
    {PARAMS, "capabilities", PAYLOAD, false, NO_PART},
    {PARAMS, "inputRequests", INPUTS, false, NO_PART},
    {PARAMS, "inputResponses", PAYLOAD, false, NO_PART},
    {PARAMS, "requestState", PAYLOAD, false, NO_PART},
    {META, "io.modelcontextprotocol/protocolVersion", PAYLOAD, true, NO_PART},
    {RESULT, "tools", TOOLS, false, NO_PART},
    {RESULT, "nextCursor", PAYLOAD, false, NO_PART},
    {RESULT, "resultType", PAYLOAD, true, NO_PART},
    {RESULT, "content", PAYLOAD, false, NO_PART},
    {RESULT, "isError", PAYLOAD, false, NO_PART},
    {RESULT, "structuredContent", PAYLOAD, false, NO_PART},
    {RESULT, "inputRequests", INPUTS, false, NO_PART},
    {RESULT, "requestState", PAYLOAD, false, NO_PART},
    {RESULT, "protocolVersion", PAYLOAD, true, NO_PART},
    {TOOL, "name", PAYLOAD, true, NO_PART},
    {TOOL, "title", PAYLOAD, false, NO_PART},
    {TOOL, "description", PAYLOAD, false, NO_PART},
    {TOOL, "inputSchema", PAYLOAD, false, NO_PART},
    {TOOL, "outputSchema", PAYLOAD, false, NO_PART},
    {TOOL, "annotations", PAYLOAD, false, NO_PART},
    {INPUT, "method", PAYLOAD, true, NO_PART},
    {INPUT, "params", PAYLOAD, false, NO_PART},
    {FAILURE, "code", PAYLOAD, false, NO_PART},
    {FAILURE, "message", PAYLOAD, false, NO_PART},
    {FAILURE, "data", FAILURE_DATA, false, NO_PART},
    {FAILURE_DATA, "elicitations", PAYLOAD, false, NO_PART},
};
enum { KNOWN_KEYS = sizeof(known_keys) / sizeof(*known_keys), KNOWN_KEY_MAX = 64 };

struct frame {
        enum context context;
        bool is_object;
        size_t first_key; /* the index of its first key among the hashes */
};

struct scan {
        struct jsonl *jsonl;
        struct jsonl_message *message;
        const unsigned char *in, *end;
        unsigned char *out;
        size_t depth, key_count;
        const struct known_key *known; /* the key of the next value, or NULL if it is not among known_keys */
        struct json_span *part;        /* the part of the message that is being read, or NULL */
        const char *why;
        struct frame frames[JSONL_DEPTH_MAX];
};

static bool scan_refuse(struct scan *scan, const char *why)
{
        if (!scan->why)
                scan->why = why;
        return false;
}

/* ---- strings ---- */
/* Reads the string that begins at `in` and writes it. */
static bool take_string(struct scan *scan, struct json_span *string, unsigned *has)
{
        const unsigned char *begin = scan->in, *at = begin + 1;
        for (;;) {
                at = json_skip_plain(at, scan->end);
                if (at == scan->end)
                        return scan_refuse(scan, "a string is not terminated");
                if (*at == '"')
                        break;
                if (*at == '\\') {
                        at = json_skip_escape(at, scan->end, has);
                        if (!at)
                                return scan_refuse(scan, "a string has an invalid escape");
                        continue;
                }
                if (*at < 0x20)
                        return scan_refuse(scan, "a string contains a control byte");
                do {
                        size_t length = utf8_measure(at, scan->end);
                        if (length == 0)
                                return scan_refuse(scan, "it is not UTF-8");
                        at += length;
                } while (at < scan->end && *at >= 0x80);
        }
        size_t length = (size_t)(at + 1 - begin);
        if (scan->out != begin)
                memmove(scan->out, begin, length);
        *string = (struct json_span){(char *)scan->out, length};
        scan->out += length;
        scan->in = at + 1;
        return true;
}

/* ---- keys ---- */

/* One step of a multiply-and-fold hash: XOR of both halves of the 128-bit product. */
static uint64_t mix(uint64_t a, uint64_t b)
{
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(uint64_t seed, const char *text, size_t length)
{
        uint64_t state = mix(seed ^ length, 0x9E3779B97F4A7C15);
        while (length > 0) {
                uint64_t word = 0;
                size_t part = length < sizeof(word) ? length : sizeof(word);
                memcpy(&word, text, part);
                state = mix(state ^ word, seed | 1);
                text += part;
                length -= part;
        }
        return mix(state, 0xD6E8FEB86659FD93 ^ seed);
}

static bool remember_key(struct scan *scan, uint64_t key)
{
        struct jsonl *jsonl = scan->jsonl;
        if (scan->key_count == JSONL_MEMBERS_MAX)
                return scan_refuse(scan, "its open objects have more than a million members");
        if (scan->key_count == jsonl->keys_room) {
                jsonl->keys_room = jsonl->keys_room ? 2 * jsonl->keys_room : 64;
                jsonl->keys = str_or_die(reallocarray(jsonl->keys, jsonl->keys_room, sizeof(*jsonl->keys)));
        }
        jsonl->keys[scan->key_count++] = key;
        return true;
}

static void sift(uint64_t *heap, size_t root, size_t count)
{
        uint64_t moved = heap[root];
        size_t child;
        while ((child = 2 * root + 1) < count) {
                if (child + 1 < count && heap[child + 1] > heap[child])
                        child++;
                if (heap[child] <= moved)
                        break;
                heap[root] = heap[child];
                root = child;
        }
        heap[root] = moved;
}

/* True when two of the hashes are equal; reorders them. Heapsort, because qsort() asks the system how much
 * memory there is, which the system call filter does not permit. */
static bool has_twice(uint64_t *keys, size_t count)
{
        enum { FEW = 16 };
        if (count <= FEW) {
                for (size_t i = 1; i < count; i++)
                        for (size_t j = 0; j < i; j++)
                                if (keys[i] == keys[j])
                                        return true;
                return false;
        }
        for (size_t i = count / 2; i > 0; i--)
                sift(keys, i - 1, count);
        for (size_t left = count - 1; left > 0; left--) {
                uint64_t largest = keys[0];
                keys[0] = keys[left];
                keys[left] = largest;
                sift(keys, 0, left);
                if (left + 1 < count && keys[left] == keys[left + 1])
                        return true;
        }
        return keys[0] == keys[1];
}

/* The next character of a key as some parser folds it: in lower case, including the characters outside ASCII
 * that fold to ASCII. */
static char fold(const char *text, size_t length, size_t *used)
{
        static const struct {
                const char *bytes;
                char as;
        } odd[] = {{"\xC5\xBF", 's'}, {"\xE2\x84\xAA", 'k'}, {"\xC4\xB0", 'i'}, {"\xC4\xB1", 'i'}};
        for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
                *used = strlen(odd[i].bytes);
                if (*used <= length && memcmp(text, odd[i].bytes, *used) == 0)
                        return odd[i].as;
        }
        *used = 1;
        if (*text >= 'A' && *text <= 'Z')
                return (char)(*text | 0x20);
        return *text;
}

static bool folds_onto(const char *text, size_t length, const char *known)
{
        while (length > 0 && (*known || *text == '_')) {
                size_t used, one;
                if (*text == '_' && *known != '_') {
                        text++;
                        length--;
                        continue;
                }
                if (fold(text, length, &used) != fold(known, 1, &one))
                        return false;
                text += used;
                length -= used;
                known++;
        }
        return length == 0 && !*known;
}

/* Sets `known` for the key. Refuses a key that only resembles a known one. */
static bool find_known(struct scan *scan, enum context context, const char *text, size_t length)
{
        scan->known = NULL;
        if (context == PAYLOAD || context == INPUTS || length > KNOWN_KEY_MAX)
                return true;
        for (size_t i = 0; i < KNOWN_KEYS; i++) {
                const struct known_key *known = &known_keys[i];
                if (known->context != context)
                        continue;
                if (strlen(known->key) == length && memcmp(known->key, text, length) == 0)
                        scan->known = known;
                else if (folds_onto(text, length, known->key))
                        return scan_refuse(scan, "a key differs from one of the protocol's only in upper and "
                                                 "lower case or underscores");
        }
        return true;
}

static bool take_key(struct scan *scan)
{
        enum context context = scan->frames[scan->depth - 1].context;
        struct json_span string = {(char *)scan->out, 0}; /* where take_string() writes it */
        unsigned has = 0;
        if (scan->in == scan->end || *scan->in != '"')
                return scan_refuse(scan, "an object has something other than a quoted key");
        if (!take_string(scan, &string, &has))
                return false;
        if (has & (JSON_HAS_NUL | JSON_HAS_LONE_SURROGATE))
                return scan_refuse(scan, "a key contains \\u0000 or a lone surrogate");
        if (!(has & JSON_HAS_ESCAPES)) {
                const char *text = string.at + 1;
                return remember_key(scan, hash(scan->jsonl->seed, text, string.length - 2)) &&
                       find_known(scan, context, text, string.length - 2);
        }
        size_t length;
        autofree char *text = json_text_of(string, &length);
        return remember_key(scan, hash(scan->jsonl->seed, text, length)) &&
               find_known(scan, context, text, length);
}

/* ---- everything else ---- */

static void skip_blanks(struct scan *scan)
{
        while (scan->in < scan->end && (*scan->in == ' ' || *scan->in == '\t'))
                scan->in++;
}

/* Skips blanks. If the next byte is `wanted`, writes it. */
static bool take_byte(struct scan *scan, unsigned char wanted)
{
        skip_blanks(scan);
        if (scan->in == scan->end || *scan->in != wanted)
                return false;
        *scan->out++ = *scan->in++;
        return true;
}

static size_t count_digits(const unsigned char *at, const unsigned char *end)
{
        const unsigned char *begin = at;
        while (at < end && *at >= '0' && *at <= '9')
                at++;
        return (size_t)(at - begin);
}

static void write_token(struct scan *scan, size_t length)
{
        memmove(scan->out, scan->in, length);
        scan->out += length;
        scan->in += length;
}

static bool take_number(struct scan *scan)
{
        static const char bad[] = "a number is not valid JSON";
        const unsigned char *at = scan->in, *end = scan->end;
        if (*at == '-')
                at++;
        size_t digits = count_digits(at, end);
        if (digits == 0 || (digits > 1 && *at == '0'))
                return scan_refuse(scan, bad);
        at += digits;
        if (at < end && *at == '.') {
                digits = count_digits(++at, end);
                if (digits == 0)
                        return scan_refuse(scan, bad);
                at += digits;
        }
        if (at < end && (*at == 'e' || *at == 'E')) {
                at++;
                if (at < end && (*at == '+' || *at == '-'))
                        at++;
                digits = count_digits(at, end);
                if (digits == 0)
                        return scan_refuse(scan, bad);
                at += digits;
        }
        write_token(scan, (size_t)(at - scan->in));
        return true;
}

static bool take_literal(struct scan *scan)
{
        static const char *const literals[] = {"true", "false", "null"};
        size_t left = (size_t)(scan->end - scan->in);
        for (size_t i = 0; i < sizeof(literals) / sizeof(*literals); i++) {
                size_t length = strlen(literals[i]);
                if (length <= left && memcmp(scan->in, literals[i], length) == 0) {
                        write_token(scan, length);
                        return true;
                }
        }
        return scan_refuse(scan, "it is not JSON");
}

/* The context of the next value. */
static enum context context_inside(const struct scan *scan, enum context top)
{
        if (scan->depth == 0)
                return top;
        switch (scan->frames[scan->depth - 1].context) {
        case BATCH:
                return ENVELOPE;
        case TOOLS:
                return TOOL;
        case INPUTS:
                return INPUT;
        default:
                return scan->known ? scan->known->inside : PAYLOAD;
        }
}

/* Opens the object or array that begins at `in`. An array where an object is expected, or the reverse, is a
 * payload. */
static bool open_frame(struct scan *scan, enum context context)
{
        bool is_object = *scan->in == '{';
        if (scan->depth == JSONL_DEPTH_MAX)
                return scan_refuse(scan, "it is nested deeper than 128 levels");
        if (is_object == (context == TOOLS || context == BATCH))
                context = PAYLOAD;
        scan->frames[scan->depth++] = (struct frame){context, is_object, scan->key_count};
        *scan->out++ = *scan->in++;
        return true;
}

static bool close_frame(struct scan *scan)
{
        struct frame *frame = &scan->frames[--scan->depth];
        size_t count = scan->key_count - frame->first_key;
        if (count > 1 && has_twice(scan->jsonl->keys + frame->first_key, count))
                return scan_refuse(scan, "an object has the same key twice");
        scan->key_count = frame->first_key;
        return true;
}

static bool take_scalar(struct scan *scan)
{
        unsigned char first = *scan->in;
        if (first == '"') {
                struct json_span string = {0};
                unsigned has = 0;
                if (!take_string(scan, &string, &has))
                        return false;
                if (scan->known && scan->known->is_text && (has & (JSON_HAS_NUL | JSON_HAS_LONE_SURROGATE)))
                        return scan_refuse(scan, "a name or id contains \\u0000 or a lone surrogate");
                return true;
        }
        if (first == '-' || (first >= '0' && first <= '9'))
                return take_number(scan);
        return take_literal(scan);
}

/* Reads up to the next value of the open frame; in an object that is its key. */
static bool read_up_to_value(struct scan *scan)
{
        scan->known = NULL;
        if (!scan->frames[scan->depth - 1].is_object)
                return true;
        skip_blanks(scan);
        if (!take_key(scan))
                return false;
        if (!take_byte(scan, ':'))
                return scan_refuse(scan, "a key has no value");
        if (scan->depth == 1) {
                bool is_part = scan->known && scan->known->part != NO_PART;
                scan->part = is_part ? (void *)((char *)scan->message + scan->known->part) : NULL;
                if (is_part)
                        *scan->part = (struct json_span){(char *)scan->out, 0};
        }
        return true;
}

/* Reads what follows a value: a comma and the next key, or closing brackets. True if a value follows. */
static bool read_past_value(struct scan *scan)
{
        while (scan->depth > 0) {
                if (scan->depth == 1 && scan->part)
                        scan->part->length = (size_t)((char *)scan->out - scan->part->at);
                if (take_byte(scan, ','))
                        return read_up_to_value(scan);
                if (!take_byte(scan, scan->frames[scan->depth - 1].is_object ? '}' : ']'))
                        return scan_refuse(scan, "it is not JSON");
                if (!close_frame(scan))
                        return false;
        }
        return false;
}

/* Reads one value, with everything inside it. */
static bool scan_value(struct scan *scan, enum context top)
{
        for (;;) {
                skip_blanks(scan);
                if (scan->in == scan->end)
                        return scan_refuse(scan, "it ends in the middle");
                if (*scan->in == '{' || *scan->in == '[') {
                        if (!open_frame(scan, context_inside(scan, top)))
                                return false;
                        if (!take_byte(scan, scan->frames[scan->depth - 1].is_object ? '}' : ']')) {
                                if (!read_up_to_value(scan))
                                        return false;
                                continue;
                        }
                        (void)close_frame(scan); /* it is empty, so it repeats no key */
                } else if (!take_scalar(scan)) {
                        return false;
                }
                if (!read_past_value(scan))
                        return !scan->why;
        }
}

/* ---- the message ---- */

/* True for a string, or for an integer that every parser reads exactly, in its only spelling. */
static bool is_id(struct json_span id)
{
        static const char largest[] = "9007199254740992"; /* 2^53 */
        const char *digits = id.at;
        size_t length = id.length;
        if (!digits || length == 0 || length > JSONL_ID_MAX)
                return false;
        if (*digits == '"')
                return true;
        bool negative = *digits == '-';
        digits += negative;
        length -= negative;
        if (length == 0 ||
            length != count_digits((const unsigned char *)digits, (const unsigned char *)digits + length))
                return false;
        if (negative && *digits == '0')
                return false;
        return length < strlen(largest) ||
               (length == strlen(largest) && memcmp(digits, largest, length) <= 0);
}

static bool is_null(struct json_span value)
{
        return value.at && *value.at == 'n';
}

static const char *judge_request(struct jsonl_message *message)
{
        if (!json_is_string(message->method))
                return "its method is not a string";
        if (message->result.at || message->error.at)
                return "it is a request and an answer at once";
        if (message->params.at && !json_is_object(message->params) && !is_null(message->params))
                return "its params are not an object";
        message->kind = message->id.at ? JSONL_REQUEST : JSONL_NOTIFICATION;
        return NULL;
}

static const char *judge_answer(struct jsonl_message *message)
{
        if (!message->result.at == !message->error.at)
                return message->result.at ? "it has a result and an error at once"
                                          : "it is not a JSON-RPC message";
        if (message->error.at && !json_is_object(message->error))
                return "its error is not an object";
        if (!message->id.at)
                return "it is an answer without an id";
        message->kind = message->result.at ? JSONL_RESPONSE : JSONL_ERROR;
        return NULL;
}

/* Only an error may have a null id: its sender does not know the request. */
static const char *judge_id(struct jsonl_message *message)
{
        if (!message->id.at || is_id(message->id) || (message->kind == JSONL_ERROR && is_null(message->id)))
                return NULL;
        message->id = (struct json_span){0};
        return "its id is neither a string of at most 256 bytes nor an integer within 2^53";
}

static const char *judge_message(struct jsonl_message *message)
{
        if (message->version.at && !json_text_is(message->version, "2.0"))
                return "its version is not JSON-RPC 2.0";
        const char *why = message->method.at ? judge_request(message) : judge_answer(message);
        const char *why_id = judge_id(message);
        return why ? why : why_id;
}

/* True for an array that is not empty and contains only objects. */
static bool is_batch(char *line, size_t length)
{
        struct json_span all = {line, length}, key, item;
        char *position = NULL;
        size_t count = 0;
        while (json_next(all, &position, &key, &item)) {
                if (!json_is_object(item))
                        return false;
                count++;
        }
        return count > 0;
}

static const char *scan_line(struct scan *scan, bool batches)
{
        skip_blanks(scan);
        if (scan->in == scan->end)
                return NULL;
        bool array = *scan->in == '[';
        if (*scan->in != '{' && !(array && batches))
                return array ? "it is a batch, which only protocol revision 2025-03-26 permits"
                             : "it is not a JSON object";
        if (!scan_value(scan, array ? BATCH : ENVELOPE))
                return scan->why;
        skip_blanks(scan);
        if (scan->in != scan->end)
                return "something follows the object";
        if (!array)
                return judge_message(scan->message);
        scan->message->kind = JSONL_BATCH;
        return NULL;
}

static void begin_scan(struct scan *scan, struct jsonl *jsonl, char *line, size_t length,
                       struct jsonl_message *message)
{
        *message = (struct jsonl_message){.kind = JSONL_BLANK};
        scan->jsonl = jsonl;
        scan->message = message;
        scan->in = scan->out = (unsigned char *)line;
        scan->end = scan->in + length;
        scan->depth = scan->key_count = 0;
        scan->known = NULL;
        scan->part = NULL;
        scan->why = NULL; /* frames are initialized when they are opened */
}

const char *jsonl_scan(struct jsonl *jsonl, char *line, size_t length, bool batches,
                       struct jsonl_message *message)
{
        struct scan scan;
        begin_scan(&scan, jsonl, line, length, message);
        const char *why = scan_line(&scan, batches);
        message->length = (size_t)(scan.out - (unsigned char *)line);
        if (!why && message->kind == JSONL_BATCH && !is_batch(line, message->length))
                why = "it is a batch that is empty or contains something other than messages";
        if (why && !is_id(message->id))
                message->id = (struct json_span){0};
        return why;
}

bool jsonl_scan_object(struct jsonl *jsonl, char *line, size_t length, struct json_span *object)
{
        struct jsonl_message message;
        struct scan scan;
        begin_scan(&scan, jsonl, line, length, &message);
        if (length == 0 || *line != '{' || !scan_value(&scan, PAYLOAD) || scan.in != scan.end)
                return false;
        *object = (struct json_span){line, (size_t)(scan.out - (unsigned char *)line)};
        return true;
}

void jsonl_free(struct jsonl *jsonl)
{
        free(jsonl->keys);
        *jsonl = (struct jsonl){0};
}
