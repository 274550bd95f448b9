/* SPDX-License-Identifier: Apache-2.0
 *
 * What the steps of entering a sandbox share. They run in the cloned child, in a fixed order (launch.c), and
 * each either succeeds or ends the child: a step that failed has nothing to undo, because everything made so
 * far belongs to namespaces that end with it. The supervisor learns {stage, errno, path} and says one
 * sentence (failure.c).
 */
#ifndef HUTCH_NS_ENTERING_H
#define HUTCH_NS_ENTERING_H

#include "box/box.h"
#include "seccomp/program.h"

#include <stdint.h>

enum stage {
        STAGE_NAMESPACES, /* clone3 */
        STAGE_ID_MAP,
        STAGE_MEMORY_FS,
        STAGE_SOURCE,  /* a granted path cannot be opened */
        STAGE_SWAPPED, /* it is not the object that was judged */
        STAGE_MOUNT_POINT,
        STAGE_OVERLAY,
        STAGE_MOUNT,
        STAGE_PROC,
        STAGE_PROC_MASK,
        STAGE_DEVICES,
        STAGE_NETWORK,
        STAGE_HOST_NAME,
        STAGE_BUDGET,
        STAGE_ROOT, /* pivot_root and letting go of the old root */
        STAGE_LIMIT,
        STAGE_CAPABILITIES,
        STAGE_STDIO,
        STAGE_FILE_READ,  /* a file that is sent in */
        STAGE_FILE_PLACE, /* where it goes */
        STAGE_CWD,
        STAGE_LANDLOCK,
        STAGE_SECCOMP,
        STAGE_FORK,
        STAGE_EXEC,
        STAGE_COUNT
};

/* One message on the failure pipe; smaller than PIPE_BUF, so it arrives whole or not at all. */
struct failure {
        uint32_t stage;
        int32_t error;   /* errno */
        char path[1024]; /* cut when longer; "" when none */
};

/* Everything that the child needs beside the box. */
struct entering {
        const struct box *box;
        int failure;                      /* write end of the failure pipe, close-on-exec */
        int control;                      /* the sandbox's end of the control socket */
        int supervisor;                   /* the supervisor's end, which the child closes first of all */
        int server[3];                    /* what the server gets as 0, 1, 2 */
        int terminal;                     /* the caller's terminal when `run` passes it through, else -1 */
        int landlock_abi;                 /* 0: the kernel has none */
        struct seccomp_program profile;   /* (a) */
        struct seccomp_program arguments; /* (b) */
        struct seccomp_program init_filter;
        pid_t network_maker;  /* network.c: the task that makes the network namespace */
        int network;          /* network.c: that namespace */
        int nat;              /* where hutch-nat gets its sockets, or -1: the sandbox has no network */
        int dialler;          /* where hutch-nat asks pid 1 for connections (dial.c), or -1 */
        struct limits limits; /* the box's, with what really holds them */
        int permission;       /* where the supervisor says what the control group holds; -1: it is known */
        int permit;           /* the supervisor's end of it, which the child closes */
        int group;            /* the control group to begin in, or -1 */
        bool own_groups;      /* a namespace of control groups is made when the group is known */
        unsigned spread;      /* differs from sandbox to sandbox: where to begin among the processors */
        int watchdog;         /* where the watchdog over memory gets what it looks at (limits.c), or -1 */
        int proc;             /* proc.c: the sandbox's proc, only for the watchdog, or -1 */
        int *memories;        /* rootfs.c: as `devices`, only for the watchdog, else NULL */
        struct network_result *network_result; /* network.c: what the maker of a gateway says */
        int root;                              /* rootfs.c: the new root, once it is attached */
        int *files;                            /* copy_in.c: as box->files */
        dev_t *devices; /* rootfs.c: its memory file systems; the first is the root's */
        size_t device_count;
};

/* Reports and ends the calling process. `error` is a positive errno; path may be NULL. */
_Noreturn void entering_fail(const struct entering *entering, enum stage stage, int error, const char *path);

/* rootfs.c: builds the new root beside the old one from box->mounts, in order. */
void rootfs_build(struct entering *entering);
/* rootfs.c: makes it read-only and the only root there is. */
void rootfs_pivot(struct entering *entering);
/* rootfs.c: attaches a detached mount at a path inside. Its mount point is made when it is missing and its
 * place is in the sandbox's own memory; nothing is ever made on the host. */
void rootfs_attach(const struct entering *entering, int tree, const char *destination, bool directory);

/* rootfs.c: a detached clone of the host object that `mount` names: what was judged, private, and read-only
 * unless the mount is writable. */
int rootfs_clone_source(const struct entering *entering, const struct mount *mount);

/* overlay.c: a detached overlay of the directory that box->mounts[index] names; what is written goes to the
 * sandbox's memory, whose root is `memory`. Changes the working directory. */
int overlay_make(const struct entering *entering, int memory, size_t index);

/* copy_in.c: opens what is to be copied in, while the host is in sight; copies it when nothing else is left.
 */
void copy_in_open(struct entering *entering);
void copy_in_write(struct entering *entering);

/* proc.c, dev.c */
void proc_mount(struct entering *entering, const char *destination);
void dev_mount(const struct entering *entering, const char *destination);

/* Where nothing but a watchdog bounds memory: makes its /dev/zero the device /dev/full, which reads the same
 * and cannot be mapped. A shared mapping of /dev/zero is memory without a file, of which nothing shows the
 * size once most of it is unmapped. */
void dev_cover_zero(const struct entering *entering, const char *destination);

/* userns.c: maps the caller to BOX_ID; afterwards the process is not dumpable. */
void userns_map_ids(const struct entering *entering);
/* userns.c: what this user namespace may still take of the kernel. */
void userns_set_budgets(const struct entering *entering);

/* network.c: begins to make a network namespace beside what follows; waits for it, enters it, brings lo up.
 */
void network_begin(struct entering *entering);
void network_enter(struct entering *entering);

/* dial.c: answers one request for a connection to the sandbox. False when nobody will ask any more. */
bool dial_answer(int dialler);

/* limits.c */
void limits_set(const struct entering *entering);
/* limits.c: enters entering->group, where the clone could not. */
void limits_join_group(const struct entering *entering);
/* limits.c: waits until the control group is known, and makes its namespace. */
void limits_await(struct entering *entering);

/* Where a watchdog is to bound memory: hides devices that are memory beyond its sight. Before the budgets: it
 * clones a mount. */
void limits_hide_unseen(const struct entering *entering);

/* Where a watchdog is to bound memory: what the sandbox holds beyond its sight can make the machine's memory
 * scarce, and then the kernel shall end the sandbox before the person's programs. Before the process becomes
 * non-dumpable. Never fails: it is a favour, no limit. */
void limits_offer_to_killer(const struct entering *entering);
/* limits.c: the highest process number of the new pid namespace, where each has its own. */
void limits_set_pid_max(const struct entering *entering);
/* limits.c: hands the watchdog what it looks at. */
void limits_show(struct entering *entering);
/* limits.c: what the argument filter refuses for the sake of these limits, as bits of seccomp/program.h. */
unsigned limits_refused_calls(const struct limits *limits);
/* limits.c: the server's own bound of open files, once it holds no others. */
void limits_set_open_files(const struct entering *entering);
/* caps.c */
void caps_drop(const struct entering *entering);
/* landlock.c: the newest version of the interface that kernel and this code know, 0 without Landlock. */
int landlock_abi(void);
/* landlock.c: whether the file layer would be enforced for this box; else *why is half a sentence. */
bool landlock_guards_files(const struct box *box, int abi, const char **why);
/* landlock.c: whether a socket that some program outside makes below a grant later would be refused. */
bool landlock_guards_sockets(const struct box *box, int abi);
/* landlock.c: the rights to files that a ruleset of this version takes away, where no rule gives them. */
uint64_t landlock_file_rights(int abi);
void landlock_enter(const struct entering *entering);

#endif
