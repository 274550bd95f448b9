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
#include "ns/landlock.h"
#include "run/host_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>

enum { LINKS_MAX = 40 }; /* the kernel's limit of links in one path */

static const char *const files[] = {HOST_RESOLV_CONF, HOST_HOSTS};

enum { FILES = sizeof(files) / sizeof(*files) };

static const uint32_t directory_events =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
static const uint32_t file_events = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

static void add(struct names_watch *watch, const char *path, uint32_t events)
{
        int made = watch->count < NAMES_WATCHES_MAX ? inotify_add_watch(watch->inotify, path, events) : -1;
        if (made >= 0)
                watch->watches[watch->count++] = made;
}

void names_watch_add(struct names_watch *watch, const char *path)
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
                        add(watch, directory, directory_events);
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
                        add(watch, directory, directory_events);
                if (!missing && last)
                        add(watch, next, file_events);
                free(directory);
                directory = next;
                if (missing || last)
                        return;
        }
}

void names_watch_forget_events(const struct names_watch *watch)
{
        char events[4096];
        while (read(watch->inotify, events, sizeof(events)) > 0)
                ;
}

void names_watch_renew(struct names_watch *watch)
{
        while (watch->count > 0)
                (void)inotify_rm_watch(watch->inotify, watch->watches[--watch->count]);
        names_watch_forget_events(watch); /* removing a watch is one, too */
        for (size_t i = 0; i < FILES; i++)
                names_watch_add(watch, files[i]);
}

void names_watch_begin(struct names_watch *watch, const struct network *network, int socket)
{
        watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        names_watch_renew(watch);
        watch->told = host_names_read(HOST_RESOLV_CONF, HOST_HOSTS, network, socket);
}

/* True when the file now leads to a directory that names_watch_confine() left out. */
static bool is_out_of_reach(const char *path)
{
        autoclose int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return file < 0 && errno == EACCES;
}

static bool has_server(const char *names)
{
        return strstr(names, "nameserver ") != NULL;
}

bool names_watch_look(struct names_watch *watch, const char *resolv_conf, const char *hosts,
                      const struct network *network, int socket)
{
        if (is_out_of_reach(resolv_conf) || is_out_of_reach(hosts))
                return watch->doubted = false;
        autofree char *names = host_names_read(resolv_conf, hosts, network, socket);
        watch->doubted = !watch->doubted && !has_server(names) && has_server(watch->told);
        if (watch->doubted || str_equal(names, watch->told))
                return false;
        free(watch->told);
        watch->told = str_copy(names);
        return true;
}

int names_watch_confine(void)
{
        char *directories[2 * FILES];
        size_t count = 0;
        for (size_t i = 0; i < FILES; i++) {
                autofree char *real = realpath(files[i], NULL);
                directories[count++] = path_parent(files[i]);
                if (real)
                        directories[count++] = path_parent(real);
        }
        int error = landlock_permit_reading((const char *const *)directories, count);
        while (count > 0)
                free(directories[--count]);
        return error;
}

void names_watch_end(struct names_watch *watch)
{
        fd_close(&watch->inotify);
        free(watch->told);
        watch->told = NULL;
}
