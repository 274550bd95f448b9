/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-prove: the escape attempts of `hutch prove`. The program runs outside, to show that an attempt works
 * where nothing stops it, and inside a sandbox, where no attempt may work. Each attempt runs in a new process
 * and is judged by what it got. An attempt must not harm the machine when it succeeds: a call that would
 * gets arguments that fail after the kernel's permission check, and files of the machine are opened, never
 * read or written.
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
        NOT_LIMITED,    /* this kernel has no limit for it */
};

/* Where an attempt is shown to work without a sandbox, tried in this order. */
enum {
        SHOW_NEVER = 0,
        SHOW_AS_CALLER = 1, /* as the user who runs `hutch prove`, root or not */
        SHOW_IN_USERNS = 2, /* as root of new namespaces of every kind */
        SHOW_AS_ROOT = 4,   /* as root, when root runs `hutch prove` */
};

struct attempt {
        const char *id;   /* stable: a key of --json */
        const char *gain; /* what a server would gain, in a few words */
        unsigned show;
        enum outcome (*try)(const struct attempt *attempt);
        const char *text; /* this and `number` are arguments of `try` */
        long number;
};

struct attempt_group {
        const char *name;
        const struct attempt *attempts;
        size_t count;
        bool terminal; /* the attempts need a controlling terminal on 0 */
};
#define ATTEMPT_GROUP(group_name, rows)                                                                      \
        {                                                                                                    \
                .name = (group_name), .attempts = (rows), .count = sizeof(rows) / sizeof((rows)[0])          \
        }

/* One group for each file of attempts. */
extern const struct attempt_group files_group, writes_group, processes_group, sockets_group, namespaces_group,
    kernel_group, devices_group, terminal_group, budgets_group;

static inline enum outcome out_if(bool condition)
{
        return condition ? GOT_OUT : HELD;
}

#endif
