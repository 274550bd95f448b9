/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command needs: each test makes the files of one real situation and compares the grants.
 */
#include "command/toolchain.h"

#include "tree_rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- asking ---- */

struct question {
        const char *const *words;
        const char *path; /* "T/bin:/usr/bin" */
        const char *work; /* or NULL: T/caller */
        const struct box *box;
};

static bool ask(const struct question *question, struct toolchain *toolchain, struct error *error)
{
        autofree char *path = tree_path(question->path ? question->path : "/usr/bin:/bin");
        autofree char *work = tree_path(question->work ? question->work : "T/caller");
        struct resolver *resolver = tree_resolver(question->box);
        resolver->box->argv = (struct str_list){0};
        for (const char *const *word = question->words; *word; word++)
                str_list_take(&resolver->box->argv, tree_path(*word));
        *toolchain = (struct toolchain){0};
        resolver->search_path = path;
        resolver->work = work;
        resolver->toolchain = toolchain;
        bool found = toolchain_find(resolver);
        *error = *resolver->error;
        assert_int_equal(error->status == 0, found);
        str_list_free(&resolver->box->argv);
        return found;
}

static void assert_asked(const struct question *question, struct toolchain *toolchain)
{
        struct error error;
        if (!ask(question, toolchain, &error))
                fail_msg("refused: %s", error.text);
}

static void assert_refused(const struct question *question, int status, const char *part)
{
        struct toolchain toolchain;
        struct error error;
        autofree char *wanted = tree_path(part);
        assert_false(ask(question, &toolchain, &error));
        if (error.status != status || !strstr(error.text, wanted))
                fail_msg("%d \"%s\", not %d \"%s\"", error.status, error.text, status, wanted);
        toolchain_free(&toolchain);
}

/* The grants are exactly these, in any order; "PATH -> TEXT" is a link. */
static void assert_grants(const struct toolchain *toolchain, const char *const *grants)
{
        struct str_list wanted = {0};
        for (; *grants; grants++)
                str_list_take(&wanted, tree_path(*grants));
        for (size_t i = 0; i < toolchain->grants.count; i++) {
                const struct program_grant *grant = &toolchain->grants.values[i];
                autofree char *text =
                    grant->link ? str_format("%s -> %s", grant->path, grant->link) : str_copy(grant->path);
                if (!str_list_has(&wanted, text))
                        fail_msg("granted: %s (%s)", text, grant->why);
                assert_true(grant->why[0]);
        }
        if (toolchain->grants.count != wanted.count)
                fail_msg("%zu grants, not %zu", toolchain->grants.count, wanted.count);
        str_list_free(&wanted);
}

static void assert_program(const char *word, const char *const *grants)
{
        struct toolchain toolchain;
        const char *words[] = {"sh", word, NULL};
        assert_asked(&(struct question){words, NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, grants);
        toolchain_free(&toolchain);
}

/* ---- the command ---- */

static void test_nothing_is_granted_when_so_asked(void **state)
{
        (void)state;
        tree_make_file("T/caller/tool", "#!/usr/bin/env no-such-interpreter\n", 0755);
        struct toolchain toolchain = {0};
        struct options grant_nothing = {.no_auto_grant = true}, grant = {0};
        struct resolver *resolver = tree_resolver(NULL);
        resolver->box->argv = tree_words("T/caller/tool T/caller/tool");
        resolver->toolchain = &toolchain;
        resolver->options = &grant_nothing;
        assert_true(toolchain_find(resolver));
        assert_grants(&toolchain, LIST());
        assert_list(&toolchain.data, LIST("T/caller/tool"));
        toolchain_free(&toolchain);
        resolver->options = &grant;
        assert_false(toolchain_find(resolver));
        toolchain_free(&toolchain);
        str_list_free(&resolver->box->argv);
}

static void test_system_command(void **state)
{
        (void)state;
        struct toolchain toolchain;
        assert_asked(&(struct question){LIST("sh", "-c", "true"), "T/none:/bin", NULL, NULL}, &toolchain);
        assert_string_equal(toolchain.executable, "/bin/sh");
        assert_grants(&toolchain, LIST());
        assert_list(&toolchain.front, LIST());
        assert_list(&toolchain.data, LIST());
        toolchain_free(&toolchain);
}

static void test_no_such_command(void **state)
{
        (void)state;
        tree_make_file("T/home/.nvm/versions/node/v20/bin/no-such-npx", "", 0755);
        tree_make_file("T/bin/plain", "", 0644);
        tree_make_file("T/bin/directory/x", "", 0644);
        tree_make_link("T/bin/loop", "loop");
        tree_make_link("T/bin/dangling", "nowhere");
        struct question question = {LIST("no-such-npx"), "/usr/sbin:/sbin", NULL, NULL};
        assert_refused(&question, EXIT_NOT_FOUND, "no-such-npx was not found on PATH (/usr/sbin:/sbin)");
        assert_refused(&question, EXIT_NOT_FOUND, "/home/.nvm/versions/node/v20/bin/no-such-npx");
        question = (struct question){LIST("plain"), "T/none:T/bin", NULL, NULL};
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "T/bin/plain: it is not executable");
        question.words = LIST("directory");
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "it is a directory");
        question.words = LIST("T/bin/directory");
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "it is a directory");
        question.words = LIST("T/bin/plain");
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "not executable");
        question.words = LIST("T/bin/none");
        assert_refused(&question, EXIT_NOT_FOUND, "no such file");
        question.words = LIST("T/bin/plain/x");
        assert_refused(&question, EXIT_NOT_FOUND, "no such file");
        question.words = LIST("T/bin/loop");
        assert_refused(&question, EXIT_NOT_FOUND, "links");
        question.words = LIST("dangling");
        assert_refused(&question, EXIT_NOT_FOUND, "not found on PATH");
        question.words = LIST("/dev/null");
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "not a regular file");
        question.words = LIST("*");
        assert_refused(&question, EXIT_NOT_FOUND, "not found on PATH");
        char longer[6000];
        memset(longer, 'a', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = 0;
        question.words = LIST(longer);
        assert_refused(&question, EXIT_NOT_FOUND, "T/none");
}

/* As under `su`, whose PATH may still name another user's directories. */
static void test_closed_directory_on_path(void **state)
{
        (void)state;
        if (geteuid() == 0)
                skip(); /* nothing is closed to root */
        autofree char *closed = tree_path("T/closed");
        tree_make_file("T/closed/tool", "", 0755);
        assert_int_equal(chmod(closed, 0), 0);
        assert_refused(&(struct question){LIST("tool"), "T/closed", NULL, NULL}, EXIT_NOT_FOUND,
                       "not found on PATH");
        assert_refused(&(struct question){LIST("T/closed/tool"), NULL, NULL, NULL}, EXIT_NOT_EXECUTABLE,
                       "Permission denied");
        assert_int_equal(chmod(closed, 0755), 0);
}

static void test_search_goes_on(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/one/tool", "", 0644);
        tree_make_file("T/two/tool", "", 0755);
        tree_make_file("T/caller/here", "", 0755);
        assert_asked(&(struct question){LIST("tool"), "T/one:T/two", NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/two"));
        assert_list(&toolchain.front, LIST("T/two"));
        toolchain_free(&toolchain);
        /* An empty directory of PATH is the working directory. */
        assert_asked(&(struct question){LIST("here"), "/usr/bin:", NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/caller"));
        toolchain_free(&toolchain);
        assert_asked(&(struct question){LIST("../two/./tool"), NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/two"));
        toolchain_free(&toolchain);
}

/* ---- installations ---- */

static void test_script_beside_its_interpreter(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/home/.nvm/versions/node/v20/bin/node", "ELF", 0755);
        tree_make_file("T/home/.nvm/versions/node/v20/bin/npx", "#!/usr/bin/env node\n", 0755);
        assert_asked(&(struct question){LIST("T/home/.nvm/versions/node/v20/bin/npx", "x"), "/usr/sbin:/sbin",
                                        NULL, NULL},
                     &toolchain);
        assert_grants(&toolchain, LIST("T/home/.nvm/versions/node/v20/bin"));
        assert_list(&toolchain.front, LIST("T/home/.nvm/versions/node/v20/bin"));
        toolchain_free(&toolchain);
}

static void test_whole_installation(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/home/.nvm/package.json", "{}", 0644);
        tree_make_file("T/home/.nvm/v20/bin/node", "ELF", 0755);
        tree_make_file("T/home/.nvm/v20/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n", 0755);
        tree_make_link("T/home/.nvm/v20/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js");
        assert_asked(&(struct question){LIST("npx", "x"), "T/home/.nvm/v20/bin:/usr/bin", NULL, NULL},
                     &toolchain);
        assert_grants(&toolchain, LIST("T/home/.nvm/v20"));
        autofree char *executable = tree_path("T/home/.nvm/v20/bin/npx");
        assert_string_equal(toolchain.executable, executable);
        toolchain_free(&toolchain);
}

static void test_link_to_elsewhere(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/home/.local/share/tool/app", "#!/bin/sh\n", 0755);
        tree_make_link("T/home/.local/bin/second", "T/home/.local/share/tool/app");
        tree_make_link("T/home/.local/bin/first", "second");
        tree_make_file("T/home/.local/bin/private", "", 0755);
        tree_make_file("T/home/.local/lib/x", "", 0644);
        assert_asked(&(struct question){LIST("first"), "T/home/.local/bin", NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST());
        assert_int_equal(toolchain.notes.count, 1);
        toolchain_free(&toolchain);
        /* To a tool that uv or pipx installed. */
        tree_make_file("T/home/.local/share/pipx/venvs/tool/bin/tool", "#!/bin/sh\n", 0755);
        tree_make_link("T/home/.local/bin/third", "T/home/.local/share/pipx/venvs/tool/bin/tool");
        tree_make_link("T/home/.local/bin/fourth", "third");
        assert_asked(&(struct question){LIST("fourth"), "T/home/.local/bin", NULL, NULL}, &toolchain);
        assert_grants(&toolchain,
                      LIST("T/home/.local/bin/fourth -> third",
                           "T/home/.local/bin/third -> T/home/.local/share/pipx/venvs/tool/bin/tool",
                           "T/home/.local/share/pipx/venvs/tool/bin"));
        toolchain_free(&toolchain);
}

static void test_interpreters(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/i/package.json", "{}", 0644);
        tree_make_file("T/i/one/run", "#! T/i/two/step  -x\n", 0755);
        tree_make_file("T/i/two/step", "#!/usr/bin/env -S FOO=1 last --flag\n", 0755);
        tree_make_file("T/i/three/last", "ELF", 0755);
        tree_make_file("T/home/.pyenv/versions/3/bin/last", "ELF", 0755);
        tree_make_file("T/elsewhere/last", "ELF", 0755);
        /* Within a project, and to what is installed; PATH only says where to look. */
        static const struct {
                const char *path, *directory, *granted;
                size_t notes;
        } cases[] = {
            {"T/i/one:T/i/three", "T/i/three", NULL, 0},
            {"T/home/.pyenv/versions/3/bin", "T/home/.pyenv/versions/3/bin", "T/home/.pyenv/versions/3/bin",
             0},
            {"T/elsewhere", "T/elsewhere", NULL, 1},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                assert_asked(&(struct question){LIST("T/i/one/run"), cases[i].path, NULL, NULL}, &toolchain);
                assert_grants(&toolchain, LIST("T/i", cases[i].granted));
                assert_list(&toolchain.front, LIST("T/i/one", cases[i].directory));
                assert_int_equal(toolchain.notes.count, cases[i].notes);
                toolchain_free(&toolchain);
        }
        /* A graphical client's PATH may be bare: the system's own directories are on the inner one. */
        tree_make_file("T/i/four/sh-script", "#!/usr/bin/env sh\n", 0755);
        assert_asked(&(struct question){LIST("T/i/four/sh-script"), "T/none", NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/i"));
        toolchain_free(&toolchain);

        struct question question = {LIST("T/i/five"), "T/none", NULL, NULL};
        tree_make_file("T/i/five", "#!/usr/bin/env no-such-program\n", 0755);
        assert_refused(&question, EXIT_NOT_FOUND, "neither beside it nor on PATH");
        tree_make_file("T/i/five", "#!T/i/none\n", 0755);
        assert_refused(&question, EXIT_NOT_FOUND, "T/i/none: there is no such file");
        tree_make_file("T/i/five", "#!T/i/five\n", 0755);
        assert_refused(&question, EXIT_NOT_EXECUTABLE, "interpreters");
}

static void test_any_first_line(void **state)
{
        (void)state;
        static const char *const lines[] = {
            "#!",        "#!\n",  "#! \t \n", "#!/usr/bin/env\n", "#!/usr/bin/env -S\n",
            "#!/bin/sh", "#!/\n", "#!//\n",   "#!\x01\xff\n",     "#!/usr/bin/env A=1\n",
            "#\n",       ""};
        char longest[400];
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "#!/", 3);
        longest[sizeof(longest) - 1] = 0;
        for (size_t i = 0; i <= sizeof(lines) / sizeof(*lines); i++) {
                struct toolchain toolchain;
                struct error error;
                tree_make_file("T/x/script", i < sizeof(lines) / sizeof(*lines) ? lines[i] : longest, 0755);
                (void)ask(&(struct question){LIST("T/x/script"), NULL, NULL, NULL}, &toolchain, &error);
                assert_true(error.status == 0 || error.status == EXIT_NOT_FOUND ||
                            error.status == EXIT_NOT_EXECUTABLE);
                toolchain_free(&toolchain);
        }
}

#define BASE "T/home/.pyenv/versions/3.11"

static void make_python(void)
{
        tree_make_file(BASE "/bin/python3.11", "ELF", 0755);
        tree_make_file(BASE "/lib/python3.11/os.py", "", 0644);
        tree_make_file(BASE "/envs/mine/key", "", 0644);
        tree_make_link("T/caller/.venv/bin/python", "python3");
        tree_make_link("T/caller/.venv/bin/python3", BASE "/bin/python3.11");
        tree_make_file("T/caller/.venv/pyvenv.cfg", "home = " BASE "/bin\nversion = 3.11\n", 0644);
}

static void test_virtual_environment(void **state)
{
        (void)state;
        struct toolchain toolchain;
        make_python();
        tree_make_file("T/caller/server.py", "", 0644);
        assert_asked(&(struct question){LIST(".venv/bin/python", "-m", "pkg"), NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/caller", BASE "/bin", BASE "/lib"));
        autofree char *executable = tree_path("T/caller/.venv/bin/python");
        assert_string_equal(toolchain.executable, executable);
        toolchain_free(&toolchain);

        tree_make_file("T/caller/.venv/bin/tool", "#!T/caller/.venv/bin/python\n", 0755);
        assert_asked(&(struct question){LIST("T/caller/.venv/bin/tool"), NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/caller", BASE "/bin", BASE "/lib"));
        toolchain_free(&toolchain);

        /* One that holds a copy of the interpreter still needs its library. */
        tree_make_file("T/copied/bin/python3", "ELF", 0755);
        tree_make_file("T/copied/pyvenv.cfg", "include-system-site-packages = false\nhome = " BASE "/bin\n",
                       0644);
        assert_asked(&(struct question){LIST("T/copied/bin/python3"), NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/copied", BASE "/bin", BASE "/lib"));
        toolchain_free(&toolchain);

        /* In the home itself: the environment alone. */
        tree_make_link("T/home/.venv/bin/python", "/usr/bin/env");
        tree_make_file("T/home/.venv/pyvenv.cfg", "home = /usr/bin\n", 0644);
        assert_asked(&(struct question){LIST("T/home/.venv/bin/python"), NULL, NULL, NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/home/.venv"));
        toolchain_free(&toolchain);
}

/* A pyvenv.cfg decides nothing by what it says alone. */
static void test_base_that_is_none(void **state)
{
        (void)state;
        static const char *const texts[] = {
            "", "home\n", "home =\n", "home = bin\n", "home = T/none\n", "==\n", "\nhome=/usr/bin\n"};
        struct toolchain toolchain;
        const struct question question = {LIST("T/v/bin/python"), NULL, NULL, NULL};
        tree_make_link("T/v/bin/python", "/usr/bin/env");
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                tree_make_file("T/v/pyvenv.cfg", texts[i], 0644);
                assert_asked(&question, &toolchain);
                assert_grants(&toolchain, LIST("T/v"));
                assert_int_equal(toolchain.notes.count, 0);
                toolchain_free(&toolchain);
        }
        tree_make_directory("T/home/app/bin");
        tree_make_file("T/v/pyvenv.cfg", "home = T/home/app/bin\n", 0644);
        assert_asked(&question, &toolchain);
        assert_grants(&toolchain, LIST("T/v"));
        assert_int_equal(toolchain.notes.count, 1);
        toolchain_free(&toolchain);
        static const char *const refused[] = {"home = /\n", "home = T/home/..\n", "home=T/home\n"};
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
                tree_make_file("T/v/pyvenv.cfg", refused[i], 0644);
                assert_refused(&question, EXIT_SETUP, "T/v/pyvenv.cfg leads to ");
        }
}

/* ---- the program among the arguments ---- */

static void test_package_roots(void **state)
{
        (void)state;
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/build/deep/index.js", "", 0644);
        assert_program("T/p/build/deep/index.js", LIST("T/p"));
        tree_make_file("T/p/build/pyproject.toml", "", 0644);
        assert_program("T/p/build/deep/index.js", LIST("T/p/build"));
        tree_make_file("T/lone/directory/index.js", "", 0644);
        assert_program("T/lone/directory/index.js", LIST("T/lone/directory"));
        tree_make_file("T/q/package.json", "{}", 0644);
        tree_make_file("T/q/node_modules/a/package.json", "{}", 0644);
        tree_make_file("T/q/node_modules/a/node_modules/b/package.json", "{}", 0644);
        tree_make_file("T/q/node_modules/a/node_modules/b/index.js", "", 0644);
        assert_program("T/q/node_modules/a/node_modules/b/index.js", LIST("T/q/node_modules"));
        assert_program("T/q/missing.js", LIST());
        /* What the interpreter completes itself. */
        assert_program("T/lone/directory/index", LIST("T/lone/directory"));
        assert_program("T/p/build", LIST("T/p/build"));
}

static void test_never_a_shared_directory(void **state)
{
        (void)state;
        /* A package.json in the home, or where anybody may write, must not open the directory. */
        tree_make_file("T/home/package.json", "{}", 0644);
        tree_make_file("T/home/server.js", "", 0644);
        assert_program("T/home/server.js", LIST("T/home/server.js"));
        tree_make_file("T/home/app/server.js", "", 0644);
        assert_program("T/home/app/server.js", LIST("T/home/app"));
        tree_make_file("T/shared/package.json", "{}", 0644);
        tree_make_file("T/shared/server.js", "", 0644);
        tree_make_file("T/shared/mine/server.js", "", 0644);
        autofree char *shared = tree_path("T/shared");
        assert_int_equal(chmod(shared, 01777), 0);
        assert_program("T/shared/server.js", LIST("T/shared/server.js"));
        assert_program("T/shared/mine/server.js", LIST("T/shared/mine"));
        assert_program("T/home", LIST());
        assert_program("/etc/passwd", LIST("/etc/passwd"));
}

/* Only root can put a file there to see. */
static void test_never_a_directory_of_the_system(void **state)
{
        (void)state;
        char file[] = "/srv/hutch-test-XXXXXX";
        int fd = mkstemp(file);
        if (fd < 0)
                skip();
        close(fd);
        struct toolchain toolchain;
        struct error error;
        bool found = ask(&(struct question){LIST("sh", file), NULL, NULL, NULL}, &toolchain, &error);
        unlink(file);
        assert_true(found);
        assert_grants(&toolchain, LIST(file));
        toolchain_free(&toolchain);
}

static void test_program_that_may_not_be_granted(void **state)
{
        (void)state;
        tree_make_file("T/home/.ssh/id.js", "", 0600);
        tree_make_link("T/p/index.js", "T/home/.ssh/id.js");
        assert_refused(&(struct question){LIST("sh", "T/home/.ssh/id.js"), NULL, NULL, NULL}, EXIT_SETUP,
                       "keys");
        assert_refused(&(struct question){LIST("sh", "T/p/index.js"), NULL, NULL, NULL}, EXIT_SETUP, "keys");
}

static void test_directories_that_are_links(void **state)
{
        (void)state;
        tree_make_file("T/real/package.json", "{}", 0644);
        tree_make_file("T/real/src/index.js", "", 0644);
        tree_make_link("T/link", "real");
        assert_program("T/link/src/index.js", LIST("T/link -> real", "T/real"));
        /* One that leads out of the directory or the package it lies in may be a server's work. */
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/elsewhere/index.js", "", 0644);
        tree_make_link("T/p/src", "../elsewhere");
        assert_program("T/p/src/index.js", LIST("T/p"));
        /* `..` behind a link is not what it looks like. */
        tree_make_link("T/b", "T/real/src");
        assert_program("T/b/../src/index.js", LIST("T/b -> T/real/src", "T/real"));
        tree_make_link("T/home/b", "T/real/src");
        assert_program("T/home/b/../src/index.js", LIST("T/home/b -> T/real/src", "T/real"));
        tree_make_link("T/a/b", "T/real/src");
        assert_program("T/a/b/../src/index.js", LIST());
}

static void test_working_directory(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/other/x.sh", "", 0644);
        assert_asked(&(struct question){LIST("sh", "x.sh"), NULL, "T/other", NULL}, &toolchain);
        assert_grants(&toolchain, LIST("T/other"));
        toolchain_free(&toolchain);
}

/* ---- shims, scripts that start node, and runners ---- */

static void test_command_that_is_a_shim(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/home/.volta/bin/volta-shim", "ELF", 0755);
        tree_make_link("T/home/.volta/bin/npx", "volta-shim");
        tree_make_file("T/home/.volta/tools/user/platform.json",
                       "{\"node\": {\"runtime\": \"20.1.0\"}, \"npm\": \"10.0.0\"}", 0644);
        tree_make_file("T/home/.volta/tools/image/node/20.1.0/bin/node", "ELF", 0755);
        tree_make_file("T/home/.volta/tools/image/node/20.1.0/lib/x", "", 0644);
        tree_make_file("T/home/.volta/tools/image/npm/10.0.0/bin/npx", "#!/usr/bin/env node\n", 0755);
        tree_make_file("T/caller/package.json", "{\"volta\": {\"npm\": \"10.0.0\"}}", 0644);
        const struct question question = {LIST("npx"), "T/home/.volta/bin", NULL, NULL};
        assert_asked(&question, &toolchain);
        assert_grants(&toolchain,
                      LIST("T/home/.volta/tools/image/node/20.1.0/bin",
                           "T/home/.volta/tools/image/node/20.1.0/lib",
                           "T/home/.volta/tools/image/npm/10.0.0/bin",
                           "T/home/.volta/bin/npx -> T/home/.volta/tools/image/npm/10.0.0/bin/npx"));
        assert_list(&toolchain.front, LIST("T/home/.volta/bin", "T/home/.volta/tools/image/npm/10.0.0/bin",
                                           "T/home/.volta/tools/image/node/20.1.0/bin"));
        autofree char *first = tree_path("T/home/.volta/tools/image/node/20.1.0/bin");
        assert_string_equal(toolchain.front.values[0], first);
        toolchain_free(&toolchain);
        /* One without a runtime of its own, and one that starts nothing. */
        tree_make_link("T/home/.volta/bin/node", "volta-shim");
        const struct question node = {LIST("node"), "T/home/.volta/bin", NULL, NULL};
        assert_asked(&node, &toolchain);
        assert_grants(&toolchain,
                      LIST("T/home/.volta/tools/image/node/20.1.0/bin",
                           "T/home/.volta/tools/image/node/20.1.0/lib",
                           "T/home/.volta/bin/node -> T/home/.volta/tools/image/node/20.1.0/bin/node"));
        toolchain_free(&toolchain);
        tree_make_file("T/caller/package.json", "{\"volta\": {\"node\": \"1\"}}", 0644);
        assert_refused(&node, EXIT_NOT_FOUND, "node 1, which it would start");
        /* The runtime needs its files too. */
        tree_make_file("T/caller/package.json", "{\"volta\": {\"npm\": \"10.0.0\"}}", 0644);
        tree_make_file("T/home/.volta/tools/image/node/20.1.0/bin/node", "#!/nowhere\n", 0755);
        assert_refused(&question, EXIT_NOT_FOUND, "/nowhere");
}

/* What pnpm writes in node_modules/.bin. */
static void test_script_that_starts_node(void **state)
{
        (void)state;
        static const char script[] = "#!/bin/sh\nbasedir=x\nexec node  \"$basedir/../a/cli.js\" \"$@\"\n";
        struct toolchain toolchain;
        tree_make_file("T/k/package.json", "{}", 0644);
        tree_make_file("T/k/tools/tool", script, 0755);
        tree_make_file("T/k/node/node", "ELF", 0755);
        tree_make_file("T/home/.nvm/versions/node/v20/bin/node", "ELF", 0755);
        const struct question question = {LIST("T/k/tools/tool"), "T/k/node:T/k/tools", NULL, NULL};
        /* The program may be missing, and so may node. */
        assert_asked(&question, &toolchain);
        assert_grants(&toolchain, LIST("T/k"));
        assert_list(&toolchain.front, LIST("T/k/tools", "T/k/node"));
        toolchain_free(&toolchain);
        tree_make_file("T/k/a/cli.js", "", 0644);
        const struct question installed = {LIST("T/k/tools/tool"), "T/home/.nvm/versions/node/v20/bin", NULL,
                                           NULL};
        assert_asked(&installed, &toolchain);
        assert_grants(&toolchain, LIST("T/k", "T/home/.nvm/versions/node/v20/bin"));
        assert_int_equal(toolchain.notes.count, 0);
        toolchain_free(&toolchain);
        const struct question without = {LIST("T/k/tools/tool"), "T/k/tools", NULL, NULL};
        assert_asked(&without, &toolchain);
        for (size_t i = 0; i < toolchain.grants.count; i++)
                assert_null(strstr(toolchain.grants.values[i].path, "/node"));
        toolchain_free(&toolchain);
        /* Its text decides no more than a #! line does. */
        tree_make_file("T/j/cli.js", "", 0644);
        tree_make_file("T/k/tools/tool", "#!/bin/sh\nbasedir=x\nexec node \"$basedir/../../j/cli.js\"\n",
                       0755);
        assert_asked(&question, &toolchain);
        assert_grants(&toolchain, LIST("T/k"));
        assert_int_equal(toolchain.notes.count, 1);
        toolchain_free(&toolchain);
        tree_make_file("T/home/.ssh/cli.js", "", 0600);
        tree_make_file("T/k/tools/tool",
                       "#!/bin/sh\nbasedir=x\nexec node \"$basedir/../../home/.ssh/cli.js\"\n", 0755);
        assert_refused(&question, EXIT_SETUP, "T/home/.ssh/cli.js");
        tree_make_file("T/k/node/node", "#!/nowhere\n", 0755);
        assert_refused(&question, EXIT_NOT_FOUND, "/nowhere");
}

static void test_runners(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/bin/npx", "ELF", 0755);
        tree_make_file("T/bin/uv", "ELF", 0755);
        tree_make_file("T/caller/node_modules/tool/cli.js", "#!/bin/sh\n", 0755);
        tree_make_link("T/caller/node_modules/.bin/tool", "../tool/cli.js");
        const struct question npx = {LIST("npx", "-y", "tool"), "T/bin", NULL, NULL};
        assert_asked(&npx, &toolchain);
        assert_grants(&toolchain, LIST("T/bin", "T/caller/node_modules"));
        assert_false(toolchain.fetches || toolchain.missing);
        toolchain_free(&toolchain);
        tree_make_file("T/caller/node_modules/tool/cli.js", "#!/nowhere\n", 0755);
        assert_refused(&npx, EXIT_NOT_FOUND, "/nowhere");
        const struct question other = {LIST("npx", "-y", "other"), "T/bin", NULL, NULL};
        assert_asked(&other, &toolchain);
        assert_grants(&toolchain, LIST("T/bin"));
        assert_true(toolchain.fetches && toolchain.missing);
        toolchain_free(&toolchain);

        tree_make_file("T/p/pyproject.toml", "", 0644);
        tree_make_link("T/p/script", "/usr/bin/env");
        const struct question uv = {LIST("uv", "--directory", "T/p", "run", "--with", "x", "/usr/bin/env"),
                                    "T/bin", NULL, NULL};
        assert_asked(&uv, &toolchain);
        assert_grants(&toolchain, LIST("T/bin", "T/p"));
        assert_list(&toolchain.environment, LIST("UV_OFFLINE=1"));
        assert_int_equal(toolchain.notes.count, 1);
        toolchain_free(&toolchain);
        /* A project that is the home, or that a link leads to, is not granted. */
        const struct question home = {LIST("uv", "--directory", "T/home", "run", "x"), "T/bin", NULL, NULL};
        assert_asked(&home, &toolchain);
        assert_grants(&toolchain, LIST("T/bin"));
        toolchain_free(&toolchain);
        tree_make_file("T/q/package.json", "{}", 0644);
        tree_make_link("T/q/link", "../p");
        const struct question link = {LIST("uv", "--directory", "T/q/link", "run", "x"), "T/bin", NULL, NULL};
        assert_asked(&link, &toolchain);
        assert_grants(&toolchain, LIST("T/bin", "T/q"));
        assert_non_null(strstr(toolchain.notes.values[0], "in the project of a path of the command"));
        toolchain_free(&toolchain);
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_link("T/q/keys", "../home/.ssh");
        const struct question keys = {LIST("uv", "--directory", "T/q/keys", "run", "x"), "T/bin", NULL, NULL};
        assert_refused(&keys, EXIT_SETUP, "it holds keys");
}

/* A directory that the words name as the program. */
static void test_directory_as_program(void **state)
{
        (void)state;
        struct toolchain toolchain;
        struct box box = {0};
        tree_make_file("T/app/__main__.py", "", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_link("T/p/out", "../app");
        tree_make_link("T/p/keys", "../home/.ssh");
        assert_program("T/app", LIST("T/app"));
        assert_refused(&(struct question){LIST("sh", "T/p/keys"), NULL, NULL, NULL}, EXIT_SETUP,
                       "it holds keys");
        /* Outside the project, with a note; without one it is data like any other argument. */
        const struct question doubtful = {LIST("sh", "T/p/out"), NULL, NULL, NULL};
        assert_asked(&doubtful, &toolchain);
        assert_grants(&toolchain, LIST("T/p"));
        assert_int_equal(toolchain.notes.count, 1);
        assert_list(&toolchain.data, LIST());
        toolchain_free(&toolchain);
        const struct question home = {LIST("sh", "T/home"), NULL, NULL, NULL};
        assert_asked(&home, &toolchain);
        assert_grants(&toolchain, LIST());
        assert_int_equal(toolchain.notes.count, 0);
        assert_list(&toolchain.data, LIST("T/home"));
        toolchain_free(&toolchain);
        /* What the sandbox shows anyway may be named by whomever. */
        tree_add_grant(&box, "T/app", false, "--ro");
        const struct question shown = {LIST("sh", "T/p/out"), NULL, NULL, &box};
        assert_asked(&shown, &toolchain);
        assert_grants(&toolchain, LIST("T/p"));
        assert_int_equal(toolchain.notes.count, 0);
        toolchain_free(&toolchain);
        box_free(&box);
}

/* ---- what an earlier run may have written ---- */

static void test_writable_grants_decide_nothing(void **state)
{
        (void)state;
        struct toolchain toolchain;
        struct box box = {0};
        tree_make_directory("T/caller");
        tree_add_grant(&box, "T/caller", true, "--rw");
        tree_make_file("T/private/diary.txt", "", 0644);
        tree_make_file("T/private/package.json", "{}", 0644);
        tree_make_file("T/private/bin/python3", "", 0755);
        tree_make_link("T/caller/index.js", "T/private/diary.txt");
        tree_make_link("T/caller/out", "T/private");
        const struct question link = {LIST("sh", "index.js"), NULL, NULL, &box};
        assert_asked(&link, &toolchain);
        assert_int_equal(toolchain.notes.count, 1);
        for (size_t i = 0; i < toolchain.grants.count; i++)
                assert_null(strstr(toolchain.grants.values[i].path, "private"));
        toolchain_free(&toolchain);
        const struct question directory_link = {LIST("sh", "out/diary.txt"), NULL, NULL, &box};
        assert_asked(&directory_link, &toolchain);
        for (size_t i = 0; i < toolchain.grants.count; i++)
                assert_null(strstr(toolchain.grants.values[i].path, "private"));
        toolchain_free(&toolchain);
        tree_make_file("T/caller/run", "#!T/private/bin/python3\n", 0755);
        const struct question line = {LIST("T/caller/run"), NULL, NULL, &box};
        assert_asked(&line, &toolchain);
        assert_int_equal(toolchain.notes.count, 1);
        assert_grants(&toolchain, LIST("T/caller"));
        toolchain_free(&toolchain);
        /* An installed interpreter is no secret. */
        make_python();
        const struct question venv = {LIST("T/caller/.venv/bin/python"), NULL, NULL, &box};
        assert_asked(&venv, &toolchain);
        assert_grants(&toolchain, LIST("T/caller", BASE "/bin", BASE "/lib"));
        assert_list(&toolchain.data, LIST());
        toolchain_free(&toolchain);
        box_free(&box);
}

/* ---- what is sent in ---- */

/* The host has a program, and data, at each place where a copy of something else will be. */
static void test_what_is_sent_in_is_not_the_hosts(void **state)
{
        (void)state;
        static const char *const places[] = {"T/caller/x/sent.py", "T/caller/x/app/__main__.py",
                                             "T/caller/x/tool"};
        struct toolchain toolchain;
        struct copy_in files[3];
        tree_make_file("T/private/tool", "#!T/private/bin/python3\n", 0755);
        tree_make_file("T/private/bin/python3", "", 0755);
        tree_make_file("T/caller/x/package.json", "{}", 0644);
        for (size_t i = 0; i < 3; i++) {
                tree_make_file(places[i], "#!/bin/sh\n", 0755);
                files[i] = (struct copy_in){.source = tree_path("T/private/tool"),
                                            .destination = tree_path(places[i])};
        }
        struct box box = {.files = files, .file_count = 3};
        static const char *const commands[][4] = {
            {"sh", "x/sent.py", NULL},
            {"sh", "T/caller/x/sent.py", "x/sent.py", NULL},
            {"sh", "x/app", NULL},
            {"sh", "-c", "true", "T/caller/x/sent.py"},
            {"sh", "x/app/__main__.py", NULL},
        };
        for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
                const struct question question = {LIST(commands[i][0], commands[i][1], commands[i][2],
                                                       commands[i][2] ? commands[i][3] : NULL),
                                                  NULL, NULL, &box};
                assert_asked(&question, &toolchain);
                assert_grants(&toolchain, LIST());
                assert_list(&toolchain.data, LIST());
                toolchain_free(&toolchain);
        }
        /* Of a command, what its own #! line names comes along. */
        const struct question command = {LIST("x/tool"), NULL, NULL, &box};
        autofree char *executable = tree_path("T/caller/x/tool");
        assert_asked(&command, &toolchain);
        assert_string_equal(toolchain.executable, executable);
        assert_grants(&toolchain, LIST("T/private/bin"));
        toolchain_free(&toolchain);
        for (size_t i = 0; i < 3; i++) {
                free(files[i].source);
                free(files[i].destination);
        }
}

/* ---- what is data ---- */

static void test_data_is_listed(void **state)
{
        (void)state;
        struct toolchain toolchain;
        tree_make_file("T/caller/build/x", "", 0644);
        tree_make_file("T/data/file", "", 0644);
        tree_make_file("T/seen/file", "", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        assert_asked(
            &(struct question){LIST("sh", "-c", "true", "build", "T/data", "--root=T/data/file", "T/data",
                                    "T/seen/file", "T/none", "-T/data", "T/home/.ssh", "/dev/null"),
                               NULL, NULL, NULL},
            &toolchain);
        assert_list(&toolchain.data,
                    LIST("T/data", "T/data/file", "T/seen/file", "T/home/.ssh", "/dev/null"));
        toolchain_free(&toolchain);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_nothing_is_granted_when_so_asked),
            TREE_TEST(test_system_command),
            TREE_TEST(test_no_such_command),
            TREE_TEST(test_closed_directory_on_path),
            TREE_TEST(test_search_goes_on),
            TREE_TEST(test_script_beside_its_interpreter),
            TREE_TEST(test_whole_installation),
            TREE_TEST(test_link_to_elsewhere),
            TREE_TEST(test_interpreters),
            TREE_TEST(test_any_first_line),
            TREE_TEST(test_virtual_environment),
            TREE_TEST(test_base_that_is_none),
            TREE_TEST(test_package_roots),
            TREE_TEST(test_never_a_shared_directory),
            TREE_TEST(test_never_a_directory_of_the_system),
            TREE_TEST(test_program_that_may_not_be_granted),
            TREE_TEST(test_directories_that_are_links),
            TREE_TEST(test_working_directory),
            TREE_TEST(test_command_that_is_a_shim),
            TREE_TEST(test_script_that_starts_node),
            TREE_TEST(test_runners),
            TREE_TEST(test_directory_as_program),
            TREE_TEST(test_writable_grants_decide_nothing),
            TREE_TEST(test_what_is_sent_in_is_not_the_hosts),
            TREE_TEST(test_data_is_listed),
        };
        return cmocka_run_group_tests_name("toolchain", tests, NULL, NULL);
}
