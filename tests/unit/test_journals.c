/* SPDX-License-Identifier: Apache-2.0
 *
 * SQLite journals below an overlay: which locks count. The locks here are of open files, which the kernel
 * keeps apart within one process as it does between processes.
 */
#include "grants/journals.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Opens the file and locks one byte of it. The caller closes. */
static int lock(const char *relative, short type)
{
        struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
        int file = open(at(relative), O_RDWR | O_CLOEXEC);
        assert_true(file >= 0);
        assert_int_equal(fcntl(file, F_OFD_SETLK, &lock), 0);
        return file;
}

static void overlay(const char *relative)
{
        grant(relative, NULL, false, "--overlay")->kind = MOUNT_OVERLAY;
}

static void expect_free(void)
{
        if (!journals_check(&rig.box, &rig.error))
                fail_msg("%s", rig.error.text);
}

static void expect_in_use(const char *journal)
{
        assert_false(journals_check(&rig.box, &rig.error));
        expect_error(EXIT_SETUP, journal);
}

static void test_a_wal_that_is_open(void **state)
{
        (void)state;
        make_file("o/a/data.db", "x");
        make_file("o/a/data.db-shm", "x");
        make_file("o/a/data.db-wal", "");
        overlay("o");
        expect_free();
        int shared = lock("o/a/data.db-shm", F_RDLCK);
        expect_in_use("using the journal a/data.db-wal in it");
        close(shared);
        expect_free();
        int exclusive = lock("o/a/data.db", F_WRLCK);
        expect_in_use("using the journal a/data.db-wal in it");
        close(exclusive);
        int reader = lock("o/a/data.db", F_RDLCK);
        expect_free();
        close(reader);
}

static void test_a_rollback_journal_that_is_written(void **state)
{
        (void)state;
        make_file("o/data.db", "x");
        make_file("o/data.db-journal", "x");
        overlay("o");
        expect_free(); /* a crash left it */
        int writer = lock("o/data.db", F_WRLCK);
        expect_in_use("using the journal data.db-journal in it");
        make_file("o/data.db-journal", ""); /* kept for the next transaction */
        expect_free();
        close(writer);
        make_file("o/data.db-journal", "x");
        int reader = lock("o/data.db", F_RDLCK);
        expect_free();
        close(reader);
}

static void test_what_is_no_journal(void **state)
{
        (void)state;
        make_file("o/data.db", "x");
        make_file("o/-journal", "x");
        make_file("o/data.db-journal2", "x");
        make_file("o/none-journal", "x");
        make_file("outside", "x");
        make_file("o/linked-journal", "x");
        make_link("o/linked", "../outside");
        assert_int_equal(mkfifo(at("o/fifo"), 0600), 0);
        make_file("o/fifo-journal", "x");
        overlay("o");
        int writer = lock("o/data.db", F_WRLCK), linked = lock("outside", F_WRLCK);
        expect_free();
        close(writer);
        close(linked);
}

static void test_only_overlays_that_were_asked_for(void **state)
{
        (void)state;
        make_file("o/data.db", "x");
        make_file("o/data.db-journal", "x");
        int writer = lock("o/data.db", F_WRLCK);
        struct mount *mount = grant("o", NULL, true, "--rw");
        expect_free();
        mount->kind = MOUNT_OVERLAY;
        mount->origin = ORIGIN_PACKAGES;
        expect_free();
        mount->origin = ORIGIN_OPTION;
        /* The second of two, and one error for several journals. */
        make_file("o/data2-journal", "x");
        make_file("o/data2", "x");
        int second = lock("o/data2", F_WRLCK);
        expect_in_use("-journal in it");
        close(second);
        make_directory("first");
        box_free(&rig.box);
        overlay("first");
        overlay("o");
        expect_in_use("data.db-journal");
        close(writer);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_wal_that_is_open),
            rig_test(test_a_rollback_journal_that_is_written),
            rig_test(test_what_is_no_journal),
            rig_test(test_only_overlays_that_were_asked_for),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
