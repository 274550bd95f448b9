/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of stdio servers that only measures, in nanoseconds: how soon a fresh server answers `initialize`,
 * how long one line takes there and back, and, for whoever weighs them from outside, many servers kept alive.
 * Its own ends of the pipes are ordinary ones of the default size.
 *
 *   roundtrip initialize COMMANDS ROUNDS WARMUP
 *   roundtrip lines COMMANDS ROUNDS BLOCK SEND RECEIVE   in each round BLOCK lines of SEND bytes to each
 *                                                        server; each must answer with RECEIVE bytes
 *   roundtrip hold COMMANDS COUNT...                     starts the first command until COUNT of them live,
 *                                                        prints how long each took, waits for a line on stdin
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024 };

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";

struct server {
        const struct command *command;
        pid_t pid;
        int input, output; /* our ends */
};

/* The pipes are made before the clock starts: no peer has a part in them. */
static uint64_t start_server(struct server *server, const struct command *command)
{
        int input[2], output[2];
        if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
                command_fail(command->name, strerror(errno));
        command_rewind(command);

        uint64_t start = command_now();
        server->pid = command_spawn(command, input[0], output[1]);
        server->command = command;
        server->input = input[1];
        server->output = output[0];
        close(input[0]);
        close(output[1]);
        if (fcntl(server->input, F_SETFL, O_NONBLOCK) != 0)
                command_fail(command->name, strerror(errno));
        return start;
}

static void end_server(const struct server *server)
{
        close(server->input);
        command_wait(server->command, server->pid);
        close(server->output);
}

/* Reads what is there; true when the answer's line has ended. Only one line is under way at a time. */
static bool receive(const struct server *server, char *buffer, size_t *received)
{
        ssize_t count = read(server->output, buffer, READ_SIZE);
        if (count <= 0)
                command_fail(server->command->name,
                             count == 0 ? "ended before it answered" : strerror(errno));
        *received += (size_t)count;
        return buffer[count - 1] == '\n';
}

/* One line there and one back; the length of the answer, whose last piece stays in `buffer` (READ_SIZE). */
static size_t exchange(const struct server *server, const char *line, size_t length, char *buffer)
{
        size_t sent = 0, received = 0;
        bool ended = false;
        while (sent < length) {
                ssize_t count = write(server->input, line + sent, length - sent);
                if (count > 0) {
                        sent += (size_t)count;
                        continue;
                }
                if (errno != EAGAIN)
                        command_fail(server->command->name, strerror(errno));
                struct pollfd polls[] = {{.fd = server->input, .events = POLLOUT},
                                         {.fd = server->output, .events = POLLIN}};
                if (poll(polls, 2, -1) < 0)
                        command_fail("poll", strerror(errno));
                if (polls[1].revents)
                        ended = receive(server, buffer, &received);
        }
        while (!ended)
                ended = receive(server, buffer, &received);
        return received;
}

static uint64_t start_and_initialize(struct server *server, const struct command *command, char *buffer)
{
        uint64_t start = start_server(server, command);
        size_t length = exchange(server, initialize, sizeof(initialize) - 1, buffer);
        uint64_t took = command_now() - start;
        if (length > READ_SIZE || !memmem(buffer, length, "\"protocolVersion\"", 17))
                command_fail(command->name, "did not answer initialize");
        return took;
}

static void measure_initialize(const struct command_list *list, uint64_t **figures, size_t rounds,
                               size_t warmup, char *buffer)
{
        size_t *order = command_allocate(list->count, sizeof(*order));
        for (size_t round = 0; round < warmup + rounds; round++) {
                command_shuffle(order, list->count);
                for (size_t i = 0; i < list->count; i++) {
                        struct server server;
                        uint64_t took = start_and_initialize(&server, &list->commands[order[i]], buffer);
                        if (round >= warmup)
                                figures[order[i]][round - warmup] = took;
                        end_server(&server);
                }
        }
        free(order);
}

/* A message as long as asked, its newline included. */
static char *make_line(size_t length)
{
        static const char begin[] = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"x\":\"",
                          end[] = "\"}}\n";
        const size_t begin_length = sizeof(begin) - 1, end_length = sizeof(end) - 1;
        if (length < begin_length + end_length)
                command_fail("SEND", "too short for a message");
        char *line = command_allocate(length, 1);
        memset(line, 'x', length);
        memcpy(line, begin, begin_length);
        memcpy(line + length - end_length, end, end_length);
        return line;
}

/* Blocks of lines, because a conversation runs warm; rounds of blocks, because the machine changes. The first
 * block of each server is its warm-up. */
static void measure_lines(const struct command_list *list, uint64_t **figures, size_t rounds, size_t block,
                          size_t send, size_t answer, char *buffer)
{
        size_t *order = command_allocate(list->count, sizeof(*order));
        struct server *servers = command_allocate(list->count, sizeof(*servers));
        char *line = make_line(send);
        for (size_t i = 0; i < list->count; i++)
                start_server(&servers[i], &list->commands[i]);
        for (size_t round = 0; round < 1 + rounds; round++) {
                command_shuffle(order, list->count);
                for (size_t i = 0; i < list->count; i++) {
                        const struct server *server = &servers[order[i]];
                        for (size_t j = 0; j < block; j++) {
                                uint64_t start = command_now();
                                size_t received = exchange(server, line, send, buffer);
                                uint64_t took = command_now() - start;
                                if (received != answer)
                                        command_fail(server->command->name, "answer of the wrong length");
                                if (round > 0)
                                        figures[order[i]][(round - 1) * block + j] = took;
                        }
                }
        }
        for (size_t i = 0; i < list->count; i++)
                end_server(&servers[i]);
        free(line);
        free(servers);
        free(order);
}

static void hold(const struct command *command, char **counts, char *buffer)
{
        struct server *servers = NULL;
        size_t alive = 0;
        for (; *counts; counts++) {
                size_t wanted = command_number(*counts);
                servers = reallocarray(servers, wanted, sizeof(*servers));
                if (!servers)
                        command_fail("memory", strerror(ENOMEM));
                printf("[");
                for (const char *comma = ""; alive < wanted; alive++, comma = ",")
                        printf("%s%" PRIu64, comma, start_and_initialize(&servers[alive], command, buffer));
                printf("]\n");
                fflush(stdout);
                while (getchar() != '\n')
                        if (feof(stdin))
                                command_fail("hold", "nobody waits for it any more");
        }
        while (alive > 0)
                end_server(&servers[--alive]);
        free(servers);
}

int main(int argc, char **argv)
{
        static char buffer[READ_SIZE];
        const char *mode = argc > 1 ? argv[1] : "";
        bool initializes = strcmp(mode, "initialize") == 0 && argc == 5;
        bool lines = strcmp(mode, "lines") == 0 && argc == 7;
        bool holds = strcmp(mode, "hold") == 0 && argc > 3;
        if (!initializes && !lines && !holds)
                command_fail("usage", "roundtrip initialize|lines|hold COMMANDS NUMBER...");
        signal(SIGPIPE, SIG_IGN);
        struct command_list list = command_read(argv[2]);
        if (holds) {
                hold(&list.commands[0], argv + 3, buffer);
                return 0;
        }

        size_t rounds = command_number(argv[3]), second = command_number(argv[4]);
        size_t samples = lines ? rounds * second : rounds;
        uint64_t **figures = command_allocate(list.count, sizeof(*figures));
        for (size_t i = 0; i < list.count; i++)
                figures[i] = command_allocate(samples, sizeof(**figures));
        if (initializes)
                measure_initialize(&list, figures, rounds, second, buffer);
        else
                measure_lines(&list, figures, rounds, second, command_number(argv[5]),
                              command_number(argv[6]), buffer);
        command_print(&list, figures, samples);
        return 0;
}
