/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of mounts: what a bind mount records, what a new grant replaces, in which order mounts are made,
 * and what the list shows of the host.
 */
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"
#include "origins.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* A mount that need not exist on the host. */
static struct mount *add(enum mount_kind kind, const char *source, const char *destination, const char *why)
{
        const struct mount mount = {.kind = kind,
                                    .source = source ? str_copy(source) : NULL,
                                    .destination = str_copy(destination),
                                    .origin = origin_of(why),
                                    .why = str_copy(why)};
        box_add_mount(&rig.box, &mount);
        return &rig.box.mounts[rig.box.mount_count - 1];
}

static void test_a_bind_mount_records_and_holds_its_source(void **state)
{
        (void)state;
        struct stat status, held;
        make_directory("a");
        make_file("a/file", "");
        assert_true(mounts_add_bind(&rig.resolver, at("a"), "/inside", true, REASON_OPTION("--rw")));
        assert_true(mounts_add_bind(&rig.resolver, at("a/file"), "/file", false, REASON_OPTION("--ro")));
        const struct mount *directory = mounts_find_exact(&rig.box, "/inside");
        const struct mount *file = mounts_find_exact(&rig.box, "/file");
        assert_true(directory->kind == MOUNT_BIND && directory->is_directory && directory->writable);
        assert_true(file->kind == MOUNT_BIND && !file->is_directory && !file->writable);
        assert_string_equal(directory->source, at("a"));
        assert_string_equal(directory->why, "--rw");
        assert_int_equal(stat(at("a/file"), &status), 0);
        assert_true(file->device == status.st_dev && file->inode == status.st_ino);
        int descriptor = path_walk(&rig.held.walker, at("a/file"))->descriptor;
        assert_int_equal(fstat(descriptor, &held), 0);
        assert_true(held.st_ino == status.st_ino);
        assert_true(fcntl(descriptor, F_GETFL) & O_PATH);
        assert_true(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
}

static void test_a_bind_mount_follows_no_link_and_does_not_open(void **state)
{
        (void)state;
        make_directory("a");
        make_link("link", "a");
        assert_int_equal(mkfifo(at("fifo"), 0600), 0);
        assert_true(mounts_add_bind(&rig.resolver, at("fifo"), "/f", false, REASON_OPTION("--ro")));
        assert_false(mounts_add_bind(&rig.resolver, at("link"), "/x", false, REASON_OPTION("--ro")));
        expect_error(EXIT_SETUP, strerror(ELOOP));
        assert_false(mounts_add_bind(&rig.resolver, at("none"), "/x", false, REASON_OPTION("--ro")));
        assert_null(strstr(rig.error.text, "FUSE"));
        expect_error(EXIT_SETUP, strerror(ENOENT));
        assert_int_equal(rig.box.mount_count, 1);
        drop_root();
        make_file("closed/file", "");
        assert_int_equal(chmod(at("closed"), 0), 0);
        assert_false(mounts_add_bind(&rig.resolver, at("closed/file"), "/x", false, REASON_OPTION("--ro")));
        expect_error(EXIT_SETUP, "its file system (FUSE, NFS) admits other accounts only");
}

static void test_held_sources_are_closed(void **state)
{
        (void)state;
        make_file("file", "");
        grant("file", NULL, false, "--ro");
        int descriptor = path_walk(&rig.held.walker, at("file"))->descriptor;
        str_list_add(&rig.held.links, "x");
        str_list_add(&rig.held.reached, "x");
        str_list_add(&rig.held.unsafe, "x");
        held_sources_release(&rig.held);
        assert_int_equal(fcntl(descriptor, F_GETFD), -1);
        assert_int_equal(rig.held.links.count + rig.held.reached.count, 0);
        assert_int_equal(rig.held.unsafe.count, 0);
}

static void test_links_on_the_way_are_made_inside(void **state)
{
        (void)state;
        make_directory("real/sub");
        make_link("first", "second");
        make_link("second", "real");
        mounts_add_links(&rig.box, path_walk(&rig.held.walker, at("first/sub")), REASON_BASE);
        assert_int_equal(rig.box.mount_count, 2);
        assert_string_equal(mount_at("first")->source, "second");
        assert_string_equal(mount_at("second")->source, "real");
        assert_true(mount_at("first")->kind == MOUNT_LINK);
        mounts_add_links(&rig.box, path_walk(&rig.held.walker, at("first/none")), REASON_BASE);
        /* What is there already stays. */
        mounts_add_link(&rig.box, at("first"), "other", REASON_OPTION("--ro"));
        assert_int_equal(rig.box.mount_count, 2);
        assert_string_equal(mount_at("first")->source, "second");
}

static void test_a_grant_replaces_the_base_below_it(void **state)
{
        (void)state;
        add(MOUNT_FILE, NULL, "/etc/passwd", "base");
        add(MOUNT_LINK, "x", "/etc/link", "base");
        add(MOUNT_BIND, "/etc/ssl", "/etc/ssl", "base");
        add(MOUNT_BIND, "/other", "/etc/mine", "--ro");
        add(MOUNT_MEMORY, NULL, "/etc/memory", "base");
        add(MOUNT_PROC, NULL, "/proc", "base");
        add(MOUNT_FILE, NULL, "/etcetera", "base");
        add(MOUNT_MEMORY, NULL, "/etc", "base");
        mounts_make_room(&rig.box, "/etc");
        static const char *const kept[] = {"/etc/mine", "/etc/memory", "/proc", "/etcetera"};
        assert_int_equal(rig.box.mount_count, COUNT(kept));
        for (size_t i = 0; i < COUNT(kept); i++)
                assert_string_equal(rig.box.mounts[i].destination, kept[i]);
}

static void test_the_order_is_shallow_first_and_links_last(void **state)
{
        (void)state;
        add(MOUNT_LINK, "x", "/a", "base");
        add(MOUNT_BIND, "/s", "/a/b/c", "--ro");
        add(MOUNT_BIND, "/s", "/a/b", "first");
        add(MOUNT_LINK, "x", "/b/link", "base");
        add(MOUNT_BIND, "/s", "/z", "--rw");
        add(MOUNT_BIND, "/s", "/a/b", "second");
        mounts_sort(&rig.box);
        static const char *const order[] = {"/z", "/a/b", "/a/b", "/a/b/c", "/a", "/b/link"};
        for (size_t i = 0; i < COUNT(order); i++)
                assert_string_equal(rig.box.mounts[i].destination, order[i]);
        assert_string_equal(rig.box.mounts[1].why, "first");
        assert_string_equal(rig.box.mounts[2].why, "second");
}

static void test_what_the_sandbox_shows_of_the_host(void **state)
{
        (void)state;
        add(MOUNT_BIND, "/data", "/data", "--ro");
        add(MOUNT_OVERLAY, "/over", "/over", "--overlay");
        add(MOUNT_BIND, "/real", "/elsewhere", "--ro");
        add(MOUNT_MEMORY, NULL, "/data/memory", "--tmpfs");
        add(MOUNT_MASK, NULL, "/data/hidden", "--hide x");
        static const struct {
                const char *path;
                bool shown;
        } cases[] = {{"/data", true},         {"/data/x", true},   {"/over/x", true},
                     {"/elsewhere/x", false}, {"/real", false},    {"/data/memory/x", false},
                     {"/data/hidden", false}, {"/database", false}};
        for (size_t i = 0; i < COUNT(cases); i++)
                if (mounts_show(&rig.box, cases[i].path) != cases[i].shown)
                        fail_msg("%s", cases[i].path);
        autofree char *place = mounts_place(mounts_find_exact(&rig.box, "/elsewhere"), "/real/a/b");
        assert_string_equal(place, "/elsewhere/a/b");
        assert_null(mounts_find_exact(&rig.box, "/data/x"));
}

static void expect_followed(const char *path, const char *expected)
{
        autofree char *followed = mounts_follow_inside(&rig.box, path);
        assert_string_equal(followed, expected);
}

static void test_paths_follow_the_links_of_the_box(void **state)
{
        (void)state;
        add(MOUNT_LINK, "/", "/root", "base");
        add(MOUNT_LINK, "bin", "/usr/sbin", "base");
        add(MOUNT_LINK, "usr/sbin", "/sbin", "base");
        add(MOUNT_BIND, "/x", "/data", "--ro");
        expect_followed("/sbin/x", "/usr/bin/x");
        expect_followed("/sbin", "/sbin"); /* the link itself */
        expect_followed("/sbinx/y", "/sbinx/y");
        expect_followed("/data/x", "/data/x");
        expect_followed("/root/x/y", "/x/y");
}

static void test_links_in_a_circle_end(void **state)
{
        (void)state;
        add(MOUNT_LINK, "b", "/a", "base");
        add(MOUNT_LINK, "a", "/b", "base");
        autofree char *followed = mounts_follow_inside(&rig.box, "/a/x");
        assert_true(str_equal(followed, "/a/x") || str_equal(followed, "/b/x"));
}

static void test_writable_grants_are_found_by_path_and_identity(void **state)
{
        (void)state;
        make_directory("rw/sub");
        make_directory("ro");
        make_directory("alias/sub");
        assert_false(mounts_any_writable(&rig.box));
        grant("ro", NULL, false, "--ro");
        assert_false(mounts_any_writable(&rig.box));
        assert_null(mounts_find_writable(&rig.resolver, at("ro")));
        grant("rw", NULL, true, "--rw");
        assert_true(mounts_any_writable(&rig.box));
        assert_ptr_equal(mounts_find_writable(&rig.resolver, at("rw/sub/none")), mount_at("rw"));
        assert_ptr_equal(mounts_find_writable(&rig.resolver, at("rw")), mount_at("rw"));
        assert_null(mounts_find_writable(&rig.resolver, at("rwx")));
        assert_null(mounts_find_writable(&rig.resolver, at("ro/x")));
        assert_null(mounts_find_writable(&rig.resolver, "/"));
        /* The host shows the granted directory at a second path. */
        struct mount *elsewhere = grant("alias", "/alias", true, "--rw");
        free(elsewhere->source);
        elsewhere->source = str_copy("/first/path");
        assert_ptr_equal(mounts_find_writable(&rig.resolver, at("alias/sub/x")), elsewhere);
        elsewhere->device++;
        assert_null(mounts_find_writable(&rig.resolver, at("alias/sub/x")));
        elsewhere->device--;
        elsewhere->inode ^= (ino_t)1 << 40;
        assert_null(mounts_find_writable(&rig.resolver, at("alias/sub/x")));
        /* Memory and overlays are not the host's disk. */
        box_free(&rig.box);
        add(MOUNT_MEMORY, NULL, at("rw"), "--tmpfs")->writable = true;
        add(MOUNT_OVERLAY, at("rw"), at("rw"), "--overlay")->writable = true;
        assert_false(mounts_any_writable(&rig.box));
        add(MOUNT_BIND, at("ro"), at("ro"), "--rw")->writable = true;
        assert_null(mounts_find_writable(&rig.resolver, at("rw/x")));
}

static void test_a_link_that_leaves_a_writable_grant(void **state)
{
        (void)state;
        make_directory("rw/inner");
        make_directory("other");
        make_directory("home");
        make_link("rw/out", "../other");
        make_link("rw/in", "inner");
        make_link("outside", "other");
        grant("rw", NULL, true, "--rw");
        assert_ptr_equal(mounts_find_left(&rig.resolver, at("rw/out"), at("other")), mount_at("rw"));
        assert_null(mounts_find_left(&rig.resolver, at("rw/in"), at("rw/inner")));
        assert_null(mounts_find_left(&rig.resolver, at("outside"), at("other")));
        bool by_link;
        assert_ptr_equal(mounts_find_author(&rig.resolver, at("rw/out"), &by_link), mount_at("rw"));
        assert_true(by_link);
        assert_ptr_equal(mounts_find_author(&rig.resolver, at("rw/in"), &by_link), mount_at("rw"));
        assert_false(by_link);
        assert_null(mounts_find_author(&rig.resolver, at("outside"), &by_link));
        assert_false(by_link);
        assert_null(mounts_find_author(&rig.resolver, at("rw/out/none"), &by_link));
        /* Out of the grant and into it again: the server decided about the way, and about what is there. */
        make_link("back", "rw/inner");
        make_link("rw/round", "../back");
        assert_ptr_equal(mounts_find_author(&rig.resolver, at("rw/round"), &by_link), mount_at("rw"));
        assert_false(by_link);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_bind_mount_records_and_holds_its_source),
            rig_test(test_a_bind_mount_follows_no_link_and_does_not_open),
            rig_test(test_held_sources_are_closed),
            rig_test(test_links_on_the_way_are_made_inside),
            rig_test(test_a_grant_replaces_the_base_below_it),
            rig_test(test_the_order_is_shallow_first_and_links_last),
            rig_test(test_what_the_sandbox_shows_of_the_host),
            rig_test(test_paths_follow_the_links_of_the_box),
            rig_test(test_links_in_a_circle_end),
            rig_test(test_writable_grants_are_found_by_path_and_identity),
            rig_test(test_a_link_that_leaves_a_writable_grant),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
