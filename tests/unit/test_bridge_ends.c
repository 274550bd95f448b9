/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a client may have made of 0, 1 and 2: one socket, terminals, files, devices, a fifo, the wrong
 * direction, a pipe of another account, nothing for the bridge at all. See bridge_rig.h.
 */
#include "bridge_rig.h"
#include "lib/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

static void one_socket_for_stdin_and_stdout(void **state)
{
        struct rig rig;
        int ends[2];

        (void)state;
        assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), errno);
        rig.given[0] = ends[0];
        rig.given[1] = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
        rig.client[0] = ends[1];
        rig.client[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
        make_ends(SOCKET, &rig.client[2], &rig.given[2]);
        rig_start(&rig, true);
        never_block(ends[1]);
        put(rig.client[0], MESSAGE(1) "\n");
        rig_settle(&rig);
        assert_got(rig.server[0], MESSAGE(1) "\n");
        shutdown(rig.client[0], SHUT_WR);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).input_ended);
        assert_false(bridge_state(rig.bridge).client_gone);
        put(rig.server[1], MESSAGE(2) "\n");
        rig_settle(&rig);
        assert_got(rig.client[1], MESSAGE(2) "\n");

        hang_up(&rig.server[1]); /* the end of the server's output ends nothing of the client's */
        rig_settle(&rig);
        rig_enter(&rig);
        bridge_free(rig.bridge);
        rig_leave();
        rig.bridge = NULL;
        put(rig.given[1], MESSAGE(3) "\n");
        assert_got(rig.client[1], MESSAGE(3) "\n");
        rig_end(&rig);
}

static void terminal(void **state)
{
        struct rig rig = {.client = {-1, -1, -1}};
        struct termios raw;
        int slave;
        char *line = big_line(200000);
        struct pollfd readable;

        (void)state;
        assert_return_code(openpty(&rig.client[0], &slave, NULL, NULL, NULL), errno);
        tcgetattr(slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
        for (int i = 0; i < 3; i++)
                rig.given[i] = i == 0 ? slave : dup(slave);
        rig_start(&rig, true);
        never_block(rig.client[0]);
        put(rig.client[0], MESSAGE(1) "\n");
        assert_true(rig_turn(&rig, PATIENCE_MS));
        assert_got(rig.server[0], MESSAGE(1) "\n");
        rig_carry(&rig, rig.server[1], rig.client[0], line, 200000, 1000);

        /* Ctrl-D at the beginning of a line is the end of input. */
        raw.c_lflag |= ICANON;
        raw.c_cc[VEOF] = 4;
        tcsetattr(slave, TCSANOW, &raw);
        put(rig.client[0], "\004");
        assert_true(rig_turn(&rig, PATIENCE_MS));
        assert_true(bridge_state(rig.bridge).input_ended);
        readable = (struct pollfd){.fd = rig.client[0], .events = POLLIN};
        put(rig.server[1], MESSAGE(2) "\n");
        rig_settle(&rig);
        assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
        assert_got(rig.client[0], MESSAGE(2) "\n");
        hang_up(&rig.client[0]);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).client_gone);
        free(line);
        rig_end(&rig);
}

/* The master cannot be opened a second time: the way of the descriptors that poll() must vouch for. */
static void terminal_master(void **state)
{
        struct rig rig = {.client = {-1, -1, -1}};
        struct termios raw;
        int master;
        char *line = big_line(100000);

        (void)state;
        assert_return_code(openpty(&master, &rig.client[0], NULL, NULL, NULL), errno);
        tcgetattr(rig.client[0], &raw);
        cfmakeraw(&raw);
        tcsetattr(rig.client[0], TCSANOW, &raw);
        for (int i = 0; i < 3; i++)
                rig.given[i] = i == 0 ? master : dup(master);
        rig_start(&rig, false);
        never_block(rig.client[0]);
        put(rig.client[0], MESSAGE(1) "\n");
        assert_true(rig_turn(&rig, PATIENCE_MS));
        assert_got(rig.server[0], MESSAGE(1) "\n");
        rig_carry(&rig, rig.server[1], rig.client[0], line, 100000, 1000);
        free(line);
        rig_end(&rig);
}

static int new_file(const char *content)
{
        int fd = memfd_create("test", MFD_CLOEXEC);

        assert_return_code(fd, errno);
        put(fd, content);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}

static void regular_files(void **state)
{
        struct rig rig = {.client = {-1, -1, -1}};
        char *big = big_line(500000);
        char *arrived = malloc(500001);
        size_t got = 0;

        (void)state;
        big[499999] = 0;
        rig.given[0] = new_file(big);
        rig.given[1] = new_file("");
        rig.given[2] = new_file("");
        rig_start(&rig, true);
        while (!bridge_state(rig.bridge).input_ended) {
                rig_settle(&rig);
                got += get(rig.server[0], arrived + got, 500001 - got);
        }
        got += get(rig.server[0], arrived + got, 500001 - got);
        assert_int_equal(got, 499999);
        assert_memory_equal(arrived, big, got);
        assert_int_equal(lseek(rig.given[0], 0, SEEK_CUR), 499999); /* the offset is the client's too */
        put(rig.server[2], "log\n");
        rig_settle(&rig);
        put(rig.server[1], MESSAGE(1) "\nnoise\n");
        rig_settle(&rig);
        lseek(rig.given[1], 0, SEEK_SET);
        lseek(rig.given[2], 0, SEEK_SET);
        assert_got(rig.given[1], MESSAGE(1) "\n");
        assert_got(rig.given[2], "log\n[hutch] server stdout: noise\n");
        free(big);
        free(arrived);
        rig_end(&rig);
}

static void null_device_and_directory(void **state)
{
        static const char *const inputs[] = {"/dev/null", "/"};

        (void)state;
        for (int i = 0; i < 2; i++) {
                struct rig rig = {.client = {-1, -1, -1}};

                rig.given[0] = open(inputs[i], O_RDONLY | O_CLOEXEC);
                rig.given[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
                rig.given[2] = open("/dev/null", O_WRONLY | O_CLOEXEC);
                rig_start(&rig, true);
                rig_settle(&rig);
                assert_true(bridge_state(rig.bridge).input_ended);
                assert_true(at_end(rig.server[0]));
                put(rig.server[1], MESSAGE(1) "\n");
                rig_settle(&rig);
                assert_int_equal(bridge_state(rig.bridge).taken, sizeof(MESSAGE(1)));
                assert_false(bridge_state(rig.bridge).client_gone);
                rig_end(&rig);
        }
}

static void disk_that_is_full(void **state)
{
        struct rig rig = {.client = {-1, -1, -1}};

        (void)state;
        rig.given[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        rig.given[1] = open("/dev/full", O_WRONLY | O_CLOEXEC);
        rig.given[2] = open("/dev/full", O_WRONLY | O_CLOEXEC);
        rig_start(&rig, true);
        put(rig.server[2], "log\n");
        put(rig.server[1], MESSAGE(1) "\n");
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).client_gone);
        rig_end(&rig);
}

/* Descriptors that were opened the other way round are not made usable by the private reopen. */
static void wrong_directions(void **state)
{
        struct rig rig;

        (void)state;
        make_ends(PIPE, &rig.client[0], &rig.given[0]);
        make_ends(PIPE, &rig.given[1], &rig.client[1]);
        make_ends(PIPE, &rig.given[2], &rig.client[2]);
        rig_start(&rig, true);
        assert_true(bridge_state(rig.bridge).input_ended);
        assert_true(bridge_state(rig.bridge).client_gone);
        put(rig.server[2], "log\n");
        rig_say(&rig, "[hutch] line\n");
        assert_int_equal(rig_settle(&rig), 1);
        rig_end(&rig);
}

static void fifo_whose_writer_left_early(void **state)
{
        char path[] = "/tmp/hutch-test-bridge-XXXXXX";
        struct rig rig = {.client = {-1, -1, -1}};
        int writer;

        (void)state;
        assert_non_null(mkdtemp(path));
        char *name = NULL;
        assert_true(asprintf(&name, "%s/fifo", path) > 0);
        assert_return_code(mkfifo(name, 0600), errno);
        writer = open(name, O_RDWR | O_CLOEXEC);
        rig.given[0] = open(name, O_RDONLY | O_CLOEXEC);
        close(writer);
        rig.given[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        rig.given[2] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        rig_start(&rig, true);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).input_ended);
        unlink(name);
        rmdir(path);
        free(name);
        rig_end(&rig);
}

/* Another reader of the same description may have been quicker after poll(). */
static void reading_what_is_gone_already(void **state)
{
        (void)state;
        for (int kind = PIPE; kind <= SOCKET; kind++) {
                struct endpoint endpoint;
                int reads, writes;
                char c;

                make_ends(kind, &reads, &writes);
                endpoint_open(&endpoint, reads, O_RDONLY);
                assert_int_equal(endpoint_read(&endpoint, &c, 1), -EAGAIN);
                int private = endpoint.io;
                assert_int_equal(private == reads, kind == SOCKET);
                endpoint_close(&endpoint);
                assert_int_equal(endpoint.fd, -1);
                assert_true(fcntl(reads, F_GETFD) >= 0); /* the client's stays open */
                assert_int_equal(fcntl(private, F_GETFD) >= 0, private == reads);
                hang_up(&reads);
                hang_up(&writes);
        }
}

/* A pipe of another account: nothing but what poll() promises may be done with it. */
static void reopen_refused(void **state)
{
        struct rig rig;
        struct endpoint endpoint;
        char *line = big_line(1000000);
        uid_t uid = geteuid();

        (void)state;
        make_ends(PIPE, &rig.given[0], &rig.client[0]);
        make_ends(PIPE, &rig.client[1], &rig.given[1]);
        make_ends(PIPE, &rig.client[2], &rig.given[2]);
        for (int i = 0; i < 3; i++)
                assert_return_code(fchmod(rig.given[i], 0), errno);
        if (uid == 0)
                assert_return_code(seteuid(65534), errno);
        endpoint_open(&endpoint, rig.given[0], O_RDONLY);
        rig_start(&rig, true);
        if (uid == 0) {
                assert_return_code(seteuid(0), errno);
                prctl(PR_SET_DUMPABLE, 1);
        }
        assert_int_equal(endpoint.burst, PIPE_BUF);
        assert_int_equal(endpoint.io, rig.given[0]);

        for (int i = 0; i < 3; i++)
                never_block(rig.client[i]);
        rig_carry(&rig, rig.server[1], rig.client[1], line, 1000000, 1 << 16);
        rig_carry(&rig, rig.client[0], rig.server[0], line, 1000000, 1 << 16);
        for (int i = 0; i < 3; i++)
                put(rig.server[2], "log\n");
        rig_settle(&rig);
        assert_got(rig.client[2], "log\nlog\nlog\n");
        hang_up(&rig.client[0]);
        hang_up(&rig.client[1]);
        rig_settle(&rig);
        assert_true(bridge_state(rig.bridge).input_ended);
        assert_true(bridge_state(rig.bridge).client_gone);
        free(line);
        rig_end(&rig);
}

/* A terminal goes to the server as it is; hutch's own lines still reach stderr. */
static void passed_descriptors_are_left_alone(void **state)
{
        struct rig rig;
        struct error error = {0};

        (void)state;
        for (int i = 0; i < 3; i++) {
                make_ends(PIPE, i == 0 ? &rig.given[i] : &rig.client[i],
                          i == 0 ? &rig.client[i] : &rig.given[i]);
                rig.flags[i] = fcntl(rig.given[i], F_GETFL);
        }
        rig_enter(&rig);
        rig.bridge = bridge_new(false, (const bool[3]){true, true, true}, rig.server, &error);
        rig_leave();
        assert_non_null(rig.bridge);
        for (int i = 0; i < 3; i++)
                assert_int_equal(rig.server[i], -1);
        put(rig.client[0], "x");
        assert_int_equal(rig_settle(&rig), 0);
        assert_true(bridge_state(rig.bridge).drained);
        rig_say(&rig, "[hutch] own\n");
        rig_settle(&rig);
        assert_got(rig.client[2], "[hutch] own\n");
        rig_end(&rig);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(one_socket_for_stdin_and_stdout),
            cmocka_unit_test(terminal),
            cmocka_unit_test(terminal_master),
            cmocka_unit_test(regular_files),
            cmocka_unit_test(null_device_and_directory),
            cmocka_unit_test(disk_that_is_full),
            cmocka_unit_test(wrong_directions),
            cmocka_unit_test(fifo_whose_writer_left_early),
            cmocka_unit_test(reading_what_is_gone_already),
            cmocka_unit_test(reopen_refused),
            cmocka_unit_test(passed_descriptors_are_left_alone),
        };

        rig_begin();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
