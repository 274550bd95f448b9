/* SPDX-License-Identifier: Apache-2.0
 *
 * How a sandbox starts, top to bottom. The supervisor clones one child into new namespaces. The
 * child builds the sandbox around itself, gives up every privilege it has there, forks the server and stays
 * as pid 1. No step is retried in a weaker form: what fails ends the child, and nothing was run.
 */
#include "ns/launch.h"

#include "grants/sockets.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "ns/control.h"
#include "ns/layers.h"

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

/* All but the network namespace, which takes longest: network.c makes it in the meantime. */
static unsigned long new_namespaces(bool groups)
{
        return (layer_enabled(LAYER_USER) ? CLONE_NEWUSER : 0UL) |
               (layer_enabled(LAYER_MOUNT) ? CLONE_NEWNS : 0UL) |
               (layer_enabled(LAYER_PID) ? CLONE_NEWPID : 0UL) |
               (layer_enabled(LAYER_IPC) ? CLONE_NEWIPC : 0UL) |
               (layer_enabled(LAYER_NAMES) ? CLONE_NEWUTS | (groups ? CLONE_NEWCGROUP : 0) : 0UL);
}

static struct {
        char *start;
        size_t length;
} arguments;

void launch_remember_arguments(int argc, char **argv, char **environment)
{
        char *end = argc > 0 ? argv[argc - 1] + strlen(argv[argc - 1]) + 1 : NULL;
        /* The kernel lays the environment right behind argv; anything else was put there by the C library. */
        for (; end && *environment == end; environment++)
                end += strlen(end) + 1;
        if (end) {
                arguments.start = argv[0];
                arguments.length = (size_t)(end - argv[0]);
        }
}

void entering_fail(const struct entering *entering, enum stage stage, int error, const char *path)
{
        struct failure failure = {.stage = stage, .error = error};
        if (path)
                memccpy(failure.path, path, 0, sizeof(failure.path) - 1);
        (void)fd_write_all(entering->failure, &failure, sizeof(failure));
        _exit(EXIT_SETUP);
}

/* Ties the child's life to the supervisor's. In this order there is no moment at which the supervisor can die
 * unnoticed: first the child lets go of its own copy of the supervisor's end, so that the socket can hang up;
 * then it asks for the signal; then it looks whether the hang-up has already happened. getppid() would not
 * do: it is 0 in a new pid namespace, dead parent or not. */
static void hold_lifeline(const struct entering *entering)
{
        close(entering->supervisor);
        if (entering->permission >= 0)
                close(entering->permit);
        struct pollfd lifeline = {.fd = entering->control};
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&lifeline, 1, 0) != 0)
                _exit(EXIT_SETUP);
}

/* The child, from its first instruction. */
static _Noreturn void enter(struct entering *entering, bool foreground)
{
        hold_lifeline(entering);

        /* /proc/1/cmdline shows this memory to everyone inside, dumpable or not. */
        memset(arguments.start, 0, arguments.length);
        (void)prctl(PR_SET_NAME, "hutch-init", 0, 0, 0);

        /* 1. Become someone: from here on the process has every capability, in its own namespaces only. */
        if (layer_enabled(LAYER_LIMITS))
                limits_offer_to_killer(entering);
        if (layer_enabled(LAYER_USER))
                userns_map_ids(entering);
        if (layer_enabled(LAYER_NETWORK))
                network_begin(entering);

        /* 2. What the sandbox will see, beside what hutch still sees. */
        if (layer_enabled(LAYER_MOUNT))
                rootfs_build(entering);
        copy_in_open(entering);
        if (layer_enabled(LAYER_NAMES) && sethostname(BOX_HOST, strlen(BOX_HOST)) < 0)
                entering_fail(entering, STAGE_HOST_NAME, errno, NULL);
        if (layer_enabled(LAYER_NETWORK))
                network_enter(entering);

        /* 3. What it may take of the kernel. */
        limits_await(entering);
        if (layer_enabled(LAYER_MOUNT))
                limits_hide_unseen(entering);
        entering->arguments = seccomp_arguments((entering->box->userns != USERNS_NONE ? SECCOMP_USERNS : 0U) |
                                                limits_refused_calls(&entering->limits));
        if (layer_enabled(LAYER_BUDGETS))
                userns_set_budgets(entering);
        if (layer_enabled(LAYER_LIMITS))
                limits_set(entering);
        /* Without namespaces of its own this would be the machine's. */
        if (layer_enabled(LAYER_LIMITS) && layer_enabled(LAYER_PID) && layer_enabled(LAYER_USER))
                limits_set_pid_max(entering);
        if (layer_enabled(LAYER_MOUNT))
                limits_show(entering);

        /* 4. No way back: one root, no capability. */
        if (layer_enabled(LAYER_MOUNT))
                rootfs_pivot(entering);
        caps_drop(entering);

        /* 5. What is sent in, by nothing but the command's own rights. */
        copy_in_write(entering);

        /* 6. The server; it adds Landlock and seccomp to itself, last of all. */
        init_run(entering, foreground);
}

/* Clones with every new namespace. 0 in the child, the child's pid in the caller with *pidfd set, or a
 * negative errno. Raw calls: glibc wraps neither without a stack of its own. */
static pid_t clone_child(const struct entering *entering, int *pidfd)
{
        unsigned long namespaces = new_namespaces(!entering->own_groups);
        struct clone_args arguments3 = {
            .flags = namespaces | CLONE_PIDFD | (entering->group >= 0 ? CLONE_INTO_CGROUP : 0),
            .pidfd = (uintptr_t)pidfd,
            .exit_signal = SIGCHLD,
            .cgroup = entering->group >= 0 ? (unsigned)entering->group : 0,
        };
        long child = syscall(SYS_clone3, &arguments3, sizeof(arguments3));
        /* A container's filter cannot look into clone3's structure and answers ENOSYS, so that callers use
         * clone. */
        if (child < 0 && errno == ENOSYS) {
                unsigned long flags = namespaces | CLONE_PIDFD | SIGCHLD;
#ifdef __s390x__
                child = syscall(SYS_clone, NULL, flags, pidfd, NULL, 0);
#else
                child = syscall(SYS_clone, flags, NULL, pidfd, NULL, 0);
#endif
                if (child == 0 && entering->group >= 0)
                        limits_join_group(entering);
        }
        return child < 0 ? -errno : (pid_t)child;
}

static bool prepare_filters(const struct box *box, struct entering *entering, struct error *error)
{
        entering->init_filter = seccomp_for_init(entering->dialler >= 0);
        if (box->seccomp_path)
                return seccomp_compile_cached(box->seccomp_path, box->seccomp_json, box->seccomp_length,
                                              &entering->profile, error);
        entering->profile = seccomp_builtin(box->userns != USERNS_NONE);
        return true;
}

/* The second file layer: without it the mounts alone stand, which is said once, or refused. */
static bool check_layers(const struct box *box, int abi, struct error *error)
{
        const char *why;
        if (box->verbose && !landlock_guards_sockets(box, abi) && sockets_can_appear(box))
                message_verbose(
                    "a socket that another program makes below a grant from now on can be connected "
                    "to: Landlock 9 (Linux 7.1) would refuse it");
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
        int control[2], failure[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
                return error_set(error, EXIT_SETUP, "cannot make a socket: %s", strerror(errno));
        autoclose int supervisor = control[0], sandbox = control[1];
        if (pipe2(failure, O_CLOEXEC) < 0)
                return error_set(error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
        autoclose int failure_read = failure[0], failure_write = failure[1];

        struct entering entering = {
            .box = box,
            .failure = failure_write,
            .control = sandbox,
            .supervisor = supervisor,
            .server = {stdio->server[0], stdio->server[1], stdio->server[2]},
            .terminal = stdio->terminal,
            .nat = box_has_network(box) ? stdio->nat : -1,
            .dialler = box->network.publish_count ? stdio->dialler : -1,
            .limits = *stdio->limits,
            .permission = -1,
            .group = stdio->group,
            .own_groups = stdio->limits->way != CGROUP_WAY_NONE && layer_enabled(LAYER_NAMES),
            .spread = (unsigned)getpid(),
            .watchdog = stdio->watchdog,
            .proc = -1,
            .landlock_abi = landlock_abi(),
            .root = -1,
        };
        if (!check_layers(box, entering.landlock_abi, error) || !prepare_filters(box, &entering, error))
                return false;

        autoclose int permission_read = -1, permission_write = -1;
        if (stdio->limits->way == CGROUP_WAY_SYSTEMD) {
                int permission[2];
                if (pipe2(permission, O_CLOEXEC) < 0)
                        return error_set(error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
                permission_read = permission[0];
                permission_write = permission[1];
                entering.permission = permission_read;
                entering.permit = permission_write;
        }

        int pidfd = -1;
        pid_t child = clone_child(&entering, &pidfd);
        if (child == 0)
                enter(&entering, stdio->foreground);
        seccomp_free(&entering.profile);
        if (child < 0) {
                struct failure failed = {.stage = STAGE_NAMESPACES, .error = -child};
                launch->refused = -child;
                failure_explain(&failed, error);
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
