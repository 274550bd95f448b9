/* SPDX-License-Identifier: Apache-2.0
 *
 * See bridge_rig.h.
 */
#include "bridge_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { TURNS_MAX = 20000 }; /* of the poll loop until there must be nothing left to do */

static int saved[3];

void rig_begin(void)
{
        signal(SIGPIPE, SIG_IGN);
        alarm(120);
        for (int i = 0; i < 3; i++)
                saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
}

void rig_enter(const struct rig *rig)
{
        for (int i = 0; i < 3; i++)
                dup2(rig->given[i], i);
}

void rig_leave(void)
{
        for (int i = 0; i < 3; i++)
                dup2(saved[i], i);
}

void hang_up(int *fd)
{
        close(*fd);
        *fd = -1;
}

void make_ends(int kind, int *reads, int *writes)
{
        int ends[2];

        assert_return_code(kind == PIPE ? pipe2(ends, O_CLOEXEC)
                                        : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                           errno);
        *reads = ends[0];
        *writes = ends[1];
}

void never_block(int fd)
{
        assert_return_code(fcntl(fd, F_SETFL, O_NONBLOCK), errno);
}

void rig_start(struct rig *rig, bool lines)
{
        struct error error = {0};

        for (int i = 0; i < 3; i++)
                rig->flags[i] = fcntl(rig->given[i], F_GETFL);
        rig_enter(rig);
        rig->bridge = bridge_new(lines, (const bool[3]){false}, rig->server, &error);
        rig_leave();
        assert_non_null(rig->bridge);
        assert_int_equal(error.status, 0);
        for (int i = 0; i < 3; i++)
                assert_int_equal(fcntl(rig->server[i], F_GETFL) & O_NONBLOCK, 0);
        never_block(rig->server[1]);
        never_block(rig->server[2]);
        never_block(rig->server[0]);
}

struct rig rig_new(int kind, bool lines)
{
        struct rig rig;

        make_ends(kind, &rig.given[0], &rig.client[0]);
        make_ends(kind, &rig.client[1], &rig.given[1]);
        make_ends(kind, &rig.client[2], &rig.given[2]);
        rig_start(&rig, lines);
        /* A pipe's ends are separate descriptions, and so are a socket pair's. */
        for (int i = 0; i < 3; i++)
                never_block(rig.client[i]);
        return rig;
}

void rig_end(struct rig *rig)
{
        if (rig->bridge) {
                rig_enter(rig);
                bridge_free(rig->bridge);
                rig_leave();
        }
        for (int i = 0; i < 3; i++) {
                assert_int_equal(fcntl(rig->given[i], F_GETFL), rig->flags[i]);
                hang_up(&rig->given[i]);
                if (rig->client[i] >= 0)
                        hang_up(&rig->client[i]);
                if (rig->server[i] >= 0)
                        hang_up(&rig->server[i]);
        }
}

bool rig_turn(struct rig *rig, int milliseconds)
{
        struct pollfd polls[BRIDGE_POLL_MAX];
        size_t count, quiet;
        int ready;

        rig_enter(rig);
        count = bridge_poll(rig->bridge, polls, &quiet);
        ready = poll(polls, count, milliseconds);
        if (ready > 0)
                bridge_move(rig->bridge, polls, count);
        rig_leave();
        return ready > 0;
}

unsigned rig_settle(struct rig *rig)
{
        unsigned turns = 0;

        while (rig_turn(rig, 0))
                assert_true(++turns < TURNS_MAX);
        return turns;
}

void rig_say(struct rig *rig, const char *line)
{
        rig_enter(rig);
        bridge_say(rig->bridge, line, strlen(line));
        rig_leave();
}

void put(int fd, const char *text)
{
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

size_t get(int fd, char *data, size_t size)
{
        ssize_t got = read(fd, data, size);

        return got > 0 ? (size_t)got : 0;
}

void assert_got(int fd, const char *expected)
{
        char text[8192];
        size_t length = get(fd, text, sizeof text - 1);

        text[length] = 0;
        assert_string_equal(text, expected);
}

bool at_end(int fd)
{
        char c;

        return read(fd, &c, 1) == 0;
}

char *big_line(size_t length)
{
        char *line = malloc(length);

        assert_non_null(line);
        for (size_t i = 0; i < length; i++)
                line[i] = (char)('a' + i % 23);
        line[0] = '{';
        memcpy(line + length - 11, "\"jsonrpc\"}\n", 11);
        return line;
}

void rig_carry(struct rig *rig, int from, int to, const char *line, size_t length, size_t read_size)
{
        char *arrived = malloc(length + 1);
        size_t written = 0;
        size_t got = 0;
        bool reading = false;
        struct pollfd readable = {.fd = to, .events = POLLIN};

        assert_non_null(arrived);
        while (got < length) {
                ssize_t put_now = written < length ? write(from, line + written, length - written) : 0;
                size_t got_now = 0;

                if (put_now > 0)
                        written += (size_t)put_now;
                rig_settle(rig);
                if (reading)
                        got_now = get(to, arrived + got,
                                      read_size < length + 1 - got ? read_size : length + 1 - got);
                got += got_now;
                if (put_now <= 0 && got_now == 0) {
                        /* A terminal hands over a moment later than it was written to. */
                        if (reading)
                                assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
                        reading = true;
                }
        }
        rig_settle(rig);
        assert_int_equal(get(to, arrived + got, 1), 0);
        assert_int_equal(got, length);
        assert_memory_equal(arrived, line, length);
        free(arrived);
}
