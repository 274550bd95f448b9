/* SPDX-License-Identifier: Apache-2.0
 *
 * See arguments.h. The program permits everything but what it names. It judges calls that the profile permits
 * as a whole but that are dangerous with some arguments, and refuses the few calls whose arguments a filter
 * cannot read. It must never judge by more bits of an argument than the kernel uses: a program can fill the
 * others with anything.
 *
 * Each block begins with a comparison of the call's number, and all other calls jump over the block without a
 * look at an argument. So the kernel finds out once, at load, which calls are always permitted, and does not
 * run the program for them.
 */
#include "seccomp/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__) && defined(__ILP32__)
#error "the argument filter does not know the calls of x32"
#endif

/* The half of argument `n` that the kernel uses for a parameter of 32 bits. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW_HALF(n) (offsetof(struct seccomp_data, args) + (n) * sizeof(__u64) + sizeof(__u32))
#else
#define LOW_HALF(n) (offsetof(struct seccomp_data, args) + (n) * sizeof(__u64))
#endif

/* The first argument of clone(2) is the flags, except on s390, where it is the stack. */
#if defined(__s390x__)
#define CLONE_FLAGS_ARGUMENT 1
#else
#define CLONE_FLAGS_ARGUMENT 0
#endif

/* Without CLONE_NEWTIME: in clone(2) its bit is part of the exit signal. */
#define NAMESPACE_FLAGS                                                                                      \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |        \
         CLONE_NEWNET)

#define NR_FCHMODAT2 452 /* Linux 6.6, the same on every architecture; headers may be older */

#define NR_SETXATTRAT 463 /* Linux 6.13, as above */

#define FCNTL_SETDELEG 1040 /* F_SETDELEG, Linux 6.19 */

#define SOCKET_TYPE_MASK 0xf /* the other bits are SOCK_NONBLOCK and SOCK_CLOEXEC */

/* The instructions of the program. A skip counts from the instruction after it. */
#define LOAD(offset)          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define MASK(bits)            BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (bits))
#define IF_SKIP(value, n)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (n), 0)
#define UNLESS_SKIP(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))
#define IF_ANY_SKIP(bits, n)  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (n), 0)
#define PERMIT                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(number)        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))

/* One instruction per line. */
/* clang-format off */

/* SECCOMP_NATIVE, which the build defines, is the audit name of the architecture. Calls of foreign ones have
 * other numbers, and the profile answers them with ENOSYS. x32 has the native architecture and other numbers,
 * none of which is below. */
#define BEGIN                                                                                       \
        LOAD(offsetof(struct seccomp_data, arch)),                                                  \
        IF_SKIP(SECCOMP_NATIVE, 1),                                                                 \
        PERMIT,                                                                                     \
        LOAD(offsetof(struct seccomp_data, nr))

/* The server may share a terminal with the caller's shell. Refused are: typing into it (TIOCSTI, and the paste
 * of TIOCLINUX); changing its line discipline (TIOCSETD), which loads kernel modules; locking others out and
 * stopping the output (TIOCEXCL, TCXONC), which outlast the server; and on a virtual console its keyboard and
 * modes (KD…, 0x4B00 to 0x4BFF: a key can be made to type a command) and switching (VT_…, 0x5600 to 0x56FF). */
#define JUDGE_IOCTL                                                                                 \
        UNLESS_SKIP(__NR_ioctl, 11),                                                                \
        LOAD(LOW_HALF(1)),                                                                          \
        IF_SKIP(TIOCSTI, 8),                                                                        \
        IF_SKIP(TIOCLINUX, 7),                                                                      \
        IF_SKIP(TIOCSETD, 6),                                                                       \
        IF_SKIP(TIOCEXCL, 5),                                                                       \
        IF_SKIP(TCXONC, 4),                                                                         \
        MASK(0xffffff00),                                                                           \
        IF_SKIP(0x4b00, 2),                                                                         \
        IF_SKIP(0x5600, 1),                                                                         \
        PERMIT,                                                                                     \
        REFUSE(EPERM)

#ifdef __NR_fcntl64
#define UNLESS_FCNTL_SKIP(count) IF_SKIP(__NR_fcntl64, 1), UNLESS_SKIP(__NR_fcntl, count)
#else
#define UNLESS_FCNTL_SKIP(count) UNLESS_SKIP(__NR_fcntl, count)
#endif

/* With a lease on a file of a read-only grant, the host would wait whenever it opens that file; with a
 * delegation of a directory, whenever it makes or removes a file there. */
#define JUDGE_FCNTL                                                                                 \
        UNLESS_FCNTL_SKIP(5),                                                                       \
        LOAD(LOW_HALF(1)),                                                                          \
        IF_SKIP(F_SETLEASE, 2),                                                                     \
        IF_SKIP(FCNTL_SETDELEG, 1),                                                                 \
        PERMIT,                                                                                     \
        REFUSE(EPERM)

/* A setuid or setgid file that a server leaves in a writable grant would give the caller's rights to every user
 * of the machine: the grant is NOSUID inside only. openat2 has its mode behind a pointer and is refused; libcs
 * do without it. */
#define JUDGE_MODE(number, mode)                                                                    \
        UNLESS_SKIP(number, 4),                                                                     \
        LOAD(LOW_HALF(mode)),                                                                       \
        IF_ANY_SKIP(S_ISUID | S_ISGID, 1),                                                                    \
        PERMIT,                                                                                     \
        REFUSE(EPERM)
/* Without these flags the call has no mode, and the register may contain anything. */
#define JUDGE_CREATION(number, flags, mode)                                                         \
        UNLESS_SKIP(number, 7),                                                                     \
        LOAD(LOW_HALF(flags)),                                                                      \
        IF_ANY_SKIP(O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 1),                                       \
        PERMIT,                                                                                     \
        LOAD(LOW_HALF(mode)),                                                                       \
        IF_ANY_SKIP(S_ISUID | S_ISGID, 1),                                                                    \
        PERMIT,                                                                                     \
        REFUSE(EPERM)
#ifdef __NR_chmod
#define JUDGE_OLD_MODES                                                                             \
        JUDGE_MODE(__NR_chmod, 1),                                                                  \
        JUDGE_MODE(__NR_mknod, 1),                                                                  \
        JUDGE_MODE(__NR_creat, 1),                                                                  \
        JUDGE_CREATION(__NR_open, 1, 2),
#else
#define JUDGE_OLD_MODES /* newer architectures never had them */
#endif
#define JUDGE_MODES                                                                                 \
        JUDGE_OLD_MODES                                                                             \
        JUDGE_CREATION(__NR_openat, 2, 3),                                                          \
        JUDGE_MODE(__NR_fchmod, 1),                                                                 \
        JUDGE_MODE(__NR_fchmodat, 2),                                                               \
        JUDGE_MODE(NR_FCHMODAT2, 2),                                                                \
        JUDGE_MODE(__NR_mknodat, 2),                                                                \
        UNLESS_SKIP(__NR_openat2, 1),                                                               \
        REFUSE(ENOSYS)

/* Permitted are the families that servers use: UNIX, IP with streams and datagrams, and netlink for routes and
 * links. The others reach kernel code that is seldom reviewed, and VSOCK ignores network namespaces. The
 * protocols SCTP, UDP-Lite, L2TP and SMC of IP reach such code too. Raw IP can forge packets, and SOCK_PACKET
 * turns INET into PACKET. */
#define JUDGE_SOCKET                                                                                \
        IF_SKIP(__NR_socket, 1),                                                                    \
        UNLESS_SKIP(__NR_socketpair, 21),                                                           \
        LOAD(LOW_HALF(0)),                                                                          \
        IF_SKIP(AF_UNIX, 18),                                                                       \
        IF_SKIP(AF_NETLINK, 14),                                                                    \
        IF_SKIP(AF_INET, 1),                                                                        \
        UNLESS_SKIP(AF_INET6, 11),                                                                  \
        LOAD(LOW_HALF(1)),                                                                          \
        MASK(SOCKET_TYPE_MASK),                                                                     \
        IF_SKIP(SOCK_STREAM, 1),                                                                    \
        UNLESS_SKIP(SOCK_DGRAM, 7),                                                                 \
        LOAD(LOW_HALF(2)),                                                                          \
        IF_SKIP(0, 9),                                                                              \
        IF_SKIP(IPPROTO_TCP, 8),                                                                    \
        IF_SKIP(IPPROTO_UDP, 7),                                                                    \
        IF_SKIP(IPPROTO_ICMP, 6),                                                                   \
        IF_SKIP(IPPROTO_ICMPV6, 5),                                                                 \
        IF_SKIP(IPPROTO_MPTCP, 4),                                                                  \
        REFUSE(EPERM),                                                                              \
        LOAD(LOW_HALF(2)), /* netlink: the protocol decides */                                      \
        IF_SKIP(NETLINK_ROUTE, 1),                                                                  \
        REFUSE(EPERM),                                                                              \
        PERMIT

/* A layer above TCP (TLS in the kernel, SMC) is much kernel code behind one option; libraries do without it. */
#define JUDGE_SETSOCKOPT                                                                            \
        UNLESS_SKIP(__NR_setsockopt, 6),                                                            \
        LOAD(LOW_HALF(1)),                                                                          \
        UNLESS_SKIP(SOL_TCP, 3),                                                                    \
        LOAD(LOW_HALF(2)),                                                                          \
        UNLESS_SKIP(TCP_ULP, 1),                                                                    \
        REFUSE(EPERM),                                                                              \
        PERMIT

/* io_uring opens sockets, among others, which no filter sees; socketcall has its arguments behind a pointer.
 * Both are refused here because a profile of the user's may permit them. */
#define REFUSE_IO_URING UNLESS_SKIP(__NR_io_uring_setup, 1), REFUSE(ENOSYS)
#ifdef __NR_socketcall
#define REFUSE_UNSEEN UNLESS_SKIP(__NR_socketcall, 1), REFUSE(ENOSYS), REFUSE_IO_URING
#else
#define REFUSE_UNSEEN REFUSE_IO_URING
#endif

/* clone3 has its flags behind a pointer, so it gets ENOSYS; libcs then use clone. */
#define JUDGE_CLONE                                                                                 \
        UNLESS_SKIP(__NR_clone3, 1),                                                                \
        REFUSE(ENOSYS),                                                                             \
        UNLESS_SKIP(__NR_clone, 4),                                                                 \
        LOAD(LOW_HALF(CLONE_FLAGS_ARGUMENT)),                                                       \
        IF_ANY_SKIP(NAMESPACE_FLAGS, 1),                                                            \
        PERMIT,                                                                                     \
        REFUSE(EPERM)

/* Where the watchdog limits memory instead of a cgroup, memory that it does not see is refused where programs
 * can do without it: memory files without a name, System V semaphores and messages, pages that a process moves
 * into a pipe, and extended attributes (no file system counts an access list of 64 KiB on a file in memory). */
#ifdef __NR_ipc
#define REFUSE_IPC UNLESS_SKIP(__NR_ipc, 1), REFUSE(ENOSYS),
#else
#define REFUSE_IPC /* only the calls below */
#endif
#define REFUSE_UNSEEN_MEMORY                                                                        \
        REFUSE_IPC                                                                                  \
        IF_SKIP(__NR_memfd_create, 3),                                                              \
        IF_SKIP(__NR_semget, 2),                                                                    \
        IF_SKIP(__NR_msgget, 1),                                                                    \
        UNLESS_SKIP(__NR_vmsplice, 1),                                                              \
        REFUSE(ENOSYS),                                                                             \
        IF_SKIP(NR_SETXATTRAT, 3),                                                                  \
        IF_SKIP(__NR_setxattr, 2),                                                                  \
        IF_SKIP(__NR_lsetxattr, 1),                                                                 \
        UNLESS_SKIP(__NR_fsetxattr, 1),                                                             \
        REFUSE(EOPNOTSUPP)

/* A nested sandbox with another IPC namespace has System V memory that the watchdog does not see. */
#define REFUSE_NESTED_MEMORY UNLESS_SKIP(__NR_shmget, 1), REFUSE(ENOSYS)

/* The watchdog is pid 1. The server has its user id, so that the kernel would let the server give it a lower
 * priority, fewer processors or fewer descriptors. PRIO_USER means every process of the user, pid 1 among
 * them. Its process group has no number inside, so PRIO_PGRP cannot mean it. In a nested pid namespace another
 * process has the number 1, and these calls on it are refused as well. */
#define JUDGE_TARGET(call)                                                                          \
        UNLESS_SKIP(call, 4),                                                                       \
        LOAD(LOW_HALF(0)),                                                                          \
        UNLESS_SKIP(1, 1),                                                                          \
        REFUSE(EPERM),                                                                              \
        PERMIT
#define JUDGE_PRIORITY(call, all_of_user)                                                           \
        UNLESS_SKIP(call, 6),                                                                       \
        LOAD(LOW_HALF(0)),                                                                          \
        IF_SKIP(all_of_user, 2),                                                                    \
        LOAD(LOW_HALF(1)),                                                                          \
        UNLESS_SKIP(1, 1),                                                                          \
        REFUSE(EPERM),                                                                              \
        PERMIT
#define JUDGE_SLOWING                                                                               \
        JUDGE_TARGET(__NR_prlimit64),                                                               \
        JUDGE_TARGET(__NR_sched_setscheduler),                                                      \
        JUDGE_TARGET(__NR_sched_setparam),                                                          \
        JUDGE_TARGET(__NR_sched_setattr),                                                           \
        JUDGE_TARGET(__NR_sched_setaffinity),                                                       \
        JUDGE_PRIORITY(__NR_setpriority, PRIO_USER),                                                \
        JUDGE_PRIORITY(__NR_ioprio_set, IOPRIO_WHO_USER)

/* Where nothing but the set of processors enforces --cpus. */
#define REFUSE_AFFINITY UNLESS_SKIP(__NR_sched_setaffinity, 1), REFUSE(EPERM)

/* clang-format on */

static const struct sock_filter always[] = {
    BEGIN, JUDGE_IOCTL, JUDGE_FCNTL, JUDGE_MODES, JUDGE_SOCKET, JUDGE_SETSOCKOPT, REFUSE_UNSEEN,
};
static const struct sock_filter judge_clone[] = {JUDGE_CLONE};
static const struct sock_filter watched[] = {REFUSE_UNSEEN_MEMORY, JUDGE_SLOWING};
static const struct sock_filter watched_nested[] = {REFUSE_NESTED_MEMORY};
static const struct sock_filter refuse_affinity[] = {REFUSE_AFFINITY};
static const struct sock_filter permit[] = {PERMIT};

#define SIZE_OF_ALL                                                                                          \
        (sizeof(always) + sizeof(judge_clone) + sizeof(watched) + sizeof(watched_nested) +                   \
         sizeof(refuse_affinity) + sizeof(permit))

struct seccomp_program seccomp_arguments(unsigned bits)
{
        static struct sock_filter code[SIZE_OF_ALL / sizeof(struct sock_filter)];
        const struct {
                const struct sock_filter *block;
                size_t size;
                bool wanted;
        } blocks[] = {
            {always, sizeof(always), true},
            {judge_clone, sizeof(judge_clone), !(bits & SECCOMP_USERNS)},
            {refuse_affinity, sizeof(refuse_affinity), bits & SECCOMP_NO_AFFINITY},
            {watched_nested, sizeof(watched_nested), bits & SECCOMP_USERNS && bits & SECCOMP_WATCHED},
            {watched, sizeof(watched), bits & SECCOMP_WATCHED},
            {permit, sizeof(permit), true},
        };
        size_t length = 0;
        for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
                if (!blocks[i].wanted)
                        continue;
                memcpy(code + length, blocks[i].block, blocks[i].size);
                length += blocks[i].size / sizeof(*code);
        }
        return (struct seccomp_program){.code = code, .length = (unsigned short)length};
}
