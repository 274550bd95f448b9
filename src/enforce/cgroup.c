/* SPDX-License-Identifier: Apache-2.0
 *
 * See cgroup.h.
 */
#include "enforce/cgroup.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "lib/tree_walk.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#define PREFIX "hutch-"

enum { TEXT_SIZE = 512, PERIOD_US = 100000 };

__attribute__((format(printf, 2, 3))) static bool set_reason(struct cgroup *cgroup, const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(cgroup->why, sizeof(cgroup->why), format, arguments);
        va_end(arguments);
        return false;
}

/* ---- files of the cgroup ---- */

static int write_number(const struct cgroup *cgroup, const char *name, uint64_t value)
{
        char text[32];
        (void)snprintf(text, sizeof(text), "%ju", (uintmax_t)value);
        return fd_write_file(cgroup->directory, name, text);
}

/* The content of an open file, "" when it cannot be read. */
static const char *read_text(int file, char text[TEXT_SIZE])
{
        ssize_t length = file < 0 || lseek(file, 0, SEEK_SET) < 0 ? 0 : read(file, text, TEXT_SIZE - 1);
        text[length > 0 ? length : 0] = 0;
        return text;
}

static const char *read_file(const struct cgroup *cgroup, const char *name, char text[TEXT_SIZE])
{
        autoclose int file = openat(cgroup->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return read_text(file, text);
}

/* The number after `key` at the start of a line, or 0. */
static unsigned long find_count(const char *text, const char *key)
{
        size_t length = strlen(key);
        for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL)
                if (str_starts(line, key) && strcspn(line, " ") == length)
                        return strtoul(line + length, NULL, 10);
        return 0;
}

static bool open_events(struct cgroup *cgroup)
{
        cgroup->memory_events = openat(cgroup->directory, "memory.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        cgroup->pids_events = openat(cgroup->directory, "pids.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char text[TEXT_SIZE];
        /* The kernel raises POLLPRI only on a file that was read before. */
        (void)read_text(cgroup->memory_events, text);
        (void)read_text(cgroup->pids_events, text);
        return cgroup->memory_events >= 0 && cgroup->pids_events >= 0;
}

bool cgroup_verify(struct cgroup *cgroup, const struct limits *limits, bool *processors)
{
        char text[TEXT_SIZE];
        unsigned long long quota = 0, period = 0;
        /* The kernel rounds down to whole pages. */
        unsigned long long memory = strtoull(read_file(cgroup, "memory.max", text), NULL, 10);
        if (memory == 0 || memory > limits->memory_bytes)
                return set_reason(cgroup, "memory has no limit in %s", cgroup->name);
        unsigned long long tasks = strtoull(read_file(cgroup, "pids.max", text), NULL, 10);
        if (tasks == 0 || tasks > limits->pids + 1ULL)
                return set_reason(cgroup, "processes have no limit in %s", cgroup->name);
        /* The file is missing without a swap controller; then nothing is swapped out uncounted. */
        (void)read_file(cgroup, "memory.swap.max", text);
        if (text[0] && !str_equal(text, "0\n") &&
            fd_write_file(cgroup->directory, "memory.swap.max", "0") < 0)
                return set_reason(cgroup, "swap has no limit in %s", cgroup->name);
        (void)fd_write_file(cgroup->directory, "memory.oom.group", "1");
        *processors = sscanf(read_file(cgroup, "cpu.max", text), "%llu %llu", &quota, &period) == 2 &&
                      period > 0 && quota * LIMITS_CPUS_WHOLE <= period * limits->cpus;
        return open_events(cgroup) || set_reason(cgroup, "%s has no event files", cgroup->name);
}

/* ---- systemd ---- */

bool cgroup_connect_systemd(struct cgroup *cgroup, uid_t caller)
{
        char path[LIMITS_PATH_SIZE];
        int error = limits_systemd_socket(caller, path);
        if (error == 0)
                error = systemd_scope_connect(&cgroup->scope, path);
        if (error == -EXDEV)
                return set_reason(cgroup, "your systemd runs in another pid namespace");
        return error == 0 || set_reason(cgroup, "%s: %s", path, strerror(-error));
}

bool cgroup_request_scope(struct cgroup *cgroup, pid_t process, const struct limits *limits)
{
        int error = systemd_scope_request(&cgroup->scope, process, limits);
        return error == 0 || set_reason(cgroup, "cannot ask systemd: %s", strerror(-error));
}

/* Opens the cgroup that the process is in, which must be the requested scope. */
static bool open_scope(struct cgroup *cgroup, pid_t process)
{
        char file[64];
        char *content = NULL;
        (void)snprintf(file, sizeof(file), "/proc/%d/cgroup", process);
        if (fd_read_file(file, 1 << 16, &content) < 0)
                return set_reason(cgroup, "%s cannot be read", file);
        autofree char *text = content;
        autofree char *path = limits_cgroup_path(text);
        if (!path)
                return set_reason(cgroup, "the sandbox is in no cgroup");
        if (!str_equal(path_base(path), cgroup->scope.name))
                return set_reason(cgroup, "systemd did not put the sandbox into its scope");
        autofree char *directory = str_format("/sys/fs/cgroup%s", path);
        (void)snprintf(cgroup->name, sizeof(cgroup->name), "%s", cgroup->scope.name);
        cgroup->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return cgroup->directory >= 0 || set_reason(cgroup, "%s: %s", directory, strerror(errno));
}

enum systemd_scope_progress cgroup_read_systemd(struct cgroup *cgroup, pid_t process)
{
        enum systemd_scope_progress progress =
            systemd_scope_read(&cgroup->scope, cgroup->why, sizeof(cgroup->why));
        if (progress == SYSTEMD_SCOPE_WAITING)
                return progress;
        fd_close(&cgroup->scope.socket);
        return progress == SYSTEMD_SCOPE_DONE && open_scope(cgroup, process) ? SYSTEMD_SCOPE_DONE
                                                                             : SYSTEMD_SCOPE_REFUSED;
}

/* ---- delegated ---- */

/* Removes what a killed hutch left: a cgroup whose name holds the id of a process that no longer exists. The
 * kernel refuses to remove a cgroup with processes in it. */
static void remove_old(int parent)
{
        autoclosedir DIR *directory = tree_open(parent, ".");
        for (const struct dirent *entry; directory && (entry = tree_next(directory));) {
                if (!str_starts(entry->d_name, PREFIX) ||
                    !isdigit((unsigned char)entry->d_name[sizeof(PREFIX) - 1]))
                        continue;
                pid_t maker = (pid_t)strtol(entry->d_name + sizeof(PREFIX) - 1, NULL, 10);
                if (maker > 0 && kill(maker, 0) < 0 && errno == ESRCH)
                        (void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
        }
}

int cgroup_set_limits(const struct cgroup *cgroup, const struct limits *limits)
{
        char text[64];
        int error = write_number(cgroup, "memory.max", limits->memory_bytes);
        if (error == 0)
                error = write_number(cgroup, "pids.max", limits->pids + 1ULL);
        if (error < 0 || !limits->cpus)
                return error;
        (void)snprintf(text, sizeof(text), "%u %d", limits->cpus * (PERIOD_US / LIMITS_CPUS_WHOLE),
                       PERIOD_US);
        return fd_write_file(cgroup->directory, "cpu.max", text);
}

bool cgroup_create(struct cgroup *cgroup, const struct limits *limits)
{
        (void)snprintf(cgroup->name, sizeof(cgroup->name), PREFIX "%d", getpid());
        cgroup->parent = open(limits->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroup->parent < 0)
                return set_reason(cgroup, "%s: %s", limits->cgroup, strerror(errno));
        remove_old(cgroup->parent);
        if (mkdirat(cgroup->parent, cgroup->name, 0755) < 0) {
                int error = errno;
                fd_close(&cgroup->parent);
                return set_reason(cgroup, "cannot make a cgroup in %s: %s", limits->cgroup, strerror(error));
        }
        cgroup->directory =
            openat(cgroup->parent, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        int error = cgroup->directory < 0 ? -errno : cgroup_set_limits(cgroup, limits);
        return error == 0 ||
               set_reason(cgroup, "the cgroup in %s accepts no limits: %s", limits->cgroup, strerror(-error));
}

/* ---- while the sandbox runs ---- */

enum cgroup_event cgroup_read_events(struct cgroup *cgroup)
{
        char text[TEXT_SIZE] = "";
        (void)read_text(cgroup->memory_events, text);
        if (find_count(text, "oom_kill") + find_count(text, "oom_group_kill") > 0)
                return CGROUP_EVENT_MEMORY;
        (void)read_text(cgroup->pids_events, text);
        if (cgroup->reported_pids || find_count(text, "max") == 0)
                return CGROUP_EVENT_NONE;
        cgroup->reported_pids = true;
        return CGROUP_EVENT_PIDS;
}

void cgroup_remove(struct cgroup *cgroup)
{
        fd_close(&cgroup->scope.socket);
        fd_close(&cgroup->memory_events);
        fd_close(&cgroup->pids_events);
        fd_close(&cgroup->directory);
        if (cgroup->parent >= 0)
                (void)unlinkat(cgroup->parent, cgroup->name, AT_REMOVEDIR);
        fd_close(&cgroup->parent);
}
