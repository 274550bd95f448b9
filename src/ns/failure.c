/* SPDX-License-Identifier: Apache-2.0
 *
 * From {stage, errno, path} to one sentence: which step, why, what to do. The causes that a person can act on
 * are told apart by looking at the machine, only after something has failed.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The step in words, after "cannot". %s is the path where there is one. */
static const char *const stages[STAGE_COUNT] = {
    [STAGE_NAMESPACES] = "create user namespaces",
    [STAGE_ID_MAP] = "map the user id in the new user namespace",
    [STAGE_MEMORY_FS] = "mount the sandbox's memory file system",
    [STAGE_SOURCE] = "open",
    [STAGE_SWAPPED] = "use",
    [STAGE_MOUNT_POINT] = "make a mount point at",
    [STAGE_OVERLAY] = "make an overlay of",
    [STAGE_MOUNT] = "mount",
    [STAGE_PROC] = "mount a fresh /proc",
    [STAGE_PROC_MASK] = "mask a part of /proc:",
    [STAGE_DEVICES] = "set up the sandbox's devices:",
    [STAGE_NETWORK] = "make the sandbox's network namespace",
    [STAGE_HOST_NAME] = "set the sandbox's host name",
    [STAGE_BUDGET] = "set the sandbox's budget in",
    [STAGE_ROOT] = "change to the sandbox's root",
    [STAGE_LIMIT] = "set the resource limit",
    [STAGE_CAPABILITIES] = "give up",
    [STAGE_STDIO] = "set up standard input and output",
    [STAGE_FILE_READ] = "copy",
    [STAGE_FILE_PLACE] = "put a file at",
    [STAGE_CWD] = "enter the working directory",
    [STAGE_LANDLOCK] = "restrict the file system with Landlock",
    [STAGE_SECCOMP] = "load the system call filter",
    [STAGE_FORK] = "start a process in the sandbox",
    [STAGE_EXEC] = "execute",
};

/* A number in a file of /proc/sys, or -1 when there is none. */
static long read_number(const char *path)
{
        autofree char *text = NULL;
        if (fd_read_file(path, 64, &text) <= 0)
                return -1;
        return strtol(text, NULL, 10);
}

static bool under_system_call_filter(void)
{
        autofree char *status = NULL;
        return fd_read_file("/proc/self/status", 65536, &status) > 0 && strstr(status, "\nSeccomp:\t2");
}

static bool is_refusal(int error)
{
        return error == EPERM || error == EACCES;
}

/* Why the kernel made no namespaces, and the fix. */
static const char *explain_namespaces(int error)
{
        if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
                return "the sysctl kernel.unprivileged_userns_clone is 0; `sudo sysctl -w "
                       "kernel.unprivileged_userns_clone=1` permits them";
        if (read_number("/proc/sys/user/max_user_namespaces") == 0)
                return "the sysctl user.max_user_namespaces is 0 here; `sudo sysctl -w "
                       "user.max_user_namespaces=15000` permits them (inside a sandbox or container, start "
                       "hutch "
                       "outside of it)";
        if (error == ENOSPC || error == EUSERS)
                return "the limit user.max_user_namespaces, or the nesting depth of 32, is reached; close "
                       "other "
                       "sandboxes or raise the sysctl";
        if (is_refusal(error) && under_system_call_filter())
                return "a system call filter refuses them, as in most containers; start hutch outside of the "
                       "container, or give the container a seccomp profile that permits clone with "
                       "namespaces";
        if (is_refusal(error))
                return "a security module (SELinux, AppArmor) or a chroot refuses them; run `sudo dmesg | "
                       "tail` to "
                       "see which, and permit user namespaces for hutch there";
        if (error == EINVAL || error == ENOSYS)
                return "this kernel lacks some kind of them; hutch needs Linux 5.14 or newer with "
                       "CONFIG_USER_NS";
        if (error == EAGAIN || error == ENOMEM)
                return "the limit on processes (ulimit -u) or memory is reached; close other programs";
        return NULL;
}

/* The kernel made the namespaces but grants no authority in them. */
static const char *explain_refused_step(enum stage stage)
{
        if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
                return "AppArmor on this system lets only named programs use user namespaces; install "
                       "hutch's "
                       "profile with `sudo cp " HUTCH_DATADIR "/apparmor/hutch /etc/apparmor.d/ && sudo "
                       "apparmor_parser -r /etc/apparmor.d/hutch`, or permit all with `sudo sysctl -w "
                       "kernel.apparmor_restrict_unprivileged_userns=0`";
        if (stage == STAGE_PROC)
                return "parts of the present /proc are masked, as in a container, and the kernel then "
                       "refuses a "
                       "fresh one; use --proc none, or start hutch outside of the container";
        if (under_system_call_filter())
                return "a system call filter refuses it, as in most containers; start hutch outside of the "
                       "container, or give the container a seccomp profile that permits mounts in user "
                       "namespaces";
        return "a security module (AppArmor, SELinux) or a container refuses it although it let the "
               "namespaces be "
               "made; run `sudo dmesg | tail` to see which, and permit it for hutch there";
}

static const char *explain_exec(int error)
{
        switch (error) {
        case ENOENT:
                return "it, or the interpreter it names, does not exist inside the sandbox; grant it with "
                       "--ro";
        case EACCES:
        case EPERM:
                return "it is not executable for you; check its mode (chmod +x) and that its file system is "
                       "not "
                       "mounted noexec";
        case ENOEXEC:
                return "it is no program of this machine and has no #! line";
        case E2BIG:
                return "its arguments and environment are too long";
        default:
                return NULL;
        }
}

/* Of a file that is sent in: why it could not be read, or be put in its place. */
static const char *explain_file(enum stage stage, int error)
{
        if (stage == STAGE_FILE_READ)
                return error == ESTALE ? "it grew or shrank while it was copied; start again" : NULL;
        switch (error) {
        case EEXIST:
                return "what is there is no regular file, and hutch replaces nothing else; remove it, or "
                       "name "
                       "another place";
        case ENOTDIR:
        case ELOOP:
                return "a part of the path is a link or no folder; name the real path";
        case ENOSPC:
        case EDQUOT:
                return "there is no room; in memory all that is writable shares one budget, and --tmpfs "
                       "PATH:SIZE has its own";
        case EACCES:
        case EPERM:
        case EROFS:
        case EBUSY:
                return "the command could not write there either";
        default:
                return NULL;
        }
}

static const char *explain_path(enum stage stage, int error, const char *path)
{
        if (stage == STAGE_SWAPPED)
                return "something else was put in its place while hutch started; nobody else should be able "
                       "to "
                       "write there";
        if (stage == STAGE_MOUNT_POINT && (error == ENOENT || error == EROFS))
                return "it lies in a granted folder that has no such path, and hutch creates nothing on the "
                       "host; "
                       "create it first";
        if (stage == STAGE_MOUNT_POINT && (error == ELOOP || error == ENOTDIR || error == EXDEV))
                return "a part of the path is a link or a file inside a granted folder; name the real path";
        if (stage == STAGE_SOURCE && is_refusal(error))
                return "you may not enter it, or its file system refuses you in a user namespace (a FUSE or "
                       "root-squashed mount)";
        if (stage == STAGE_OVERLAY && error == EINVAL)
                return "another file system is mounted below it, or overlayfs does not take its own; name a "
                       "folder without, or grant it with --ro";
        if (stage == STAGE_OVERLAY && (is_refusal(error) || error == ENODEV))
                return "overlayfs is missing, or this kernel does not permit it in user namespaces (Linux "
                       "5.11 "
                       "does); grant the folder with --ro";
        if (stage == STAGE_CWD)
                return access(path, F_OK) == 0
                           ? "it exists, but is not visible inside; grant it with --ro or --rw"
                           : "name one that exists inside, with --cwd";
        if (stage == STAGE_MOUNT_POINT && error == ENAMETOOLONG)
                return "the path is too long";
        if (stage == STAGE_NETWORK && error == ENOSPC)
                return "the sysctl user.max_net_namespaces is reached; close other sandboxes or raise it";
        return NULL;
}

/* The call itself is missing, not the permission. */
static bool is_missing_call(enum stage stage, int error)
{
        return error == ENOSYS || (error == ENODEV && stage != STAGE_DEVICES && stage != STAGE_OVERLAY);
}

static const char *explain(enum stage stage, int error, const char *path)
{
        const char *why = NULL;
        if (stage == STAGE_NAMESPACES)
                return explain_namespaces(error);
        if (stage == STAGE_EXEC)
                return explain_exec(error);
        if (is_missing_call(stage, error))
                return "this kernel, or a system call filter around hutch, lacks the call; hutch needs Linux "
                       "5.14 or "
                       "newer";
        if (stage == STAGE_FILE_READ || stage == STAGE_FILE_PLACE)
                return explain_file(stage, error);
        why = explain_path(stage, error, path);
        if (!why && is_refusal(error) && stage < STAGE_STDIO && stage != STAGE_SOURCE &&
            stage != STAGE_SWAPPED)
                why = explain_refused_step(stage);
        return why;
}

void failure_explain(const struct failure *failure, struct error *error)
{
        enum stage stage = failure->stage < STAGE_COUNT ? (enum stage)failure->stage : STAGE_NAMESPACES;
        int status = EXIT_SETUP;
        if (stage == STAGE_EXEC)
                status = failure->error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;

        const char *why = explain(stage, failure->error, failure->path);
        const char *path = failure->path;
        error_set(error, status, "cannot %s%s%.*s: %s%s%s", stages[stage], path[0] ? " " : "",
                  (int)strnlen(path, sizeof(failure->path) - 1), path, strerror(failure->error),
                  why ? ": " : "", why ? why : "");
}
