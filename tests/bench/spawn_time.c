/* SPDX-License-Identifier: Apache-2.0
 *
 * How long commands take from spawn to reaped, in nanoseconds, one after the other in a new random order each
 * round. Usage: spawn_time COMMANDS ROUNDS WARMUP (command.h has the form of COMMANDS).
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int main(int argc, char **argv)
{
        if (argc != 4)
                command_fail("usage", "spawn_time COMMANDS ROUNDS WARMUP");
        struct command_list list = command_read(argv[1]);
        size_t rounds = command_number(argv[2]), warmup = command_number(argv[3]);
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing < 0)
                command_fail("/dev/null", strerror(errno));

        size_t *order = command_allocate(list.count, sizeof(*order));
        uint64_t **figures = command_allocate(list.count, sizeof(*figures));
        for (size_t i = 0; i < list.count; i++)
                figures[i] = command_allocate(rounds, sizeof(**figures));

        for (size_t round = 0; round < warmup + rounds; round++) {
                command_shuffle(order, list.count);
                for (size_t i = 0; i < list.count; i++) {
                        const struct command *command = &list.commands[order[i]];
                        command_rewind(command);
                        uint64_t start = command_now();
                        pid_t pid = command_spawn(command, nothing, nothing);
                        command_wait(command, pid);
                        if (round >= warmup)
                                figures[order[i]][round - warmup] = command_now() - start;
                }
        }
        command_print(&list, figures, rounds);
        return 0;
}
