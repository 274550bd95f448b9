/* SPDX-License-Identifier: Apache-2.0
 *
 * Examines a tree that hostile programs made: its size, and one digest of everything in it. It follows no
 * link, trusts no name and changes nothing.
 */
#ifndef HUTCH_FETCH_TREE_DIGEST_H
#define HUTCH_FETCH_TREE_DIGEST_H

#include "lib/err.h"
#include <sha512.h>
#include <stdbool.h>
#include <stdint.h>

/* More than any server needs; a fetch that writes more is stopped. */
#define TREE_BYTES_MAX ((uint64_t)4 << 30)
enum { TREE_OBJECTS_MAX = 1000000, TREE_DEPTH_MAX = 128 };

struct tree_size {
        uint64_t bytes; /* on disk, or the lengths of the files where that is more */
        uint64_t objects;
};

/* Measures the directory while others may write to it. False once it is larger or deeper than the store
 * keeps. */
bool tree_measure(int directory, struct tree_size *size);

/* The digest over the name, kind, mode and content of everything in the directory, in the order of the names.
 * False with a sentence when it holds something other than files, directories and links, what cannot be read,
 * or too much. */
bool tree_digest(int directory, char digest[SHA512_DIGEST_STRING_LENGTH], struct error *error);

#endif
