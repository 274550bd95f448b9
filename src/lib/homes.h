/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories where the keys of the caller may be.
 */
#ifndef HUTCH_LIB_HOMES_H
#define HUTCH_LIB_HOMES_H

#include "lib/str.h"

/* Where the caller's keys may be. */
struct caller_homes {
        char *spelled;        /* $HOME, or the user database's: absolute and normal; "" when there is none */
        struct str_list real; /* real paths: of $HOME, of the database's, and for root of everybody's */
};

const struct caller_homes *caller_homes(void);

#endif
