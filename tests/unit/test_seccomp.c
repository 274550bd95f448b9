/* SPDX-License-Identifier: Apache-2.0
 *
 * The built-in filters against the running kernel: every check is a real call in a child that has loaded
 * them. The arguments are chosen so that without the filter the call would end otherwise (mostly EBADF or
 * success), also for root. Then real programs under them.
 */
#include "confined.h"
#include "lib/fd.h"
#include "seccomp/arguments.h"
#include "seccomp/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#include <setjmp.h>
/* cmocka wants the three above it. */
#include <cmocka.h>

/* Garbage for the half of a register that the kernel does not look at. */
#define UPPER_BITS 0x5a00000100000000L

static void check_builtin(bool userns, const struct call *calls, size_t count)
{
        const struct seccomp_program arguments = seccomp_arguments(userns);
        const struct seccomp_program profile = seccomp_builtin(userns);

        check_calls(&arguments, &profile, calls, count);
}

static void test_permitted(void **state)
{
        const struct call calls[] = {
            CALL(getpid, 0, 0),
            CALL(setsid, 0, 0),
            CALL(getrandom, 0, 0, 0),
            CALL(memfd_create, 0, (long)"x", MFD_CLOEXEC),
            CALL(shmget, 0, 0, 4096, 0600),
            CALL(name_to_handle_at, EFAULT, AT_FDCWD, (long)"/", 0, 0, 0),
            CALL(ptrace, EPERM, 0),
            CALL(statx, EFAULT, AT_FDCWD, (long)"/", 0, 0, 0),
            CALL(mknodat, EBADF, NO_FD, (long)"x", S_IFIFO),
            {"faccessat2", CALL_FACCESSAT2, {AT_FDCWD, (long)"/", F_OK, 0}, 0},
            {"openat2", CALL_OPENAT2, {AT_FDCWD, (long)"/", 0, 0}, ENOSYS},
            {"close_range", CALL_CLOSE_RANGE, {2000000, 2000000, 0}, 0},
            {"futex_waitv", CALL_FUTEX_WAITV, {0, 0, 0}, EINVAL},
            CALL(sched_setaffinity, EFAULT, 0, 8, 0),
            CALL(prctl, 0, PR_SET_NAME, (long)"x"),
            CALL(seccomp, EFAULT, 1, 0, 0),
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
}

static void test_landlock_is_permitted(void **state)
{
        /* The kernel may lack it, so the filter alone is judged: ENOSYS is its default answer. */
        const struct call asking = {"landlock", CALL_LANDLOCK_CREATE_RULESET, {0, 0, 1}, 0};
        const struct seccomp_program arguments = seccomp_arguments(false);
        const struct seccomp_program profile = seccomp_builtin(false);

        (void)state;
        if (make_call(&asking) < 0)
                skip();
        check_calls(&arguments, &profile, &asking, 1);
}

static void test_refused_with_eperm(void **state)
{
        const struct call calls[] = {
            CALL(unshare, EPERM, 0),
            CALL(setns, EPERM, NO_FD, 0),
            CALL(chroot, EPERM, (long)"/nonexistent"),
            CALL(pivot_root, EPERM, 0, 0),
            CALL(mount, EPERM, 0, 0, 0, 0, 0),
            CALL(umount2, EPERM, (long)"/nonexistent", 0),
            CALL(fsopen, EPERM, 0, 0),
            CALL(fsmount, EPERM, NO_FD, 0, 0),
            CALL(open_tree, EPERM, AT_FDCWD, (long)"/nonexistent", 0),
            CALL(move_mount, EPERM, NO_FD, 0, NO_FD, 0, 0),
            CALL(sethostname, EPERM, 0, -1),
            CALL(ptrace, EPERM, 0, 0, 0, 0), /* PTRACE_TRACEME */
            CALL(process_vm_readv, EPERM, 1, 0, 0, 0, 0, 1),
            CALL(process_vm_writev, EPERM, 1, 0, 0, 0, 0, 1),
            CALL(kcmp, EPERM, 0, 0, 0, 0, 0),
            {"pidfd_getfd", CALL_PIDFD_GETFD, {NO_FD, 0, 0}, EPERM},
            CALL(bpf, EPERM, -1, 0, 0),
            CALL(perf_event_open, EPERM, 0, 0, 0, 0, 0),
            CALL(userfaultfd, EPERM, -1),
            CALL(keyctl, EPERM, -1, 0, 0, 0, 0),
            CALL(add_key, EPERM, 0, 0, 0, 0, 0),
            CALL(request_key, EPERM, 0, 0, 0, 0),
            CALL(fanotify_init, EPERM, -1, 0),
            CALL(open_by_handle_at, EPERM, NO_FD, 0, 0),
            CALL(acct, EPERM, (long)"/nonexistent"),
            CALL(settimeofday, EPERM, 0, 0),
            CALL(clock_settime, EPERM, 0, 0),
            CALL(init_module, EPERM, 0, 0, 0),
            CALL(finit_module, EPERM, NO_FD, 0, 0),
            CALL(delete_module, EPERM, 0, 0),
            CALL(kexec_load, EPERM, 0, -1, 0, 0),
            CALL(quotactl, EPERM, -1, 0, 0, 0),
            CALL(reboot, EPERM, 0, 0, 0, 0),
            CALL(swapon, EPERM, 0, -1),
            CALL(swapoff, EPERM, 0),
            CALL(syslog, EPERM, 10, 0, 0),
            CALL(vhangup, EPERM, 0),
#ifdef SYS_iopl
            CALL(iopl, EPERM, 0),
            CALL(ioperm, EPERM, 0, 0, 0),
#endif
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
}

static void test_missing_with_enosys(void **state)
{
        const struct call calls[] = {
            {"future", CALL_OF_THE_FUTURE, {0}, ENOSYS},
            {"minus one", -1, {0}, ENOSYS},
            {"clone3", CALL_CLONE3, {0, 0}, ENOSYS},
            {"io_uring_setup", CALL_IO_URING_SETUP, {0, 0}, ENOSYS},
            {"io_uring_enter", CALL_IO_URING_SETUP + 1, {0, 0}, ENOSYS},
            {"io_uring_register", CALL_IO_URING_SETUP + 2, {0, 0}, ENOSYS},
#ifdef __x86_64__
            {"x32 getpid", 0x40000000 | SYS_getpid, {0}, ENOSYS},
            {"x32 ioctl", 0x40000000 | 514, {NO_FD, TIOCSTI}, ENOSYS},
            {"x32 clone", 0x40000000 | SYS_clone, {CLONE_NEWUSER}, ENOSYS},
            CALL(modify_ldt, ENOSYS, 0, 0, 0),
#endif
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
}

static void test_personality(void **state)
{
        const struct call calls[] = {
            CALL(personality, 0, 0xffffffff),
            CALL(personality, 0, -1),
            CALL(personality, 0, 0),
            CALL(personality, 0, 0x20008),
            CALL(personality, 0, UPPER_BITS),
            CALL(personality, ENOSYS, 0x0040000),
            CALL(personality, ENOSYS, 0x0400000),
            CALL(personality, ENOSYS, UPPER_BITS | 0x0040000),
            CALL(personality, ENOSYS, 0x0040008),
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
}

static void test_ioctl(void **state)
{
        const struct call calls[] = {
            CALL(ioctl, EBADF, NO_FD, TCGETS),
            CALL(ioctl, EPERM, NO_FD, TIOCSTI),
            CALL(ioctl, EPERM, NO_FD, UPPER_BITS | TIOCSTI),
            CALL(ioctl, EPERM, NO_FD, TIOCLINUX),
            CALL(ioctl, EPERM, NO_FD, UPPER_BITS | TIOCLINUX),
            CALL(ioctl, EPERM, NO_FD, TIOCSETD),
            CALL(ioctl, EPERM, NO_FD, UPPER_BITS | TIOCSETD),
            CALL(fcntl, EBADF, NO_FD, F_GETLEASE),
            CALL(fcntl, EPERM, NO_FD, F_SETLEASE),
            CALL(fcntl, EPERM, NO_FD, 1040), /* F_SETDELEG */
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
        check_builtin(true, calls, COUNT(calls));
}

/* The same on a real terminal that is the child's own, where the kernel itself would permit it or say EIO. */
static void test_terminal_takes_no_typing(void **state)
{
        const struct seccomp_program arguments = seccomp_arguments(false);
        const struct seccomp_program profile = seccomp_builtin(false);
        autoclose int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        pid_t child;
        int status;

        (void)state;
        assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                int terminal;
                bool refused;
                setsid();
                terminal = open(ptsname(master), O_RDWR | O_CLOEXEC);
                if (terminal < 0 || tcgetsid(terminal) != getpid())
                        _exit(2);
                confine(&arguments, &profile);
                refused = syscall(SYS_ioctl, terminal, TIOCSTI, "x") == -1 && errno == EPERM &&
                          syscall(SYS_ioctl, terminal, UPPER_BITS | TIOCSTI, "x") == -1 && errno == EPERM;
                end_child(refused && tcgetpgrp(terminal) == getpid() ? 0 : 1);
        }
        status = wait_status(child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_sockets(void **state)
{
        const long cloexec = SOCK_CLOEXEC;
        int pair[2];
        const struct call calls[] = {
            CALL(socket, 0, AF_UNIX, SOCK_STREAM | cloexec, 0),
            CALL(socket, 0, UPPER_BITS | AF_UNIX, SOCK_DGRAM, 0),
            CALL(socket, 0, AF_INET, SOCK_STREAM | cloexec, 0),
            CALL(socket, 0, AF_INET, UPPER_BITS | SOCK_DGRAM | SOCK_NONBLOCK, 0),
            CALL(socket, 0, AF_NETLINK, SOCK_RAW | cloexec, NETLINK_ROUTE),
            CALL(socket, 0, AF_NETLINK, SOCK_DGRAM, UPPER_BITS | NETLINK_ROUTE),
            CALL(socket, EPERM, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
            CALL(socket, EPERM, AF_NETLINK, SOCK_RAW, UPPER_BITS | NETLINK_KOBJECT_UEVENT),
            CALL(socket, EPERM, UPPER_BITS | AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
            CALL(socket, EPERM, AF_INET, SOCK_RAW | cloexec, 1),
            CALL(socket, EPERM, AF_INET, UPPER_BITS | SOCK_RAW, 1),
            CALL(socket, EPERM, AF_INET6, SOCK_RAW, 58),
            CALL(socket, EPERM, AF_INET, SOCK_PACKET, 0),
            CALL(socket, EPERM, AF_INET, SOCK_SEQPACKET, 132),
            CALL(socket, EPERM, AF_INET, SOCK_STREAM, 132), /* SCTP */
            CALL(socket, EPERM, AF_INET6, SOCK_STREAM | cloexec, UPPER_BITS | 132),
            CALL(socket, EPERM, AF_INET, SOCK_DGRAM, 136),  /* UDP-Lite */
            CALL(socket, EPERM, AF_INET, SOCK_DGRAM, 115),  /* L2TP */
            CALL(socket, EPERM, AF_INET, SOCK_STREAM, 256), /* SMC */
            CALL(socket, 0, AF_INET, SOCK_STREAM, IPPROTO_TCP),
            CALL(socket, 0, AF_INET, SOCK_DGRAM, UPPER_BITS | IPPROTO_UDP),
            CALL(setsockopt, EPERM, 0, SOL_TCP, TCP_ULP, 0, 0),
            CALL(setsockopt, EPERM, 0, UPPER_BITS | SOL_TCP, UPPER_BITS | TCP_ULP, 0, 0),
            CALL(socket, EPERM, AF_PACKET, SOCK_DGRAM, 0),
            CALL(socket, EPERM, UPPER_BITS | AF_PACKET, SOCK_RAW, 0),
            CALL(socket, EPERM, AF_VSOCK, SOCK_STREAM, 0),
            CALL(socket, EPERM, UPPER_BITS | AF_VSOCK, SOCK_STREAM, 0),
            CALL(socket, EPERM, AF_ALG, SOCK_SEQPACKET, 0),
            CALL(socket, EPERM, AF_UNSPEC, SOCK_STREAM, 0),
            CALL(socket, EPERM, AF_BLUETOOTH, SOCK_STREAM, 0),
            CALL(socket, EPERM, -1, SOCK_STREAM, 0),
            CALL(socketpair, 0, AF_UNIX, SOCK_STREAM, 0, (long)pair),
            CALL(socketpair, EPERM, AF_TIPC, SOCK_STREAM, 0, (long)pair),
            CALL(socketpair, EPERM, UPPER_BITS | AF_ALG, SOCK_STREAM, 0, (long)pair),
        };

        (void)state;
        check_builtin(false, calls, COUNT(calls));
        check_builtin(true, calls, COUNT(calls));
}

static void test_namespaces_by_clone(void **state)
{
        static const long flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

        (void)state;
        for (size_t i = 0; i < COUNT(flags); i++) {
                const struct call refused[] = {
                    CALL(clone, EPERM, CLONE(CLONE_THREAD | flags[i])),
                    CALL(clone, EPERM, CLONE(UPPER_BITS | CLONE_THREAD | flags[i])),
                };
                const struct call permitted[] = {
                    CALL(clone, EINVAL, CLONE(CLONE_THREAD | flags[i])),
                };
                check_builtin(false, refused, COUNT(refused));
                check_builtin(true, permitted, COUNT(permitted));
        }
}

static void test_allow_userns(void **state)
{
        const struct call calls[] = {
            CALL(unshare, 0, 0),
            CALL(setns, EBADF, NO_FD, 0),
            CALL(chroot, ENOENT, (long)"/nonexistent"),
            CALL(open_tree, ENOENT, AT_FDCWD, (long)"/nonexistent", 0),
            {"clone3", CALL_CLONE3, {0, 0}, EINVAL},
            CALL(ptrace, EPERM, 0, 0, 0, 0),
            CALL(bpf, EPERM, -1, 0, 0),
            {"io_uring_setup", CALL_IO_URING_SETUP, {0, 0}, ENOSYS},
            {"future", CALL_OF_THE_FUTURE, {0}, ENOSYS},
        };

        (void)state;
        check_builtin(true, calls, COUNT(calls));
}

#ifdef __x86_64__
/* A call by the 32-bit entry. getpid is 20 there, ioctl 54: neither is to work, nor to be judged by the
 * number that means another call here. */
static int call_by_interrupt(int number, int first, int second)
{
        int result;

        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(number), "b"(first), "c"(second), "d"(0)
                         : "memory", "r8", "r9", "r10", "r11");
        return result;
}

static void test_32_bit_entry(void **state)
{
        static const int numbers[][3] = {
            {20, 0, 0},         {54, -1, TIOCSTI},       {SYS_ioctl, -1, TIOCSTI},
            {SYS_clone3, 0, 0}, {SYS_socket, AF_ALG, 0}, {SYS_clone, CLONE_NEWUSER, 0}};
        const struct seccomp_program arguments = seccomp_arguments(false);
        const struct seccomp_program profile = seccomp_builtin(false);

        (void)state;
        for (size_t i = 0; i < COUNT(numbers); i++) {
                pid_t child = fork();
                int status;

                assert_true(child >= 0);
                if (child == 0) {
                        /* The argument filter last, so that its answer is the one that counts. */
                        confine(&profile, &arguments);
                        end_child(-call_by_interrupt(numbers[i][0], numbers[i][1], numbers[i][2]));
                }
                status = wait_status(child);
                if (WIFSIGNALED(status)) /* a kernel without the 32-bit entry */
                        skip();
                assert_int_equal(WEXITSTATUS(status), ENOSYS);
        }
}
#endif

static void test_own_processes(void **state)
{
        const struct seccomp_program init = seccomp_for_init(false);
        const struct seccomp_program supervisor = seccomp_for_supervisor(false);
        const struct seccomp_program following = seccomp_for_supervisor(true);
        const struct call init_calls[] = {
            CALL(read, EBADF, NO_FD, 0, 0),
            CALL(kill, 0, 0, 0),
            CALL(wait4, ECHILD, -1, 0, 0, 0),
            CALL(openat, EBADF, NO_FD, (long)".", O_RDONLY | O_DIRECTORY),
            CALL(openat, EPERM, NO_FD, (long)".", O_WRONLY),
            CALL(openat, EPERM, NO_FD, (long)".", UPPER_BITS | O_RDWR),
            CALL(openat, EPERM, NO_FD, (long)"x", O_RDONLY | O_CREAT),
            CALL(openat, EPERM, NO_FD, (long)"x", O_RDONLY | O_TRUNC),
            CALL(kcmp, 0, getpid(), getpid(), KCMP_VM, 0, 0),
            CALL(kcmp, EPERM, getpid(), getpid(), KCMP_FILES, 0, 0),
            CALL(execve, EPERM, (long)"/bin/true", 0),
            CALL(socket, EPERM, AF_UNIX, SOCK_STREAM, 0),
            CALL(mmap, EPERM, 0, 4096, 0, 0, 0, 0),
            CALL(clone, EPERM, CLONE(CLONE_THREAD)),
        };
        const struct call supervisor_calls[] = {
            CALL(write, EBADF, NO_FD, 0, 0),
            CALL(ioctl, EBADF, NO_FD, TCGETS),
            CALL(ioctl, EBADF, NO_FD, TIOCGPGRP),
            CALL(ioctl, EBADF, NO_FD, TIOCSPGRP),
            CALL(ioctl, EPERM, NO_FD, TIOCSTI),
            CALL(ioctl, EPERM, NO_FD, FIOCLEX),
            CALL(mmap, 0, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            CALL(mmap, EPERM, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            CALL(mprotect, EPERM, 0, 4096, PROT_EXEC),
            CALL(openat, EPERM, AT_FDCWD, (long)"/"),
            CALL(execve, EPERM, (long)"/bin/true", 0),
            CALL(socket, EPERM, AF_UNIX, SOCK_STREAM, 0),
            CALL(ptrace, EPERM, 0, 0, 0, 0),
        };
        const struct call following_calls[] = {
            CALL(write, EBADF, NO_FD, 0, 0),
            CALL(openat, EBADF, NO_FD, (long)".", O_RDONLY | O_CLOEXEC),
            CALL(openat, EPERM, NO_FD, (long)".", O_WRONLY),
            CALL(openat, EPERM, NO_FD, (long)"x", O_RDONLY | O_CREAT),
            CALL(inotify_rm_watch, EBADF, NO_FD, 0),
            CALL(inotify_init1, EPERM, 0),
            CALL(fcntl, EBADF, NO_FD, F_ADD_SEALS),
            CALL(fcntl, EPERM, NO_FD, F_SETLEASE),
            CALL(ioctl, EBADF, NO_FD, SIOCGIFINDEX),
            CALL(execve, EPERM, (long)"/bin/true", 0),
            CALL(socket, EPERM, AF_UNIX, SOCK_STREAM, 0),
            CALL(ptrace, EPERM, 0, 0, 0, 0),
        };

        (void)state;
        check_calls(NULL, &following, following_calls, COUNT(following_calls));
        check_calls(NULL, &init, init_calls, COUNT(init_calls));
        check_calls(NULL, &supervisor, supervisor_calls, COUNT(supervisor_calls));
}

/* Where pid 1 watches the memory: it cannot be slowed down, and memory that it does not see is refused. */
static void test_watched(void **state)
{
        const struct call calls[] = {
            CALL(prlimit64, 0, 0, RLIMIT_NOFILE, 0, 0),
            CALL(prlimit64, EPERM, 1, RLIMIT_NOFILE, 0, 0),
            CALL(prlimit64, EPERM, UPPER_BITS | 1, RLIMIT_NOFILE, 0, 0),
            CALL(sched_setaffinity, EFAULT, 0, 8, 0),
            CALL(sched_setaffinity, EPERM, 1, 8, 0),
            CALL(sched_setscheduler, EPERM, 1, SCHED_BATCH, 0),
            CALL(sched_setparam, EPERM, 1, 0),
            CALL(sched_setattr, EPERM, 1, 0, 0),
            CALL(sched_setattr, EINVAL, 0, 0, 0),
            CALL(setpriority, 0, PRIO_PROCESS, 0, 0),
            CALL(setpriority, EPERM, PRIO_PROCESS, 1, 19),
            CALL(setpriority, EPERM, PRIO_USER, 0, 19),
            CALL(setpriority, EPERM, UPPER_BITS | PRIO_USER, 0, 19),
            CALL(ioprio_set, EINVAL, IOPRIO_WHO_PROCESS, 0, ~0),
            CALL(ioprio_set, EPERM, IOPRIO_WHO_PROCESS, 1, 0),
            CALL(ioprio_set, EPERM, IOPRIO_WHO_USER, 0, 0),
            CALL(memfd_create, ENOSYS, (long)"x", 0),
            CALL(semget, ENOSYS, 0, 1, 0600),
            CALL(msgget, ENOSYS, 0, 0600),
            CALL(vmsplice, ENOSYS, NO_FD, 0, 0, 0),
            CALL(setxattr, EOPNOTSUPP, (long)"/", (long)"user.x", 0, 0, 0),
            CALL(fsetxattr, EOPNOTSUPP, NO_FD, (long)"user.x", 0, 0, 0),
        };
        const struct call counted[] = {CALL(shmget, EINVAL, 0, 0, 0600)};
        const struct call unseen[] = {CALL(shmget, ENOSYS, 0, 0, 0600)};
        const struct seccomp_program profile = seccomp_builtin(false), nested_profile = seccomp_builtin(true);

        (void)state;
        struct seccomp_program arguments = seccomp_arguments(SECCOMP_WATCHED);
        check_calls(&arguments, &profile, calls, COUNT(calls));
        check_calls(&arguments, &profile, counted, COUNT(counted));
        arguments = seccomp_arguments(SECCOMP_WATCHED | SECCOMP_USERNS);
        check_calls(&arguments, &nested_profile, calls, COUNT(calls));
        check_calls(&arguments, &nested_profile, unseen, COUNT(unseen));
}

/* Real programs under both filters. Each must exit with 0 within a minute. */
static void check_program(bool userns, const char *const *argv)
{
        const struct seccomp_program arguments = seccomp_arguments(userns);
        const struct seccomp_program profile = seccomp_builtin(userns);
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
                alarm(60);
                confine(&arguments, &profile);
                execv(argv[0], (char *const *)argv);
                _exit(127);
        }
        if (wait_status(child) != 0)
                fail_msg("%s %s failed under the filters", argv[0], argv[2]);
}

static void check_programs(const char *const (*programs)[4])
{
        if (access((*programs)[0], X_OK) < 0)
                skip();
        for (; (*programs)[0]; programs++) {
                check_program(false, *programs);
                check_program(true, *programs);
        }
}

static void test_node(void **state)
{
        static const char *const programs[][4] = {
            {"/usr/bin/node", "-e",
             "const fs = require('fs'), cp = require('child_process'), net = require('net');"
             "fs.watch('/tmp').close();"
             "if (cp.execFileSync('/bin/echo', ['x']).toString() !== 'x\\n') process.exit(1);"
             "fs.cpSync('/etc/passwd', `/tmp/hutch-node-${process.pid}`);"
             "fs.unlinkSync(`/tmp/hutch-node-${process.pid}`);"
             "const s = net.createServer(c => c.end('x')).listen(0, '127.0.0.1', () =>"
             "  net.connect(s.address().port, '127.0.0.1').on('data', () => s.close()));"},
            {"/usr/bin/node", "-e",
             "const { Worker } = require('worker_threads'); let left = 4;"
             "for (let i = 0; i < 4; i++)"
             "  new Worker('require(\"worker_threads\").parentPort.postMessage(7)', { eval: true })"
             "    .on('message', m => { if (m !== 7) process.exit(1); left--; });"
             "process.on('exit', () => { if (left) process.exitCode = 1; });"},
            {NULL},
        };

        (void)state;
        check_programs(programs);
}

static void test_python(void **state)
{
        static const char *const programs[][4] = {
            {"/usr/bin/python3", "-c",
             "import threading, subprocess, multiprocessing, asyncio, sqlite3, tempfile, os, mmap, socket, "
             "time\n"
             "t = [threading.Thread(target=time.sleep, args=(0.001,)) for _ in range(8)]\n"
             "[x.start() for x in t]; [x.join() for x in t]\n"
             "assert subprocess.check_output(['/bin/echo', 'x']) == b'x\\n'\n"
             "assert subprocess.run(['/bin/true'], close_fds=True, start_new_session=True).returncode == 0\n"
             "with multiprocessing.get_context('fork').Pool(2) as p: assert p.map(abs, [-1]) == [1]\n"
             "async def main():\n"
             "    p = await asyncio.create_subprocess_exec('/bin/true'); return await p.wait()\n"
             "assert asyncio.run(main()) == 0\n"
             "with tempfile.TemporaryDirectory() as d:\n"
             "    c = sqlite3.connect(d + '/db'); c.execute('pragma journal_mode=wal')\n"
             "    c.execute('create table t(x)'); c.execute('insert into t values (1)'); c.commit(); "
             "c.close()\n"
             "os.close(os.pidfd_open(os.getpid())); mmap.mmap(-1, 4096).close()\n"
             "socket.socketpair(); socket.getaddrinfo('127.0.0.1', 80)\n"},
            {NULL},
        };

        (void)state;
        check_programs(programs);
}

static void test_shell_and_git(void **state)
{
        static const char *const shell[][4] = {
            {"/bin/bash", "-c",
             "set -e; d=$(mktemp -d); trap 'rm -rf $d' EXIT; cat <(echo x) | grep -q x; mkfifo $d/f;"
             "sleep 0.01 & wait $!; (exit 3) || [ $? = 3 ]; coproc cat; cp -a /etc/passwd $d/; sync "
             "$d/passwd;"
             "tar -C $d -cf $d/t.tar passwd; ls -lZ $d >/dev/null; nproc >/dev/null; chmod 600 $d/passwd"},
            {NULL},
        };
        static const char *const git[][4] = {
            {"/bin/sh", "-c",
             "test -x /usr/bin/git || exit 0; set -e; d=$(mktemp -d); export HOME=$d; cd $d; git init -q r; "
             "cd r;"
             "echo x >f; git add f; git -c user.name=x -c user.email=x@x commit -qm x; git clone -q . ../s;"
             "git gc -q; git log -p | grep -q x; rm -rf $d"},
            {NULL},
        };

        (void)state;
        check_programs(shell);
        check_programs(git);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_permitted),
            cmocka_unit_test(test_landlock_is_permitted),
            cmocka_unit_test(test_refused_with_eperm),
            cmocka_unit_test(test_missing_with_enosys),
            cmocka_unit_test(test_personality),
            cmocka_unit_test(test_ioctl),
            cmocka_unit_test(test_terminal_takes_no_typing),
            cmocka_unit_test(test_sockets),
            cmocka_unit_test(test_namespaces_by_clone),
            cmocka_unit_test(test_allow_userns),
#ifdef __x86_64__
            cmocka_unit_test(test_32_bit_entry),
#endif
            cmocka_unit_test(test_own_processes),
            cmocka_unit_test(test_watched),
            cmocka_unit_test(test_node),
            cmocka_unit_test(test_python),
            cmocka_unit_test(test_shell_and_git),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
