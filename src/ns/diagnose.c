/* SPDX-License-Identifier: Apache-2.0
 *
 * See diagnose.h.
 */
#include "ns/diagnose.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The kinds in the names of the sysctls. */
static const char *const kinds[NAMESPACE_KINDS] = {
    [NAMESPACE_USER] = "user",     [NAMESPACE_MOUNT] = "mnt", [NAMESPACE_PID] = "pid",
    [NAMESPACE_NETWORK] = "net",   [NAMESPACE_IPC] = "ipc",   [NAMESPACE_UTS] = "uts",
    [NAMESPACE_CGROUP] = "cgroup",
};

/* ---- looking ---- */

/* The first line of a small file below `root`, or NULL. The caller frees. */
static char *machine_read_text(const char *root, const char *path)
{
        autofree char *full = str_format("%s%s", root, path);
        char *text = NULL;
        if (fd_read_file(full, 65536, &text) < 0)
                return NULL;
        text[strcspn(text, "\n")] = 0;
        return text;
}

static long machine_read_number(const char *root, const char *path)
{
        autofree char *text = machine_read_text(root, path);
        return text && text[0] ? strtol(text, NULL, 10) : -1;
}

static bool is_filtered(const char *root)
{
        autofree char *path = str_format("%s/proc/self/status", root);
        autofree char *status = NULL;
        return fd_read_file(path, 65536, &status) > 0 && strstr(status, "\nSeccomp:\t2");
}

void machine_look(struct machine *machine, const char *root)
{
        *machine = (struct machine){
            .userns_clone = machine_read_number(root, "/proc/sys/kernel/unprivileged_userns_clone"),
            .apparmor_restricts =
                machine_read_number(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            .selinux_enforces = machine_read_number(root, "/sys/fs/selinux/enforce") == 1,
            .filtered = is_filtered(root),
        };
        for (size_t i = 0; i < NAMESPACE_KINDS; i++) {
                autofree char *path = str_format("/proc/sys/user/max_%s_namespaces", kinds[i]);
                machine->namespaces_max[i] = machine_read_number(root, path);
        }
        autofree char *profile = str_format("%s/etc/apparmor.d/hutch", root);
        machine->apparmor_profile = access(profile, F_OK) == 0;
        autofree char *label = machine_read_text(root, "/proc/self/attr/apparmor/current");
        snprintf(machine->apparmor_label, sizeof(machine->apparmor_label), "%s", label ? label : "");
        autofree char *link = str_format("%s/proc/self/exe", root);
        ssize_t length = readlink(link, machine->program, sizeof(machine->program) - 1);
        machine->program[length > 0 ? length : 0] = 0;
}

/* ---- judging ---- */

static __attribute__((format(printf, 3, 4))) bool set_reason(struct reason *reason, const char *why,
                                                             const char *fix, ...)
{
        va_list arguments;
        snprintf(reason->why, sizeof(reason->why), "%s", why);
        va_start(arguments, fix);
        vsnprintf(reason->fix, sizeof(reason->fix), fix, arguments);
        va_end(arguments);
        return true;
}

bool diagnose_settings(const struct machine *machine, struct reason *reason)
{
        if (machine->userns_clone == 0)
                return set_reason(reason, "the sysctl kernel.unprivileged_userns_clone is 0",
                                  "`sudo sysctl -w kernel.unprivileged_userns_clone=1` permits them");
        for (size_t i = 0; i < NAMESPACE_KINDS; i++) {
                if (machine->namespaces_max[i] != 0)
                        continue;
                autofree char *why = str_format("the sysctl user.max_%s_namespaces is 0 here", kinds[i]);
                return set_reason(
                    reason, why,
                    "`sudo sysctl -w user.max_%s_namespaces=15000` permits them (in a sandbox or "
                    "container, start hutch outside of it)",
                    kinds[i]);
        }
        return false;
}

/* True when an AppArmor profile confines this process, as those of container engines do. */
static bool is_confined(const struct machine *machine)
{
        return strstr(machine->apparmor_label, "(enforce)");
}

static bool name_apparmor_label(const struct machine *machine, struct reason *reason)
{
        autofree char *why = str_format("AppArmor confines hutch by the profile %s, which refuses it",
                                        machine->apparmor_label);
        return set_reason(
            reason, why,
            "start hutch outside of that profile, or permit it there (for a container: --security-opt "
            "apparmor=unconfined)");
}

static bool name_security_module(const struct machine *machine, struct reason *reason)
{
        if (is_confined(machine))
                return name_apparmor_label(machine, reason);
        if (machine->selinux_enforces)
                return set_reason(
                    reason, "SELinux is enforcing here, and most likely refuses it",
                    "`sudo ausearch -m avc -ts recent` shows the refusal, and `sudo ausearch -m avc "
                    "-ts recent | audit2allow -M hutch && sudo semodule -i hutch.pp` permits it");
        return set_reason(reason, "a security module (SELinux, AppArmor), a container or a chroot refuses it",
                          "`sudo dmesg | tail` shows which of them; permit it for hutch there");
}

bool diagnose_namespaces(const struct machine *machine, int error, struct reason *reason)
{
        if (diagnose_settings(machine, reason))
                return true;
        if (error == ENOSPC || error == EUSERS)
                return set_reason(reason,
                                  "a limit user.max_*_namespaces, or the nesting depth of 32, is reached",
                                  "close other sandboxes or raise the sysctl");
        if (diagnose_is_refusal(error) && machine->filtered)
                return set_reason(
                    reason, "a system call filter refuses them, as in most containers",
                    "start hutch outside of the container, or give the container a seccomp profile "
                    "that permits clone with namespaces");
        if (diagnose_is_refusal(error))
                return name_security_module(machine, reason);
        if (error == EINVAL || error == ENOSYS)
                return set_reason(reason, "this kernel lacks some kind of them",
                                  "hutch needs Linux 5.14 or newer with CONFIG_USER_NS");
        if (error == EAGAIN || error == ENOMEM)
                return set_reason(reason, "the limit on processes (ulimit -u) or memory is reached",
                                  "close other programs");
        return false;
}

/* Ubuntu's rule: a program without a profile gets namespaces without any capability in them. */
static bool name_apparmor_rule(const struct machine *machine, struct reason *reason)
{
        const char *why = "AppArmor on this system lets only named programs use user namespaces";
        if (machine->apparmor_profile)
                return set_reason(
                    reason, why,
                    "hutch's profile in /etc/apparmor.d names /usr/bin/hutch and /usr/local/bin/hutch, and "
                    "this is %s; install hutch there, and load the profile with `sudo apparmor_parser -r "
                    "/etc/apparmor.d/hutch`",
                    machine->program[0] ? machine->program : "another");
        return set_reason(
            reason, why,
            "install hutch's profile with `sudo cp " HUTCH_DATADIR
            "/apparmor/hutch /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/hutch`, or "
            "permit all with `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`");
}

void diagnose_refused_step(const struct machine *machine, bool proc, int error, struct reason *reason)
{
        if (machine->apparmor_restricts == 1)
                name_apparmor_rule(machine, reason);
        else if (proc)
                set_reason(reason,
                           "parts of /proc are masked here, as in a container, and the kernel then "
                           "refuses a fresh one",
                           "use --proc none, or start hutch outside of the container");
        else if (is_confined(machine) && error == EACCES)
                name_apparmor_label(machine, reason);
        else if (machine->filtered)
                set_reason(
                    reason, "a system call filter refuses it, as in most containers",
                    "start hutch outside of the container, or give the container a seccomp profile that "
                    "permits mounts in user namespaces");
        else
                name_security_module(machine, reason);
}
