/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of the kernel that the watchdog over memory reads.
 */
#include "enforce/memory_use.h"
#include "lib/fd.h"
#include "limits/limits.h"
#include "seccomp/arguments.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_status(void **state)
{
        struct memory_use_process use;
        (void)state;
        memory_use_parse_status(
            "Name:\tVmSwap: 9999 kB\nGroups:\t1 2\nVmPeak:\t  9000 kB\nVmSize:\t    5000 kB\nVmRSS:\t     8 "
            "kB\n"
            "RssAnon:\t     100 kB\nRssShmem:\t 50 kB\nVmPTE:\t      44 kB\nVmSwap:\t       7 kB\n"
            "HugetlbPages:\t       2048 kB\nThreads:\t12\n",
            &use);
        assert_int_equal(use.anonymous, 107 * 1024);
        assert_int_equal(use.tables, (44 + 2048) * 1024);
        assert_int_equal(use.space, 5000 * 1024);
        assert_int_equal(use.threads, 12);
        memory_use_parse_status("", &use);
        assert_int_equal(use.anonymous + use.tables + use.space + use.threads, 0);
        memory_use_parse_status("x\nRssAnon:\t99999999999999999999999999 kB\nThreads:", &use);
        assert_true(use.anonymous > 1ULL << 50);
}

static void test_rollup(void **state)
{
        uint64_t bytes;
        (void)state;
        assert_true(memory_use_parse_rollup(
            "a-b ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss: 8 kB\nPss_Anon:  5 kB\nSwapPss: 2 kB\n",
            &bytes));
        assert_int_equal(bytes, 7 * 1024);
        assert_false(memory_use_parse_rollup("", &bytes));
        assert_false(memory_use_parse_rollup("Rss: 9 kB\n", &bytes));
}

static void test_start(void **state)
{
        (void)state;
        assert_int_equal(memory_use_parse_start(
                             "7 (a) 1 (b)) S 1 7 7 0 -1 4194560 105 0 0 0 0 0 0 0 20 0 1 0 51397 8556544 1"),
                         51397);
        assert_true(memory_use_parse_start("") == UINT64_MAX);
        assert_true(memory_use_parse_start("7 (a) S 1 2") == UINT64_MAX);
}

static void test_maps(void **state)
{
        static const char *const others[] = {
            "",
            "7f00-7f10 rw-p 00000000 00:01 5                          /dev/zero (deleted)",
            "7f00-7f10 rw-s 00000000 00:01 5                          /dev/zero (deleted) x",
            "7f00-7f10 rw-s 00000000 00:01 5                          /home/zero (deleted)",
            "7f10-7f00 rw-s 00000000 00:01 5                          /dev/zero (deleted)",
            "nonsense /dev/zero (deleted)",
            "7f00-7f10 rw-s 00000000 00:01                            /dev/zero (deleted)",
        };
        uint64_t bytes, number;
        (void)state;
        /* A piece that was cut to a page may have been this large. */
        assert_true(memory_use_parse_shared(
            "7f0000000000-7f0000001000 rw-s 00000000 00:01 1026                       /dev/zero (deleted)",
            &bytes, &number));
        assert_int_equal(bytes, SECCOMP_SHARED_MOST);
        assert_true(memory_use_parse_shared(
            "7f0000000000-7f0000100000 rw-s 00000000 00:01 1027                       /dev/zero (deleted)",
            &bytes, &number));
        assert_int_equal(bytes, SECCOMP_SHARED_MOST);
        assert_int_equal(number, 1027);
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                assert_false(memory_use_parse_shared(others[i], &bytes, &number));
}

static void test_names(void **state)
{
        char text[24];
        (void)state;
        assert_string_equal(limits_write_size(2ULL << 30, text), "2g");
        assert_string_equal(limits_write_size(512ULL << 20, text), "512m");
        assert_string_equal(limits_write_size(1000, text), "1000");
        assert_string_equal(limits_write_size(1ULL << 40, text), "1024g");
        for (enum limit_mechanism i = 0; i < LIMIT_MECHANISMS; i++)
                assert_non_null(limit_mechanism_name(i));
}

static void assert_unheld(const struct limits *limits, const char *expected)
{
        autofree char *text = limits_describe_unheld(limits);
        if (!expected)
                assert_null(text);
        else
                assert_string_equal(text, expected);
}

static void test_unheld(void **state)
{
        struct limits limits = {
            .memory_bytes = 64 << 20, .pids = 50, .cpus = 50, .no_cgroup = "there is none"};
        (void)state;
        /* Nothing holds anything, and nothing was given. */
        limits.memory = limits.processes = limits.processors = LIMIT_NONE;
        assert_unheld(&limits, NULL);
        limits.given = REQUIRE_MEMORY | REQUIRE_PIDS | REQUIRE_CPUS;
        assert_unheld(
            &limits, "nothing here enforces --memory 64m (only each process alone is bounded), "
                     "--pids 50, --cpus 0.5: there is none; --require memory,pids,cpus makes hutch refuse to "
                     "run then, and hutch doctor shows what is missing");
        limits.memory = LIMIT_WATCHDOG;
        limits.processes = LIMIT_RLIMIT;
        limits.no_cgroup = NULL;
        assert_unheld(
            &limits, "nothing here enforces --cpus 0.5: the cgroup does not enforce the "
                     "processors; --require cpus makes hutch refuse to run then, and hutch doctor shows what "
                     "is missing");
        limits.processors = LIMIT_AFFINITY;
        assert_unheld(&limits, NULL);
}

/* The proc of a sandbox whose pid 1 has ended shows nobody, as a directory without numbers does; one that
 * cannot be listed is something else. */
static void test_nobody_is_left(void **state)
{
        struct memory_use use;
        autoclose int directory = open("/proc/self/fdinfo/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        autoclose int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        (void)state;
        assert_int_equal(memory_use_measure(&(struct memory_use_sources){.proc = directory, .sock_diag = -1},
                                            1 << 20, &use),
                         MEMORY_USE_ENDED);
        assert_int_equal(
            memory_use_measure(&(struct memory_use_sources){.proc = file, .sock_diag = -1}, 1 << 20, &use),
            MEMORY_USE_UNKNOWN);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_status),         cmocka_unit_test(test_rollup),
            cmocka_unit_test(test_start),          cmocka_unit_test(test_maps),
            cmocka_unit_test(test_names),          cmocka_unit_test(test_unheld),
            cmocka_unit_test(test_nobody_is_left),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
