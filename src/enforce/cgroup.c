/* SPDX-License-Identifier: Apache-2.0
 *
 * See cgroup.h. cgroup_look() and cgroup_end() make no call but those that the supervisor's filter permits.
 */
#include "enforce/cgroup.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#define PREFIX "hutch-"

enum { TEXT_SIZE = 512, PERIOD_US = 100000 };

void cgroup_init(struct cgroup *group)
{
        group->bus.socket = -1;
        group->directory = group->parent = group->memory_events = group->pids_events = -1;
        group->said_pids = false;
        group->why[0] = 0;
}

__attribute__((format(printf, 2, 3))) static bool fail(struct cgroup *group, const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(group->why, sizeof(group->why), format, arguments);
        va_end(arguments);
        return false;
}

/* ---- its files ---- */

static int write_file(const struct cgroup *group, const char *name, const char *text)
{
        autoclose int file = openat(group->directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        return file < 0 ? -errno : fd_write_all(file, text, strlen(text));
}

static int write_number(const struct cgroup *group, const char *name, uint64_t value)
{
        char text[32];
        (void)snprintf(text, sizeof(text), "%ju", (uintmax_t)value);
        return write_file(group, name, text);
}

/* The text of a file, "" when it cannot be read. */
static const char *read_text(int file, char text[TEXT_SIZE])
{
        ssize_t length = file < 0 || lseek(file, 0, SEEK_SET) < 0 ? 0 : read(file, text, TEXT_SIZE - 1);
        text[length > 0 ? length : 0] = 0;
        return text;
}

static const char *read_file(const struct cgroup *group, const char *name, char text[TEXT_SIZE])
{
        autoclose int file = openat(group->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return read_text(file, text);
}

/* The number behind a key at the beginning of a line. */
static unsigned long count_of(const char *text, const char *key)
{
        size_t length = strlen(key);
        for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
                if (strncmp(line, key, length) == 0 && line[length] == ' ')
                        return strtoul(line + length, NULL, 10);
        return 0;
}

static bool open_events(struct cgroup *group)
{
        group->memory_events = openat(group->directory, "memory.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        group->pids_events = openat(group->directory, "pids.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char text[TEXT_SIZE];
        /* Only a file that was read tells when it changes. */
        (void)read_text(group->memory_events, text);
        (void)read_text(group->pids_events, text);
        return group->memory_events >= 0 && group->pids_events >= 0;
}

bool cgroup_check(struct cgroup *group, const struct limits *limits, bool *processors)
{
        char text[TEXT_SIZE];
        unsigned long long quota = 0, period = 0;
        /* The kernel rounds to whole pages. */
        unsigned long long memory = strtoull(read_file(group, "memory.max", text), NULL, 10);
        if (memory == 0 || memory > limits->memory_bytes)
                return fail(group, "memory has no limit in %s", group->name);
        unsigned long long tasks = strtoull(read_file(group, "pids.max", text), NULL, 10);
        if (tasks == 0 || tasks > limits->pids + 1ULL)
                return fail(group, "processes have no limit in %s", group->name);
        /* Without a swap controller nothing can be swapped out of it uncounted. */
        (void)read_file(group, "memory.swap.max", text);
        if (text[0] && strtoull(text, NULL, 10) != 0 && write_file(group, "memory.swap.max", "0") < 0)
                return fail(group, "swap has no limit in %s", group->name);
        if (text[0] == 'm' && write_file(group, "memory.swap.max", "0") < 0)
                return fail(group, "swap has no limit in %s", group->name);
        (void)write_file(group, "memory.oom.group", "1");
        *processors = sscanf(read_file(group, "cpu.max", text), "%llu %llu", &quota, &period) == 2 &&
                      period > 0 && quota * LIMITS_CPUS_WHOLE <= period * limits->cpus;
        return open_events(group) || fail(group, "%s tells no events", group->name);
}

/* ---- systemd ---- */

bool cgroup_connect(struct cgroup *group, uid_t caller)
{
        char path[LIMITS_PATH_SIZE];
        int error = limits_systemd_socket(caller, path);
        if (error == 0)
                error = systemd_scope_connect(&group->bus, path);
        if (error == -EXDEV)
                return fail(group, "your systemd lives in another pid namespace");
        return error == 0 || fail(group, "%s: %s", path, strerror(-error));
}

bool cgroup_ask(struct cgroup *group, pid_t process, const struct limits *limits)
{
        int error = systemd_scope_ask(&group->bus, process, limits);
        return error == 0 || fail(group, "cannot ask systemd: %s", strerror(-error));
}

/* Opens the group in which the process is; it must be the scope that was asked for. */
static bool open_scope(struct cgroup *group, pid_t process)
{
        char path[64];
        char *text = NULL;
        (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", process);
        if (fd_read_file(path, 1 << 16, &text) < 0)
                return fail(group, "%s cannot be read", path);
        autofree char *groups = text;
        const char *own = str_starts(groups, "0::/") ? groups : strstr(groups, "\n0::/");
        if (!own)
                return fail(group, "the sandbox is in no control group");
        own = strstr(own, "::") + 2;
        autofree char *place = str_format("/sys/fs/cgroup%.*s", (int)strcspn(own, "\n"), own);
        if (!str_equal(strrchr(place, '/') + 1, group->bus.scope))
                return fail(group, "systemd did not put the sandbox into its scope");
        (void)snprintf(group->name, sizeof(group->name), "%s", group->bus.scope);
        group->directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return group->directory >= 0 || fail(group, "%s: %s", place, strerror(errno));
}

enum systemd_scope_progress cgroup_read(struct cgroup *group, pid_t process)
{
        enum systemd_scope_progress progress =
            systemd_scope_read(&group->bus, group->why, sizeof(group->why));
        if (progress == SYSTEMD_SCOPE_WAITING)
                return progress;
        fd_close(&group->bus.socket);
        return progress == SYSTEMD_SCOPE_DONE && open_scope(group, process) ? SYSTEMD_SCOPE_DONE
                                                                            : SYSTEMD_SCOPE_REFUSED;
}

/* ---- delegated ---- */

/* Removes what a killed hutch left: a group whose name says a process that is no more. The kernel removes no
 * group with anything in it. */
static void remove_old(int parent)
{
        int again = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = again < 0 ? NULL : fdopendir(again);
        for (const struct dirent *entry; directory && (entry = readdir(directory));) {
                if (!str_starts(entry->d_name, PREFIX) ||
                    !isdigit((unsigned char)entry->d_name[sizeof(PREFIX) - 1]))
                        continue;
                pid_t maker = (pid_t)strtol(entry->d_name + sizeof(PREFIX) - 1, NULL, 10);
                if (maker > 0 && kill(maker, 0) < 0 && errno == ESRCH)
                        (void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
        }
        if (directory)
                closedir(directory);
        else if (again >= 0)
                close(again);
}

static int set_limits(const struct cgroup *group, const struct limits *limits)
{
        char text[64];
        int error = write_number(group, "memory.max", limits->memory_bytes);
        if (error == 0)
                error = write_number(group, "pids.max", limits->pids + 1ULL);
        if (error < 0 || !limits->cpus)
                return error;
        (void)snprintf(text, sizeof(text), "%u %d", limits->cpus * (PERIOD_US / LIMITS_CPUS_WHOLE),
                       PERIOD_US);
        return write_file(group, "cpu.max", text);
}

bool cgroup_make(struct cgroup *group, const struct limits *limits)
{
        (void)snprintf(group->name, sizeof(group->name), PREFIX "%d", getpid());
        group->parent = open(limits->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (group->parent < 0)
                return fail(group, "%s: %s", limits->cgroup, strerror(errno));
        remove_old(group->parent);
        if (mkdirat(group->parent, group->name, 0755) < 0) {
                int error = errno;
                fd_close(&group->parent);
                return fail(group, "no group can be made in %s: %s", limits->cgroup, strerror(error));
        }
        group->directory =
            openat(group->parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        int error = group->directory < 0 ? -errno : set_limits(group, limits);
        return error == 0 ||
               fail(group, "the group in %s takes no limits: %s", limits->cgroup, strerror(-error));
}

/* ---- while it runs ---- */

enum cgroup_event cgroup_look(struct cgroup *group)
{
        char text[TEXT_SIZE];
        (void)read_text(group->memory_events, text);
        if (count_of(text, "oom_kill") + count_of(text, "oom_group_kill") > 0)
                return CGROUP_MEMORY;
        (void)read_text(group->pids_events, text);
        if (group->said_pids || count_of(text, "max") == 0)
                return CGROUP_NOTHING;
        group->said_pids = true;
        return CGROUP_PROCESSES;
}

void cgroup_end(struct cgroup *group)
{
        fd_close(&group->bus.socket);
        fd_close(&group->memory_events);
        fd_close(&group->pids_events);
        fd_close(&group->directory);
        if (group->parent >= 0)
                (void)unlinkat(group->parent, group->name, AT_REMOVEDIR);
        fd_close(&group->parent);
}
