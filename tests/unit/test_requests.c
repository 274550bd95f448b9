/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command asks a registry for, and the names of entries.
 */
#include "packages/request.h"

#include "tree_rig.h"

static char *name_of(const char *words)
{
        struct fetch_request request;
        struct command command;
        struct str_list list = tree_words(words);
        command_read(&list, &command);
        fetch_request_read(&command, &request);
        char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        if (name && request.consents) {
                char *longer = str_format("%s!", name);
                free(name);
                name = longer;
        }
        fetch_request_free(&request);
        command_free(&command);
        str_list_free(&list);
        return name;
}

static void test_requests(void **state)
{
        (void)state;
        static const struct {
                const char *words, *name; /* a final ! where the words consent */
        } cases[] = {
            {"npx -y hello", "npm:hello!"},
            {"npx hello", "npm:hello"},
            {"/opt/bin/npx --yes @a/b@1.2.3 -y x", "npm:@a/b@1.2.3!"},
            {"npx -y --package=b -p a cmd", "npm:a b!"},
            {"npx -y hello@^1.0 --registry=x", "npm:hello@^1.0!"},
            {"npm exec --yes --package=hello -- cmd", "npm:hello!"},
            {"npm x hello", "npm:hello"},
            {"npm install hello", NULL},
            {"npx --registry=http://x -y hello", NULL},
            {"npx -y ./directory", NULL},
            {"npx -y me/repository", NULL},
            {"npx -y git+https://x/y", NULL},
            {"npx -y ../x", NULL},
            {"npx -y @a/../x", NULL},
            {"npx -y hello@npm:other", NULL},
            {"npx", NULL},
            {"npx --package= hello", NULL},
            {"uvx --with hello", NULL},
            {"uvx -p ../x hello", NULL},
            {"uv --directory d tool run hello", NULL},
            {"uvx hello", "uv:hello!"},
            {"uvx --with b --with a hello==1.0", "uv:hello==1.0 a b!"},
            {"uvx --from hello[x]==1 cmd", "uv:hello[x]==1!"},
            {"uv tool run --python 3.12 hello", "uv:hello --python=3.12!"},
            {"uvx --index http://x hello", NULL},
            {"uvx --from hello==1{x} cmd", NULL},
            {"uvx [x]", NULL},
            {"uvx --from git+https://x hello", NULL},
            {"uv run hello", NULL},
            {"node hello", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *name = name_of(cases[i].words);
                if (!cases[i].name)
                        assert_null(name);
                else
                        assert_string_equal(name ? name : "(none)", cases[i].name);
        }
}

static void test_names(void **state)
{
        (void)state;
        static const char *const names[] = {"npm:hello", "npm:@a/b@1.0", "uv:a[b,c]==1",
                                            "npm:a b",   "npm:..",       "uv:a*"};
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                autofree char *file = fetch_name_encode(names[i]);
                autofree char *name = fetch_name_decode(file);
                assert_null(strchr(file, '/'));
                assert_int_not_equal(file[0], '.');
                assert_string_equal(name, names[i]);
        }
        static const char *const bad[] = {"..",        ".new:npm%3ax", "npm:x",     "npm%3Ax",
                                          "npm%3a%00", "npm%3",        "other%3ax", "npm%3a%61"};
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                assert_null(fetch_name_decode(bad[i]));
        char long_name[400] = "npm:";
        memset(long_name + 4, 'x', sizeof(long_name) - 5);
        assert_null(fetch_name_encode(long_name));
        assert_null(fetch_name_encode("../x"));
}

static void test_lines_for_a_shell(void **state)
{
        (void)state;
        const char *words[] = {"npx", "-y", "@a/b@1.0", "a b", "", "$x", "it's"};
        struct str_list command = {0};
        for (size_t i = 0; i < COUNT(words); i++)
                str_list_add(&command, words[i]);
        assert_found(fetch_line(&command), "hutch fetch -- npx -y @a/b@1.0 'a b' '' '$x' \"it's\"");
        str_list_free(&command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_requests),
            cmocka_unit_test(test_names),
            cmocka_unit_test(test_lines_for_a_shell),
        };
        return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
