/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch-filter is told, and what becomes of what it says; a socket pair plays the helper.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "mcp/wire.h"
#include "run/filter_helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "unit.h"

static char heard[8192];
static struct filter_helper helper;
static struct run_log run;
static int filter; /* the helper's end */
static int logged, pinned;

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
}

static int set_up(void **state)
{
        int ends[2];
        (void)state;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -1;
        helper = FILTER_HELPER_NONE;
        helper.control = ends[0];
        helper.pins = memfd_create("pins", MFD_CLOEXEC);
        helper.server = str_copy("node\\u0020server");
        filter = ends[1];
        run = (struct run_log){.store_file = -1, .file = memfd_create("log", MFD_CLOEXEC)};
        logged = dup(run.file);
        pinned = dup(helper.pins);
        heard[0] = 0;
        messages_send_to(hear, NULL);
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        messages_send_to(NULL, NULL);
        free(helper.server);
        fd_close(&helper.control);
        fd_close(&helper.pins);
        fd_close(&run.file);
        fd_close(&filter);
        fd_close(&logged);
        fd_close(&pinned);
        return 0;
}

/* ---- the rules ---- */

static void expect_rules(const struct box *box, bool explain, const char *expected)
{
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        filter_helper_write_rules(box, "a-server", explain, out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, expected);
        free(text);
}

static void test_rules(void **state)
{
        char *allow[] = {(char *)"read_*"}, *deny[] = {(char *)"write", (char *)"delete"};
        char *environment[] = {(char *)"TOKEN=a\"b", (char *)"HOME=/home/nonroot", (char *)"NOVALUE"};
        char *secrets[] = {(char *)"TOKEN", (char *)"NOVALUE"};
        struct box box = {.tools = {.message_max = 100}};
        (void)state;
        expect_rules(&box, false, "message-max 100\n");
        expect_rules(&box, true, "explain\nmessage-max 100\n");
        box.environment = (struct str_list){environment, 3};
        box.secret_names = (struct str_list){secrets, 2};
        box.tools.allow = (struct str_list){allow, 1};
        box.tools.deny = (struct str_list){deny, 2};
        box.tools.deny_sampling = box.tools.deny_elicitation = box.tools.deny_roots = true;
        box.log_path = (char *)"/log";
        expect_rules(
            &box, false,
            "allow read_*\ndeny write\ndeny delete\ndeny-sampling\ndeny-elicitation\ndeny-roots\nlog\n"
            "message-max 100\n");
        box.tools = (struct tool_rules){
            .message_max = 100, .log_arguments = true, .pins = (char *)"/pins", .pin_accept = true};
        /* Values are needed only where arguments are logged, and only those of the user's variables. */
        expect_rules(
            &box, false,
            "pin-accept\nlog\nlog-arguments\nsecret a\\\"b\npin /pins\nserver a-server\nmessage-max 100\n");
}

/* ---- its messages ---- */

static void say(uint32_t type, const char *text)
{
        static char message[sizeof(struct filter_message) + FILTER_PIN_MAX];
        const struct filter_message head = {.type = type};
        memcpy(message, &head, sizeof(head));
        memcpy(message + sizeof(head), text, strlen(text));
        assert_int_equal(send(filter, message, sizeof(head) + strlen(text), 0), sizeof(head) + strlen(text));
}

static bool hear_one(void)
{
        return filter_helper_read(&helper, &run);
}

static void expect_file(int fd, const char *expected)
{
        char *content = NULL;
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_true(fd_read_all(fd, 1 << 20, &content) >= 0);
        autofree char *text = content;
        assert_string_equal(text, expected);
}

static void test_readiness(void **state)
{
        struct error error = {0};
        (void)state;
        say(FILTER_READY, "");
        assert_true(filter_helper_await(&helper, &error));
        say(FILTER_NOTE, "the pins\nare no pins");
        assert_false(filter_helper_await(&helper, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_string_equal(error.text, "the pins\\x0aare no pins");
        error = (struct error){0};
        fd_close(&filter);
        assert_false(filter_helper_await(&helper, &error));
        assert_string_equal(error.text,
                            "the MCP firewall (hutch-filter) did not start; nothing was run without it");
}

static void test_what_it_says(void **state)
{
        (void)state;
        assert_true(hear_one()); /* nothing yet */
        say(FILTER_NOTE, "no\n[hutch] forged");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] no\\x0a[hutch] forged\n");
        heard[0] = 0;
        say(FILTER_NOISE, "listening on 3000");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] server stdout: listening on 3000\n");
        expect_file(logged, "");
        say(FILTER_RECORD, "\"event\":\"call\"");
        assert_true(hear_one());
        assert_true(lseek(logged, 0, SEEK_END) > 20);
        heard[0] = 0;
        say(FILTER_READY, "");
        say(999, "x");
        assert_true(hear_one() && hear_one());
        assert_string_equal(heard, "");
}

static void test_how_far_the_bytes_are(void **state)
{
        static const uint32_t types[] = {FILTER_INPUT_ENDED, FILTER_CLIENT_GONE, FILTER_DRAINED,
                                         FILTER_GIVEN,       FILTER_GIVEN,       FILTER_TAKEN};
        (void)state;
        for (unsigned i = 0; i < COUNT(types); i++) {
                assert_int_equal(helper.input_ended, i > 0);
                assert_int_equal(helper.client_gone, i > 1);
                assert_int_equal(helper.drained, i > 2);
                assert_int_equal(helper.given, i < 4 ? 0 : i - 3);
                assert_int_equal(helper.taken, 0);
                say(types[i], "");
                assert_true(hear_one());
        }
        assert_int_equal(helper.given, 2);
        assert_int_equal(helper.taken, 1);
}

static void test_pins_are_written_under_the_server_that_hutch_chose(void **state)
{
        (void)state;
        say(FILTER_PIN, "");
        say(FILTER_PIN, "\"tool\":\"a\",\"sha256\":\"0\"");
        say(FILTER_PIN, "\"tool\":\"b\"}\n{\"server\":\"another\""); /* two records in one */
        assert_true(hear_one() && hear_one() && hear_one());
        expect_file(pinned, "{\"server\":\"node\\u0020server\"}\n"
                            "{\"server\":\"node\\u0020server\",\"tool\":\"a\",\"sha256\":\"0\"}\n");
        assert_string_equal(heard, "");
}

static void test_pins_that_cannot_be_written(void **state)
{
        (void)state;
        fd_close(&helper.pins);
        helper.pins = open("/dev/full", O_WRONLY | O_CLOEXEC);
        say(FILTER_PIN, "\"tool\":\"a\"");
        say(FILTER_PIN, "\"tool\":\"b\"");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] --pin: cannot write the pins: No space left on device\n");
        assert_int_equal(helper.pins, -1);
        assert_true(hear_one()); /* said once */
        assert_string_equal(heard, "[hutch] --pin: cannot write the pins: No space left on device\n");
}

static void test_it_has_ended(void **state)
{
        (void)state;
        assert_int_equal(send(filter, "xy", 2, 0), 2); /* less than a message */
        assert_false(hear_one());
        fd_close(&filter);
        assert_false(hear_one());
}

static void test_its_last_words(void **state)
{
        (void)state;
        helper.process = fork();
        if (helper.process == 0)
                for (;;)
                        pause();
        for (int i = 0; i < 20; i++)
                say(FILTER_GIVEN, "");
        say(FILTER_NOTE, "the last");
        filter_helper_end(&helper, &run);
        assert_int_equal(helper.given, 20);
        assert_string_equal(heard, "[hutch] the last\n");
        assert_int_equal(helper.process, 0);
        assert_int_equal(helper.control, -1);
        assert_int_equal(helper.pins, -1);
        assert_null(helper.server);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
        filter_helper_end(&helper, &run);                 /* once more is nothing */
}

#define TALKING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rules),
            TALKING(test_readiness),
            TALKING(test_what_it_says),
            TALKING(test_how_far_the_bytes_are),
            TALKING(test_pins_are_written_under_the_server_that_hutch_chose),
            TALKING(test_pins_that_cannot_be_written),
            TALKING(test_it_has_ended),
            TALKING(test_its_last_words),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
