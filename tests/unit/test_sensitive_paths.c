/* SPDX-License-Identifier: Apache-2.0
 *
 * Which paths void the sandbox: of the machine, of a home, through links, and where they are only written.
 */
#include "grants/sensitive_paths.h"
#include "grants_rig.h"
#include "lib/homes.h"

static void expect_reason(const char *path, const char *home, bool writable, const char *part)
{
        const char *reason = sensitive_path_reason(path, home, writable);
        if (part ? !reason || !strstr(reason, part) : reason != NULL)
                fail_msg("%s%s: %s", path, writable ? " (writable)" : "", reason ? reason : "nothing");
}

static void test_the_machine(void **state)
{
        (void)state;
        static const struct {
                const char *path, *read, *written;
        } cases[] = {
            {"/", "whole file system", "whole file system"},
            {"/tmp", "every program", "every program"},
            {"/tmp/x", NULL, NULL},
            {"/tmp/.X11-unix", "display", "display"},
            {"/tmp/.X11-unix/X0", "display", "display"},
            {"/run", "sockets", "sockets"},
            {"/run/user/1000", "sockets", "sockets"},
            {"/runner", NULL, NULL},
            {"/run/media", "sockets", "sockets"},
            {"/run/media/user", "sockets", "sockets"},
            {"/run/media/user/disk", NULL, NULL},
            {"/run/mediaserver/user/disk", "sockets", "sockets"},
            {"/var", "sockets", "sockets"}, /* holds /var/run */
            {"/etc", "password hashes", "password hashes"},
            {"/etc/shadow", "password hashes", "password hashes"},
            {"/etc/hosts", NULL, "configures the machine"},
            {"/usr/lib/x", NULL, "the machine runs"},
            {"/usrx", NULL, NULL},
            {"/srv/project/.mcp.json", NULL, "MCP client"},
            {"/srv/project/.vscode/mcp.json", NULL, "MCP client"},
            {"/srv/project/x.mcp.json", NULL, NULL},
            {"/.zed", NULL, "MCP client"},
            {"/zed", NULL, NULL},
            {"/srv", NULL, NULL},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                expect_reason(cases[i].path, "", false, cases[i].read);
                expect_reason(cases[i].path, "", true, cases[i].written);
        }
}

static void test_a_home(void **state)
{
        (void)state;
        static const struct {
                const char *path, *read, *written;
        } cases[] = {
            {"/home/u", "home directory", "home directory"},
            {"/home", "home directory", "home directory"},
            {"/home/user2", NULL, NULL},
            {"/home/u/project", NULL, NULL},
            {"/home/u/.ssh", "keys", "keys"},
            {"/home/u/.ssh/id", "keys", "keys"},
            {"/home/u/.sshx", NULL, NULL},
            {"/home/u/.config", "credentials", "outside the sandbox"}, /* holds .config/gcloud */
            {"/home/u/.config/other", NULL, NULL},
            {"/home/u/.bashrc", NULL, "runs outside the sandbox"},
            {"/home/u/.local/bin/x", NULL, "runs outside the sandbox"},
            {"/home/u/.vscode", NULL, "MCP client"},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                expect_reason(cases[i].path, "/home/u", false, cases[i].read);
                expect_reason(cases[i].path, "/home/u", true, cases[i].written);
        }
        /* Another home has its own places. */
        expect_reason("/home/v/.ssh", "/home/u", false, NULL);
        expect_reason("/home/v/.ssh", "/home/v", false, "keys");
}

static void test_places_that_are_links(void **state)
{
        (void)state;
        autofree char *home = str_copy(at("linked"));
        make_directory("dotfiles/ssh");
        make_directory("dotfiles/config/gh");
        make_directory("dotfiles/bin");
        make_directory("linked/.local");
        make_link("linked/.ssh", "../dotfiles/ssh");
        make_link("linked/.config", at("dotfiles/config"));
        make_link("linked/.local/bin", "../../dotfiles/bin");
        make_link("linked/.aws", "../dotfiles/aws"); /* not there yet */
        make_link("linked/.kube", ".kube");          /* nowhere */
        expect_reason(at("dotfiles/ssh"), home, false, "keys");
        expect_reason(at("dotfiles/ssh/id"), home, false, "keys");
        expect_reason(at("dotfiles/config/gh"), home, false, "access token");
        expect_reason(at("dotfiles/config/rclone"), home, false, "credentials");
        expect_reason(at("dotfiles/config/other"), home, false, NULL);
        expect_reason(at("dotfiles/aws/x"), home, false, "credentials");
        expect_reason(at("dotfiles/other"), home, true, NULL);
        expect_reason(at("dotfiles/bin"), home, true, "runs outside the sandbox");
        expect_reason(at("dotfiles/bin"), home, false, NULL);
        expect_reason(at("linked/.ssh"), home, false, "keys");
        expect_reason(at("linked/.kube"), home, false, "credentials");
}

static void test_hutchs_own_state_where_it_was_moved(void **state)
{
        (void)state;
        static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                                "XDG_CONFIG_HOME"};
        make_directory("store");
        make_link("moved", "store");
        for (size_t i = 0; i < COUNT(variables); i++) {
                expect_reason(at("moved/hutch"), "", false, NULL);
                assert_int_equal(setenv(variables[i], at("moved"), 1), 0);
                expect_reason(at("moved/hutch"), "", false, "own state");
                expect_reason(at("store/hutch/x"), "", false, "own state");
                expect_reason(at("store"), "", false, "own state");
                expect_reason(at("store/other"), "", false, NULL);
                assert_int_equal(setenv(variables[i], "moved", 1), 0); /* not absolute: not used */
                expect_reason(at("moved/hutch"), "", false, NULL);
                assert_int_equal(unsetenv(variables[i]), 0);
        }
        expect_reason("/home/u/.local/state/hutch", "/home/u", false, "own state");
}

static void test_every_home_of_the_caller(void **state)
{
        (void)state;
        const struct caller_homes *homes = caller_homes();
        assert_string_equal(homes->spelled, at("home"));
        assert_true(homes->real.count > 0);
        for (size_t i = 0; i < homes->real.count; i++) {
                autofree char *keys = path_join(homes->real.values[i], ".ssh/id");
                const char *reason = sensitive_path_any_home(keys, false);
                assert_non_null(reason);
        }
        assert_string_equal(sensitive_path_any_home(at("home/.ssh"), false), "it holds keys");
        assert_null(sensitive_path_any_home(at("home/.bashrc"), false));
        assert_non_null(sensitive_path_any_home(at("home/.bashrc"), true));
        assert_null(sensitive_path_any_home(at("project"), true));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_the_machine),
            rig_test(test_a_home),
            rig_test(test_places_that_are_links),
            rig_test(test_hutchs_own_state_where_it_was_moved),
            rig_test(test_every_home_of_the_caller),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
