/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to leave the sandbox's namespaces and mounts: new namespaces, other mounts, other roots. Most are
 * shown by root of new namespaces, in which they harm nobody.
 */
#include "prove/attempts.h"

#include "lib/child.h"
#include "lib/fd.h"
#include "prove/target.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static enum outcome reap_clone(long result)
{
        pid_t child = (pid_t)result;
        if (child == 0)
                _exit(0);
        (void)child_wait(&child);
        return out_if(result > 0);
}

static enum outcome clone_one(void)
{
#ifdef __s390x__
        return reap_clone(syscall(SYS_clone, NULL, (unsigned long)attempt->number | SIGCHLD, NULL, NULL, 0));
#else
        return reap_clone(syscall(SYS_clone, (unsigned long)attempt->number | SIGCHLD, NULL, NULL, NULL, 0));
#endif
}

static enum outcome clone3_one(void)
{
        struct clone_args arguments = {.flags = (uint64_t)attempt->number, .exit_signal = SIGCHLD};
        return reap_clone(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

/* Enters a namespace of the host through /proc. Inside, pid 1 is the only other process. */
static enum outcome enter_host(void)
{
        char path[64];
        (void)snprintf(path, sizeof(path), "/proc/%ld/ns/%s",
                       target_is_inside() ? 1 : target_number("victim"), attempt->text);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        return out_if(fd >= 0 && setns(fd, 0) == 0);
}

static enum outcome remount(void)
{
        /* Outside, new namespaces may not remount an inherited mount; they may remount a bind of it. */
        if (!target_is_inside() && mount(attempt->text, attempt->text, NULL, MS_BIND | MS_REC, NULL) < 0)
                return HELD;
        return out_if(mount(NULL, attempt->text, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL) == 0);
}

static enum outcome move_tree(void)
{
        autoclose int tree = open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        return out_if(move_mount(tree, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH) == 0);
}

/* Unmounts a mask, which would show the file below it. */
static enum outcome unmount(void)
{
        if (!target_is_inside() &&
            (mount("none", "/tmp", "tmpfs", 0, NULL) < 0 || umount2("/tmp", MNT_DETACH) < 0))
                return HELD;
        return out_if(!target_is_inside() || umount2(attempt->text, MNT_DETACH) == 0);
}

/* From a directory outside of the new root, `..` leads above it. */
static enum outcome chroot_climb(void)
{
        autoclose int outer = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (chroot(target_path("grant")) < 0 || fchdir(outer) < 0)
                return HELD;
        for (int i = 0; i < 32; i++)
                (void)!chdir("..");
        return out_if(chroot(".") == 0 &&
                      target_read_marker(AT_FDCWD, target_path("home/.ssh/id_ed25519")) == GOT_OUT);
}

static enum outcome pivot(void)
{
        return out_if(mount("none", "/tmp", "tmpfs", 0, NULL) == 0 && chdir("/tmp") == 0 &&
                      syscall(SYS_pivot_root, ".", ".") == 0);
}

static enum outcome pivot_granted(void)
{
        const char *grant = target_path("grant");
        if (!target_is_inside() && mount(grant, grant, NULL, MS_BIND, NULL) < 0)
                return HELD;
        return out_if(chdir(grant) == 0 && syscall(SYS_pivot_root, ".", ".") == 0);
}

static enum outcome become_root(void)
{
        return out_if(setresuid(0, 0, 0) == 0 && geteuid() == 0);
}

static enum outcome raise_capability(void)
{
        return out_if(prctl(PR_CAPBSET_READ, 21) == 1 && prctl(PR_SET_SECUREBITS, 0) == 0);
}

static enum outcome new_privileges(void)
{
        return out_if(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
}

static enum outcome host_name(void)
{
        char name[65] = "";
        return out_if(sethostname(attempt->text, strlen(attempt->text)) == 0 &&
                      gethostname(name, sizeof(name)) == 0 && strcmp(name, attempt->text) == 0);
}

static enum outcome raise_budget(void)
{
        return out_if(target_write(attempt->text, "100"));
}

#define MOUNT(source, place, type, flags)                                                                    \
        CALL(SYS_mount, POINTER(source), POINTER(place), POINTER(type), flags)
static const struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
static const gid_t root_group = 0;

static const struct attempt rows[] = {
    {"userns", "every capability, in a namespace", AS_CALLER, CALL(SYS_unshare, CLONE_NEWUSER)},
    {"userns-clone", "the same by clone", AS_CALLER, clone_one, NULL, CLONE_NEWUSER},
    {"userns-clone3", "the same by clone3", AS_CALLER, clone3_one, NULL, CLONE_NEWUSER},
    {"mount-namespace", "a mount namespace", IN_USERNS, CALL(SYS_unshare, CLONE_NEWNS)},
    {"network-namespace", "a network namespace", IN_USERNS, CALL(SYS_unshare, CLONE_NEWNET)},
    {"pid-namespace", "a pid namespace", IN_USERNS, CALL(SYS_unshare, CLONE_NEWPID)},
    {"cgroup-namespace", "a cgroup namespace", IN_USERNS, CALL(SYS_unshare, CLONE_NEWCGROUP)},
    {"ipc-clone", "an IPC namespace by clone", IN_USERNS, clone_one, NULL, CLONE_NEWIPC},
    {"setns-mount", "the mounts of another process", AS_ROOT, enter_host, "mnt"},
    {"setns-network", "the network of another process", AS_ROOT, enter_host, "net"},
    {"setns-pid", "the processes of another", AS_ROOT, enter_host, "pid"},
    {"mount-memory", "another file system at /tmp", IN_USERNS, MOUNT("none", "/tmp", "tmpfs", 0)},
    {"mount-over-usr", "other programs in /usr", IN_USERNS, MOUNT("none", "/usr", "tmpfs", 0)},
    {"mount-bind", "a second view of /", IN_USERNS, MOUNT("/", "/tmp", 0, MS_BIND | MS_REC)},
    {"mount-proc", "an unmasked /proc", IN_USERNS, MOUNT("none", "/tmp", "proc", 0)},
    {"mount-cgroup", "the caller's cgroups", IN_USERNS, MOUNT("none", "/tmp", "cgroup2", 0)},
    {"mount-sysfs", "the machine's devices", IN_USERNS, MOUNT("none", "/tmp", "sysfs", 0)},
    {"remount", "a writable /usr", IN_USERNS, remount, "/usr"},
    {"mount-setattr", "a writable root", IN_USERNS,
     CALL(SYS_mount_setattr, AT_FDCWD, POINTER("/"), 0, POINTER(&writable), sizeof(writable))},
    {"fsopen", "a mount by the new calls", IN_USERNS, CALL(SYS_fsopen, POINTER("tmpfs"), FSOPEN_CLOEXEC)},
    {"open-tree", "a copy of the mounts", IN_USERNS,
     CALL(SYS_open_tree, AT_FDCWD, POINTER("/"), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)},
    {"move-mount", "a mount in another place", IN_USERNS, move_tree},
    {"unmount-mask", "a masked file", IN_USERNS, unmount, "/proc/kcore"},
    {"unmount-grant", "the files below a grant", IN_USERNS, unmount, "/usr"},
    {"chroot", "another root", IN_USERNS, CALL(SYS_chroot, POINTER("/tmp"))},
    {"chroot-climb", "the root above, by chroot", IN_USERNS, chroot_climb},
    {"pivot-root", "another root of the namespace", IN_USERNS, pivot},
    {"pivot-root-grant", "a grant as the root", IN_USERNS, pivot_granted},
    {"setuid-root", "root by setresuid", IN_USERNS, become_root},
    {"setgroups", "root's group", AS_ROOT, CALL(SYS_setgroups, 1, POINTER(&root_group))},
    {"capabilities", "a capability", IN_USERNS, raise_capability},
    {"new-privileges", "rights of set-user-id programs", AS_CALLER, new_privileges},
    {"host-name", "the host's name", IN_USERNS, host_name, "hutch-prove"},
    {"namespace-budget", "namespaces by /proc/sys", IN_USERNS, raise_budget,
     "/proc/sys/user/max_user_namespaces"},
};
const struct attempt_group namespaces_group = ATTEMPT_GROUP("namespaces and mounts", rows);
