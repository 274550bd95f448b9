/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the attempts one after the other and writes one line of JSON for each. The program says that it is
 * ready, reads the description of its targets, and then starts. So `hutch prove` can make some targets after
 * the sandbox has started. A crash and a hang of an attempt are results too. The last line has the number of
 * attempts, so that a lost result is noticed.
 *
 *     hutch-prove outside|inside     makes the attempts on a terminal when one is its standard input, else
 *                                    all others
 *     hutch-prove victim MARKER      has a secret in memory and reports signals, until it is killed
 *     hutch-prove steal PATH MARKER  exits with 0 when PATH contains MARKER
 *     hutch-prove whoami             exits with 1 when it runs as another user than its caller
 */
#include "prove/attempts.h"

#include "lib/child.h"
#include "lib/fd.h"
#include "lib/json.h"
#include "prove/target.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { ATTEMPT_MS = 2000, STOLEN_BYTES = 4096 };

static const struct attempt_group *const groups[] = {
    &files_group,  &writes_group,  &processes_group, &sockets_group,  &namespaces_group,
    &kernel_group, &devices_group, &budgets_group,   &terminal_group, NULL};

static FILE *report_file;

/* What an attempt's process tells its parent. */
struct verdict {
        int32_t outcome;
        char path[512];
};
static struct verdict verdict;

/* ---- one attempt ---- */

/* Becomes root of new namespaces, in a process of the new pid namespace. False where the machine does not
 * permit that. */
static bool enter_namespaces(void)
{
        char users[64], groups_map[64];
        (void)snprintf(users, sizeof(users), "0 %u 1", geteuid());
        (void)snprintf(groups_map, sizeof(groups_map), "0 %u 1", getegid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID |
                    CLONE_NEWCGROUP) < 0 ||
            !target_write("/proc/self/setgroups", "deny") || !target_write("/proc/self/uid_map", users) ||
            !target_write("/proc/self/gid_map", groups_map) ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return false;
        pid_t child = fork();
        if (child == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                return true;
        }
        (void)child_wait(&child);
        _exit(0);
}

static _Noreturn void be_attempt(bool userns, int result)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        verdict = (struct verdict){.outcome = NOT_APPLICABLE};
        if (!userns || enter_namespaces())
                verdict.outcome = (int32_t)attempt->try();
        memccpy(verdict.path, target_noted_path(), 0, sizeof(verdict.path) - 1);
        (void)fd_write_all(result, &verdict, sizeof(verdict));
        _exit(0);
}

/* Runs one attempt in a new process. NULL, with `verdict` filled, or a word for why it gave none. */
static const char *run_attempt(bool userns)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return "failed";
        autoclose int input = ends[0], output = ends[1];
        (void)fflush(report_file);
        pid_t child = fork();
        if (child == 0)
                be_attempt(userns, output);
        fd_close(&output);
        if (child < 0)
                return "failed";
        struct pollfd ready = {.fd = input, .events = POLLIN};
        int polled = poll(&ready, 1, ATTEMPT_MS);
        ssize_t length = polled > 0 ? read(input, &verdict, sizeof(verdict)) : -1;
        child_end(&child);
        if (length == sizeof(verdict))
                return NULL;
        return polled == 0 ? "hung" : "crashed";
}

/* Runs an attempt outside. The word for where it worked, if anywhere. */
static const char *show_attempt(void)
{
        bool root = geteuid() == 0;
        if ((attempt->show & AS_CALLER || (root && attempt->show & AS_ROOT)) && !run_attempt(false) &&
            verdict.outcome == GOT_OUT)
                return root ? "as-root" : "as-caller";
        if (attempt->show & IN_USERNS && !run_attempt(true) && verdict.outcome == GOT_OUT)
                return "in-namespaces";
        return "no";
}

/* The first line, "ready", and the last one, "done". False on a failure. */
static bool report_mark(const char *key, size_t number)
{
        struct json json = {.out = &(struct buf){0}};
        json_open(&json, NULL, '{');
        json_number(&json, key, number);
        json_close(&json, "}");
        return json_print(&json, report_file);
}

static void report_attempt(const struct attempt_group *group, const char *key, const char *word)
{
        struct json json = {.out = &(struct buf){0}, .ascii = true};
        json_open(&json, NULL, '{');
        json_text(&json, "id", attempt->id);
        json_text(&json, "group", group->name);
        json_text(&json, "gain", attempt->gain);
        json_text(&json, key, word);
        json_text(&json, "path", verdict.path);
        json_close(&json, "}");
        (void)json_print(&json, report_file);
}

static void run_one(const struct attempt_group *group)
{
        static const char *const words[] = {"held", "got-out", "not-applicable", "not-limited"};
        verdict = (struct verdict){0};
        bool inside = target_is_inside();
        const char *word = inside ? run_attempt(false) : show_attempt();
        report_attempt(group, inside ? "result" : "shown", word ? word : words[verdict.outcome]);
}

static int run_all(const char *mode)
{
        bool terminal = isatty(STDIN_FILENO);
        target_set_inside(strcmp(mode, "inside") == 0);
        /* With a terminal on 1, its driver would change the lines. Standard error is a pipe then. */
        report_file = terminal ? stderr : stdout;
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        (void)report_mark("ready", 1);
        if (!terminal)
                target_read(0);
        size_t count = 0;
        for (size_t i = 0; groups[i]; i++)
                for (size_t j = 0; (groups[i] == &terminal_group) == terminal && j < groups[i]->count;
                     j++, count++) {
                        attempt = &groups[i]->attempts[j];
                        run_one(groups[i]);
                }
        return report_mark("done", count) ? 0 : 1;
}

/* ---- other modes ---- */

static void on_signal(int number)
{
        char letter = number == SIGURG ? 'u' : 'x';
        (void)!write(1, &letter, 1);
}

/* The victim has the secret in its environment, its memory and a file that is open as 9. It writes one letter
 * for each signal that it gets. */
static int be_victim(void)
{
        const char *secret = getenv("HUTCH_PROVE_SECRET");
        signal(SIGURG, on_signal);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* Under Yama only an ancestor may trace it, which the attempt outside is not. */
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (!secret)
                return 1;
        (void)printf("%ju\n", (uintmax_t)(uintptr_t)secret);
        (void)fflush(stdout);
        for (;;)
                pause();
}

/* What the attempt `memfd-exec` executes from memory. */
static int steal(const char *path, const char *marker)
{
        char data[STOLEN_BYTES];
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
        return length > 0 && memmem(data, (size_t)length, marker, strlen(marker)) ? 0 : 1;
}

int main(int argc, char **argv)
{
        if (argc == 4 && strcmp(argv[1], "steal") == 0)
                return steal(argv[2], argv[3]);
        if (argc == 3 && strcmp(argv[1], "victim") == 0)
                return be_victim();
        if (argc == 2 && strcmp(argv[1], "whoami") == 0)
                return geteuid() == getuid() ? 0 : 1;
        if (argc == 2 && (strcmp(argv[1], "inside") == 0 || strcmp(argv[1], "outside") == 0))
                return run_all(argv[1]);
        (void)fputs("hutch-prove is started by `hutch prove`\n", stderr);
        return 2;
}
