/* SPDX-License-Identifier: Apache-2.0
 *
 * Which places are installed, and what of them is granted: by the table, never by what they look like.
 */
#include "command/installations.h"

#include "tree_rig.h"

#include <stdlib.h>
#include <sys/stat.h>

/* What is granted because of `path`; nothing when it is not installed. */
static void assert_shown(const struct resolver *resolver, const char *path, const char *const *wanted)
{
        struct grant_list grants = {0};
        struct str_list found = {0};
        autofree char *place = tree_path(path);
        bool is_installed = installation_add(resolver, place, "why", &grants);
        assert_int_equal(installation_add(resolver, place, "why", NULL), is_installed);
        assert_int_equal(grants.count > 0, is_installed);
        for (size_t i = 0; i < grants.count; i++)
                str_list_add(&found, grants.values[i].path);
        assert_list(&found, wanted);
        str_list_free(&found);
        grant_list_free(&grants);
}

static void test_places(void **state)
{
        (void)state;
        static const char *const installed[][3] = {
            {"T/home/.nvm/versions/node/v20", "bin", "lib"},
            {"T/home/.local/share/fnm/node-versions/v20/installation", "bin", "include"},
            {"T/home/.volta/tools/image/node/20.1.0", "bin", "lib"},
            {"T/home/.volta/tools/image/packages/tool", "bin", "lib"},
            {"T/home/.volta/tools/image/packages/@scope/tool", "bin", "lib"},
            {"T/home/.asdf/installs/nodejs/20", "bin", "share"},
            {"T/home/.local/share/mise/installs/python/3.12", "bin", "lib"},
            {"T/home/.pyenv/versions/3.12", "bin", "lib"},
            {"T/home/.rbenv/versions/3.3", "bin", "lib"},
            {"T/home/.local/share/uv/python/cpython-3.12", "bin", "lib"},
            {"T/home/.local/share/uv/tools/tool", "lib", "pyvenv.cfg"},
            {"T/home/.local/share/pipx/venvs/tool", "lib", "pyvenv.cfg"},
            {"T/home/.npm-global", "bin", "lib/node_modules"},
            {"T/home/.rustup/toolchains/stable", "bin", "lib"},
            {"T/home/.linuxbrew", "Cellar", "opt"},
            {"T/home/miniconda3", "bin", "lib"},
        };
        for (size_t i = 0; i < COUNT(installed); i++) {
                const char *root = installed[i][0];
                const char *const private[] = {"etc/x", "var/x", "envs/x", ".git/x", ".env"};
                autofree char *first = str_format("%s/%s", root, installed[i][1]);
                autofree char *second = str_format("%s/%s", root, installed[i][2]);
                autofree char *first_file = str_format("%s/x", first);
                autofree char *second_file = str_format("%s%s", second, strchr(second + 3, '.') ? "" : "/x");
                bool is_file = str_equal(path_base(second), "pyvenv.cfg");
                tree_make_file(first_file, "", 0755);
                tree_make_file(is_file ? second : second_file, "", 0644);
                for (size_t j = 0; j < COUNT(private); j++) {
                        autofree char *path = str_format("%s/%s", root, private[j]);
                        tree_make_file(path, "", 0600);
                }
                assert_shown(tree_resolver(NULL), first_file, LIST(first, second));
                assert_shown(tree_resolver(NULL), first, LIST(first, second));
                for (size_t j = 0; j < COUNT(private); j++) {
                        autofree char *path = str_format("%s/%s", root, private[j]);
                        assert_shown(tree_resolver(NULL), path, LIST());
                }
                assert_shown(tree_resolver(NULL), root, LIST());
        }
}

/* Neither a whole runtime nor a similar name makes an installation. */
static void test_what_is_none(void **state)
{
        (void)state;
        static const char *const paths[] = {
            "T/tools/bin/python3",          "T/home/code/.nvm/versions/node/v20/bin/node",
            "T/home/.nvm/bin/node",         "T/home/.nvm/versions/node/bin",
            "T/home/.nvmx/versions/node/v", "T/home/.pyenv/version",
            "T/home/.cargo/registry/x",     "T/home/.local/lib/x",
            "T/home/.npm-global/lib/x",     "T/home/.pyenv/versions/3.12/binx/y",
        };
        tree_make_file("T/tools/lib/python3.12/os.py", "", 0644);
        for (size_t i = 0; i < COUNT(paths); i++) {
                tree_make_file(paths[i], "", 0755);
                assert_shown(tree_resolver(NULL), paths[i], LIST());
        }
        assert_shown(tree_resolver(NULL), "T/home/.pyenv/versions/none/bin/x", LIST());
}

static void test_variables(void **state)
{
        (void)state;
        tree_make_file("T/data/pyenv/versions/3/bin/python3", "", 0755);
        tree_make_file("T/data/npm/bin/tool", "", 0755);
        autofree char *root = tree_path("T/data/pyenv"), *prefix = tree_path("T/data/npm");
        assert_shown(tree_resolver(NULL), "T/data/pyenv/versions/3/bin/python3", LIST());
        setenv("PYENV_ROOT", root, 1);
        setenv("NPM_CONFIG_PREFIX", prefix, 1);
        assert_shown(tree_resolver(NULL), "T/data/pyenv/versions/3/bin/python3",
                     LIST("T/data/pyenv/versions/3/bin"));
        assert_shown(tree_resolver(NULL), "T/data/npm/bin/tool", LIST("T/data/npm/bin"));
        /* A relative value names nothing. */
        setenv("PYENV_ROOT", root + 1, 1);
        assert_shown(tree_resolver(NULL), "T/data/pyenv/versions/3/bin/python3", LIST());
        unsetenv("PYENV_ROOT");
        unsetenv("NPM_CONFIG_PREFIX");
}

static void test_links(void **state)
{
        (void)state;
        /* The manager's directory may be elsewhere; what links out of a version is not the version's. */
        tree_make_file("T/disk/pyenv/versions/3/bin/python3", "", 0755);
        tree_make_file("T/disk/pyenv/versions/3/lib/x", "", 0755);
        tree_make_link("T/disk/pyenv/versions/3/lib64", "lib");
        tree_make_file("T/private/x", "", 0644);
        tree_make_link("T/disk/pyenv/versions/3/share", "T/private");
        tree_make_link("T/home/.pyenv", "../disk/pyenv");
        static const char *const shown[] = {"T/disk/pyenv/versions/3/bin", "T/disk/pyenv/versions/3/lib",
                                            "T/disk/pyenv/versions/3/lib64", NULL};
        assert_shown(tree_resolver(NULL), "T/disk/pyenv/versions/3/bin/python3", shown);
        assert_shown(tree_resolver(NULL), "T/private/x", LIST());
        assert_shown(tree_resolver(NULL), "T/disk/pyenv/versions/3/share/x", LIST());
        /* One that everybody may write is nobody's installation. */
        tree_set_mode("T/disk/pyenv/versions/3/lib", 0777);
        assert_shown(tree_resolver(NULL), "T/disk/pyenv/versions/3/bin/python3",
                     LIST("T/disk/pyenv/versions/3/bin"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_places),
            TREE_TEST(test_what_is_none),
            TREE_TEST(test_variables),
            TREE_TEST(test_links),
        };
        return cmocka_run_group_tests_name("installations", tests, NULL, NULL);
}
