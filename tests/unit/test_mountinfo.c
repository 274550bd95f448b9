/* SPDX-License-Identifier: Apache-2.0
 *
 * The mounts of the host: the format of their list, and at which paths the host and the grants show an
 * object.
 */
#include "grants/mountinfo.h"
#include "grants_rig.h"
#include "lib/fd.h"

static void parse(struct mountinfo *info, const char *text)
{
        autofree char *copy = str_copy(text);
        mountinfo_parse(info, copy);
}

static void test_the_format(void **state)
{
        (void)state;
        struct mountinfo info = {0};
        parse(&info, "22 1 8:17 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                     "30 22 0:45 /a\\040b\\134 /mnt/c\\011d rw - nfs4 server:/x rw\n"
                     "31 22 0:46 / /fuse rw shared:3 master:2 - fuse.sshfs x rw\n"
                     "32 22 0:47 / /bare rw\n"
                     "33 22 0:48 / /fused rw - fuser x rw\n"
                     "34 22 0:49 / /odd\\0 rw - fuse x rw\n"
                     "35 22 nonsense\n"
                     "36 22 7 / /nowhere rw - ext4 x rw\n"
                     "\n");
        assert_int_equal(info.mount_count, 6);
        assert_int_equal(info.mounts[0].device, 8 << 20 | 17);
        assert_string_equal(info.mounts[0].base, "/");
        assert_string_equal(info.mounts[0].path, "/");
        assert_false(info.mounts[0].silent);
        assert_int_equal(info.mounts[1].device, 45);
        assert_string_equal(info.mounts[1].base, "/a b\\");
        assert_string_equal(info.mounts[1].path, "/mnt/c\td");
        assert_true(info.mounts[1].silent);
        assert_true(info.mounts[2].silent);
        assert_false(info.mounts[3].silent);
        assert_false(info.mounts[4].silent);
        assert_string_equal(info.mounts[5].path, "/odd\\0");
        assert_true(info.mounts[5].silent);
        mountinfo_free(&info);
        assert_int_equal(info.mount_count, 0);
}

/* A subvolume at /home, a directory of the root file system with a second path, and a share. */
static const char host[] = "1 0 0:1 / / rw - btrfs x rw\n"
                           "2 1 0:1 /@home /home rw - btrfs x rw\n"
                           "3 1 0:1 /srv/data /mnt rw - btrfs x rw\n"
                           "4 1 0:2 / /srv/data/other rw - ext4 x rw\n"
                           "5 1 0:3 / /srv/data/share rw - nfs x rw\n"
                           "6 1 0:4 / /net rw - fuse x rw\n";

static void test_what_grants_show(void **state)
{
        (void)state;
        struct mountinfo info = {0};
        parse(&info, host);
        mountinfo_add_grant(&info, "/srv/data");
        static const struct {
                uint32_t device;
                const char *base, *path;
        } parts[] = {{1, "/srv/data", "/srv/data"}, {2, "/", "/srv/data/other"}, {3, "/", "/srv/data/share"}};
        assert_int_equal(info.grant_count, COUNT(parts));
        for (size_t i = 0; i < COUNT(parts); i++) {
                assert_int_equal(info.grants[i].device, parts[i].device);
                assert_string_equal(info.grants[i].base, parts[i].base);
                assert_string_equal(info.grants[i].path, parts[i].path);
        }
        assert_true(mountinfo_have_device(&info, 1));
        assert_false(mountinfo_have_device(&info, 4));
        assert_true(mountinfo_is_silent(&info, "/net/x"));
        assert_true(mountinfo_is_silent(&info, "/srv/data/share"));
        assert_false(mountinfo_is_silent(&info, "/srv/data/x"));
        /* A grant in a share is worth waiting for. */
        mountinfo_add_grant(&info, "/net/mine");
        assert_false(mountinfo_is_silent(&info, "/net/x"));
        assert_string_equal(info.grants[info.grant_count - 1].base, "/mine");
        mountinfo_free(&info);
}

static void expect_paths(const struct mountinfo *info, const char *real, const char *first,
                         const char *second)
{
        struct str_list paths = {0};
        mountinfo_find(info, real, &paths);
        assert_int_equal(paths.count, !!first + !!second);
        if (first)
                assert_string_equal(paths.values[0], first);
        if (second)
                assert_string_equal(paths.values[1], second);
        str_list_free(&paths);
}

static void test_an_object_is_found_at_all_its_paths(void **state)
{
        (void)state;
        struct mountinfo info = {0};
        expect_paths(&info, "/x", NULL, NULL);
        parse(&info, host);
        mountinfo_add_grant(&info, "/srv/data");
        mountinfo_add_grant(&info, "/mnt/sub");
        expect_paths(&info, "/srv/data/sub/s", "/srv/data/sub/s", "/mnt/sub/s");
        expect_paths(&info, "/mnt/s", "/srv/data/s", NULL);
        expect_paths(&info, "/mnt", "/srv/data", NULL);
        expect_paths(&info, "/srv/data/other/s", "/srv/data/other/s", NULL);
        expect_paths(&info, "/srv/data/other", "/srv/data/other", NULL);
        expect_paths(&info, "/home/srv/data/s", NULL, NULL);
        expect_paths(&info, "/srv/database/s", NULL, NULL);
        expect_paths(&info, "/net/s", NULL, NULL);
        mountinfo_free(&info);
        /* All of a file system, and a place inside of another one of the same name. */
        parse(&info, host);
        mountinfo_add_grant(&info, "/");
        expect_paths(&info, "/", "/", NULL);
        expect_paths(&info, "/mnt/s", "/srv/data/s", "/mnt/s");
        mountinfo_free(&info);
}

/* The host says that `data` is at `alias` too. Hard links stand for what would be one file by a bind mount.
 */
static char *alias_list(void)
{
        make_file("data/key", "");
        make_file("data/covered", "");
        make_file("alias/covered", "");
        make_directory("device");
        assert_int_equal(link(at("data/key"), at("alias/key")), 0);
        assert_int_equal(link(at("data/key"), at("device/key")), 0); /* of another file system */
        return str_format("1 0 0:1 / / rw - ext4 x rw\n"
                          "2 1 0:1 %s %s rw - ext4 x rw\n"
                          "3 1 0:2 %s %s rw - ext4 x rw\n",
                          at("data"), at("alias"), at("data"), at("device"));
}

static void test_other_names_on_the_host(void **state)
{
        (void)state;
        struct mountinfo info = {0};
        struct str_list names = {0};
        autofree char *text = alias_list();
        parse(&info, text);
        mountinfo_list_in(&info, at("data/key"), &names);
        assert_int_equal(names.count, 1);
        assert_string_equal(names.values[0], at("alias/key"));
        mountinfo_list_in(&info, at("data/key"), &names); /* once */
        assert_int_equal(names.count, 1);
        str_list_free(&names);
        mountinfo_list_in(&info, at("alias/key"), &names);
        assert_int_equal(names.count, 1);
        assert_string_equal(names.values[0], at("data/key"));
        str_list_free(&names);
        mountinfo_list_in(&info, at("data/covered"), &names);
        mountinfo_list_in(&info, at("data/none"), &names);
        mountinfo_list_in(&info, at("home"), &names);
        assert_int_equal(names.count, 0);
        mountinfo_free(&info);
        mountinfo_list_in(&info, at("data/key"), &names);
        assert_int_equal(names.count, 0);
}

static void test_other_paths_that_mounts_of_the_box_show(void **state)
{
        (void)state;
        struct stat wanted;
        struct mountinfo info = {0};
        struct str_list paths = {0};
        autofree char *text = alias_list();
        parse(&info, text);
        assert_int_equal(stat(at("data/key"), &wanted), 0);
        mountinfo_find_in(&info, &rig.box, at("data/key"), &wanted, &paths);
        assert_int_equal(paths.count, 0); /* nothing is granted */
        grant("alias", NULL, true, "--rw");
        mountinfo_find_in(&info, &rig.box, at("data/key"), &wanted, &paths);
        assert_int_equal(paths.count, 1);
        assert_string_equal(paths.values[0], at("alias/key"));
        str_list_free(&paths);
        rig.box.mounts[0].kind = MOUNT_MASK;
        mountinfo_free(&info);
        parse(&info, text);
        mountinfo_find_in(&info, &rig.box, at("data/key"), &wanted, &paths);
        assert_int_equal(paths.count, 0);
        rig.box.mounts[0].kind = MOUNT_OVERLAY;
        mountinfo_find_in(&info, &rig.box, at("data/key"), &wanted, &paths);
        assert_int_equal(paths.count, 1);
        str_list_free(&paths);
        mountinfo_free(&info);
        /* A part of a directory is mounted elsewhere, or in the directory itself. */
        make_directory("data/sub");
        free(text);
        text = str_format("1 0 0:1 / / rw - ext4 x rw\n2 1 0:1 %s /part rw - ext4 x rw\n"
                          "3 1 0:1 %s %s rw - ext4 x rw\n4 1 0:2 %s /another rw - ext4 x rw\n",
                          at("data/sub"), at("data/sub"), at("data/copy"), at("data/sub"));
        parse(&info, text);
        assert_int_equal(stat(at("data"), &wanted), 0);
        mountinfo_find_in(&info, &rig.box, at("data"), &wanted, &paths);
        assert_int_equal(paths.count, 1);
        assert_string_equal(paths.values[0], "/part");
        str_list_free(&paths);
        mountinfo_free(&info);
}

static void test_the_list_of_this_machine(void **state)
{
        (void)state;
        struct mountinfo info = {0};
        struct str_list paths = {0};
        make_directory("data");
        make_file("file", "");
        grant("data", NULL, false, "--ro");
        grant("file", NULL, false, "--ro");
        grant("home", "/base", false, "base");
        assert_true(mountinfo_read(&info, &rig.box, &rig.error));
        assert_true(info.mount_count > 0);
        assert_int_equal(info.grant_count, 1);
        assert_string_equal(info.grants[0].path, at("data"));
        mountinfo_free(&info);
        assert_true(mountinfo_find_others(&rig.box, at("data"), &paths, &rig.error));
        assert_int_equal(paths.count, 0);
        assert_false(mountinfo_find_others(&rig.box, at("none"), &paths, &rig.error));
        expect_error(EXIT_SETUP, "No such file");
        assert_true(mountinfo_list_names(at("data"), &paths, &rig.error));
        assert_true(mountinfo_list_names(at("data"), &paths, &rig.error));
        assert_int_equal(paths.count, 0);
}

static bool finds_alias(void)
{
        struct str_list others = {0}, names = {0};
        grant("alias", NULL, true, "--rw");
        bool done = mountinfo_find_others(&rig.box, at("data/key"), &others, &rig.error) &&
                    mountinfo_list_names(at("data"), &names, &rig.error);
        return done && others.count == 1 && str_equal(others.values[0], at("alias/key")) &&
               names.count == 1 && str_equal(names.values[0], at("alias"));
}

static void test_a_bind_mount_of_this_machine(void **state)
{
        (void)state;
        make_file("data/key", "");
        make_directory("alias");
        with_alias("data", "alias", finds_alias);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_bind_mount_of_this_machine), /* first: the mounts are read once */
            rig_test(test_the_format),
            rig_test(test_what_grants_show),
            rig_test(test_an_object_is_found_at_all_its_paths),
            rig_test(test_other_names_on_the_host),
            rig_test(test_other_paths_that_mounts_of_the_box_show),
            rig_test(test_the_list_of_this_machine),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
