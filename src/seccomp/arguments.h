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
        SECCOMP_WATCHED = 2,     /* refuses memory that the watchdog does not see, and to slow it down */
        SECCOMP_NO_AFFINITY = 4, /* refuses to change the set of processors */
};

/* The filter for these bits. The result is in one static place, valid until the next call. */
struct seccomp_program seccomp_arguments(unsigned bits);

#endif
