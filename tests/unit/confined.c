/* SPDX-License-Identifier: Apache-2.0
 *
 * The other half of confined.h.
 */
#include "confined.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
/* cmocka wants the three above it. */
#include <cmocka.h>

/* The child's side: loads up to two programs, and does not return when that fails. */
void confine(const struct seccomp_program *first, const struct seccomp_program *second)
{
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || (first && seccomp_install(first) < 0) ||
            seccomp_install(second) < 0)
                end_child(255);
}

void end_child(int status)
{
        syscall(SYS_exit_group, status);
}

int wait_status(pid_t child)
{
        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
}

long make_call(const struct call *call)
{
        const long *a = call->arguments;

        return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void check_calls(const struct seccomp_program *arguments, const struct seccomp_program *profile,
                 const struct call *calls, size_t count)
{
        bool wrong = false;

        for (size_t i = 0; i < count; i++) {
                pid_t child = fork();
                int status;

                assert_true(child >= 0);
                if (child == 0) {
                        long result;
                        confine(arguments, profile);
                        result = make_call(&calls[i]);
                        end_child(result == -1 ? errno : 0);
                }
                status = wait_status(child);
                if (!WIFEXITED(status) || WEXITSTATUS(status) != calls[i].expected) {
                        print_error("%s (row %zu): wait status 0x%x, expected errno %d\n", calls[i].name, i,
                                    status, calls[i].expected);
                        wrong = true;
                }
        }
        assert_false(wrong);
}
