/* SPDX-License-Identifier: Apache-2.0
 *
 * Which installed programs and projects `uv run`, `uvx`, `npx` and `python -m` use.
 */
#include "command/runners.h"

#include "tree_rig.h"

#include <stdlib.h>

static struct command read_words(const char *words)
{
        struct command command;
        struct str_list list = tree_words(words);
        command_read(&list, &command);
        str_list_free(&list);
        return command;
}

/* What the command uses, with `place` as the working directory. */
static struct runner_needs find_in(const char *place, const char *words, const struct box *box)
{
        struct runner_needs needs = {0};
        struct command command = read_words(words);
        struct resolver *resolver = tree_resolver(box);
        autofree char *work = tree_path(place);
        resolver->work = work;
        runners_find_needs(resolver, &command, &needs);
        command_free(&command);
        return needs;
}

static struct runner_needs find(const char *words, const struct box *box)
{
        return find_in("T/caller", words, box);
}

/* Words that end too early, or name nothing, ask for nothing. */
static void test_short_commands(void **state)
{
        (void)state;
        static const char *const rows[] = {
            "uv",          "uv --directory", "uv tool",   "uv tool run", "uv --",
            "uvx",         "uvx -p",         "npx",       "npx -p",      "npx --",
            "npm",         "npm exec",       "npm run",   "python3 -m",  "python3 -W",
            "python3",     "npx --package=", "npx @/x",   "npx ..",      "uv sync --extra",
            "uv pip list", "npm x -w",       "npx @s/..", "npx @../x",
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct runner_needs needs = find(rows[i], NULL);
                if (needs.missing || needs.programs.count || needs.directories.count || needs.notes.count ||
                    needs.fetches)
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
            {"npx -y x", true},      {"npx --yes @a/b@1", true},
            {"npx x", false},        {"npx -y ./x", false},
            {"npx -y /x", false},    {"npx -y file:x", false},
            {"npx x -y", false},     {"uvx x", true},
            {"uv tool run x", true}, {"bunx x", true},
            {"uv run x", false},     {"/a/npx -y -p a b", true},
            {"npm exec -y x", true}, {"npm run x", false},
            {"npm run -y x", false}, {"pnpm exec -y x", false},
            {"bun x y", true},       {"bun run y", false},
            {"pnpx x", true},        {"pnpm dlx x", true},
            {"pnpm x", false},       {"yarn dlx x", true},
            {"pipx run x", true},    {"pipx", false},
            {"npm x -y x", true},    {"npx -y", true},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct runner_needs needs = find(rows[i].words, NULL);
                if (needs.fetches != rows[i].fetches)
                        fail_msg("%s: %d", rows[i].words, needs.fetches);
                runners_free_needs(&needs);
        }
}

/* Compares everything that a command needs; each NULL is an empty list. */
static void assert_needs(const char *words, const struct box *box, const char *const *programs,
                         const char *const *directories, const char *const *environment)
{
        struct runner_needs needs = find(words, box);
        assert_list(&needs.programs, programs ? programs : LIST());
        assert_list(&needs.directories, directories ? directories : LIST());
        assert_list(&needs.environment, environment ? environment : LIST());
        runners_free_needs(&needs);
        assert_int_equal(needs.programs.count, 0);
}

static void make_uv_project(void)
{
        tree_make_file("T/p/pyproject.toml", "[project]\n", 0644);
        tree_make_file("T/p/.venv/pyvenv.cfg", "", 0644);
        tree_make_file("T/p/main.py", "", 0644);
        tree_make_file("T/p/deep/other.py", "", 0644);
        tree_make_file("T/caller/x", "", 0644);
}

static void test_uv_run(void **state)
{
        (void)state;
        make_uv_project();
        static const char *const with_script[] = {
            "uv --directory T/p run main.py",
            "uv --directory=T/p run -q --with x main.py",
            "uv run --directory T/p main.py",
            "uv run --project T/p T/p/main.py",
            "uv run --directory T/caller --project ../p T/p/main.py",
            "uv run --project T/nowhere --project T/p T/p/main.py",
            "uv run --directory T/p -- main.py",
            "/opt/bin/uv --project ../p run ../p/main.py",
        };
        const char *const *environment = LIST("UV_OFFLINE=1", "UV_NO_SYNC=1");
        for (size_t i = 0; i < COUNT(with_script); i++)
                assert_needs(with_script[i], NULL, LIST("T/p/main.py", "T/p/.venv/bin/python"),
                             LIST("T/p", "T/p"), environment);
        static const char *const without_script[] = {
            "uv --directory T/p run weather",        "uv --directory T/p run -m main.py",
            "uv --directory T/p run deep",           "uv --directory T/p run --module main.py",
            "uv --directory T/p run --with main.py", "uv --directory T/p/deep run main.py",
        };
        for (size_t i = 0; i < COUNT(without_script); i++)
                assert_needs(without_script[i], NULL, LIST("T/p/.venv/bin/python"), LIST("T/p", "T/p"),
                             environment);
        /* The working directory is not a project, and nothing names one. */
        assert_needs("uv run x", NULL, LIST("T/caller/x"), NULL, LIST("UV_OFFLINE=1"));
        assert_needs("uv --directory T/caller run x", NULL, LIST("T/caller/x"), LIST("T/caller"),
                     LIST("UV_OFFLINE=1"));
        assert_needs("uv --directory T/none run x", NULL, NULL, NULL, LIST("UV_OFFLINE=1"));
        assert_needs("uv --directory T/p sync", NULL, NULL, NULL, NULL);
        /* Without a project the nearest environment counts. */
        tree_make_file("T/caller/.venv/pyvenv.cfg", "", 0644);
        assert_needs("uv run y", NULL, LIST("T/caller/.venv/bin/python"), LIST("T/caller"), environment);
        /* With a network uv may look for updates. */
        struct port_pair port = {1, 1};
        const struct box online = {.network = {.host_ports = &port, .host_port_count = 1}};
        const struct box offline = {0};
        assert_needs("uv run y", &online, LIST("T/caller/.venv/bin/python"), LIST("T/caller"),
                     LIST("UV_NO_SYNC=1"));
        assert_needs("uv run y", &offline, LIST("T/caller/.venv/bin/python"), LIST("T/caller"), environment);
        /* The host's file at a place of --file is another one. */
        struct copy_in file = {.source = (char[]){"/x"}, .destination = tree_path("T/p/main.py")};
        const struct box with_file = {.files = &file, .file_count = 1};
        assert_needs("uv --directory T/p run main.py", &with_file, LIST("T/p/.venv/bin/python"),
                     LIST("T/p", "T/p"), environment);
        free(file.destination);
}

static void test_uv_run_in_a_workspace(void **state)
{
        (void)state;
        make_uv_project();
        tree_make_file("T/p/packages/m/pyproject.toml", "", 0644);
        static const char words[] = "uv --directory T/p/packages/m run x";
        assert_needs(words, NULL, NULL, LIST("T/p/packages/m"), LIST("UV_OFFLINE=1"));
        tree_make_file("T/p/pyproject.toml", "[tool.uv.workspace]\n", 0644);
        assert_needs(words, NULL, LIST("T/p/.venv/bin/python"), LIST("T/p/packages/m", "T/p"),
                     LIST("UV_OFFLINE=1", "UV_NO_SYNC=1"));
        tree_remove_file("T/p/.venv/pyvenv.cfg");
        assert_needs(words, NULL, NULL, LIST("T/p/packages/m"), LIST("UV_OFFLINE=1"));
}

/* The project whose environment `uv run` would make, and whether a note tells the user to make it. */
static void test_unsynced_projects(void **state)
{
        (void)state;
        static const struct {
                const char *words, *project;
        } cases[] = {
            {"uv --directory T/q run main.py", "T/q"},
            {"uv --directory T/q/deep run main.py", "T/q"},
            {"uv run --project=T/q --frozen main.py", "T/q"},
            {"uv run --project T/q -q -- main.py", "T/q"},
            {"uv run --project T/q --with x main.py", NULL},
            {"uv run --project T/q --python 3.12 main.py", NULL},
            {"uv --cache-dir x run --project T/q main.py", NULL},
            {"uv --directory T/q tool run main.py", NULL},
            {"uv --directory T/q sync", NULL},
            {"npx --directory T/q run main.py", NULL},
            {"uv --directory T/p run main.py", NULL},
            {"uv --directory T/w/m run main.py", NULL},
            {"uv run main.py", NULL},
        };
        make_uv_project();
        tree_make_file("T/q/pyproject.toml", "", 0644);
        tree_make_file("T/q/deep/x", "", 0644);
        tree_make_file("T/w/pyproject.toml", "[tool.uv.workspace]\n", 0644);
        tree_make_file("T/w/m/pyproject.toml", "", 0644);
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct command command = read_words(cases[i].words);
                assert_found(runners_find_unsynced(tree_resolver(NULL), &command), cases[i].project);
                command_free(&command);
        }
        /* hutch makes such an environment itself; for any other the user hears of it. */
        struct runner_needs needs = find("uv --directory T/q run x", NULL);
        assert_int_equal(needs.notes.count, 0);
        runners_free_needs(&needs);
        needs = find("uv --directory T/q run --with x x", NULL);
        assert_int_equal(needs.notes.count, 1);
        assert_non_null(strstr(needs.notes.values[0], "/q has no .venv"));
        runners_free_needs(&needs);
}

static void test_uvx(void **state)
{
        (void)state;
        static const char *const tools[] = {"T/home/.local/share/uv/tools", "T/data/uv/tools", "T/own"};
        autofree char *data = tree_path("T/data"), *own = tree_path("T/own");
        tree_make_file("T/home/private/pyvenv.cfg", "", 0644);
        unsetenv("UV_TOOL_DIR");
        unsetenv("XDG_DATA_HOME");
        for (size_t i = 0; i < COUNT(tools); i++) {
                autofree char *file = str_format("%s/tool/pyvenv.cfg", tools[i]);
                autofree char *python = str_format("%s/tool/bin/python", tools[i]);
                autofree char *variable = str_format("UV_TOOL_DIR=%s", tools[i]);
                if (i == 1)
                        assert_int_equal(setenv("XDG_DATA_HOME", data, 1), 0);
                if (i == 2)
                        assert_int_equal(setenv("UV_TOOL_DIR", own, 1), 0);
                struct runner_needs needs = find("uvx tool", NULL);
                assert_true(needs.fetches && needs.missing);
                runners_free_needs(&needs);
                tree_make_file(file, "", 0644);
                static const char *const commands[] = {"uvx tool",          "uvx -q tool x",
                                                       "uv tool run tool",  "uvx tool[extra]",
                                                       "uvx --from tool x", "uv -q tool -q run tool"};
                for (size_t j = 0; j < COUNT(commands); j++) {
                        needs = find(commands[j], NULL);
                        assert_list(&needs.programs, LIST(python));
                        assert_list(&needs.environment, LIST("UV_OFFLINE=1", variable));
                        assert_false(needs.fetches || needs.missing);
                        runners_free_needs(&needs);
                }
                static const char *const others[] = {"uvx tool@1",           "uvx tool==1",   "uvx tool>=1",
                                                     "uvx ../private",       "uvx tool[x]@1", "uvx other",
                                                     "uvx --from other tool"};
                for (size_t j = 0; j < COUNT(others); j++) {
                        needs = find(others[j], NULL);
                        assert_true(needs.programs.count == 0 && needs.fetches && needs.missing);
                        runners_free_needs(&needs);
                }
        }
        /* Relative paths in these variables do not count. */
        assert_int_equal(setenv("UV_TOOL_DIR", "x", 1), 0);
        assert_int_equal(setenv("XDG_DATA_HOME", "x", 1), 0);
        struct runner_needs needs = find("uvx tool", NULL);
        assert_list(&needs.programs, LIST("T/home/.local/share/uv/tools/tool/bin/python"));
        runners_free_needs(&needs);
        unsetenv("UV_TOOL_DIR");
        unsetenv("XDG_DATA_HOME");
}

static void assert_npx(const char *words, const struct box *box, const char *program, const char *directory)
{
        struct runner_needs needs = find(words, box);
        assert_list(&needs.programs, program ? LIST(program) : LIST());
        assert_list(&needs.directories, directory ? LIST(directory) : LIST());
        assert_int_equal(needs.missing, !program);
        if (program)
                assert_false(needs.fetches);
        runners_free_needs(&needs);
}

static void test_npx(void **state)
{
        (void)state;
        tree_make_file("T/caller/package.json", "{}", 0644);
        tree_make_file("T/caller/node_modules/.bin/tool", "", 0755);
        tree_make_file("T/caller/node_modules/@s/p/package.json", "{}", 0644);
        tree_make_file("T/caller/node_modules/lib/package.json", "{}", 0644);
        assert_npx("npx tool", NULL, "T/caller/node_modules/.bin/tool", NULL);
        assert_npx("npx -y tool@1.0 x", NULL, "T/caller/node_modules/.bin/tool", NULL);
        assert_npx("npm exec -- tool", NULL, "T/caller/node_modules/.bin/tool", NULL);
        assert_npx("npx -p @s/p@1 tool", NULL, "T/caller/node_modules/@s/p/package.json", NULL);
        assert_npx("npx --package=lib tool", NULL, "T/caller/node_modules/lib/package.json", NULL);
        assert_npx("npx other", NULL, NULL, NULL);
        /* The options' values and the words after the package are not the package. */
        assert_npx("npx -w tool other", NULL, NULL, NULL);
        assert_npx("npx other tool", NULL, NULL, NULL);

        /* A directory that is not the program's own is not searched. */
        tree_set_mode("T/caller", 0777);
        assert_npx("npx tool", NULL, NULL, NULL);
        tree_set_mode("T/caller", 0755);
        tree_set_mode("T/caller/node_modules", 0777);
        assert_npx("npx tool", NULL, NULL, NULL);
}

static void assert_npx_in(const char *work, const struct box *box, const char *program, const char *directory)
{
        struct runner_needs needs = find_in(work, "npx tool", box);
        assert_list(&needs.programs, program ? LIST(program) : LIST());
        assert_list(&needs.directories, directory ? LIST(directory) : LIST());
        runners_free_needs(&needs);
}

static void test_npx_searches_upward(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/home/node_modules/.bin/tool", "", 0755);
        tree_make_file("T/home/project/deep/er/x", "", 0644);
        tree_make_file("T/other/x", "", 0644);
        tree_make_file("T/node_modules/.bin/tool", "", 0755);
        /* It passes through the home, and ends there. */
        assert_npx_in("T/home/project/deep/er", NULL, "T/home/node_modules/.bin/tool", NULL);
        assert_npx_in("T/home", NULL, "T/home/node_modules/.bin/tool", NULL);
        tree_remove_file("T/home/node_modules/.bin/tool");
        assert_npx_in("T/home/project/deep/er", NULL, NULL, NULL);
        assert_npx_in("T/other", NULL, NULL, NULL);
        /* With a package.json, npm inside needs to see the directory. */
        tree_make_file("T/home/project/node_modules/.bin/tool", "", 0755);
        assert_npx_in("T/home/project/deep", NULL, "T/home/project/node_modules/.bin/tool", NULL);
        tree_make_file("T/home/project/package.json", "{}", 0644);
        assert_npx_in("T/home/project/deep", NULL, "T/home/project/node_modules/.bin/tool", "T/home/project");
        assert_npx_in("T/home/project", NULL, "T/home/project/node_modules/.bin/tool", NULL);
        /* Not above the top of a writable grant. */
        tree_add_grant(&box, "T/home/project/deep", true, "--rw");
        assert_npx_in("T/home/project/deep/er", &box, NULL, NULL);
        box_free(&box);
}

static void test_modules(void **state)
{
        (void)state;
        tree_make_file("T/caller/pkg/__main__.py", "", 0644);
        tree_make_file("T/caller/single.py", "", 0644);
        tree_make_file("T/private.py", "", 0644);
        assert_needs("python3 -m pkg", NULL, NULL, LIST("T/caller"), NULL);
        assert_needs("python3 -m pkg.sub", NULL, NULL, LIST("T/caller"), NULL);
        assert_needs("python3 -m single", NULL, NULL, LIST("T/caller"), NULL);
        assert_needs("python3 -m json.tool", NULL, NULL, NULL, NULL);
        assert_needs("python3 -m ../private", NULL, NULL, NULL, NULL);
        tree_make_file("T/setup.py", "", 0644);
        assert_needs("python3 -m single", NULL, NULL, LIST("T/caller"), NULL);
        tree_set_mode("T/caller", 0777);
        assert_needs("python3 -m single", NULL, NULL, NULL, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_short_commands),
            TREE_TEST(test_downloads),
            TREE_TEST(test_uv_run),
            TREE_TEST(test_uv_run_in_a_workspace),
            TREE_TEST(test_unsynced_projects),
            TREE_TEST(test_uvx),
            TREE_TEST(test_npx),
            TREE_TEST(test_npx_searches_upward),
            TREE_TEST(test_modules),
        };
        return cmocka_run_group_tests_name("runners", tests, NULL, NULL);
}
