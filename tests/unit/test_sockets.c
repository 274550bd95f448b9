/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding sockets of other programs: which are in use, by the kernel's lists and by a search, and which of
 * them a grant hides.
 */
#include "grants/mounts.h"
#include "grants/socket_list.h"
#include "grants/socket_walk.h"
#include "grants/sockets.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static int bind_name(const char *name, int type)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
        assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof(address)), 0);
        return made;
}

static int bind_socket(const char *relative, int type)
{
        return bind_name(at(relative), type);
}

static void test_a_search_finds_what_is_in_use_nearest_first(void **state)
{
        (void)state;
        struct str_list found = {0}, closed = {0};
        size_t budget = 100;
        make_directory("w/sub");
        make_file("w/file", "");
        make_link("w/link", "sub");
        autoclose int near = bind_socket("w/used", SOCK_DGRAM);
        autoclose int deep = bind_socket("w/sub/used", SOCK_STREAM);
        autoclose int packets = bind_socket("w/sub/packets", SOCK_SEQPACKET);
        close(bind_socket("w/sub/left", SOCK_STREAM));
        assert_true(socket_walk(at("w"), &closed, &budget, &found));
        assert_int_equal(found.count, 3);
        assert_string_equal(found.values[0], at("w/used"));
        assert_true(str_list_has(&found, at("w/sub/used")) && str_list_has(&found, at("w/sub/packets")));
        assert_int_equal(budget, 93);
        str_list_free(&found);
        budget = 7;
        assert_false(
            socket_walk(at("w"), &closed, &budget, &found)); /* an end exactly at the bound counts as cut */
        assert_int_equal(budget, 0);
        assert_false(socket_walk(at("w"), &closed, &budget, &found));
        str_list_free(&found);
        str_list_add(&closed, at("w/sub"));
        budget = 100;
        assert_true(socket_walk(at("w"), &closed, &budget, &found));
        assert_int_equal(found.count, 1);
        assert_true(socket_walk(at("none"), &closed, &budget, &found));
        assert_true(socket_walk(at("w/link"), &closed, &budget, &found)); /* no link is followed */
        assert_int_equal(found.count, 1);
        str_list_free(&found);
        str_list_free(&closed);
}

struct wanted {
        const char *path;
        struct listed_socket socket; /* the last of that path */
        unsigned count, identified;
};

static void take(void *context, const struct listed_socket *socket)
{
        struct wanted *wanted = context;
        wanted->identified += socket->identified;
        if (!str_equal(socket->name, wanted->path))
                return;
        wanted->count++;
        wanted->socket = *socket;
}

static void test_the_list_of_this_namespace(void **state)
{
        (void)state;
        struct stat status;
        struct wanted wanted = {.path = at("socket")};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        autoclose int listener = bind_socket("socket", SOCK_STREAM);
        autoclose int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(listen(listener, 1), 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("socket"));
        assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
        autoclose int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(accepted >= 0);
        if (!socket_list_own(take, &wanted))
                skip();                    /* a kernel without CONFIG_UNIX_DIAG */
        assert_int_equal(wanted.count, 1); /* not the accepted end, which has the same name */
        assert_true(wanted.socket.identified);
        assert_int_equal(lstat(at("socket"), &status), 0);
        assert_int_equal(wanted.socket.inode, (uint32_t)status.st_ino);
        assert_int_equal(wanted.socket.device, major(status.st_dev) << 20 | minor(status.st_dev));
        /* A datagram socket takes messages while it is connected. */
        autoclose int first = bind_socket("first", SOCK_DGRAM), second = bind_socket("second", SOCK_DGRAM);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("second"));
        assert_int_equal(connect(first, (struct sockaddr *)&address, sizeof(address)), 0);
        struct wanted datagrams = {.path = at("first")};
        assert_true(socket_list_own(take, &datagrams));
        assert_int_equal(datagrams.count, 1);
}

static void test_the_lists_of_processes(void **state)
{
        (void)state;
        struct wanted wanted = {.path = at("a socket")};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        autoclose int listener = bind_socket("a socket", SOCK_STREAM);
        autoclose int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        autoclose int abstract = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(listen(listener, 1), 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("a socket"));
        assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
        autoclose int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        address.sun_path[0] = 0;
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hutch-test-%d", (int)getpid());
        assert_int_equal(bind(abstract, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_true(socket_list_others(true, take, &wanted));
        assert_int_equal(wanted.count, 1);
        assert_int_equal(wanted.identified, 0);
        autofree char *name = str_format("@hutch-test-%d", (int)getpid());
        struct wanted none = {.path = name};
        assert_true(socket_list_others(true, take, &none));
        assert_int_equal(none.count, 0);
        /* Without the caller's own, which sock_diag lists better. */
        wanted.count = 0;
        assert_true(socket_list_others(false, take, &wanted));
        assert_int_equal(wanted.count, 0);
}

static bool is_hidden(const char *relative)
{
        const struct mount *mount = mounts_find_exact(&rig.box, at(relative));
        return mount && mount->kind == MOUNT_MASK && str_equal(mount->why, SOCKET_MASK);
}

static void test_sockets_below_a_grant_are_hidden(void **state)
{
        (void)state;
        make_directory("w/sub");
        make_directory("outside");
        make_file("w/file", "");
        autoclose int named = bind_socket("w/sub/named", SOCK_STREAM);
        autoclose int renamed = bind_socket("w/before", SOCK_STREAM);
        autoclose int linked = bind_socket("w/linked", SOCK_DGRAM);
        autoclose int moved = bind_socket("outside/moved", SOCK_STREAM);
        autoclose int outside = bind_socket("outside/socket", SOCK_STREAM);
        assert_int_equal(rename(at("w/before"), at("w/sub/after")), 0);
        assert_int_equal(link(at("w/linked"), at("w/sub/second")), 0);
        assert_int_equal(rename(at("outside/moved"), at("w/moved")), 0);
        close(bind_socket("w/left", SOCK_STREAM));
        grant("w", NULL, false, "--ro");
        assert_true(sockets_hide(&rig.box, &rig.error));
        assert_true(is_hidden("w/sub/named") && is_hidden("w/sub/after"));
        assert_true(is_hidden("w/linked") && is_hidden("w/sub/second") && is_hidden("w/moved"));
        assert_int_equal(rig.box.mount_count, 6);
        assert_string_equal(rig.said, "");
}

static void test_another_file_at_the_name(void **state)
{
        (void)state;
        make_directory("w/sub");
        autoclose int gone = bind_socket("w/name", SOCK_STREAM);
        assert_int_equal(rename(at("w/name"), at("w/sub/real")), 0);
        make_file("w/name", "");
        grant("w", NULL, false, "--ro");
        assert_true(sockets_hide(&rig.box, &rig.error));
        assert_true(is_hidden("w/sub/real"));
        assert_false(has_mount("w/name"));
}

static void test_a_socket_that_is_granted_itself_is_meant(void **state)
{
        (void)state;
        make_directory("w");
        make_directory("base");
        autoclose int meant = bind_socket("w/meant", SOCK_STREAM);
        autoclose int other = bind_socket("w/other", SOCK_STREAM);
        autoclose int in_base = bind_socket("base/socket", SOCK_STREAM);
        grant("w", NULL, false, "--ro");
        grant("w/meant", "/run/meant", false, "--ro");
        grant("w/other", "/run/other", false, "program of the command");
        grant("base", NULL, false, "base");
        assert_true(sockets_hide(&rig.box, &rig.error));
        assert_false(has_mount("w/meant"));
        assert_true(is_hidden("w/other"));
        assert_false(has_mount("base/socket"));
        assert_true(mounts_find_exact(&rig.box, "/run/other")->kind == MOUNT_BIND);
}

static void test_where_sockets_can_appear(void **state)
{
        (void)state;
        make_file("file", "");
        make_directory("w");
        assert_false(sockets_can_appear(&rig.box));
        grant("file", NULL, false, "--ro");
        grant("w", "/base", false, "base");
        assert_false(sockets_can_appear(&rig.box));
        assert_true(sockets_hide(&rig.box, &rig.error));
        grant("w", NULL, false, "--ro");
        assert_true(sockets_can_appear(&rig.box));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_search_finds_what_is_in_use_nearest_first),
            rig_test(test_the_list_of_this_namespace),
            rig_test(test_the_lists_of_processes),
            rig_test(test_sockets_below_a_grant_are_hidden),
            rig_test(test_another_file_at_the_name),
            rig_test(test_a_socket_that_is_granted_itself_is_meant),
            rig_test(test_where_sockets_can_appear),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
