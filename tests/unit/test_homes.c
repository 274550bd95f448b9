/* SPDX-License-Identifier: Apache-2.0
 *
 * The homes of the caller: what $HOME says, and what /etc/passwd says besides. They are read once, so that
 * each case is a process.
 */
#include "lib/fd.h"
#include "lib/homes.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/wait.h>

#include "unit.h"

static void in_child(void (*check)(void), const char *home)
{
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
                if (home ? setenv("HOME", home, 1) : unsetenv("HOME"))
                        _exit(1);
                check();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check(bool passed)
{
        if (!passed)
                _exit(1);
}

static bool is_real(const char *path)
{
        return str_list_has(&caller_homes()->real, path);
}

/* The home that the system's own reader of /etc/passwd finds, or NULL. */
static const char *database_home(uid_t id)
{
        FILE *file = fopen("/etc/passwd", "re");
        for (struct passwd *entry; file && (entry = fgetpwent(file));)
                if (entry->pw_uid == id) {
                        fclose(file);
                        return entry->pw_dir;
                }
        if (file)
                fclose(file);
        return NULL;
}

static void check_database(void)
{
        const char *home = database_home(geteuid());
        autofree char *real = home ? realpath(home, NULL) : NULL;
        if (real && real[1])
                check(is_real(real));
        if (geteuid() != 0)
                return;
        FILE *file = fopen("/etc/passwd", "re");
        for (struct passwd *entry; file && (entry = fgetpwent(file));) {
                autofree char *other = realpath(entry->pw_dir, NULL);
                if (other && other[1] && entry->pw_uid >= 1000)
                        check(is_real(other));
        }
        if (file)
                fclose(file);
}

static void check_variable(void)
{
        check(str_equal(caller_homes()->spelled, "/usr/lib"));
        autofree char *real = realpath("/usr/lib", NULL);
        check(is_real(real));
        check(caller_homes() == caller_homes());
        check_database();
}

static void check_fallback(void)
{
        const char *home = database_home(geteuid());
        check(str_equal(caller_homes()->spelled, home ? home : ""));
        check_database();
}

static void check_root_directory(void)
{
        check(str_equal(caller_homes()->spelled, "/"));
        check(!is_real("/"));
}

static void check_missing(void)
{
        check(str_equal(caller_homes()->spelled, "/none/of/this"));
        check(!is_real("/none/of/this"));
        for (size_t i = 0; i < caller_homes()->real.count; i++)
                check(!str_equal(caller_homes()->real.values[i], "/usr/sbin")); /* a system account's home */
}

static void test_the_variable_and_the_database(void **state)
{
        (void)state;
        in_child(check_variable, "/usr/bin/../lib");
        in_child(check_fallback, NULL);
        in_child(check_fallback, "relative");
        in_child(check_root_directory, "/");
        in_child(check_missing, "/none/of/this");
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_variable_and_the_database)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
