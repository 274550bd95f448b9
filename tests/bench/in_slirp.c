/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a command in a network of slirp4netns', which has no such thing: in new user and network namespaces
 * that slirp4netns has connected. With no more processes and waits than that takes, because it is measured.
 *
 *   in_slirp SLIRP4NETNS COMMAND...   an empty first argument: the same namespaces, connected to nothing
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
        int file = open(path, O_WRONLY | O_CLOEXEC);
        if (file < 0 || write(file, text, strlen(text)) < 0)
                command_fail(path, strerror(errno));
        close(file);
}

static void enter_namespaces(void)
{
        char map[32];
        snprintf(map, sizeof(map), "0 %u 1", getuid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
                command_fail("unshare", strerror(errno));
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", map);
}

/* In a child that waits until there is something to connect. */
static void become_slirp(char *program, const int entered[2], const int ready[2], const int end[2])
{
        char byte, target[16], ready_fd[32], exit_fd[32];
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int standard = 0; standard <= 2; standard++)
                dup2(nothing, standard);
        snprintf(target, sizeof(target), "%d", getppid());
        snprintf(ready_fd, sizeof(ready_fd), "--ready-fd=%d", ready[1]);
        snprintf(exit_fd, sizeof(exit_fd), "--exit-fd=%d", end[0]);
        close(entered[1]);
        close(end[1]);
        close(ready[0]);
        if (read(entered[0], &byte, 1) != 1)
                _exit(1);
        execl(program, program, "--configure", "--mtu=65520", "--disable-host-loopback", ready_fd, exit_fd,
              target, "tap0", (char *)NULL);
        _exit(127);
}

int main(int argc, char **argv)
{
        if (argc < 3)
                command_fail("usage", "in_slirp SLIRP4NETNS COMMAND...");
        if (argv[1][0]) {
                int entered[2], ready[2], end[2];
                char byte;
                /* The command holds one end of `end`: slirp4netns ends with it. */
                if (pipe2(entered, O_CLOEXEC) != 0 || pipe(ready) != 0 || pipe(end) != 0)
                        command_fail("pipe", strerror(errno));
                if (fork() == 0)
                        become_slirp(argv[1], entered, ready, end);
                close(ready[1]);
                close(end[0]);
                enter_namespaces();
                if (write(entered[1], "x", 1) != 1 || read(ready[0], &byte, 1) != 1)
                        command_fail(argv[1], "did not connect the namespaces");
                close(ready[0]);
        } else {
                enter_namespaces();
        }
        execv(argv[2], argv + 2);
        command_fail(argv[2], strerror(errno));
}
