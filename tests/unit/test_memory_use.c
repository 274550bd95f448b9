/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of the kernel that the watchdog over memory reads.
 */
#include "lib/fd.h"
#include "limits/limits.h"
#include "ns/memory_use.h"

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
        assert_int_equal(use.pages, 157 * 1024);
        assert_int_equal(use.tables, (44 + 2048) * 1024);
        assert_int_equal(use.space, 5000 * 1024);
        assert_int_equal(use.threads, 12);
        memory_use_parse_status("", &use);
        assert_int_equal(use.pages + use.tables + use.space + use.threads, 0);
        memory_use_parse_status("x\nRssAnon:\t99999999999999999999999999 kB\nThreads:", &use);
        assert_true(use.pages > 1ULL << 50);
}

static void test_rollup(void **state)
{
        uint64_t bytes;
        (void)state;
        assert_true(
            memory_use_parse_rollup("a-b ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss: 8 kB\nPss_Anon:  5 "
                                    "kB\nPss_File:  90 kB\nPss_Shmem:  4 kB\nSwapPss: 2 kB\n",
                                    &bytes));
        assert_int_equal(bytes, 11 * 1024);
        assert_false(memory_use_parse_rollup("", &bytes));
        assert_false(memory_use_parse_rollup("Rss: 9 kB\n", &bytes));
}

static void test_segment(void **state)
{
        (void)state;
        assert_int_equal(memory_use_parse_segment("       key      shmid perms                  size  cpid"),
                         0);
        assert_int_equal(
            memory_use_parse_segment(
                "         0          1  1600                  8192    12    12      1 65532 65532 "
                "65532 65532 1796082114          0 1796082114                  4096     "
                "          8192"),
            12288);
        assert_int_equal(memory_use_parse_segment("0 1 1600 8192 12 12 1"), 0);
        assert_int_equal(memory_use_parse_segment(""), 0);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_status), cmocka_unit_test(test_rollup), cmocka_unit_test(test_segment),
            cmocka_unit_test(test_names),  cmocka_unit_test(test_unheld),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
