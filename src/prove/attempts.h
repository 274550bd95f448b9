/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-prove: the escape attempts of `hutch prove`. The same program runs outside, to show that an attempt
 * works where nothing stops it, and inside a sandbox, where it must not. Each attempt runs in a process of
 * its own and is judged by what it got. No attempt may harm the machine when it succeeds: what would is
 * called with arguments that fail after the kernel's permission check, and files of the machine are opened,
 * never read or written.
 */
#ifndef HUTCH_PROVE_ATTEMPTS_H
#define HUTCH_PROVE_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum outcome {
        HELD,
        GOT_OUT,
        NOT_APPLICABLE, /* the machine does not have what is attacked */
        NOT_LIMITED,    /* nothing bounds it on this kernel */
};

/* How an attempt is shown to work without a sandbox, tried in this order. None: it never is. */
enum {
        SHOW_NEVER = 0,
        SHOW_AS_CALLER = 1, /* by the same user; when that is root, by root */
        SHOW_IN_USERNS = 2, /* by the root of plain, new namespaces of every kind */
        SHOW_AS_ROOT = 4,   /* by the real root, when that is who calls */
};

struct attempt {
        const char *id;   /* stable: a key of --json */
        const char *gain; /* what it would gain, a few words */
        unsigned show;
        enum outcome (*try)(const struct attempt *attempt);
        const char *text; /* for `try` */
        long number;
};

struct attempt_group {
        const char *name;
        const struct attempt *attempts;
        size_t count;
        bool terminal; /* needs a controlling terminal on 0 */
};
#define ATTEMPT_GROUP(group_name, rows)                                                                      \
        {                                                                                                    \
                .name = (group_name), .attempts = (rows), .count = sizeof(rows) / sizeof((rows)[0])          \
        }

/* One for each file of attempts. */
extern const struct attempt_group files_group, writes_group, processes_group, sockets_group, namespaces_group,
    kernel_group, devices_group, terminal_group, budgets_group;

/* True inside the sandbox, false where the attempt is shown to work. */
bool is_inside(void);

/* What `hutch prove` said about the objects that it made. "" and 0 for what it did not name. */
const char *target(const char *key);
long target_number(const char *key);

/* A path below the directory of decoys; the result lives as long as the attempt's process. */
const char *decoy(const char *relative);

/* True when `data` holds the random marker that every decoy secret of this run begins with. */
bool has_marker(const void *data, size_t length);

/* Reads the beginning of a file: GOT_OUT when it holds the marker. */
enum outcome read_marker(int directory, const char *path);

/* Names the path by which the attempt got out, so that hutch can tell whether an option opened it. */
void note_path(const char *path);

/* GOT_OUT when it is true. */
static inline enum outcome out_if(bool condition)
{
        return condition ? GOT_OUT : HELD;
}

/* For a call whose arguments cannot succeed: GOT_OUT when the kernel went past its permission check, which
 * every other error than these shows. `result` is the call's. */
enum outcome out_if_reached(long result);

/* `program steal PATH MARKER`: what a program started in an unusual way does. */
int steal(const char *path, const char *marker);

#endif
