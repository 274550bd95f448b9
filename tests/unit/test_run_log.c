/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a run in a made state directory, and its copy for --log: what is in them, and what never is.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "run/run_log.h"
#include "run/run_store.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "machine_rig.h"
#include "unit.h"

static struct run_log run;
static struct box box;
static struct mount mounts[12];
static char heard[4096]; /* what hutch said */

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
}

static int set_up(void **state)
{
        static char *words[] = {
            (char *)"--rw",           (char *)".", (char *)"--", (char *)"/opt/bin/server",
            (char *)"--token=secret", NULL};
        if (machine_set_up(state) || setenv("XDG_STATE_HOME", machine_directory, 1) < 0)
                return -1;
        heard[0] = 0;
        messages_send_to(hear, NULL);
        for (size_t i = 0; i < COUNT(mounts); i++)
                mounts[i] = (struct mount){.kind = MOUNT_BIND,
                                           .source = (char *)"/inside",
                                           .origin = ORIGIN_OPTION,
                                           .why = (char *)"--ro"};
        box = (struct box){.kind = BOX_MCP, .mounts = mounts, .limits = {.memory_bytes = 1 << 30, .pids = 7}};
        run_log_prepare(&run, 5, words);
        return 0;
}

static int tear_down(void **state)
{
        messages_record(NULL, NULL);
        messages_send_to(NULL, NULL);
        fd_close(&run.store_file);
        fd_close(&run.file);
        str_list_free(&run.early);
        return machine_tear_down(state);
}

/* The lines of a text as a JSON array, which the caller deletes. */
static cJSON *parse(const char *text)
{
        autofree char *copy = str_copy(text);
        cJSON *array = cJSON_CreateArray();
        char *rest = copy;
        for (char *line; (line = strsep(&rest, "\n")) && *line;) {
                cJSON *object = cJSON_Parse(line);
                assert_non_null(object);
                cJSON_AddItemToArray(array, object);
        }
        return array;
}

static cJSON *stored(void)
{
        struct run_store_runs list;
        assert_int_equal(run_store_read(NULL, &list), 0);
        assert_int_equal(list.count, 1);
        assert_null(strstr(list.runs[0].text, "secret"));
        cJSON *array = parse(list.runs[0].text);
        run_store_runs_free(&list);
        return array;
}

static const char *text_of(const cJSON *array, int index, const char *key)
{
        return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(array, index), key));
}

static double number_of(const cJSON *array, int index, const char *key)
{
        return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(array, index), key));
}

static void test_a_run(void **state)
{
        (void)state;
        mounts[0].writable = true;
        mounts[1].kind = MOUNT_OVERLAY;
        mounts[3].origin = ORIGIN_BASE;
        box.mount_count = 4;
        message("before there is a file");
        run_log_begin(&run, &box);
        message("during the run");
        message_as(MESSAGE_USUAL, NULL, "in every run");
        run.ending = ENDING_STOPPED;
        run.signal_number = SIGTERM;
        run_log_end(&run, 143);
        cJSON *lines = stored();
        assert_int_equal(cJSON_GetArraySize(lines), 4);
        assert_string_equal(text_of(lines, 0, "event"), "start");
        assert_string_equal(text_of(lines, 0, "name"), "server");
        assert_string_equal(text_of(lines, 0, "command"), "server");
        assert_string_equal(text_of(lines, 0, "kind"), "mcp");
        assert_int_equal(number_of(lines, 0, "pid"), getpid());
        assert_int_equal(number_of(lines, 0, "grant_count"), 3);
        cJSON *grants = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(lines, 0), "grants");
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(grants, 0)), "rw /inside");
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(grants, 1)), "overlay /inside");
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(grants, 2)), "ro /inside");
        assert_string_equal(text_of(lines, 1, "text"), "before there is a file");
        assert_string_equal(text_of(lines, 2, "text"), "during the run");
        assert_string_equal(text_of(lines, 3, "event"), "end");
        assert_string_equal(text_of(lines, 3, "how"), "stopped");
        assert_int_equal(number_of(lines, 3, "status"), 143);
        assert_int_equal(number_of(lines, 3, "signal"), SIGTERM);
        assert_int_equal(number_of(lines, 3, "lines_left_out"), 0);
        assert_string_equal(text_of(lines, 0, "sandbox"), text_of(lines, 3, "sandbox"));
        cJSON_Delete(lines);
}

static void test_a_run_that_ended_by_itself(void **state)
{
        (void)state;
        box.kind = BOX_RUN;
        run_log_begin(&run, &box);
        run.ending = ENDING_EXITED;
        run_log_end(&run, 3);
        message("after the end");
        cJSON *lines = stored();
        assert_int_equal(cJSON_GetArraySize(lines), 2);
        assert_string_equal(text_of(lines, 0, "kind"), "run");
        assert_false(cJSON_HasObjectItem(cJSON_GetArrayItem(lines, 1), "signal"));
        cJSON_Delete(lines);
}

static void test_much_is_bounded(void **state)
{
        (void)state;
        box.mount_count = COUNT(mounts);
        run_log_begin(&run, &box);
        for (int i = 0; i < RUN_LOG_LINES_MAX + 3; i++)
                message("line %d", i);
        run_log_end(&run, 0);
        cJSON *lines = stored();
        assert_int_equal(cJSON_GetArraySize(lines), 1 + RUN_LOG_LINES_MAX + 1);
        assert_int_equal(number_of(lines, RUN_LOG_LINES_MAX + 1, "lines_left_out"), 3);
        assert_int_equal(number_of(lines, 0, "grant_count"), COUNT(mounts));
        cJSON *grants = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(lines, 0), "grants");
        assert_int_equal(cJSON_GetArraySize(grants), 8);
        cJSON_Delete(lines);
}

static size_t count_stored(void)
{
        struct run_store_runs list;
        assert_int_equal(run_store_read(NULL, &list), 0);
        size_t count = list.count;
        run_store_runs_free(&list);
        return count;
}

/* A sandbox that could write to the records gets none; without a command there is no run. */
static void test_no_record(void **state)
{
        (void)state;
        messages_set_verbose(1);
        struct stat status;
        assert_int_equal(stat(machine_directory, &status), 0);
        mounts[0].writable = true;
        mounts[0].source = machine_directory;
        mounts[0].device = status.st_dev;
        mounts[0].inode = status.st_ino;
        box.mount_count = 1;
        run_log_begin(&run, &box);
        assert_true(run.begun);
        assert_int_equal(run.store_file, -1);
        assert_non_null(strstr(heard, "will not show this run: a writable grant leads to hutch's own state"));
        message("not kept");
        assert_int_equal(run.early.count, 0);
        run_log_end(&run, 0);
        assert_int_equal(count_stored(), 0);
        static char *words[] = {(char *)"--rw", NULL};
        run_log_prepare(&run, 1, words);
        run_log_begin(&run, &box);
        assert_false(run.begun);
        messages_set_verbose(0);
}

static void test_a_state_directory_that_others_can_enter(void **state)
{
        (void)state;
        messages_set_verbose(1);
        machine_make_file("/hutch/runs/x", "");
        run_log_begin(&run, &box);
        assert_int_equal(run.store_file, -1);
        assert_non_null(strstr(heard, "other users can enter hutch's state directory (chmod 700)"));
        messages_set_verbose(0);
}

/* A limit on file sizes is an error like a full disk: it ends neither hutch nor the run. */
static void test_a_file_that_may_not_grow(void **state)
{
        struct rlimit before, limit;
        (void)state;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        limit = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        run_log_begin(&run, &box);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(run.store_file, -1);
        assert_int_equal(count_stored(), 0);
        run_log_end(&run, 0);
}

/* ---- --log ---- */

static cJSON *logged(int fd)
{
        char *text = NULL;
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_true(fd_read_all(fd, 1 << 20, &text) >= 0);
        autofree char *content = text;
        assert_null(strstr(content, "secret"));
        return parse(content);
}

static void test_the_copy_has_more(void **state)
{
        int fd = memfd_create("log", MFD_CLOEXEC);
        autoclose int kept = dup(fd);
        (void)state;
        run.file = fd;
        run_log_begin(&run, &box);
        message("not in it");
        run_log_add_members(&run, "\"event\":\"\n"); /* more than one line */
        run_log_add_members(&run, "\"event\":\"dns\",\"name\":\"x\"");
        run_log_add_limit(&run, "memory", "64m", "cgroup");
        run.ending = ENDING_LIMIT;
        run_log_end(&run, 137);
        assert_int_equal(run.file, -1);
        cJSON *lines = logged(kept);
        assert_int_equal(cJSON_GetArraySize(lines), 4);
        assert_string_equal(text_of(lines, 0, "event"), "start");
        assert_string_equal(text_of(lines, 1, "event"), "dns");
        assert_string_equal(text_of(lines, 2, "event"), "limit");
        assert_string_equal(text_of(lines, 2, "limit"), "memory");
        assert_string_equal(text_of(lines, 2, "value"), "64m");
        assert_string_equal(text_of(lines, 2, "mechanism"), "cgroup");
        assert_string_equal(text_of(lines, 3, "how"), "limit");
        for (int i = 0; i < 4; i++)
                assert_string_equal(text_of(lines, i, "sandbox"), text_of(lines, 0, "sandbox"));
        cJSON_Delete(lines);
        assert_int_equal(count_stored(), 1);
}

static void test_a_run_for_the_copy_alone(void **state)
{
        int fd = memfd_create("log", MFD_CLOEXEC);
        autoclose int kept = dup(fd);
        (void)state;
        run.for_log_alone = true;
        run.file = fd;
        run_log_begin(&run, &box);
        run_log_end(&run, 0);
        cJSON *lines = logged(kept);
        assert_int_equal(cJSON_GetArraySize(lines), 2);
        cJSON_Delete(lines);
        assert_int_equal(count_stored(), 0);
}

static void test_a_copy_that_cannot_be_written(void **state)
{
        (void)state;
        run.file = open("/dev/full", O_WRONLY | O_CLOEXEC);
        run_log_add_limit(&run, "pids", "7", "rlimit");
        assert_int_equal(run.file, -1);
        assert_non_null(strstr(
            heard, "--log: cannot write: No space left on device; the rest of this run is not logged"));
        heard[0] = 0;
        run_log_add_limit(&run, "pids", "7", "rlimit"); /* said once */
        run_log_add_members(&run, "\"event\":\"dns\"");
        assert_string_equal(heard, "");
}

static void test_opening_the_copy(void **state)
{
        struct error error = {0};
        (void)state;
        assert_true(run_log_open_file(&run, &box, &error));
        assert_int_equal(run.file, -1);
        box.log_path = str_format("%s/log", machine_directory);
        assert_true(run_log_open_file(&run, &box, &error));
        assert_true(run.file >= 0);
        fd_close(&run.file);
        free(box.log_path);
        box.log_path = str_format("%s/absent/log", machine_directory);
        assert_false(run_log_open_file(&run, &box, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        free(box.log_path);
}

static void test_names_of_servers(void **state)
{
        static char *words[] = {(char *)"node", (char *)"./dist/index.js", NULL};
        const struct str_list command = {words, 1};
        (void)state;
        run.command = command;
        autofree char *name = run_log_server_name(&run);
        assert_string_equal(name, "node");
        /* A script belongs to the package that holds it, seen from --cwd. */
        const struct str_list script = {words, 2};
        machine_make_file("/package/package.json", "{}");
        machine_make_file("/package/dist/index.js", "");
        run.command = script;
        autofree char *directory = str_format("%s/package", machine_directory);
        run.cwd = directory;
        autofree char *absolute = run_log_server_name(&run);
        assert_string_equal(absolute, "package");
        run.directory = machine_directory;
        run.cwd = "package";
        autofree char *relative = run_log_server_name(&run);
        assert_string_equal(relative, "package");
        run.directory = directory;
        run.cwd = NULL;
        autofree char *here = run_log_server_name(&run);
        assert_string_equal(here, "package");
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_a_run),
            MADE(test_a_run_that_ended_by_itself),
            MADE(test_much_is_bounded),
            MADE(test_no_record),
            MADE(test_a_state_directory_that_others_can_enter),
            MADE(test_a_file_that_may_not_grow),
            MADE(test_the_copy_has_more),
            MADE(test_a_run_for_the_copy_alone),
            MADE(test_a_copy_that_cannot_be_written),
            MADE(test_opening_the_copy),
            MADE(test_names_of_servers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
