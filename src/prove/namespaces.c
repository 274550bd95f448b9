/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to leave the sandbox's namespaces and mounts: new namespaces, other mounts, other roots. Most are
 * shown by root of new namespaces, in which they harm nobody.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "prove/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static enum outcome unshare_one(const struct attempt *attempt)
{
        return out_if(unshare((int)attempt->number) == 0);
}

static enum outcome reap_clone(long child)
{
        int status;
        if (child == 0)
                _exit(0);
        if (child < 0)
                return HELD;
        waitpid((pid_t)child, &status, 0);
        return GOT_OUT;
}

static enum outcome clone_one(const struct attempt *attempt)
{
#ifdef __s390x__
        return reap_clone(syscall(SYS_clone, NULL, (unsigned long)attempt->number | SIGCHLD, NULL, NULL, 0));
#else
        return reap_clone(syscall(SYS_clone, (unsigned long)attempt->number | SIGCHLD, NULL, NULL, NULL, 0));
#endif
}

static enum outcome clone3_one(const struct attempt *attempt)
{
        struct clone_args arguments = {.flags = (uint64_t)attempt->number, .exit_signal = SIGCHLD};
        return reap_clone(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

/* Enters a namespace of the host through /proc. Inside, pid 1 is the only other process. */
static enum outcome enter_host(const struct attempt *attempt)
{
        char path[64];
        (void)snprintf(path, sizeof(path), "/proc/%ld/ns/%s",
                       target_is_inside() ? 1 : target_number("victim"), attempt->text);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        return out_if(fd >= 0 && setns(fd, 0) == 0);
}

static enum outcome mount_memory(const struct attempt *attempt)
{
        return out_if(mount("none", attempt->text, "tmpfs", 0, NULL) == 0);
}

static enum outcome bind(const struct attempt *attempt)
{
        return out_if(mount(attempt->text, "/tmp", NULL, MS_BIND | MS_REC, NULL) == 0);
}

static enum outcome make_writable(const struct attempt *attempt)
{
        struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
        (void)attempt;
        return out_if(mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof(attributes)) == 0);
}

static enum outcome remount(const struct attempt *attempt)
{
        /* Outside, new namespaces may not remount an inherited mount; they may remount a bind of it. */
        if (!target_is_inside() && mount(attempt->text, attempt->text, NULL, MS_BIND | MS_REC, NULL) < 0)
                return HELD;
        return out_if(mount(NULL, attempt->text, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL) == 0);
}

static enum outcome new_mount_calls(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
        return out_if(context >= 0);
}

static enum outcome clone_tree(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        return out_if(tree >= 0);
}

static enum outcome move_tree(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int tree = open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        return out_if(move_mount(tree, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) == 0);
}

static enum outcome mount_proc(const struct attempt *attempt)
{
        return out_if(mount("proc", "/tmp", attempt->text, 0, NULL) == 0);
}

/* Unmounts a mask, which would show the file below it. */
static enum outcome unmount(const struct attempt *attempt)
{
        if (!target_is_inside() &&
            (mount("none", "/tmp", "tmpfs", 0, NULL) < 0 || umount2("/tmp", MNT_DETACH) < 0))
                return HELD;
        return out_if(!target_is_inside() || umount2(attempt->text, MNT_DETACH) == 0);
}

static enum outcome change_root(const struct attempt *attempt)
{
        return out_if(chroot(attempt->text) == 0);
}

/* From a directory outside of the new root, `..` leads above it. */
static enum outcome chroot_climb(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int outer = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (chroot(target_path("grant")) < 0 || fchdir(outer) < 0)
                return HELD;
        for (int i = 0; i < 32; i++)
                (void)!chdir("..");
        return out_if(chroot(".") == 0 &&
                      target_read_marker(AT_FDCWD, target_path("home/.ssh/id_ed25519")) == GOT_OUT);
}

static enum outcome pivot(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(mount("none", "/tmp", "tmpfs", 0, NULL) == 0 && chdir("/tmp") == 0 &&
                      syscall(SYS_pivot_root, ".", ".") == 0);
}

static enum outcome pivot_granted(const struct attempt *attempt)
{
        (void)attempt;
        const char *grant = target_path("grant");
        if (!target_is_inside() && mount(grant, grant, NULL, MS_BIND, NULL) < 0)
                return HELD;
        return out_if(chdir(grant) == 0 && syscall(SYS_pivot_root, ".", ".") == 0);
}

static enum outcome become_root(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(setresuid(0, 0, 0) == 0 && geteuid() == 0);
}

static enum outcome change_groups(const struct attempt *attempt)
{
        static const gid_t group = 0;
        (void)attempt;
        return out_if(syscall(SYS_setgroups, 1, &group) == 0);
}

static enum outcome raise_capability(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(prctl(PR_CAPBSET_READ, 21) == 1 && prctl(PR_SET_SECUREBITS, 0) == 0);
}

static enum outcome new_privileges(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
}

static enum outcome host_name(const struct attempt *attempt)
{
        char name[65] = "";
        return out_if(sethostname(attempt->text, strlen(attempt->text)) == 0 &&
                      gethostname(name, sizeof(name)) == 0 && strcmp(name, attempt->text) == 0);
}

static enum outcome raise_budget(const struct attempt *attempt)
{
        autoclose int fd = open(attempt->text, O_WRONLY | O_CLOEXEC);
        return out_if(fd >= 0 && write(fd, "100", 3) == 3);
}

static const struct attempt rows[] = {
    {"userns", "every capability, in a namespace", SHOW_AS_CALLER, unshare_one, "userns", CLONE_NEWUSER},
    {"userns-clone", "the same by clone", SHOW_AS_CALLER, clone_one, "userns", CLONE_NEWUSER},
    {"userns-clone3", "the same by clone3", SHOW_AS_CALLER, clone3_one, "userns", CLONE_NEWUSER},
    {"mount-namespace", "a mount namespace", SHOW_IN_USERNS, unshare_one, NULL, CLONE_NEWNS},
    {"network-namespace", "a network namespace", SHOW_IN_USERNS, unshare_one, NULL, CLONE_NEWNET},
    {"pid-namespace", "a pid namespace", SHOW_IN_USERNS, unshare_one, NULL, CLONE_NEWPID},
    {"cgroup-namespace", "a cgroup namespace", SHOW_IN_USERNS, unshare_one, NULL, CLONE_NEWCGROUP},
    {"ipc-clone", "an IPC namespace by clone", SHOW_IN_USERNS, clone_one, NULL, CLONE_NEWIPC},
    {"setns-mount", "the mounts of another process", SHOW_AS_ROOT, enter_host, "mnt", 0},
    {"setns-network", "the network of another process", SHOW_AS_ROOT, enter_host, "net", 0},
    {"setns-pid", "the processes of another", SHOW_AS_ROOT, enter_host, "pid", 0},
    {"mount-memory", "another file system at /tmp", SHOW_IN_USERNS, mount_memory, "/tmp", 0},
    {"mount-over-usr", "other programs in /usr", SHOW_IN_USERNS, mount_memory, "/usr", 0},
    {"mount-bind", "a second view of /", SHOW_IN_USERNS, bind, "/", 0},
    {"mount-proc", "an unmasked /proc", SHOW_IN_USERNS, mount_proc, "proc", 0},
    {"mount-cgroup", "the caller's cgroups", SHOW_IN_USERNS, mount_proc, "cgroup2", 0},
    {"mount-sysfs", "the machine's devices", SHOW_IN_USERNS, mount_proc, "sysfs", 0},
    {"remount", "a writable /usr", SHOW_IN_USERNS, remount, "/usr", 0},
    {"mount-setattr", "a writable root", SHOW_IN_USERNS, make_writable, NULL, 0},
    {"fsopen", "a mount by the new calls", SHOW_IN_USERNS, new_mount_calls, NULL, 0},
    {"open-tree", "a copy of the mounts", SHOW_IN_USERNS, clone_tree, NULL, 0},
    {"move-mount", "a mount in another place", SHOW_IN_USERNS, move_tree, NULL, 0},
    {"unmount-mask", "a masked file", SHOW_IN_USERNS, unmount, "/proc/kcore", 0},
    {"unmount-grant", "the files below a grant", SHOW_IN_USERNS, unmount, "/usr", 0},
    {"chroot", "another root", SHOW_IN_USERNS, change_root, "/tmp", 0},
    {"chroot-climb", "the root above, by chroot", SHOW_IN_USERNS, chroot_climb, NULL, 0},
    {"pivot-root", "another root of the namespace", SHOW_IN_USERNS, pivot, NULL, 0},
    {"pivot-root-grant", "a grant as the root", SHOW_IN_USERNS, pivot_granted, NULL, 0},
    {"setuid-root", "root by setresuid", SHOW_IN_USERNS, become_root, NULL, 0},
    {"setgroups", "root's group", SHOW_AS_ROOT, change_groups, NULL, 0},
    {"capabilities", "a capability", SHOW_IN_USERNS, raise_capability, NULL, 0},
    {"new-privileges", "rights of set-user-id programs", SHOW_AS_CALLER, new_privileges, NULL, 0},
    {"host-name", "the host's name", SHOW_IN_USERNS, host_name, "hutch-prove", 0},
    {"namespace-budget", "namespaces by /proc/sys", SHOW_IN_USERNS, raise_budget,
     "/proc/sys/user/max_user_namespaces", 0},
};
const struct attempt_group namespaces_group = ATTEMPT_GROUP("namespaces and mounts", rows);
