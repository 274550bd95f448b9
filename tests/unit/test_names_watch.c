/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which what a path leads to can change is noticed, in a made tree; and the process that watches
 * the host's own files.
 */
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "nat/wire.h"
#include "run/host_names.h"
#include "run/names_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "machine_rig.h"
#include "unit.h"

enum { BOUND_MS = 20000 };

static char *path_of(const char *name)
{
        return str_format("%s/%s", machine_directory, name);
}

static int inotify;

static void begin(const char *name)
{
        autofree char *path = path_of(name);
        inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        assert_true(inotify >= 0);
        names_watch_add(inotify, path);
}

/* Whether something was noticed since the watches were made. */
static bool noticed(void)
{
        char events[4096];
        bool any = read(inotify, events, sizeof(events)) > 0;
        close(inotify);
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
        begin("run/deep/resolv.conf"); /* the directory is missing, too */
        autofree char *directory = path_of("run");
        assert_int_equal(mkdir(directory, 0700), 0);
        assert_true(noticed());
}

/* etc/resolv.conf → ../run/stub → by/name → run/by/name */
static void make_chain(void)
{
        machine_make_file("/etc/.keep", "");
        machine_make_file("/run/by/name", "a\n");
        make_link("../run/stub", "etc/resolv.conf");
        make_link("by/name", "run/stub");
}

static void test_each_link_of_a_chain(void **state)
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
        make_link("other", "run/stub");
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
        begin("var/name");
        make_link("/nowhere", "var");
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

/* How long it waited, at least. */
static long long read_after(const char *resolv_conf, const char *told, const char *expected)
{
        static const struct network network;
        autofree char *file = path_of("resolv.conf");
        autofree char *hosts = path_of("hosts");
        machine_make_file("/resolv.conf", resolv_conf);
        long long before = clock_now_ms();
        autofree char *names = names_watch_read(file, hosts, &network, told);
        long long waited = clock_now_ms() - before;
        assert_string_equal(names, expected);
        return waited;
}

/* A configuration that has no name server any more is believed on the second look. */
static void test_losing_the_last_name_server(void **state)
{
        (void)state;
        assert_in_range(read_after("# none\n", "nameserver 1.1.1.1\n", ""), 100, 1 << 30);
        (void)read_after("nameserver 9.9.9.9\n", "nameserver 1.1.1.1\n", "nameserver 9.9.9.9\n");
        (void)read_after("# none\n", "", "");
}

/* ---- the process ---- */

static int control;

static pid_t start(const char *told)
{
        static struct network network;
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        control = ends[0];
        pid_t process = names_watch_start(&network, told, ends[1]);
        assert_true(process > 0);
        close(ends[1]);
        return process;
}

static void finish(pid_t process)
{
        int status;
        (void)kill(process, SIGKILL);
        assert_int_equal(waitpid(process, &status, 0), process);
        close(control);
}

/* What it was told is not what the host's files say: it says so at once. */
static void test_it_tells_what_is_new(void **state)
{
        struct nat_message head;
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(sizeof(int))];
        } ancillary;
        struct iovec data = {.iov_base = &head, .iov_len = sizeof(head)};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &ancillary,
                                 .msg_controllen = sizeof(ancillary)};
        const struct network network = {0};
        (void)state;
        pid_t process = start("host 10.0.0.1 of-nobody\n");
        struct pollfd news = {.fd = control, .events = POLLIN};
        assert_int_equal(poll(&news, 1, BOUND_MS), 1);
        assert_int_equal(recvmsg(control, &message, MSG_CMSG_CLOEXEC), sizeof(head));
        assert_int_equal(head.type, NAT_RESOLVER);
        const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        assert_non_null(rights);
        int fd;
        memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
        autoclose int file = fd;
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        char *content = NULL;
        assert_true(fd_read_all(file, 1 << 20, &content) >= 0);
        autofree char *text = content;
        autofree char *expected = host_names_read(HOST_RESOLV_CONF, HOST_HOSTS, &network);
        assert_string_equal(text, expected);
        finish(process);
}

/* It has no other descriptor, so the hang-up of hutch-nat reaches it; and it ends with its parent. */
static void test_it_ends_with_hutch_nat(void **state)
{
        int status;
        (void)state;
        int ends[2];
        static struct network network;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        close(ends[0]); /* hutch-nat is gone already */
        pid_t process = names_watch_start(&network, "host 10.0.0.1 of-nobody\n", ends[1]);
        close(ends[1]);
        assert_int_equal(waitpid(process, &status, 0), process);
        assert_true(
            WIFEXITED(status)); /* the filter refuses a sanitizer its own calls, so the status may differ */
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, machine_set_up, machine_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_a_file),
            MADE(test_a_file_that_is_missing),
            MADE(test_each_link_of_a_chain),
            MADE(test_absolute_links),
            MADE(test_a_circle_of_links),
            MADE(test_losing_the_last_name_server),
            cmocka_unit_test(test_it_tells_what_is_new),
            cmocka_unit_test(test_it_ends_with_hutch_nat),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
