/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4) of data in memory.
 */
#ifndef HUTCH_LIB_SHA256_H
#define HUTCH_LIB_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32 };

void sha256(const void *data, size_t length, uint8_t digest[SHA256_SIZE]);

#endif
