/* SPDX-License-Identifier: Apache-2.0
 *
 * What hutch-nat is told, and what becomes of what it says; a socket pair plays the helper.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "nat/wire.h"
#include "run/nat_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "helper_rig.h"
#include "stand_in.h"
#include "unit.h"

static struct nat_helper helper;

static int set_up(void **state)
{
        (void)state;
        helper = NAT_HELPER_NONE;
        helper.control = helper_rig_begin();
        return helper.control < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        (void)state;
        fd_close(&helper.control);
        helper_rig_end();
        return 0;
}

/* ---- the rules ---- */

static void expect_rules(const struct box *box, bool explain, const char *expected)
{
        struct buf out = {0};
        nat_helper_write_rules(box, explain, &out);
        autofree char *text = buf_take(&out);
        assert_string_equal(text, expected);
}

static void test_rules(void **state)
{
        struct box box = {0};
        struct error error = {0};
        struct port_pair ports[] = {{.inside = 80, .host = 8080}};
        char *exceptions[] = {(char *)".corp"};
        (void)state;
        expect_rules(&box, false, "");
        expect_rules(&box, true, "explain\n");
        assert_true(
            destinations_add(&box.network.rules.allow, DESTINATION_ALLOW, "a.test:443,localhost:9", &error));
        assert_true(destinations_add(&box.network.rules.deny, DESTINATION_DENY, "b.test", &error));
        box.network.host_ports = ports;
        box.network.host_port_count = 1;
        box.network.proxy = (char *)"proxy.test 3128";
        box.network.no_proxy = (struct str_list){exceptions, 1};
        box.log_path = (char *)"/log";
        /* A rule for localhost is a port of the host, and no destination of the resolver's. */
        expect_rules(
            &box, false,
            "log\nallow a.test:443\ndeny b.test\nhost-port 80 8080\nproxy proxy.test 3128\nno-proxy .corp\n");
        box.network.proxy_credentials = (char *)"dTpw";
        box.network.host_port_count = 0;
        box.network.no_proxy.count = 0;
        box.log_path = NULL;
        expect_rules(&box, false, "allow a.test:443\ndeny b.test\nproxy proxy.test 3128 dTpw\n");
        destinations_free(&box.network.rules.allow);
        destinations_free(&box.network.rules.deny);
}

static void expect_refusal(uint16_t host, int problem, const char *expected)
{
        struct error error = {0};
        const struct port_pair pair = {.inside = 80, .host = host};
        assert_false(nat_helper_refuse_port(&pair, problem, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_string_equal(error.text, expected);
}

static void test_published_ports(void **state)
{
        (void)state;
        expect_refusal(
            8080, EADDRINUSE,
            "--publish 8080: cannot listen on 127.0.0.1:8080: Address already in use; stop the program that "
            "listens there, or choose another port with --publish HOSTPORT:80");
        expect_refusal(
            443, EACCES,
            "--publish 443: cannot listen on 127.0.0.1:443: Permission denied; the kernel reserves low ports "
            "for root; use --publish 8443:80");
        expect_refusal(8080, EMFILE, "--publish 8080: cannot listen on 127.0.0.1:8080: Too many open files");
}

/* ---- its messages ---- */

static void expect_log(const char *part)
{
        autofree char *text = content_of(logged);
        if (part)
                assert_non_null(strstr(text, part));
        else
                assert_string_equal(text, "");
}

static void test_what_it_says(void **state)
{
        (void)state;
        assert_true(nat_helper_read(&helper, &run)); /* nothing yet */
        helper_says(NAT_READY, "");
        assert_true(nat_helper_read(&helper, &run));
        assert_string_equal(heard, "");
        helper_says(NAT_DENIED, "no\n[hutch] forged");
        assert_true(nat_helper_read(&helper, &run));
        assert_string_equal(heard, "[hutch] no\\x0a[hutch] forged\n");
        heard[0] = 0;
        helper_says(NAT_NOTE, "a note");
        assert_true(nat_helper_read(&helper, &run));
        assert_string_equal(heard, "[hutch] a note\n");
        expect_log(NULL);
        helper_says(NAT_RECORD, "\"event\":\"dns\"");
        assert_true(nat_helper_read(&helper, &run));
        expect_log("{\"event\":\"dns\",");
        /* What only the supervisor says, and what nobody does. */
        helper_says(NAT_RESOLVER, "x");
        helper_says(NAT_FINISH, "x");
        helper_says(999, "x");
        for (int i = 0; i < 3; i++)
                assert_true(nat_helper_read(&helper, &run));
        assert_string_equal(heard, "[hutch] a note\n");
}

static void test_it_has_ended(void **state)
{
        (void)state;
        assert_int_equal(send(helper_end, "xy", 2, 0), 2); /* less than a message */
        assert_false(nat_helper_read(&helper, &run));
        fd_close(&helper_end);
        assert_false(nat_helper_read(&helper, &run));
}

/* What it said before it ended is heard, although something it was told lies unread. */
static void test_its_last_words(void **state)
{
        (void)state;
        assert_int_equal(send(helper.control, "unread", 6, 0), 6);
        helper_says(NAT_NOTE, "the last");
        fd_close(&helper_end);
        for (int i = 0; i < 2 && !*heard; i++)
                assert_true(nat_helper_read(&helper, &run));
        assert_string_equal(heard, "[hutch] the last\n");
        assert_false(nat_helper_read(&helper, &run));
}

/* ---- its start ---- */

/* hutch-nat, as this program stands in for it: says what it was given, then waits for the hang-up. */
static void be_hutch_nat(void)
{
        char note[NAT_TEXT_MAX + sizeof(struct nat_message)];
        struct nat_message *head = (void *)note;
        struct nat_socket published = {0};
        char *rules = NULL;
        unsigned descriptors = 0;
        char end;
        for (int fd = 0; fd < 256; fd++)
                descriptors += fcntl(fd, F_GETFD) >= 0;
        (void)recv(NAT_SETUP, &published, sizeof(published), MSG_DONTWAIT);
        if (lseek(NAT_RULES, 0, SEEK_SET) < 0 || fd_read_all(NAT_RULES, 2048, &rules) < 0)
                _exit(1);
        head->type = NAT_NOTE;
        int length = snprintf(note + sizeof(*head), NAT_TEXT_MAX, "%u descriptors, port %u, rules %s",
                              descriptors, published.port, rules);
        if (send(NAT_SUPERVISOR, note, sizeof(*head) + (size_t)length, 0) < 0)
                _exit(1);
        (void)recv(NAT_SUPERVISOR, &end, 1, 0);
        _exit(0);
}

/* A port of 127.0.0.1 that something listens on, and that is free once the descriptor is closed. */
static int listen_somewhere(uint16_t *port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof(address);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
        *port = ntohs(address.sin_port);
        return fd;
}

static void expect_start(const struct box *box, int filter_end, const char *expected)
{
        struct error error = {0};
        heard[0] = 0;
        helper = NAT_HELPER_NONE;
        assert_true(nat_helper_start(&helper, box, filter_end, &error));
        assert_string_equal(error.text, "");
        assert_true(helper.process > 0 && helper.control >= 0 && helper.setup >= 0);
        struct pollfd news = {.fd = helper.control, .events = POLLIN};
        assert_int_equal(poll(&news, 1, 20000), 1);
        assert_true(nat_helper_read(&helper, &run));
        if (!str_starts(heard, expected))
                fail_msg("%s: %s", heard, expected);
}

static void test_starting_it(void **state)
{
        struct box box = {.log_path = (char *)"/log"};
        struct port_pair pair = {.inside = 80};
        struct error error = {0};
        (void)state;
        fd_close(&helper.control);
        /* Three for /dev/null, and those of wire.h but the filter's. */
        expect_start(&box, -1, "[hutch] 7 descriptors, port 0, rules log\\x0a");
        assert_int_equal(helper.dialler, -1);
        nat_helper_end(&helper, &run);
        expect_start(&box, helper_end, "[hutch] 8 descriptors, port 0, rules log\\x0aexplain\\x0a");
        nat_helper_end(&helper, &run);
        box.network.publish = &pair;
        box.network.publish_count = 1;
        autoclose int taken = listen_somewhere(&pair.host);
        helper = NAT_HELPER_NONE;
        assert_false(nat_helper_start(&helper, &box, -1, &error));
        assert_non_null(strstr(error.text, "Address already in use; stop the program"));
        nat_helper_end(&helper, &run);
        fd_close(&taken);
        expect_start(&box, -1, "[hutch] 7 descriptors, port 80, rules log");
        assert_true(helper.dialler >= 0);
        nat_helper_end(&helper, &run);
        assert_int_equal(helper.dialler, -1);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- its end ---- */

/* A process in the helper's place. */
static pid_t be_helper(void)
{
        pid_t process = fork();
        if (process == 0)
                for (;;)
                        pause();
        return process;
}

static void test_flows_are_recorded_at_the_end(void **state)
{
        struct nat_message told;
        (void)state;
        helper.process = be_helper();
        helper.names.told = str_copy("nameserver 1.1.1.1\n");
        helper_says(NAT_RECORD, "\"event\":\"flow\"");
        assert_int_equal(shutdown(helper_end, SHUT_WR), 0); /* nothing follows */
        nat_helper_end(&helper, &run);
        expect_log("{\"event\":\"flow\",");
        assert_int_equal(recv(helper_end, &told, sizeof(told), 0), sizeof(told));
        assert_int_equal(told.type, NAT_FINISH);
        assert_int_equal(helper.process, 0);
        assert_int_equal(helper.control, -1);
        assert_null(helper.names.told);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void test_without_a_log_nothing_is_asked_for(void **state)
{
        char told[16];
        (void)state;
        helper.process = be_helper();
        fd_close(&run.file);
        nat_helper_end(&helper, &run);
        assert_int_equal(recv(helper_end, told, sizeof(told), 0), 0);
}

static void test_the_set_up_is_closed(void **state)
{
        int ends[2];
        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        helper.setup = ends[0];
        helper.dialler = ends[1];
        nat_helper_close_setup(&helper);
        assert_int_equal(helper.setup, -1);
        assert_int_equal(helper.dialler, -1);
        assert_int_equal(fcntl(ends[0], F_GETFD), -1);
        assert_int_equal(fcntl(ends[1], F_GETFD), -1);
}

/* hutch-nat is told what differs from what it knows, and nothing twice. */
static void test_names_that_have_changed(void **state)
{
        static const struct network network;
        struct nat_message head;
        (void)state;
        helper.names.told = str_copy("nameserver 192.0.2.1\nhost 10.0.0.1 of-nobody\n");
        struct pollfd told = {.fd = helper_end, .events = POLLIN};
        int again = nat_helper_tell_names(&helper, &network);
        if (again == NAMES_SETTLE_MS) { /* this machine has no name server, which is believed later */
                assert_int_equal(poll(&told, 1, 0), 0);
                again = nat_helper_tell_names(&helper, &network);
        }
        assert_int_equal(again, NAMES_LOOK_MS); /* there is no inotify */
        assert_int_equal(recv(helper_end, &head, sizeof(head), MSG_DONTWAIT), sizeof(head));
        assert_int_equal(head.type, NAT_RESOLVER);
        helper.names.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        assert_int_equal(nat_helper_tell_names(&helper, &network), -1);
        assert_int_equal(poll(&told, 1, 0), 0);
        nat_helper_end(&helper, &run);
        assert_int_equal(helper.names.inotify, -1);
        assert_null(helper.names.told);
}

#define TALKING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
        (void)argc;
        stand_in_begin(argv, "hutch-nat", be_hutch_nat);
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rules),
            cmocka_unit_test(test_published_ports),
            TALKING(test_what_it_says),
            TALKING(test_it_has_ended),
            TALKING(test_its_last_words),
            TALKING(test_starting_it),
            TALKING(test_flows_are_recorded_at_the_end),
            TALKING(test_without_a_log_nothing_is_asked_for),
            TALKING(test_the_set_up_is_closed),
            TALKING(test_names_that_have_changed),
        };
        alarm(60); /* what blocks has failed */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
