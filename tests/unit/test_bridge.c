/* SPDX-License-Identifier: Apache-2.0
 *
 * What the bridge does with bytes, ends and errors, over pipes and sockets. See bridge_rig.h.
 */
#include "bridge_rig.h"
#include "lib/line.h"
#include "run/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG = 20 * 1000 * 1000 };

static void message_there_and_back(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);

                put(rig.client[0], MESSAGE(1) "\n");
                assert_true(rig_turn(&rig, 0));
                assert_got(rig.server[0], MESSAGE(1) "\n"); /* in the same turn */
                put(rig.server[1], MESSAGE(2) "\n");
                assert_true(rig_turn(&rig, 0));
                assert_got(rig.client[1], MESSAGE(2) "\n");
                put(rig.server[2], "log");
                assert_true(rig_turn(&rig, 0));
                assert_got(rig.client[2], "log");
                assert_int_equal(rig_settle(&rig), 0);
                assert_int_equal(bridge_state(rig.bridge).taken, sizeof(MESSAGE(2)) + 3);
                rig_end(&rig);
        }
}

static void noise_goes_to_stderr(void **state)
{
        struct rig rig = rig_new(PIPE, true);

        (void)state;
        put(rig.server[1], "ready\033[0m on 3000 \r\n\n" MESSAGE(1) "\n  [" MESSAGE(2) "] \r\n}\n" MESSAGE(
                               3) "\n" MESSAGE(4));
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(1) "\n  [" MESSAGE(2) "] \r\n" MESSAGE(3) "\n");
        assert_got(rig.client[2], "[hutch] server stdout: ready\\x1b[0m on 3000\n[hutch] server stdout: }\n");
        hang_up(&rig.server[1]);
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(4));
        rig_end(&rig);
}

static void noise_at_the_end(void **state)
{
        struct rig rig = rig_new(PIPE, true);

        (void)state;
        put(rig.server[1], MESSAGE(1) "\n{half of a mess");
        rig_settle(&rig);
        hang_up(&rig.server[1]);
        hang_up(&rig.server[2]);
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(1) "\n");
        assert_got(rig.client[2], "[hutch] server stdout: {half of a mess\n");
        assert_true(bridge_state(rig.bridge).drained);
        rig_end(&rig);
}

static void long_noise_is_cut(void **state)
{
        struct rig rig = rig_new(PIPE, true);
        char *line = big_line(300000);
        char text[8192];
        size_t length;
        size_t written = 0;

        (void)state;
        line[0] = 'x';
        while (written < 300000) {
                ssize_t n = write(rig.server[1], line + written, 300000 - written);
                if (n > 0)
                        written += (size_t)n;
                rig_settle(&rig);
        }
        put(rig.server[1], MESSAGE(1) "\n");
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(1) "\n");
        length = get(rig.client[2], text, sizeof text);
        assert_in_range(length, 100, 1100);
        assert_memory_equal(text, "[hutch] server stdout: xbcdefg", 30);
        assert_memory_equal(text + length - 4, "…\n", 4);
        free(line);
        rig_end(&rig);
}

static void raw_bytes_are_not_judged(void **state)
{
        struct rig rig = rig_new(PIPE, false);

        (void)state;
        put(rig.server[1], "$ ");
        assert_true(rig_turn(&rig, 0));
        assert_got(rig.client[1], "$ ");
        put(rig.server[1], "\n\nx");
        rig_settle(&rig);
        assert_got(rig.client[1], "\n\nx");
        rig_end(&rig);
}

static void many_bytes_both_ways(void **state)
{
        char *line = big_line(BIG);

        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);

                rig_carry(&rig, rig.server[1], rig.client[1], line, BIG, 1 << 20);
                rig_carry(&rig, rig.client[0], rig.server[0], line, BIG, 1 << 20);
                rig_carry(&rig, rig.server[1], rig.client[1], line, 100000,
                          777); /* cut: neither end is a message's */
                rig_end(&rig);
        }
        free(line);
}

static void held_lines_of_every_length(void **state)
{
        struct rig rig = rig_new(PIPE, true);
        char *line = big_line(LINE_WHOLE_MAX + 3);
        size_t lengths[] = {12,
                            4096,
                            65000,
                            LINE_WHOLE_MAX - 1,
                            LINE_WHOLE_MAX,
                            LINE_WHOLE_MAX + 1,
                            LINE_WHOLE_MAX + 2,
                            LINE_WHOLE_MAX + 3};

        (void)state;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                char *piece = line + LINE_WHOLE_MAX + 3 - lengths[i];
                char before = *piece;

                *piece = '{';
                rig_carry(&rig, rig.server[1], rig.client[1], piece, lengths[i], 1 << 20);
                *piece = before;
        }
        free(line);
        rig_end(&rig);
}

static void slow_client_stops_the_server(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);
                const char line[] = "{\"jsonrpc\":\"2.0\",\"method\":"
                                    "\"01234567890123456789012345678901234567890123456789\"}\n";
                size_t length = sizeof line - 1;
                size_t sent = 0;
                size_t got = 0;
                char data[sizeof line];
                unsigned long long taken;

                for (;;) {
                        ssize_t n = write(rig.server[1], line, length); /* at most PIPE_BUF: all or nothing */
                        if (n < 0)
                                rig_settle(&rig);
                        if (n < 0 && write(rig.server[1], line, length) < 0)
                                break;
                        sent++;
                        assert_true(sent * length <
                                    4 * 1024 * 1024); /* bounded, whatever the kernel's buffers */
                }
                taken = bridge_state(rig.bridge).taken;
                assert_int_equal(rig_settle(&rig), 0);
                assert_int_equal(bridge_state(rig.bridge).taken, taken);
                while (got < sent) {
                        size_t have = 0;
                        while (have < length) {
                                size_t n = get(rig.client[1], data + have, length - have);
                                have += n;
                                if (n == 0)
                                        assert_true(rig_settle(&rig) > 0);
                        }
                        assert_memory_equal(data, line, length);
                        got++;
                }
                rig_end(&rig);
        }
}

static void end_of_input_is_passed_on(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);

                put(rig.client[0], MESSAGE(1) "\n" MESSAGE(2));
                hang_up(&rig.client[0]);
                rig_settle(&rig);
                assert_true(bridge_state(rig.bridge).input_ended);
                assert_got(rig.server[0], MESSAGE(1) "\n" MESSAGE(2));
                assert_true(at_end(rig.server[0]));
                put(rig.server[1], MESSAGE(3) "\n");
                rig_settle(&rig);
                assert_got(rig.client[1], MESSAGE(3) "\n");
                rig_end(&rig);
        }
}

static void end_of_input_behind_a_full_pipe(void **state)
{
        struct rig rig = rig_new(PIPE, true);
        char *line = big_line(1 << 20);
        char *arrived = malloc(1 << 20);
        size_t sent = 0;
        size_t got = 0;
        ssize_t n;

        (void)state;
        while ((n = write(rig.client[0], line + sent, (1 << 20) - sent)) > 0 || rig_settle(&rig) > 0)
                sent += n > 0 ? (size_t)n : 0;
        assert_true(sent < 1 << 20);
        hang_up(&rig.client[0]);
        rig_settle(&rig);
        /* Known at once, although the server takes nothing; and yet nothing is lost. */
        assert_true(bridge_state(rig.bridge).input_ended);
        while (got < sent) {
                size_t more = get(rig.server[0], arrived + got, (1 << 20) - got);
                got += more;
                assert_true(rig_settle(&rig) > 0 || more > 0);
        }
        rig_settle(&rig);
        assert_int_equal(bridge_state(rig.bridge).given, sent);
        assert_true(at_end(rig.server[0]));
        assert_int_equal(got, sent);
        assert_memory_equal(arrived, line, sent);
        free(line);
        free(arrived);
        rig_end(&rig);
}

static void server_that_closed_its_stdin(void **state)
{
        struct rig rig = rig_new(PIPE, true);

        (void)state;
        hang_up(&rig.server[0]);
        for (int i = 0; i < 100; i++) {
                put(rig.client[0], "{\"to\":\"nobody\"}\n");
                rig_settle(&rig);
        }
        assert_false(bridge_state(rig.bridge).input_ended);
        hang_up(&rig.client[0]);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).input_ended);
        rig_end(&rig);
}

static void server_that_closes_its_stdin_when_it_is_full(void **state)
{
        struct rig rig = rig_new(PIPE, true);
        char block[4096] = {0};

        (void)state;
        while (write(rig.client[0], block, sizeof block) > 0 || rig_settle(&rig) > 0)
                ;
        hang_up(&rig.server[0]);
        rig_settle(&rig);
        hang_up(&rig.client[0]);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).input_ended);
        rig_end(&rig);
}

static void client_that_goes_away(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++)
                for (int writes_first = 0; writes_first < 2; writes_first++) {
                        struct rig rig = rig_new(kind, true);

                        if (writes_first)
                                put(rig.server[1], MESSAGE(1) "\n");
                        hang_up(&rig.client[1]);
                        rig_settle(&rig);
                        assert_true(bridge_state(rig.bridge).client_gone);
                        assert_int_equal(write(rig.server[1], "x", 1), -1);
                        assert_int_equal(errno, EPIPE);
                        hang_up(&rig.server[2]);
                        rig_settle(&rig);
                        assert_true(bridge_state(rig.bridge).drained);
                        put(rig.client[0], MESSAGE(2) "\n"); /* the other direction still works */
                        rig_settle(&rig);
                        assert_got(rig.server[0], MESSAGE(2) "\n");
                        rig_end(&rig);
                }
}

static void client_that_goes_away_while_it_is_full(void **state)
{
        struct rig rig = rig_new(PIPE, false);
        char block[4096] = {0};

        (void)state;
        while (write(rig.server[1], block, sizeof block) > 0 || rig_settle(&rig) > 0)
                ;
        assert_false(bridge_state(rig.bridge).client_gone);
        hang_up(&rig.client[1]);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).client_gone);
        rig_end(&rig);
}

static void stderr_that_nobody_reads(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);
                char block[4096];
                char *text = malloc(4 << 20);
                size_t total = 0;
                size_t shown = 0;
                size_t length = 0;
                unsigned long long told = 0;
                char *notice;
                size_t n;

                memset(block, 'e', sizeof block);
                block[sizeof block - 1] = '\n';
                for (int i = 0; i < 2000; i++) {
                        ssize_t written = write(rig.server[2], block, sizeof block);

                        if (written < 0) {
                                rig_settle(&rig);
                                written = write(rig.server[2], block, sizeof block);
                        }
                        assert_int_equal(written, sizeof block); /* the server is never held up */
                        total += sizeof block;
                }
                rig_settle(&rig);
                put(rig.server[1], MESSAGE(1) "\n"); /* nor are messages */
                rig_settle(&rig);
                assert_got(rig.client[1], MESSAGE(1) "\n");

                rig_say(&rig, "[hutch] an own line\n");
                do {
                        n = get(rig.client[2], text + length, (4 << 20) - 1 - length);
                        length += n;
                } while (rig_settle(&rig) > 0 || n > 0);
                text[length] = 0;
                assert_true(length < 2 * QUEUE_SIZE + (1 << 20));
                notice = strstr(text, "[hutch] an own line\n");
                assert_non_null(notice);
                assert_true(notice == text || notice[-1] == '\n');
                notice = strstr(text, "\n[hutch] ");
                while (notice && sscanf(notice, "\n[hutch] %llu bytes", &told) != 1)
                        notice = strstr(notice + 1, "\n[hutch] ");
                assert_non_null(notice);
                for (size_t i = 0; i < length; i++)
                        shown += text[i] == 'e';
                shown += 10000; /* newlines and the e's of hutch's lines: nearly */
                assert_in_range(told + shown, total, total + 20000);
                free(text);
                rig_end(&rig);
        }
}

static void stderr_that_is_gone(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);

                hang_up(&rig.client[2]);
                assert_int_equal(rig_settle(&rig), 0);
                for (int i = 0; i < 200; i++) {
                        put(rig.server[2], "0123456789012345678901234567890123456789\n");
                        put(rig.server[1], "noise\n" MESSAGE(1) "\n");
                        rig_say(&rig, "[hutch] line\n");
                        rig_settle(&rig);
                        assert_got(rig.client[1], MESSAGE(1) "\n");
                }
                hang_up(&rig.server[1]);
                hang_up(&rig.server[2]);
                rig_settle(&rig);
                assert_true(bridge_state(rig.bridge).drained);
                rig_end(&rig);
        }
}

static void own_lines_between_lines_of_the_server(void **state)
{
        struct rig rig = rig_new(PIPE, true);

        (void)state;
        put(rig.server[2], "first half, ");
        rig_settle(&rig);
        put(rig.server[2], "second half\n");
        rig_say(&rig, "[hutch] own\n");
        rig_settle(&rig);
        assert_got(rig.client[2], "first half, second half\n[hutch] own\n");
        put(rig.server[2], "one, ");
        rig_settle(&rig);
        put(rig.server[2], "two, ");
        rig_say(&rig, "[hutch] own\n");
        assert_true(rig_turn(&rig, 0));
        put(rig.server[2], "three\n");
        rig_settle(&rig);
        assert_got(rig.client[2], "one, two, three\n[hutch] own\n");
        put(rig.server[2], "prompt> ");
        rig_settle(&rig);
        rig_say(&rig, "[hutch] own\n");
        rig_settle(&rig);
        assert_got(rig.client[2], "prompt> \n[hutch] own\n");
        rig_end(&rig);
}

static void last_lines_at_the_end(void **state)
{
        struct rig rig = rig_new(PIPE, true);

        (void)state;
        put(rig.server[2], "half");
        rig_settle(&rig);
        rig_say(&rig, "[hutch] killed\n");
        rig_enter(&rig);
        bridge_free(rig.bridge);
        rig_leave();
        rig.bridge = NULL;
        assert_got(rig.client[2], "half\n[hutch] killed\n");
        rig_end(&rig);
}

static void drained_only_when_all_is_taken(void **state)
{
        struct rig rig = rig_new(PIPE, true);
        char block[4096] = {0};
        struct pollfd room = {.fd = rig.given[1], .events = POLLOUT};

        (void)state;
        while (poll(&room, 1, 0) > 0)
                assert_int_equal(write(rig.given[1], block, sizeof block), sizeof block);
        put(rig.server[1], MESSAGE(1)); /* no newline: it may only pass once the end is known */
        for (int i = 0; i < 3; i++)
                hang_up(&rig.server[i]);
        rig_settle(&rig);
        assert_false(bridge_state(rig.bridge).drained);
        while (get(rig.client[1], block, sizeof block) == sizeof block)
                ;
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(1));
        assert_true(bridge_state(rig.bridge).drained);
        assert_int_equal(rig_settle(&rig), 0);
        rig_end(&rig);
}

/* Each half-closed state, with data stuck or not: after what there is to do, poll() must sleep. */
static void no_state_spins(void **state)
{
        char block[4096] = {0};

        (void)state;
        for (unsigned closed = 0; closed < 64; closed++)
                for (int stuck = 0; stuck < 2; stuck++)
                        for (int kind = PIPE; kind <= SOCKET; kind++) {
                                struct rig rig = rig_new(kind, false);

                                if (stuck)
                                        for (int i = 0; i < 3; i++)
                                                while (write(i == 0 ? rig.client[0] : rig.server[i], block,
                                                             sizeof block) > 0 ||
                                                       (i < 2 && rig_settle(&rig) > 0))
                                                        ;
                                for (int i = 0; i < 3; i++) {
                                        if (closed & 1u << i)
                                                hang_up(&rig.client[i]);
                                        if (closed & 8u << i)
                                                hang_up(&rig.server[i]);
                                }
                                rig_say(&rig, "[hutch] line\n");
                                rig_settle(&rig);
                                assert_false(rig_turn(&rig, 1));
                                rig_end(&rig);
                        }
}

static unsigned open_descriptors(void)
{
        unsigned count = 0;

        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void no_descriptor_is_left(void **state)
{
        unsigned before = open_descriptors();

        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct rig rig = rig_new(kind, true);
                rig_end(&rig);
        }
        assert_int_equal(open_descriptors(), before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(no_descriptor_is_left), /* first: what others leak would hide it */
            cmocka_unit_test(message_there_and_back),
            cmocka_unit_test(noise_goes_to_stderr),
            cmocka_unit_test(noise_at_the_end),
            cmocka_unit_test(long_noise_is_cut),
            cmocka_unit_test(raw_bytes_are_not_judged),
            cmocka_unit_test(many_bytes_both_ways),
            cmocka_unit_test(held_lines_of_every_length),
            cmocka_unit_test(slow_client_stops_the_server),
            cmocka_unit_test(end_of_input_is_passed_on),
            cmocka_unit_test(end_of_input_behind_a_full_pipe),
            cmocka_unit_test(server_that_closed_its_stdin),
            cmocka_unit_test(server_that_closes_its_stdin_when_it_is_full),
            cmocka_unit_test(client_that_goes_away),
            cmocka_unit_test(client_that_goes_away_while_it_is_full),
            cmocka_unit_test(stderr_that_nobody_reads),
            cmocka_unit_test(stderr_that_is_gone),
            cmocka_unit_test(own_lines_between_lines_of_the_server),
            cmocka_unit_test(last_lines_at_the_end),
            cmocka_unit_test(drained_only_when_all_is_taken),
            cmocka_unit_test(no_state_spins),
        };

        rig_begin();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
