/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file a command's name means, and what is said when there is none.
 */
#include "command/search.h"

#include "tree_rig.h"

#include <glob.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

static char *find_on_path(const char *path, const char *name, struct search_failure *failure)
{
        autofree char *directories = tree_path(path), *cwd = tree_path("T/caller");
        return search_path(directories, cwd, name, failure);
}

static void test_path(void **state)
{
        (void)state;
        tree_make_file("T/one/plain", "", 0644);
        tree_make_file("T/two/plain", "", 0755);
        tree_make_file("T/caller/here", "", 0755);
        tree_make_file("T/caller/sub/there", "", 0755);
        assert_found(find_on_path("T/one:T/two", "plain", NULL), "T/two/plain");
        assert_found(find_on_path("T/two:T/one", "plain", NULL), "T/two/plain");
        assert_found(find_on_path("T/one", "plain", NULL), NULL);
        /* An empty directory of PATH is the working directory, wherever it is in the list. */
        assert_found(find_on_path("T/one:", "here", NULL), "T/caller/here");
        assert_found(find_on_path(":T/one", "here", NULL), "T/caller/here");
        assert_found(find_on_path("T/one::T/two", "here", NULL), "T/caller/here");
        assert_found(find_on_path("sub", "there", NULL), "T/caller/sub/there");
        assert_found(find_on_path("T/two", "", NULL), NULL);
}

static void test_best_reason(void **state)
{
        (void)state;
        tree_make_file("T/one/plain", "", 0644);
        tree_make_file("T/two/plain/x", "", 0755);
        struct search_failure failure = {0};
        /* A file that is there explains more than one that is not; the first of equals counts. */
        assert_found(find_on_path("T/none:T/one:T/two:T/none", "plain", &failure), NULL);
        autofree char *nearest = tree_path("T/one/plain");
        assert_string_equal(failure.path, nearest);
        assert_int_equal(failure.status, EXIT_NOT_EXECUTABLE);
        assert_string_equal(failure.problem, "it is not executable (chmod +x would make it so)");
        failure = (struct search_failure){0};
        assert_found(find_on_path("T/none:T/one", "missing", &failure), NULL);
        autofree char *first = tree_path("T/none/missing");
        assert_string_equal(failure.path, first);
        assert_int_equal(failure.status, EXIT_NOT_FOUND);
}

static void assert_problem(const char *name, int status, const char *problem)
{
        struct search_failure failure = {0};
        autofree char *cwd = tree_path("T/caller"), *file = tree_path(name);
        assert_found(search_file(cwd, file, &failure), NULL);
        if (failure.status != status || !strstr(failure.problem, problem))
                fail_msg("%s: %d, %s", name, failure.status, failure.problem);
        assert_found(search_file(cwd, file, NULL), NULL);
}

static void test_files(void **state)
{
        (void)state;
        autofree char *cwd = tree_path("T/caller"), *absolute = tree_path("T/caller/tool");
        tree_make_file("T/caller/tool", "", 0755);
        tree_make_file("T/caller/plain", "", 0644);
        tree_make_file("T/real/deep/tool", "", 0755);
        tree_make_link("T/caller/link", "../real/deep");
        assert_found(search_file(cwd, "./tool", NULL), "T/caller/./tool");
        assert_found(search_file("/", absolute, NULL), "T/caller/tool");
        assert_found(search_file("/", absolute + 1, NULL), "T/caller/tool");
        /* The kernel follows `..` behind a link, so it stays. */
        assert_found(search_file(cwd, "link/../deep/tool", NULL), "T/caller/link/../deep/tool");
        assert_problem("./plain", EXIT_NOT_EXECUTABLE, "not executable");
        assert_problem("./none", EXIT_NOT_FOUND, "there is no such file");
        assert_problem("./plain/none", EXIT_NOT_FOUND, "there is no such file");
        assert_problem("T/caller", EXIT_NOT_EXECUTABLE, "it is a directory");
        assert_problem("/dev/null", EXIT_NOT_EXECUTABLE, "it is not a regular file");
        tree_make_link("T/caller/loop", "loop");
        assert_problem("./loop", EXIT_NOT_FOUND, "symbolic links");
}

/* As under `su`, whose PATH may still name another user's directories. */
static void test_closed_directories(void **state)
{
        (void)state;
        tree_make_file("T/closed/tool", "", 0755);
        tree_set_mode("T", 0755);
        tree_set_mode("T/closed", 0);
        bool root = geteuid() == 0;
        if (root)
                assert_int_equal(setresuid(65534, 65534, 0), 0);
        struct search_failure failure = {0};
        autofree char *found = find_on_path("T/closed", "tool", &failure);
        struct search_failure named = {0};
        autofree char *file = tree_path("T/closed/tool");
        autofree char *other = search_file("/", file, &named);
        if (root)
                assert_int_equal(setresuid(0, 0, 0), 0);
        tree_set_mode("T/closed", 0755);
        assert_null(found);
        assert_null(other);
        assert_int_equal(failure.status, EXIT_NOT_FOUND);
        assert_int_equal(named.status, EXIT_NOT_EXECUTABLE);
        assert_string_equal(named.problem, "Permission denied");
}

static void test_noexec(void **state)
{
        (void)state;
        autofree char *directory = tree_path("T/noexec");
        tree_make_directory("T/noexec");
        if (mount("none", directory, "tmpfs", MS_NOEXEC, NULL) < 0)
                skip(); /* only root mounts */
        tree_make_file("T/noexec/tool", "", 0755);
        tree_make_file("T/noexec/plain", "", 0644);
        struct search_failure executable = {0}, plain = {0};
        autofree char *one = tree_path("T/noexec/tool"), *other = tree_path("T/noexec/plain");
        autofree char *found = search_file("/", one, &executable), *none = search_file("/", other, &plain);
        assert_int_equal(umount(directory), 0);
        assert_null(found);
        assert_null(none);
        assert_string_equal(executable.problem, "its file system is mounted noexec");
        assert_string_equal(plain.problem, "it is not executable (chmod +x would make it so)");
}

static void test_escape(void **state)
{
        (void)state;
        static const char *const texts[][2] = {
            {"plain-1.0", "plain-1.0"}, {"a*b?c[d]\\e", "a\\*b\\?c\\[d]\\\\e"}, {"", ""}};
        for (size_t i = 0; i < COUNT(texts); i++)
                assert_found(search_escape(texts[i][0]), texts[i][1]);
}

static void test_copies(void **state)
{
        (void)state;
        autofree char *home = tree_path("T/home");
        assert_found(search_list_copies("no-such-tool", home), "");
        tree_make_file("T/home/.nvm/versions/node/v20/bin/no-such-tool", "", 0755);
        tree_make_file("T/home/.nvm/versions/node/v22/bin/no-such-tool", "", 0644);
        tree_make_file("T/home/bin/no-such-tool", "", 0755);
        autofree char *two =
            tree_path("; name it by its path: T/home/.nvm/versions/node/v20/bin/no-such-tool, "
                      "T/home/bin/no-such-tool");
        assert_found(search_list_copies("no-such-tool", home), two);
        /* Neither a name nor the home is a pattern. */
        assert_found(search_list_copies("no-such-t*", home), "");
        autofree char *pattern = tree_path("T/hom?");
        assert_found(search_list_copies("no-such-tool", pattern), "");
        assert_found(search_list_copies("no-such-tool", NULL), "");
        for (unsigned i = 0; i < 9; i++) {
                autofree char *copy = str_format("T/home/.pyenv/versions/%u/bin/no-such-tool", i);
                tree_make_file(copy, "", 0755);
        }
        autofree char *many = search_list_copies("no-such-tool", home);
        size_t commas = 0;
        for (const char *c = many; *c; c++)
                commas += *c == ',';
        assert_int_equal(commas, 3);
        autofree char *env = search_list_copies("env", NULL);
        assert_non_null(strstr(env, "/usr/bin/env"));
}

static void test_sentences(void **state)
{
        (void)state;
        const struct search_failure missing = {
            .path = "/x", .status = EXIT_NOT_FOUND, .problem = "there is no such file"};
        const struct search_failure unusable = {
            .path = "/x", .status = EXIT_NOT_EXECUTABLE, .problem = "it is a directory"};
        static const struct {
                const char *name;
                bool missing;
                const char *sentence;
        } cases[] = {
            {"no such", true, "write the command and each argument as separate words"},
            {"no such", false, "the command no such cannot be started: /x: it is a directory"},
            {"A=b", true, "write --env A=… before --"},
            {"A=b", false, "cannot be started: /x: it is a directory"},
            {"1=b", true, "was not found on PATH (/p)"},
            {"~/tool", true, "~ is not expanded after --"},
            {"~/tool", false, "the command ~/tool cannot be started: /x: it is a directory"},
            {"./tool", true, "the command ./tool cannot be started: /x: there is no such file"},
            {"/x", true, "the command /x cannot be started: there is no such file"},
            {"/x", false, "the command /x cannot be started: it is a directory"},
            {"no-such-tool", true, "was not found on PATH (/p); install it, or name it by its path"},
            {"env", true, "was not found on PATH (/p); name it by its path: "},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct error error = {0};
                assert_false(search_explain(cases[i].missing ? &missing : &unusable, cases[i].name, "/p",
                                            NULL, &error));
                assert_int_equal(error.status, cases[i].missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
                if (!strstr(error.text, cases[i].sentence))
                        fail_msg("%s: %s", cases[i].name, error.text);
        }
        struct error error = {0};
        assert_false(search_explain(&missing, "no-such-tool", NULL, NULL, &error));
        assert_non_null(strstr(error.text, "(" SEARCH_SYSTEM_PATH ")"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_path),   TREE_TEST(test_best_reason),
            TREE_TEST(test_files),  TREE_TEST(test_closed_directories),
            TREE_TEST(test_noexec), cmocka_unit_test(test_escape),
            TREE_TEST(test_copies), cmocka_unit_test(test_sentences),
        };
        return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
