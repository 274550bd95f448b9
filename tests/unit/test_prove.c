/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of `hutch prove`: what is read from the program, and that nothing but a plain "held" of an
 * attempt that was shown to work is counted as held.
 */
#include "prove/report.h"

#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <stdio.h>

#include "origins.h"
#include "unit.h"

static const char *const shown =
    "{\"id\":\"key\",\"group\":\"files\",\"gain\":\"a key\",\"shown\":\"as-caller\",\"path\":\"\"}";

static int inside(struct prove_results *results, const char *id, const char *result, const char *path)
{
        autofree char *line = str_format(
            "{\"id\":\"%s\",\"group\":\"files\",\"gain\":\"a key\",\"result\":\"%s\",\"path\":\"%s\"}", id,
            result, path);
        return prove_results_read(results, line);
}

static void one(struct prove_results *results, const char *result, bool spoiled)
{
        struct box box = {0};
        *results = (struct prove_results){0};
        assert_int_equal(prove_results_read(results, shown), 1);
        if (result)
                assert_int_equal(inside(results, "key", result, ""), 1);
        results->rows[0].spoiled = spoiled;
        prove_results_judge(results, &box, "/tmp/decoys", false);
}

static void assert_state(const char *result, bool spoiled, enum prove_state wanted)
{
        struct prove_results results;
        one(&results, result, spoiled);
        assert_int_equal(results.rows[0].state, wanted);
        assert_int_equal(results.totals[wanted], 1);
        assert_int_equal(prove_results_good(&results), wanted != PROVE_GOT_OUT && wanted != PROVE_FAILED);
        prove_results_free(&results);
}

static void test_only_held_is_held(void **state)
{
        (void)state;
        assert_state("held", false, PROVE_HELD);
        assert_state("got-out", false, PROVE_GOT_OUT);
        assert_state("not-limited", false, PROVE_NOT_LIMITED);
        assert_state("not-applicable", false, PROVE_NOT_SHOWN);
        assert_state("crashed", false, PROVE_FAILED);
        assert_state("hung", false, PROVE_FAILED);
        assert_state("Held", false, PROVE_FAILED);
        assert_state("", false, PROVE_FAILED);
        assert_state(NULL, false, PROVE_FAILED);
}

static void test_what_is_seen_from_outside_wins(void **state)
{
        (void)state;
        assert_state("held", true, PROVE_GOT_OUT);
        assert_state("not-applicable", true, PROVE_GOT_OUT);
        assert_state(NULL, true, PROVE_FAILED);
}

static void test_no_rows_are_no_good_result(void **state)
{
        (void)state;
        struct prove_results results = {0};
        assert_false(prove_results_good(&results));
}

static void test_what_was_not_shown_is_not_held(void **state)
{
        (void)state;
        struct box box = {0};
        struct prove_results results = {0};
        assert_int_equal(
            prove_results_read(
                &results, "{\"id\":\"key\",\"group\":\"g\",\"gain\":\"a\",\"shown\":\"no\",\"path\":\"\"}"),
            1);
        assert_int_equal(inside(&results, "key", "held", ""), 1);
        prove_results_judge(&results, &box, "/tmp/decoys", false);
        assert_int_equal(results.rows[0].state, PROVE_NOT_SHOWN);
        prove_results_free(&results);
}

static void test_lines(void **state)
{
        (void)state;
        static const char *const bad[] = {
            "",
            "{",
            "[]",
            "1",
            "null",
            "{}",
            "{\"id\":\"key\"}",
            "{\"id\":1,\"group\":\"g\",\"gain\":\"a\",\"path\":\"\"}",
            "{\"id\":\"other\",\"group\":\"g\",\"gain\":\"a\",\"result\":\"held\",\"path\":\"\"}",
            "{\"id\":\"key\",\"group\":\"g\",\"gain\":\"a\",\"result\":1,\"path\":\"\"}",
            "{\"ready\":false}",
            "{\"done\":\"1\"}"};
        struct prove_results results = {0};
        assert_int_equal(prove_results_read(&results, shown), 1);
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                assert_int_equal(prove_results_read(&results, bad[i]), -1);
        assert_int_equal(prove_results_read(&results, "{\"ready\":1}"), 0);
        assert_int_equal(prove_results_read(&results, "{\"done\":1}"), 0);
        assert_int_equal(results.count, 1);
        assert_null(results.rows[0].result);

        /* A second result changes nothing. */
        assert_int_equal(inside(&results, "key", "got-out", ""), 1);
        assert_int_equal(inside(&results, "key", "held", ""), -1);
        assert_string_equal(results.rows[0].result, "got-out");
        prove_results_free(&results);
}

/* The state of an attempt that got out by `path`, in a sandbox with one grant. */
static enum prove_state state_with_grant(const char *path, const char *why, bool unsafe, const char *group)
{
        struct box box = {0};
        struct mount mount = {.kind = MOUNT_BIND,
                              .source = str_copy("/home/me/data"),
                              .destination = str_copy("/home/me/data"),
                              .origin = origin_of(why),
                              .why = str_copy(why)};
        struct prove_results results = {0};
        box_add_mount(&box, &mount);
        if (unsafe)
                str_list_add(&box.unsafe_grants, "/home/me/data");
        autofree char *line = str_format(
            "{\"id\":\"key\",\"group\":\"%s\",\"gain\":\"a\",\"shown\":\"as-caller\",\"path\":\"\"}", group);
        assert_int_equal(prove_results_read(&results, line), 1);
        assert_int_equal(inside(&results, "key", "got-out", path), 1);
        prove_results_judge(&results, &box, "/tmp/decoys", false);
        enum prove_state found = results.rows[0].state;
        prove_results_free(&results);
        box_free(&box);
        return found;
}

static void test_options_that_open(void **state)
{
        (void)state;
        assert_int_equal(state_with_grant("/home/me/data/x", "--ro", false, "files"), PROVE_OPEN_BY_OPTION);
        assert_int_equal(state_with_grant("/home/me/data/x", "--ro", true, "files"), PROVE_GOT_OUT);
        assert_int_equal(state_with_grant("/home/me/data/x", "base", false, "files"), PROVE_GOT_OUT);
        assert_int_equal(state_with_grant("/home/me/other", "--ro", false, "files"), PROVE_GOT_OUT);
        assert_int_equal(state_with_grant("", "--ro", false, "files"), PROVE_GOT_OUT);
        /* A directory shows the grants below it, but a grant below does not open the directory for writing.
         */
        assert_int_equal(state_with_grant("/home/me", "--ro", false, "files"), PROVE_OPEN_BY_OPTION);
        assert_int_equal(state_with_grant("/home/me", "--rw", false, "writes"), PROVE_GOT_OUT);
}

/* Reads an attempt that was shown outside, and its result inside. */
static void read_both(struct prove_results *results, const char *id, const char *group, const char *result,
                      const char *path)
{
        autofree char *line = str_format(
            "{\"id\":\"%s\",\"group\":\"%s\",\"gain\":\"a\",\"shown\":\"as-caller\",\"path\":\"\"}", id,
            group);
        assert_int_equal(prove_results_read(results, line), 1);
        assert_int_equal(inside(results, id, result, path), 1);
}

/* The state of one attempt in this box; `option`: what the row must name, or NULL. */
static void assert_in_box(const struct box *box, bool no_protect, const char *id, const char *group,
                          const char *result, const char *path, enum prove_state state, const char *option)
{
        struct prove_results results = {0};
        read_both(&results, id, group, result, path);
        prove_results_judge(&results, box, "/tmp/decoys", no_protect);
        assert_int_equal(results.rows[0].state, state);
        if (option)
                assert_string_equal(results.rows[0].option, option);
        else
                assert_null(results.rows[0].option);
        prove_results_free(&results);
}

static void test_modes_that_open(void **state)
{
        (void)state;
        struct box box = {0};
        assert_in_box(&box, false, "userns", "g", "got-out", "", PROVE_GOT_OUT, NULL);
        assert_in_box(&box, false, "git-hook", "g", "got-out", "", PROVE_GOT_OUT, NULL);
        assert_in_box(&box, true, "git-hook", "g", "got-out", "", PROVE_OPEN_BY_OPTION, "--no-protect");
        assert_in_box(&box, true, "ro-write", "g", "got-out", "", PROVE_GOT_OUT, NULL);
        box.userns = USERNS_ALLOWED;
        assert_in_box(&box, false, "userns", "g", "got-out", "", PROVE_OPEN_BY_OPTION, "--allow-userns");
        assert_in_box(&box, false, "mount-proc", "g", "got-out", "", PROVE_GOT_OUT, NULL);
        /* Only the full mode leaves /proc unmasked. */
        assert_in_box(&box, false, "kcore", "g", "got-out", "/proc/kcore", PROVE_GOT_OUT, NULL);
        box.userns = USERNS_FULL;
        assert_in_box(&box, false, "kcore", "g", "got-out", "/proc/kcore", PROVE_OPEN_BY_OPTION,
                      "--allow-userns=full");
        assert_in_box(&box, false, "kcore", "g", "got-out", "/sys/kernel", PROVE_GOT_OUT, NULL);
}

static void test_storms(void **state)
{
        (void)state;
        struct box box = {.limits = {.pids = LIMITS_PIDS_DEFAULT,
                                     .memory = LIMIT_CGROUP,
                                     .processes = LIMIT_CGROUP,
                                     .processors = LIMIT_CGROUP}};
        /* The attempt sees no limit of a cgroup, which is read back instead. */
        assert_in_box(&box, false, "memory-storm", "budgets", "got-out", "", PROVE_HELD, NULL);
        assert_in_box(&box, false, "fork-storm", "budgets", "got-out", "", PROVE_HELD, NULL);
        assert_in_box(&box, false, "processor-storm", "budgets", "got-out", "", PROVE_HELD, NULL);
        assert_in_box(&box, false, "buffered-memory", "budgets", "got-out", "", PROVE_HELD, NULL);
        box.limits.memory = LIMIT_WATCHDOG;
        box.limits.processes = LIMIT_NONE;
        assert_in_box(&box, false, "buffered-memory", "budgets", "got-out", "", PROVE_NOT_LIMITED, "cgroups");
        assert_in_box(&box, false, "unmapped-memory", "budgets", "got-out", "", PROVE_NOT_LIMITED, "cgroups");
        box.limits.processors = LIMIT_UNASKED;
        assert_in_box(&box, false, "memory-storm", "budgets", "got-out", "", PROVE_GOT_OUT, NULL);
        assert_in_box(&box, false, "fork-storm", "budgets", "got-out", "", PROVE_NOT_LIMITED, "cgroups");
        assert_in_box(&box, false, "processor-storm", "budgets", "got-out", "", PROVE_NOT_LIMITED,
                      "--cpus N");
        box.limits.cpus = 50;
        assert_in_box(&box, false, "processor-storm", "budgets", "got-out", "", PROVE_NOT_LIMITED,
                      "a whole number of --cpus");
        assert_in_box(&box, false, "epoll-watches", "budgets", "not-limited", "", PROVE_NOT_LIMITED,
                      "a separate account");
        assert_in_box(&box, false, "descriptors-sent", "budgets", "not-limited", "", PROVE_NOT_LIMITED,
                      "a separate account");
        assert_in_box(&box, false, "granted-socket-later", "g", "not-limited", "", PROVE_NOT_LIMITED,
                      "Linux 7.1");
        box.limits.pids = LIMITS_PIDS_DEFAULT + 1;
        box.limits.processes = LIMIT_RLIMIT;
        assert_in_box(&box, false, "fork-storm", "budgets", "got-out", "", PROVE_OPEN_BY_OPTION,
                      "--pids 1025");
}

static void test_the_table_and_the_json(void **state)
{
        (void)state;
        struct box box = {.userns = USERNS_ALLOWED};
        struct prove_results results = {0};
        read_both(&results, "key", "files", "held", "");
        read_both(&results, "log", "files", "held", "");
        read_both(&results, "userns", "namespaces", "got-out", "");
        prove_results_judge(&results, &box, "/tmp/decoys", false);

        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_true(prove_write_table(&results, false, out));
        assert_int_equal(fclose(out), 0);
        /* Of what held, only the totals are shown; no colours for what is not a terminal. */
        assert_string_equal(
            text, "3 escape attempts, each shown to work outside first where that is possible:\n"
                  "  files                    2    2 held\n"
                  "  namespaces               1    1 open by your option\n"
                  "    userns                  a                                     open by your option "
                  "(--allow-userns)\n"
                  "nothing got out except where your options permit it: 2 held, 1 open by your option\n");
        free(text);

        out = open_memstream(&text, &length);
        assert_true(prove_write_json(&results, out));
        assert_int_equal(fclose(out), 0);
        assert_non_null(strstr(text, "\"ok\": true"));
        assert_non_null(strstr(text, "\"state\": \"open-by-option\",\n\t\t\t\"option\": \"--allow-userns\""));
        assert_null(strstr(text, "\"failure\""));
        free(text);
        prove_results_free(&results);
}

/* The state of an attempt at a destination, in a sandbox with the rules of a list, or with none. */
static enum prove_state state_with_rules(const char *id, const char *list, const char *result)
{
        struct box box = {0};
        struct error error = {0};
        struct prove_results results = {0};
        if (list)
                assert_true(destinations_add(&box.network.rules.allow, DESTINATION_ALLOW, list, &error));
        autofree char *line = str_format(
            "{\"id\":\"%s\",\"group\":\"g\",\"gain\":\"a\",\"shown\":\"as-caller\",\"path\":\"\"}", id);
        assert_int_equal(prove_results_read(&results, line), 1);
        assert_int_equal(inside(&results, id, result, ""), 1);
        prove_results_judge(&results, &box, "/tmp/decoys", false);
        enum prove_state found = results.rows[0].state;
        prove_results_free(&results);
        box_free(&box);
        return found;
}

static void test_rules_of_the_network(void **state)
{
        (void)state;
        assert_int_equal(state_with_rules("route-out", NULL, "got-out"), PROVE_GOT_OUT);
        assert_int_equal(state_with_rules("route-out", "a.example", "got-out"), PROVE_GOT_OUT);
        assert_int_equal(state_with_rules("route-out", "a.example", "held"), PROVE_HELD);
        assert_int_equal(state_with_rules("route-out", "public", "got-out"), PROVE_OPEN_BY_OPTION);
        assert_int_equal(state_with_rules("route-out", "public", "held"), PROVE_OPEN_BY_OPTION);
        assert_int_equal(state_with_rules("route-out", "public", "hung"), PROVE_FAILED);
        assert_int_equal(state_with_rules("metadata-service", "public", "got-out"), PROVE_GOT_OUT);
        assert_int_equal(state_with_rules("metadata-service", "public", "held"), PROVE_HELD);
        assert_int_equal(state_with_rules("metadata-service", "169.254.169.254", "held"),
                         PROVE_OPEN_BY_OPTION);
        assert_int_equal(state_with_rules("interfaces", "public", "got-out"), PROVE_GOT_OUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_only_held_is_held),
            cmocka_unit_test(test_what_is_seen_from_outside_wins),
            cmocka_unit_test(test_no_rows_are_no_good_result),
            cmocka_unit_test(test_what_was_not_shown_is_not_held),
            cmocka_unit_test(test_lines),
            cmocka_unit_test(test_options_that_open),
            cmocka_unit_test(test_rules_of_the_network),
            cmocka_unit_test(test_modes_that_open),
            cmocka_unit_test(test_storms),
            cmocka_unit_test(test_the_table_and_the_json),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
