/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch-nat is told of the host's resolver, from every shape that resolv.conf and hosts come in.
 */
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "run/host_names.h"

#include <sys/socket.h>
#include <sys/stat.h>

static char directory[] = "/tmp/hutch-test-host-names-XXXXXX";
static struct network network;

static int make_directory(void **state)
{
        struct error error = {0};
        (void)state;
        return mkdtemp(directory) && destinations_add(&network.rules.allow, DESTINATION_ALLOW,
                                                      "a.test,*.b.test,intranet", &error)
                   ? 0
                   : -1;
}

static char *path_of(const char *name)
{
        return str_format("%s/%s", directory, name);
}

static int remove_directory(void **state)
{
        static const char *const names[] = {"resolv.conf", "hosts", "link",     "loop",
                                            "dangling",    "fifo",  "directory"};
        (void)state;
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *path = path_of(names[i]);
                (void)remove(path);
        }
        destinations_free(&network.rules.allow);
        return remove(directory);
}

static void write_file(const char *name, const char *bytes, size_t length)
{
        autofree char *path = path_of(name);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, length, file), length);
        assert_int_equal(fclose(file), 0);
}

static char *lines_of(const char *resolv_conf, const char *hosts)
{
        autofree char *first = path_of(resolv_conf);
        autofree char *second = path_of(hosts);
        autoclose int any = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return host_names_read(first, second, &network, any);
}

static void expect_bytes(const char *name, const char *bytes, size_t length, const char *expected)
{
        bool hosts = str_equal(name, "hosts");
        write_file(name, bytes, length);
        autofree char *got = lines_of(hosts ? "missing" : name, hosts ? name : "missing");
        assert_string_equal(got, expected);
}

static void expect(const char *name, const char *content, const char *expected)
{
        expect_bytes(name, content, strlen(content), expected);
}

static void test_resolv_conf(void **state)
{
        (void)state;
        expect("resolv.conf", "", "");
        expect("resolv.conf", "# nothing\n; here\n\noptions edns0\nsearch a.b\n", "");
        expect("resolv.conf", "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n",
               "nameserver 127.0.0.53\n");
        expect("resolv.conf", "nameserver 1.1.1.1\nnameserver 9.9.9.9\n",
               "nameserver 1.1.1.1\nnameserver 9.9.9.9\n");
        expect("resolv.conf", "nameserver 1.1.1.1", "nameserver 1.1.1.1\n");
        expect("resolv.conf", "nameserver\t 1.1.1.1 \t# ours\r\n", "nameserver 1.1.1.1\n");
        expect("resolv.conf", "nameserver 2001:db8::53\nnameserver ::1\n",
               "nameserver 2001:db8::53\nnameserver ::1\n");
        expect("resolv.conf",
               "nameserver fe80::1%lo\nnameserver fe80::1%7\nnameserver fe80::1%no-such-link\n",
               "nameserver fe80::1%1\nnameserver fe80::1%7\n");
        expect("resolv.conf",
               "nameserver fe80::1%\nnameserver fe80::1%a/b\nnameserver fe80::1%a,1.1.1.1\nnameserver "
               "fe80::1%a%b\n",
               "");
        expect("resolv.conf",
               "nameserver\nnameserver \nnameserver x\nnameserver 1.1.1\nnameserver 1.1.1.256\nnameserver "
               "1.1.1.1,9.9.9.9\nnameserver 1.1.1.1#53\n",
               "");
        expect("resolv.conf",
               "Nameserver 1.1.1.1\nnameservers 1.1.1.1\nnameserver1.1.1.1\n#nameserver 1.1.1.1\n;nameserver "
               "1.1.1.1\n",
               "");
        expect("resolv.conf", "search a\nnameserver 1.1.1.1\nnonsense \xff\xfe\x01\nnameserver 9.9.9.9\n",
               "nameserver 1.1.1.1\nnameserver 9.9.9.9\n");
        expect_bytes("resolv.conf", "nameserver 1.1.1.1\n\0nameserver 9.9.9.9\n", 39, "nameserver 1.1.1.1\n");
}

static void test_more_servers_than_anybody_asks(void **state)
{
        char content[4096] = "";
        size_t length = 0;
        (void)state;
        for (int i = 0; i < 100; i++)
                length +=
                    (size_t)snprintf(content + length, sizeof(content) - length, "nameserver 10.0.0.%d\n", i);
        write_file("resolv.conf", content, length);
        autofree char *got = lines_of("resolv.conf", "missing");
        size_t lines = 0;
        for (const char *at = got; (at = strchr(at, '\n')) != NULL; at++)
                lines++;
        assert_int_equal(lines, 8);
        assert_true(str_starts(got, "nameserver 10.0.0.0\nnameserver 10.0.0.1\n"));
}

static void test_hosts(void **state)
{
        (void)state;
        expect("hosts", "", "");
        expect("hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n", "");
        expect("hosts", "10.0.0.1 a.test\n", "host 10.0.0.1 a.test\n");
        expect("hosts", "10.0.0.1 a.test", "host 10.0.0.1 a.test\n");
        expect("hosts", "10.0.0.1\tc.test X.B.Test intranet # y.b.test\r\n",
               "host 10.0.0.1 x.b.test\nhost 10.0.0.1 intranet\n");
        expect("hosts", "  2001:db8::1 a.test\n10.0.0.2 a.test\n",
               "host 2001:db8::1 a.test\nhost 10.0.0.2 a.test\n");
        expect("hosts", "#10.0.0.1 a.test\n10.0.0.1 #a.test\n10.0.0.1\n", "");
        expect("hosts", "0.0.0.0 ads.test\n0.0.0.0 x.b.test\n", "host 0.0.0.0 x.b.test\n");
        expect("hosts", "a.test 10.0.0.1\n10.1 a.test\nfe80::1%lo0 a.test\n10.0.0.1,a.test\n", "");
        expect("hosts", "10.0.0.1 b.test xa.test a.test.evil a..b.test .b.test *.b.test a.test.\n", "");
        expect_bytes("hosts", "10.0.0.1 a.test\0 x.b.test\n", 26, "host 10.0.0.1 a.test\n");
}

static void test_the_proxy(void **state)
{
        (void)state;
        network.proxy = (char *)"proxy.corp 3128";
        expect("hosts", "10.0.0.5 proxy.corp prox proxy.corp.evil proxy.cor 3128\n10.0.0.6 a.test\n",
               "host 10.0.0.5 proxy.corp\nhost 10.0.0.6 a.test\n");
        network.proxy = NULL;
        expect("hosts", "10.0.0.5 proxy.corp\n", "");
}

static void test_files_that_are_none(void **state)
{
        static const char *const names[] = {"missing", "dangling", "loop", "fifo", "directory"};
        autofree char *dangling = path_of("dangling");
        autofree char *loop = path_of("loop");
        autofree char *fifo = path_of("fifo");
        autofree char *inner = path_of("directory");
        (void)state;
        assert_int_equal(symlink("/nowhere/at/all", dangling), 0);
        assert_int_equal(symlink("loop", loop), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(mkdir(inner, 0700), 0);
        for (size_t i = 0; i < COUNT(names); i++) {
                autofree char *got = lines_of(names[i], names[i]);
                assert_string_equal(got, "");
        }
}

static void test_a_link(void **state)
{
        autofree char *link = path_of("link");
        (void)state;
        write_file("resolv.conf", "nameserver 127.0.0.53\n", 22);
        assert_int_equal(symlink("resolv.conf", link), 0);
        autofree char *got = lines_of("link", "missing");
        assert_string_equal(got, "nameserver 127.0.0.53\n");
}

/* A list of blocked names, as people use: only what a rule could ask for goes on. */
static void test_a_large_file(void **state)
{
        enum { LINES = 200000, LINE = 40 };
        autofree char *content = malloc((size_t)LINES * LINE);
        size_t length = 0;
        (void)state;
        assert_non_null(content);
        for (int i = 0; i < LINES; i++)
                length += (size_t)snprintf(content + length, LINE, "0.0.0.0 tracker-%d.example\n", i);
        length += (size_t)snprintf(content + length, LINE, "10.0.0.9 a.test\n");
        expect_bytes("hosts", content, length, "host 10.0.0.9 a.test\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_resolv_conf),
            cmocka_unit_test(test_more_servers_than_anybody_asks),
            cmocka_unit_test(test_hosts),
            cmocka_unit_test(test_the_proxy),
            cmocka_unit_test(test_files_that_are_none),
            cmocka_unit_test(test_a_link),
            cmocka_unit_test(test_a_large_file),
        };
        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
