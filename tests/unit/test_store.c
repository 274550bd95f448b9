/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of an entry in the store, its locks, and the record beside it. A second descriptor of this process
 * has a lock of its own, as another process would.
 */
#include "packages/entry.h"
#include "packages/store.h"

#include "lib/homes.h"
#include "tree_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY  "npm%3ahello"
#define STORE  "T/data/hutch/packages"
#define MADE   STORE "/" ENTRY
#define UNDONE STORE "/.new:" ENTRY

static int store;

static int set_up(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        autofree char *data = tree_path("T/data");
        setenv("XDG_DATA_HOME", data, 1);
        store = store_open(STORE_PACKAGES, true);
        return store < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        fd_close(&store);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static bool exists(const char *name)
{
        struct stat status;
        autofree char *path = tree_path(name);
        return lstat(path, &status) == 0;
}

static void assert_entries(const char *const *wanted)
{
        struct str_list files = {0};
        store_list(STORE_PACKAGES, store, &files);
        assert_list(&files, wanted);
        for (size_t i = 1; i < files.count; i++)
                assert_true(strcmp(files.values[i - 1], files.values[i]) < 0);
        str_list_free(&files);
}

/* How many names in the store begin so. */
static size_t count(const char *beginning)
{
        size_t found = 0;
        autofree char *path = tree_path(STORE);
        autoclosedir DIR *directory = opendir(path);
        for (const struct dirent *entry; (entry = readdir(directory));)
                found += str_starts(entry->d_name, beginning);
        return found;
}

static void never(void)
{
        fail_msg("it waits");
}

static void fetch(const char *entry, const char *content)
{
        autofree char *file = str_format(STORE "/.new:%s/cache/file", entry);
        autoclose int directory = store_begin(store, entry, never);
        assert_true(directory >= 0);
        tree_make_file(file, content, 0644);
        assert_int_equal(store_commit(store, entry), 0);
}

/* ---- where the store is ---- */

static void test_making_the_store(void **state)
{
        (void)state;
        struct stat status;
        static const char *const made[] = {"T/data/hutch", STORE};
        for (size_t i = 0; i < COUNT(made); i++) {
                autofree char *path = tree_path(made[i]);
                assert_int_equal(stat(path, &status), 0);
                assert_int_equal(status.st_mode & 07777, 0700);
        }
        autoclose int again = store_open(STORE_PACKAGES, false);
        assert_true(again >= 0);
        assert_found(store_path(), "T/data/hutch");

        autofree char *other = tree_path("T/other/deep");
        setenv("XDG_DATA_HOME", other, 1);
        assert_int_equal(store_open(STORE_PACKAGES, false), -ENOENT);
        assert_found(store_path(), "T/other/deep/hutch");
        assert_false(exists("T/other"));
        autoclose int deep = store_open(STORE_PACKAGES, true);
        assert_true(deep >= 0 && exists("T/other/deep/hutch/packages"));

        /* Links may lead to the data directory; its real path is what counts. */
        tree_make_link("T/link", "data");
        autofree char *link = tree_path("T/link");
        setenv("XDG_DATA_HOME", link, 1);
        autoclose int linked = store_open(STORE_PACKAGES, false);
        assert_true(linked >= 0);
        assert_found(store_path(), "T/data/hutch");
}

static void test_directories_that_are_not_the_callers_alone(void **state)
{
        (void)state;
        tree_set_mode("T/data/hutch", 0750);
        assert_int_equal(store_open(STORE_PACKAGES, false), -EPERM);
        assert_int_equal(store_open(STORE_PACKAGES, true), -EPERM);
        assert_int_equal(store_open_home("name"), -EPERM);
        tree_set_mode("T/data/hutch", 0700);
        tree_set_mode(STORE, 0701);
        assert_int_equal(store_open(STORE_PACKAGES, true), -EPERM);
        tree_set_mode(STORE, 0700);

        /* hutch's own directories are not links, and are directories. */
        autofree char *other = tree_path("T/other");
        setenv("XDG_DATA_HOME", other, 1);
        tree_make_link("T/other/hutch", "../data/hutch");
        assert_true(store_open(STORE_PACKAGES, true) < 0);
        tree_remove_file("T/other/hutch");
        tree_make_file("T/other/hutch", "", 0600);
        assert_int_equal(store_open(STORE_PACKAGES, true), -ENOTDIR);

        if (geteuid() != 0)
                return;
        autofree char *data = tree_path("T/data"), *hutch = tree_path("T/data/hutch");
        setenv("XDG_DATA_HOME", data, 1);
        assert_int_equal(chown(hutch, 12345, 0), 0);
        assert_int_equal(store_open(STORE_PACKAGES, false), -EPERM);
        assert_int_equal(chown(hutch, 0, 0), 0);
        /* Root makes nothing in another user's directory, and uses what is there. */
        assert_int_equal(chown(data, 12345, 0), 0);
        autoclose int there = store_open(STORE_PACKAGES, true);
        assert_true(there >= 0);
        autofree char *missing = tree_path("T/data/more/deep"), *beside = tree_path("T/data/x");
        setenv("XDG_DATA_HOME", missing, 1);
        assert_int_equal(store_open(STORE_PACKAGES, true), -EPERM);
        assert_false(exists("T/data/more"));
        tree_make_directory("T/data/x");
        assert_int_equal(chown(beside, 12345, 0), 0);
        setenv("XDG_DATA_HOME", beside, 1);
        assert_int_equal(store_open(STORE_PACKAGES, true), -EPERM);
        assert_false(exists("T/data/x/hutch"));
        assert_int_equal(chown(beside, 0, 0), 0);
        autoclose int own = store_open(STORE_PACKAGES, true);
        /* The reason is the true one. */
        tree_make_file("T/data/file", "", 0600);
        autofree char *file = tree_path("T/data/file/x");
        setenv("XDG_DATA_HOME", file, 1);
        assert_int_equal(store_open(STORE_PACKAGES, true), -ENOTDIR);
        assert_true(own >= 0);
}

/* Without the variable, and with a relative one, the store is in the home, which hutch never makes. */
static void test_store_in_the_home(void **state)
{
        (void)state;
        const char *home = caller_homes()->spelled;
        static const char *const values[] = {NULL, "relative"};
        for (size_t i = 0; i < COUNT(values); i++) {
                if (values[i])
                        setenv("XDG_DATA_HOME", values[i], 1);
                else
                        unsetenv("XDG_DATA_HOME");
                autofree char *path = str_format("%s/.local/share/hutch", home);
                assert_found(store_path(), path);
                assert_int_equal(store_open(STORE_PACKAGES, true), -ENOENT);
                assert_int_equal(access(home, F_OK), -1);
                assert_int_equal(mkdir(home, 0755), 0);
                autoclose int made = store_open(STORE_PACKAGES, true);
                assert_true(made >= 0);
                assert_int_equal(access(path, F_OK), 0);
                static const char *const below[] = {"/.local/share/hutch/packages", "/.local/share/hutch",
                                                    "/.local/share", "/.local", ""};
                for (size_t j = 0; j < COUNT(below); j++) {
                        autofree char *directory = str_format("%s%s", home, below[j]);
                        assert_int_equal(rmdir(directory), 0);
                }
        }
}

static void test_homes(void **state)
{
        (void)state;
        autoclose int home = store_open_home("name");
        assert_true(home >= 0 && exists("T/data/hutch/homes/name"));
        autoclose int again = store_open_home("name");
        assert_true(again >= 0);
        tree_set_mode("T/data/hutch/homes/name", 0755);
        assert_int_equal(store_open_home("name"), -EPERM);
}

/* ---- the life of an entry ---- */

static void test_fetch(void **state)
{
        (void)state;
        assert_int_equal(store_open_entry(STORE_PACKAGES, store, ENTRY), -ENOENT);
        autoclose int directory = store_begin(store, ENTRY, never);
        assert_true(directory >= 0);
        assert_int_equal(store_open_entry(STORE_PACKAGES, store, ENTRY), -ENOENT);
        assert_entries(LIST());
        tree_make_file(UNDONE "/cache/file", "one", 0644);
        assert_int_equal(store_commit(store, ENTRY), 0);
        assert_true(exists(MADE "/cache/file") && !exists(UNDONE));
        assert_entries(LIST(ENTRY));
        fd_close(&directory);
        autoclose int entry = store_open_entry(STORE_PACKAGES, store, ENTRY),
                      second = store_open_entry(STORE_PACKAGES, store, ENTRY);
        assert_true(entry >= 0 && second >= 0);
        tree_set_mode(MADE, 0755);
        assert_int_equal(store_open_entry(STORE_PACKAGES, store, ENTRY), -EPERM);
}

/* What a killed fetch left does not become part of the next one. */
static void test_begin_clears(void **state)
{
        (void)state;
        autoclose int killed = store_begin(store, ENTRY, never);
        tree_make_file(UNDONE "/file", "", 0600);
        tree_make_file(UNDONE "/deep/er/file", "", 0600);
        fd_close(&killed);
        autoclose int directory = store_begin(store, ENTRY, never);
        assert_true(directory >= 0);
        assert_true(exists(UNDONE) && !exists(UNDONE "/file") && !exists(UNDONE "/deep"));
        store_abandon(store, ENTRY);
        assert_false(exists(UNDONE));
}

static int other_fetch;
static unsigned waits, polls;

/* In the place of libc's: at the third poll the other fetch ends, if it has not ended before. */
int usleep(useconds_t time)
{
        (void)time;
        if (++polls == 3)
                fd_close(&other_fetch);
        assert_true(polls <= 3);
        return 0;
}

static void only_count(void)
{
        waits++;
}

static void end_other_fetch(void)
{
        waits++;
        fd_close(&other_fetch);
}

static void commit_other_fetch(void)
{
        assert_int_equal(store_commit(store, ENTRY), 0);
        end_other_fetch();
}

static void abandon_other_fetch(void)
{
        store_abandon(store, ENTRY);
        end_other_fetch();
}

/* The name is another directory's meanwhile. */
static void replace_other_fetch(void)
{
        store_abandon(store, ENTRY);
        tree_make_directory(UNDONE);
        tree_set_mode(UNDONE, 0700);
        end_other_fetch();
}

static void test_two_fetches_take_turns(void **state)
{
        (void)state;
        void (*const ends[])(void) = {only_count, end_other_fetch, abandon_other_fetch, replace_other_fetch,
                                      commit_other_fetch};
        for (size_t i = 0; i < COUNT(ends); i++) {
                waits = polls = 0;
                other_fetch = store_begin(store, ENTRY, never);
                assert_true(other_fetch >= 0);
                int directory = store_begin(store, ENTRY, ends[i]);
                assert_int_equal(waits, 1);
                if (ends[i] == commit_other_fetch) {
                        assert_int_equal(directory, -EEXIST);
                } else {
                        assert_true(directory >= 0 && exists(UNDONE));
                        /* The lock is this fetch's. */
                        autofree char *path = tree_path(UNDONE);
                        autoclose int other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                        assert_int_equal(flock(other, LOCK_SH | LOCK_NB), -1);
                        close(directory);
                }
        }
        /* An entry that exists does not keep anybody from fetching it again. */
        autoclose int again = store_begin(store, ENTRY, never);
        assert_true(again >= 0);
}

static void test_replacing(void **state)
{
        (void)state;
        fetch(ENTRY, "one");
        autoclose int used = store_open_entry(STORE_PACKAGES, store, ENTRY);
        fetch(ENTRY, "two");
        assert_true(exists(MADE "/cache/file") && !exists(UNDONE));
        /* The server's entry keeps its files until the server ends. */
        assert_int_equal(faccessat(used, "cache/file", F_OK, 0), 0);
        assert_int_equal(count(".old:" ENTRY ":"), 1);
        assert_entries(LIST(ENTRY));
        store_sweep(STORE_PACKAGES, store);
        assert_int_equal(count(".old:"), 1);
        fd_close(&used);
        store_sweep(STORE_PACKAGES, store);
        assert_int_equal(count(".old:"), 0);
        /* Nobody uses it: it goes at once. */
        fetch(ENTRY, "three");
        assert_int_equal(count(".old:"), 0);
        assert_int_equal(store_commit(store, "npm%3anone"), -ENOENT);
}

static void test_removing(void **state)
{
        (void)state;
        fetch(ENTRY, "one");
        assert_int_equal(store_remove(store, "npm%3anone"), -ENOENT);
        autoclose int used = store_open_entry(STORE_PACKAGES, store, ENTRY);
        assert_int_equal(store_remove(store, ENTRY), 0);
        assert_entries(LIST());
        assert_int_equal(faccessat(used, "cache/file", F_OK, 0), 0);
        assert_int_equal(count(".old:"), 1);
        fd_close(&used);
        fetch(ENTRY, "two");
        assert_int_equal(store_remove(store, ENTRY), 0);
        assert_int_equal(count(".old:"), 1);
        store_sweep(STORE_PACKAGES, store);
        assert_int_equal(count(".old:"), 0);
}

static void test_sweeping(void **state)
{
        (void)state;
        fetch(ENTRY, "one");
        autoclose int running = store_begin(store, "npm%3arunning", never);
        autoclose int killed = store_begin(store, "npm%3akilled", never);
        tree_make_file(STORE "/.new:npm%3akilled/deep/file", "", 0600);
        tree_make_file(STORE "/.other/file", "", 0600);
        fd_close(&killed);
        store_sweep(STORE_PACKAGES, store);
        assert_true(exists(STORE "/.new:npm%3arunning") && exists(STORE "/.other/file") && exists(MADE));
        assert_false(exists(STORE "/.new:npm%3akilled"));
        /* A link is not followed. */
        tree_make_file("T/mine/file", "", 0600);
        tree_make_link(STORE "/.new:link", "T/mine");
        store_sweep(STORE_PACKAGES, store);
        assert_true(exists("T/mine/file"));
}

static void test_listing(void **state)
{
        (void)state;
        static const char *const names[] = {"uv%3az", "npm%3aa", "npm%3a%40a", "other", "npm:x", "npm%3ab"};
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *path = str_format(STORE "/%s", names[i]);
                tree_make_directory(path);
        }
        assert_entries(LIST("npm%3aa", "npm%3ab", "uv%3az"));
}

/* ---- the record ---- */

static struct entry make_entry(void)
{
        struct entry entry = {
            .name = str_copy("npm:hello"),
            .fetched = 1700000000,
            .digest = str_copy("abc"),
            .directory = str_copy("_npx/1/node_modules/.bin"),
            .program = str_copy("hello"),
        };
        str_list_add(&entry.command, "npx");
        str_list_add(&entry.command, "hello");
        str_list_add(&entry.environment, "A=b");
        str_list_add(&entry.registries, "registry.test:443");
        entry_add_package(&entry, "hello", "1.0", "sha512-x");
        entry_add_package(&entry, "other", "2.0", "");
        return entry;
}

static void test_record(void **state)
{
        (void)state;
        struct error error = {0};
        struct entry written = make_entry(), read;
        autofree char *path = tree_path("T/entry");
        tree_make_directory("T/entry");
        autoclose int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(entry_write(directory, &written, &error));
        assert_true(entry_read(directory, "npm:hello", &read, &error));
        assert_string_equal(read.name, written.name);
        assert_int_equal(read.fetched, written.fetched);
        assert_string_equal(read.digest, written.digest);
        assert_string_equal(read.directory, written.directory);
        assert_string_equal(read.program, written.program);
        assert_list(&read.command, LIST("npx", "hello"));
        assert_list(&read.environment, LIST("A=b"));
        assert_list(&read.registries, LIST("registry.test:443"));
        assert_int_equal(read.package_count, 2);
        assert_string_equal(read.packages[0].name, "hello");
        assert_string_equal(read.packages[1].version, "2.0");
        assert_string_equal(read.packages[0].integrity, "sha512-x");
        entry_free(&read);
        /* It is written once. */
        assert_false(entry_write(directory, &written, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "File exists"));
        entry_free(&written);
        /* What is not known is empty. */
        tree_remove_file("T/entry/entry.json");
        written = make_entry();
        free(written.directory);
        free(written.program);
        written.directory = written.program = NULL;
        error = (struct error){0};
        assert_true(entry_write(directory, &written, &error) &&
                    entry_read(directory, "npm:hello", &read, &error));
        assert_string_equal(read.directory, "");
        assert_string_equal(read.program, "");
        entry_free(&read);
        entry_free(&written);
}

static void test_damaged_records(void **state)
{
        (void)state;
        static const char good[] =
            "{\"name\":\"npm:a\",\"fetched\":1,\"command\":[\"npx\"],\"environment\":[],\"registries\":[],"
            "\"digest\":\"d\",\"packages\":[{\"name\":\"a\",\"version\":\"1\",\"integrity\":\"\"}]}";
        static const char *const parts[][2] = {
            {"\"name\":\"npm:a\",", ""},
            {"\"name\":\"npm:a\"", "\"name\":1"},
            {"\"digest\":\"d\",", ""},
            {"\"fetched\":1,", ""},
            {"\"fetched\":1", "\"fetched\":\"1\""},
            {"\"command\":[\"npx\"]", "\"command\":[]"},
            {"\"command\":[\"npx\"]", "\"command\":[1]"},
            {"\"command\":[\"npx\"]", "\"command\":{\"a\":\"npx\"}"},
            {"\"environment\":[],", ""},
            {"\"environment\":[]", "\"environment\":[null]"},
            {"\"registries\":[],", ""},
            {",\"packages\":[{\"name\":\"a\",\"version\":\"1\",\"integrity\":\"\"}]", ""},
            {"{\"name\":\"a\",\"version\"", "{\"nam\":\"a\",\"version\""},
            {"\"version\":\"1\"", "\"version\":1"},
            {",\"integrity\":\"\"", ""},
            {"}]}", ""},
        };
        struct entry entry;
        struct error error = {0};
        tree_make_file("T/entry/entry.json", good, 0600);
        autofree char *path = tree_path("T/entry");
        autoclose int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(entry_read(directory, "npm:a", &entry, &error));
        assert_string_equal(entry.directory, "");
        entry_free(&entry);
        /* What an older hutch wrote starts without npx too. */
        autofree char *older = str_format("{\"folder\":\"bin\",%s", good + 1);
        tree_make_file("T/entry/entry.json", older, 0600);
        assert_true(entry_read(directory, "npm:a", &entry, &error));
        assert_string_equal(entry.directory, "bin");
        entry_free(&entry);
        for (size_t i = 0; i < COUNT(parts); i++) {
                const char *place = strstr(good, parts[i][0]);
                assert_non_null(place);
                autofree char *text = str_format("%.*s%s%s", (int)(place - good), good, parts[i][1],
                                                 place + strlen(parts[i][0]));
                tree_make_file("T/entry/entry.json", text, 0600);
                error = (struct error){0};
                if (entry_read(directory, "npm:a", &entry, &error))
                        fail_msg("read: %s", text);
                assert_string_equal(
                    error.text, "the entry of npm:a cannot be read (entry.json is damaged); remove it with "
                                "`hutch fetch --remove` and fetch it again");
                entry_free(&entry);
        }
        /* A link is not followed. */
        tree_remove_file("T/entry/entry.json");
        tree_make_file("T/other", good, 0600);
        tree_make_link("T/entry/entry.json", "../other");
        error = (struct error){0};
        assert_false(entry_read(directory, "npm:a", &entry, &error));
        assert_non_null(strstr(error.text, "symbolic links"));
        entry_free(&entry);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_making_the_store),
            TEST(test_directories_that_are_not_the_callers_alone),
            TEST(test_store_in_the_home),
            TEST(test_homes),
            TEST(test_fetch),
            TEST(test_begin_clears),
            TEST(test_two_fetches_take_turns),
            TEST(test_replacing),
            TEST(test_removing),
            TEST(test_sweeping),
            TEST(test_listing),
            TREE_TEST(test_record),
            TREE_TEST(test_damaged_records),
        };
        /* The home is read once in a process; no test may make the caller's own. */
        char home[] = "/tmp/hutch-home-XXXXXX";
        if (!mkdtemp(home))
                return 1;
        autofree char *missing = str_format("%s/missing", home);
        setenv("HOME", missing, 1);
        int failed = cmocka_run_group_tests_name("store", tests, NULL, NULL);
        return rmdir(home) < 0 || failed;
}
