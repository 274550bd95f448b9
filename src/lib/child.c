/* SPDX-License-Identifier: Apache-2.0
 *
 * See child.h.
 */
#include "lib/child.h"

#include "lib/err.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A terminal or a script sends these to the whole job. hutch handles them and decides when its helpers end.
 */
static const int not_for_helpers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

/* The child of vfork(): makes system calls only. */
static _Noreturn void become_helper(const char *program, const int *given, size_t count)
{
        enum { HIGH = 64 };
        char *const argv[] = {(char *)path_base(program), NULL}, *const environment[] = {NULL};
        sigset_t none;
        int high[HELPER_GIVEN_MAX];
        for (size_t i = 0; i < count; i++)
                if ((high[i] = fcntl(given[i], F_DUPFD, HIGH)) < 0)
                        _exit(EXIT_SETUP);
        for (size_t i = 0; i < count; i++)
                if (dup2(high[i], (int)i) < 0)
                        _exit(EXIT_SETUP);
        if (syscall(SYS_close_range, (unsigned)count, ~0U, 0) < 0)
                _exit(EXIT_SETUP);
        const struct sigaction ignore = {.sa_handler = SIG_IGN};
        for (size_t i = 0; i < sizeof(not_for_helpers) / sizeof(*not_for_helpers); i++)
                sigaction(not_for_helpers[i], &ignore, NULL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(program, argv, environment);
        _exit(EXIT_NOT_FOUND);
}

pid_t child_spawn(const char *program, const int *given, size_t count)
{
        pid_t process = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        if (process == 0)
                become_helper(program, given, count);
        return process;
}

void child_end(pid_t *process)
{
        if (*process <= 0)
                return;
        /* It exits on the hang-up of its socket. One that hangs must not be waited for. */
        (void)kill(*process, SIGKILL);
        while (waitpid(*process, NULL, 0) < 0 && errno == EINTR)
                ;
        *process = 0;
}
