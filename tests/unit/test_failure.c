/* SPDX-License-Identifier: Apache-2.0
 *
 * The sentence and the exit status of each step that fails.
 */
#include "ns/failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct error explain(enum stage stage, int errnum, const char *path)
{
        struct failure failure = {.stage = stage, .error = errnum};
        struct error error = {0};
        snprintf(failure.path, sizeof(failure.path), "%s", path);
        failure_explain(&failure, &error);
        return error;
}

/* `advice`: how the sentence must go on after the errno; NULL: it ends there. */
static void expect(enum stage stage, int errnum, const char *path, int status, const char *start,
                   const char *advice)
{
        struct error error = explain(stage, errnum, path);
        assert_int_equal(error.status, status);
        if (strncmp(error.text, start, strlen(start)) != 0)
                fail_msg("it does not begin with \"%s\": %s", start, error.text);
        const char *rest = error.text + strlen(start);
        size_t length = strlen(strerror(errnum));
        if (strncmp(rest, ": ", 2) != 0 || strncmp(rest + 2, strerror(errnum), length) != 0)
                fail_msg("the errno does not follow: %s", error.text);
        rest += 2 + length;
        if (advice ? !strstr(rest, advice) : *rest)
                fail_msg("\"%s\" is expected at its end: %s", advice ? advice : "", error.text);
}

static void test_every_step_has_words(void **state)
{
        (void)state;
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
                struct error error = explain((enum stage)stage, EIO, "/a");
                assert_memory_equal(error.text, "cannot ", strlen("cannot "));
                assert_null(strstr(error.text, "(null)"));
        }
}

static void test_the_command_cannot_be_executed(void **state)
{
        (void)state;
        static const char start[] = "cannot execute /bin/x";
        expect(STAGE_EXEC, ENOENT, "/bin/x", EXIT_NOT_FOUND, start, "grant it with --ro");
        expect(STAGE_EXEC, EACCES, "/bin/x", EXIT_NOT_EXECUTABLE, start, "chmod +x");
        expect(STAGE_EXEC, EPERM, "/bin/x", EXIT_NOT_EXECUTABLE, start, "noexec");
        expect(STAGE_EXEC, ENOEXEC, "/bin/x", EXIT_NOT_EXECUTABLE, start, "no #! line");
        expect(STAGE_EXEC, E2BIG, "/bin/x", EXIT_NOT_EXECUTABLE, start, "arguments and environment");
        expect(STAGE_EXEC, EIO, "/bin/x", EXIT_NOT_EXECUTABLE, start, NULL);
        /* Here the errno is about the file, never about the kernel. */
        expect(STAGE_EXEC, ENOSYS, "/bin/x", EXIT_NOT_EXECUTABLE, start, NULL);
}

static void test_files_that_cannot_be_copied(void **state)
{
        (void)state;
        expect(STAGE_FILE_READ, ESTALE, "/f", EXIT_SETUP, "cannot copy /f", "grew or shrank");
        expect(STAGE_FILE_READ, EIO, "/f", EXIT_SETUP, "cannot copy /f", NULL);
        static const char start[] = "cannot put a file at /f";
        expect(STAGE_FILE_PLACE, EEXIST, "/f", EXIT_SETUP, start, "replaces nothing else");
        expect(STAGE_FILE_PLACE, ENOTDIR, "/f", EXIT_SETUP, start, "name the real path");
        expect(STAGE_FILE_PLACE, ELOOP, "/f", EXIT_SETUP, start, "name the real path");
        expect(STAGE_FILE_PLACE, ENOSPC, "/f", EXIT_SETUP, start, "--tmpfs PATH:SIZE");
        expect(STAGE_FILE_PLACE, EDQUOT, "/f", EXIT_SETUP, start, "--disk");
        expect(STAGE_FILE_PLACE, EROFS, "/f", EXIT_SETUP, start, "could not write there either");
        expect(STAGE_FILE_PLACE, EIO, "/f", EXIT_SETUP, start, NULL);
}

static void test_paths_that_cannot_be_mounted(void **state)
{
        (void)state;
        expect(STAGE_SWAPPED, ESTALE, "/a", EXIT_SETUP, "cannot use /a", "put in its place");
        expect(STAGE_SOURCE, EACCES, "/a", EXIT_SETUP, "cannot open /a", "root-squashed");
        expect(STAGE_SOURCE, EIO, "/a", EXIT_SETUP, "cannot open /a", NULL);
        static const char point[] = "cannot make a mount point at /a";
        expect(STAGE_MOUNT_POINT, ENOENT, "/a", EXIT_SETUP, point, "create it first");
        expect(STAGE_MOUNT_POINT, EROFS, "/a", EXIT_SETUP, point, "create it first");
        expect(STAGE_MOUNT_POINT, ELOOP, "/a", EXIT_SETUP, point, "name the real path");
        expect(STAGE_MOUNT_POINT, ENOTDIR, "/a", EXIT_SETUP, point, "name the real path");
        expect(STAGE_MOUNT_POINT, EXDEV, "/a", EXIT_SETUP, point, "name the real path");
        expect(STAGE_MOUNT_POINT, ENAMETOOLONG, "/a", EXIT_SETUP, point, "too long");
        expect(STAGE_MOUNT_POINT, EIO, "/a", EXIT_SETUP, point, NULL);
        static const char overlay[] = "cannot make an overlay of /a";
        expect(STAGE_OVERLAY, EINVAL, "/a", EXIT_SETUP, overlay, "another file system is mounted below");
        expect(STAGE_OVERLAY, EPERM, "/a", EXIT_SETUP, overlay, "Linux 5.11");
        expect(STAGE_OVERLAY, ENODEV, "/a", EXIT_SETUP, overlay, "overlayfs is missing");
        expect(STAGE_MOUNT, EINVAL, "/a", EXIT_SETUP, "cannot mount /a", NULL);
}

static void test_the_working_directory(void **state)
{
        (void)state;
        static const char start[] = "cannot enter the working directory ";
        char missing[64];
        snprintf(missing, sizeof(missing), "%s/nonexistent-hutch", start);
        expect(STAGE_CWD, ENOENT, "/nonexistent-hutch", EXIT_SETUP, missing, "with --cwd");
        snprintf(missing, sizeof(missing), "%s/", start);
        expect(STAGE_CWD, ENOENT, "/", EXIT_SETUP, missing, "not visible inside");
}

static void test_what_the_machine_lacks(void **state)
{
        (void)state;
        expect(STAGE_MEMORY_FS, ENOSYS, "", EXIT_SETUP, "cannot mount the sandbox's memory file system",
               "Linux 5.14");
        expect(STAGE_MEMORY_FS, ENODEV, "", EXIT_SETUP, "cannot mount the sandbox's memory file system",
               "lacks the call");
        /* A missing device is not a missing call. */
        expect(STAGE_DEVICES, ENODEV, "/dev/full", EXIT_SETUP,
               "cannot set up the sandbox's devices: /dev/full", NULL);
        expect(STAGE_NETWORK, EAGAIN, "", EXIT_SETUP, "cannot make the sandbox's network namespace",
               "ulimit -u");
        expect(STAGE_FORK, ENOMEM, "", EXIT_SETUP, "cannot start a process in the sandbox", "memory");
        expect(STAGE_LIMIT, EAGAIN, "nproc", EXIT_SETUP, "cannot set the resource limit nproc", NULL);
}

/* The record comes from the sandbox, which may be anything by then. */
static void test_a_record_that_makes_no_sense(void **state)
{
        (void)state;
        struct failure failure = {.stage = 4711, .error = EIO};
        struct error error = {0};
        memset(failure.path, 'a', sizeof(failure.path));
        failure_explain(&failure, &error);
        assert_int_equal(error.status, EXIT_SETUP);
        assert_memory_equal(error.text, "cannot create user namespaces aaa", 33);
        assert_true(strlen(error.text) < sizeof(error.text));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_every_step_has_words),
            cmocka_unit_test(test_the_command_cannot_be_executed),
            cmocka_unit_test(test_files_that_cannot_be_copied),
            cmocka_unit_test(test_paths_that_cannot_be_mounted),
            cmocka_unit_test(test_the_working_directory),
            cmocka_unit_test(test_what_the_machine_lacks),
            cmocka_unit_test(test_a_record_that_makes_no_sense),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
