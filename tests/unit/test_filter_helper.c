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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "helper_rig.h"
#include "machine_rig.h"
#include "stand_in.h"
#include "unit.h"

static struct filter_helper helper;
static int pinned;

static int set_up(void **state)
{
        (void)state;
        helper = FILTER_HELPER_NONE;
        helper.control = helper_rig_begin();
        helper.pins = memfd_create("pins", MFD_CLOEXEC);
        helper.server = str_copy("node\\u0020server");
        pinned = dup(helper.pins);
        return helper.control < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        (void)state;
        free(helper.server);
        fd_close(&helper.control);
        fd_close(&helper.pins);
        fd_close(&pinned);
        helper_rig_end();
        return 0;
}

/* ---- the rules ---- */

static void expect_rules(const struct box *box, bool explain, const char *expected)
{
        struct buf out = {0};
        filter_helper_write_rules(box, "a-server", explain, &out);
        autofree char *text = buf_take(&out);
        assert_string_equal(text, expected);
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

/* ---- its start ---- */

/* hutch-filter, as this program stands in for it: says what it was given, answers the server and the client,
 * and waits for the hang-up. */
static void be_hutch_filter(void)
{
        char note[FILTER_TEXT_MAX + sizeof(struct filter_message)], text[64] = "";
        struct filter_message *head = (void *)note;
        char *rules = NULL, *pins = NULL;
        unsigned descriptors = 0;
        char end;
        for (int fd = 0; fd < 256; fd++)
                descriptors += fcntl(fd, F_GETFD) >= 0;
        if (lseek(FILTER_RULES, 0, SEEK_SET) < 0 || fd_read_all(FILTER_RULES, 2048, &rules) < 0 ||
            lseek(FILTER_PINS, 0, SEEK_SET) < 0 || fd_read_all(FILTER_PINS, 1024, &pins) < 0)
                _exit(1);
        bool waits = fcntl(FILTER_TO_SERVER, F_GETFL) & fcntl(FILTER_FROM_SERVER, F_GETFL) & O_NONBLOCK;
        struct pollfd from_client = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&from_client, 1, 20000) != 1)
                _exit(1);
        ssize_t length = read(FILTER_CLIENT_IN, text, sizeof(text) - 1);
        if (length > 0 && write(FILTER_TO_SERVER, text, (size_t)length) != length)
                _exit(1);
        struct pollfd from_server = {.fd = FILTER_FROM_SERVER, .events = POLLIN};
        if (poll(&from_server, 1, 20000) != 1 || (length = read(FILTER_FROM_SERVER, text, sizeof(text))) < 0)
                _exit(1);
        (void)!write(FILTER_CLIENT_OUT, text, (size_t)length);
        head->type = FILTER_NOTE;
        int written = snprintf(note + sizeof(*head), FILTER_TEXT_MAX, "%u descriptors, pins %s, %s, rules %s",
                               descriptors, pins, waits ? "never waits" : "waits", rules);
        if (send(FILTER_SUPERVISOR, note, sizeof(*head) + (size_t)written, 0) < 0)
                _exit(1);
        (void)recv(FILTER_SUPERVISOR, &end, 1, 0);
        _exit(0);
}

static int client_in, client_out; /* the far ends of 0 and 1 */
static int saved[2];

/* Makes 0 and 1 a client's pipes, or ends of the wrong direction where one is not wanted. */
static void be_the_client(bool input, bool output)
{
        int ends[2];
        for (int i = 0; i < 2; i++)
                saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        client_in = ends[1];
        dup2(input ? ends[0] : ends[1], 0); /* an end for writing cannot be read */
        close(ends[0]);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        client_out = ends[0];
        dup2(output ? ends[1] : ends[0], 1);
        close(ends[1]);
}

static void stop_being_the_client(void)
{
        for (int i = 0; i < 2; i++) {
                dup2(saved[i], i);
                close(saved[i]);
        }
        close(client_in);
        close(client_out);
}

/* Starts it, lets a message pass each way, and hears what it says. */
static void start_and_talk(const struct box *box, bool input, bool output, int nat_end)
{
        struct error error = {0};
        int server[3] = {-1, -1, -1};
        char text[64] = "";
        heard[0] = 0;
        be_the_client(input, output);
        bool started = filter_helper_start(&helper, box, &run, nat_end, server, &error);
        if (input)
                (void)!write(client_in, "request\n", 8);
        bool asked = started && (!input || read(server[0], text, sizeof(text) - 1) > 0);
        bool answered = started && write(server[1], "reply\n", 6) == 6;
        struct pollfd news = {.fd = helper.control, .events = POLLIN};
        bool said = started && poll(&news, 1, 20000) == 1 && filter_helper_read(&helper, &run);
        char got[64] = "";
        if (said && output)
                (void)!read(client_out, got, sizeof(got) - 1);
        stop_being_the_client();
        assert_string_equal(error.text, "");
        assert_true(started && asked && answered && said);
        assert_string_equal(text, input ? "request\n" : "");
        assert_string_equal(got, output ? "reply\n" : "");
        assert_int_equal(fcntl(server[0], F_GETFL) & O_NONBLOCK, 0); /* the server's ends are ordinary ones */
        assert_int_equal(fcntl(server[1], F_GETFL) & O_NONBLOCK, 0);
        assert_int_equal(fcntl(server[0], F_GETFD), FD_CLOEXEC);
        assert_int_equal(server[2], -1);
        close(server[0]);
        close(server[1]);
}

static void expect_heard(const char *part)
{
        if (!strstr(heard, part))
                fail_msg("%s: %s", heard, part);
}

static void forget_helper(void)
{
        fd_close(&helper.control);
        fd_close(&helper.pins);
        free(helper.server);
        helper = FILTER_HELPER_NONE;
}

static void test_starting_it(void **state)
{
        char *words[] = {(char *)"/opt/bin/server"};
        struct box box = {.argv = {words, 1}, .tools = {.message_max = 7}};
        (void)state;
        run.command = box.argv;
        forget_helper();
        start_and_talk(&box, true, true, -1);
        /* Those of wire.h but hutch-nat's. */
        expect_heard("[hutch] 10 descriptors, pins , never waits, rules message-max 7\\x0ainput "
                     "plain\\x0aoutput plain");
        filter_helper_end(&helper, &run);
        start_and_talk(&box, true, true, helper_end);
        expect_heard("[hutch] 11 descriptors, pins , never waits, rules explain\\x0a");
        filter_helper_end(&helper, &run);
        start_and_talk(&box, false, true, -1);
        expect_heard("input none\\x0aoutput plain");
        filter_helper_end(&helper, &run);
        start_and_talk(&box, true, false, -1);
        expect_heard("input plain\\x0aoutput none");
        filter_helper_end(&helper, &run);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_starting_it_with_pins(void **state)
{
        char *words[] = {(char *)"/opt/bin/server"};
        struct box box = {.argv = {words, 1}, .tools = {.message_max = 7}};
        struct error error = {0};
        int server[3];
        (void)state;
        run.command = box.argv;
        forget_helper();
        machine_make_file("/pins", "{\"old\":1}\n");
        box.tools.pins = str_format("%s/pins", machine_directory);
        start_and_talk(&box, true, true, -1);
        expect_heard("pins {\"old\":1}\\x0a, never waits");
        expect_heard("server server server\\x0a"); /* the command, and its name */
        filter_helper_end(&helper, &run);
        free(box.tools.pins);
        box.tools.pins = str_format("%s/absent/pins", machine_directory);
        assert_false(filter_helper_start(&helper, &box, &run, -1, server, &error));
        assert_non_null(strstr(error.text, "its directory does not exist"));
        assert_int_equal(helper.process, 0);
        free(box.tools.pins);
}

/* A socket as the client is told apart from a pipe. */
static void test_a_client_with_sockets(void **state)
{
        char *words[] = {(char *)"/opt/bin/server"};
        struct box box = {.argv = {words, 1}, .tools = {.message_max = 7}};
        struct error error = {0};
        int ends[2], server[3], copies[2];
        (void)state;
        run.command = box.argv;
        forget_helper();
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(shutdown(ends[1], SHUT_WR), 0); /* no request will come */
        for (int i = 0; i < 2; i++) {
                copies[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
                dup2(ends[0], i);
        }
        bool started = filter_helper_start(&helper, &box, &run, -1, server, &error);
        for (int i = 0; i < 2; i++) {
                dup2(copies[i], i);
                close(copies[i]);
        }
        assert_true(started);
        close(server[1]); /* nor a reply */
        struct pollfd news = {.fd = helper.control, .events = POLLIN};
        assert_int_equal(poll(&news, 1, 20000), 1);
        assert_true(filter_helper_read(&helper, &run));
        expect_heard("input socket\\x0aoutput socket");
        filter_helper_end(&helper, &run);
        close(server[0]);
        close(ends[0]);
        close(ends[1]);
}

/* ---- its messages ---- */

static bool hear_one(void)
{
        return filter_helper_read(&helper, &run);
}

static void expect_file(int fd, const char *expected)
{
        autofree char *text = content_of(fd);
        assert_string_equal(text, expected);
}

static void test_readiness(void **state)
{
        struct error error = {0};
        (void)state;
        helper_says(FILTER_READY, "");
        assert_true(filter_helper_await(&helper, &error));
        helper_says(FILTER_NOTE, "the pins\nare no pins");
        assert_false(filter_helper_await(&helper, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_string_equal(error.text, "the pins\\x0aare no pins");
        error = (struct error){0};
        fd_close(&helper_end);
        assert_false(filter_helper_await(&helper, &error));
        assert_string_equal(error.text,
                            "the MCP firewall (hutch-filter) did not start; nothing was run without it");
}

static void test_what_it_says(void **state)
{
        (void)state;
        assert_true(hear_one()); /* nothing yet */
        helper_says(FILTER_NOTE, "no\n[hutch] forged");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] no\\x0a[hutch] forged\n");
        heard[0] = 0;
        helper_says(FILTER_NOISE, "listening on 3000");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] server stdout: listening on 3000\n");
        expect_file(logged, "");
        helper_says(FILTER_RECORD, "\"event\":\"call\"");
        assert_true(hear_one());
        assert_true(lseek(logged, 0, SEEK_END) > 20);
        heard[0] = 0;
        helper_says(FILTER_READY, "");
        helper_says(999, "x");
        assert_true(hear_one() && hear_one());
        assert_string_equal(heard, "");
}

static void test_how_far_the_bytes_are(void **state)
{
        static const uint32_t types[] = {FILTER_INPUT_ENDED, FILTER_CLIENT_GONE, FILTER_DRAINED,
                                         FILTER_GIVEN,       FILTER_GIVEN,       FILTER_TAKEN};
        (void)state;
        for (unsigned i = 0; i < COUNT(types); i++) {
                assert_int_equal(helper.state.input_ended, i > 0);
                assert_int_equal(helper.state.client_gone, i > 1);
                assert_int_equal(helper.state.drained, i > 2);
                assert_int_equal(helper.state.given, i < 4 ? 0 : i - 3);
                assert_int_equal(helper.state.taken, 0);
                helper_says(types[i], "");
                assert_true(hear_one());
        }
        assert_int_equal(helper.state.given, 2);
        assert_int_equal(helper.state.taken, 1);
}

static void test_pins_are_written_under_the_server_that_hutch_chose(void **state)
{
        (void)state;
        helper_says(FILTER_PIN, "");
        helper_says(FILTER_PIN, "\"tool\":\"a\",\"sha256\":\"0\"");
        helper_says(FILTER_PIN, "\"tool\":\"b\"}\n{\"server\":\"another\""); /* two records in one */
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
        helper_says(FILTER_PIN, "\"tool\":\"a\"");
        helper_says(FILTER_PIN, "\"tool\":\"b\"");
        assert_true(hear_one());
        assert_string_equal(heard, "[hutch] --pin: cannot write the pins: No space left on device\n");
        assert_int_equal(helper.pins, -1);
        assert_true(hear_one()); /* said once */
        assert_string_equal(heard, "[hutch] --pin: cannot write the pins: No space left on device\n");
}

static void test_it_has_ended(void **state)
{
        (void)state;
        assert_int_equal(send(helper_end, "xy", 2, 0), 2); /* less than a message */
        assert_false(hear_one());
        fd_close(&helper_end);
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
                helper_says(FILTER_GIVEN, "");
        helper_says(FILTER_NOTE, "the last");
        filter_helper_end(&helper, &run);
        assert_int_equal(helper.state.given, 20);
        assert_string_equal(heard, "[hutch] the last\n");
        assert_int_equal(helper.process, 0);
        assert_int_equal(helper.control, -1);
        assert_int_equal(helper.pins, -1);
        assert_null(helper.server);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
        filter_helper_end(&helper, &run);                 /* once more is nothing */
}

#define TALKING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int set_up_with_files(void **state)
{
        return machine_set_up(state) || set_up(state);
}

static int tear_down_with_files(void **state)
{
        return tear_down(state) || machine_tear_down(state);
}

int main(int argc, char **argv)
{
        (void)argc;
        stand_in_begin(argv, "hutch-filter", be_hutch_filter);
        (void)signal(SIGPIPE, SIG_IGN);
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rules),
            TALKING(test_starting_it),
            cmocka_unit_test_setup_teardown(test_starting_it_with_pins, set_up_with_files,
                                            tear_down_with_files),
            TALKING(test_a_client_with_sockets),
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
