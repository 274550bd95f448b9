/* SPDX-License-Identifier: Apache-2.0
 *
 * A start that fails before any sandbox exists leaves nothing behind. What a running sandbox needs of the
 * supervisor is tested end to end; its decisions are in ending.h, deadlines.h and signals.h.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "run/supervise.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine_rig.h"
#include "unit.h"

static unsigned count_descriptors(void)
{
        unsigned count = 0;
        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static char heard[1024];

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
}

static void test_a_start_that_fails(void **state)
{
        (void)state;
        for (enum box_kind kind = BOX_MCP; kind <= BOX_RUN; kind++) {
                struct held_sources held = {0};
                struct error error = {0};
                struct run_log run = {.store_file = -1, .file = -1};
                struct box box = {.kind = kind, .log_path = str_format("%s/absent/log", machine_directory)};
                unsigned before = count_descriptors();
                (void)supervise(&box, &held, &run, &error);
                assert_int_equal(error.status, EXIT_SETUP);
                assert_non_null(strstr(error.text, "its directory does not exist"));
                assert_int_equal(run.ending, ENDING_FAILED);
                assert_false(run.begun);
                assert_int_equal(count_descriptors(), before);
                assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
                free(box.log_path);
        }
        /* Lines go where they went before. */
        int saved = dup(STDERR_FILENO), ends[2];
        char line[64] = "";
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        dup2(ends[1], STDERR_FILENO);
        message("after the run");
        dup2(saved, STDERR_FILENO);
        assert_true(read(ends[0], line, sizeof(line) - 1) > 0);
        assert_string_equal(line, "[hutch] after the run\n");
        close(saved);
        close(ends[0]);
        close(ends[1]);
}

/* A limit that is required and that nothing holds: nothing is started. */
static void test_a_requirement_that_is_not_met(void **state)
{
        struct held_sources held = {0};
        struct error error = {0};
        struct run_log run = {.store_file = -1, .file = -1};
        struct box box = {.kind = BOX_MCP,
                          .required = REQUIRE_CGROUP,
                          .limits = {.memory_bytes = 1 << 30, .pids = 9, .way = CGROUP_WAY_DELEGATED}};
        unsigned before = count_descriptors();
        (void)state;
        snprintf(box.limits.cgroup, sizeof(box.limits.cgroup), "%s", machine_directory);
        messages_send_to(hear, NULL);
        (void)supervise(&box, &held, &run, &error);
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "--require cgroup cannot be met"));
        assert_int_equal(count_descriptors(), before);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_string_equal(heard, ""); /* the caller reports the error */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_a_start_that_fails, machine_set_up, machine_tear_down),
            cmocka_unit_test_setup_teardown(test_a_requirement_that_is_not_met, machine_set_up,
                                            machine_tear_down),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
