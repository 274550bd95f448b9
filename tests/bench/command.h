/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that are measured against each other, and how one of them is started: with posix_spawn, so
 * that the size of the measuring program does not count. Everything that can fail ends the program with one
 * line, because a figure of a command that did not work is worse than none.
 */
#ifndef HUTCH_BENCH_COMMAND_H
#define HUTCH_BENCH_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
        char *name;
        char **argv;
        struct command_file {
                int number; /* under which descriptor the command expects it */
                int fd;
        } * files;
        size_t file_count;
};

struct command_list {
        struct command *commands;
        size_t count;
};

/* Reads a text file: one command a line, fields separated by a tab: its name, then any number of `N<PATH`
 * (the command gets the file at descriptor N, read from its beginning each time), then its arguments. */
struct command_list command_read(const char *path);

/* Puts descriptors that commands read (bubblewrap's filter, for one) back to their beginning. Outside of what
 * is timed, in favour of the peers that need it. */
void command_rewind(const struct command *command);

/* Starts it with `input` and `output` as its 0 and 1, and nothing on 2. */
pid_t command_spawn(const struct command *command, int input, int output);

/* Waits for it; anything but status 0 ends the program. */
void command_wait(const struct command *command, pid_t pid);

/* Fills `order` with 0…count-1 in a random order: what a command leaves for the kernel to clean up must not
 * always be paid by the same neighbour. */
void command_shuffle(size_t *order, size_t count);

/* Nanoseconds of the monotonic clock. */
uint64_t command_now(void);

/* A positive number from the command line. */
size_t command_number(const char *text);

/* One JSON object on stdout: for each command the array of its `samples` figures. */
void command_print(const struct command_list *list, uint64_t *const *figures, size_t samples);

/* Memory that is there, or the end. */
void *command_allocate(size_t count, size_t size);

_Noreturn void command_fail(const char *what, const char *why);

#endif
