/* SPDX-License-Identifier: Apache-2.0
 *
 * The home directories that may hold credentials of the caller.
 */
#ifndef HUTCH_LIB_HOMES_H
#define HUTCH_LIB_HOMES_H

#include "lib/str.h"

struct caller_homes {
        char *spelled; /* $HOME, or the home in /etc/passwd: absolute and normal; "" when neither is set */
        struct str_list
            real; /* real paths: $HOME, the home in /etc/passwd, and for root those of all users */
};

/* Read once; the result is static. */
const struct caller_homes *caller_homes(void);

#endif
