/* SPDX-License-Identifier: Apache-2.0
 *
 * A cursor for hostile bytes that cannot leave its buffer. A read past the end yields zero and marks the
 * cursor, so a parser can read a whole structure and check once.
 */
#ifndef HUTCH_NAT_BYTES_H
#define HUTCH_NAT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
        const uint8_t *at;
        size_t left;
        bool short_; /* a read went past the end */
};

static inline bool bytes_skip(struct bytes *bytes, size_t count)
{
        if (count > bytes->left) {
                bytes->short_ = true;
                bytes->left = 0;
                return false;
        }
        bytes->at += count;
        bytes->left -= count;
        return true;
}

/* Reads a big-endian number of `size` bytes, up to 4. */
static inline uint32_t bytes_number(struct bytes *bytes, size_t size)
{
        const uint8_t *from = bytes->at;
        uint32_t value = 0;
        if (!bytes_skip(bytes, size))
                return 0;
        for (size_t i = 0; i < size; i++)
                value = value << 8 | from[i];
        return value;
}

/* A cursor for the next `count` bytes. It is empty and marked when fewer are left. */
static inline struct bytes bytes_take(struct bytes *bytes, size_t count)
{
        struct bytes part = {.at = bytes->at, .left = count};
        part.short_ = !bytes_skip(bytes, count);
        if (part.short_)
                part.left = 0;
        return part;
}

#endif
