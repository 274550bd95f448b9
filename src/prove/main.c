/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the attempts one after the other and writes one line of JSON for each. It says that it is ready, reads
 * what `hutch prove` made for it, and only then begins, so that objects made after a sandbox's start are
 * attacked too. A crash or a hang of an attempt is a result of its own; the last line says how many there
 * were, so that nothing can be lost unnoticed.
 *
 *     hutch-prove outside|inside|outside-terminal|inside-terminal
 *     hutch-prove victim MARKER      holds a secret and counts signals, until it is killed
 *     hutch-prove steal PATH MARKER  0 when PATH holds MARKER
 */
#include "prove/attempts.h"

#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { MOST_TARGETS = 64, ATTEMPT_MS = 2000 };

static const struct attempt_group *const groups[] = {
    &files_group,  &writes_group,  &processes_group, &sockets_group,  &namespaces_group,
    &kernel_group, &devices_group, &budgets_group,   &terminal_group, NULL};

static struct {
        bool inside;
        bool terminal;
        FILE *report;
        char lines[16384]; /* the targets, as they were read */
        const char *keys[MOST_TARGETS], *values[MOST_TARGETS];
        size_t count;
} run;

/* What an attempt's process tells its parent. */
struct verdict {
        int32_t outcome;
        char path[512];
};
static struct verdict verdict;

bool is_inside(void)
{
        return run.inside;
}

const char *target(const char *key)
{
        for (size_t i = 0; i < run.count; i++)
                if (strcmp(run.keys[i], key) == 0)
                        return run.values[i];
        return "";
}

long target_number(const char *key)
{
        return strtol(target(key), NULL, 0);
}

void note_path(const char *path)
{
        memccpy(verdict.path, path, 0, sizeof(verdict.path) - 1);
}

enum outcome out_if_reached(long result)
{
        return out_if(result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES));
}

/* ---- one attempt ---- */

static int write_text(const char *path, const char *text)
{
        autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* Becomes root of namespaces of its own, in a process of the new pid namespace. False where the machine does
 * not permit that. */
static bool enter_namespaces(void)
{
        char users[64], groups_map[64];
        (void)snprintf(users, sizeof(users), "0 %u 1", geteuid());
        (void)snprintf(groups_map, sizeof(groups_map), "0 %u 1", getegid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID |
                    CLONE_NEWCGROUP) < 0 ||
            write_text("/proc/self/setgroups", "deny") < 0 || write_text("/proc/self/uid_map", users) < 0 ||
            write_text("/proc/self/gid_map", groups_map) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return false;
        pid_t child = fork();
        if (child == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                return true;
        }
        int status;
        if (child > 0)
                waitpid(child, &status, 0);
        _exit(0);
}

static _Noreturn void be_attempt(const struct attempt *attempt, bool userns, int result)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        verdict = (struct verdict){.outcome = NOT_APPLICABLE};
        if (!userns || enter_namespaces())
                verdict.outcome = (int32_t)attempt->try(attempt);
        (void)fd_write_all(result, &verdict, sizeof(verdict));
        _exit(0);
}

/* NULL, or what happened instead of a verdict. */
static const char *run_attempt(const struct attempt *attempt, bool userns)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return "failed";
        autoclose int input = ends[0];
        autoclose int output = ends[1];
        (void)fflush(run.report);
        pid_t child = fork();
        if (child == 0)
                be_attempt(attempt, userns, output);
        fd_close(&output);
        if (child < 0)
                return "failed";
        struct pollfd ready = {.fd = input, .events = POLLIN};
        int polled = poll(&ready, 1, ATTEMPT_MS);
        ssize_t length = polled > 0 ? read(input, &verdict, sizeof(verdict)) : -1;
        kill(child, SIGKILL);
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (length == sizeof(verdict))
                return NULL;
        return polled == 0 ? "hung" : "crashed";
}

/* Shows the attempt outside; the words for how, or NULL when it did not work here. */
static const char *show(const struct attempt *attempt)
{
        bool root = geteuid() == 0;
        if ((attempt->show & SHOW_AS_CALLER || (root && attempt->show & SHOW_AS_ROOT)) &&
            !run_attempt(attempt, false) && verdict.outcome == GOT_OUT)
                return root ? "as-root" : "as-caller";
        if (attempt->show & SHOW_IN_USERNS && !run_attempt(attempt, true) && verdict.outcome == GOT_OUT)
                return "in-namespaces";
        return NULL;
}

static void report(const struct attempt_group *group, const struct attempt *attempt, const char *key,
                   const char *word)
{
        for (char *c = verdict.path; *c; c++)
                if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || (unsigned char)*c >= 0x7f)
                        *c = '?';
        (void)fprintf(run.report,
                      "{\"id\":\"%s\",\"group\":\"%s\",\"gain\":\"%s\",\"%s\":\"%s\",\"path\":\"%s\"}\n",
                      attempt->id, group->name, attempt->gain, key, word, verdict.path);
}

static void run_one(const struct attempt_group *group, const struct attempt *attempt)
{
        static const char *const words[] = {"held", "got-out", "not-applicable", "not-limited"};
        verdict = (struct verdict){0};
        if (!run.inside) {
                const char *how = show(attempt);
                report(group, attempt, "shown", how ? how : "no");
                return;
        }
        const char *failed = run_attempt(attempt, false);
        report(group, attempt, "result", failed ? failed : words[verdict.outcome]);
}

/* ---- what is attacked ---- */

/* Lines of `key value` up to an empty one. */
static void read_targets(void)
{
        size_t length = 0;
        ssize_t got;
        while (length < sizeof(run.lines) - 1 &&
               (got = read(0, run.lines + length, sizeof(run.lines) - 1 - length)) > 0) {
                length += (size_t)got;
                if (length >= 2 && memcmp(run.lines + length - 2, "\n\n", 2) == 0)
                        break;
        }
        char *rest = run.lines;
        for (char *line; (line = strsep(&rest, "\n")) && run.count < MOST_TARGETS;) {
                char *space = strchr(line, ' ');
                if (!space)
                        continue;
                *space = 0;
                run.keys[run.count] = line;
                run.values[run.count++] = space + 1;
        }
}

static int run_all(const char *mode)
{
        run.inside = strncmp(mode, "inside", 6) == 0;
        run.terminal = strstr(mode, "-terminal") != NULL;
        /* A terminal on 1 would turn and colour what is written; the report goes where it does not. */
        run.report = run.terminal ? stderr : stdout;
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        (void)fprintf(run.report, "{\"ready\":true}\n");
        (void)fflush(run.report);
        if (!run.terminal)
                read_targets();
        size_t count = 0;
        for (size_t i = 0; groups[i]; i++)
                for (size_t j = 0; groups[i]->terminal == run.terminal && j < groups[i]->count; j++, count++)
                        run_one(groups[i], &groups[i]->attempts[j]);
        (void)fprintf(run.report, "{\"done\":%zu}\n", count);
        return fflush(run.report) == 0 ? 0 : 1;
}

/* ---- the victim ---- */

static void on_signal(int number)
{
        char letter = number == SIGURG ? 'u' : 'x';
        (void)!write(1, &letter, 1);
}

/* Its environment and its memory hold the secret, and so does a file that it has open as 9. It writes one
 * letter for each signal that it gets. */
static int be_victim(void)
{
        const char *secret = getenv("HUTCH_PROVE_SECRET");
        signal(SIGURG, on_signal);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* Yama: the proof is no ancestor of it */
        if (!secret)
                return 1;
        (void)printf("%ju\n", (uintmax_t)(uintptr_t)secret);
        (void)fflush(stdout);
        for (;;)
                pause();
}

int main(int argc, char **argv)
{
        if (argc == 4 && strcmp(argv[1], "steal") == 0)
                return steal(argv[2], argv[3]);
        if (argc == 3 && strcmp(argv[1], "victim") == 0)
                return be_victim();
        if (argc == 2 && strcmp(argv[1], "whoami") == 0)
                return geteuid() == getuid() ? 0 : 1;
        if (argc == 2 && (strncmp(argv[1], "inside", 6) == 0 || strncmp(argv[1], "outside", 7) == 0))
                return run_all(argv[1]);
        (void)fputs("hutch-prove is started by `hutch prove`\n", stderr);
        return 2;
}
