/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of other sandboxes and container engines that users paste. hutch accepts none of them. It refuses
 * each with a hint: what to write instead, or that a sandbox behaves that way anyway. A hint must be true of
 * this version.
 */
#ifndef HUTCH_OPTIONS_FOREIGN_OPTIONS_H
#define HUTCH_OPTIONS_FOREIGN_OPTIONS_H

#include <stddef.h>

/* The hint for `word`, of which `length` bytes are the option without `=value`, or NULL. */
const char *foreign_option_find(const char *word, size_t length);

#endif
