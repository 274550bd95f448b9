/* SPDX-License-Identifier: Apache-2.0
 *
 * See supervise.h.
 *
 * Theory of operation. One poll() loop over the bridge's descriptors, a signalfd, the control socket and,
 * until the server was executed, the failure pipe. Whatever happens sets a deadline or a flag; the loop's
 * head turns due deadlines into signals. A sandbox is only ever ended in one way: SIGKILL to its pid 1, which
 * the kernel extends to everything inside. The server's polite signals come before that:
 *
 *     end of input (mcp)  → grace → SIGTERM → 2 s → SIGKILL
 *     told to stop        → that signal at once → 2 s → SIGKILL
 *     --timeout           → SIGTERM → 2 s → SIGKILL, status 124
 *
 * It must never wait for a client that does not read: what the server wrote is drained, but a client that
 * takes nothing for two seconds has had its chance.
 */
#include "run/supervise.h"

#include "enforce/enforcement.h"
#include "grants/watched_names.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/pages.h"
#include "ns/control.h"
#include "ns/launch.h"
#include "run/bridge.h"
#include "run/filter_helper.h"
#include "run/mount_watch.h"
#include "run/nat_helper.h"
#include "run/poller.h"
#include "run/run_log.h"
#include "run/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
        SETTLE_MS = 500,      /* from the start to giving back its memory; a short run is spared the cost */
        KILL_AFTER_MS = 2000, /* from a polite signal to SIGKILL */
        PATIENCE_MS = 60000,  /* how long a server may go on taking what a client that has gone left behind */
        DRAIN_MS = 2000,      /* how long a client may take nothing while the rest is handed over */
        NOTICE_SECONDS = 60,  /* how long before --timeout the person is told */
};

#define NEVER (-1LL)

/* Signals that are forwarded to the server. SIGKILL and SIGSTOP cannot be; those of a fault are hutch's own.
 */
static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};

struct supervisor {
        const struct box *box;
        struct run_log *record;
        struct bridge *bridge;
        struct terminal terminal;
        bool lent; /* the terminal's foreground is the server's, and hutch gave it */
        struct launch launch;
        struct nat_helper nat;
        bool nat_failed; /* it ended before the sandbox did */
        struct filter_helper filter;
        bool filter_failed;             /* the same */
        struct enforcement enforcement; /* of the limits */
        struct mount_watch *watch;      /* what happens to the sandbox's mounts on the host, or NULL */
        struct poller poller;
        int signals;
        bool ignores_hang_up; /* the caller made it so (nohup) */

        bool started; /* the server was executed */
        bool exited;  /* pid 1 said how it ended, in wait_status */
        bool ended;   /* pid 1 is gone, with everything inside */
        int wait_status;

        sigset_t sent;    /* polite signals that the server has had: none is repeated */
        int told_to_stop; /* the signal that ended hutch's own run, or 0 */
        bool timed_out;
        bool exposed; /* what was asked for could not be enforced to the end */
        bool hurried; /* hutch has sent a signal of its own accord */
        bool input_ended;
        unsigned long long given; /* bytes_given() when the grace began */
        long long patience_ends;  /* from then on taking input in crumbs gains no more time */

        long long launched_at; /* monotonic ms */
        long long settle_at;   /* when a sandbox that still runs gives back what its start needed */
        long long term_at, kill_at, notice_at, timeout_at, drain_at; /* monotonic ms, or NEVER */
        unsigned long long taken;                                    /* bytes_taken() when drain_at was set */
};

static void control(const struct supervisor *supervisor, enum control_type type, int value)
{
        struct control_message request = {.type = type, .value = value};
        (void)send(supervisor->launch.control, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void kill_sandbox(struct supervisor *supervisor)
{
        supervisor->kill_at = NEVER;
        (void)syscall(SYS_pidfd_send_signal, supervisor->launch.init, SIGKILL, NULL, 0);
}

/* Sends one polite signal, unless the server has had it already. */
static void send_once(struct supervisor *supervisor, int signal_number)
{
        if (sigismember(&supervisor->sent, signal_number))
                return;
        sigaddset(&supervisor->sent, signal_number);
        control(supervisor, CONTROL_SIGNAL, signal_number);
}

static void kill_soon(struct supervisor *supervisor)
{
        if (supervisor->kill_at == NEVER)
                supervisor->kill_at = clock_now_ms() + KILL_AFTER_MS;
}

/* Ends the server of hutch's own accord. */
static void hurry(struct supervisor *supervisor)
{
        supervisor->hurried = true;
        send_once(supervisor, SIGTERM);
        kill_soon(supervisor);
}

/* Continues the server, with the terminal when hutch itself was given it. */
static void continue_server(struct supervisor *supervisor)
{
        bool foreground = terminal_is_foreground(&supervisor->terminal);
        supervisor->lent |= foreground;
        control(supervisor, CONTROL_CONTINUE, foreground);
}

/* Takes the terminal back where it was lent: from the background it belongs to somebody else by now. */
static void take_terminal_back(struct supervisor *supervisor)
{
        if (supervisor->lent)
                terminal_take_back(&supervisor->terminal);
        supervisor->lent = false;
}

/* Stops hutch as the server was stopped, so that the shell sees a stopped job; returns when it was continued.
 * Only for a job of a terminal: anywhere else a server that stops itself would stop hutch's deadlines too.
 * With no shell in the session nobody could continue it, and the kernel itself lets no job stop then. */
static void stop_with_server(struct supervisor *supervisor)
{
        if (supervisor->terminal.descriptor < 0)
                return;
        take_terminal_back(supervisor);
        if (getsid(getppid()) == getsid(0))
                raise(SIGSTOP);
        continue_server(supervisor);
}

/* Told to stop: by a signal of somebody outside, or by a terminal that has gone. */
static void stop(struct supervisor *supervisor, int signal_number)
{
        if (!supervisor->told_to_stop)
                supervisor->told_to_stop = signal_number;
        send_once(supervisor, signal_number);
        kill_soon(supervisor);
}

static void take_signal(struct supervisor *supervisor, const struct signalfd_siginfo *info)
{
        int signal_number = (int)info->ssi_signo;
        bool stops = signal_number == SIGTERM || signal_number == SIGHUP || signal_number == SIGINT ||
                     signal_number == SIGQUIT;

        if (signal_number == SIGCONT) {
                continue_server(supervisor);
                return;
        }
        if (!stops) {
                control(supervisor, CONTROL_SIGNAL, signal_number);
                return;
        }
        /* An interrupt is a question under `run`: an interpreter or a debugger may answer it and go on. */
        bool question =
            supervisor->box->kind == BOX_RUN && (signal_number == SIGINT || signal_number == SIGQUIT);
        if (question) {
                control(supervisor, CONTROL_SIGNAL, signal_number);
                return;
        }
        stop(supervisor, signal_number);
}

static void read_signals(struct supervisor *supervisor)
{
        struct signalfd_siginfo info;
        while (read(supervisor->signals, &info, sizeof(info)) == sizeof(info))
                take_signal(supervisor, &info);
}

static void read_control(struct supervisor *supervisor)
{
        struct control_message report;
        ssize_t length = recv(supervisor->launch.control, &report, sizeof(report), MSG_DONTWAIT);
        /* ECONNRESET, once: pid 1 has ended before it took the last request. What it said lies there still.
         */
        if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
                return;
        if (length != sizeof(report)) { /* pid 1 has closed its end: it is ending */
                supervisor->ended = true;
                return;
        }
        if (report.type == CONTROL_STOPPED) {
                stop_with_server(supervisor);
        } else if (report.type == CONTROL_EXITED) {
                supervisor->exited = true;
                supervisor->wait_status = report.value;
        }
}

/* The supervisor's own filter: from here on it moves bytes and sends signals, nothing else. It is loaded
 * while the server is already starting, so it costs no time of anyone's. */
static void confine(struct supervisor *supervisor)
{
        struct seccomp_program filter = seccomp_for_supervisor();
        int error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_install(&filter);
        if (error < 0) {
                message("cannot load the supervisor's system call filter: %s", strerror(-error));
                kill_sandbox(supervisor);
        }
}

/* What had to hold no longer does: no time is left to a server that may read or change it now. */
static void end_exposed(struct supervisor *supervisor)
{
        supervisor->exposed = true;
        kill_sandbox(supervisor);
}

/* A limit was reached, or can no longer be enforced. */
static void end_by_limits(struct supervisor *supervisor, enum enforcement_event event)
{
        if (event == ENFORCEMENT_HIT)
                kill_sandbox(supervisor);
        else if (event == ENFORCEMENT_LOST && !supervisor->ended)
                end_exposed(supervisor);
}

/* Reads the failure pipe: end of file means that the server was executed. */
static bool read_failure(struct supervisor *supervisor, struct held_sources *held, struct error *error)
{
        struct failure failure;
        ssize_t length = read(supervisor->launch.failure, &failure, sizeof(failure));
        if (length < 0)
                return true;
        held_sources_release(held);
        fd_close(&supervisor->launch.failure);
        if (length == sizeof(failure)) {
                failure_explain(&failure, error);
                return false;
        }
        supervisor->started = true;
        message_verbose("the command was started %lld ms after the namespaces were asked for",
                        clock_now_ms() - supervisor->launched_at);
        if (supervisor->nat.process)
                nat_helper_watch_names(&supervisor->nat, supervisor->box);
        end_by_limits(supervisor, enforcement_watch(&supervisor->enforcement));
        poller_begin(&supervisor->poller);
        confine(supervisor);
        supervisor->settle_at = clock_now_ms() + SETTLE_MS;
        if (supervisor->box->timeout_seconds) {
                supervisor->timeout_at = clock_now_ms() + supervisor->box->timeout_seconds * 1000LL;
                if (supervisor->box->timeout_seconds > NOTICE_SECONDS)
                        supervisor->notice_at = supervisor->timeout_at - NOTICE_SECONDS * 1000LL;
        }
        return true;
}

static bool is_due(long long *deadline, long long now)
{
        if (*deadline == NEVER || now < *deadline)
                return false;
        *deadline = NEVER;
        return true;
}

static void meet_deadlines(struct supervisor *supervisor)
{
        long long now = clock_now_ms();
        if (is_due(&supervisor->settle_at, now)) {
                control(supervisor, CONTROL_SETTLE, 0);
                pages_forget_start();
                if (supervisor->watch && !mount_watch_begin(supervisor->watch))
                        end_exposed(supervisor);
        }
        if (is_due(&supervisor->notice_at, now))
                message("%d seconds left of --timeout %u", NOTICE_SECONDS, supervisor->box->timeout_seconds);
        if (is_due(&supervisor->timeout_at, now)) {
                supervisor->timed_out = true;
                message("the time of --timeout %u is over; stopping the command",
                        supervisor->box->timeout_seconds);
                hurry(supervisor);
        }
        if (is_due(&supervisor->term_at, now))
                hurry(supervisor);
        if (is_due(&supervisor->kill_at, now))
                kill_sandbox(supervisor);
}

/* Milliseconds until the next deadline, for poll(); -1 for none. */
static int next_timeout(const struct supervisor *supervisor)
{
        const long long deadlines[] = {supervisor->settle_at,
                                       supervisor->term_at,
                                       supervisor->kill_at,
                                       supervisor->notice_at,
                                       supervisor->timeout_at,
                                       supervisor->drain_at,
                                       enforcement_deadline(&supervisor->enforcement)};
        long long soonest = NEVER;
        for (size_t i = 0; i < sizeof(deadlines) / sizeof(*deadlines); i++)
                if (deadlines[i] != NEVER && (soonest == NEVER || deadlines[i] < soonest))
                        soonest = deadlines[i];
        if (soonest == NEVER)
                return -1;
        long long left = soonest - clock_now_ms();
        return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* ---- the bytes, which the bridge carries, or the firewall in its place ---- */

static bool has_filter(const struct supervisor *supervisor)
{
        return supervisor->filter.process > 0;
}

/* The client has gone away, or has said all it will. */
static bool client_ended(const struct supervisor *supervisor)
{
        if (has_filter(supervisor))
                return supervisor->filter.input_ended || supervisor->filter.client_gone;
        return bridge_input_ended(supervisor->bridge) || bridge_client_gone(supervisor->bridge);
}

static unsigned long long bytes_given(const struct supervisor *supervisor)
{
        return has_filter(supervisor) ? supervisor->filter.given : bridge_bytes_given(supervisor->bridge);
}

static unsigned long long bytes_taken(const struct supervisor *supervisor)
{
        return bridge_bytes_taken(supervisor->bridge) + supervisor->filter.taken;
}

/* A filter that has ended moves nothing any more. */
static bool is_drained(const struct supervisor *supervisor)
{
        bool filter_is_done =
            !has_filter(supervisor) || supervisor->filter.drained || supervisor->filter.talk < 0;
        return filter_is_done && bridge_drained(supervisor->bridge);
}

/* The client has gone away, or has said all it will: the server gets its grace, from then or from when it
 * last took some of the input that is left. */
static void watch_client(struct supervisor *supervisor)
{
        if (supervisor->box->stop_grace_seconds == LIMIT_NO_GRACE || supervisor->hurried)
                return;
        if (!client_ended(supervisor))
                return;
        unsigned long long given = bytes_given(supervisor);
        long long now = clock_now_ms();
        if (!supervisor->input_ended)
                supervisor->patience_ends = now + PATIENCE_MS;
        else if (given == supervisor->given || now >= supervisor->patience_ends)
                return;
        supervisor->input_ended = true;
        supervisor->given = given;
        supervisor->term_at = now + supervisor->box->stop_grace_seconds * 1000LL;
}

/* True once the sandbox has ended and the client has, or can no longer get, all that the server wrote. */
static bool is_finished(struct supervisor *supervisor)
{
        if (!supervisor->ended)
                return false;
        if (is_drained(supervisor))
                return true;
        unsigned long long taken = bytes_taken(supervisor);
        if (supervisor->drain_at == NEVER || taken != supervisor->taken) {
                supervisor->taken = taken;
                supervisor->drain_at = clock_now_ms() + DRAIN_MS;
                return false;
        }
        return clock_now_ms() >= supervisor->drain_at;
}

/* The helper has ended. The sandbox ends too: a server whose network silently died would be worse off, and
 * one whose policy did must not go on. */
static void lose_network(struct supervisor *supervisor)
{
        fd_close(&supervisor->nat.talk);
        if (supervisor->ended)
                return;
        supervisor->nat_failed = true;
        message(
            "the network helper (hutch-nat) has ended; ending the sandbox, which has no network without it");
        kill_sandbox(supervisor);
}

/* The same of the firewall, without which nothing may pass. */
static void lose_filter(struct supervisor *supervisor)
{
        fd_close(&supervisor->filter.talk);
        if (supervisor->ended)
                return;
        supervisor->filter_failed = true;
        message(
            "the MCP firewall (hutch-filter) has ended; ending the sandbox, which must not run without it");
        kill_sandbox(supervisor);
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
                    [SIGNALS] = {.fd = supervisor->signals, .events = POLLIN},
                    [CONTROL] = {.fd = supervisor->ended ? -1 : supervisor->launch.control, .events = POLLIN},
                    [FAILURE] = {.fd = supervisor->launch.failure, .events = POLLIN},
                    /* The hang-up of a terminal is signalled to its foreground group alone, which is the
                       server's. */
                    [TERMINAL] = {.fd = supervisor->told_to_stop || supervisor->ignores_hang_up
                                            ? -1
                                            : supervisor->terminal.descriptor},
                    [WATCH] = {.fd = mount_watch_descriptor(supervisor->watch), .events = POLLIN},
                    [NAT] = {.fd = supervisor->nat.talk, .events = POLLIN},
                    [NAMES] = {.fd = supervisor->nat.watching, .events = POLLIN},
                    [FILTER] = {.fd = supervisor->filter.talk, .events = POLLIN},
                };
                enforcement_poll(&supervisor->enforcement, polls + LIMITS);
                size_t quiet, bridged = bridge_poll(supervisor->bridge, polls + OWN, &quiet);
                int ready = poller_wait(&supervisor->poller, polls, OWN + quiet, OWN + bridged,
                                        next_timeout(supervisor));
                if (ready > 0) {
                        bridge_move(supervisor->bridge, polls + OWN, bridged);
                        if (polls[FAILURE].revents && !read_failure(supervisor, held, error))
                                return false;
                        if (polls[SIGNALS].revents)
                                read_signals(supervisor);
                        if (polls[TERMINAL].revents)
                                stop(supervisor, SIGHUP);
                        if (polls[WATCH].revents && !mount_watch_read(supervisor->watch))
                                end_exposed(supervisor);
                        if (polls[CONTROL].revents && !polls[FAILURE].revents)
                                read_control(supervisor);
                        if (polls[NAT].revents && !nat_helper_read(&supervisor->nat, supervisor->record))
                                lose_network(supervisor);
                        if (polls[NAMES].revents && supervisor->nat.talk >= 0)
                                nat_helper_lose_names(&supervisor->nat);
                        if (polls[FILTER].revents &&
                            !filter_helper_read(&supervisor->filter, supervisor->record))
                                lose_filter(supervisor);
                        end_by_limits(supervisor, enforcement_read(&supervisor->enforcement, polls + LIMITS,
                                                                   supervisor->ended, error));
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

static enum ending judge_ending(const struct supervisor *supervisor)
{
        if (supervisor->enforcement.hit)
                return ENDING_LIMIT;
        if (supervisor->exposed || supervisor->nat_failed || supervisor->filter_failed)
                return ENDING_UNENFORCED;
        if (supervisor->timed_out)
                return ENDING_TIMED_OUT;
        if (supervisor->told_to_stop)
                return ENDING_STOPPED;
        if (supervisor->exited && WIFEXITED(supervisor->wait_status))
                return ENDING_EXITED;
        if (supervisor->hurried && supervisor->input_ended)
                return ENDING_ABANDONED;
        return supervisor->exited ? ENDING_SIGNALLED : ENDING_KILLED;
}

static int exit_status(const struct supervisor *supervisor, struct run_log *record)
{
        record->ending = judge_ending(supervisor);
        switch (record->ending) {
        case ENDING_UNENFORCED:
                return EXIT_SETUP;
        case ENDING_TIMED_OUT:
                return EXIT_TIMED_OUT;
        case ENDING_STOPPED:
                record->signal_number = supervisor->told_to_stop;
                break;
        case ENDING_EXITED:
                return WEXITSTATUS(supervisor->wait_status);
        case ENDING_ABANDONED:
                /* The server ended by the signal that hutch sent: that is no failure of it. */
                return 0;
        case ENDING_LIMIT:
                record->signal_number = SIGKILL;
                break;
        case ENDING_SIGNALLED:
                record->signal_number = WTERMSIG(supervisor->wait_status);
                break;
        default:
                message("the sandbox was killed from outside (its first process got SIGKILL): look for the "
                        "kernel's out-of-memory report with `sudo dmesg | tail`");
                record->signal_number = SIGKILL;
        }
        return 128 + record->signal_number;
}

static bool block_signals(struct supervisor *supervisor, struct error *error)
{
        sigset_t blocked;
        sigemptyset(&blocked);
        for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++) {
                struct sigaction action;
                /* What the caller made hutch ignore (nohup) stays ignored, for the server too. */
                if (sigaction(forwarded[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
                        sigaddset(&blocked, forwarded[i]);
                else if (forwarded[i] == SIGHUP)
                        supervisor->ignores_hang_up = true;
        }
        supervisor->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
        if (supervisor->signals < 0)
                return error_set(error, EXIT_SETUP, "cannot watch for signals: %s", strerror(errno));
        /* Taking the terminal back from the server must not stop hutch. */
        sigaddset(&blocked, SIGTTOU);
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        signal(SIGPIPE, SIG_IGN);
        /* Inherited as ignored, the kernel would reap the server itself and never tell pid 1. */
        signal(SIGCHLD, SIG_DFL);
        return true;
}

/* For --explain: hutch-filter asks hutch-nat what it refused, and waits for that no longer than it wants to.
 */
static bool connect_helpers(int *nat_end, int *filter_end, struct error *error)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
                return error_set(error, EXIT_SETUP, "cannot connect the helpers: %s", strerror(errno));
        *nat_end = ends[0];
        *filter_end = ends[1];
        return true;
}

static void log_limit(void *record, const char *limit, const char *value, const char *mechanism)
{
        run_log_limit(record, limit, value, mechanism);
}

/* Connects and clones. */
static bool start(struct supervisor *supervisor, struct held_sources *held, struct error *error)
{
        const struct box *box = supervisor->box;
        bool filtered = box_has_filter(box);
        bool lines = box->kind == BOX_MCP && !box->raw_stdout;
        static const bool all_but_errors[3] = {true, true, false}; /* what the filter carries */
        int server[3] = {-1, -1, -1};
        supervisor->bridge =
            bridge_new(lines, filtered ? all_but_errors : supervisor->terminal.passed, server, error);
        if (!supervisor->bridge)
                return false;
        messages_send_to(bridge_say, supervisor->bridge);

        if (!run_log_open_log(supervisor->record, box, error))
                return false;
        autoclose int nat_end = -1, filter_end = -1;
        if (box->tools.explain && box_has_network(box) && !connect_helpers(&nat_end, &filter_end, error))
                return false;
        if (filtered &&
            !filter_helper_start(&supervisor->filter, box, supervisor->record, filter_end, server, error)) {
                for (int i = 0; i < 3; i++)
                        fd_close(&server[i]);
                return false;
        }
        if (box_has_network(box) && !nat_helper_start(&supervisor->nat, box, nat_end, error))
                return false;
        if (!enforcement_begin(&supervisor->enforcement, box, log_limit, supervisor->record, error))
                return false;
        if (filtered && !filter_helper_await(&supervisor->filter, error))
                return false;
        struct launch_stdio stdio = {
            .limits = &supervisor->enforcement.limits,
            .group = enforcement_group(&supervisor->enforcement),
            .watchdog = supervisor->enforcement.watchdog.sandbox,
            .nat = supervisor->nat.setup,
            .dialler = supervisor->nat.dialler,
            .terminal = supervisor->terminal.descriptor,
            .foreground = terminal_is_foreground(&supervisor->terminal),
        };
        for (int i = 0; i < 3; i++)
                stdio.server[i] = supervisor->terminal.passed[i] ? i : server[i];
        supervisor->lent = stdio.foreground;
        supervisor->watch = mount_watch_new(box, held, landlock_guards_sockets(box, landlock_abi()));
        supervisor->launched_at = clock_now_ms();
        bool started = launch_start(box, &stdio, &supervisor->launch, error);
        /* While the sandbox builds itself, and before the command can have said anything. */
        if (started && !box_has_network(box))
                message_unrecorded("network: deny-all (use --network-allow to permit outbound hosts)");
        for (int i = 0; i < 3; i++)
                fd_close(&server[i]);
        nat_helper_entered(&supervisor->nat);
        /* The supervisor holds the values of the person's variables; nothing else of the same user may trace
         * it. */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return started && enforcement_ask(&supervisor->enforcement, &supervisor->launch, error);
}

/* Waits for the last of the sandbox: pid 1 is reaped only after everything inside is gone. */
static void finish(struct supervisor *supervisor)
{
        /* It ends at the hang-up, while the rest does. */
        enforcement_let_go(&supervisor->enforcement);
        if (supervisor->launch.init >= 0) {
                kill_sandbox(supervisor);
                siginfo_t information;
                while (waitid(P_PIDFD, (id_t)supervisor->launch.init, &information, WEXITED) < 0 &&
                       errno == EINTR)
                        ;
        }
        nat_helper_end(&supervisor->nat, supervisor->record);
        filter_helper_end(&supervisor->filter, supervisor->record);
        enforcement_end(&supervisor->enforcement);
        bool by_itself = supervisor->exited && WIFEXITED(supervisor->wait_status);
        if (supervisor->lent && supervisor->started && !by_itself)
                terminal_restore(&supervisor->terminal);
        take_terminal_back(supervisor);
        messages_send_to(NULL, NULL);
        if (supervisor->bridge)
                bridge_free(supervisor->bridge);
        fd_close(&supervisor->launch.init);
        fd_close(&supervisor->launch.control);
        fd_close(&supervisor->launch.failure);
        fd_close(&supervisor->launch.permission);
        fd_close(&supervisor->signals);
        poller_end(&supervisor->poller);
}

int supervise(const struct box *box, struct held_sources *held, struct run_log *record, struct error *error)
{
        struct supervisor supervisor = {
            .box = box,
            .record = record,
            .launch = {.init = -1, .control = -1, .failure = -1, .permission = -1},
            .nat = NAT_HELPER_NONE,
            .filter = FILTER_HELPER_NONE,
            .signals = -1,
            .terminal = {.descriptor = -1},
            .settle_at = NEVER,
            .term_at = NEVER,
            .kill_at = NEVER,
            .notice_at = NEVER,
            .timeout_at = NEVER,
            .drain_at = NEVER,
        };
        int status = 0;
        sigemptyset(&supervisor.sent);
        enforcement_init(&supervisor.enforcement);
        if (box->kind == BOX_RUN)
                supervisor.terminal = terminal_find();
        if (block_signals(&supervisor, error) && start(&supervisor, held, error)) {
                /* While the sandbox builds itself: it costs nobody any time. */
                run_log_begin(record, box);
                if (run_loop(&supervisor, held, error)) {
                        enforcement_look(&supervisor.enforcement);
                        status = exit_status(&supervisor, record);
                }
        }
        finish(&supervisor);
        if (supervisor.started) {
                watched_names_report(held);
                if (!mount_watch_finish(supervisor.watch)) {
                        record->ending = ENDING_UNENFORCED;
                        status = EXIT_SETUP;
                }
        }
        mount_watch_free(supervisor.watch);
        return status;
}
