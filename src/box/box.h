/* SPDX-License-Identifier: Apache-2.0
 *
 * struct box: the complete, resolved, plain-data description of one sandbox.
 *
 * Theory of operation. hutch decides everything about a sandbox before any namespace exists and writes it
 * here (resolve/); the code that enters the sandbox (ns/) only executes it. The box has no descriptor and no
 * hidden default, so that `hutch --dry-run` can print all of it as JSON (describe.h). The user is trusted;
 * the mounts name objects that a server of an earlier run may control, so each has the device and inode that
 * hutch judged, and entering compares them.
 */
#ifndef HUTCH_BOX_BOX_H
#define HUTCH_BOX_BOX_H

#include "lib/str.h"
#include "limits/limits.h"
#include "policy/rules.h"
#include "policy/tools.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The identity inside, as in container images ("nonroot"). Outside it is the caller. */
#define BOX_ID   65532
#define BOX_USER "nonroot"
#define BOX_HOST "hutch"

enum box_kind {
        BOX_MCP, /* a stdio server: lines of messages; ends when the client goes away */
        BOX_RUN, /* any command: bytes, with the caller's terminal; ends when the command ends */
};

enum mount_kind {
        MOUNT_BIND,    /* the host object at `source`, with everything mounted below it */
        MOUNT_OVERLAY, /* the host directory at `source`; changes stay in memory and vanish */
        MOUNT_MASK,    /* an empty file or directory over what a grant would show here */
        MOUNT_MEMORY,  /* an empty, writable directory in memory */
        MOUNT_FILE,    /* a small file with `content`, read-only */
        MOUNT_LINK,    /* a symbolic link whose text is `source` */
        MOUNT_PROC,    /* a new proc, with parts masked */
        MOUNT_DEV,     /* the fixed set of devices, a private devpts and shm */
};

/* Whose decision a mount is. Rules ask for this and never for `why`, which is a text for users. */
enum mount_origin {
        ORIGIN_BASE,     /* hutch: every sandbox has it */
        ORIGIN_OPTION,   /* the user, by the option that `why` begins with */
        ORIGIN_COMMAND,  /* the command, which needs it */
        ORIGIN_PACKAGES, /* the package store, which only hutch writes to */
        ORIGIN_PERSIST,  /* the home that --persist keeps */
        ORIGIN_PROTECT, /* hutch: keeps a path inside a writable grant read-only, or pins a directory above */
        ORIGIN_SOCKET,  /* hutch: hides a socket of another program */
};

/* The origin of a mount with the text for users: the option, "base", "program of the command"… */
struct mount_reason {
        enum mount_origin origin;
        const char *text;
};
#define REASON_BASE         ((struct mount_reason){ORIGIN_BASE, "base"})
#define REASON_OPTION(text) ((struct mount_reason){ORIGIN_OPTION, (text)})
#define REASON_PERSIST      ((struct mount_reason){ORIGIN_PERSIST, "--persist"})

struct mount {
        enum mount_kind kind;
        enum mount_origin origin;
        char *source; /* MOUNT_BIND, MOUNT_OVERLAY: real host path. MOUNT_LINK: the link's text. Else NULL */
        char *destination; /* absolute, normal path inside */
        char *content;     /* MOUNT_FILE only */
        bool writable;     /* MOUNT_BIND only; MOUNT_MEMORY always is */
        uint64_t bytes;    /* MOUNT_MEMORY: a separate file system of this size; 0: part of the common one */
        bool is_directory; /* MOUNT_BIND and MOUNT_MASK; MOUNT_OVERLAY always is */
        dev_t device;      /* MOUNT_BIND, MOUNT_OVERLAY: of the source when hutch judged it; entering the */
        ino_t inode;       /* sandbox compares both, so that a source swapped in between is an error */
        char *why; /* the option, "base", "program of the command"…; shown by --dry-run, --verbose */
};

/* One file of --file: hutch copies it before the command starts, so that the sandbox shares no host file. */
struct copy_in {
        char *source;      /* real host path */
        char *destination; /* absolute, normal, writable path inside; hutch makes its directories */
        dev_t device;      /* of the source, as in struct mount */
        ino_t inode;
        uint64_t bytes; /* when hutch judged it: another size at the end of the copy is an error */
        mode_t mode;    /* permission bits only */
};

/* A port of the host's loopback and the sandbox's port that leads to it, or the other way round. */
struct port_pair {
        uint16_t inside, host;
};

/* What the sandbox may reach. Without any rule it has a loopback interface and nothing else. */
struct network {
        struct rules rules;  /* --network-allow, --network-deny */
        uint16_t *tcp_ports; /* that rules name, sorted; NULL with every_port */
        size_t tcp_count;
        bool every_port; /* too many to listen on each: one transparent listener takes all connections */
        uint16_t *udp_ports;
        size_t udp_count;
        struct port_pair *host_ports; /* --host-port and localhost rules */
        size_t host_port_count;
        struct port_pair *publish; /* --publish */
        size_t publish_count;
        char *proxy;             /* the caller's HTTPS_PROXY as HOST PORT, or NULL; hidden from the sandbox */
        char *proxy_credentials; /* its Basic credentials in base64, or NULL */
        struct str_list no_proxy;
};

struct box {
        enum box_kind kind;
        char *template_name;

        /* what runs */
        struct str_list argv;         /* as the caller wrote it */
        struct str_list started;      /* the words to execute: argv, or those of a fetched program */
        char *executable;             /* absolute path inside of the first of these words */
        struct str_list environment;  /* KEY=VALUE, complete */
        struct str_list secret_names; /* variables of --env and --env-file: never shown with their values */
        char *cwd;                    /* absolute path inside */
        char *home;                   /* absolute path inside, as the caller spells it */

        /* who */
        uid_t outer_uid; /* BOX_ID inside */
        gid_t outer_gid;
        uint64_t open_files; /* soft RLIMIT_NOFILE of the caller and of the server; hutch raises its own */

        /* what it sees, in the order of mounting: shallow before deep */
        struct mount *mounts;
        size_t mount_count;
        struct copy_in *files; /* copied in this order after all mounts */
        size_t file_count;
        struct str_list unsafe_grants; /* real paths that void the sandbox and that --unsafe-grant permits */

        /* its limits */
        struct limits limits;
        uint64_t memory_fs_bytes;    /* of the common file system in memory */
        uint64_t memory_fs_inodes;   /* of each memory file system */
        unsigned timeout_seconds;    /* 0: none */
        unsigned stop_grace_seconds; /* from end of input to SIGTERM; LIMIT_NO_GRACE: no SIGTERM */
        bool raw_stdout;

        /* what it reaches */
        struct network network;

        char *log_path; /* absolute and normal, or NULL: --log */

        /* which tools it may offer and what it may ask; tools.pins is absolute and normal */
        struct tool_rules tools;

        /* the layers */
        enum userns_mode userns;
        bool proc;          /* false: --proc none */
        unsigned required;  /* bits of --require: a missing one is an error */
        char *seccomp_path; /* --seccomp FILE, or NULL: the built-in profile */
        char *seccomp_json; /* its content, read once */
        size_t seccomp_length;

        bool fetch_first; /* the box is incomplete: hutch must fetch the package of the command first */

        unsigned verbose;
};

/* The home inside, as the caller spells it where the sandbox can have it. The caller frees. */
char *box_choose_home(void);

void box_free(struct box *box);
void network_free(struct network *network);

/* Frees the strings of one mount. */
void mount_free(struct mount *mount);

/* Adds a mount, taking ownership of the strings in *mount. */
void box_add_mount(struct box *box, const struct mount *mount);

/* The mount that shows `path` inside: the deepest destination that is or contains it, the last of equals.
 * NULL when only the root itself contains it. */
const struct mount *box_find_mount(const struct box *box, const char *path);

/* True when the box needs hutch-nat. */
bool box_has_network(const struct box *box);

/* True when the box needs hutch-filter: for tool rules, and for calls in the log. */
bool box_has_filter(const struct box *box);

/* True when the mount shows a part of the host that the user granted or the command needs. */
bool mount_is_grant(const struct mount *mount);

/* True when the user granted it by an option; false for what only the command needs. */
bool mount_is_asked_for(const struct mount *mount);

#endif
