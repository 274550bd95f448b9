/* SPDX-License-Identifier: Apache-2.0
 *
 * --file: which host files may be copied in, and where their copies may be.
 */
#include "grants/copy_in.h"
#include "grants/hide.h"
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static bool add(const char *local, const char *remote)
{
        autofree char *copy = str_copy(local), *place = str_copy(remote);
        struct file_option file = {.local = copy, .remote = place};
        rig.options.files = &file;
        rig.options.file_count = 1;
        return copy_in_add(&rig.resolver);
}

static void add_mount(enum mount_kind kind, const char *source, const char *destination)
{
        const struct mount mount = {.kind = kind,
                                    .source = source ? str_copy(source) : NULL,
                                    .destination = str_copy(destination),
                                    .why = str_copy("base")};
        box_add_mount(&rig.box, &mount);
}

static void test_a_file_is_recorded(void **state)
{
        (void)state;
        struct stat status;
        make_file("server.py", "content");
        make_link("link", "server.py");
        assert_int_equal(chmod(at("server.py"), 04751), 0);
        assert_true(add("link", "/tmp/server.py"));
        assert_int_equal(rig.box.file_count, 1);
        const struct copy_in *file = &rig.box.files[0];
        assert_int_equal(stat(at("server.py"), &status), 0);
        assert_string_equal(file->source, at("server.py"));
        assert_string_equal(file->destination, "/tmp/server.py");
        assert_true(file->device == status.st_dev && file->inode == status.st_ino);
        assert_int_equal(file->bytes, 7);
        assert_int_equal(file->mode, 0751);
        assert_int_equal(rig.held.links.count, 1);
}

static void test_what_is_not_a_file_is_refused(void **state)
{
        (void)state;
        make_directory("directory");
        make_file("home/.ssh/id", "");
        make_file("large", "");
        assert_int_equal(mkfifo(at("fifo"), 0600), 0);
        assert_int_equal(truncate(at("large"), 100L << 20), 0);
        assert_false(add("directory", "/tmp/x"));
        expect_error(EXIT_SETUP, "it is a directory; grant it with --ro");
        assert_false(add("fifo", "/tmp/x"));
        expect_error(EXIT_SETUP, "it is not a regular file");
        assert_false(add("home/.ssh/id", "/tmp/x"));
        expect_error(EXIT_SETUP, "it holds keys");
        assert_true(add("large", "/tmp/x"));
        assert_int_equal(truncate(at("large"), (100L << 20) + 1), 0);
        held_sources_release(&rig.held);
        assert_false(add("large", "/tmp/x"));
        expect_error(EXIT_SETUP, "at most 104857600");
        assert_int_equal(rig.box.file_count, 1);
        drop_root();
        make_file("closed", "");
        assert_int_equal(chmod(at("closed"), 0200), 0);
        assert_false(add("closed", "/tmp/x"));
        expect_error(EXIT_SETUP, strerror(EACCES));
}

static void expect_place(const char *remote, const char *part)
{
        make_file("server.py", "");
        for (size_t i = 0; i < rig.box.file_count; i++) {
                free(rig.box.files[i].source);
                free(rig.box.files[i].destination);
        }
        rig.box.file_count = 0;
        assert_true(add("server.py", remote));
        bool placed = copy_in_place(&rig.resolver);
        if (placed != !part)
                fail_msg("%s: %s", remote, rig.error.text);
        if (part)
                expect_error(EXIT_SETUP, part);
}

static void test_only_where_the_command_can_write(void **state)
{
        (void)state;
        make_directory("rw/.git");
        make_directory("ro");
        make_file("rw/hidden", "");
        add_mount(MOUNT_MEMORY, NULL, "/tmp");
        add_mount(MOUNT_OVERLAY, "/over", "/over");
        add_mount(MOUNT_LINK, "tmp", "/link");
        add_mount(MOUNT_FILE, NULL, "/etc/passwd");
        grant("rw", NULL, true, "--rw");
        grant("ro", NULL, false, "--ro");
        hide_object(&rig.box, at("rw/hidden"), false, REASON_OPTION("--hide hidden"));
        expect_place("/tmp/a", NULL);
        expect_place("/over/a", NULL);
        expect_place("/link/a", NULL);
        assert_string_equal(rig.box.files[0].destination, "/tmp/a");
        expect_place(at("rw/a"), NULL);
        expect_place(at("ro/a"), "the command cannot write there (--ro)");
        expect_place("/etc/passwd", "the command cannot write there (base)");
        expect_place("/etc/a", "the sandbox's root");
        expect_place(at("rw/hidden"), "the command cannot write there");
        expect_place("/tmp", "name a path in a directory, such as /tmp/server.py");
        expect_place(at("rw"), "that is a grant or a directory of the sandbox");
        expect_place(at("rw/.git/hooks/pre-commit"), "the name is protected");
        expect_place(at("rw/.git/index"), NULL);
        expect_place(at("rw/.envrc"), "--no-protect permits it");
        assert_true(add("server.py", at("rw/.envrc")));
        rig.options.no_protect = true;
        assert_true(copy_in_place(&rig.resolver));
}

static void test_which_copy_is_at_a_path(void **state)
{
        (void)state;
        make_file("server.py", "");
        add_mount(MOUNT_MEMORY, NULL, "/tmp");
        add_mount(MOUNT_LINK, "tmp", "/link");
        assert_null(copy_in_find(&rig.box, "/tmp/a/x"));
        assert_false(copy_in_lead_to(&rig.box, "/tmp/a"));
        assert_true(add("server.py", "/link/a/x"));
        assert_true(add("server.py", "/tmp/b"));
        assert_ptr_equal(copy_in_find(&rig.box, "/tmp/a/x"), &rig.box.files[0]);
        assert_ptr_equal(copy_in_find(&rig.box, "/link/b"), &rig.box.files[1]);
        assert_null(copy_in_find(&rig.box, "/tmp/a"));
        assert_true(copy_in_lead_to(&rig.box, "/tmp/a"));
        assert_true(copy_in_lead_to(&rig.box, "/link/a/x"));
        assert_false(copy_in_lead_to(&rig.box, "/tmp/a/x/y"));
        assert_false(copy_in_lead_to(&rig.box, "/tmp/c"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_file_is_recorded),
            rig_test(test_what_is_not_a_file_is_refused),
            rig_test(test_only_where_the_command_can_write),
            rig_test(test_which_copy_is_at_a_path),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
