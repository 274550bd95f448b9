/* SPDX-License-Identifier: Apache-2.0
 *
 * By which name a server is known: the same for the same command, told apart from others, and harmless.
 */
#include "command/server_name.h"
#include "lib/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Words are separated by blanks. */
static char *name_of(const char *words, const char *work)
{
        struct str_list command = {0};
        for (const char *word = words; *word; word += strspn(word, " ")) {
                size_t length = strcspn(word, " ");
                str_list_take(&command, str_copy_n(word, length));
                word += length;
        }
        char *name = server_name(&command, work);
        str_list_free(&command);
        return name;
}

static void test_names_of_commands(void **state)
{
        static const struct {
                const char *words, *name;
        } cases[] = {
            {"npx -y @modelcontextprotocol/server-filesystem@1.2 /home/x",
             "@modelcontextprotocol/server-filesystem"},
            {"npx mcp-server@latest", "mcp-server"},
            {"npx -y -p @a/b tool", "@a/b"},
            {"npx lodash.merge", "lodash.merge"},
            {"npx github:user/repo", "repo"},
            {"npm exec -- thing", "thing"},
            {"bunx thing@2", "thing"},
            {"/opt/bin/uvx --from mcp-server-git==1.0 mcp", "mcp-server-git"},
            {"uvx mcp[cli]", "mcp"},
            {"uvx git+https://host/user/repo.git", "repo"},
            {"uv tool run tool>=2", "tool"},
            {"uv --directory /home/x/weather run server.py", "weather"},
            {"uv run weather.py", "weather"},
            {"node /x/y/node_modules/@s/p/dist/index.js stdio", "@s/p"},
            {"node /x/node_modules/a/node_modules/b/i.js", "b"},
            {"node /x/node_modules/node_modules/b/i.js", "b"},
            {"node /nonexistent/y/z/server.mjs", "z"},
            {"node /nonexistent/y/weather/build/index.js", "weather"},
            {"python3 /nonexistent/y/Documents/server.py", "server"},
            {"python3 /tmp/server.py", "server"},
            {"python3 /nonexistent/y/z/weather.py", "weather"},
            {"python3 -u /nonexistent/y/z/my.server.py", "my.server"},
            {"python3 -m mcp_server_time", "mcp_server_time"},
            {"/x/node_modules/.bin/mcp-server-filesystem /data", "mcp-server-filesystem"},
            {"./server", "server"},
            {"sh -c true", "sh"},
            {"uv", "uv"},
            {"npx", "npx"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *name = name_of(cases[i].words, "/nonexistent/work");
                if (!str_equal(name, cases[i].name))
                        print_error("%s: %s instead of %s\n", cases[i].words, name, cases[i].name);
                assert_string_equal(name, cases[i].name);
        }
}

static void test_a_script_bears_the_name_of_its_package(void **state)
{
        char directory[] = "/tmp/hutch-name-XXXXXX";
        (void)state;
        assert_non_null(mkdtemp(directory));
        autofree char *project = path_join(directory, "deep/my server"), *build = path_join(project, "build");
        autofree char *deep = path_join(directory, "deep"), *mark = path_join(project, "package.json");
        assert_int_equal(mkdir(deep, 0700) | mkdir(project, 0700) | mkdir(build, 0700), 0);
        fclose(fopen(mark, "w"));
        struct str_list command = {0};
        str_list_add(&command, "node");
        str_list_add(&command, "build/index.js");
        autofree char *name = server_name(&command, project);
        assert_string_equal(name, "my_server");
        str_list_free(&command);
        remove(mark);
        remove(build);
        remove(project);
        remove(deep);
        remove(directory);
}

static void test_no_name_does_harm(void **state)
{
        char longest[4001];
        static const struct {
                const char *text, *name;
        } cases[] = {
            {"", "_"},
            {".", "_"},
            {"..", "_."},
            {"../../etc/passwd", "_._.._etc_passwd"},
            {"-v", "_v"},
            {"a\nb\033[2Jc", "a_b__2Jc"},
            {"\xff\xfe", "__"},
            {"%2e%2e", "_2e_2e"},
            {"@s/p/../q", "@s/p_.._q"},
            {"@/..", "@/.."},
            {"x/@s/p", "x_@s_p"},
            {"caf\xc3\xa9", "caf__"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *name = server_name_clean(cases[i].text), *again = server_name_clean(name);
                assert_string_equal(name, cases[i].name);
                assert_string_equal(again, name);
        }
        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = 0;
        autofree char *name = server_name_clean(longest);
        assert_int_equal(strlen(name), SERVER_NAME_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_names_of_commands),
            cmocka_unit_test(test_a_script_bears_the_name_of_its_package),
            cmocka_unit_test(test_no_name_does_harm),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
