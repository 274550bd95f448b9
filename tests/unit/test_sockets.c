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

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

static int bind_socket(const char *relative, int type)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(relative));
        assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof(address)), 0);
        return made;
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
        unsigned count;
};

static void take(void *context, const struct listed_socket *socket)
{
        struct wanted *wanted = context;
        if (!str_equal(socket->name, wanted->path))
                return;
        wanted->count++;
        wanted->socket = *socket;
}

static unsigned listed(socket_taker *taker, bool own, const char *path, struct listed_socket *socket)
{
        struct wanted wanted = {.path = path};
        assert_true(own ? socket_list_own(taker, &wanted) : socket_list_others(true, taker, &wanted));
        *socket = wanted.socket;
        return wanted.count;
}

/* Asks as socket_list.c does: a kernel without CONFIG_UNIX_DIAG answers with an error. */
static bool kernel_lists_sockets(void)
{
        struct {
                struct nlmsghdr header;
                struct unix_diag_req request;
        } dump = {.header = {.nlmsg_len = sizeof(dump),
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .request = {.sdiag_family = AF_UNIX, .udiag_states = ~0U}};
        char answer[16384] __attribute__((aligned(8)));
        autoclose int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        return netlink >= 0 && send(netlink, &dump, sizeof(dump), 0) == (ssize_t)sizeof(dump) &&
               recv(netlink, answer, sizeof(answer), 0) > 0 &&
               ((struct nlmsghdr *)(void *)answer)->nlmsg_type != NLMSG_ERROR;
}

static int connect_to(const char *relative, int type)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int client = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(relative));
        assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
        return client;
}

static void test_the_list_of_this_namespace(void **state)
{
        (void)state;
        struct stat status;
        struct listed_socket found;
        if (!kernel_lists_sockets())
                skip();
        autoclose int listener = bind_socket("socket", SOCK_STREAM);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(listed(take, true, at("socket"), &found), 1);
        assert_true(found.identified);
        assert_int_equal(lstat(at("socket"), &status), 0);
        assert_int_equal(found.inode, (uint32_t)status.st_ino);
        assert_int_equal(found.device, major(status.st_dev) << 20 | minor(status.st_dev));
        /* The accepted end has the same name. */
        autoclose int client = connect_to("socket", SOCK_STREAM);
        autoclose int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(accepted >= 0);
        assert_int_equal(listed(take, true, at("socket"), &found), 1);
        /* A datagram socket receives messages while it is connected. */
        autoclose int second = bind_socket("second", SOCK_DGRAM);
        autoclose int first = bind_socket("first", SOCK_DGRAM);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("second"));
        assert_int_equal(connect(first, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listed(take, true, at("first"), &found), 1);
}

static void test_the_lists_of_processes(void **state)
{
        (void)state;
        struct listed_socket found;
        struct wanted wanted = {.path = at("a socket")};
        autoclose int listener = bind_socket("a socket", SOCK_STREAM);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(listed(take, false, at("a socket"), &found), 1);
        assert_false(found.identified);
        autoclose int client = connect_to("a socket", SOCK_STREAM);
        autoclose int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_int_equal(listed(take, false, at("a socket"), &found), 1);
        /* Without the caller's own, which sock_diag lists better. */
        assert_true(socket_list_others(false, take, &wanted));
        assert_int_equal(wanted.count, 0);
}

static void collect(void *context, const struct listed_socket *socket)
{
        assert_false(socket->identified);
        str_list_add(context, socket->name);
}

static void test_the_format_of_a_list(void **state)
{
        (void)state;
        struct str_list names = {0};
        autofree char *text =
            str_copy("Num       RefCount Protocol Flags    Type St Inode Path\n"
                     "0000000000000000: 00000002 00000000 00010000 0001 01 20001 /listener\n"
                     "0000000000000000: 00000003 00000000 00000000 0001 03 20002 /accepted\n"
                     "0000000000000000: 00000003 00000000 00000000 0002 03 20003 /a  datagram\n"
                     "0000000000000000: 00000002 00000000 00000000 0002 01 20004 @abstract\n"
                     "0000000000000000: 00000002 00000000 00000000 0001 01 20005\n"
                     "0000000000000000: 00000002 00000000 00000000 0001 01 20006 relative\n"
                     "name with a\n"
                     "\n"
                     "0000000000000000: 00000002 00000000 00000000 0005 01 20007 /packets");
        socket_list_parse(text, collect, &names);
        static const char *const expected[] = {"/listener", "/a  datagram", "relative", "/packets"};
        assert_int_equal(names.count, COUNT(expected));
        for (size_t i = 0; i < COUNT(expected); i++)
                assert_string_equal(names.values[i], expected[i]);
        str_list_free(&names);
}

static bool is_hidden(const char *relative)
{
        const struct mount *mount = mounts_find_exact(&rig.box, at(relative));
        return mount && mount->kind == MOUNT_MASK && mount->origin == ORIGIN_SOCKET;
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
        assert_true(sockets_hide(&rig.resolver));
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
        assert_true(sockets_hide(&rig.resolver));
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
        assert_true(sockets_hide(&rig.resolver));
        assert_false(has_mount("w/meant"));
        assert_true(is_hidden("w/other"));
        assert_false(has_mount("base/socket"));
        assert_true(mounts_find_exact(&rig.box, "/run/other")->kind == MOUNT_BIND);
}

/* The grants show `w`, which is on device 1; /share, which is on device 2, may never answer. */
static void begin_search(struct socket_search *search)
{
        *search = (struct socket_search){.box = &rig.box};
        autofree char *text = str_format("1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / %s rw - nfs x rw\n"
                                         "3 1 0:3 / /other rw - ext4 x rw\n",
                                         at("w/share"));
        mountinfo_parse(&search->info, text);
        mountinfo_add_grant(&search->info, at("w"));
}

static struct listed_socket identify(const char *name, const char *relative, uint32_t device)
{
        struct stat status;
        assert_int_equal(lstat(at(relative), &status), 0);
        return (struct listed_socket){
            .name = name, .identified = true, .device = device, .inode = (uint32_t)status.st_ino};
}

static void test_what_a_listed_socket_leaves_to_search(void **state)
{
        (void)state;
        struct socket_search search;
        make_directory("w/share");
        make_directory("w/deep");
        make_file("w/file", "");
        autoclose int first = bind_socket("w/first", SOCK_STREAM);
        autoclose int second = bind_socket("w/second", SOCK_STREAM);
        autoclose int shared = bind_socket("w/share/socket", SOCK_STREAM);
        assert_int_equal(link(at("w/second"), at("w/deep/linked")), 0);
        grant("w", NULL, false, "--ro");
        autofree char *one = str_copy(at("w/first")), *two = str_copy(at("w/second"));
        autofree char *none = str_copy(at("w/none")), *file = str_copy(at("w/file"));
        autofree char *in_share = str_copy(at("w/share/socket"));
        enum { NOTHING, POSSIBLE, CERTAIN, SILENT };
        const struct {
                struct listed_socket socket;
                int left;
                const char *hidden;
        } cases[] = {
            {identify(one, "w/first", 1), NOTHING, "w/first"},
            {{.name = one}, NOTHING, "w/first"},
            {identify(one, "w/second", 1), CERTAIN, "w/first"},  /* it is another one */
            {identify(two, "w/second", 1), CERTAIN, "w/second"}, /* it has a second name */
            {{.name = two}, POSSIBLE, "w/second"},
            {identify(none, "w/first", 1), CERTAIN, NULL},
            {{.name = none}, POSSIBLE, NULL},
            {identify("w/first", "w/first", 1), CERTAIN, NULL}, /* relative to another directory */
            {identify(file, "w/first", 1), CERTAIN, NULL},
            {identify(none, "w/first", 3), NOTHING, NULL}, /* a file system that no grant shows */
            {identify(in_share, "w/share/socket", 2), SILENT, NULL},
            {{.name = in_share}, POSSIBLE, NULL},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
                begin_search(&search);
                sockets_take(&search, &cases[i].socket);
                int left = search.silent ? SILENT : search.certain ? CERTAIN : search.entries ? POSSIBLE : 0;
                if (left != cases[i].left || search.entries != (left == CERTAIN    ? 200000
                                                                : left == POSSIBLE ? 20000U
                                                                                   : 0U))
                        fail_msg("case %zu: %d", i, left);
                if (cases[i].hidden ? !is_hidden(cases[i].hidden) : rig.box.mount_count != 1)
                        fail_msg("case %zu: %zu mounts", i, rig.box.mount_count);
                while (rig.box.mount_count > 1)
                        mount_free(&rig.box.mounts[--rig.box.mount_count]);
                /* What is certain stays so. */
                sockets_take(&search, &cases[6].socket);
                assert_int_equal(search.entries, left == CERTAIN ? 200000 : 20000);
                mountinfo_free(&search.info);
        }
}

static void test_a_search_of_the_grants(void **state)
{
        (void)state;
        struct socket_search search;
        make_directory("w/share");
        make_directory("base");
        make_file("w/file", "");
        autoclose int socket = bind_socket("w/socket", SOCK_STREAM);
        autoclose int shared = bind_socket("w/share/socket", SOCK_STREAM);
        autoclose int in_base = bind_socket("base/socket", SOCK_STREAM);
        grant("w", NULL, false, "--ro");
        grant("w/file", "/file", false, "--ro");
        grant("base", NULL, false, "base");
        begin_search(&search);
        sockets_search(&search); /* nothing to search */
        assert_int_equal(rig.box.mount_count, 3);
        assert_string_equal(rig.said, "");
        search.entries = 100;
        search.certain = true;
        sockets_search(&search);
        assert_true(is_hidden("w/socket"));
        assert_false(has_mount("w/share/socket") || has_mount("base/socket"));
        assert_string_equal(rig.said, "");
        search.entries = 1;
        search.certain = false;
        sockets_search(&search);
        assert_string_equal(rig.said, "");
        search.certain = true;
        sockets_search(&search);
        assert_true(was_said("its path is not known, and the grants have more than 1 files"));
        search.silent = true;
        sockets_search(&search);
        assert_true(was_said("which hutch does not search"));
        mountinfo_free(&search.info);
}

/* A program in another network namespace, with a socket below `w`. It ends when `go` is closed. */
static int other_namespace(int ready, int go)
{
        char byte = 0;
        if ((geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) || unshare(CLONE_NEWNET) < 0)
                return 1;
        (void)bind_socket("w/before", SOCK_STREAM);
        (void)bind_socket("w/named", SOCK_STREAM);
        if (rename(at("w/before"), at("w/after")) < 0 || write(ready, &byte, 1) != 1)
                return 1;
        return read(go, &byte, 1) == 0 ? 0 : 1;
}

static void test_sockets_of_another_network_namespace(void **state)
{
        (void)state;
        int ready[2], go[2], status = 0;
        char byte;
        make_directory("w");
        assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(go, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
                close(ready[0]);
                close(go[1]);
                _exit(other_namespace(ready[1], go[0]));
        }
        close(ready[1]);
        close(go[0]);
        bool started = read(ready[0], &byte, 1) == 1;
        grant("w", NULL, false, "--ro");
        bool done = sockets_hide(&rig.resolver);
        close(go[1]);
        close(ready[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!started)
                skip(); /* this machine permits no namespace */
        assert_int_equal(status, 0);
        expect_no_error();
        assert_true(done);
        assert_true(is_hidden("w/named") && is_hidden("w/after"));
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
        assert_true(sockets_hide(&rig.resolver));
        grant("w", NULL, false, "--ro");
        assert_true(sockets_can_appear(&rig.box));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_a_search_finds_what_is_in_use_nearest_first),
            rig_test(test_the_list_of_this_namespace),
            rig_test(test_the_lists_of_processes),
            rig_test(test_the_format_of_a_list),
            rig_test(test_sockets_below_a_grant_are_hidden),
            rig_test(test_another_file_at_the_name),
            rig_test(test_a_socket_that_is_granted_itself_is_meant),
            rig_test(test_what_a_listed_socket_leaves_to_search),
            rig_test(test_a_search_of_the_grants),
            rig_test(test_sockets_of_another_network_namespace),
            rig_test(test_where_sockets_can_appear),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
