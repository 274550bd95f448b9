/* SPDX-License-Identifier: Apache-2.0
 *
 * See names_watch.h.
 *
 * Theory of operation. /etc/resolv.conf can be a file, a link, a link to a link in a directory that does not
 * exist yet, or missing. It changes when somebody writes to it, renames a file over it, or replaces a link.
 * So inotify watches every directory that decides where the path leads, and the file that it leads to. After
 * any event all watches are made again, and only then are the files read, so that no change falls between.
 */
#include "run/names_watch.h"

#include "lib/fd.h"
#include "nat/wire.h"
#include "run/host_names.h"
#include "seccomp/builtin.h"
#include "seccomp/program.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
        TALK = 3,        /* the number of the control socket in this process */
        SETTLE_MS = 100, /* a change usually comes as several events */
        LOOK_MS = 10000, /* between two looks where inotify is not available */
        LINKS_MAX = 40,  /* the kernel's limit of links in one path */
};

static const uint32_t directory_events =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
static const uint32_t file_events = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

void names_watch_add(int inotify, const char *path)
{
        autofree char *directory = str_copy("/");
        autofree char *rest = str_copy(path);
        for (int links = 0;;) {
                size_t skipped = strspn(rest, "/"), length = strcspn(rest + skipped, "/");
                autofree char *name = str_copy_n(rest + skipped, length);
                char *remaining = str_copy(rest + skipped + length);
                /* path_join() folds ".." as text, which is right here: no directory on the way is a link. */
                char *next = path_join(directory, name);
                char text[PATH_MAX];
                ssize_t link = readlink(next, text, sizeof(text) - 1);
                free(rest);
                rest = remaining;
                if (link > 0) {
                        text[link] = 0;
                        (void)inotify_add_watch(inotify, directory, directory_events);
                        rest = str_format("%s%s", text, remaining);
                        free(remaining);
                        free(next);
                        if (text[0] == '/')
                                directory[1] = 0;
                        if (++links > LINKS_MAX)
                                return;
                        continue;
                }
                bool missing = access(next, F_OK) < 0, last = rest[strspn(rest, "/")] == 0;
                if (missing || last)
                        (void)inotify_add_watch(inotify, directory, directory_events);
                if (!missing && last)
                        (void)inotify_add_watch(inotify, next, file_events);
                free(directory);
                directory = next;
                if (missing || last)
                        return;
        }
}

static void wait_for_change(int inotify)
{
        struct pollfd change = {.fd = inotify, .events = POLLIN};
        (void)poll(&change, 1, inotify < 0 ? LOOK_MS : -1);
        (void)poll(NULL, 0, SETTLE_MS);
}

static void tell(const char *names)
{
        struct nat_message head = {.type = NAT_RESOLVER};
        autoclose int file = fd_memory_file("names", names, strlen(names));
        if (file >= 0 && fd_send(TALK, &head, sizeof(head), file) < 0)
                _exit(0); /* hutch-nat has exited */
}

static bool has_server(const char *names)
{
        return strstr(names, "nameserver ") != NULL;
}

char *names_watch_read(const char *resolv_conf, const char *hosts, const struct network *network,
                       const char *told)
{
        char *names = host_names_read(resolv_conf, hosts, network);
        if (has_server(names) || !has_server(told))
                return names;
        free(names);
        (void)poll(NULL, 0, SETTLE_MS);
        return host_names_read(resolv_conf, hosts, network);
}

static _Noreturn void watch(const struct network *network, const char *known)
{
        char *told = str_copy(known);
        for (;;) {
                autoclose int inotify = inotify_init1(IN_CLOEXEC);
                if (inotify >= 0) {
                        names_watch_add(inotify, HOST_RESOLV_CONF);
                        names_watch_add(inotify, HOST_HOSTS);
                }
                char *names = names_watch_read(HOST_RESOLV_CONF, HOST_HOSTS, network, told);
                if (!str_equal(names, told))
                        tell(names);
                free(told);
                told = names;
                wait_for_change(inotify);
        }
}

/* The forked child: keeps the control socket and no other descriptor. */
static void confine(pid_t parent, int talk)
{
        struct seccomp_program filter = seccomp_for_names();
        (void)prctl(PR_SET_NAME, "hutch-names", 0, 0, 0);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int i = 0; i < 3; i++)
                if (dup2(null, i) < 0)
                        _exit(EXIT_SETUP);
        if ((talk != TALK && dup2(talk, TALK) < 0) || syscall(SYS_close_range, TALK + 1, ~0U, 0) < 0 ||
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
            getppid() != parent || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_install(&filter) < 0)
                _exit(EXIT_SETUP);
}

pid_t names_watch_start(const struct network *network, const char *told, int talk)
{
        pid_t parent = getpid(), child = fork();
        if (child != 0)
                return child;
        confine(parent, talk);
        watch(network, told);
}
