/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program a version manager's shim starts, and who may choose it.
 */
#include "command/shims.h"

#include "command/mise.h"
#include "command/shim_choice.h"
#include "command/volta.h"

#include "tree_rig.h"

#include <stdlib.h>

/* ---- asking ---- */

/* The variables that the managers read; none is set at the beginning of a test. */
static const char *const variables[] = {"PYENV_VERSION",       "ASDF_CONFIG_FILE",
                                        "ASDF_NODEJS_VERSION", "MISE_NODE_VERSION",
                                        "XDG_CONFIG_HOME",     "MISE_IDIOMATIC_VERSION_FILE_ENABLE_TOOLS"};

static int set_up(void **state)
{
        for (size_t i = 0; i < COUNT(variables); i++)
                unsetenv(variables[i]);
        int failed = tree_set_up(state);
        tree_make_directory("T/caller");
        return failed;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tree_tear_down)

/* Follows the shim at `path` with T/caller as the working directory. */
static bool follow(const char *path, const struct box *box, struct shim *shim, struct error *error)
{
        autofree char *file = tree_path(path);
        autofree char *search = tree_path("T/home/.pyenv/shims:T/other:/usr/bin");
        struct resolver *resolver = tree_resolver(box);
        resolver->search_path = search;
        bool followed = shims_follow(file, resolver, shim);
        *error = *resolver->error;
        return followed;
}

/* The shim starts `program`, with `runtime` or NULL. NULL for both: the file is not a shim. */
static void assert_starts(const char *path, const struct box *box, const char *program, const char *runtime)
{
        struct shim shim;
        struct error error;
        if (!follow(path, box, &shim, &error))
                fail_msg("refused: %s", error.text);
        assert_found(shim.program, program);
        assert_found(shim.runtime, runtime);
}

static void assert_refused(const char *path, const struct box *box, int status, const char *part)
{
        struct shim shim;
        struct error error;
        autofree char *wanted = tree_path(part);
        assert_false(follow(path, box, &shim, &error));
        if (error.status != status || !strstr(error.text, wanted))
                fail_msg("%d \"%s\", not %d \"%s\"", error.status, error.text, status, wanted);
        free(shim.program);
        free(shim.runtime);
}

static void make_programs(const char *const *paths)
{
        for (; *paths; paths++)
                tree_make_file(*paths, "ELF", 0755);
}

/* ---- pyenv ---- */

static void make_pyenv(void)
{
        make_programs(LIST("T/home/.pyenv/versions/3.11.9/bin/python3",
                           "T/home/.pyenv/versions/3.12.1/bin/python3",
                           "T/home/.pyenv/versions/3.12.10/bin/python3",
                           "T/home/.pyenv/versions/3.12.x/bin/python3", "T/other/python3"));
        tree_make_file("T/home/.pyenv/shims/python3",
                       "#!/bin/sh\nexec \"T/libexec/pyenv\" exec \"$program\"\n", 0755);
}

#define PYENV "T/home/.pyenv"

static void test_pyenv(void **state)
{
        (void)state;
        make_pyenv();
        /* Nothing names a version: the next program on PATH. */
        assert_starts(PYENV "/shims/python3", NULL, "T/other/python3", NULL);
        tree_make_file(PYENV "/version", "3.11.9\n", 0644);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.11.9/bin/python3", NULL);
        tree_make_file("T/.python-version", "# the newest\n3.12\n", 0644);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.12.10/bin/python3", NULL);
        /* The nearest file decides, and in it the first version that has the program. */
        tree_make_file("T/caller/.python-version", "3.9.0\n3.12.1\n3.11.9\n", 0644);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.12.1/bin/python3", NULL);
        tree_make_file("T/caller/.python-version", "#\n", 0644);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.12.10/bin/python3", NULL);
        assert_int_equal(setenv("PYENV_VERSION", "3.11.9", 1), 0);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.11.9/bin/python3", NULL);
        assert_int_equal(setenv("PYENV_VERSION", "", 1), 0);
        assert_starts(PYENV "/shims/python3", NULL, PYENV "/versions/3.12.10/bin/python3", NULL);
        assert_int_equal(setenv("PYENV_VERSION", "system:3.11.9", 1), 0);
        assert_starts(PYENV "/shims/python3", NULL, "T/other/python3", NULL);
        assert_int_equal(setenv("PYENV_VERSION", "4:3.13", 1), 0);
        assert_refused(PYENV "/shims/python3", NULL, EXIT_NOT_FOUND,
                       "PYENV_VERSION names (4 3.13) has python3");
        assert_int_equal(setenv("PYENV_VERSION", "../../other", 1), 0);
        assert_refused(PYENV "/shims/python3", NULL, EXIT_SETUP, "\"../../other\"");
        /* A program that cannot be executed is not there. */
        assert_int_equal(setenv("PYENV_VERSION", "3.11.9", 1), 0);
        tree_set_mode(PYENV "/versions/3.11.9/bin/python3", 0644);
        assert_refused(PYENV "/shims/python3", NULL, EXIT_NOT_FOUND, "has python3");
}

/* "system" is the next program on PATH that is not in the directory of the shims, however that is spelled. */
static void test_system_version(void **state)
{
        (void)state;
        make_pyenv();
        tree_make_link("T/elsewhere", "home/.pyenv/shims");
        autofree char *shim = tree_path(PYENV "/shims/python3");
        autofree char *path = tree_path("T/none:T/elsewhere:T/other");
        struct resolver *resolver = tree_resolver(NULL);
        struct shim found;
        resolver->search_path = path;
        assert_true(shims_follow(shim, resolver, &found));
        assert_found(found.program, "T/other/python3");
        resolver->search_path = "../other";
        assert_true(shims_follow(shim, resolver, &found));
        assert_found(found.program, "T/other/python3");
        /* Without such an entry, the system's own directories. */
        tree_make_file(PYENV "/shims/env", "#!/bin/sh\nexec \"T/libexec/pyenv\" exec \"$program\"\n", 0755);
        autofree char *env = tree_path(PYENV "/shims/env");
        resolver->search_path = "/nowhere";
        assert_true(shims_follow(env, resolver, &found));
        assert_found(found.program, "/usr/bin/env");
        resolver->search_path = NULL;
        assert_true(shims_follow(env, resolver, &found));
        assert_found(found.program, "/usr/bin/env");
}

/* ---- asdf ---- */

#define ASDF "T/home/.asdf"

static void make_asdf(void)
{
        make_programs(LIST(ASDF "/installs/nodejs/18.0.0/bin/node", ASDF "/installs/nodejs/20.1.0/bin/node",
                           ASDF "/installs/other/1/bin/node"));
        tree_make_file(
            ASDF "/shims/node",
            "#!/bin/sh\n# asdf-plugin: ../nodejs 1\n# asdf-plugin: other 1\n# asdf-plugin: nodejs 18.0.0\n",
            0755);
        tree_make_file("T/home/.tool-versions", "python 3.12.1\nnodejs 20.1.0 # the default\n", 0644);
}

static void test_asdf(void **state)
{
        (void)state;
        make_asdf();
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
        tree_make_file("T/caller/.tool-versions", "nodejs 19.0.0 18.0.0\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/18.0.0/bin/node", NULL);
        assert_int_equal(setenv("ASDF_NODEJS_VERSION", "20.1.0", 1), 0);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
        unsetenv("ASDF_NODEJS_VERSION");
        /* The first plugin of the shim that has a version decides. */
        tree_make_file("T/caller/.tool-versions", "nodejs 18.0.0\nother 1\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/other/1/bin/node", NULL);
        tree_make_file("T/caller/.tool-versions", "ruby 3.3.0\n", 0644);
        tree_remove_file("T/home/.tool-versions");
        assert_refused(ASDF "/shims/node", NULL, EXIT_NOT_FOUND,
                       "shim of asdf, and nothing says which version");
}

static void test_asdf_with_files_of_other_tools(void **state)
{
        (void)state;
        make_asdf();
        tree_make_file("T/caller/.nvmrc", "v18.0.0\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
        tree_make_file("T/home/.asdfrc", "legacy_version_file = yes\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/18.0.0/bin/node", NULL);
        /* asdf's own file of the same directory comes first; that of a directory above does not. */
        tree_make_file("T/caller/.tool-versions", "nodejs 20.1.0\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
        tree_remove_file("T/caller/.tool-versions");
        tree_make_file("T/.tool-versions", "nodejs 20.1.0\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/18.0.0/bin/node", NULL);
        /* The files belong to one tool. */
        tree_make_file("T/caller/.python-version", "1\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/18.0.0/bin/node", NULL);
        tree_make_file("T/home/.asdfrc", "legacy_version_file = no\n", 0644);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
        tree_make_file("T/asdf.conf", "legacy_version_file = yes\n", 0644);
        autofree char *moved = tree_path("T/asdf.conf");
        assert_int_equal(setenv("ASDF_CONFIG_FILE", moved, 1), 0);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/18.0.0/bin/node", NULL);
        assert_int_equal(setenv("ASDF_CONFIG_FILE", "asdf.conf", 1), 0);
        assert_starts(ASDF "/shims/node", NULL, ASDF "/installs/nodejs/20.1.0/bin/node", NULL);
}

/* ---- Volta ---- */

#define VOLTA "T/home/.volta"
#define IMAGE VOLTA "/tools/image"

static void make_volta(void)
{
        make_programs(LIST(VOLTA "/bin/volta-shim", IMAGE "/node/18.0.0/bin/node",
                           IMAGE "/node/20.1.0/bin/node", IMAGE "/node/20.1.0/bin/npx",
                           IMAGE "/npm/10.0.0/bin/npx", IMAGE "/npm/10.0.0/bin/npm",
                           IMAGE "/pnpm/9.0.0/bin/pnpm", IMAGE "/yarn/1.0.0/bin/yarn",
                           IMAGE "/packages/@s/server/bin/server", IMAGE "/packages/plain/bin/plain"));
        static const char *const names[] = {"node", "npx", "npm", "pnpm", "yarn", "server", "plain", "lost"};
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *shim = str_format(VOLTA "/bin/%s", names[i]);
                tree_make_link(shim, "volta-shim");
        }
        tree_make_file(
            VOLTA "/tools/user/platform.json",
            "{\"node\": {\"runtime\": \"20.1.0\", \"npm\": null}, \"pnpm\": \"9.0.0\", \"yarn\": null}",
            0644);
}

static void test_volta(void **state)
{
        (void)state;
        make_volta();
        assert_starts(VOLTA "/bin/node", NULL, IMAGE "/node/20.1.0/bin/node", NULL);
        assert_starts(VOLTA "/bin/npx", NULL, IMAGE "/node/20.1.0/bin/npx", IMAGE "/node/20.1.0/bin/node");
        assert_starts(VOLTA "/bin/pnpm", NULL, IMAGE "/pnpm/9.0.0/bin/pnpm", IMAGE "/node/20.1.0/bin/node");
        assert_refused(VOLTA "/bin/yarn", NULL, EXIT_NOT_FOUND, "yarn (none), which it would start");
        /* volta pin */
        tree_make_file("T/caller/package.json",
                       "{\"volta\": {\"node\": \"18.0.0\", \"npm\": \"10.0.0\", \"yarn\": \"1.0.0\"}}", 0644);
        assert_starts(VOLTA "/bin/node", NULL, IMAGE "/node/18.0.0/bin/node", NULL);
        assert_starts(VOLTA "/bin/npx", NULL, IMAGE "/npm/10.0.0/bin/npx", IMAGE "/node/18.0.0/bin/node");
        assert_starts(VOLTA "/bin/npm", NULL, IMAGE "/npm/10.0.0/bin/npm", IMAGE "/node/18.0.0/bin/node");
        assert_starts(VOLTA "/bin/yarn", NULL, IMAGE "/yarn/1.0.0/bin/yarn", IMAGE "/node/18.0.0/bin/node");
        tree_make_file("T/caller/package.json", "{\"volta\": {\"node\": \"19.0.0\"}}", 0644);
        assert_refused(VOLTA "/bin/node", NULL, EXIT_NOT_FOUND,
                       "node 19.0.0, which it would start, is not installed");
        assert_refused(VOLTA "/bin/npx", NULL, EXIT_NOT_FOUND,
                       "node 19.0.0, which it would start, is not installed");
        tree_make_file("T/caller/package.json", "{\"volta\": {\"node\": \"../node/18.0.0\"}}", 0644);
        assert_refused(VOLTA "/bin/node", NULL, EXIT_NOT_FOUND, "../node/18.0.0");
}

static void test_packages_of_volta(void **state)
{
        (void)state;
        static const struct {
                const char *text, *program, *problem;
        } cases[] = {
            {"{\"package\": \"@s/server\", \"platform\": {\"node\": \"18.0.0\"}}",
             IMAGE "/packages/@s/server/bin/server", NULL},
            {"{\"package\": \"@s/server\", \"platform\": {}}", NULL, "node (none), which it would start"},
            {"{\"package\": \"server\", \"platform\": {\"node\": \"18.0.0\"}}", NULL, "nothing says which"},
            {"{\"package\": \"@s/../plain\", \"platform\": {\"node\": \"18.0.0\"}}", NULL,
             "nothing says which"},
            {"{\"package\": \"@../server\", \"platform\": {\"node\": \"18.0.0\"}}", NULL,
             "nothing says which"},
            {"{\"package\": \"..\", \"platform\": {\"node\": \"18.0.0\"}}", NULL, "nothing says which"},
            {"{}", NULL, "nothing says which"},
        };
        make_volta();
        assert_refused(VOLTA "/bin/lost", NULL, EXIT_NOT_FOUND, "nothing says which");
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file(VOLTA "/tools/user/bins/server.json", cases[i].text, 0644);
                if (cases[i].program)
                        assert_starts(VOLTA "/bin/server", NULL, cases[i].program,
                                      IMAGE "/node/18.0.0/bin/node");
                else
                        assert_refused(VOLTA "/bin/server", NULL, EXIT_NOT_FOUND, cases[i].problem);
        }
        /* The package is a name, also where a path would lead to a program. */
        make_programs(LIST(IMAGE "/bin/server"));
        tree_make_file(VOLTA "/tools/user/bins/server.json",
                       "{\"package\": \"..\", \"platform\": {\"node\": \"18.0.0\"}}", 0644);
        assert_refused(VOLTA "/bin/server", NULL, EXIT_NOT_FOUND, "nothing says which");
        tree_make_file(VOLTA "/tools/user/bins/plain.json",
                       "{\"package\": \"plain\", \"platform\": {\"node\": \"20.1.0\"}}", 0644);
        assert_starts(VOLTA "/bin/plain", NULL, IMAGE "/packages/plain/bin/plain",
                      IMAGE "/node/20.1.0/bin/node");
}

/* ---- mise ---- */

#define MISE "T/home/.local/share/mise"

static void make_mise(void)
{
        make_programs(LIST("T/home/.local/bin/mise", MISE "/installs/node/20.1.0/bin/node",
                           MISE "/installs/node/22.3.0/bin/node", MISE "/installs/ruby/3.0/bin/ruby",
                           MISE "/installs/a/1/bin/both", MISE "/installs/b/2/bin/both",
                           MISE "/installs/go/1.0/bin/go", MISE "/installs/go/1.1/bin/go"));
        tree_make_link(MISE "/installs/node/20", "./20.1.0");
        tree_make_link(MISE "/installs/node/latest", "./22.3.0");
        static const char *const names[] = {"node", "ruby", "both", "go", "none"};
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *shim = str_format(MISE "/shims/%s", names[i]);
                tree_make_link(shim, "T/home/.local/bin/mise");
        }
}

static void test_mise(void **state)
{
        (void)state;
        static const struct {
                const char *file, *text;
        } cases[] = {
            {"mise.toml", "[env]\nnode = \"22\"\n[tools]\nnode = \"20\"\n"},
            {".mise.toml", "[tools]\n\"node\" = [\"20.1.0\", \"22\"]\n"},
            {"mise/config.toml", "[tools]\nnode = \"20\"\n"},
            {".config/mise/config.toml", "[tools]\nnode = {version = '20'}\n"},
            {"mise.local.toml", "[tools.node]\nversion = \"20\"\n"},
            {".tool-versions", "node 20\n"},
            {".tool-versions", "nodejs 20\n"},
        };
        make_mise();
        /* Nothing names a version: `latest`, or the only one. */
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/latest/bin/node", NULL);
        assert_starts(MISE "/shims/ruby", NULL, MISE "/installs/ruby/3.0/bin/ruby", NULL);
        assert_refused(MISE "/shims/go", NULL, EXIT_NOT_FOUND,
                       "shim of mise, and nothing says which version");
        assert_refused(MISE "/shims/none", NULL, EXIT_NOT_FOUND, "nothing says which version");
        for (size_t i = 0; i < COUNT(cases); i++) {
                autofree char *file = str_format("T/caller/%s", cases[i].file);
                tree_make_file(file, cases[i].text, 0644);
                struct shim shim;
                struct error error;
                assert_true(follow(MISE "/shims/node", NULL, &shim, &error));
                assert_non_null(strstr(shim.program, "/node/20"));
                free(shim.program);
                tree_remove_file(file);
        }
        tree_make_file("T/home/.config/mise/config.toml", "[tools]\nnode = \"20\"\n", 0644);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/20/bin/node", NULL);
        tree_make_file("T/conf/mise/config.toml", "[tools]\nnode = \"22.3.0\"\n", 0644);
        autofree char *moved = tree_path("T/conf");
        assert_int_equal(setenv("XDG_CONFIG_HOME", moved, 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/22.3.0/bin/node", NULL);
        assert_int_equal(setenv("XDG_CONFIG_HOME", "conf", 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/20/bin/node", NULL);
        assert_int_equal(setenv("MISE_NODE_VERSION", "22.3.0", 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/22.3.0/bin/node", NULL);
        unsetenv("MISE_NODE_VERSION");
        /* The project's file comes before the user's, and mise's own name before asdf's. */
        tree_make_file("T/caller/.tool-versions", "nodejs 20.1.0\n", 0644);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/20.1.0/bin/node", NULL);
        tree_make_file("T/.tool-versions", "node 22.3.0\n", 0644);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/22.3.0/bin/node", NULL);
        tree_make_file("T/caller/.tool-versions", "golang 1.0\n", 0644);
        assert_starts(MISE "/shims/go", NULL, MISE "/installs/go/1.0/bin/go", NULL);
        tree_make_link(MISE "/installs/go/latest", "./1.2");
        tree_make_file(MISE "/installs/go/1.2/x", "", 0644);
        tree_remove_file("T/caller/.tool-versions");
        assert_refused(MISE "/shims/go", NULL, EXIT_NOT_FOUND, MISE "/installs/go names (latest) has go");
        /* Of two tools with the program, the one that has a version; the only installed one is no choice. */
        assert_refused(MISE "/shims/both", NULL, EXIT_NOT_FOUND, "nothing says which version");
        tree_make_file("T/caller/.tool-versions", "b 2\n", 0644);
        assert_starts(MISE "/shims/both", NULL, MISE "/installs/b/2/bin/both", NULL);
}

static void test_mise_with_files_of_other_tools(void **state)
{
        (void)state;
        static const char setting[] = "MISE_IDIOMATIC_VERSION_FILE_ENABLE_TOOLS";
        make_mise();
        tree_make_file("T/caller/.nvmrc", "v20.1.0\n", 0644);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/latest/bin/node", NULL);
        assert_int_equal(setenv(setting, "python,node", 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/20.1.0/bin/node", NULL);
        assert_int_equal(setenv(setting, "python", 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/latest/bin/node", NULL);
        unsetenv(setting);
        tree_make_file(
            "T/home/.config/mise/config.toml",
            "[settings]\nidiomatic_version_file_enable_tools = [\"node\"]\n[tools]\nnode = \"22.3.0\"\n",
            0644);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/20.1.0/bin/node", NULL);
        /* The variable replaces the setting. */
        assert_int_equal(setenv(setting, "python", 1), 0);
        assert_starts(MISE "/shims/node", NULL, MISE "/installs/node/22.3.0/bin/node", NULL);
}

/* ---- what is not a shim, and who may choose ---- */

static void test_snap(void **state)
{
        (void)state;
        tree_make_link("T/snap/node", "/usr/bin/snap");
        assert_refused("T/snap/node", NULL, EXIT_NOT_EXECUTABLE, "T/snap/node belongs to snap");
        assert_refused("T/snap/node", NULL, EXIT_NOT_EXECUTABLE, "install node from");
}

static void test_other_files(void **state)
{
        (void)state;
        make_pyenv();
        make_volta();
        make_mise();
        /* The same text and the same links, in other places. */
        tree_make_file("T/home/.pyenv/other/python3",
                       "#!/bin/sh\nexec \"T/libexec/pyenv\" exec \"$program\"\n", 0755);
        tree_make_file("T/home/.pyenv/shims/plain", "#!/bin/sh\nexec pyenv\n", 0755);
        tree_make_file("T/home/.pyenv/shims/text", "exec \"T/libexec/pyenv\" exec \"$program\"\n", 0755);
        tree_make_link("T/home/.volta/other/node", "../bin/volta-shim");
        tree_make_link("T/home/.volta/bin/other", "../bin/node");
        tree_make_link(MISE "/other/node", "T/home/.local/bin/mise");
        tree_make_link(MISE "/shims/other", "T/home/.local/bin/other");
        static const char *const files[] = {
            "T/home/.pyenv/other/python3", "T/home/.pyenv/shims/plain", "T/home/.pyenv/shims/text",
            "T/home/.volta/other/node",    "T/home/.volta/bin/other",   MISE "/other/node",
            MISE "/shims/other",           "T/other/python3",           "T/none/x"};
        for (size_t i = 0; i < COUNT(files); i++)
                assert_starts(files[i], NULL, NULL, NULL);
}

/* Whoever may have written a file does not choose with it. */
static void test_writable_files_do_not_choose(void **state)
{
        (void)state;
        struct box box = {0};
        make_pyenv();
        make_volta();
        tree_make_file(PYENV "/version", "3.11.9\n", 0644);
        tree_make_file("T/caller/.python-version", "3.12.1\n", 0644);
        tree_make_file("T/caller/package.json", "{\"volta\": {\"node\": \"18.0.0\"}}", 0644);
        assert_starts(PYENV "/shims/python3", &box, PYENV "/versions/3.12.1/bin/python3", NULL);
        tree_add_grant(&box, "T/caller", true, "--rw");
        assert_refused(PYENV "/shims/python3", &box, EXIT_SETUP,
                       "T/caller/.python-version, which chooses what it starts");
        assert_refused(VOLTA "/bin/node", &box, EXIT_SETUP,
                       "T/caller/package.json, which chooses what it starts");
        assert_refused(VOLTA "/bin/yarn", &box, EXIT_SETUP,
                       "T/caller/package.json, which chooses what it starts");
        /* A file that names no version chooses nothing. */
        tree_make_file("T/caller/.python-version", "# none\n", 0644);
        assert_starts(PYENV "/shims/python3", &box, PYENV "/versions/3.11.9/bin/python3", NULL);
        tree_make_file("T/caller/package.json", "{}", 0644);
        assert_starts(VOLTA "/bin/node", &box, IMAGE "/node/20.1.0/bin/node", NULL);
        /* Nor does a shim that the command may have written, or a file behind a link into what it may write.
         */
        tree_remove_file("T/caller/.python-version");
        tree_make_file("T/caller/real", "3.12.1\n", 0644);
        tree_make_link("T/.python-version", "caller/real");
        assert_refused(PYENV "/shims/python3", &box, EXIT_SETUP,
                       "/.python-version, which chooses what it starts");
        box_free(&box);
        tree_add_grant(&box, PYENV "/shims", true, "--rw");
        assert_starts(PYENV "/shims/python3", &box, NULL, NULL);
        box_free(&box);
        tree_add_grant(&box, VOLTA "/tools/user", true, "--rw");
        assert_refused(VOLTA "/bin/pnpm", &box, EXIT_SETUP, "platform.json, which chooses what it starts");
        tree_make_file(VOLTA "/tools/user/bins/server.json",
                       "{\"package\": \"@s/server\", \"platform\": {\"node\": \"18.0.0\"}}", 0644);
        assert_refused(VOLTA "/bin/server", &box, EXIT_SETUP, "server.json, which chooses what it starts");
        box_free(&box);
}

static void test_writable_settings_do_not_choose(void **state)
{
        (void)state;
        struct box box = {0};
        make_asdf();
        make_mise();
        make_pyenv();
        tree_make_file("T/home/conf/asdfrc", "legacy_version_file = yes\n", 0644);
        tree_make_file(
            "T/home/conf/mise/config.toml",
            "[settings]\nidiomatic_version_file_enable_tools = [\"node\"]\n[tools]\nruby = \"3.0\"\n", 0644);
        autofree char *asdf = tree_path("T/home/conf/asdfrc"), *mise = tree_path("T/home/conf");
        assert_int_equal(setenv("ASDF_CONFIG_FILE", asdf, 1), 0);
        assert_int_equal(setenv("XDG_CONFIG_HOME", mise, 1), 0);
        tree_add_grant(&box, "T/home/conf", true, "--rw");
        assert_refused(ASDF "/shims/node", &box, EXIT_SETUP, "T/home/conf/asdfrc, which chooses");
        assert_refused(MISE "/shims/node", &box, EXIT_SETUP, "T/home/conf/mise/config.toml, which chooses");
        tree_make_file("T/home/conf/mise/config.toml", "[tools]\nruby = \"3.0\"\n", 0644);
        assert_refused(MISE "/shims/ruby", &box, EXIT_SETUP, "T/home/conf/mise/config.toml, which chooses");
        unsetenv("ASDF_CONFIG_FILE");
        unsetenv("XDG_CONFIG_HOME");
        /* The other files that asdf and mise read. */
        tree_make_file("T/caller/.tool-versions", "nodejs 20.1.0\nnode 20.1.0\n", 0644);
        tree_add_grant(&box, "T/caller", true, "--rw");
        assert_refused(ASDF "/shims/node", &box, EXIT_SETUP, "T/caller/.tool-versions, which chooses");
        assert_refused(MISE "/shims/node", &box, EXIT_SETUP, "T/caller/.tool-versions, which chooses");
        tree_make_file("T/caller/.tool-versions", "nodejs 20.1.0\n", 0644);
        assert_refused(MISE "/shims/node", &box, EXIT_SETUP, "T/caller/.tool-versions, which chooses");
        tree_remove_file("T/caller/.tool-versions");
        tree_remove_file("T/home/.tool-versions");
        tree_make_link("T/home/.tool-versions", "../caller/versions");
        tree_make_file("T/caller/versions", "nodejs 20.1.0\n", 0644);
        assert_refused(ASDF "/shims/node", &box, EXIT_SETUP, "T/home/.tool-versions, which chooses");
        tree_make_link(PYENV "/version", "../../caller/python");
        tree_make_file("T/caller/python", "3.12.1\n", 0644);
        assert_refused(PYENV "/shims/python3", &box, EXIT_SETUP, "/.pyenv/version, which chooses");
        /* A shim that is a link's target in a writable place says nothing. */
        tree_make_file("T/caller/shim", "#!/bin/sh\nexec \"T/libexec/pyenv\" exec \"$program\"\n", 0755);
        tree_make_link(PYENV "/shims/sly", "T/caller/shim");
        assert_starts(PYENV "/shims/sly", &box, NULL, NULL);
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_pyenv),
            TEST(test_system_version),
            TEST(test_asdf),
            TEST(test_asdf_with_files_of_other_tools),
            TEST(test_volta),
            TEST(test_packages_of_volta),
            TEST(test_mise),
            TEST(test_mise_with_files_of_other_tools),
            TEST(test_snap),
            TEST(test_other_files),
            TEST(test_writable_files_do_not_choose),
            TEST(test_writable_settings_do_not_choose),
        };
        return cmocka_run_group_tests_name("shims", tests, NULL, NULL);
}
