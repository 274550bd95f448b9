/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-512 (FIPS 180-4): registries state the integrity of an archive with it. Only for comparing public data;
 * it takes no care of secrets.
 */
#ifndef HUTCH_LIB_SHA512_H
#define HUTCH_LIB_SHA512_H

#include <stddef.h>
#include <stdint.h>

enum { SHA512_BYTES = 64, SHA512_HEX = 2 * SHA512_BYTES + 1 };

struct sha512 {
        uint64_t state[8];
        uint8_t block[128];
        uint64_t bytes; /* hashed so far */
};

void sha512_begin(struct sha512 *hash);
void sha512_add(struct sha512 *hash, const void *data, size_t length);
void sha512_end(struct sha512 *hash, uint8_t digest[SHA512_BYTES]);

/* Writes the digest in lower-case hexadecimal digits. */
void sha512_hex(const uint8_t digest[SHA512_BYTES], char text[SHA512_HEX]);

#endif
