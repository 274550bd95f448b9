/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the name that a misspelled word means. It looks at text only.
 */
#ifndef HUTCH_LIB_SUGGEST_H
#define HUTCH_LIB_SUGGEST_H

/* The name in `names` (NULL-terminated) that is nearest to `text`, or NULL if none is near enough to be
 * meant. */
const char *suggest_nearest(const char *text, const char *const *names);

#endif
