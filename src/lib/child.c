/* SPDX-License-Identifier: Apache-2.0
 *
 * See child.h.
 *
 * A program gets its descriptors in two steps, first all of them to high numbers and then to their own,
 * because each may have the number that another is to get. What is not given is closed in the child itself:
 * close-on-exec alone would pass on what a library or a caller of hutch left open. A program that is not a
 * helper dies with hutch by the parent-death signal, which survives execve() of a program without privileges;
 * the parent is looked at once more after the request, because it may have ended before.
 */
#include "lib/child.h"

#include "lib/fd.h"
#include "lib/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* A terminal or a script sends these to the whole job. hutch handles them and decides when its helpers end.
 */
static const int not_for_helpers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

/* These run in the child of vfork(): they make system calls only. */

static bool take_descriptors(const int *given, size_t count)
{
        enum { HIGH = 64 };
        int high[CHILD_GIVEN_MAX];
        for (size_t i = 0; i < count; i++)
                if ((high[i] = fcntl(given[i], F_DUPFD, HIGH)) < 0)
                        return false;
        for (size_t i = 0; i < count; i++)
                if (dup2(high[i], (int)i) < 0)
                        return false;
        return syscall(SYS_close_range, (unsigned)count, ~0U, 0) == 0;
}

static bool prepare(const struct child *child, pid_t parent)
{
        if (!take_descriptors(child->given, child->given_count))
                return false;
        if (!child->helper)
                return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
                       (!child->session || setsid() >= 0) &&
                       (!child->session || !isatty(0) || ioctl(0, TIOCSCTTY, 0) == 0) &&
                       (!child->directory || chdir(child->directory) == 0);
        const struct sigaction ignore = {.sa_handler = SIG_IGN};
        for (size_t i = 0; i < sizeof(not_for_helpers) / sizeof(*not_for_helpers); i++)
                sigaction(not_for_helpers[i], &ignore, NULL);
        sigset_t none;
        sigemptyset(&none);
        return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

pid_t child_start(const struct child *child)
{
        if (!child->helper) /* ignored, it would make the kernel reap the process before child_wait() */
                signal(SIGCHLD, SIG_DFL);
        pid_t parent = getpid(), process = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (process != 0)
                return process;
        if (!prepare(child, parent)) /* NOLINT(clang-analyzer-unix.Vfork) */
                _exit(EXIT_SETUP);
        execve(child->program, child->words, child->environment);
        _exit(EXIT_NOT_FOUND);
}

pid_t child_start_helper(const char *name, const char *what, const int *given, size_t count,
                         struct error *error)
{
        autofree char *program = program_find(name);
        char *const words[] = {(char *)name, NULL}, *const environment[] = {NULL};
        const struct child helper = {.program = program,
                                     .words = words,
                                     .environment = environment,
                                     .given = given,
                                     .given_count = count,
                                     .helper = true};
        pid_t process = program ? child_start(&helper) : -1;
        if (!program)
                error_set(error, EXIT_SETUP,
                          "cannot start %s: %s is not installed; install it, or leave out the options that "
                          "need it",
                          what, name);
        if (process < 0)
                error_set(error, EXIT_SETUP, "cannot start %s (%s): %s", what, name, strerror(errno));
        return process;
}

int child_wait(pid_t *process)
{
        int status = -1;
        while (*process > 0 && waitpid(*process, &status, 0) < 0 && errno == EINTR)
                ;
        *process = 0;
        return status;
}

void child_end(pid_t *process)
{
        if (*process > 0)
                (void)kill(*process, SIGKILL);
        (void)child_wait(process);
}
