/* SPDX-License-Identifier: Apache-2.0
 *
 * How a sandbox starts. Read launch_start(), in which the supervisor prepares and clones, and then enter(),
 * which is the child. launch.h has the theory of operation.
 */
#include "ns/launch.h"

#include "grants/sockets.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "ns/caps.h"
#include "ns/copy_in.h"
#include "ns/init.h"
#include "ns/landlock.h"
#include "ns/layers.h"
#include "ns/memory_watch.h"
#include "ns/network.h"
#include "ns/rlimits.h"
#include "ns/rootfs.h"
#include "ns/userns.h"
#include "seccomp/arguments.h"
#include "seccomp/builtin.h"
#include "seccomp/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- the child ---- */

static struct {
        char *start;
        size_t length;
} arguments;

void launch_remember_arguments(int argc, char **argv, char **environment)
{
        char *end = argc > 0 ? argv[argc - 1] + strlen(argv[argc - 1]) + 1 : NULL;
        /* The kernel puts the environment directly behind argv. The C library put the rest elsewhere. */
        for (; end && *environment == end; environment++)
                end += strlen(end) + 1;
        if (end) {
                arguments.start = argv[0];
                arguments.length = (size_t)(end - argv[0]);
        }
}

/* Ties the child's life to the supervisor's. The supervisor cannot die unnoticed in this order: first the
 * child closes its copy of the supervisor's end, so that the socket can hang up; then it asks for the signal;
 * then it checks whether the hang-up has already happened. getppid() cannot tell: in a new pid namespace it
 * is 0 whether the parent lives or not. */
static void tie_to_supervisor(const struct entering *entering)
{
        close(entering->supervisor);
        /* Pid 1 never executes a program, so close-on-exec would leave them open in it; and the program that
         * reads the lines would wait for their end. */
        for (int i = 0; i < 2; i++)
                if (entering->stdio.status[i] >= 0)
                        close(entering->stdio.status[i]);
        if (entering->permission >= 0)
                close(entering->permit);
        struct pollfd lifeline = {.fd = entering->control};
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&lifeline, 1, 0) != 0)
                _exit(EXIT_SETUP);
}

/* /proc/1/cmdline shows this memory to every process inside, also while pid 1 is not dumpable. */
static void blank_arguments(void)
{
        memset(arguments.start, 0, arguments.length);
        (void)prctl(PR_SET_NAME, "hutch-init", 0, 0, 0);
}

static void set_host_name(const struct entering *entering)
{
        if (layer_enabled(LAYER_NAMES) && sethostname(BOX_HOST, strlen(BOX_HOST)) < 0)
                entering_fail(entering, STAGE_HOST_NAME, errno, NULL);
}

/* Waits until the supervisor has told what the cgroup holds, settles the limits by it, and makes the cgroup
 * namespace. */
static void await_cgroup(struct entering *entering)
{
        unsigned char holds;
        if (entering->permission >= 0) {
                /* End of file: the supervisor has gone. */
                if (read(entering->permission, &holds, 1) != 1)
                        _exit(EXIT_SETUP);
                fd_close(&entering->permission);
                limits_settle(&entering->limits, holds, entering->box->outer_uid, entering->box->proc, "");
        }
        /* Not in the clone: the root of the namespace is the cgroup that its maker is in at that moment. */
        if (entering->cgroup_namespace)
                entering_check(entering, STAGE_LIMIT, "cgroup", unshare(CLONE_NEWCGROUP));
}

static struct seccomp_program choose_argument_filter(const struct entering *entering)
{
        const struct limits *limits = &entering->limits;
        return seccomp_arguments((entering->box->userns != USERNS_NONE ? SECCOMP_USERNS : 0U) |
                                 (limits->memory == LIMIT_WATCHDOG ? SECCOMP_WATCHED : 0U) |
                                 (limits->processors == LIMIT_AFFINITY ? SECCOMP_NO_AFFINITY : 0U));
}

/* The child, from its first instruction. */
static _Noreturn void enter(struct entering *entering)
{
        tie_to_supervisor(entering);
        blank_arguments();

        /* 1. An identity. From here on the process has every capability, in its own namespaces only. */
        memory_watch_raise_oom_score(entering);
        userns_map_ids(entering);

        /* 2. What the server will see, built beside what hutch still sees. The network namespace takes
         * longest and is made meanwhile. */
        network_begin(entering);
        rootfs_build(entering);
        copy_in_open(entering);
        set_host_name(entering);
        network_enter(entering);

        /* 3. What the sandbox may take of the machine. */
        await_cgroup(entering);
        entering->arguments = choose_argument_filter(entering);
        userns_set_budgets(entering);
        rlimits_set(entering);

        /* 4. No way back: one root, no capability. */
        rootfs_pivot(entering);
        caps_drop(entering);

        /* 5. The files of --file, written with no more rights than the server has. */
        copy_in_write(entering);

        /* 6. Pid 1 forks the server, which restricts itself with Landlock and seccomp and is executed. */
        init_run(entering);
}

/* ---- the supervisor ---- */

/* All but the network namespace: see network.c. */
static unsigned long new_namespaces(bool cgroup)
{
        return (layer_enabled(LAYER_USER) ? CLONE_NEWUSER : 0UL) |
               (layer_enabled(LAYER_MOUNT) ? CLONE_NEWNS : 0UL) |
               (layer_enabled(LAYER_PID) ? CLONE_NEWPID : 0UL) |
               (layer_enabled(LAYER_IPC) ? CLONE_NEWIPC : 0UL) |
               (layer_enabled(LAYER_NAMES) ? CLONE_NEWUTS | (cgroup ? CLONE_NEWCGROUP : 0) : 0UL);
}

/* Clones into new namespaces. Returns 0 in the child, and in the caller the child's pid with *pidfd set, or a
 * negative errno. The calls are raw because glibc's wrappers insist on a new stack. */
static pid_t clone_child(const struct entering *entering, int *pidfd)
{
        unsigned long namespaces = new_namespaces(!entering->cgroup_namespace);
        struct clone_args clone_arguments = {
            .flags = namespaces | CLONE_PIDFD | (entering->stdio.group >= 0 ? CLONE_INTO_CGROUP : 0),
            .pidfd = (uintptr_t)pidfd,
            .exit_signal = SIGCHLD,
            .cgroup = entering->stdio.group >= 0 ? (unsigned)entering->stdio.group : 0,
        };
        long child = syscall(SYS_clone3, &clone_arguments, sizeof(clone_arguments));
        /* A container's filter cannot read the structure of clone3. It answers ENOSYS, so that callers use
         * clone. */
        if (child < 0 && errno == ENOSYS) {
                unsigned long flags = namespaces | CLONE_PIDFD | SIGCHLD;
#ifdef __s390x__
                child = syscall(SYS_clone, NULL, flags, pidfd, NULL, 0);
#else
                child = syscall(SYS_clone, flags, NULL, pidfd, NULL, 0);
#endif
                if (child == 0 && entering->stdio.group >= 0) {
                        int error = fd_write_file(entering->stdio.group, "cgroup.procs", "0");
                        if (error < 0)
                                entering_fail(entering, STAGE_LIMIT, -error, "cgroup");
                }
        }
        return child < 0 ? -errno : (pid_t)child;
}

/* Says when Landlock cannot be enforced, so that the mounts are the only file layer. False when --require
 * asks for it. */
static bool check_landlock(const struct box *box, int abi, struct error *error)
{
        const char *why;
        if (box->verbose && !landlock_guards_sockets(box, abi) && sockets_can_appear(box))
                message_verbose(
                    "the server can connect to a socket below a grant that is not at the path to which its "
                    "program bound it, or that is made from now on: Landlock 9 (Linux 7.1) would refuse it");
        if (landlock_guards_files(box, abi, &why))
                return true;
        if (box->required & REQUIRE_LANDLOCK)
                return error_set(error, EXIT_SETUP, "--require landlock cannot be met: %s", why);
        message("note: the second file layer, Landlock, is not enforced: %s", why);
        return true;
}

bool launch_start(const struct box *box, const struct launch_stdio *stdio, struct launch *launch,
                  struct error *error)
{
        autoclose int supervisor = -1, sandbox = -1, failure_read = -1, failure_write = -1;
        autoclose int permission_read = -1, permission_write = -1;
        /* systemd moves the child into a cgroup after the clone, so the child waits for the answer. */
        bool waits = stdio->limits->way == CGROUP_WAY_SYSTEMD;
        if (!fd_socket_pair(&supervisor, &sandbox, 0) || !fd_pipe(&failure_read, &failure_write, NULL) ||
            (waits && !fd_pipe(&permission_read, &permission_write, NULL)))
                return error_set(error, EXIT_SETUP, "cannot make a socket or a pipe: %s", strerror(errno));

        struct entering entering = {
            .box = box,
            .failure = failure_write,
            .control = sandbox,
            .supervisor = supervisor,
            .permission = permission_read,
            .permit = permission_write,
            .stdio = *stdio,
            .root = -1,
            .limits = *stdio->limits,
            .cgroup_namespace = stdio->limits->way != CGROUP_WAY_NONE && layer_enabled(LAYER_NAMES),
            .spread = (unsigned)getpid(),
            .proc = -1,
            .landlock_abi = landlock_abi(),
        };
        if (!check_landlock(box, entering.landlock_abi, error))
                return false;
        entering.init_filter = seccomp_for_init(stdio->dialler >= 0);
        if (!box->seccomp_path)
                entering.profile = seccomp_builtin(box->userns != USERNS_NONE);
        else if (!seccomp_compile(box->seccomp_path, box->seccomp_json, box->seccomp_length,
                                  &entering.profile, error))
                return false;

        int pidfd = -1;
        pid_t child = clone_child(&entering, &pidfd);
        if (child == 0)
                enter(&entering);
        seccomp_free(&entering.profile);
        if (child < 0) {
                launch->failed = (struct failure){.stage = STAGE_NAMESPACES, .error = -child};
                failure_explain(&launch->failed, error);
                return false;
        }
        *launch = (struct launch){
            .init = pidfd,
            .process = child,
            .permission = fd_take(&permission_write),
            .control = fd_take(&supervisor),
            .failure = fd_take(&failure_read),
        };
        return true;
}
