/* SPDX-License-Identifier: Apache-2.0
 *
 * See supervise.h.
 */
#include "run/supervise.h"

#include "enforce/enforcement.h"
#include "grants/watched_names.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/pages.h"
#include "ns/control.h"
#include "ns/failure.h"
#include "ns/landlock.h"
#include "ns/launch.h"
#include "run/bridge.h"
#include "run/deadlines.h"
#include "run/ending.h"
#include "run/filter_helper.h"
#include "run/mount_watch.h"
#include "run/nat_helper.h"
#include "run/poller.h"
#include "run/run_log.h"
#include "run/signals.h"
#include "run/status_lines.h"
#include "run/terminal.h"
#include "seccomp/builtin.h"
#include "seccomp/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
        SETTLE_MS = 500,     /* after the start; a short run is spared the cost of giving memory back */
        NOTICE_SECONDS = 60, /* before --timeout */
};

struct supervisor {
        const struct box *box;
        struct run_log *log;
        struct bridge *bridge;
        struct terminal terminal;
        struct launch launch;
        struct nat_helper nat;
        struct filter_helper filter;
        struct enforcement enforcement;
        struct mount_watch *watch; /* or NULL */
        struct poller poller;
        struct signals signals;

        bool started; /* the command was executed */
        bool ended;   /* pid 1 is gone, with everything inside */
        struct ending_facts facts;

        sigset_t sent;  /* polite signals that the server has had; none is repeated */
        bool sent_term; /* hutch has sent SIGTERM on its own */
        struct grace grace;
        unsigned long long taken; /* bytes_state() when DEADLINE_DRAIN was set */

        long long launched_at; /* monotonic ms */
        struct deadlines deadlines;
};

static void control(const struct supervisor *supervisor, enum control_type type, int value)
{
        struct control_message request = {.type = type, .value = value};
        (void)send(supervisor->launch.control, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void kill_sandbox(struct supervisor *supervisor)
{
        supervisor->deadlines.at[DEADLINE_KILL] = DEADLINE_NEVER;
        (void)syscall(SYS_pidfd_send_signal, supervisor->launch.init, SIGKILL, NULL, 0);
}

/* Sends a signal to the server, unless it has had it already. */
static void send_once(struct supervisor *supervisor, int signal_number)
{
        if (sigismember(&supervisor->sent, signal_number))
                return;
        sigaddset(&supervisor->sent, signal_number);
        control(supervisor, CONTROL_SIGNAL, signal_number);
}

static void kill_soon(struct supervisor *supervisor)
{
        deadlines_set_once(&supervisor->deadlines, DEADLINE_KILL, clock_now_ms() + CONTROL_KILL_AFTER_MS);
}

/* Stops the server on hutch's own decision. */
static void terminate_server(struct supervisor *supervisor)
{
        supervisor->sent_term = true;
        send_once(supervisor, SIGTERM);
        kill_soon(supervisor);
}

/* Continues the server, and gives it the terminal when hutch itself has it. */
static void continue_server(struct supervisor *supervisor)
{
        control(supervisor, CONTROL_CONTINUE, terminal_lend(&supervisor->terminal));
}

/* Stops hutch as the server was stopped, so that the shell sees a stopped job; returns once it is continued.
 * Does so only for a job of a terminal: elsewhere a server that stops itself would stop hutch's deadlines.
 * When the parent is in another session, no shell could continue hutch, and the kernel itself would not stop
 * an orphaned job. */
static void stop_with_server(struct supervisor *supervisor)
{
        if (supervisor->terminal.descriptor < 0)
                return;
        terminal_take_back(&supervisor->terminal);
        if (getsid(getppid()) == getsid(0))
                raise(SIGSTOP);
        continue_server(supervisor);
}

/* A signal from outside, or the hang-up of the terminal, tells hutch to stop. */
static void stop_run(struct supervisor *supervisor, int signal_number)
{
        if (!supervisor->facts.stop_signal)
                supervisor->facts.stop_signal = signal_number;
        send_once(supervisor, signal_number);
        kill_soon(supervisor);
}

static void read_signals(struct supervisor *supervisor)
{
        struct signalfd_siginfo info;
        while (read(supervisor->signals.descriptor, &info, sizeof(info)) == sizeof(info)) {
                int signal_number = (int)info.ssi_signo;
                if (signal_number == SIGCONT)
                        continue_server(supervisor);
                else if (signals_stop_run(supervisor->box->kind, signal_number))
                        stop_run(supervisor, signal_number);
                else
                        control(supervisor, CONTROL_SIGNAL, signal_number);
        }
}

/* Something that was required no longer holds. The server gets no grace, because it may use the gap. */
static void end_unenforced(struct supervisor *supervisor)
{
        supervisor->facts.unenforced = true;
        kill_sandbox(supervisor);
}

static void end_by_limits(struct supervisor *supervisor, enum enforcement_event event)
{
        if (event == ENFORCEMENT_LIMIT_REACHED)
                kill_sandbox(supervisor);
        else if (event == ENFORCEMENT_LOST && !supervisor->ended)
                end_unenforced(supervisor);
}

/* Pid 1 has sent SIGTERM and ends everything inside soon. */
static void note_timeout(struct supervisor *supervisor)
{
        supervisor->facts.timed_out = true;
        supervisor->sent_term = true;
        sigaddset(&supervisor->sent, SIGTERM);
        kill_soon(supervisor);
        message_as(MESSAGE_LIMIT, "timeout", "the time of --timeout %u is over; stopping the command",
                   supervisor->box->timeout_seconds);
}

static void read_control(struct supervisor *supervisor)
{
        struct control_message report;
        ssize_t length = recv(supervisor->launch.control, &report, sizeof(report), MSG_DONTWAIT);
        /* ECONNRESET comes once when pid 1 exits with a request unread; its reports can still be read. */
        if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
                return;
        if (length != sizeof(report)) { /* pid 1 has closed its end and is exiting */
                supervisor->ended = true;
                return;
        }
        if (report.type == CONTROL_STOPPED) {
                stop_with_server(supervisor);
        } else if (report.type == CONTROL_EXITED) {
                supervisor->facts.exited = true;
                supervisor->facts.wait_status = report.value;
        } else if (report.type == CONTROL_TIMEOUT) {
                note_timeout(supervisor);
        } else {
                end_by_limits(supervisor, enforcement_hear(&supervisor->enforcement, &report));
        }
}

/* Loads the supervisor's own filter, which allows moving bytes and sending signals, and with network rules
 * reading the files of the host's resolver. The server is starting meanwhile, so this delays nobody. */
static void confine(struct supervisor *supervisor)
{
        int error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
        bool follows = error == 0 && supervisor->nat.process && nat_helper_follow_names(&supervisor->nat);
        struct seccomp_program filter = seccomp_for_supervisor(follows);
        if (error == 0)
                error = seccomp_install(&filter);
        int look = follows ? names_watch_next_look(&supervisor->nat.names) : -1;
        if (look >= 0)
                supervisor->deadlines.at[DEADLINE_NAMES] = clock_now_ms() + look;
        if (error < 0) {
                message("cannot load the supervisor's system call filter: %s", strerror(-error));
                kill_sandbox(supervisor);
        }
}

/* Reads the failure pipe. End of file means that the command was executed. False when a step failed. */
static bool read_failure(struct supervisor *supervisor, struct held_sources *held, struct error *error)
{
        struct failure failure;
        ssize_t length = read(supervisor->launch.failure, &failure, sizeof(failure));
        if (length < 0)
                return true;
        held_sources_release(held);
        fd_close(&supervisor->launch.failure);
        if (length == sizeof(failure)) {
                supervisor->log->failure = failure;
                failure_explain(&failure, error);
                return false;
        }
        supervisor->started = true;
        status_lines_chosen(supervisor->box, &supervisor->enforcement.limits);
        status_lines_started(supervisor->launch.process);
        message_verbose("the command started %lld ms after the clone of the namespaces",
                        clock_now_ms() - supervisor->launched_at);
        poller_begin(&supervisor->poller);
        confine(supervisor);
        long long now = clock_now_ms(), *at = supervisor->deadlines.at;
        unsigned timeout = supervisor->box->timeout_seconds;
        at[DEADLINE_SETTLE] = now + SETTLE_MS;
        if (timeout > NOTICE_SECONDS)
                at[DEADLINE_NOTICE] = now + (timeout - NOTICE_SECONDS) * 1000LL;
        return true;
}

static void meet_deadlines(struct supervisor *supervisor)
{
        struct deadlines *deadlines = &supervisor->deadlines;
        long long now = clock_now_ms();
        if (deadlines_take(deadlines, DEADLINE_SETTLE, now)) {
                control(supervisor, CONTROL_SETTLE, 0);
                pages_forget_start();
                if (supervisor->watch && !mount_watch_begin(supervisor->watch))
                        end_unenforced(supervisor);
        }
        if (deadlines_take(deadlines, DEADLINE_NAMES, now)) {
                int again = nat_helper_tell_names(&supervisor->nat, &supervisor->box->network);
                if (again >= 0)
                        deadlines->at[DEADLINE_NAMES] = now + again;
        }
        if (deadlines_take(deadlines, DEADLINE_NOTICE, now))
                message_as(MESSAGE_NOTE, "timeout", "%d seconds left of --timeout %u", NOTICE_SECONDS,
                           supervisor->box->timeout_seconds);
        if (deadlines_take(deadlines, DEADLINE_TERM, now)) {
                supervisor->facts.abandoned = true;
                terminate_server(supervisor);
        }
        if (deadlines_take(deadlines, DEADLINE_KILL, now))
                kill_sandbox(supervisor);
}

/* ---- bytes, which the bridge carries, or hutch-filter in its place ---- */

static struct bytes_state bytes_state(const struct supervisor *supervisor)
{
        const struct filter_helper *filter = &supervisor->filter;
        struct bytes_state bridge = bridge_state(supervisor->bridge), state = filter->state;
        if (!filter->process)
                return bridge;
        /* Stderr still passes through the bridge. A filter that has exited moves nothing any more. */
        state.drained = (state.drained || filter->control < 0) && bridge.drained;
        state.taken += bridge.taken;
        return state;
}

/* Gives the server its grace once the client has ended. */
static void watch_client(struct supervisor *supervisor)
{
        struct bytes_state state = bytes_state(supervisor);
        if (supervisor->box->stop_grace_seconds == LIMIT_NO_GRACE || supervisor->sent_term ||
            !(state.input_ended || state.client_gone))
                return;
        long long term_at = deadlines_extend_grace(&supervisor->grace, state.given,
                                                   supervisor->box->stop_grace_seconds, clock_now_ms());
        if (term_at != DEADLINE_NEVER)
                supervisor->deadlines.at[DEADLINE_TERM] = term_at;
}

/* True once the sandbox has ended and the client has, or can no longer get, all that the server wrote. */
static bool is_finished(struct supervisor *supervisor)
{
        struct bytes_state state = bytes_state(supervisor);
        return supervisor->ended &&
               (state.drained || deadlines_give_up_drain(&supervisor->deadlines, state.taken,
                                                         &supervisor->taken, clock_now_ms()));
}

/* Without hutch-nat the server would have a network that silently died; without hutch-filter it would have no
 * rules. So the end of a helper ends the sandbox. */
static void lose_helper(struct supervisor *supervisor, int *control, const char *what, const char *without)
{
        fd_close(control);
        if (supervisor->ended)
                return;
        message("%s has ended; ending the sandbox, which %s without it", what, without);
        end_unenforced(supervisor);
}

static bool run_loop(struct supervisor *supervisor, struct held_sources *held, struct error *error)
{
        enum {
                SIGNALS,
                CONTROL,
                FAILURE,
                TERMINAL,
                WATCH,
                NAT,
                NAMES,
                FILTER,
                LIMITS,
                OWN = LIMITS + ENFORCEMENT_POLLS
        };
        while (!is_finished(supervisor)) {
                struct pollfd polls[OWN + BRIDGE_POLL_MAX] = {
                    [SIGNALS] = {.fd = supervisor->signals.descriptor, .events = POLLIN},
                    [CONTROL] = {.fd = supervisor->ended ? -1 : supervisor->launch.control, .events = POLLIN},
                    [FAILURE] = {.fd = supervisor->launch.failure, .events = POLLIN},
                    /* The kernel sends the SIGHUP of a terminal to its foreground group alone, which is the
                       server's; so hutch looks for the hang-up itself. */
                    [TERMINAL] = {.fd = supervisor->facts.stop_signal || supervisor->signals.ignores_hang_up
                                            ? -1
                                            : supervisor->terminal.descriptor},
                    [WATCH] = {.fd = mount_watch_descriptor(supervisor->watch), .events = POLLIN},
                    [NAT] = {.fd = supervisor->nat.control, .events = POLLIN},
                    [NAMES] = {.fd = supervisor->nat.names.inotify, .events = POLLIN},
                    [FILTER] = {.fd = supervisor->filter.control, .events = POLLIN},
                };
                enforcement_poll(&supervisor->enforcement, polls + LIMITS);
                size_t quiet, bridged = bridge_poll(supervisor->bridge, polls + OWN, &quiet);
                int timeout = deadlines_timeout(&supervisor->deadlines,
                                                supervisor->enforcement.cgroup_deadline, clock_now_ms());
                int ready = poller_wait(&supervisor->poller, polls, OWN + quiet, OWN + bridged, timeout);
                if (ready > 0) {
                        bridge_move(supervisor->bridge, polls + OWN, bridged);
                        if (polls[FAILURE].revents && !read_failure(supervisor, held, error))
                                return false;
                        if (polls[SIGNALS].revents)
                                read_signals(supervisor);
                        if (polls[TERMINAL].revents)
                                stop_run(supervisor, SIGHUP);
                        if (polls[WATCH].revents && !mount_watch_read(supervisor->watch))
                                end_unenforced(supervisor);
                        if (polls[CONTROL].revents && !polls[FAILURE].revents)
                                read_control(supervisor);
                        if (polls[NAT].revents && !nat_helper_read(&supervisor->nat, supervisor->log))
                                lose_helper(supervisor, &supervisor->nat.control,
                                            "the network helper (hutch-nat)", "has no network");
                        if (polls[NAMES].revents) {
                                names_watch_forget_events(&supervisor->nat.names);
                                deadlines_set_once(&supervisor->deadlines, DEADLINE_NAMES,
                                                   clock_now_ms() + NAMES_SETTLE_MS);
                        }
                        if (polls[FILTER].revents &&
                            !filter_helper_read(&supervisor->filter, supervisor->log))
                                lose_helper(supervisor, &supervisor->filter.control,
                                            "the MCP firewall (hutch-filter)", "must not run");
                        end_by_limits(supervisor,
                                      enforcement_read(&supervisor->enforcement, polls + LIMITS, error));
                        if (error->status)
                                return false;
                }
                if (!enforcement_meet_deadline(&supervisor->enforcement, error))
                        return false;
                watch_client(supervisor);
                meet_deadlines(supervisor);
        }
        return true;
}

static int exit_status(struct supervisor *supervisor)
{
        struct run_log *log = supervisor->log;
        supervisor->facts.limit_reached = supervisor->enforcement.limit_hit;
        log->ending = ending_judge(&supervisor->facts);
        if (log->ending == ENDING_KILLED)
                message("the sandbox was killed from outside (its first process got SIGKILL): look for the "
                        "kernel's out-of-memory report with `sudo dmesg | tail`");
        return ending_status(log->ending, &supervisor->facts, &log->signal_number);
}

static void close_server_ends(int (*server)[3])
{
        for (int i = 0; i < 3; i++)
                fd_close(&(*server)[i]);
}

/* Starts the helpers and clones the sandbox. */
static bool start(struct supervisor *supervisor, struct held_sources *held, struct error *error)
{
        const struct box *box = supervisor->box;
        bool filtered = box_has_filter(box);
        bool lines = box->kind == BOX_MCP && !box->raw_stdout;
        static const bool filter_carries[3] = {true, true, false};
        __attribute__((cleanup(close_server_ends))) int server[3] = {-1, -1, -1};
        supervisor->bridge =
            bridge_new(lines, filtered ? filter_carries : supervisor->terminal.passed, server, error);
        if (!supervisor->bridge)
                return false;
        messages_send_to(bridge_say, supervisor->bridge);

        if (!run_log_open_file(supervisor->log, box, error))
                return false;
        /* On this pair hutch-filter asks hutch-nat what it refused. */
        autoclose int nat_end = -1, filter_end = -1;
        if (box->tools.explain && box_has_network(box) &&
            !fd_socket_pair(&nat_end, &filter_end, SOCK_NONBLOCK))
                return error_set(error, EXIT_SETUP, "cannot connect the helpers: %s", strerror(errno));
        if (filtered &&
            !filter_helper_start(&supervisor->filter, box, supervisor->log, filter_end, server, error))
                return false;
        if (box_has_network(box) && !nat_helper_start(&supervisor->nat, box, nat_end, error))
                return false;
        if (!enforcement_begin(&supervisor->enforcement, box, run_log_add_limit, supervisor->log, error))
                return false;
        if (filtered && !filter_helper_await(&supervisor->filter, error))
                return false;
        struct launch_stdio stdio = {
            .limits = &supervisor->enforcement.limits,
            .group = enforcement_cgroup(&supervisor->enforcement),
            .nat = supervisor->nat.setup,
            .dialler = supervisor->nat.dialler,
            .terminal = supervisor->terminal.descriptor,
            .foreground = terminal_lend(&supervisor->terminal),
        };
        status_lines_descriptors(stdio.status);
        for (int i = 0; i < 3; i++)
                stdio.server[i] = supervisor->terminal.passed[i] ? i : server[i];
        supervisor->watch = mount_watch_new(box, held, landlock_guards_sockets(box, landlock_abi()));
        supervisor->launched_at = clock_now_ms();
        bool started = launch_start(box, &stdio, &supervisor->launch, error);
        if (!started && supervisor->launch.failed.error)
                supervisor->log->failure = supervisor->launch.failed;
        /* While the sandbox builds itself, so that it costs no time and precedes the command's own lines. */
        if (started && !box_has_network(box))
                message_as(MESSAGE_USUAL, NULL,
                           "network: deny-all (use --network-allow to permit outbound hosts)");
        close_server_ends(&server);
        nat_helper_close_setup(&supervisor->nat);
        /* The supervisor holds the values of the user's variables, so no process of the same user may trace
         * it. */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return started && enforcement_request_cgroup(&supervisor->enforcement, &supervisor->launch, error);
}

/* Waits until nothing of the sandbox is left: pid 1 can be reaped only after everything inside is gone. */
static void finish(struct supervisor *supervisor)
{
        if (supervisor->launch.init >= 0) {
                kill_sandbox(supervisor);
                siginfo_t information;
                while (waitid(P_PIDFD, (id_t)supervisor->launch.init, &information, WEXITED) < 0 &&
                       errno == EINTR)
                        ;
        }
        nat_helper_end(&supervisor->nat, supervisor->log);
        filter_helper_end(&supervisor->filter, supervisor->log);
        cgroup_remove(&supervisor->enforcement.cgroup);
        bool by_itself = supervisor->facts.exited && WIFEXITED(supervisor->facts.wait_status);
        if (supervisor->terminal.lent && supervisor->started && !by_itself)
                terminal_restore(&supervisor->terminal);
        terminal_take_back(&supervisor->terminal);
        messages_send_to(NULL, NULL);
        if (supervisor->bridge)
                bridge_free(supervisor->bridge);
        fd_close(&supervisor->launch.init);
        fd_close(&supervisor->launch.control);
        fd_close(&supervisor->launch.failure);
        fd_close(&supervisor->launch.permission);
        fd_close(&supervisor->signals.descriptor);
        poller_end(&supervisor->poller);
}

int supervise(const struct box *box, struct held_sources *held, struct run_log *log, struct error *error)
{
        struct supervisor supervisor = {
            .box = box,
            .log = log,
            .launch = {.init = -1, .control = -1, .failure = -1, .permission = -1},
            .nat = NAT_HELPER_NONE,
            .filter = FILTER_HELPER_NONE,
            .enforcement = ENFORCEMENT_NONE_YET,
            .signals = {.descriptor = -1},
            .deadlines = DEADLINES_NONE,
            .terminal = {.descriptor = -1},
        };
        int status = 0;
        sigemptyset(&supervisor.sent);
        if (box->kind == BOX_RUN)
                supervisor.terminal = terminal_find();
        if (signals_open(&supervisor.signals, error) && start(&supervisor, held, error)) {
                /* While the sandbox builds itself, so that it costs no time. */
                log->is_started = true;
                run_log_begin(log, box);
                if (run_loop(&supervisor, held, error)) {
                        (void)enforcement_read_cgroup(&supervisor.enforcement);
                        status = exit_status(&supervisor);
                }
        }
        finish(&supervisor);
        if (supervisor.started) {
                watched_names_report(held);
                if (!mount_watch_finish(supervisor.watch)) {
                        log->ending = ENDING_UNENFORCED;
                        status = EXIT_SETUP;
                }
        }
        mount_watch_free(supervisor.watch);
        return status;
}
