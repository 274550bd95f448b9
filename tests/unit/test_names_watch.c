/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a file, and of a link that leads to it, are noticed, in a made tree; and what a look at the
 * files concludes.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/landlock.h"
#include "run/names_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "machine_rig.h"
#include "unit.h"

static char *path_of(const char *name)
{
        return str_format("%s/%s", machine_directory, name);
}

static struct names_watch watched;

static void begin(const char *name)
{
        autofree char *path = path_of(name);
        watched = (struct names_watch){.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
        assert_true(watched.inotify >= 0);
        names_watch_add(&watched, path);
}

/* Whether something was noticed since the watches were made. */
static bool noticed(void)
{
        char events[4096];
        bool any = read(watched.inotify, events, sizeof(events)) > 0;
        names_watch_end(&watched);
        return any;
}

static void make_link(const char *target, const char *name)
{
        autofree char *path = path_of(name);
        (void)unlink(path);
        assert_int_equal(symlink(target, path), 0);
}

static void rename_over(const char *from, const char *to)
{
        autofree char *source = path_of(from);
        autofree char *target = path_of(to);
        assert_int_equal(rename(source, target), 0);
}

static void test_a_file(void **state)
{
        (void)state;
        machine_make_file("/etc/resolv.conf", "a\n");
        begin("etc/resolv.conf");
        assert_false(noticed());
        begin("etc/resolv.conf");
        machine_make_file("/etc/resolv.conf", "b\n");
        assert_true(noticed());
        begin("etc/resolv.conf");
        machine_make_file("/etc/new", "c\n");
        rename_over("etc/new", "etc/resolv.conf");
        assert_true(noticed());
        begin("etc/resolv.conf");
        machine_make_file("/elsewhere", "");
        assert_false(noticed());
}

static void test_a_file_that_is_missing(void **state)
{
        (void)state;
        machine_make_file("/etc/hosts", "");
        begin("etc/resolv.conf");
        machine_make_file("/etc/resolv.conf", "a\n");
        assert_true(noticed());
        begin("etc/resolv.conf");
        assert_int_equal(names_watch_next_look(&watched), -1);
        names_watch_end(&watched);
        begin("run/deep/resolv.conf"); /* nothing reports that its directory appears */
        assert_int_equal(names_watch_next_look(&watched), NAMES_MISSING_MS);
        names_watch_end(&watched);
}

/* etc/resolv.conf → ../run/stub → by/name → run/by/name */
static void make_chain(void)
{
        machine_make_file("/etc/.keep", "");
        machine_make_file("/run/by/name", "a\n");
        make_link("../run/stub", "etc/resolv.conf");
        make_link("by/name", "run/stub");
}

static void test_the_ends_of_a_chain(void **state)
{
        (void)state;
        make_chain();
        begin("etc/resolv.conf");
        assert_false(noticed());
        begin("etc/resolv.conf");
        make_link("/nowhere", "etc/resolv.conf");
        assert_true(noticed());
        make_chain();
        begin("etc/resolv.conf");
        machine_make_file("/run/by/name", "b\n");
        assert_true(noticed());
        begin("etc/resolv.conf");
        machine_make_file("/run/by/new", "c\n");
        rename_over("run/by/new", "run/by/name");
        assert_true(noticed());
}

static void test_absolute_links(void **state)
{
        (void)state;
        autofree char *target = path_of("run/name");
        machine_make_file("/run/name", "a\n");
        machine_make_file("/etc/.keep", "");
        make_link(target, "etc/resolv.conf");
        begin("etc/resolv.conf");
        machine_make_file("/run/name", "b\n");
        assert_true(noticed());
        /* A directory on the way may be a link. */
        autofree char *directory = path_of("run");
        make_link(directory, "var");
        begin("var/name");
        machine_make_file("/run/name", "c\n");
        assert_true(noticed());
}

static void test_a_circle_of_links(void **state)
{
        (void)state;
        make_link("b", "a");
        make_link("a", "b");
        begin("a"); /* ends */
        make_link("c", "b");
        assert_true(noticed());
        for (int i = 0; i < 45; i++) { /* longer than the kernel follows */
                autofree char *name = str_format("l%d", i);
                autofree char *target = str_format("l%d", i + 1);
                make_link(target, name);
        }
        machine_make_file("/l45", "a\n");
        begin("l0");
        machine_make_file("/l45", "b\n");
        assert_false(noticed());
}

/* ---- reading ---- */

static struct names_watch looking;

/* Whether a look at this resolv.conf changes what is known. */
static bool look(const char *resolv_conf)
{
        static const struct network network;
        autofree char *file = path_of("resolv.conf");
        autofree char *hosts = path_of("hosts");
        machine_make_file("/resolv.conf", resolv_conf);
        return names_watch_look(&looking, file, hosts, &network, -1);
}

/* A configuration that has no name server any more is believed on the second look. */
static void test_losing_the_last_name_server(void **state)
{
        (void)state;
        looking = (struct names_watch){.inotify = -1, .told = str_copy("")};
        assert_false(look("# none\n")); /* there was none before */
        assert_false(looking.doubted);
        assert_true(look("nameserver 1.1.1.1\n"));
        for (int round = 0; round < 2; round++) {
                assert_false(look("# none\n"));
                assert_true(looking.doubted);
                if (round == 0) { /* it came back */
                        assert_false(look("nameserver 1.1.1.1\n"));
                        assert_false(looking.doubted);
                }
        }
        assert_true(look("# none\n"));
        assert_false(looking.doubted);
        assert_string_equal(looking.told, "");
        assert_true(look("nameserver 9.9.9.9\n"));
        assert_string_equal(looking.told, "nameserver 9.9.9.9\n");
        names_watch_end(&looking);
        assert_null(looking.told);
}

/* Making the watches anew is no event, or else each look would ask for another one. */
static void test_watches_are_made_anew(void **state)
{
        (void)state;
        machine_make_file("/etc/resolv.conf", "a\n");
        begin("etc/resolv.conf");
        machine_make_file("/etc/resolv.conf", "b\n");
        names_watch_renew(&watched);
        assert_true(watched.count > 0);               /* of the host's own files */
        machine_make_file("/etc/resolv.conf", "c\n"); /* no longer watched */
        assert_false(noticed());
}

/* ---- what the supervisor may read ---- */

/* In a child, because it cannot be undone. */
static void test_files_out_of_reach_change_nothing(void **state)
{
        static const struct network network;
        (void)state;
        if (landlock_abi() == 0)
                skip();
        machine_make_file("/etc/resolv.conf", "nameserver 9.9.9.9\n");
        machine_make_file("/etc/hosts", "");
        machine_make_file("/run/resolv.conf", "nameserver 1.1.1.1\n");
        autofree char *directory = path_of("etc");
        autofree char *hosts = path_of("etc/hosts");
        autofree char *near = path_of("etc/resolv.conf");
        autofree char *far = path_of("run/resolv.conf");
        pid_t child = fork();
        if (child == 0) {
                const char *const directories[] = {directory, "/of/nobody"};
                struct names_watch watch = NAMES_WATCH_NONE;
                watch.told = str_copy("nameserver 8.8.8.8\n");
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    landlock_permit_reading(directories, COUNT(directories)) < 0)
                        _exit(2);
                if (open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 ||
                    open(near, O_WRONLY | O_CLOEXEC) >= 0)
                        _exit(3);
                if (names_watch_look(&watch, far, hosts, &network, -1) || watch.doubted ||
                    !str_equal(watch.told, "nameserver 8.8.8.8\n"))
                        _exit(4);
                _exit(names_watch_look(&watch, near, hosts, &network, -1) &&
                              str_equal(watch.told, "nameserver 9.9.9.9\n")
                          ? 0
                          : 5);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, machine_set_up, machine_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_a_file),
            MADE(test_a_file_that_is_missing),
            MADE(test_the_ends_of_a_chain),
            MADE(test_absolute_links),
            MADE(test_a_circle_of_links),
            MADE(test_losing_the_last_name_server),
            MADE(test_watches_are_made_anew),
            MADE(test_files_out_of_reach_change_nothing),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
