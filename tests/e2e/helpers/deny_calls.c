/* SPDX-License-Identifier: Apache-2.0
 *
 * deny_calls CALL=ERRNO… -- COMMAND…: runs a command for which the named system calls fail, as they do on an
 * older kernel (ENOSYS) or under somebody's security policy (EPERM, EACCES). `clone+userns` and
 * `unshare+userns` mean the call with CLONE_NEWUSER only, `socket+diag` that for NETLINK_SOCK_DIAG. Works for
 * raw calls too, which a preloaded library would miss. Must never run the command with less than what was
 * asked for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
        const char *name;
        int number;
} errors[] = {
    {"ENOSYS", ENOSYS}, {"EPERM", EPERM},           {"EACCES", EACCES},
    {"EINVAL", EINVAL}, {"ENOSPC", ENOSPC},         {"EAGAIN", EAGAIN},
    {"ENOMEM", ENOMEM}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EMFILE", EMFILE},
};

static void fail(const char *what, const char *detail)
{
        fprintf(stderr, "deny_calls: %s: %s\n", what, detail);
        exit(99);
}

static int error_number(const char *name)
{
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
                if (strcmp(errors[i].name, name) == 0)
                        return errors[i].number;
        fail("unknown error", name);
        return 0;
}

static void deny(scmp_filter_ctx filter, char *rule)
{
        char *equals = strchr(rule, '=');
        if (equals == NULL)
                fail("not CALL=ERRNO", rule);
        *equals = '\0';
        char *condition = strchr(rule, '+');
        if (condition != NULL)
                *condition = '\0';
        int call = seccomp_syscall_resolve_name(rule);
        if (call == __NR_SCMP_ERROR)
                fail("unknown call", rule);
        uint32_t action = SCMP_ACT_ERRNO((uint16_t)error_number(equals + 1));
        struct scmp_arg_cmp userns = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
        struct scmp_arg_cmp diagnosis[] = {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
                                           SCMP_A2(SCMP_CMP_EQ, NETLINK_SOCK_DIAG)};
        bool about_diagnosis = condition != NULL && strcmp(condition + 1, "diag") == 0;
        int result = condition == NULL ? seccomp_rule_add_array(filter, action, call, 0, NULL)
                     : about_diagnosis ? seccomp_rule_add_array(filter, action, call, 2, diagnosis)
                                       : seccomp_rule_add_array(filter, action, call, 1, &userns);
        if (result < 0)
                fail(rule, strerror(-result));
}

int main(int argc, char **argv)
{
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        int i = 1;
        for (; i < argc && strcmp(argv[i], "--") != 0; i++)
                deny(filter, argv[i]);
        if (i + 1 >= argc)
                fail("usage", "deny_calls CALL=ERRNO… -- COMMAND…");
        int result = seccomp_load(filter);
        if (result < 0)
                fail("seccomp_load", strerror(-result));
        execvp(argv[i + 1], argv + i + 1);
        fail(argv[i + 1], strerror(errno));
}
