/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command asks a registry for, the names of entries, and which program of a package the command
 * starts.
 */
#include "packages/program.h"
#include "packages/request.h"

#include "tree_rig.h"

static char *name_of(const char *words)
{
        struct str_list command = {0};
        struct fetch_request request;
        autofree char *text = str_copy(words);
        char *rest = text;
        for (char *word; (word = strsep(&rest, " "));)
                str_list_add(&command, word);
        fetch_request_read(&command, &request);
        char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        if (name && request.consents) {
                char *longer = str_format("%s!", name);
                free(name);
                name = longer;
        }
        fetch_request_free(&request);
        str_list_free(&command);
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

/* The package, a blank, and the program's words with commas between them; NULL where they are not plain. */
static char *program_of(const char *words)
{
        struct str_list command = {0};
        struct fetch_program program;
        autofree char *text = str_copy(words);
        char *rest = text, *said = NULL;
        for (char *word; (word = strsep(&rest, " "));)
                str_list_add(&command, word);
        if (fetch_program_read(&command, &program)) {
                said = str_format("%s %s", program.package, program.words.values[0]);
                for (size_t i = 1; i < program.words.count; i++) {
                        char *longer = str_format("%s,%s", said, program.words.values[i]);
                        free(said);
                        said = longer;
                }
        }
        fetch_program_free(&program);
        str_list_free(&command);
        return said;
}

static void test_programs(void **state)
{
        (void)state;
        static const struct {
                const char *words, *program;
        } cases[] = {
            {"npx -y hello", "hello "},
            {"npx hello@1.0 a -b --c -- d", "hello@1.0 ,a,-b,--c,--,d"},
            {"/opt/bin/npx --yes -q -- @a/b -- x", "@a/b ,--,x"},
            {"npx -y true x", NULL},
            {"npx -y -p @a/b cmd -x", "@a/b cmd,-x"},
            {"npx --package=b --yes -- cmd -p c", "b cmd,-p,c"},
            {"npx -p=b cmd", "b cmd"},
            {"npx -p a -p b cmd", NULL},
            {"npx -p a ./cmd", NULL},
            {"npx -p a", NULL},
            {"npx -p", NULL},
            {"npx --package -p a cmd", NULL},
            {"npx --package= cmd", NULL},
            {"npx -y -c hello", NULL},
            {"npx -p a -c cmd", NULL},
            {"npx --call=cmd a", NULL},
            {"npx --loglevel warn hello", NULL},
            {"npx -w x hello", NULL},
            {"npx --no hello", NULL},
            {"npx -", "- "}, /* no entry has this name */
            {"npx", NULL},
            {"npm exec --yes hello", "hello "},
            {"npm exec hello a -- -b", "hello ,a,-b"},
            {"npm x --yes -- hello -- -b", "hello ,--,-b"},
            {"npm exec hello --flag", NULL},
            {"npm exec hello a -y", "hello ,a"},
            {"npm exec -p hello cmd", NULL}, /* there it means --parseable */
            {"npm exec --package=hello -- cmd -a", "hello cmd,-a"},
            {"npm exec --yes true hello", NULL},
            {"npm install hello", NULL},
            {"uvx hello", "hello hello"},
            {"uvx -q hello@1.0 --x y", "hello@1.0 hello,--x,y"},
            {"uvx hello[a]==1.0", "hello[a]==1.0 hello"},
            {"uvx --from hello[x]==1 --with b -p 3.12 cmd a", "hello[x]==1 cmd,a"},
            {"uv tool run --from=hello cmd", "hello cmd"},
            {"uvx --from --with a", NULL},
            {"uvx hello -- x", NULL},
            {"uvx --isolated hello", NULL},
            {"uvx python3.12", NULL},
            {"uvx --from hello python", NULL},
            {"uvx --from hello ../cmd", NULL},
            {"uv --offline tool run hello", NULL},
            {"uv run hello", NULL},
            {"x tool run hello", NULL},
            {"uv x run hello", NULL},
            {"uv tool x hello", NULL},
            {"uvx", NULL},
            {"node hello", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *said = program_of(cases[i].words);
                if (!cases[i].program)
                        assert_null(said);
                else
                        assert_string_equal(said ? said : "(none)", cases[i].program);
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

static void test_package_names(void **state)
{
        (void)state;
        static const struct {
                enum fetch_tool tool;
                const char *package, *name;
        } cases[] = {
            {FETCH_NPM, "@a/b@1.0", "@a/b"}, {FETCH_NPM, "a@1@2", "a"},     {FETCH_NPM, "a[b]", "a[b]"},
            {FETCH_NPM, "@a", "@a"},         {FETCH_UV, "a[b]==1", "a"},    {FETCH_UV, "a@1", "a"},
            {FETCH_UV, "a>=1", "a"},         {FETCH_UV, "a ; python", "a"}, {FETCH_UV, "a", "a"},
        };
        for (size_t i = 0; i < COUNT(cases); i++)
                assert_found(fetch_package_name(cases[i].tool, cases[i].package), cases[i].name);
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
            cmocka_unit_test(test_programs),
            cmocka_unit_test(test_names),
            cmocka_unit_test(test_package_names),
            cmocka_unit_test(test_lines_for_a_shell),
        };
        return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
