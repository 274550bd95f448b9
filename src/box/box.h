/* SPDX-License-Identifier: Apache-2.0
 *
 * struct box: the complete, resolved, plain-data description of one sandbox. Everything about a sandbox is
 * decided before any namespace exists and written here; what enters it only executes. There is no descriptor
 * in it and no default hidden behind it: `hutch --dry-run` prints all of it as JSON.
 */
#ifndef HUTCH_BOX_BOX_H
#define HUTCH_BOX_BOX_H

#include "lib/err.h"
#include "lib/str.h"
#include "limits/limits.h"
#include "policy/rules.h"
#include "policy/tools.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The identity inside: the customary "nonroot" of container images. It is the caller outside. */
#define BOX_ID   65532
#define BOX_USER "nonroot"
#define BOX_HOST "hutch"

enum box_kind {
        BOX_MCP, /* a stdio server: message lines, ends when the client goes away */
        BOX_RUN, /* any command: bytes, terminal passed through, ends when it ends */
};

enum mount_kind {
        MOUNT_BIND,    /* what is at `source` on the host, with everything mounted below it */
        MOUNT_OVERLAY, /* the directory at `source`, whose changes stay in memory and vanish */
        MOUNT_MASK,    /* nothing: an empty file or directory over what a grant would show here */
        MOUNT_MEMORY,  /* an empty, writable directory in memory: of the common file system or its own */
        MOUNT_FILE,    /* a small file with `content`, read-only */
        MOUNT_LINK,    /* a symbolic link whose text is `source` */
        MOUNT_PROC,    /* a fresh proc, parts masked */
        MOUNT_DEV,     /* the fixed set of devices, a private devpts, shm */
};

struct mount {
        enum mount_kind kind;
        char *source; /* MOUNT_BIND, MOUNT_OVERLAY: real host path. MOUNT_LINK: the link's text. Else NULL */
        char *destination; /* absolute, normal path inside */
        char *content;     /* MOUNT_FILE only */
        bool writable;     /* MOUNT_BIND only: what MOUNT_MEMORY is anyway */
        uint64_t bytes;    /* MOUNT_MEMORY: a file system of its own of this size; 0: the common one */
        bool is_directory; /* MOUNT_BIND and MOUNT_MASK; MOUNT_OVERLAY always is */
        dev_t
            device; /* MOUNT_BIND, MOUNT_OVERLAY: what the person's path meant when it was judged; entering */
        ino_t inode; /* compares them, so that a source swapped in between is an error */
        char *why;   /* for --dry-run and --verbose: "--rw", "program of the command", "base"… */
};

/* What --file sends in: copied before the command starts, so that nothing of the host is shared by it. */
struct copy_in {
        char *source;      /* real host path */
        char *destination; /* absolute, normal path inside, in what is writable there; its directories are
                              made */
        dev_t device;      /* as of a mount's source */
        ino_t inode;
        uint64_t bytes; /* when it was judged: another size at the end of the copy is an error */
        mode_t mode;    /* permission bits only */
};

/* A port of the host's loopback and the sandbox's port that stands for it, or the other way round. */
struct port_pair {
        uint16_t inside, host;
};

/* What the sandbox may reach. Without any of it there is a loopback and nothing else. */
struct network {
        struct rules rules; /* --network-allow, --network-deny */
        uint16_t
            *tcp_ports; /* that a rule mentions, sorted; NULL when there are too many to listen one by one */
        size_t tcp_count;
        bool every_port; /* too many: one transparent listener takes them all */
        uint16_t *udp_ports;
        size_t udp_count;
        struct port_pair *host_ports; /* --host-port and localhost rules */
        size_t host_port_count;
        struct port_pair *publish; /* --publish */
        size_t publish_count;
        char *proxy;             /* the caller's HTTPS_PROXY as HOST PORT, or NULL; never shown inside */
        char *proxy_credentials; /* its Basic credentials in base64, or NULL */
        struct str_list no_proxy;
};

struct box {
        enum box_kind kind;
        char *template_name;

        /* what runs */
        struct str_list argv;         /* as typed */
        struct str_list started;      /* the words that are executed: argv, or those of a fetched program */
        char *executable;             /* absolute path inside of the first of them */
        struct str_list environment;  /* KEY=VALUE, complete */
        struct str_list secret_names; /* what --env and --env-file named: shown by name only, always */
        char *cwd;                    /* absolute path inside */
        char *home;                   /* absolute path inside, as the caller spells it */

        /* who */
        uid_t outer_uid; /* BOX_ID inside */
        gid_t outer_gid;
        uint64_t open_files; /* the caller's soft RLIMIT_NOFILE, the server's too; hutch itself needs more */

        /* what it sees, in the order in which it is mounted: shallow before deep */
        struct mount *mounts;
        size_t mount_count;
        struct copy_in *files; /* copied in this order when all mounts are made */
        size_t file_count;
        struct str_list unsafe_grants; /* real paths that void the sandbox and were granted all the same */

        /* what bounds it */
        struct limits limits;
        uint64_t memory_fs_bytes;    /* everything writable in memory that has no size of its own, together */
        uint64_t memory_fs_inodes;   /* of each memory file system */
        unsigned timeout_seconds;    /* 0: none */
        unsigned stop_grace_seconds; /* end of input to SIGTERM; LIMIT_NO_GRACE: it ends nothing */
        bool raw_stdout;

        /* what it reaches */
        struct network network;

        char *log_path; /* absolute and normal, or NULL: --log */

        /* what it may ask and be asked; tools.pins is absolute and normal */
        struct tool_rules tools;

        /* the layers */
        enum userns_mode userns;
        bool proc;          /* false: --proc none */
        unsigned required;  /* bits of --require: not having it is an error */
        char *seccomp_path; /* --seccomp FILE, or NULL: the built-in profile */
        char *seccomp_json; /* its content, read when the option was judged */
        size_t seccomp_length;

        bool fetch_first; /* no box yet: what the command asks for is to be fetched before */

        unsigned verbose;
};

void box_free(struct box *box);
void network_free(struct network *network);

/* Adds a mount, taking ownership of the strings in *mount. */
void box_add_mount(struct box *box, const struct mount *mount);

/* The mount that decides about `path` inside: the deepest destination at or above it, the last of equals.
 * NULL when nothing but the root itself covers it. */
const struct mount *box_find_mount(const struct box *box, const char *path);

/* Whether hutch-nat is needed. */
bool box_has_network(const struct box *box);

/* Whether hutch-filter is needed: for rules, and for the calls in the log. */
bool box_has_filter(const struct box *box);

/* Writes the box as one JSON object. Values of variables that the caller named are left out. */
bool box_write_json(const struct box *box, FILE *out);

/* How the reason of a mount begins that shows what hutch itself keeps, and nobody else writes to. */
#define MOUNT_WHY_KEPT "packages of "

/* The reason of the mount of the home that --persist keeps. */
#define MOUNT_WHY_PERSIST "--persist"

/* True when the mount shows a part of the host that the person, or the command, named. */
bool mount_is_grant(const struct mount *mount);

/* True when it is one of the person's own grants, not what the command brings along. */
bool mount_is_asked_for(const struct mount *mount);

#endif
