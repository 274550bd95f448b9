/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that no mount holds: what is found at one, and which changes are reported.
 */
#include "grants/watched_names.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>

static struct watched_directory *open_grant(const char *relative)
{
        if (!watched_names_open(&rig.resolver, grant(relative, NULL, true, "--rw")))
                fail_msg("%s", rig.error.text);
        return &rig.held.watched[rig.held.watched_count - 1];
}

static void watch(struct watched_directory *watched, const char *name)
{
        struct found_name found = watched_names_look(watched->directory, name);
        watched_names_add(watched, name, &found);
}

/* How many lines say that `relative` changed in that way. */
static unsigned reports(const char *relative, const char *how)
{
        unsigned count = 0;
        autofree char *line = str_format("] %s was %s during the run", at(relative), how);
        for (const char *found = rig.said; (found = strstr(found, line)); found++)
                count++;
        return count;
}

static void test_a_look_ends_at_the_first_that_is_no_directory(void **state)
{
        (void)state;
        make_directory("w/a/b");
        make_file("w/a/file", "");
        make_link("w/link", "a");
        make_link("w/dangling", "none");
        struct watched_directory *watched = open_grant("w");
        static const struct {
                const char *name;
                size_t length;
                mode_t type;
        } cases[] = {
            {"a/b", 3, S_IFDIR},  {"a//b", 4, S_IFDIR},   {"a/file", 6, S_IFREG},   {"a/file/x", 6, S_IFREG},
            {"link", 4, S_IFLNK}, {"link/b", 4, S_IFLNK}, {"dangling", 8, S_IFLNK}, {"none", 0, 0},
            {"a/none", 0, 0},     {"a/b/none/x", 0, 0},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct found_name found = watched_names_look(watched->directory, cases[i].name);
                if (found.length != cases[i].length ||
                    (found.length && (found.status.st_mode & S_IFMT) != cases[i].type))
                        fail_msg("%s: %zu", cases[i].name, found.length);
        }
}

static void test_the_watched_directory_is_the_judged_one(void **state)
{
        (void)state;
        struct stat status;
        make_directory("w");
        struct mount *mount = grant("w", NULL, true, "--rw");
        assert_int_equal(rename(at("w"), at("v")), 0);
        make_directory("w");
        assert_true(watched_names_open(&rig.resolver, mount));
        assert_int_equal(rig.held.watched_count, 1);
        assert_int_equal(fstat(rig.held.watched[0].directory, &status), 0);
        assert_true(status.st_ino == mount->inode && status.st_dev == mount->device);
}

static void test_what_was_created_is_reported_once(void **state)
{
        (void)state;
        make_directory("w");
        struct watched_directory *watched = open_grant("w");
        watch(watched, ".envrc");
        watch(watched, ".git/hooks");
        watch(watched, ".git/hooks");
        assert_int_equal(watched->count, 2);
        watched_names_report(&rig.held);
        assert_string_equal(rig.said, "");
        make_file("w/.envrc", "");
        make_file("w/other", "");
        watched_names_report(&rig.held);
        watched_names_report(&rig.held);
        assert_int_equal(reports("w/.envrc", "created"), 1);
        make_directory("w/.git/hooks");
        watched_names_report(&rig.held);
        assert_int_equal(reports("w/.git/hooks", "created"), 1);
        assert_int_equal(reports("w/.envrc", "created"), 1);
}

static void test_a_file_in_the_place_of_a_directory_is_reported_once(void **state)
{
        (void)state;
        make_directory("w");
        struct watched_directory *watched = open_grant("w");
        watch(watched, ".git/hooks");
        watch(watched, ".git/config");
        make_file("w/.git", "gitdir: elsewhere\n");
        watched_names_report(&rig.held);
        watched_names_report(&rig.held);
        assert_int_equal(reports("w/.git", "created"), 1);
        /* Of two files with equally long names, each. */
        watch(watched, "one");
        watch(watched, "two");
        make_file("w/one", "");
        make_file("w/two", "");
        watched_names_report(&rig.held);
        assert_int_equal(reports("w/one", "created"), 1);
        assert_int_equal(reports("w/two", "created"), 1);
}

static void test_a_link_is_reported_when_it_changes(void **state)
{
        (void)state;
        make_directory("w");
        make_link("w/link", "a");
        make_link("w/gone", "a");
        make_link("w/way", "a");
        struct watched_directory *watched = open_grant("w");
        watch(watched, "link");
        watch(watched, "gone");
        watch(watched, "way/below");
        assert_string_equal(at("w"), watched->path);
        watched_names_report(&rig.held);
        assert_string_equal(rig.said, "");
        assert_int_equal(unlink(at("w/gone")), 0);
        watched_names_report(&rig.held);
        assert_string_equal(rig.said, "");
        /* Another object, and the same one with another time of change. */
        make_link("w/new", "b");
        assert_int_equal(rename(at("w/new"), at("w/link")), 0);
        assert_int_equal(rename(at("w/way"), at("w/moved")), 0);
        assert_int_equal(rename(at("w/moved"), at("w/way")), 0);
        watched_names_report(&rig.held);
        assert_int_equal(reports("w/link", "changed"), 1);
        assert_int_equal(reports("w/way", "changed"), 1);
        assert_int_equal(reports("w/gone", "changed"), 0);
}

static void test_each_part_of_the_identity_counts(void **state)
{
        (void)state;
        make_directory("w");
        make_link("w/link", "a");
        struct watched_directory *watched = open_grant("w");
        for (unsigned part = 0; part < 3; part++) {
                struct found_name before = watched_names_look(watched->directory, "link");
                before.status.st_ino += part == 0;
                before.status.st_ctim.tv_sec -= part == 1;
                before.status.st_ctim.tv_nsec ^= part == 2;
                watched_names_release(&rig.held);
                rig.said[0] = 0;
                watched = open_grant("w");
                watched_names_add(watched, "link", &before);
                watched_names_report(&rig.held);
                assert_int_equal(reports("w/link", "changed"), 1);
        }
}

static void test_where_names_would_appear(void **state)
{
        (void)state;
        make_directory("w");
        make_directory("empty");
        struct watched_directory *watched = open_grant("w");
        struct str_list directories = {0};
        watch(watched, ".git/hooks");
        watch(watched, ".git/config");
        watch(watched, ".envrc");
        (void)open_grant("empty");
        watched_names_list_directories(&rig.held, &directories);
        assert_int_equal(directories.count, 2);
        assert_true(str_list_has(&directories, at("w/.git")));
        assert_true(str_list_has(&directories, at("w")));
        str_list_free(&directories);
        static const struct {
                const char *name;
                bool concerns;
        } cases[] = {{".git", true},  {"hooks", true}, {".envrc", true},
                     {".env", false}, {"ook", false},  {"hooks2", false}};
        for (size_t i = 0; i < COUNT(cases); i++)
                if (watched_names_may_concern(&rig.held, cases[i].name) != cases[i].concerns)
                        fail_msg("%s", cases[i].name);
}

static void test_release_closes(void **state)
{
        (void)state;
        make_directory("w");
        struct watched_directory *watched = open_grant("w");
        int directory = watched->directory;
        watch(watched, "name");
        watched_names_release(&rig.held);
        assert_int_equal(fcntl(directory, F_GETFD), -1);
        assert_false(watched_names_may_concern(&rig.held, "name"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_look_ends_at_the_first_that_is_no_directory),
            rig_test(test_the_watched_directory_is_the_judged_one),
            rig_test(test_what_was_created_is_reported_once),
            rig_test(test_a_file_in_the_place_of_a_directory_is_reported_once),
            rig_test(test_a_link_is_reported_when_it_changes),
            rig_test(test_each_part_of_the_identity_counts),
            rig_test(test_where_names_would_appear),
            rig_test(test_release_closes),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
