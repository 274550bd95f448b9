/* SPDX-License-Identifier: Apache-2.0
 *
 * What of `hutch fetch` needs no process: npm's choice of a program, the removal and the digest of a tree,
 * registries' URLs.
 */
#include "unit.h"

#include "fetch/npm.h"
#include "fetch/plan.h"
#include "fetch/tree_digest.h"
#include "lib/fd.h"
#include "lib/tree_remove.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static void test_npms_choice(void **state)
{
        (void)state;
        static const struct {
                const char *name, *bin, *written, *choice;
        } cases[] = {
            {"hello", "{\"cmd\":\"cli.js\"}", "{}", "cmd"},
            {"@a/b", "{\"b\":\"x.js\",\"c\":\"y.js\"}", "{}", "b"},
            {"@a/b", "{\"a\":\"x.js\",\"c\":\"y.js\"}", "{}", NULL},
            {"b", "{\"a\":\"x.js\",\"z\":\"x.js\"}", "{\"bin\":{\"z\":\"x.js\",\"a\":\"x.js\"}}", "z"},
            {"b", "{\"a\":\"x.js\",\"z\":\"x.js\"}", NULL, NULL},
            {"b", "{\"../b\":\"x.js\"}", "{}", NULL},
            {"b", "{\"b/c\":\"x.js\"}", "{}", NULL},
            {"b", "{\".\":\"x.js\"}", "{}", NULL},
            {"b", "{\"a\":1,\"c\":1}", "{}", NULL},
            {"b", "{}", "{}", NULL},
            {"b", "\"cli.js\"", "{}", NULL},
            {"b", "[\"b\"]", "{}", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                cJSON *bin = cJSON_Parse(cases[i].bin);
                cJSON *written = cases[i].written ? cJSON_Parse(cases[i].written) : NULL;
                autofree char *choice = npm_choose_program(cases[i].name, bin, written);
                if (!cases[i].choice)
                        assert_null(choice);
                else
                        assert_string_equal(choice ? choice : "(none)", cases[i].choice);
                cJSON_Delete(bin);
                cJSON_Delete(written);
        }
}

static void make_file(int directory, const char *path, const char *text)
{
        autoclose int file = openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(file >= 0);
        assert_int_equal(fd_write_all(file, text, strlen(text)), 0);
}

static void test_trees(void **state)
{
        (void)state;
        char top[] = "/tmp/hutch-test-XXXXXX", one[SHA512_DIGEST_STRING_LENGTH],
             other[SHA512_DIGEST_STRING_LENGTH];
        struct error error = {0};
        assert_non_null(mkdtemp(top));
        autoclose int parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(parent, "tree", 0700), 0);
        assert_int_equal(mkdirat(parent, "kept", 0700), 0);
        make_file(parent, "kept/file", "mine");
        autoclose int tree = openat(parent, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        make_file(tree, "b", "text");
        assert_int_equal(symlinkat("../kept", tree, "link"), 0);
        assert_true(tree_digest(tree, one, &error));
        assert_true(tree_digest(tree, other, &error));
        assert_string_equal(one, other);
        make_file(tree, "b", "texT");
        assert_true(tree_digest(tree, other, &error));
        assert_string_not_equal(one, other);
        make_file(tree, "b", "text");
        assert_int_equal(unlinkat(tree, "link", 0), 0);
        assert_int_equal(symlinkat("../kepT", tree, "link"), 0);
        assert_true(tree_digest(tree, other, &error));
        assert_string_not_equal(one, other);

        /* Deeper than any descriptor table and any path, directories that cannot be entered, a link out. */
        int at = dup(tree);
        for (unsigned i = 0; i < 3000; i++) {
                assert_int_equal(mkdirat(at, "deep", 0700), 0);
                make_file(at, "file", "x");
                int next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (i % 7 == 0)
                        assert_int_equal(fchmod(at, i == 0 ? 0700 : 0), 0);
                close(at);
                at = next;
        }
        close(at);
        assert_false(tree_digest(tree, other, &error));
        assert_int_equal(tree_remove(parent, "tree"), 0);
        assert_int_equal(faccessat(parent, "tree", F_OK, 0), -1);
        assert_int_equal(tree_remove(parent, "tree"), 0);
        assert_int_equal(faccessat(parent, "kept/file", F_OK, 0), 0);
        assert_int_equal(tree_remove(parent, "kept"), 0);
        assert_int_equal(rmdir(top), 0);
}

static void test_registries(void **state)
{
        (void)state;
        static const struct {
                const char *url, *plain, *registry, *allow;
        } cases[] = {
            {"https://registry.test/", "https://registry.test/", "registry.test:443",
             "registry.test:443/private"},
            {"https://me:secret@Registry.TEST/npm/", "https://Registry.TEST/npm/", "registry.test:443",
             "registry.test:443/private"},
            {"http://127.0.0.1:4873/", "http://127.0.0.1:4873/", "127.0.0.1:4873", "localhost:4873"},
            {"http://localhost:4873", "http://localhost:4873", "localhost:4873", "localhost:4873"},
            {"https://10.1.2.3/x", "https://10.1.2.3/x", "10.1.2.3:443", "10.1.2.3:443"},
            {"https://[fd00::1]:8443/", "https://[fd00::1]:8443/", "[fd00::1]:8443", "[fd00::1]:8443"},
            {"ftp://registry.test/", NULL, NULL, NULL},
            {"https:///x", NULL, NULL, NULL},
            {"https://registry.test:x/", NULL, NULL, NULL},
            {"https://registry.test:99999/", NULL, NULL, NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct fetch_plan plan = {0};
                autofree char *plain = plan_add_registry(&plan, cases[i].url);
                if (!cases[i].plain) {
                        assert_null(plain);
                        assert_int_equal(plan.registries.count, 0);
                } else {
                        assert_string_equal(plain, cases[i].plain);
                        assert_string_equal(plan.registries.values[0], cases[i].registry);
                        assert_string_equal(plan.allow.values[0], cases[i].allow);
                }
                plan_free(&plan);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_npms_choice),
            cmocka_unit_test(test_trees),
            cmocka_unit_test(test_registries),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
