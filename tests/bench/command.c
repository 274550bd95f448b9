/* SPDX-License-Identifier: Apache-2.0
 *
 * See command.h. Nothing here may cost time between two readings of the clock that it need not cost.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Files stay above every number that a command may ask for. */
enum { FIRST_FILE = 100 };

void command_fail(const char *what, const char *why)
{
        fprintf(stderr, "%s: %s\n", what, why);
        exit(1);
}

void *command_allocate(size_t count, size_t size)
{
        void *memory = calloc(count, size);
        if (!memory)
                command_fail("memory", strerror(ENOMEM));
        return memory;
}

size_t command_number(const char *text)
{
        char *end;
        errno = 0;
        unsigned long value = strtoul(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || *text == '-')
                command_fail(text, "not a number");
        return value;
}

uint64_t command_now(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* `field` is N<PATH. */
static void add_file(struct command *command, const char *field)
{
        char *end;
        unsigned long number = strtoul(field, &end, 10);
        const char *path = end + 1;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                command_fail(path, strerror(errno));
        struct command_file *file = &command->files[command->file_count++];
        file->fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE);
        if (file->fd < 0 || number >= FIRST_FILE)
                command_fail(path, "no descriptor for it");
        file->number = (int)number;
        close(fd);
}

static void parse_line(struct command *command, char *line)
{
        size_t fields = 1;
        for (const char *at = line; *at; at++)
                fields += *at == '\t';
        command->files = command_allocate(fields, sizeof(*command->files));
        command->argv = command_allocate(fields + 1, sizeof(*command->argv));
        command->name = strsep(&line, "\t");

        size_t arguments = 0;
        for (char *field; (field = strsep(&line, "\t"));) {
                size_t digits = strspn(field, "0123456789");
                if (arguments == 0 && digits > 0 && field[digits] == '<')
                        add_file(command, field);
                else
                        command->argv[arguments++] = field;
        }
        if (arguments == 0)
                command_fail(command->name, "has no arguments");
}

struct command_list command_read(const char *path)
{
        FILE *file = fopen(path, "re");
        if (!file)
                command_fail(path, strerror(errno));
        struct command_list list = {0};
        char *line = NULL;
        size_t size = 0;
        for (ssize_t length; (length = getline(&line, &size, file)) > 0; line = NULL, size = 0) {
                if (line[length - 1] == '\n')
                        line[length - 1] = '\0';
                list.commands = reallocarray(list.commands, list.count + 1, sizeof(*list.commands));
                if (!list.commands)
                        command_fail(path, strerror(ENOMEM));
                list.commands[list.count] = (struct command){0};
                parse_line(&list.commands[list.count++], line);
        }
        free(line);
        fclose(file);
        if (list.count == 0)
                command_fail(path, "names no command");
        return list;
}

void command_rewind(const struct command *command)
{
        for (size_t i = 0; i < command->file_count; i++)
                if (lseek(command->files[i].fd, 0, SEEK_SET) != 0)
                        command_fail(command->name, strerror(errno));
}

pid_t command_spawn(const struct command *command, int input, int output)
{
        posix_spawn_file_actions_t actions;
        int error = posix_spawn_file_actions_init(&actions);
        error = error ? error : posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        error = error ? error
                      : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        for (size_t i = 0; i < command->file_count; i++)
                error = error ? error
                              : posix_spawn_file_actions_adddup2(&actions, command->files[i].fd,
                                                                 command->files[i].number);
        /* What this program ignores is not ignored by a command of a client's: pasta would not even start. */
        posix_spawnattr_t attributes;
        sigset_t defaults;
        sigemptyset(&defaults);
        sigaddset(&defaults, SIGPIPE);
        error = error ? error : posix_spawnattr_init(&attributes);
        error = error ? error : posix_spawnattr_setsigdefault(&attributes, &defaults);
        error = error ? error : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        pid_t pid = 0;
        error = error ? error
                      : posix_spawn(&pid, command->argv[0], &actions, &attributes, command->argv, environ);
        if (error)
                command_fail(command->name, strerror(error));
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return pid;
}

void command_wait(const struct command *command, pid_t pid)
{
        int status;
        if (waitpid(pid, &status, 0) != pid)
                command_fail(command->name, strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                char why[64];
                snprintf(why, sizeof(why), WIFEXITED(status) ? "exit status %d" : "ended by signal %d",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
                command_fail(command->name, why);
        }
}

void command_shuffle(size_t *order, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                size_t j = (size_t)random() % (i + 1);
                order[i] = order[j];
                order[j] = i;
        }
}

void command_print(const struct command_list *list, uint64_t *const *figures, size_t samples)
{
        for (size_t i = 0; i < list->count; i++) {
                printf("%s\"%s\":[", i == 0 ? "{" : ",\n", list->commands[i].name);
                for (size_t j = 0; j < samples; j++)
                        printf(j == 0 ? "%" PRIu64 : ",%" PRIu64, figures[i][j]);
                printf("]");
        }
        printf("}\n");
}
