/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding sockets of other programs: those that the kernel lists by a path, those directly in a granted
 * directory, and which of them a grant hides.
 */
#include "grants/mounts.h"
#include "grants/socket_list.h"
#include "grants/sockets.h"
#include "grants_rig.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

struct wanted {
        const char *path;
        uint32_t device; /* of the last with that path */
        unsigned count;
};

static void take(void *context, const char *name, const uint32_t *device)
{
        struct wanted *wanted = context;
        if (!str_equal(name, wanted->path))
                return;
        wanted->count++;
        wanted->device = device ? *device : 0;
}

static void expect_listed_once(const char *path)
{
        struct stat status;
        struct wanted wanted = {.path = path};
        assert_int_equal(socket_list(take, &wanted), 0);
        assert_int_equal(wanted.count, 1);
        assert_int_equal(lstat(path, &status), 0);
        assert_int_equal(wanted.device, major(status.st_dev) << 20 | minor(status.st_dev));
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
        autoclose int listener = bind_socket("socket", SOCK_STREAM);
        assert_int_equal(listen(listener, 1), 0);
        expect_listed_once(at("socket"));
        /* The accepted end has the same name. */
        autoclose int client = connect_to("socket", SOCK_STREAM);
        autoclose int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(accepted >= 0);
        expect_listed_once(at("socket"));
        /* A datagram socket receives messages while it is connected. */
        autoclose int second = bind_socket("second", SOCK_DGRAM);
        autoclose int first = bind_socket("first", SOCK_DGRAM);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("second"));
        assert_int_equal(connect(first, (struct sockaddr *)&address, sizeof(address)), 0);
        expect_listed_once(at("first"));
}

/* As inside a sandbox, whose filter refuses the kernel's list. */
static int list_without_netlink(const char *path)
{
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {.len = COUNT(code), .filter = code};
        struct wanted wanted = {.path = path};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) |
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
                return 1;
        return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 4) >= 0 || socket_list(take, &wanted) != 0 ||
               wanted.count != 1;
}

static void test_the_list_without_netlink(void **state)
{
        (void)state;
        int status = 0;
        autoclose int listener = bind_socket("so cket", SOCK_STREAM);
        assert_true(listener >= 0);
        pid_t child = fork();
        if (child == 0)
                _exit(list_without_netlink(at("so cket")));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
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
        make_link("w/link", "sub/named");
        autoclose int named = bind_socket("w/sub/named", SOCK_STREAM);
        autoclose int renamed = bind_socket("w/before", SOCK_SEQPACKET);
        autoclose int linked = bind_socket("w/sub/linked", SOCK_DGRAM);
        autoclose int moved = bind_socket("outside/moved", SOCK_STREAM);
        autoclose int outside = bind_socket("outside/socket", SOCK_STREAM);
        assert_int_equal(rename(at("w/before"), at("w/after")), 0);
        assert_int_equal(link(at("w/sub/linked"), at("w/second")), 0);
        assert_int_equal(rename(at("outside/moved"), at("w/moved")), 0);
        close(bind_socket("w/left", SOCK_STREAM));
        grant("w", NULL, false, "--ro");
        assert_true(sockets_hide(&rig.resolver));
        assert_true(is_hidden("w/sub/named") && is_hidden("w/sub/linked"));
        assert_true(is_hidden("w/after") && is_hidden("w/second") && is_hidden("w/moved"));
        assert_int_equal(rig.box.mount_count, 6);
        assert_string_equal(rig.said, "");
}

static void test_another_object_at_the_name(void **state)
{
        (void)state;
        make_directory("w/sub/deep");
        autoclose int file = bind_socket("w/sub/file", SOCK_STREAM);
        assert_int_equal(rename(at("w/sub/file"), at("w/sub/deep/first")), 0);
        make_file("w/sub/file", "");
        autoclose int socket = bind_socket("w/sub/socket", SOCK_STREAM);
        assert_int_equal(rename(at("w/sub/socket"), at("w/sub/deep/second")), 0);
        autoclose int other = bind_socket("w/sub/socket", SOCK_STREAM);
        grant("w", NULL, false, "--ro");
        assert_true(sockets_hide(&rig.resolver));
        assert_true(is_hidden("w/sub/socket"));
        assert_int_equal(rig.box.mount_count, 2);
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

/* A program in another network namespace, with a socket in `w`. It ends when `go` is closed. */
static int other_namespace(int ready, int go)
{
        char byte = 0;
        if ((geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) || unshare(CLONE_NEWNET) < 0)
                return 1;
        (void)bind_socket("w/named", SOCK_STREAM);
        if (write(ready, &byte, 1) != 1)
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
        assert_true(is_hidden("w/named"));
}

static int count_descriptors(void)
{
        int count = 0;
        for (int fd = 0; fd < 1024; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

/* Every program of the machine can bind thousands of names, and hutch would have no descriptors left. */
static void test_names_keep_no_descriptor(void **state)
{
        (void)state;
        make_directory("w/sub");
        autoclose int one = bind_socket("w/sub/one", SOCK_STREAM);
        grant("w", NULL, false, "--ro");
        int before = count_descriptors();
        assert_true(sockets_hide(&rig.resolver));
        assert_true(is_hidden("w/sub/one"));
        assert_int_equal(count_descriptors(), before);
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
            rig_test(test_the_list_of_this_namespace),
            rig_test(test_the_list_without_netlink),
            rig_test(test_sockets_below_a_grant_are_hidden),
            rig_test(test_another_object_at_the_name),
            rig_test(test_a_socket_that_is_granted_itself_is_meant),
            rig_test(test_sockets_of_another_network_namespace),
            rig_test(test_names_keep_no_descriptor),
            rig_test(test_where_sockets_can_appear),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
