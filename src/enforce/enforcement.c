/* SPDX-License-Identifier: Apache-2.0
 *
 * See enforcement.h.
 */
#include "enforce/enforcement.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SYSTEMD_POLL, MEMORY_POLL, PIDS_POLL };

/* Reports once that the memory limit was reached. `used` is half a sentence, or empty. */
static enum enforcement_event end_at_limit(struct enforcement *enforcement, const char *used)
{
        char limit[24];
        (void)limits_write_size(enforcement->box->limits.memory_bytes, limit);
        if (!enforcement->limit_hit) {
                message_as(MESSAGE_LIMIT, "memory",
                           "--memory %s is used up%s: the sandbox was ended; --memory SIZE permits more",
                           limit, used);
                enforcement->limit_reached(enforcement->context, "memory", limit,
                                           limit_mechanism_name(enforcement->limits.memory));
        }
        enforcement->limit_hit = true;
        return ENFORCEMENT_LIMIT_REACHED;
}

static void report_pids(const struct enforcement *enforcement)
{
        char limit[24];
        (void)snprintf(limit, sizeof(limit), "%u", enforcement->box->limits.pids);
        message_as(
            MESSAGE_LIMIT, "pids",
            "--pids %s is used up: the command can start no further process or thread; --pids N permits more",
            limit);
        enforcement->limit_reached(enforcement->context, "pids", limit,
                                   limit_mechanism_name(enforcement->limits.processes));
}

enum enforcement_event enforcement_hear(struct enforcement *enforcement, const struct control_message *report)
{
        char text[64];
        switch (report->type) {
        case CONTROL_MEMORY:
                (void)snprintf(text, sizeof(text), " (%d MiB or more were held)", report->value);
                return end_at_limit(enforcement, text);
        case CONTROL_PIDS:
                report_pids(enforcement);
                break;
        case CONTROL_DISK:
                (void)limits_write_size(enforcement->box->memory_fs_bytes, text);
                message_as(
                    MESSAGE_LIMIT, "disk",
                    "a writable file system in memory is full: --disk %s, or the SIZE of a --tmpfs, is "
                    "used up",
                    text);
                enforcement->limit_reached(enforcement->context, "disk", text, "file system");
                break;
        case CONTROL_BLIND:
                message(
                    "the sandbox's memory can no longer be measured, and nothing else limits it here: ending "
                    "the sandbox");
                return ENFORCEMENT_LOST;
        default:
                break;
        }
        return ENFORCEMENT_NONE;
}

enum enforcement_event enforcement_read_cgroup(struct enforcement *enforcement)
{
        enum cgroup_event event = cgroup_read_events(&enforcement->cgroup);
        if (event == CGROUP_EVENT_MEMORY)
                return end_at_limit(enforcement, "");
        if (event == CGROUP_EVENT_PIDS)
                report_pids(enforcement);
        return ENFORCEMENT_NONE;
}

static void report_unheld(const struct limits *limits)
{
        autofree char *text = limits_describe_unheld(limits);
        if (text)
                message("%s", text);
}

bool enforcement_settle_cgroup(struct enforcement *enforcement, bool made, struct error *error)
{
        struct limits *limits = &enforcement->limits;
        struct cgroup *cgroup = &enforcement->cgroup;
        const struct box *box = enforcement->box;
        bool processors = false;
        unsigned char holds = 0;
        if (made && cgroup_verify(cgroup, limits, &processors))
                holds = CGROUP_HOLDS | (processors || !limits->cpus ? CGROUP_HOLDS_PROCESSORS : 0);
        enforcement->cgroup_deadline = -1;
        limits_settle(limits, holds, box->outer_uid, box->proc, cgroup->why);
        if (!holds) {
                message_verbose("no cgroup enforces the limits: %s", cgroup->why);
                cgroup_remove(cgroup);
        }
        if (!limits_check(limits, box->required, error))
                return false;
        autofree char *text = limits_describe(limits, box->memory_fs_bytes);
        message_verbose("limits in force: %s", text);
        report_unheld(limits);
        struct launch *launch = enforcement->launch;
        if (launch && launch->permission >= 0)
                (void)!write(launch->permission, &holds, 1);
        if (launch)
                fd_close(&launch->permission);
        return true;
}

bool enforcement_begin(struct enforcement *enforcement, const struct box *box,
                       enforcement_limit *limit_reached, void *context, struct error *error)
{
        struct cgroup *cgroup = &enforcement->cgroup;
        enforcement->box = box;
        enforcement->limit_reached = limit_reached;
        enforcement->context = context;
        enforcement->limits = box->limits;
        switch (box->limits.way) {
        case CGROUP_WAY_SYSTEMD:
                return cgroup_connect_systemd(cgroup, box->outer_uid) ||
                       enforcement_settle_cgroup(enforcement, false, error);
        case CGROUP_WAY_DELEGATED:
                return enforcement_settle_cgroup(enforcement, cgroup_create(cgroup, &box->limits), error);
        case CGROUP_WAY_NONE:
                report_unheld(&box->limits);
                break;
        }
        return true;
}

int enforcement_cgroup(const struct enforcement *enforcement)
{
        return enforcement->cgroup.parent >= 0 ? enforcement->cgroup.directory : -1;
}

bool enforcement_request_cgroup(struct enforcement *enforcement, struct launch *launch, struct error *error)
{
        enforcement->launch = launch;
        if (launch->permission < 0)
                return true;
        enforcement->cgroup_deadline = clock_now_ms() + CGROUP_TIMEOUT_MS;
        return cgroup_request_scope(&enforcement->cgroup, launch->process, &enforcement->limits) ||
               enforcement_settle_cgroup(enforcement, false, error);
}

void enforcement_poll(const struct enforcement *enforcement, struct pollfd *polls)
{
        polls[SYSTEMD_POLL] = (struct pollfd){.fd = enforcement->cgroup.scope.socket, .events = POLLIN};
        polls[MEMORY_POLL] = (struct pollfd){.fd = enforcement->cgroup.memory_events, .events = POLLPRI};
        polls[PIDS_POLL] = (struct pollfd){.fd = enforcement->cgroup.pids_events, .events = POLLPRI};
}

enum enforcement_event enforcement_read(struct enforcement *enforcement, const struct pollfd *polls,
                                        struct error *error)
{
        if (polls[SYSTEMD_POLL].revents) {
                enum systemd_scope_progress progress =
                    cgroup_read_systemd(&enforcement->cgroup, enforcement->launch->process);
                if (progress != SYSTEMD_SCOPE_WAITING &&
                    !enforcement_settle_cgroup(enforcement, progress == SYSTEMD_SCOPE_DONE, error))
                        return ENFORCEMENT_LOST;
        }
        if (polls[MEMORY_POLL].revents || polls[PIDS_POLL].revents)
                return enforcement_read_cgroup(enforcement);
        return ENFORCEMENT_NONE;
}

bool enforcement_meet_deadline(struct enforcement *enforcement, struct error *error)
{
        struct cgroup *cgroup = &enforcement->cgroup;
        if (enforcement->cgroup_deadline < 0 || clock_now_ms() < enforcement->cgroup_deadline)
                return true;
        (void)snprintf(cgroup->why, sizeof(cgroup->why), "systemd did not answer in %d ms",
                       CGROUP_TIMEOUT_MS);
        return enforcement_settle_cgroup(enforcement, false, error);
}
