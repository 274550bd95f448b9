/* SPDX-License-Identifier: Apache-2.0
 *
 * A stdio MCP server as small as it can be while correct, with one tool, `echo`: for tests and benchmarks
 * that need a server which starts at once and whose every byte is known. It links nothing but libc and
 * decodes no string: it finds values in the line and copies them as they are spelled, so a name written with
 * escapes
 * (`"pin\u0067"`) is unknown to it. It must never write anything but messages to stdout.
 *
 *   tiny_server                a server; ends with status 0 at the end of input
 *   tiny_server --echo         whatever comes in goes out, for measuring the way there and back
 *   tiny_server --sink         answers each line with {}: the way in
 *   tiny_server --source BYTES answers each line with one of BYTES bytes, newline included: the way out
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 64, COPY_SIZE = 64 * 1024 };

/* A piece of the line. `at` is NULL for a value that is not there. */
struct span {
        const char *at;
        size_t length;
};

struct message {
        bool valid; /* one JSON value, alone on its line */
        struct span jsonrpc, id, method, params;
};

/* ---- JSON: each skip_ function moves *at behind one value that ends before `end`; false when there is none
 */

static bool is_one_of(char byte, const char *set)
{
        return byte != '\0' && strchr(set, byte);
}

static void skip_space(const char **at, const char *end)
{
        while (*at < end && is_one_of(**at, " \t\r\n"))
                (*at)++;
}

static bool skip_string(const char **at, const char *end)
{
        if (*at == end || *(*at)++ != '"')
                return false;
        while (*at < end) {
                unsigned char byte = (unsigned char)*(*at)++;
                if (byte == '"')
                        return true;
                if (byte < 0x20)
                        return false;
                if (byte != '\\')
                        continue;
                if (*at == end || !is_one_of(**at, "\"\\/bfnrtu"))
                        return false;
                if (*(*at)++ != 'u')
                        continue;
                for (int i = 0; i < 4; i++)
                        if (*at == end || !is_one_of(*(*at)++, "0123456789abcdefABCDEF"))
                                return false;
        }
        return false;
}

static bool skip_digits(const char **at, const char *end)
{
        const char *start = *at;
        while (*at < end && **at >= '0' && **at <= '9')
                (*at)++;
        return *at > start;
}

static bool skip_number(const char **at, const char *end)
{
        if (*at < end && **at == '-')
                (*at)++;
        const char *start = *at;
        if (!skip_digits(at, end) || (*start == '0' && *at - start > 1))
                return false;
        if (*at < end && **at == '.' && ((*at)++, !skip_digits(at, end)))
                return false;
        if (*at < end && (**at == 'e' || **at == 'E')) {
                (*at)++;
                if (*at < end && (**at == '+' || **at == '-'))
                        (*at)++;
                return skip_digits(at, end);
        }
        return true;
}

static bool skip_word(const char **at, const char *end, const char *word)
{
        size_t length = strlen(word);
        if ((size_t)(end - *at) < length || memcmp(*at, word, length) != 0)
                return false;
        *at += length;
        return true;
}

static bool skip_value(const char **at, const char *end, int depth);

/* What stands between brackets: values, or with `keyed` pairs of a string and a value. */
static bool skip_members(const char **at, const char *end, int depth, bool keyed)
{
        const char close = keyed ? '}' : ']';
        (*at)++;
        skip_space(at, end);
        if (*at < end && **at == close) {
                (*at)++;
                return true;
        }
        for (;;) {
                skip_space(at, end);
                if (keyed) {
                        if (!skip_string(at, end))
                                return false;
                        skip_space(at, end);
                        if (!skip_word(at, end, ":"))
                                return false;
                }
                if (!skip_value(at, end, depth))
                        return false;
                skip_space(at, end);
                if (*at == end)
                        return false;
                char next = *(*at)++;
                if (next == close)
                        return true;
                if (next != ',')
                        return false;
        }
}

static bool skip_value(const char **at, const char *end, int depth)
{
        skip_space(at, end);
        if (*at == end || depth == MAX_DEPTH)
                return false;
        switch (**at) {
        case '{':
                return skip_members(at, end, depth + 1, true);
        case '[':
                return skip_members(at, end, depth + 1, false);
        case '"':
                return skip_string(at, end);
        case 't':
                return skip_word(at, end, "true");
        case 'f':
                return skip_word(at, end, "false");
        case 'n':
                return skip_word(at, end, "null");
        default:
                return skip_number(at, end);
        }
}

static bool is_utf8(const unsigned char *at, const unsigned char *end)
{
        while (at < end) {
                unsigned char first = *at++;
                int more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
                if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || end - at < more)
                        return false;
                /* Too long a form, a surrogate, or above the last code point: seen at the second byte. */
                if ((first == 0xe0 && *at < 0xa0) || (first == 0xed && *at > 0x9f) ||
                    (first == 0xf0 && *at < 0x90) || (first == 0xf4 && *at > 0x8f))
                        return false;
                while (more-- > 0)
                        if ((*at++ & 0xc0) != 0x80)
                                return false;
        }
        return true;
}

static bool is(struct span span, const char *text)
{
        return span.at && span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

static bool begins(struct span span, char first)
{
        return span.at && span.at[0] == first;
}

/* The value of `quoted_key` in an object that was found valid before; of equal keys the last. */
static struct span member(struct span object, const char *quoted_key)
{
        struct span found = {0};
        if (!begins(object, '{'))
                return found;
        const char *at = object.at + 1, *end = object.at + object.length;
        for (skip_space(&at, end); at < end && *at != '}'; skip_space(&at, end)) {
                struct span key = {.at = at}, value;
                skip_string(&at, end);
                key.length = (size_t)(at - key.at);
                skip_space(&at, end);
                at++; /* the colon */
                skip_space(&at, end);
                value.at = at;
                skip_value(&at, end, 0);
                value.length = (size_t)(at - value.at);
                if (is(key, quoted_key))
                        found = value;
                skip_space(&at, end);
                if (*at == ',')
                        at++;
        }
        return found;
}

/* ---- answers */

static void print_span(struct span span)
{
        fwrite(span.at, 1, span.length, stdout);
}

static void begin_answer(struct span id, const char *kind)
{
        fputs("{\"jsonrpc\":\"2.0\",\"id\":", stdout);
        if (id.at)
                print_span(id);
        else
                fputs("null", stdout);
        printf(",\"%s\":", kind);
}

static void answer_error(struct span id, int code, const char *text)
{
        begin_answer(id, "error");
        printf("{\"code\":%d,\"message\":\"%s\"}}\n", code, text);
}

static void answer_result(struct span id, const char *json)
{
        begin_answer(id, "result");
        printf("%s}\n", json);
}

static void answer_initialize(struct span id, struct span params)
{
        static const char *const versions[] = {"\"2025-11-25\"", "\"2025-06-18\"", "\"2025-03-26\"",
                                               "\"2024-11-05\""};
        const char *version = versions[0];
        struct span asked = member(params, "\"protocolVersion\"");
        for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
                if (is(asked, versions[i]))
                        version = versions[i];
        begin_answer(id, "result");
        printf("{\"protocolVersion\":%s,\"capabilities\":{\"tools\":{}},"
               "\"serverInfo\":{\"name\":\"tiny-server\",\"version\":\"1.0.0\"}}}\n",
               version);
}

static void answer_call(struct span id, struct span params)
{
        if (!is(member(params, "\"name\""), "\"echo\"")) {
                answer_error(id, -32602, "Unknown tool");
                return;
        }
        struct span text = member(member(params, "\"arguments\""), "\"text\"");
        if (!begins(text, '"')) {
                answer_result(id,
                              "{\"content\":[{\"type\":\"text\",\"text\":\"echo needs the string text\"}],"
                              "\"isError\":true}");
                return;
        }
        begin_answer(id, "result");
        fputs("{\"content\":[{\"type\":\"text\",\"text\":", stdout);
        print_span(text);
        fputs("}],\"isError\":false}}\n", stdout);
}

static void answer(const struct message *message)
{
        static const struct span none = {0};
        if (!message->valid) {
                answer_error(none, -32700, "Parse error");
                return;
        }
        /* An answer to a request of ours would be one; we never ask. */
        bool is_response = !message->method.at && message->id.at;
        bool id_fits = !message->id.at || begins(message->id, '"') || begins(message->id, '-') ||
                       (message->id.at[0] >= '0' && message->id.at[0] <= '9');
        if (is(message->jsonrpc, "\"2.0\"") && is_response && id_fits)
                return;
        if (!is(message->jsonrpc, "\"2.0\"") || !begins(message->method, '"') || !id_fits) {
                answer_error(id_fits ? message->id : none, -32600, "Invalid Request");
                return;
        }
        if (!message->id.at)
                return;
        if (is(message->method, "\"initialize\""))
                answer_initialize(message->id, message->params);
        else if (is(message->method, "\"ping\""))
                answer_result(message->id, "{}");
        else if (is(message->method, "\"tools/list\""))
                answer_result(message->id,
                              "{\"tools\":[{\"name\":\"echo\",\"description\":\"Gives back the text\","
                              "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
                              "\"string\"}},\"required\":[\"text\"]}}]}");
        else if (is(message->method, "\"tools/call\""))
                answer_call(message->id, message->params);
        else
                answer_error(message->id, -32601, "Method not found");
}

static struct message parse(const char *line, size_t length)
{
        const char *at = line, *end = line + length;
        skip_space(&at, end);
        struct span all = {.at = at, .length = (size_t)(end - at)};
        struct message message = {.valid = skip_value(&at, end, 0)};
        skip_space(&at, end);
        message.valid =
            message.valid && at == end && is_utf8((const unsigned char *)line, (const unsigned char *)end);
        if (!message.valid)
                return message;
        message.jsonrpc = member(all, "\"jsonrpc\"");
        message.id = member(all, "\"id\"");
        message.method = member(all, "\"method\"");
        message.params = member(all, "\"params\"");
        return message;
}

/* Each answer is out before the next line is read. */
static int serve(void)
{
        char *line = NULL;
        size_t size = 0;
        ssize_t length;
        while ((length = getline(&line, &size, stdin)) > 0) {
                const char *at = line;
                skip_space(&at, line + length);
                if (at == line + length)
                        continue; /* an empty line is no message */
                struct message message = parse(line, (size_t)length);
                answer(&message);
                if (fflush(stdout) != 0)
                        return 1;
        }
        free(line);
        return ferror(stdin) ? 1 : 0;
}

/* ---- the modes that only move bytes: plain reads and writes, so that they are no part of what is measured
 */

static bool write_all(const char *data, size_t length)
{
        while (length > 0) {
                ssize_t count = write(STDOUT_FILENO, data, length);
                if (count < 0)
                        return false;
                data += count;
                length -= (size_t)count;
        }
        return true;
}

/* With `reply` NULL everything read, else the reply for each line. */
static int move_bytes(const char *reply, size_t reply_length)
{
        static char buffer[COPY_SIZE];
        ssize_t count;
        while ((count = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0) {
                if (!reply && !write_all(buffer, (size_t)count))
                        return 1;
                const char *at = buffer, *end = buffer + count;
                while (reply && (at = memchr(at, '\n', (size_t)(end - at)))) {
                        if (!write_all(reply, reply_length))
                                return 1;
                        at++;
                }
        }
        return count == 0 ? 0 : 1;
}

static int produce(size_t length)
{
        static const char begin[] = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"x\":\"",
                          end[] = "\"}}\n";
        const size_t begin_length = sizeof(begin) - 1, end_length = sizeof(end) - 1;
        if (length < begin_length + end_length)
                return 2;
        char *line = malloc(length);
        if (!line)
                return 1;
        memset(line, 'x', length);
        memcpy(line, begin, begin_length);
        memcpy(line + length - end_length, end, end_length);
        int status = move_bytes(line, length);
        free(line);
        return status;
}

int main(int argc, char **argv)
{
        if (argc == 1)
                return serve();
        if (argc == 2 && strcmp(argv[1], "--echo") == 0)
                return move_bytes(NULL, 0);
        if (argc == 2 && strcmp(argv[1], "--sink") == 0)
                return move_bytes("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n", 31);
        if (argc == 3 && strcmp(argv[1], "--source") == 0)
                return produce((size_t)strtoul(argv[2], NULL, 10));
        fputs("usage: tiny_server [--echo | --sink | --source BYTES]\n", stderr);
        return 2;
}
