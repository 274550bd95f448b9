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
        NOT_SHOWN = 0,
        AS_CALLER = 1, /* as the user who runs `hutch prove`, root or not */
        IN_USERNS = 2, /* as root of new namespaces of every kind */
        AS_ROOT = 4,   /* as root, when root runs `hutch prove` */
};

struct attempt {
        const char *id;   /* stable: a key of --json */
        const char *gain; /* what a server would gain, in a few words */
        unsigned show;
        enum outcome (*try)(void);
        const char *text; /* this, `number` and `call` are arguments of `try` */
        long number;
        long call[7]; /* the number of a system call, and its arguments */
};

/* A row names the arguments that its `try` reads. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* The attempt that is being made. A process makes one only. */
extern const struct attempt *attempt;

struct attempt_group {
        const char *name;
        const struct attempt *attempts;
        size_t count;
};
#define ATTEMPT_GROUP(group_name, rows)                                                                      \
        {                                                                                                    \
                .name = (group_name), .attempts = (rows), .count = sizeof(rows) / sizeof((rows)[0])          \
        }

/* One group for each file of attempts. Those of the last one need a controlling terminal on 0. */
extern const struct attempt_group files_group, writes_group, processes_group, sockets_group, namespaces_group,
    kernel_group, devices_group, budgets_group, terminal_group;

/* A pointer as an argument of a system call. */
#define POINTER(pointer) ((long)(pointer))

/* Makes `call`; GOT_OUT when it succeeds. The end of a row: CALL(SYS_name, argument, …). */
enum outcome try_call(void);
#define CALL(...) try_call, .call = {__VA_ARGS__}

/* The same, with arguments that cannot succeed: see out_if_reached(). */
enum outcome try_reach(void);
#define REACH(...) try_reach, .call = {__VA_ARGS__}

/* Opens the file `text`, or the decoy of that name, with the flags `number` of open(2). */
enum outcome try_open(void);
#define OPEN(file, flags) try_open, (file), (flags)

/* Looks for the marker in the file `text` of /proc/PID of every other process, or when `number` is set, in
 * the secret's file below it. Inside, the other processes are attempts, whose variables have no marker. */
enum outcome try_processes(void);

static inline enum outcome out_if(bool condition)
{
        return condition ? GOT_OUT : HELD;
}

#endif
