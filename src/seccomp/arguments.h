/* SPDX-License-Identifier: Apache-2.0
 *
 * The argument filter (b) of program.h.
 */
#ifndef HUTCH_SECCOMP_ARGUMENTS_H
#define HUTCH_SECCOMP_ARGUMENTS_H

#include "seccomp/program.h"

/* What the filter leaves out or adds. */
enum {
        SECCOMP_USERNS = 1,      /* --allow-userns: permits clone3, and new namespaces */
        SECCOMP_NO_UNSEEN = 2,   /* refuses memory that the watchdog does not see */
        SECCOMP_NO_AFFINITY = 4, /* refuses to change the set of processors */
};

/* With SECCOMP_NO_UNSEEN: the most bytes of one mapping that processes share without a file. The watchdog
 * counts every smaller one as if it had this size. Few programs have such a mapping, mostly for their worker
 * processes. */
#define SECCOMP_SHARED_MOST (16U << 20)

/* The filter for these bits. The result is in one static place, valid until the next call. */
struct seccomp_program seccomp_arguments(unsigned bits);

#endif
