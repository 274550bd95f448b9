/* SPDX-License-Identifier: Apache-2.0
 *
 * See enforcement.h. What is not certain to hold is never reported as held: a group's limits are read back,
 * and pid 1 waits until it is known what holds.
 */
#include "enforce/enforcement.h"
#include "lib/clock.h"

#include "lib/fd.h"
#include "lib/messages.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WATCHDOG_POLL, BUS_POLL, MEMORY_POLL, PIDS_POLL };

void enforcement_init(struct enforcement *enforcement)
{
        *enforcement = (struct enforcement){.group_at = -1, .watchdog = WATCHDOG_NONE};
        cgroup_init(&enforcement->group);
}

/* More memory is held than was permitted: the kernel would have refused it, hutch can only end it. */
static enum enforcement_event end_at_limit(struct enforcement *enforcement, const char *used)
{
        char limit[24];
        (void)limits_write_size(enforcement->box->limits.memory_bytes, limit);
        if (!enforcement->hit) {
                message("--memory %s is used up%s: the sandbox was ended; --memory SIZE permits more", limit,
                        used);
                enforcement->limit_reached(enforcement->context, "memory", limit,
                                           limit_mechanism_name(enforcement->limits.memory));
        }
        enforcement->hit = true;
        return ENFORCEMENT_HIT;
}

static void say_processes(const struct enforcement *enforcement)
{
        char limit[24];
        (void)snprintf(limit, sizeof(limit), "%u", enforcement->box->limits.pids);
        message(
            "--pids %s is used up: the command can start no further process or thread; --pids N permits more",
            limit);
        enforcement->limit_reached(enforcement->context, "pids", limit,
                                   limit_mechanism_name(enforcement->limits.processes));
}

static enum enforcement_event read_watchdog(struct enforcement *enforcement, bool ended)
{
        uint64_t value = 0;
        char text[64];
        switch (watchdog_read(&enforcement->watchdog, &value)) {
        case WATCHDOG_NOTHING:
                break;
        case WATCHDOG_MEMORY:
                (void)snprintf(text, sizeof(text), " (%ju MiB or more were held)", (uintmax_t)(value >> 20));
                return end_at_limit(enforcement, text);
        case WATCHDOG_PROCESSES:
                say_processes(enforcement);
                break;
        case WATCHDOG_DISK:
                (void)limits_write_size(enforcement->box->memory_fs_bytes, text);
                message("what is writable in memory is full: --disk %s, or the SIZE of a --tmpfs, is used up",
                        text);
                enforcement->limit_reached(enforcement->context, "disk", text, "file system");
                break;
        case WATCHDOG_BLIND:
        case WATCHDOG_GONE:
                fd_close(&enforcement->watchdog.talk);
                if (ended)
                        break;
                message("what the sandbox holds of memory can no longer be measured, and nothing else bounds "
                        "it here: ending it");
                return ENFORCEMENT_LOST;
        }
        return ENFORCEMENT_NOTHING;
}

static enum enforcement_event look_at_group(struct enforcement *enforcement)
{
        switch (cgroup_look(&enforcement->group)) {
        case CGROUP_NOTHING:
                break;
        case CGROUP_MEMORY:
                return end_at_limit(enforcement, "");
        case CGROUP_PROCESSES:
                say_processes(enforcement);
                break;
        }
        return ENFORCEMENT_NOTHING;
}

static void say_unheld(const struct limits *limits)
{
        autofree char *text = limits_describe_unheld(limits);
        if (text)
                message("%s", text);
}

/* The control group is known, or known not to come: pid 1 waits for this. False when what was required does
 * not hold. */
static bool settle(struct enforcement *enforcement, bool made, struct error *error)
{
        struct limits *limits = &enforcement->limits;
        struct cgroup *group = &enforcement->group;
        const struct box *box = enforcement->box;
        bool processors = false;
        unsigned char holds = 0;
        if (made && cgroup_check(group, limits, &processors))
                holds = CGROUP_HOLDS | (processors || !limits->cpus ? CGROUP_HOLDS_PROCESSORS : 0);
        enforcement->group_at = -1;
        limits_settle(limits, holds, box->outer_uid, box->proc, group->why);
        if (!holds) {
                message_verbose("no control group holds the limits: %s", group->why);
                cgroup_end(group);
        }
        if (!limits_check(limits, box->required, error))
                return false;
        autofree char *text = limits_describe(limits, box->memory_fs_bytes);
        message_verbose("limits in force: %s", text);
        say_unheld(limits);
        struct launch *launch = enforcement->launch;
        if (launch && launch->permission >= 0)
                (void)!write(launch->permission, &holds, 1);
        if (launch)
                fd_close(&launch->permission);
        return true;
}

/* Whatever of the group, before the launch, can be made. */
static bool begin_group(struct enforcement *enforcement, struct error *error)
{
        struct cgroup *group = &enforcement->group;
        switch (enforcement->limits.way) {
        case CGROUP_WAY_SYSTEMD:
                return cgroup_connect(group, enforcement->box->outer_uid) ||
                       settle(enforcement, false, error);
        case CGROUP_WAY_DELEGATED:
                return settle(enforcement, cgroup_make(group, &enforcement->limits), error);
        case CGROUP_WAY_NONE:
                say_unheld(&enforcement->limits);
                break;
        }
        return true;
}

bool enforcement_begin(struct enforcement *enforcement, const struct box *box,
                       enforcement_limit *limit_reached, void *context, struct error *error)
{
        enforcement->box = box;
        enforcement->limit_reached = limit_reached;
        enforcement->context = context;
        enforcement->limits = box->limits;
        if (!begin_group(enforcement, error))
                return false;
        /* It may be needed as long as a group is not certain. */
        bool watched = box->proc && (enforcement->limits.memory == LIMIT_WATCHDOG ||
                                     enforcement->limits.way == CGROUP_WAY_SYSTEMD);
        int failed = watched ? watchdog_prepare(&enforcement->watchdog) : 0;
        return failed == 0 || error_set(error, EXIT_SETUP, "cannot make a socket: %s", strerror(-failed));
}

int enforcement_group(const struct enforcement *enforcement)
{
        return enforcement->group.parent >= 0 ? enforcement->group.directory : -1;
}

bool enforcement_ask(struct enforcement *enforcement, struct launch *launch, struct error *error)
{
        enforcement->launch = launch;
        if (launch->permission < 0)
                return true;
        enforcement->group_at = clock_now_ms() + CGROUP_PATIENCE_MS;
        return cgroup_ask(&enforcement->group, launch->process, &enforcement->limits) ||
               settle(enforcement, false, error);
}

enum enforcement_event enforcement_watch(struct enforcement *enforcement)
{
        if (enforcement->watchdog.places < 0)
                return ENFORCEMENT_NOTHING;
        if (enforcement->limits.memory != LIMIT_WATCHDOG) {
                watchdog_end(&enforcement->watchdog);
                return ENFORCEMENT_NOTHING;
        }
        int error = watchdog_start(&enforcement->watchdog, &enforcement->limits);
        if (error == 0)
                return ENFORCEMENT_NOTHING;
        message("cannot start the watchdog over memory: %s", strerror(-error));
        return ENFORCEMENT_LOST;
}

void enforcement_poll(const struct enforcement *enforcement, struct pollfd *polls)
{
        polls[WATCHDOG_POLL] = (struct pollfd){.fd = enforcement->watchdog.talk, .events = POLLIN};
        polls[BUS_POLL] = (struct pollfd){.fd = enforcement->group.bus.socket, .events = POLLIN};
        polls[MEMORY_POLL] = (struct pollfd){.fd = enforcement->group.memory_events, .events = POLLPRI};
        polls[PIDS_POLL] = (struct pollfd){.fd = enforcement->group.pids_events, .events = POLLPRI};
}

enum enforcement_event enforcement_read(struct enforcement *enforcement, const struct pollfd *polls,
                                        bool ended, struct error *error)
{
        enum enforcement_event event = ENFORCEMENT_NOTHING;
        if (polls[WATCHDOG_POLL].revents)
                event = read_watchdog(enforcement, ended);
        if (polls[BUS_POLL].revents) {
                enum systemd_scope_progress progress =
                    cgroup_read(&enforcement->group, enforcement->launch->process);
                if (progress != SYSTEMD_SCOPE_WAITING &&
                    !settle(enforcement, progress == SYSTEMD_SCOPE_DONE, error))
                        return ENFORCEMENT_LOST;
        }
        if (event == ENFORCEMENT_NOTHING && (polls[MEMORY_POLL].revents || polls[PIDS_POLL].revents))
                event = look_at_group(enforcement);
        return event;
}

long long enforcement_deadline(const struct enforcement *enforcement)
{
        return enforcement->group_at;
}

bool enforcement_meet_deadline(struct enforcement *enforcement, struct error *error)
{
        struct cgroup *group = &enforcement->group;
        if (enforcement->group_at < 0 || clock_now_ms() < enforcement->group_at)
                return true;
        (void)snprintf(group->why, sizeof(group->why), "systemd did not answer in %d ms", CGROUP_PATIENCE_MS);
        return settle(enforcement, false, error);
}

void enforcement_look(struct enforcement *enforcement)
{
        (void)look_at_group(enforcement);
}

void enforcement_let_go(struct enforcement *enforcement)
{
        fd_close(&enforcement->watchdog.talk);
}

void enforcement_end(struct enforcement *enforcement)
{
        cgroup_end(&enforcement->group);
        watchdog_end(&enforcement->watchdog);
}
