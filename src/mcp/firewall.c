/* SPDX-License-Identifier: Apache-2.0
 *
 * See firewall.h.
 */
#include "mcp/firewall.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/json.h"
#include "lib/json_text.h"
#include "lib/line.h"
#include "lib/str.h"
#include "mcp/report.h"

#include <stdlib.h>

enum {
        NAME_SHOWN_MAX = 100,
        NAME_JUDGED_MAX = 1024,      /* matching takes time in proportion to the name's length */
        BATCH_ANSWERS_MAX = 1 << 20, /* bytes of answers that one batch may cause */
        ERROR_INVALID_REQUEST = -32600,
        ERROR_METHOD = -32601,
        ERROR_PARAMS = -32602,
        ERROR_INTERNAL = -32603
};

static const char VERSION_KEY[] = "io.modelcontextprotocol/protocolVersion";

static const char *const side_names[] = {[CLIENT] = "client", [SERVER] = "server"};

/* A refusal: its reason, and the option that would permit what was refused. */
struct refusal {
        const char *why;    /* half a sentence; NULL: not refused */
        const char *option; /* or NULL */
};

/* ---- the filter's own answers ---- */

static struct json begin_answer(struct buf *out, struct json_span id)
{
        struct json json = {.out = out};
        json_open(&json, NULL, '{');
        json_text(&json, "jsonrpc", "2.0");
        json_raw(&json, "id", id.at, id.length);
        return json;
}

static void put_error(struct buf *out, struct json_span id, int code, const char *what, const char *why)
{
        struct json json = begin_answer(out, id);
        autofree char *number = str_format("%d", code);
        autofree char *sentence = str_format("hutch refused %s: %s", what, why);
        json_open(&json, "error", '{');
        json_raw(&json, "code", number, strlen(number));
        json_exact(&json, "message", sentence, strlen(sentence));
        json_close(&json, "}}");
        buf_put_text(out, "\n");
}

/* Answers a call with a tool error, because a model reads that and can tell the user. */
static void put_tool_error(struct buf *out, struct json_span id, bool modern, const char *text)
{
        struct json json = begin_answer(out, id);
        json_open(&json, "result", '{');
        json_open(&json, "content", '[');
        json_open(&json, NULL, '{');
        json_text(&json, "type", "text");
        json_exact(&json, "text", text, strlen(text));
        json_close(&json, "}]");
        json_bool(&json, "isError", true);
        if (modern)
                json_text(&json, "resultType", "complete");
        json_close(&json, "}}");
        buf_put_text(out, "\n");
}

/* A name for use in a sentence; the caller frees. */
static char *quote(struct json_span string)
{
        size_t length;
        autofree char *text = json_text_of(string, &length);
        return json_shown(text, length, NAME_SHOWN_MAX);
}

/* ---- lines that are not messages ---- */

/* The id at the end of an object, as in `"id":7}`, from the last bytes of a line that could not be read
 * completely. It is used only if a request with exactly this id waits for an answer. */
static struct json_span find_last_id(char *text, size_t length)
{
        char *end = text + length, *begin = NULL;
        while (end > text && strchr(" \t\r", end[-1]))
                end--;
        if (end == text || *--end != '}')
                return (struct json_span){0};
        for (char *at = text; at + 5 < end; at++)
                if (memcmp(at, "\"id\":", 5) == 0)
                        begin = at + 5;
        while (begin && *begin == ' ')
                begin++;
        if (!begin)
                return (struct json_span){0};
        struct jsonl scanner = {.seed = 1};
        struct jsonl_message message;
        autofree char *line = str_format("{\"id\":%.*s,\"method\":\"\"}", (int)(end - begin), begin);
        struct json_span found = {begin, (size_t)(end - begin)};
        /* the scanner decides whether this is an id */
        if (jsonl_scan(&scanner, line, strlen(line), false, &message) || message.id.length != found.length)
                found = (struct json_span){0};
        jsonl_free(&scanner);
        return found;
}

/* Answers the request that waits for a refused line. `message` has the parts that were read. */
static void answer_refused(struct firewall *firewall, enum side from, const char *why,
                           const struct jsonl_message *message, struct json_span id)
{
        bool asks = message->method.at, answers = !asks && (message->result.at || message->error.at);
        if (!id.at)
                return;
        struct request *request = requests_find(&firewall->requests, id);
        if (from == SERVER && !asks) {
                if (!request)
                        return;
                put_error(&firewall->answers[CLIENT], id, ERROR_INTERNAL, "the server's answer", why);
                requests_remove(&firewall->requests, request);
        } else if (from == CLIENT && answers) {
                put_error(&firewall->answers[SERVER], id, ERROR_INTERNAL, "the client's answer", why);
        } else if (from == SERVER || !request) { /* never answer its other request of that id */
                put_error(&firewall->answers[from], id, ERROR_INVALID_REQUEST, "this message", why);
        }
}

static void refuse_line(struct firewall *firewall, enum side from, const char *why,
                        const struct jsonl_message *message, char *tail, size_t tail_length)
{
        filter_report_note("refused a line of the %s: %s", side_names[from], why);
        answer_refused(firewall, from, why, message,
                       message->id.at ? message->id : find_last_id(tail, tail_length));
}

bool firewall_takes(enum side from, const char *line, size_t length)
{
        enum line_kind kind = from == CLIENT ? LINE_MESSAGE : line_judge(line, length);
        if (kind == LINE_NOISE)
                filter_report(FILTER_NOISE, line, length - (line[length - 1] == '\r'));
        return kind == LINE_MESSAGE;
}

void firewall_refuse_long(struct firewall *firewall, enum side from, char *head, size_t head_length,
                          char *tail, size_t tail_length)
{
        struct jsonl_message message;
        autofree char *why =
            str_format("it is longer than --max-message permits (%zu bytes)", firewall->rules.message_max);
        (void)jsonl_scan(&firewall->scanner, head, head_length, false, &message);
        refuse_line(firewall, from, why, &message, tail, tail_length);
}

/* ---- calls ---- */

static bool matches_any(const struct str_list *patterns, const char *name, size_t length)
{
        for (size_t i = 0; i < patterns->count; i++)
                if (tool_pattern_matches(patterns->values[i], name, length))
                        return true;
        return false;
}

/* Judges a name by --allow-tool and --deny-tool. */
static struct refusal judge_name(const struct tool_rules *rules, const char *name, size_t length)
{
        if (length > NAME_JUDGED_MAX && (rules->allow.count > 0 || rules->deny.count > 0))
                return (struct refusal){.why = "its name is too long"};
        if (matches_any(&rules->deny, name, length))
                return (struct refusal){.why = "--deny-tool names it"};
        if (rules->allow.count > 0 && !matches_any(&rules->allow, name, length))
                return (struct refusal){.why = "no --allow-tool names it", .option = "--allow-tool"};
        return (struct refusal){0};
}

static struct refusal judge_call(const struct firewall *firewall, struct json_span name)
{
        size_t length;
        autofree char *text = json_text_of(name, &length);
        struct refusal refusal = judge_name(&firewall->rules, text, length);
        if (!refusal.why && firewall->pins.on)
                refusal.why = pins_refuse_call(&firewall->pins, text, length);
        return refusal;
}

static void refuse_call(struct firewall *firewall, const struct jsonl_message *message, bool modern,
                        const struct refusal *refusal)
{
        autofree char *name = quote(json_member(message->params, "name"));
        autofree char *advice =
            refusal->option ? str_format("; to permit it: %s %s", refusal->option, name) : str_copy("");
        filter_report_note("refused a call of the tool \"%s\": %s%s", name, refusal->why, advice);
        call_log_refused(&firewall->calls, message->params, message->length, refusal->why);
        if (!message->id.at)
                return;
        autofree char *text =
            str_format("hutch refused to call the tool \"%s\": %s%s. The server did not receive the call. "
                       "Only the user who configures this server can change that.",
                       name, refusal->why, advice);
        if (json_member(message->params, "task").at)
                put_error(&firewall->answers[CLIENT], message->id, ERROR_PARAMS, "the call of a tool",
                          refusal->why);
        else
                put_tool_error(&firewall->answers[CLIENT], message->id, modern, text);
}

/* ---- the client's messages ---- */

static void keep_request(struct firewall *firewall, const struct jsonl_message *message, bool modern)
{
        const struct request *earlier = requests_find(&firewall->requests, message->id);
        bool reused = earlier, was_list = earlier && earlier->kind == REQUEST_LIST;
        unsigned others = earlier ? earlier->others + 1 : 0;
        struct request *request = requests_add(&firewall->requests, message->id);
        request->modern = modern;
        request->others = others;
        request->began_ns = clock_now_ns();
        request->bytes = message->length;
        if (json_text_is(message->method, "initialize")) {
                request->kind = REQUEST_INITIALIZE;
        } else if (json_text_is(message->method, "tools/list")) {
                struct json_span cursor = json_member(message->params, "cursor");
                request->kind = REQUEST_LIST;
                request->first_page = !cursor.at || *cursor.at == 'n';
        } else if (json_text_is(message->method, "tools/call")) {
                request->kind = REQUEST_CALL;
                request->is_task = json_member(message->params, "task").at;
                call_log_begin(&firewall->calls, request, message->params);
        }
        /* Of two requests with one id, either answer may be the list. */
        if (was_list)
                request->kind = REQUEST_LIST;
        request->shared = reused && request->kind == REQUEST_LIST;
}

/* True when the message may pass. */
static bool judge_client(struct firewall *firewall, const struct jsonl_message *message)
{
        if (message->kind == JSONL_RESPONSE || message->kind == JSONL_ERROR)
                return true;
        bool modern = json_member(json_member(message->params, "_meta"), VERSION_KEY).at;
        if (json_text_is(message->method, "tools/call")) {
                struct json_span name = json_member(message->params, "name");
                if (!json_is_string(name)) {
                        refuse_line(firewall, CLIENT, "it calls a tool without a name", message,
                                    message->method.at, 0);
                        return false;
                }
                struct refusal refusal = judge_call(firewall, name);
                if (refusal.why) {
                        refuse_call(firewall, message, modern, &refusal);
                        return false;
                }
        }
        if (message->kind == JSONL_REQUEST)
                keep_request(firewall, message, modern);
        return true;
}

/* ---- what the server asks of the client ---- */

/* The option that refuses a method, or NULL. */
static const char *find_denial(const struct tool_rules *rules, struct json_span method)
{
        if (rules->deny_sampling && json_text_is(method, "sampling/createMessage"))
                return "--deny-sampling";
        if (rules->deny_elicitation && json_text_is(method, "elicitation/create"))
                return "--deny-elicitation";
        if (rules->deny_roots && json_text_is(method, "roots/list"))
                return "--deny-roots";
        return NULL;
}

static bool denies_any(const struct tool_rules *rules)
{
        return rules->deny_sampling || rules->deny_elicitation || rules->deny_roots;
}

/* The same for the inputRequests of a result or a notification. Any form other than the protocol's could hide
 * a request, so it is refused too. */
static const char *find_denied_input(const struct tool_rules *rules, struct json_span holder)
{
        struct json_span requests = json_member(holder, "inputRequests"), key, request;
        char *position = NULL;
        if (!denies_any(rules) || !requests.at || *requests.at == 'n')
                return NULL;
        if (!json_is_object(requests))
                return "its inputRequests do not have the protocol's form";
        while (json_next(requests, &position, &key, &request)) {
                struct json_span method = json_member(request, "method");
                const char *denial = find_denial(rules, method);
                if (denial)
                        return denial;
                if (!json_is_string(method))
                        return "its inputRequests do not have the protocol's form";
        }
        return NULL;
}

/* An error that asks for an elicitation (2025-11-25: URLElicitationRequired). */
static bool asks_by_error(const struct tool_rules *rules, struct json_span error)
{
        struct json_span code = json_member(error, "code");
        if (!rules->deny_elicitation || !error.at)
                return false;
        if (json_is_string(code)) /* the Python SDK converts a string to a number */
                return true;
        autofree char *text = code.at ? str_copy_n(code.at, code.length) : str_copy("0");
        double number = strtod(text, NULL);
        return (number > -32043 && number <= -32042) ||
               json_member(json_member(error, "data"), "elicitations").at;
}

/* Judges a request or a notification of the server. */
static bool judge_server_request(struct firewall *firewall, const struct jsonl_message *message)
{
        const char *denial = find_denial(&firewall->rules, message->method);
        if (!denial)
                denial = find_denied_input(&firewall->rules, message->params);
        if (!denial)
                return true;
        autofree char *method = quote(message->method);
        filter_report_note("refused a request of the server to the client (%s): %s", method, denial);
        if (message->id.at)
                put_error(&firewall->answers[SERVER], message->id, ERROR_METHOD, method, denial);
        return false;
}

/* ---- lists of tools ---- */

static void warn_unused(const struct str_list *patterns, const bool *used, const char *option)
{
        for (size_t i = 0; i < patterns->count; i++)
                if (!used[i])
                        filter_report_note("%s %s matches no tool of this server", option,
                                           patterns->values[i]);
}

static void end_listing(struct firewall *firewall)
{
        struct listing *listing = &firewall->listing;
        if (!listing->begun)
                return;
        listing->begun = false;
        if (firewall->pins.on)
                pins_list_end(&firewall->pins);
        if (listing->checked)
                return;
        listing->checked = true;
        warn_unused(&firewall->rules.allow, listing->allow_used, "--allow-tool");
        warn_unused(&firewall->rules.deny, listing->deny_used, "--deny-tool");
}

/* Marks the rules that match a tool, for warn_unused(). */
static void note_used(const struct str_list *patterns, bool *used, const char *name, size_t length)
{
        for (size_t i = 0; i < patterns->count && length <= NAME_JUDGED_MAX; i++)
                used[i] |= tool_pattern_matches(patterns->values[i], name, length);
}

/* Whether the client may see a tool. */
static bool may_see(struct firewall *firewall, struct json_span tool)
{
        struct json_span name = json_member(tool, "name");
        if (!json_is_string(name))
                return false;
        size_t length;
        autofree char *text = json_text_of(name, &length);
        note_used(&firewall->rules.allow, firewall->listing.allow_used, text, length);
        note_used(&firewall->rules.deny, firewall->listing.deny_used, text, length);
        bool allowed = !judge_name(&firewall->rules, text, length).why;
        /* Pin a tool even if no rule permits it: rules may change. */
        return (!firewall->pins.on || pins_list_tool(&firewall->pins, tool)) && allowed;
}

/* Removes tools from the answer, in place. Returns the line's new length, or 0 if the answer has no list. */
static size_t filter_list(struct firewall *firewall, const struct request *request, char *line,
                          struct jsonl_message *message)
{
        struct json_span tools = json_member(message->result, "tools"), key, tool;
        struct json_span cursor = json_member(message->result, "nextCursor");
        bool last = !cursor.at || *cursor.at == 'n';
        if (!json_is_array(tools))
                return 0;
        if (request->first_page) {
                firewall->listing.begun = true;
                if (firewall->pins.on)
                        pins_list_begin(&firewall->pins);
        }
        char *position = NULL, *out = tools.at + 1, *end = line + message->length;
        while (json_next(tools, &position, &key, &tool)) {
                if (!may_see(firewall, tool))
                        continue;
                if (out != tools.at + 1)
                        *out++ = ',';
                memmove(out, tool.at, tool.length);
                out += tool.length;
        }
        char *behind = tools.at + tools.length - 1; /* the closing bracket */
        memmove(out, behind, (size_t)(end - behind));
        if (last)
                end_listing(firewall);
        return message->length - (size_t)(behind - out);
}

/* ---- the server's answers ---- */

static void refuse_answer(struct firewall *firewall, const struct request *request, struct json_span id,
                          const char *what, const char *why)
{
        struct buf *out = &firewall->answers[CLIENT];
        if (request->kind != REQUEST_CALL || request->is_task) {
                put_error(out, id, ERROR_INTERNAL, what, why);
                return;
        }
        autofree char *text = str_format(
            "hutch refused %s: %s. Only the user who configures this server can change that.", what, why);
        put_tool_error(out, id, request->modern, text);
}

/* Judges the answer to a request of the client. Returns how much of the line passes. */
static size_t judge_answer(struct firewall *firewall, const struct request *request, char *line,
                           struct jsonl_message *message)
{
        const char *denial = find_denied_input(&firewall->rules, message->result);
        if (!denial && asks_by_error(&firewall->rules, message->error))
                denial = "--deny-elicitation";
        if (denial) {
                filter_report_note("refused a request of the server to the client: %s", denial);
                refuse_answer(firewall, request, message->id, "a request of the server to the client",
                              denial);
                return 0;
        }
        if (request->kind == REQUEST_CALL) {
                struct json_span failed = json_member(message->result, "isError");
                call_log_end(&firewall->calls, request, message->length,
                             message->error.at || (failed.at && *failed.at == 't'));
                if (explain_put(&firewall->explain, request->began_ns, line, message,
                                &firewall->answers[CLIENT]))
                        return 0;
        }
        if (request->kind == REQUEST_INITIALIZE)
                firewall->batches =
                    json_text_is(json_member(message->result, "protocolVersion"), "2025-03-26");
        if (request->kind != REQUEST_LIST || message->kind != JSONL_RESPONSE)
                return message->length;
        size_t length = filter_list(firewall, request, line, message);
        if (length == 0 && request->shared && !json_member(message->result, "tools").at)
                return message->length;
        if (length == 0) {
                static const char why[] = "it has no list of tools";
                filter_report_note("refused a line of the server: %s", why);
                refuse_answer(firewall, request, message->id, "the server's answer", why);
        }
        return length;
}

/* Judges a message of the server. Returns how much of the line passes. */
static size_t judge_server(struct firewall *firewall, char *line, struct jsonl_message *message)
{
        bool null_id = message->id.at && *message->id.at == 'n';
        if (message->method.at)
                return judge_server_request(firewall, message) ? message->length : 0;
        struct request *request = null_id ? NULL : requests_find(&firewall->requests, message->id);
        if (!request) {
                if (null_id)
                        return asks_by_error(&firewall->rules, message->error) ? 0 : message->length;
                filter_report_note("refused an answer of the server: the client has no request with that id");
                return 0;
        }
        size_t length = judge_answer(firewall, request, line, message);
        if (request->others > 0)
                request->others--;
        else
                requests_remove(&firewall->requests, request);
        return length;
}

/* ---- a line ---- */

static size_t judge_message(struct firewall *firewall, enum side from, char *line,
                            struct jsonl_message *message)
{
        if (message->kind == JSONL_BLANK)
                return 0;
        if (from == SERVER)
                return judge_server(firewall, line, message);
        return judge_client(firewall, message) ? message->length : 0;
}

/* Removes the members of a batch that may not pass, in place. */
static size_t judge_batch(struct firewall *firewall, enum side from, char *line, size_t length)
{
        struct json_span batch = {line, length}, key, item;
        char *position = NULL, *out = line + 1;
        while (json_next(batch, &position, &key, &item)) {
                struct jsonl_message message;
                if (firewall->answers[CLIENT].length + firewall->answers[SERVER].length > BATCH_ANSWERS_MAX) {
                        filter_report_note(
                            "refused the rest of a batch of the %s: too much of it was refused",
                            side_names[from]);
                        break;
                }
                const char *why = jsonl_scan(&firewall->scanner, item.at, item.length, false, &message);
                if (why) {
                        refuse_line(firewall, from, why, &message, item.at, 0);
                        continue;
                }
                size_t passing = judge_message(firewall, from, item.at, &message);
                if (passing == 0)
                        continue;
                if (out != line + 1)
                        *out++ = ',';
                memmove(out, item.at, passing);
                out += passing;
        }
        if (out == line + 1)
                return 0;
        *out++ = ']';
        return (size_t)(out - line);
}

size_t firewall_judge(struct firewall *firewall, enum side from, char *line, size_t length)
{
        struct jsonl_message message;
        if (!firewall_takes(from, line, length))
                return 0;
        if (length > 0 && line[length - 1] == '\r')
                length--;
        const char *why = jsonl_scan(&firewall->scanner, line, length, firewall->batches, &message);
        if (why) {
                enum { TAIL = 512 };
                size_t tail = length < TAIL ? length : TAIL;
                refuse_line(firewall, from, why, &message, line + length - tail, tail);
                return 0;
        }
        if (message.kind == JSONL_BATCH)
                return judge_batch(firewall, from, line, message.length);
        return judge_message(firewall, from, line, &message);
}

void firewall_end_server(struct firewall *firewall)
{
        while (firewall->requests.oldest) {
                call_log_end(&firewall->calls, firewall->requests.oldest, 0, false);
                requests_remove(&firewall->requests, firewall->requests.oldest);
        }
}

void firewall_begin(struct firewall *firewall, uint64_t seed)
{
        const struct tool_rules *rules = &firewall->rules;
        firewall->scanner.seed = seed;
        firewall->requests.seed = seed ^ 0x5851F42D4C957F2D;
        firewall->listing.allow_used = str_or_die(calloc(rules->allow.count + 1, sizeof(bool)));
        firewall->listing.deny_used = str_or_die(calloc(rules->deny.count + 1, sizeof(bool)));
}
