/* SPDX-License-Identifier: Apache-2.0
 *
 * See limits.h.
 */
#include "limits/limits.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

enum { FILE_MAX = 1 << 16 };

const char *const limits_requirements[] = {"landlock", "cgroup", "memory", "pids", "cpus", NULL};

const char *limit_mechanism_name(enum limit_mechanism mechanism)
{
        static const char *const names[LIMIT_MECHANISMS] = {
            [LIMIT_UNASKED] = "no limit",  [LIMIT_NONE] = "none",
            [LIMIT_CGROUP] = "cgroup",     [LIMIT_PID_MAX] = "pid_max",
            [LIMIT_RLIMIT] = "rlimit",     [LIMIT_WATCHDOG] = "watchdog (can overshoot)",
            [LIMIT_AFFINITY] = "affinity",
        };
        return names[mechanism];
}

char *limits_write_size(uint64_t bytes, char *text)
{
        static const char units[] = "\0kmg";
        unsigned unit = 0;
        while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
                bytes /= 1024;
                unit++;
        }
        (void)snprintf(text, 24, "%ju%.1s", (uintmax_t)bytes, units + unit);
        return text;
}

char *limits_describe(const struct limits *limits, uint64_t disk_bytes)
{
        char memory[24], disk[24], cpus[24] = "";
        if (limits->cpus)
                (void)snprintf(cpus, sizeof(cpus), " %g", limits->cpus / (double)LIMITS_CPUS_WHOLE);
        return str_format("memory %s: %s; pids %u: %s; cpus%s: %s; disk %s: file system",
                          limits_write_size(limits->memory_bytes, memory),
                          limit_mechanism_name(limits->memory), limits->pids,
                          limit_mechanism_name(limits->processes), cpus,
                          limit_mechanism_name(limits->processors), limits_write_size(disk_bytes, disk));
}

char *limits_describe_unheld(const struct limits *limits)
{
        char size[24], memory[80], pids[24], cpus[24];
        (void)snprintf(memory, sizeof(memory), "%s (only each process alone is bounded)",
                       limits_write_size(limits->memory_bytes, size));
        (void)snprintf(pids, sizeof(pids), "%u", limits->pids);
        (void)snprintf(cpus, sizeof(cpus), "%g", limits->cpus / (double)LIMITS_CPUS_WHOLE);
        const struct {
                unsigned given;
                enum limit_mechanism held_by;
                const char *name, *value;
        } asked[] = {
            {REQUIRE_MEMORY, limits->memory, "memory", memory},
            {REQUIRE_PIDS, limits->processes, "pids", pids},
            {REQUIRE_CPUS, limits->processors, "cpus", cpus},
        };
        autofree char *options = str_copy("");
        autofree char *names = str_copy("");
        for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
                if (!(limits->given & asked[i].given) || asked[i].held_by != LIMIT_NONE)
                        continue;
                str_append(&options, "%s--%s %s", *options ? ", " : "", asked[i].name, asked[i].value);
                str_append(&names, "%s%s", *names ? "," : "", asked[i].name);
        }
        if (!*options)
                return NULL;
        return str_format(
            "nothing here enforces %s: %s; --require %s makes hutch refuse to run then, and hutch doctor "
            "shows what is missing",
            options, limits->no_cgroup ? limits->no_cgroup : "the cgroup does not enforce the processors",
            names);
}

bool limits_pid_max_is_own(void)
{
        struct utsname kernel;
        return uname(&kernel) == 0 && str_is_release(kernel.release, 6, 14);
}

/* ---- cgroups ---- */

char *limits_cgroup_path(const char *text)
{
        const char *line = str_starts(text, "0::/") ? text : strstr(text, "\n0::/");
        if (!line)
                return NULL;
        const char *path = strstr(line, "::") + 2;
        return str_copy_n(path, strcspn(path, "\n"));
}

/* The directory of the caller's cgroup, where all controllers are in version 2; else a negative errno.
 * For `path` of LIMITS_PATH_SIZE bytes. */
static int find_own_cgroup(char *path)
{
        struct statfs file_system;
        if (statfs(CGROUP_ROOT, &file_system) < 0)
                return -errno;
        if (file_system.f_type != CGROUP2_SUPER_MAGIC)
                return -ENODEV;
        char *text = NULL;
        ssize_t length = fd_read_file("/proc/self/cgroup", FILE_MAX, &text);
        if (length < 0)
                return (int)length;
        autofree char *groups = text;
        autofree char *own = limits_cgroup_path(groups);
        if (!own)
                return -ENODEV;
        /* A group outside the caller's cgroup namespace. */
        if (str_starts(own, "/.."))
                return -ENOENT;
        int written = snprintf(path, LIMITS_PATH_SIZE, "%s%s", CGROUP_ROOT, own[1] ? own : "");
        return written < LIMITS_PATH_SIZE ? 0 : -ENAMETOOLONG;
}

/* Whether groups below `directory` have the controllers that the limits need. */
static bool has_controllers(const char *directory, bool processors)
{
        autofree char *path = str_format("%s/cgroup.subtree_control", directory);
        char *text = NULL;
        if (fd_read_file(path, FILE_MAX, &text) < 0)
                return false;
        autofree char *list = text;
        list[strcspn(list, "\n")] = 0;
        return str_words_have(list, "memory", 6) && str_words_have(list, "pids", 4) &&
               (!processors || str_words_have(list, "cpu", 3));
}

/* The nearest directory, from the caller's cgroup upward, in which the caller may make a group and put
 * processes into it. Only groups whose controllers are already enabled count: the kernel enables none in a
 * group with processes, and hutch does not move other processes. */
static bool find_delegated(char *directory, bool processors)
{
        if (find_own_cgroup(directory) < 0)
                return false;
        for (;;) {
                autofree char *procs = str_format("%s/cgroup.procs", directory);
                if (access(directory, W_OK) < 0 || access(procs, W_OK) < 0)
                        return false; /* the kernel does not let processes move across such a group */
                if (has_controllers(directory, processors))
                        return true;
                char *slash = strrchr(directory, '/');
                if (str_equal(directory, CGROUP_ROOT) || !slash)
                        return false;
                *slash = 0;
        }
}

int limits_systemd_socket(uid_t caller, char *path)
{
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        int length;
        if (caller == 0)
                length = snprintf(path, LIMITS_PATH_SIZE, "/run/dbus/system_bus_socket");
        else if (runtime && runtime[0] == '/')
                length = snprintf(path, LIMITS_PATH_SIZE, "%s/bus", runtime);
        else
                length = snprintf(path, LIMITS_PATH_SIZE, "/run/user/%u/bus", caller);
        if (length < 0 || (size_t)length >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
                return -ENAMETOOLONG;
        return access(path, F_OK) < 0 ? -errno : 0;
}

/* ---- choosing ---- */

/* What enforces the processors' limit where no cgroup does. */
static enum limit_mechanism choose_processors(const struct limits *limits)
{
        if (!limits->cpus)
                return LIMIT_UNASKED;
        return limits->cpus % LIMITS_CPUS_WHOLE == 0 ? LIMIT_AFFINITY : LIMIT_NONE;
}

void limits_choose_without_cgroup(struct limits *limits, uid_t caller, bool proc, const char *why)
{
        limits->way = CGROUP_WAY_NONE;
        limits->no_cgroup = why;
        limits->memory = proc ? LIMIT_WATCHDOG : LIMIT_NONE;
        /* The kernel exempts root from the resource limit. */
        limits->processes = caller ? LIMIT_RLIMIT : limits_pid_max_is_own() ? LIMIT_PID_MAX : LIMIT_NONE;
        limits->processors = choose_processors(limits);
}

void limits_choose(struct limits *limits, uid_t caller, bool proc)
{
        char path[LIMITS_PATH_SIZE];
        int own = find_own_cgroup(path);
        if (own < 0) {
                limits_choose_without_cgroup(limits, caller, proc,
                                             own == -ENOENT
                                                 ? "the caller's cgroup is not visible"
                                                 : "/sys/fs/cgroup does not have all cgroups in version 2");
                return;
        }
        if (limits_systemd_socket(caller, path) == 0)
                limits->way = CGROUP_WAY_SYSTEMD;
        else if (find_delegated(limits->cgroup, limits->cpus))
                limits->way = CGROUP_WAY_DELEGATED;
        else {
                limits_choose_without_cgroup(
                    limits, caller, proc,
                    "no cgroup is delegated to you, and no systemd user manager runs for you");
                return;
        }
        limits->memory = limits->processes = LIMIT_CGROUP;
        limits->processors = limits->cpus ? LIMIT_CGROUP : LIMIT_UNASKED;
}

void limits_settle(struct limits *limits, unsigned holds, uid_t caller, bool proc, const char *why)
{
        if (!(holds & CGROUP_HOLDS))
                limits_choose_without_cgroup(limits, caller, proc, why);
        else if (!(holds & CGROUP_HOLDS_PROCESSORS))
                limits->processors = choose_processors(limits);
}

static bool refuse(const struct limits *limits, const char *what, enum limit_mechanism mechanism,
                   struct error *error)
{
        return error_set(error, EXIT_SETUP, "--require %s cannot be met: the limit would be held by %s%s%s",
                         what, mechanism == LIMIT_NONE ? "nothing" : limit_mechanism_name(mechanism),
                         limits->no_cgroup ? ": " : "", limits->no_cgroup ? limits->no_cgroup : "");
}

bool limits_check(const struct limits *limits, unsigned required, struct error *error)
{
        if (required & REQUIRE_CGROUP && limits->way == CGROUP_WAY_NONE)
                return error_set(error, EXIT_SETUP, "--require cgroup cannot be met: %s", limits->no_cgroup);
        if (required & REQUIRE_MEMORY && limits->memory != LIMIT_CGROUP)
                return refuse(limits, "memory", limits->memory, error);
        if (required & REQUIRE_PIDS && limits->processes == LIMIT_NONE)
                return refuse(limits, "pids", limits->processes, error);
        if (required & REQUIRE_CPUS && limits->processors == LIMIT_NONE)
                return refuse(limits, "cpus", limits->processors, error);
        return true;
}
