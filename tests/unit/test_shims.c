/* SPDX-License-Identifier: Apache-2.0
 *
 * What files of version managers say, which words of runners commands name what is installed, and snap's
 * programs. The layouts themselves are tested with the built program.
 */
#include "command/runners.h"
#include "command/shims.h"
#include "command/versions.h"
#include "lib/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void test_versions(void **state)
{
        (void)state;
        static const struct {
                versions_reader *read;
                const char *text, *tool, *versions; /* NULL: none */
        } rows[] = {
            {versions_read_words, "3.12\n", NULL, "3.12"},
            {versions_read_words, "# new\n 3.12 # x\n\n3.11:system\r\n", NULL, "3.12 3.11 system"},
            {versions_read_words, " \n#3.12\n", NULL, NULL},
            {versions_read_words, "", NULL, NULL},
            {versions_read_lines, "python 3.12\nnodejs 20 18 # x\n", "nodejs", "20 18"},
            {versions_read_lines, "nodejs-x 20\n#nodejs 19\n\tnodejs\t18\n", "nodejs", "18"},
            {versions_read_lines, "nodejs\n", "nodejs", NULL},
            {versions_read_lines, "nodejs 20", "node", NULL},
            {versions_read_toml, "[tools]\nnode = \"20\"", "node", "20"},
            {versions_read_toml, "[tools]\n'node'='20' # x\n", "node", "20"},
            {versions_read_toml, "[tools]\n\"npm:x\" = \"1\"\nnode=[ \"20\", '18' ]\n", "node", "20 18"},
            {versions_read_toml, "[tools]\nnode = {version=\"20\", os=[\"linux\"]}", "node", "20"},
            {versions_read_toml, "[tools.node]\nversion = '20'\n", "node", "20"},
            {versions_read_toml, "[env]\nnode = \"20\"\n[tools]\nnodejs = \"1\"\n", "node", NULL},
            {versions_read_toml, "node = \"20\"\n", "node", NULL},
            {versions_read_toml, "[tools]\nnode = 20\n", "node", NULL},
            {versions_read_toml, "[tools]\nnode = \"20\n", "node", NULL},
            {versions_read_toml, "[tools]\nnode = [\"20\" \n", "node", "20"},
            {versions_read_toml, "[tools]\nnode = {\n", "node", NULL},
            {versions_read_toml, "[tools]\nnode\n=\n[", "node", NULL},
            {versions_read_json, "{\"volta\": {\"node\": \"20.1.0\"}}", "volta.node", "20.1.0"},
            {versions_read_json, "{\"volta\": {\"node\": 20}}", "volta.node", NULL},
            {versions_read_json, "{\"volta\": {\"node\": \"\"}}", "volta.node", NULL},
            {versions_read_json, "{\"volta\": null}", "volta.node", NULL},
            {versions_read_json, "{\"node\": null", "node", NULL},
            {versions_read_json, "[]", "node", NULL},
            {versions_read_plain, "v20.1.0\n", "node", "20.1.0"},
            {versions_read_plain, "# ours\n 20 # x\n18\n", "node", "20"},
            {versions_read_plain, "vlts\n", "node", "vlts"},
            {versions_read_plain, "\n#\n", "node", NULL},
            {versions_read_setting, "# x\n legacy = yes # on\n", "legacy", "yes"},
            {versions_read_setting, "legacy_x = yes\nlegacy\n", "legacy", NULL},
            {versions_read_toml_setting, "[tools]\na = \"1\"\n[settings]\na = [\"x\", \"y\"]\n", "a", "x y"},
            {versions_read_toml_setting, "[tools]\na = \"1\"\n", "a", NULL},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                autofree char *found = rows[i].read(rows[i].text, rows[i].tool);
                if (rows[i].versions ? !found || !str_equal(found, rows[i].versions) : found != NULL)
                        fail_msg("%s: %s", rows[i].text, found ? found : "(none)");
        }
}

static void test_names(void **state)
{
        (void)state;
        static const char *const good[] = {"3.12.1", "cpython-3.12+x", "node_20", "x@1", "pypy3.10-7.3"};
        static const char *const bad[] = {"",    ".",   "..", "../x", "a/b", "/",  "-x",
                                          "a b", "a\n", "~",  "*",    "a\\", ".x", "\xc3\xa4"};
        char longest[200];
        memset(longest, 'a', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = 0;
        assert_false(str_is_file_name(longest));
        for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
                assert_true(str_is_file_name(good[i]));
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                if (str_is_file_name(bad[i]))
                        fail_msg("\"%s\" is a name", bad[i]);
}

static void read_words(const char *words, struct runner_needs *needs)
{
        struct str_list command = {0};
        autofree char *copy = str_copy(words);
        char *rest = NULL;
        for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                str_list_add(&command, word);
        const struct directories directories = {.real_home = ""};
        *needs = (struct runner_needs){0};
        runners_find_needs(&command, &directories, "/nowhere", "/nowhere/home", needs);
        str_list_free(&command);
}

/* Words that end too early, or name nothing, ask for nothing. */
static void test_short_commands(void **state)
{
        (void)state;
        static const char *const rows[] = {
            "uv",
            "uv --directory",
            "uv tool",
            "uv tool run",
            "uv --",
            "uvx",
            "uvx -p",
            "npx",
            "npx -p",
            "npx --",
            "npm",
            "npm exec",
            "npm run",
            "python3 -m",
            "python3 -W",
            "python3",
            "npx --package=",
            "npx @",
            "npx @/x",
            "npx ..",
            "uv sync --extra",
            "uv pip list",
            "npm x -w",
            "npx @x@1",
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct runner_needs needs;
                read_words(rows[i], &needs);
                if (needs.programs.count || needs.directories.count || needs.notes.count || needs.fetches)
                        fail_msg("%s asks for something", rows[i]);
                runners_free_needs(&needs);
        }
}

static void test_downloads(void **state)
{
        (void)state;
        static const struct {
                const char *words;
                bool fetches;
        } rows[] = {
            {"npx -y x", true},
            {"npx --yes @a/b@1", true},
            {"npx x", false},
            {"npx x -y", false},
            {"uvx x", true},
            {"uv tool run x", true},
            {"bunx x", true},
            {"uv run x", false},
            {"/a/npx -y -p a b", true},
            {"npm exec -y x", true},
            {"npm run x", false},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct runner_needs needs;
                read_words(rows[i].words, &needs);
                if (needs.fetches != rows[i].fetches)
                        fail_msg("%s: %d", rows[i].words, needs.fetches);
                runners_free_needs(&needs);
        }
}

static void test_snap(void **state)
{
        (void)state;
        char directory[] = "/tmp/hutch-snap-XXXXXX";
        assert_non_null(mkdtemp(directory));
        autofree char *node = str_format("%s/node", directory);
        assert_int_equal(symlink("/usr/bin/snap", node), 0);
        const struct toolchain_caller caller = {.cwd = "/", .work = "/", .home = "/nowhere"};
        const struct directories directories = {.real_home = ""};
        struct shim shim;
        struct error error = {0};
        assert_false(shims_follow(node, &caller, &directories, &shim, &error));
        assert_int_equal(error.status, EXIT_NOT_EXECUTABLE);
        assert_non_null(strstr(error.text, "belongs to snap"));
        assert_non_null(strstr(error.text, "install node from"));
        assert_null(shim.program);
        assert_int_equal(unlink(node), 0);
        assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_versions),       cmocka_unit_test(test_names),
            cmocka_unit_test(test_short_commands), cmocka_unit_test(test_downloads),
            cmocka_unit_test(test_snap),
        };
        return cmocka_run_group_tests_name("shims", tests, NULL, NULL);
}
