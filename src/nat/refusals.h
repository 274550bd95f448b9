/* SPDX-License-Identifier: Apache-2.0
 *
 * The last refusals, for hutch-filter to ask about (--explain). Their memory has a fixed size.
 */
#ifndef HUTCH_NAT_REFUSALS_H
#define HUTCH_NAT_REFUSALS_H

#include <stddef.h>

/* Makes refusals_keep() keep refusals; before this call it does nothing. */
void refusals_start(void);

/* Keeps one refusal, half a sentence. The same one again only becomes the newest. */
void refusals_keep(const char *what);

/* Writes the refusals since then (CLOCK_MONOTONIC, nanoseconds), oldest first, each with an LF. A last line
 * "more" says that others had to make room. Returns the length. `size` is NAT_TEXT_MAX or more. */
size_t refusals_write(long long since, char *out, size_t size);

#endif
