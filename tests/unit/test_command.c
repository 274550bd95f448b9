/* SPDX-License-Identifier: Apache-2.0
 *
 * What the words of npx, uvx, uv run and of interpreters mean.
 */
#include "command/command.h"

#include "tree_rig.h"

#include <stdlib.h>

static void append(char **text, const char *more)
{
        char *longer = str_format("%s%s%s", *text, **text && *more ? " " : "", more);
        free(*text);
        *text = longer;
}

/* The facts in the order of the structure, those that are not there left out. */
static char *describe(const char *words)
{
        static const char *const tools[] = {
            [COMMAND_OTHER] = "other",   [COMMAND_NPX] = "npx",   [COMMAND_UVX] = "uvx",
            [COMMAND_UV_RUN] = "uv-run", [COMMAND_BUNX] = "bunx", [COMMAND_PIPX_RUN] = "pipx",
        };
        struct str_list list = tree_words(words);
        struct command command;
        command_read(&list, &command);
        char *text = str_copy(tools[command.tool]);
        for (size_t i = 0; i < command.packages.count; i++)
                append(&text, command.packages.values[i]);
        assert_true(command.program < list.count);
        if (command.program) {
                autofree char *program =
                    str_format("%s%s", command.names_package ? ">" : "prog:", list.values[command.program]);
                append(&text, program);
        }
        const char *const values[][2] = {{"dir", command.directory},
                                         {"project", command.project},
                                         {"python", command.python},
                                         {"module", command.module}};
        for (size_t i = 0; i < COUNT(values); i++) {
                autofree char *value = str_format("%s:%s", values[i][0], values[i][1] ? values[i][1] : "");
                append(&text, values[i][1] ? value : "");
        }
        append(&text, command.is_module ? "-m" : "");
        append(&text, command.consents ? "yes" : "");
        append(&text, command.elsewhere ? "elsewhere" : "");
        append(&text, command.plain ? "plain" : "");
        command_free(&command);
        str_list_free(&list);
        return text;
}

static void test_words(void **state)
{
        (void)state;
        static const struct {
                const char *words, *meaning;
        } rows[] = {
            /* npx */
            {"npx x", "npx x >x plain"},
            {"npx", "npx"},
            {"npx -y", "npx yes"},
            {"npx --", "npx"},
            {"npx -", "npx"},
            {"npx -y hello", "npx hello >hello yes plain"},
            {"npx hello@1.0 a -b --c -- d", "npx hello@1.0 >hello@1.0 plain"},
            {"/opt/bin/npx --yes -q -- @a/b -- x", "npx @a/b >@a/b yes plain"},
            {"npx -yq hello", "npx hello >hello yes plain"},
            {"npx -qy hello", "npx hello >hello yes plain"},
            {"npx x -y", "npx x >x plain"},
            {"npx -y x@1 -p y", "npx x@1 >x@1 yes plain"},
            {"npx -y true x", "npx true >true yes"},
            {"npx -q null x", "npx null >null"},
            {"npx -y -p @a/b cmd -x", "npx @a/b prog:cmd yes plain"},
            {"npx --package=b --yes -- cmd -p c", "npx b prog:cmd yes plain"},
            {"npx -p=b cmd", "npx b prog:cmd plain"},
            {"npx --yes -p a --package=b cmd", "npx a b prog:cmd yes plain"},
            {"npx -p a", "npx a"},
            {"npx -p", "npx"},
            {"npx --package -p a cmd", "npx -p prog:a"},
            {"npx --package= cmd", "npx prog:cmd"},
            {"npx -y -c hello", "npx yes"},
            {"npx -p a -c cmd", "npx a"},
            {"npx --call=cmd a", "npx a >a"},
            {"npx --loglevel warn hello", "npx hello >hello"},
            {"npx -w x hello", "npx hello >hello"},
            {"npx --no hello", "npx hello >hello"},
            {"npx --registry=x y", "npx y >y elsewhere"},
            {"npx --userconfig x y", "npx y >y elsewhere"},
            {"npx y --registry x", "npx y >y plain"},
            {"npm exec --yes hello", "npx hello >hello yes plain"},
            {"npm x x", "npx x >x plain"},
            {"npm x -w", "npx"},
            {"npm --yes exec x", "npx x >x yes plain"},
            {"npm exec --yes -- hello -- -b", "npx hello >hello yes plain"},
            {"npm exec --package=hello -- cmd -a", "npx hello prog:cmd plain"},
            {"npm exec hello a - b", "npx hello >hello plain"},
            /* npm takes these from among the arguments. */
            {"npm exec hello --flag", "npx hello >hello"},
            {"npm exec hello a -- -b", "npx hello >hello"},
            {"npm exec -p hello cmd", "npx hello >hello"},
            {"npm install x", "other"},
            {"npm run -y x", "other"},
            {"npm", "other"},
            {"pnpm exec -y x", "other"},
            /* uvx */
            {"uvx x", "uvx x >x yes plain"},
            {"uvx", "uvx yes"},
            {"uvx -p", "uvx yes"},
            {"uvx --with b", "uvx yes"},
            {"uvx -q hello@1.0 --x y", "uvx hello@1.0 >hello@1.0 yes plain"},
            {"uvx --with b -w c x", "uvx x b c >x yes plain"},
            {"uvx --from hello[x]==1 --with b -p 3.12 cmd a",
             "uvx hello[x]==1 b prog:cmd python:3.12 yes plain"},
            {"uv tool run --from=hello cmd", "uvx hello prog:cmd yes plain"},
            {"uv -q tool -q run hello", "uvx hello >hello yes plain"},
            {"uvx --from --with a", "uvx --with prog:a yes"},
            {"uvx hello -- x", "uvx hello >hello yes"},
            {"uvx --isolated hello", "uvx hello >hello yes"},
            {"uv --offline tool run hello", "uvx hello >hello yes"},
            {"uvx --index x y", "uvx y >y yes elsewhere"},
            {"uvx -n y", "uvx y >y yes elsewhere"},
            {"uvx --directory d y", "uvx y >y dir:d yes elsewhere"},
            {"uv --cache-dir x tool run y", "uvx y >y yes elsewhere"},
            {"uvx y --index x", "uvx y >y yes plain"},
            {"uv tool install x", "other"},
            {"uv tool", "other"},
            {"x tool run hello", "other"},
            {"uvxx hello", "other"},
            /* uv run */
            {"uv run --directory d x.py", "uv-run prog:x.py dir:d yes elsewhere plain"},
            {"uv --project p --directory=d run x.py a",
             "uv-run prog:x.py dir:d project:p yes elsewhere plain"},
            {"uv run -q --frozen --locked --offline -- x", "uv-run prog:x yes plain"},
            {"uv run -m x", "uv-run prog:x -m yes plain"},
            {"uv run --with y x.py", "uv-run prog:x.py yes"},
            {"uv run --python 3.12 x.py", "uv-run prog:x.py python:3.12 yes"},
            {"uv run --script x.py", "uv-run prog:x.py yes"},
            {"uv --cache-dir c run x", "uv-run prog:x yes elsewhere"},
            {"uv run", "uv-run yes plain"},
            {"uv sync --extra", "other"},
            {"uv --directory", "other"},
            {"uv", "other"},
            /* what hutch cannot fetch */
            {"bunx x@2 y", "bunx x@2 >x@2"},
            {"bun x y", "bunx y >y"},
            {"pnpx x", "bunx x >x"},
            {"pnpm dlx x", "bunx x >x"},
            {"yarn dlx x", "bunx x >x"},
            {"pipx run x", "pipx x >x yes"},
            {"pnpm x", "other"},
            {"pipx", "other"},
            /* interpreters */
            {"bun run y", "other prog:y"},
            {"node -r a x.js b", "other prog:x.js"},
            {"python3 -u -m x.y", "other module:x.y"},
            {"python3 -I -m x", "other"},
            {"python3 -m", "other"},
            {"server -p x", "other"},
        };
        for (size_t i = 0; i < COUNT(rows); i++) {
                autofree char *found = describe(rows[i].words);
                if (!str_equal(found, rows[i].meaning))
                        fail_msg("%s: \"%s\", not \"%s\"", rows[i].words, found, rows[i].meaning);
        }
}

static void test_package_names(void **state)
{
        (void)state;
        static const struct {
                enum command_tool tool;
                const char *package, *name;
        } cases[] = {
            {COMMAND_NPX, "@a/b@1.0", "@a/b"}, {COMMAND_NPX, "a@1@2", "a"},
            {COMMAND_BUNX, "a[b]", "a[b]"},    {COMMAND_NPX, "@a", "@a"},
            {COMMAND_UVX, "a[b]==1", "a"},     {COMMAND_UVX, "a@1", "a"},
            {COMMAND_UVX, "a>=1", "a"},        {COMMAND_UVX, "a ; python", "a"},
            {COMMAND_PIPX_RUN, "a==1", "a"},
        };
        for (size_t i = 0; i < COUNT(cases); i++)
                assert_found(command_package_name(cases[i].tool, cases[i].package), cases[i].name);
        static const char *const safe[] = {"a", "@a/b", "a.b"};
        for (size_t i = 0; i < COUNT(safe); i++)
                assert_true(command_is_npm_name(safe[i]));
        static const char *const unsafe[] = {"", "..", "a/b", "@a/../b", "@/x", "@a/..", "@../x", "@a"};
        for (size_t i = 0; i < COUNT(unsafe); i++)
                assert_int_equal(command_is_npm_name(unsafe[i]), str_equal(unsafe[i], "@a"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_words),
            cmocka_unit_test(test_package_names),
        };
        return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
