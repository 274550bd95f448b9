/* SPDX-License-Identifier: Apache-2.0
 *
 * See names_watch.h.
 *
 * Theory of operation. /etc/resolv.conf can be a file, a link, or missing. It changes when somebody writes to
 * it, renames a file over it, or replaces the link. So inotify watches the directory of the path, the one in
 * which the file really is, and the file. Landlock permits the supervisor to read files of the same
 * directories only, so a change elsewhere on a chain of links leads nowhere that it could read. After any
 * event all watches are made again, and only then are the files read, so that no change falls between.
 */
#include "run/names_watch.h"

#include "lib/fd.h"
#include "ns/landlock.h"
#include "run/host_names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

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

/* Lists the directory of `path` and the one in which its file really is. */
static void list_directories(const char *path, struct str_list *directories)
{
        autofree char *real = realpath(path, NULL);
        str_list_take(directories, path_parent(path));
        if (real)
                str_list_take(directories, path_parent(real));
}

void names_watch_add(struct names_watch *watch, const char *path)
{
        struct str_list directories = {0};
        list_directories(path, &directories);
        watch->missing |= directories.count < 2;
        for (size_t i = 0; i < directories.count; i++)
                add(watch, directories.values[i], directory_events);
        str_list_free(&directories);
        add(watch, path, file_events); /* which follows links */
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
        watch->missing = false;
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

int names_watch_next_look(const struct names_watch *watch)
{
        if (watch->doubted)
                return NAMES_SETTLE_MS;
        if (watch->inotify < 0)
                return NAMES_LOOK_MS;
        return watch->missing ? NAMES_MISSING_MS : -1;
}

int names_watch_confine(void)
{
        struct str_list directories = {0};
        for (size_t i = 0; i < FILES; i++)
                list_directories(files[i], &directories);
        int error = landlock_permit_reading((const char *const *)directories.values, directories.count);
        str_list_free(&directories);
        return error;
}

void names_watch_end(struct names_watch *watch)
{
        fd_close(&watch->inotify);
        free(watch->told);
        watch->told = NULL;
}
