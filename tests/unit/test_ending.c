/* SPDX-License-Identifier: Apache-2.0
 *
 * How each combination of facts is called, and the exit status that it gets.
 */
#include "run/ending.h"

#include "lib/err.h"

#include <signal.h>

#include "unit.h"

enum { EXITED_3 = 3 << 8, KILLED_BY_TERM = SIGTERM };

static void expect(struct ending_facts facts, enum ending ending, int status, int signal_number)
{
        int got = -1;
        assert_int_equal(ending_judge(&facts), ending);
        assert_int_equal(ending_status(ending, &facts, &got), status);
        assert_int_equal(got, signal_number);
}

static void test_what_the_server_did(void **state)
{
        (void)state;
        expect((struct ending_facts){.exited = true, .wait_status = EXITED_3}, ENDING_EXITED, 3, 0);
        expect((struct ending_facts){.exited = true}, ENDING_EXITED, 0, 0);
        expect((struct ending_facts){.exited = true, .wait_status = KILLED_BY_TERM}, ENDING_SIGNALLED,
               128 + SIGTERM, SIGTERM);
        expect((struct ending_facts){0}, ENDING_KILLED, 128 + SIGKILL, SIGKILL);
}

static void test_what_hutch_did(void **state)
{
        (void)state;
        expect((struct ending_facts){.abandoned = true, .exited = true, .wait_status = KILLED_BY_TERM},
               ENDING_ABANDONED, 0, 0);
        expect((struct ending_facts){.abandoned = true}, ENDING_ABANDONED, 0, 0);
        expect((struct ending_facts){.abandoned = true, .exited = true, .wait_status = EXITED_3},
               ENDING_EXITED, 3, 0);
        expect((struct ending_facts){.stop_signal = SIGINT}, ENDING_STOPPED, 128 + SIGINT, SIGINT);
        expect((struct ending_facts){.timed_out = true}, ENDING_TIMED_OUT, EXIT_TIMED_OUT, 0);
        expect((struct ending_facts){.unenforced = true}, ENDING_UNENFORCED, EXIT_SETUP, 0);
        expect((struct ending_facts){.limit_reached = true}, ENDING_LIMIT, 128 + SIGKILL, SIGKILL);
}

/* A server that exits with 0 in its last moment must not hide why it was ended. */
static void test_the_gravest_fact_decides(void **state)
{
        struct ending_facts facts = {.exited = true, .stop_signal = SIGTERM};
        (void)state;
        expect(facts, ENDING_STOPPED, 128 + SIGTERM, SIGTERM);
        facts.timed_out = true;
        expect(facts, ENDING_TIMED_OUT, EXIT_TIMED_OUT, 0);
        facts.unenforced = true;
        expect(facts, ENDING_UNENFORCED, EXIT_SETUP, 0);
        facts.limit_reached = true;
        expect(facts, ENDING_LIMIT, 128 + SIGKILL, SIGKILL);
}

static void test_names(void **state)
{
        (void)state;
        assert_string_equal(ending_name(ENDING_FAILED), "failed");
        assert_string_equal(ending_name(ENDING_EXITED), "exit");
        assert_string_equal(ending_name(ENDING_ABANDONED), "client gone");
        assert_string_equal(ending_name(ENDING_UNENFORCED), "unenforced");
        for (enum ending i = ENDING_FAILED; i <= ENDING_UNENFORCED; i++)
                assert_non_null(ending_name(i));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_the_server_did),
            cmocka_unit_test(test_what_hutch_did),
            cmocka_unit_test(test_the_gravest_fact_decides),
            cmocka_unit_test(test_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
