/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking and removing trees that a server may have made: bounds, links, depth and modes.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/tree_remove.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "unit.h"

static char root[] = "/tmp/hutch-test-tree-XXXXXX";
static int top = -1;

static int begin(void **state)
{
        (void)state;
        return !mkdtemp(root) || chdir(root) < 0 ? -1 : 0;
}

static int end(void **state)
{
        (void)state;
        return chdir("/") < 0 ? -1 : tree_remove(AT_FDCWD, root);
}

static void make_file(const char *path)
{
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        close(file);
}

static int make_tree(void **state)
{
        (void)state;
        if (mkdir("t", 0700) || mkdir("t/a", 0700) || mkdir("t/a/b", 0700) || mkdir("t/a/b/c", 0700) ||
            mkdir("t/skip", 0700) || mkdir("outside", 0700) || symlink("../outside", "t/link"))
                return -1;
        make_file("t/file");
        make_file("t/a/b/c/deep");
        make_file("t/skip/inside");
        make_file("outside/kept");
        top = open("t", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return top < 0 ? -1 : 0;
}

static int remove_tree(void **state)
{
        (void)state;
        close(top);
        return tree_remove(AT_FDCWD, "t") || tree_remove(AT_FDCWD, "outside") ? -1 : 0;
}

struct seen {
        struct str_list entered, entries;
        const char *again;  /* added when the root is entered */
        const char *closed; /* not read */
};

static bool enter(struct tree_walk *tree, int directory, const char *relative)
{
        struct seen *seen = tree->context;
        assert_true(fcntl(directory, F_GETFD) & FD_CLOEXEC);
        str_list_add(&seen->entered, relative[0] ? relative : ".");
        if (!relative[0] && seen->again)
                tree_walk_add(tree, seen->again);
        return !seen->closed || !str_equal(relative, seen->closed);
}

static bool entry(struct tree_walk *tree, int directory, const char *relative, const char *name)
{
        struct seen *seen = tree->context;
        assert_int_equal(faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
        str_list_take(&seen->entries, str_format("%s/%s", relative, name));
        return !str_equal(name, "skip");
}

static void walk(struct tree_walk *tree, struct seen *seen)
{
        tree->root = top;
        tree->context = seen;
        tree->entry = entry;
        tree_walk(tree);
}

static void free_seen(struct seen *seen)
{
        str_list_free(&seen->entered);
        str_list_free(&seen->entries);
}

static void test_all_of_a_tree_shallow_before_deep(void **state)
{
        (void)state;
        struct seen seen = {0};
        struct tree_walk tree = {.max_depth = 9, .max_directories = 99, .max_entries = 99, .enter = enter};
        walk(&tree, &seen);
        static const char *const entered[] = {".", "a", "a/b", "a/b/c"};
        assert_int_equal(seen.entered.count, COUNT(entered));
        for (size_t i = 0; i < COUNT(entered); i++)
                assert_string_equal(seen.entered.values[i], entered[i]);
        assert_int_equal(seen.entries.count, 7);
        assert_true(str_list_has(&seen.entries, "a/b/c/deep") && str_list_has(&seen.entries, "/link"));
        assert_false(str_list_has(&seen.entries, "skip/inside"));
        assert_false(tree.is_cut);
        free_seen(&seen);
        /* Without `enter`. */
        struct tree_walk plain = {.max_depth = 9, .max_directories = 99, .max_entries = 99};
        walk(&plain, &seen);
        assert_int_equal(seen.entries.count, 7);
        free_seen(&seen);
}

static void test_the_depth(void **state)
{
        (void)state;
        struct seen seen = {.again = "a/b"};
        struct tree_walk tree = {.max_depth = 1, .max_directories = 99, .max_entries = 99, .enter = enter};
        walk(&tree, &seen);
        assert_true(str_list_has(&seen.entered, "a") && str_list_has(&seen.entered, "a/b/c"));
        assert_int_equal(seen.entered.count, 4); /* a/b counts as a root */
        free_seen(&seen);
        seen = (struct seen){.closed = "a"};
        struct tree_walk closed = {.max_depth = 9, .max_directories = 99, .max_entries = 99, .enter = enter};
        walk(&closed, &seen);
        assert_int_equal(seen.entered.count, 2);
        assert_false(str_list_has(&seen.entries, "a/b"));
        assert_false(closed.is_cut);
        free_seen(&seen);
}

static void test_the_bounds(void **state)
{
        (void)state;
        struct seen seen = {0};
        struct tree_walk entries = {.max_depth = 9, .max_directories = 99, .max_entries = 7};
        walk(&entries, &seen);
        assert_false(entries.is_cut);
        free_seen(&seen);
        struct tree_walk cut = {.max_depth = 9, .max_directories = 99, .max_entries = 6};
        walk(&cut, &seen);
        assert_true(cut.is_cut);
        assert_int_equal(seen.entries.count, 6);
        free_seen(&seen);
        struct tree_walk directories = {.max_depth = 9, .max_directories = 4, .max_entries = 99};
        walk(&directories, &seen);
        assert_false(directories.is_cut);
        free_seen(&seen);
        struct tree_walk few = {.max_depth = 9, .max_directories = 3, .max_entries = 99, .enter = enter};
        walk(&few, &seen);
        assert_true(few.is_cut);
        assert_int_equal(seen.entered.count, 3);
        free_seen(&seen);
}

static void test_removing_follows_no_link(void **state)
{
        (void)state;
        assert_int_equal(chmod("t/a", 0), 0);
        assert_int_equal(chmod("t/a", 0500), 0);
        assert_int_equal(chmod("t/skip", 0), 0);
        assert_int_equal(tree_remove(AT_FDCWD, "t"), 0);
        assert_int_equal(access("t", F_OK), -1);
        assert_int_equal(access("outside/kept", F_OK), 0);
        assert_int_equal(tree_remove(AT_FDCWD, "t"), 0);
        assert_true(tree_remove(AT_FDCWD, "outside/kept") < 0);
        assert_int_equal(symlink("outside", "t"), 0);
        assert_true(tree_remove(AT_FDCWD, "t") < 0);
        assert_int_equal(access("outside/kept", F_OK), 0);
        assert_int_equal(unlink("t"), 0);
}

/* Deeper than a path may be long, with the name that a moved directory would get, and modes that forbid. */
static void test_removing_any_depth(void **state)
{
        (void)state;
        assert_int_equal(mkdir("t/.moved-0", 0700), 0);
        make_file("t/.moved-0/x");
        int at = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 0; i < 600; i++) {
                assert_int_equal(mkdirat(at, "directory", 0700), 0);
                assert_int_equal(mkdirat(at, "second", 0700), 0);
                int next = openat(at, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                assert_int_equal(fchmod(at, i % 2 ? 0500 : 0), 0);
                close(at);
                at = next;
        }
        close(at);
        assert_int_equal(tree_remove(AT_FDCWD, "t"), 0);
        assert_int_equal(access("t", F_OK), -1);
}

static bool is_not_a(const char *name)
{
        return !str_equal(name, "a");
}

static void test_listing_a_directory(void **state)
{
        (void)state;
        struct str_list names = {0};
        assert_true(tree_list(top, NULL, 10, &names));
        static const char *const all[] = {"a", "file", "link", "skip"};
        assert_int_equal(names.count, COUNT(all));
        for (size_t i = 0; i < COUNT(all); i++)
                assert_string_equal(names.values[i], all[i]);
        str_list_free(&names);
        assert_true(tree_list(top, is_not_a, 10, &names));
        assert_int_equal(names.count, 3);
        assert_false(str_list_has(&names, "a"));
        str_list_free(&names);
        assert_true(tree_list(top, NULL, 2, &names));
        assert_int_equal(names.count, 2);
        str_list_free(&names);
        errno = 0;
        assert_false(tree_list(-1, NULL, 10, &names));
        assert_int_equal(errno, EBADF);
        assert_null(tree_open(top, "file"));
        autoclosedir DIR *stream = tree_open(top, ".");
        for (const struct dirent *entry; (entry = tree_next(stream));)
                assert_int_equal(tree_entry_type(stream, entry), str_equal(entry->d_name, "file") ? S_IFREG
                                                                 : str_equal(entry->d_name, "link")
                                                                     ? S_IFLNK
                                                                     : S_IFDIR);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_all_of_a_tree_shallow_before_deep, make_tree, remove_tree),
            cmocka_unit_test_setup_teardown(test_the_depth, make_tree, remove_tree),
            cmocka_unit_test_setup_teardown(test_the_bounds, make_tree, remove_tree),
            cmocka_unit_test_setup_teardown(test_removing_follows_no_link, make_tree, remove_tree),
            cmocka_unit_test_setup_teardown(test_removing_any_depth, make_tree, remove_tree),
            cmocka_unit_test_setup_teardown(test_listing_a_directory, make_tree, remove_tree),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
