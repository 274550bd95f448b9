/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of other sandboxes and container engines that people paste. hutch takes none of them, silently
 * least of all: each is refused with the one hint that says what to write instead, or that it is so anyway. A
 * hint must be true of this version.
 */
#ifndef HUTCH_OPTIONS_FOREIGN_OPTIONS_H
#define HUTCH_OPTIONS_FOREIGN_OPTIONS_H

#include <stddef.h>

/* The hint for `word`, of which `length` bytes are the option without `=value`, or NULL. */
const char *foreign_option_find(const char *word, size_t length);

#endif
