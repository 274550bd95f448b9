/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets share. Each is a function of libFuzzer's name, so that clang can drive it
 * (tests/fuzz/run); replay.c drives it over the corpus in the ordinary unit tests.
 */
#ifndef HUTCH_TESTS_FUZZ_H
#define HUTCH_TESTS_FUZZ_H

#include "lib/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                                \
        do {                                                                                                 \
                if (!(condition)) {                                                                          \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
                        abort();                                                                             \
                }                                                                                            \
        } while (0)

/* A copy that is exactly as large as its content, so that a sanitizer sees a read behind it. The caller
 * frees. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t length)
{
        uint8_t *copy = str_or_die(malloc(length + (length == 0)));
        if (length)
                memcpy(copy, data, length);
        return copy;
}

#endif
