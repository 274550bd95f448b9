/* SPDX-License-Identifier: Apache-2.0
 *
 * What the firewall does with lines of both sides: which it forwards, how it changes them, what it answers
 * itself, and what it reports. Its messages to the supervisor are captured here.
 */
#include "lib/fd.h"
#include "mcp/firewall.h"
#include "mcp/report.h"

#include <stdio.h>

#include "unit.h"

static struct firewall firewall;
static struct buf reported; /* one report per line */

/* ---- in the place of mcp/report.c ---- */

void filter_report(enum filter_message_type type, const char *text, size_t length)
{
        buf_put_text(&reported, type == FILTER_RECORD  ? "record "
                                : type == FILTER_PIN   ? "pin "
                                : type == FILTER_NOISE ? "noise "
                                                       : "");
        buf_put(&reported, text, length);
        buf_put_text(&reported, "\n");
}

void filter_report_text(bool once, const char *format, ...)
{
        (void)once;
        char text[FILTER_TEXT_MAX];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        filter_report(FILTER_NOTE, text, strlen(text));
}

/* ---- the rig ---- */

static int set_up(void **state)
{
        (void)state;
        firewall = (struct firewall){.rules = {.message_max = 1 << 20}};
        firewall.pins.server = str_copy("s");
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        firewall_end_server(&firewall);
        jsonl_free(&firewall.scanner);
        tool_rules_free(&firewall.rules);
        free(firewall.listing.allow_used);
        free(firewall.listing.deny_used);
        free(firewall.pins.server);
        pins_free(&firewall.pins);
        str_list_free(&firewall.calls.secrets);
        for (int side = 0; side < SIDES; side++)
                free(firewall.answers[side].bytes);
        free(reported.bytes);
        reported = (struct buf){0};
        return 0;
}

static void take(struct buf *buf, char *out, size_t size)
{
        assert_true(buf->length < size);
        if (buf->length > 0)
                memcpy(out, buf->bytes, buf->length);
        out[buf->length] = 0;
        buf_clear(buf);
}

/* Judges `line`; "" for `passes` means that nothing of it passes. */
static void expect_passes(enum side from, const char *line, const char *passes)
{
        autofree char *copy = str_copy(line);
        size_t length = firewall_judge(&firewall, from, copy, strlen(copy));
        copy[length] = 0;
        assert_string_equal(copy, passes);
}

/* The filter has written exactly one line to `side` since the last call, with `part` in it; "": none. */
static void expect_answer(enum side side, const char *part)
{
        char answer[4096];
        take(&firewall.answers[side], answer, sizeof(answer));
        if (!*part) {
                assert_string_equal(answer, "");
                return;
        }
        if (!strstr(answer, part))
                fail_msg("\"%s\" is not in: %s", part, answer);
        assert_ptr_equal(strchr(answer, '\n'), answer + strlen(answer) - 1);
}

/* The filter has reported something with `part` in it since the last call; "": nothing. */
static void expect_report(const char *part)
{
        char reports[8192];
        take(&reported, reports, sizeof(reports));
        if (!*part)
                assert_string_equal(reports, "");
        else if (!strstr(reports, part))
                fail_msg("\"%s\" is not in: %s", part, reports);
}

static void call(int id, const char *name, bool passes)
{
        autofree char *line = str_format(
            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}", id,
            name);
        expect_passes(CLIENT, line, passes ? line : "");
}

/* Asks for the list of tools and answers with these; `listed` is what the client sees. */
static void list_tools(int id, const char *tools, const char *listed)
{
        autofree char *request = str_format("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}", id);
        autofree char *answer =
            str_format("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[%s]}}", id, tools);
        autofree char *seen =
            str_format("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[%s]}}", id, listed);
        expect_passes(CLIENT, request, request);
        expect_passes(SERVER, answer, seen);
}

/* ---- calls and lists ---- */

static void test_calls_by_name(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.allow, "get_*");
        str_list_add(&firewall.rules.deny, "get_secret");
        firewall_begin(&firewall, 1);
        call(1, "get_file", true);
        expect_answer(CLIENT, "");
        call(2, "get_secret", false); /* deny wins */
        expect_answer(CLIENT, "\"isError\":true");
        expect_report("refused a call of the tool \"get_secret\": --deny-tool names it");
        call(3, "get_\\u0073ecret", false); /* by its meaning, not its spelling */
        expect_answer(CLIENT, "\"id\":3,\"result\"");
        expect_report("--deny-tool names it");
        call(4, "put_file", false);
        expect_answer(CLIENT, "to permit it: --allow-tool put_file");
        expect_report("no --allow-tool names it");
        char longest[1025 + 1] = "get_";
        memset(longest + 4, 'a', 1021);
        call(5, longest, false);
        expect_report("its name is too long");
        longest[1024] = 0;
        buf_clear(&firewall.answers[CLIENT]);
        call(6, longest, true);
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}}", "");
        expect_answer(CLIENT, "\"id\":7,\"error\"");
        /* A refused notification has nobody to answer. */
        expect_passes(
            CLIENT, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"put_file\"}}", "");
        expect_answer(CLIENT, "");
        expect_answer(SERVER, "");
}

static void test_without_rules_every_call_passes(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        call(1, "anything", true);
        list_tools(2, "{\"name\":\"a\"},{\"name\":\"b\"}", "{\"name\":\"a\"},{\"name\":\"b\"}");
        expect_report("");
}

static void test_lists_lose_what_may_not_be_called(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.deny, "evil");
        str_list_add(&firewall.rules.deny, "absent");
        firewall_begin(&firewall, 1);
        list_tools(1, "{\"name\":\"evil\"},{\"name\":\"a\"},{\"title\":\"no name\"},{\"name\":\"b\"}",
                   "{\"name\":\"a\"},{\"name\":\"b\"}");
        expect_report("--deny-tool absent matches no tool");
        list_tools(2, "{\"name\":\"evil\"}", "");
        expect_report(""); /* only once */
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":{}}}", "");
        expect_answer(CLIENT, "it has no list of tools");
}

static void test_pages_are_one_list(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.deny, "b");
        firewall_begin(&firewall, 1);
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        expect_passes(
            SERVER,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"2\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"2\"}}");
        expect_report(""); /* --deny-tool b may still match */
        expect_passes(
            CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":\"2\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":\"2\"}}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"b\"}]}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}");
        expect_report("");
}

/* ---- answers ---- */

static void test_answers_without_a_request(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "");
        expect_report("the client has no request with that id");
        call(1, "a", true);
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", "");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "");
        /* Two requests of one id have two answers. */
        call(2, "a", true);
        call(2, "a", true);
        for (int i = 0; i < 2; i++)
                expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
                              "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}", "");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}");
}

static void test_a_shared_id_cannot_hide_a_list(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.deny, "evil");
        firewall_begin(&firewall, 1);
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"evil\"}]}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":1}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":1}}");
}

static void test_refused_lines_are_answered(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"method\":\"x\"}", "");
        expect_answer(CLIENT, "\"id\":7,\"error\":{\"code\":-32600");
        expect_report("refused a line of the client: an object has the same key twice");
        /* The id of another request's answer is not used. */
        call(7, "a", true);
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"method\":\"x\"}", "");
        expect_answer(CLIENT, "");
        /* The request that waits is told. */
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1,\"a\":2}}", "");
        expect_answer(CLIENT, "\"id\":7,\"error\":{\"code\":-32603");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", "");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"x\",\"method\":\"x\"}", "");
        expect_answer(SERVER, "\"id\":8,\"error\"");
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"a\":1,\"a\":2}}", "");
        expect_answer(SERVER, "\"id\":8,\"error\"");
        expect_answer(CLIENT, "");
}

static void test_long_lines(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        char head[] = "{\"result\":{\"text\":\"xxx", tail[] = "xxx\"},\"id\":5}",
             other[] = "xxx\"},\"id\":6}";
        call(5, "a", true);
        firewall_refuse_long(&firewall, SERVER, head, strlen(head), other, strlen(other));
        expect_answer(CLIENT, "");
        char again[] = "{\"result\":{\"text\":\"xxx";
        firewall_refuse_long(&firewall, SERVER, again, strlen(again), tail, strlen(tail));
        expect_answer(CLIENT, "longer than --max-message permits (1048576 bytes)");
}

static void test_noise(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        expect_passes(SERVER, "Server started", "");
        expect_report("noise Server started");
        expect_passes(SERVER, "  ", "");
        expect_report("");
        expect_passes(SERVER, "{\"level\":30}\r", "");
        expect_report("noise {\"level\":30}\n");
        expect_passes(SERVER, "[x] tip: { quiet: true }", "");
        expect_report("noise [x] tip");
        expect_passes(SERVER, "{\"jsonrpc\":broken}", "");
        expect_report("refused a line of the server");
        expect_passes(CLIENT, "Client started", "");
        expect_report("refused a line of the client");
}

/* ---- what the server asks of the client ---- */

static void test_denied_requests_of_the_server(void **state)
{
        (void)state;
        static const struct {
                const char *method, *option;
        } cases[] = {{"sampling/createMessage", "--deny-sampling"},
                     {"elicitation/create", "--deny-elicitation"},
                     {"roots/list", "--deny-roots"}};
        firewall_begin(&firewall, 1);
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *line =
                    str_format("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", cases[i].method);
                autofree char *input = str_format("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{"
                                                  "\"inputRequests\":{\"a\":{\"method\":\"%s\"}}}}",
                                                  cases[i].method);
                firewall.rules.deny_sampling = firewall.rules.deny_elicitation = firewall.rules.deny_roots =
                    false;
                expect_passes(SERVER, line, line);
                call(2, "a", true);
                expect_passes(SERVER, input, input);
                *(i == 0   ? &firewall.rules.deny_sampling
                  : i == 1 ? &firewall.rules.deny_elicitation
                           : &firewall.rules.deny_roots) = true;
                expect_passes(SERVER, line, "");
                expect_answer(SERVER, cases[i].option);
                expect_report(cases[i].option);
                call(2, "a", true);
                expect_passes(SERVER, input, "");
                expect_answer(CLIENT, cases[i].option);
        }
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
}

static void test_input_requests_of_another_form(void **state)
{
        (void)state;
        static const char *const forms[] = {"[]", "1", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"method\":1}}"};
        firewall_begin(&firewall, 1);
        firewall.rules.deny_roots = true;
        for (size_t i = 0; i < COUNT(forms); i++) {
                autofree char *line =
                    str_format("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"inputRequests\":%s}}", forms[i]);
                call(1, "a", true);
                expect_passes(SERVER, line, "");
                expect_answer(CLIENT, "do not have the protocol's form");
        }
        call(1, "a", true);
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"inputRequests\":null}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"inputRequests\":null}}");
}

static void test_errors_that_ask_for_an_elicitation(void **state)
{
        (void)state;
        static const char *const refused[] = {"{\"code\":-32042}", "{\"code\":-32042.5}",
                                              "{\"code\":\"-32042\"}",
                                              "{\"code\":1,\"data\":{\"elicitations\":[]}}"};
        static const char *const passing[] = {"{\"code\":-32041}", "{\"code\":-32043}", "{\"code\":1}"};
        firewall_begin(&firewall, 1);
        firewall.rules.deny_elicitation = true;
        for (size_t i = 0; i < COUNT(refused); i++) {
                autofree char *line = str_format("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":%s}", refused[i]);
                call(1, "a", true);
                expect_passes(SERVER, line, "");
                expect_answer(CLIENT, "--deny-elicitation");
        }
        for (size_t i = 0; i < COUNT(passing); i++) {
                autofree char *line = str_format("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":%s}", passing[i]);
                call(1, "a", true);
                expect_passes(SERVER, line, line);
        }
}

/* ---- batches ---- */

static void test_batches_lose_members(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.deny, "evil");
        firewall_begin(&firewall, 1);
        static const char batch[] =
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}},"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]";
        expect_passes(CLIENT, batch, "");
        expect_report("a batch, which only protocol revision 2025-03-26 permits");
        expect_passes(CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}",
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}");
        expect_passes(SERVER,
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-03-26\"}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-03-26\"}}");
        expect_passes(CLIENT, batch, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]");
        expect_answer(CLIENT, "\"id\":1,\"result\"");
        expect_passes(
            CLIENT,
            "[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}]", "");
}

/* ---- pins ---- */

static void test_pins(void **state)
{
        (void)state;
        static const char add[] = "{\"name\":\"add\",\"description\":\"one\"}",
                          other[] = "{\"name\":\"add\",\"description\":\"two\"}",
                          extra[] = "{\"name\":\"new\"}";
        autofree char *both = str_format("%s,%s", add, extra);
        firewall_begin(&firewall, 1);
        firewall.pins.on = true;
        list_tools(1, add, add);
        expect_report("pinned 1 tools");
        call(2, "add", true);
        list_tools(3, add, add);
        expect_report("");
        list_tools(4, both, add);
        expect_report("tool \"new\" is new");
        call(5, "new", false);
        expect_answer(CLIENT, "not among the tools that were pinned");
        buf_clear(&reported);
        list_tools(6, other, "");
        expect_report("description was \"one\" and is \"two\"");
        call(7, "add", false);
        expect_answer(CLIENT, "differs from the one pinned");
        buf_clear(&reported);
        list_tools(8, "", "");
        expect_report("tool \"add\" was pinned and is gone");
}

static void test_pins_of_the_file(void **state)
{
        (void)state;
        char text[] = "{\"server\":\"s\"}\n{\"server\":\"other\",\"tool\":\"b\",\"removed\":true}\n";
        char cut[] = "{\"server\":\"s\"}\n{\"server\":\"s\"", bad[] = "{\"server\":\"s\",\"tool\":\"a\"}\n";
        firewall_begin(&firewall, 1);
        firewall.pins.on = true;
        assert_int_equal(pins_read(&firewall.pins, &firewall.scanner, cut, strlen(cut)), 2);
        assert_int_equal(pins_read(&firewall.pins, &firewall.scanner, bad, strlen(bad)), 1);
        firewall.pins.known = false;
        char foreign[] = "{\"server\":\"other\"}\n";
        assert_int_equal(pins_read(&firewall.pins, &firewall.scanner, foreign, strlen(foreign)), 0);
        assert_false(firewall.pins.known);
        assert_int_equal(pins_read(&firewall.pins, &firewall.scanner, text, strlen(text)), 0);
        assert_true(firewall.pins.known);
        call(1, "a", false); /* the server has no tools, as far as pinned */
        list_tools(2, "{\"name\":\"a\"}", "");
        firewall.pins.accept = true;
        list_tools(3, "{\"name\":\"a\"}", "{\"name\":\"a\"}");
        expect_report("pin \"tool\":\"a\",\"sha256\":\"");
        call(4, "a", true);
}

/* ---- the log ---- */

static void test_call_log(void **state)
{
        (void)state;
        str_list_add(&firewall.rules.deny, "evil");
        firewall_begin(&firewall, 1);
        firewall.calls.on = true;
        call(1, "good", true);
        expect_report("");
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}");
        expect_report(
            "record \"event\":\"call\",\"tool\":\"good\",\"decision\":\"allowed\",\"end\":\"error\"");
        call(2, "good", true);
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
        expect_report("\"end\":\"answer\"");
        call(3, "evil", false);
        expect_report("\"tool\":\"evil\",\"decision\":\"refused\",\"reason\":\"--deny-tool names it\"");
        call(4, "good", true);
        firewall_end_server(&firewall);
        expect_report("\"end\":\"no answer\"");
}

static void test_the_log_hides_secrets(void **state)
{
        (void)state;
        firewall_begin(&firewall, 1);
        firewall.calls.on = firewall.calls.arguments = true;
        call_log_hide(&firewall.calls, "abc"); /* too short to hide */
        call_log_hide(&firewall.calls, "s3/cret");
        call_log_hide(&firewall.calls, "12345");
        static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                                   "call\",\"params\":{\"name\":\"s3/cret\",\"arguments\":{\"a\":"
                                   "\"abc s3\\/cret \\u00733/cret\",\"s3/cret\":9123459}}}";
        expect_passes(CLIENT, line, line);
        expect_passes(SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        expect_report("\"tool\":\"[hidden]\",\"arguments\":\"{\\\"a\\\":\\\"abc [hidden] [hidden]\\\","
                      "\\\"[hidden]\\\":\\\"[hidden]\\\"}\"");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_calls_by_name),
            TEST(test_without_rules_every_call_passes),
            TEST(test_lists_lose_what_may_not_be_called),
            TEST(test_pages_are_one_list),
            TEST(test_answers_without_a_request),
            TEST(test_a_shared_id_cannot_hide_a_list),
            TEST(test_refused_lines_are_answered),
            TEST(test_long_lines),
            TEST(test_noise),
            TEST(test_denied_requests_of_the_server),
            TEST(test_input_requests_of_another_form),
            TEST(test_errors_that_ask_for_an_elicitation),
            TEST(test_batches_lose_members),
            TEST(test_pins),
            TEST(test_pins_of_the_file),
            TEST(test_call_log),
            TEST(test_the_log_hides_secrets),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
