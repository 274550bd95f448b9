/* SPDX-License-Identifier: Apache-2.0
 *
 * Grants as container engines spell them, directories in memory, sizes, and the options beside them: what
 * they become, and what is refused. A refusal is status 2 with one sentence.
 */
#include "lib/fd.h"
#include "options/options.h"
#include "options/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, "--", "x", NULL})

static bool parse(struct options *options, struct error *error, const char *const *words)
{
        struct str_list argv = {0};
        for (; *words; words++)
                str_list_add(&argv, *words);
        *error = (struct error){0};
        bool parsed = options_parse(options, "run", (int)argv.count, argv.values, error);
        str_list_free(&argv);
        return parsed;
}

/* The one grant that the words make. */
static struct options take(const char *const *words)
{
        struct options options;
        struct error error;
        if (!parse(&options, &error, words))
                fail_msg("refused: %s", error.text);
        return options;
}

static void test_grants(void **state)
{
        (void)state;
        static const struct {
                const char *option, *value;
                struct grant_option grant;
        } rows[] = {
            {"--ro-try", "/a", {.path = "/a", .optional = true}},
            {"--rw-try", "/a:/b", {.path = "/a", .destination = "/b", .optional = true, .writable = true}},
            {"--volume", "/a:/b", {.path = "/a", .destination = "/b", .writable = true}},
            {"--volume", "/a:/b:rw", {.path = "/a", .destination = "/b", .writable = true}},
            {"--volume", "./a:/b/../c:ro", {.path = "./a", .destination = "/c"}},
            {"--volume", ".:/b", {.path = ".", .destination = "/b", .writable = true}},
            {"--volume", "~/a:~/b", {.path = "/h/a", .destination = "/h/b", .writable = true}},
            {"--volume", "/a:b:/c:ro", {.path = "/a:b", .destination = "/c"}},
            {"--mount",
             "type=bind,source=/a,target=/b",
             {.path = "/a", .destination = "/b", .writable = true}},
            {"--mount", "dst=/b,readonly,src=~/a,type=bind", {.path = "/h/a", .destination = "/b"}},
            {"--mount", "type=bind,src=/a,destination=/b,ro=true", {.path = "/a", .destination = "/b"}},
            {"--mount",
             "type=bind,src=/a=b,dst=/b,readonly=0",
             {.path = "/a=b", .destination = "/b", .writable = true}},
            {"--mount", "type=tmpfs,target=/b", {.path = "/b", .memory = true}},
            {"--mount",
             "type=tmpfs,dst=/b,tmpfs-size=64m",
             {.path = "/b", .memory = true, .bytes = 64 << 20}},
            {"--tmpfs", "/a", {.path = "/a", .memory = true}},
            {"--tmpfs", "/a//b/:4096", {.path = "/a/b", .memory = true, .bytes = 4096}},
            {"--tmpfs", "/a:b/c:1K", {.path = "/a:b/c", .memory = true, .bytes = 1024}},
            {"--tmpfs", "~/a:2g", {.path = "/h/a", .memory = true, .bytes = 2ULL << 30}},
        };
        assert_int_equal(setenv("HOME", "/h", 1), 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct options options = take(WORDS(rows[i].option, rows[i].value));
                assert_int_equal(options.grant_count, 1);
                const struct grant_option *grant = options.grants, *wanted = &rows[i].grant;
                assert_string_equal(grant->option, rows[i].option);
                assert_string_equal(grant->path, wanted->path);
                assert_int_equal(!grant->destination, !wanted->destination);
                if (wanted->destination)
                        assert_string_equal(grant->destination, wanted->destination);
                assert_int_equal(grant->writable, wanted->writable);
                assert_int_equal(grant->optional, wanted->optional);
                assert_int_equal(grant->memory, wanted->memory);
                assert_true(grant->bytes == wanted->bytes);
                options_free(&options);
        }
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *option, *value;
                const char *part;
        } rows[] = {
            {"--volume", "/a", "SRC:DST"},
            {"--volume", "/a:b", "SRC:DST"},
            {"--volume", ":/b", "SRC:DST"},
            {"--volume", "/a:/b:z", "SRC:DST:ro"},
            {"--volume", "/a:/b:ro,z", "SRC:DST:ro"},
            {"--volume", "/a:ro", "SRC:DST"},
            {"--volume", "data:/b", "no named volumes"},
            {"--volume", "/a:/", "root of the sandbox"},
            {"--mount", "/a", "the key \"/a\" is unknown"},
            {"--mount", "source=/a,target=/b", "type=bind"},
            {"--mount", "type=volume,source=a,target=/b", "type=volume is not supported"},
            {"--mount", "type=bind,source=/a", "source=PATH,target=DEST"},
            {"--mount", "type=bind,target=/a", "source=PATH,target=DEST"},
            {"--mount", "type=bind,source=/a,target=b", "not an absolute path"},
            {"--mount", "type=bind,source=/a,target=/b/..", "root of the sandbox"},
            {"--mount", "type=bind,source=/a,target=/b,tmpfs-size=1m", "source=PATH,target=DEST"},
            {"--mount", "type=bind,source=/a,target=/b,readonly=yes", "neither true nor false"},
            {"--mount", "type=bind,source=/a,target=/b,bind-propagation=shared", "bind-propagation"},
            {"--mount", "type=bind,source=/a,source=/c,target=/b", "twice"},
            {"--mount", "type=bind,source=/a,src=/c,target=/b", "twice"},
            {"--mount", "type=bind,source,target=/b", "no value"},
            {"--mount", "type=bind,source=,target=/b", "no value"},
            {"--mount", "type=bind,,source=/a,target=/b", "unknown"},
            {"--mount", "type=bind,source=/a,b,target=/b", "comma"},
            {"--mount", "type=tmpfs", "target=PATH"},
            {"--mount", "type=tmpfs,target=/b,source=/a", "target=PATH"},
            {"--mount", "type=tmpfs,target=/b,readonly", "target=PATH"},
            {"--mount", "type=tmpfs,target=/b,tmpfs-size=0", "holds nothing"},
            {"--mount", "type=tmpfs,target=/b,tmpfs-mode=1777", "tmpfs-mode"},
            {"--tmpfs", "a", "not an absolute path"},
            {"--tmpfs", "/", "root of the sandbox"},
            {"--tmpfs", "/a:", "not a size"},
            {"--tmpfs", "/a:m", "not a size"},
            {"--tmpfs", "/a:1.5g", "not a size"},
            {"--tmpfs", "/a:-1", "not a size"},
            {"--tmpfs", "/a:1mb", "not a size"},
            {"--tmpfs", "/a:1 m", "not a size"},
            {"--tmpfs", "/a:size=64m", "not a size"},
            {"--tmpfs", "/a:rw,noexec,size=64m", "not a size"},
            {"--tmpfs", "/a:0", "holds nothing"},
            {"--tmpfs", "/a:0g", "holds nothing"},
            {"--tmpfs", "/a:1025g", "too large"},
            {"--tmpfs", "/a:18446744073709551617", "too large"},
            {"--tmpfs", "/a:17179869185g", "too large"},
            {"--ro-try", "/nowhere:/", "root of the sandbox"},
            {"--rw-try", ":/x", "PATH is empty"},
            {"--unsafe-grant", "", "empty value"},
            {"--file", "a", "write LOCAL:REMOTE"},
            {"--file", "a:", "write LOCAL:REMOTE"},
            {"--file", ":/b", "write LOCAL:REMOTE"},
            {"--file", "a:b", "absolute path: write /tmp/b"},
            {"--file", "/x:y:b", "absolute path: write /tmp/b"},
            {"--file", "a:../b", "is not an absolute path"},
            {"--file", "a:/", "root of the sandbox"},
            {"--file", "a:/b/..", "root of the sandbox"},
            {"--file", "x/a:/b/", "write /b/a"},
            {"--file", "a:/b/../c", "write /c"},
            {"--file", "a:/b//c", "write /b/c"},
            {"--file", "a:/b/./c", "write /b/c"},
            {"--file", "a:/b/c/..", "write /b"},
            {"--env-file", "", "empty value"},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct options options;
                struct error error;
                if (parse(&options, &error, WORDS(rows[i].option, rows[i].value)))
                        fail_msg("taken: %s %s", rows[i].option, rows[i].value);
                assert_int_equal(error.status, EXIT_USAGE);
                if (!strstr(error.text, rows[i].part))
                        fail_msg("\"%s\" says nothing of \"%s\"", error.text, rows[i].part);
                options_free(&options);
        }
}

static void test_one_place_twice(void **state)
{
        (void)state;
        static const char *const refused[][4] = {
            {"--tmpfs", "/a", "--ro", "/a"},       {"--tmpfs", "/a", "--volume", "/b:/a"},
            {"--tmpfs", "/a", "--tmpfs", "/a:1m"}, {"--mount", "type=bind,src=/b,dst=/a", "--ro-try", "/a"},
            {"--ro-try", "/a", "--rw-try", "/a"},  {"--rw", "/a", "--volume", "/a:/a:ro"},
        };
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
                struct options options;
                struct error error;
                assert_false(parse(&options, &error,
                                   WORDS(refused[i][0], refused[i][1], refused[i][2], refused[i][3])));
                assert_int_equal(error.status, EXIT_USAGE);
                options_free(&options);
        }
        struct options options =
            take(WORDS("--ro-try", "/a", "--ro", "/a", "--tmpfs", "/b", "--mount", "type=tmpfs,target=/b"));
        assert_int_equal(options.grant_count, 2);
        assert_false(options.grants[0].optional); /* one of the two must exist */
        options_free(&options);
}

static void test_files(void **state)
{
        (void)state;
        static const struct {
                const char *value, *local, *remote;
        } rows[] = {
            {"a:/b", "a", "/b"},       {"~/a:~/b", "/h/a", "/h/b"},     {"a:b:/c", "a:b", "/c"},
            {"a:/b:/c", "a:/b", "/c"}, {"../a:/b", "../a", "/b"},       {"a:/.b/..c", "a", "/.b/..c"},
            {"a:/b:c", "a", "/b:c"},   {" : /b:/c d", " : /b", "/c d"},
        };
        assert_int_equal(setenv("HOME", "/h", 1), 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct options options = take(WORDS("-f", rows[i].value, "--file", "/other:/place"));
                assert_int_equal(options.file_count, 2);
                assert_string_equal(options.files[0].local, rows[i].local);
                assert_string_equal(options.files[0].remote, rows[i].remote);
                options_free(&options);
        }
        struct options options;
        struct error error;
        assert_false(parse(&options, &error, WORDS("--file", "a:/b", "--file", "c:/b")));
        assert_non_null(strstr(error.text, "two files have the same destination /b"));
        options_free(&options);
}

static void test_lists(void **state)
{
        (void)state;
        assert_int_equal(setenv("HOME", "/h", 1), 0);
        struct options options = take(WORDS("--env-file", "~/a", "--env-file=b", "--unsafe-grant", "~",
                                            "--unsafe-grant=/c", "--no-auto-grant"));
        assert_int_equal(options.env_files.count, 2);
        assert_string_equal(options.env_files.values[0], "/h/a");
        assert_string_equal(options.env_files.values[1], "b");
        assert_int_equal(options.unsafe_grants.count, 2);
        assert_string_equal(options.unsafe_grants.values[0], "/h");
        assert_true(options.no_auto_grant);
        options_free(&options);
        options = take(WORDS("--ro", "/a"));
        assert_false(options.no_auto_grant);
        options_free(&options);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_grants),          cmocka_unit_test(test_refusals),
            cmocka_unit_test(test_one_place_twice), cmocka_unit_test(test_files),
            cmocka_unit_test(test_lists),
        };
        return cmocka_run_group_tests_name("spellings", tests, NULL, NULL);
}
