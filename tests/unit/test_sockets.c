/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding sockets: which are in use, how far a search goes, and at which places the grants show an object.
 */
#include "grants/mountinfo.h"
#include "grants/socket_walk.h"
#include "lib/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

static char directory[] = "/tmp/hutch-test-sockets-XXXXXX";

static int make_directory(void **state)
{
        (void)state;
        return mkdtemp(directory) && chdir(directory) == 0 && mkdir("sub", 0700) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
        (void)state;
        (void)unlink("used");
        (void)unlink("sub/left");
        (void)unlink("sub/used");
        return rmdir("sub") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static int bind_socket(const char *name, int type)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
        assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof(address)), 0);
        return made;
}

static void test_what_is_in_use_is_found_nearest_first(void **state)
{
        (void)state;
        struct str_list found = {0}, closed = {0};
        size_t budget = 100;
        autoclose int near = bind_socket("used", SOCK_DGRAM);
        autoclose int deep = bind_socket("sub/used", SOCK_STREAM);
        close(bind_socket("sub/left", SOCK_STREAM));
        autofree char *first = str_format("%s/used", directory),
                      *second = str_format("%s/sub/used", directory);
        assert_true(socket_walk(directory, &closed, &budget, &found));
        assert_int_equal(found.count, 2);
        assert_string_equal(found.values[0], first);
        assert_string_equal(found.values[1], second);
        assert_int_equal(budget, 96);
        str_list_free(&found);
        budget = 2;
        assert_false(socket_walk(directory, &closed, &budget, &found));
        assert_int_equal(budget, 0);
        assert_false(socket_walk(directory, &closed, &budget, &found));
        str_list_free(&found);
        str_list_take(&closed, str_format("%s/sub", directory));
        budget = 100;
        assert_true(socket_walk(directory, &closed, &budget, &found));
        assert_int_equal(found.count, 1);
        str_list_free(&found);
        str_list_free(&closed);
}

static void assert_paths(const struct mountinfo *regions, const char *real, const char *first,
                         const char *second)
{
        struct str_list paths = {0};
        mountinfo_find(regions, real, &paths);
        assert_int_equal(paths.count, !!first + !!second);
        if (first)
                assert_string_equal(paths.values[0], first);
        if (second)
                assert_string_equal(paths.values[1], second);
        str_list_free(&paths);
}

/* A subvolume at /home, and a directory of the root file system that has a second place. */
static void test_an_object_is_found_at_all_its_places(void **state)
{
        (void)state;
        struct mountinfo_part mounts[] = {
            {.device = 1, .base = "/", .path = "/"},
            {.device = 1, .base = "/@home", .path = "/home"},
            {.device = 1, .base = "/srv/data", .path = "/mnt"},
            {.device = 2, .base = "/", .path = "/srv/data/other"},
        };
        struct mountinfo_part grants[] = {
            {.device = 1, .base = "/srv/data", .path = "/srv/data"},
            {.device = 2, .base = "/", .path = "/srv/data/other"},
            {.device = 1, .base = "/srv/data/sub", .path = "/mnt/sub"},
        };
        const struct mountinfo regions = {
            .mounts = mounts, .mount_count = 4, .grants = grants, .grant_count = 3};
        assert_true(mountinfo_have_device(&regions, 2));
        assert_false(mountinfo_have_device(&regions, 3));
        assert_paths(&regions, "/srv/data/sub/s", "/srv/data/sub/s", "/mnt/sub/s");
        assert_paths(&regions, "/mnt/s", "/srv/data/s", NULL);
        assert_paths(&regions, "/srv/data/other/s", "/srv/data/other/s", NULL);
        assert_paths(&regions, "/srv/data/other", "/srv/data/other", NULL);
        assert_paths(&regions, "/home/srv/data/s", NULL, NULL);
        assert_paths(&regions, "/srv/database/s", NULL, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_what_is_in_use_is_found_nearest_first),
            cmocka_unit_test(test_an_object_is_found_at_all_its_places),
        };
        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
