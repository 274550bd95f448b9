/* SPDX-License-Identifier: Apache-2.0
 *
 * Characters of UTF-8 (RFC 3629): longer forms than necessary, surrogates and what is above U+10FFFF are
 * invalid. No function reads at or behind `end`.
 */
#ifndef HUTCH_LIB_UTF8_H
#define HUTCH_LIB_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the character at `at`, which is before `end`: 1 for ASCII, or 0 if it is invalid. */
size_t utf8_measure(const unsigned char *at, const unsigned char *end);

/* The code point of a valid character of that length. */
uint32_t utf8_decode(const unsigned char *at, size_t length);

#endif
