/* SPDX-License-Identifier: Apache-2.0
 *
 * Which word of a command is its program: for every interpreter, its ways of having none.
 */
#include "command/interpreters.h"
#include "lib/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static size_t program_of(const char *words)
{
        struct str_list command = {0};
        autofree char *copy = str_copy(words);
        char *rest = NULL;
        for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                str_list_add(&command, word);
        const char *module;
        size_t index = interpreter_program(&command, &module);
        assert_true(index == 0 || (index < command.count && !module));
        str_list_free(&command);
        return index;
}

static void test_launchers(void **state)
{
        (void)state;
        static const struct {
                const char *words;
                size_t program;
        } rows[] = {
            {"node x.js", 1},
            {"/opt/bin/node --enable-source-maps -r ./a.js x.js -r y", 4},
            {"nodejs -- x.js", 2},
            {"node --env-file .env --env-file=.env x.js", 4},
            {"node -e 1 x", 0},
            {"node --eval=1 x", 0},
            {"node -pe 1", 0},
            {"node -", 0},
            {"node", 0},
            {"node -r", 0},
            {"node --", 0},
            {"python3.12 -u x.py", 2},
            {"python -W ignore -X dev x.py", 5},
            {"python -Wignore x.py", 2},
            {"python3 -uW ignore x.py", 3},
            {"python3 -m pkg", 0},
            {"python3 -Im pkg", 0},
            {"python3 -uc 1 x", 0},
            {"deno run -A --config d.json x.ts", 5},
            {"deno x.ts", 0},
            {"deno run https://x.test/a.ts", 2},
            {"bun x.ts", 1},
            {"bun run --cwd d x.ts", 4},
            {"sh x.sh", 1},
            {"bash -eux x.sh", 2},
            {"bash -euo pipefail x.sh", 3},
            {"bash -O extglob +O x x.sh", 5},
            {"sh -c x", 0},
            {"bash -lc x", 0},
            {"java -Xmx1g -cp a.jar -jar b.jar c", 5},
            {"java -cp a.jar Main", 3},
            {"java -jar", 0},
            {"ruby -I lib x.rb", 3},
            {"ruby3.1 -e 1", 0},
            {"perl -w -Ilib x.pl", 3},
            {"perl -ne 1", 0},
            {"npx x", 0},
            {"12.3 x", 0},
            {"nodemon x.js", 0},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
                if (program_of(rows[i].words) != rows[i].program)
                        fail_msg("%s: %zu", rows[i].words, program_of(rows[i].words));
}

static void test_modules(void **state)
{
        (void)state;
        static const struct {
                const char *words, *module; /* NULL: none */
        } rows[] = {
            {"python3 -m pkg x", "pkg"},
            {"python -mpkg", "pkg"},
            {"python3 -Bm pkg.sub", "pkg.sub"},
            {"python -W -m -m pkg", "pkg"},
            {"python -Wm -m pkg", "pkg"},
            {"python3 -X dev -u -m pkg", "pkg"},
            {"python -Im pkg", NULL},
            {"python -P -m pkg", NULL},
            {"python -I -m pkg", NULL},
            {"python -c -m pkg", NULL},
            {"python -c 1 -m pkg", NULL},
            {"python x.py -m pkg", NULL},
            {"python -m", NULL},
            {"python - -m pkg", NULL},
            {"node -m pkg", NULL},
            {"python --check-hash-based-pycs x -m pkg", "pkg"},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct str_list command = {0};
                autofree char *copy = str_copy(rows[i].words);
                char *rest = NULL;
                for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                        str_list_add(&command, word);
                const char *module;
                (void)interpreter_program(&command, &module);
                if (rows[i].module ? !module || !str_equal(module, rows[i].module) : module != NULL)
                        fail_msg("%s: %s", rows[i].words, module ? module : "(none)");
                str_list_free(&command);
        }
}

/* Whatever the words are, the answer is one of them. */
static void test_words_of_env(void **state)
{
        (void)state;
        static const char *const lines[][2] = {
            {"", NULL},      {"node", "node"},  {"-S node --flag", "node"},    {"-S -u X A=b node", "node"},
            {"-i -C", NULL}, {"A=b C=d", NULL}, {"-C / --argv0 x ./y", "./y"}, {"\t -S\tnode ", "node"},
        };
        for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
                autofree char *words = str_copy(lines[i][0]);
                const char *program = interpreter_env_program(words);
                assert_int_equal(!program, !lines[i][1]);
                if (program)
                        assert_string_equal(program, lines[i][1]);
        }
}

static void test_random_words(void **state)
{
        (void)state;
        static const char *const commands[] = {"node", "python3", "deno", "bun", "bash",
                                               "java", "ruby",    "perl", "x"};
        static const char *const words[] = {"-",    "--",   "-r", "-c", "-e",  "-o", "run",
                                            "-jar", "x.js", "--", "-W", "-cp", "+O"};
        unsigned long seed = 1;
        for (unsigned round = 0; round < 20000; round++) {
                struct str_list command = {0};
                str_list_add(&command, commands[round % (sizeof(commands) / sizeof(*commands))]);
                for (unsigned i = 0; i < round % 6; i++) {
                        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
                        str_list_add(&command, words[(seed >> 33) % (sizeof(words) / sizeof(*words))]);
                }
                const char *module;
                size_t index = interpreter_program(&command, &module);
                assert_true(index == 0 || (index < command.count && !module));
                str_list_free(&command);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_launchers), cmocka_unit_test(test_modules),
                                           cmocka_unit_test(test_words_of_env),
                                           cmocka_unit_test(test_random_words)};
        return cmocka_run_group_tests_name("interpreters", tests, NULL, NULL);
}
