/* SPDX-License-Identifier: Apache-2.0
 *
 * ClientHellos, whole and as far as they have arrived.
 */
#include "fuzz.h"

#include "nat/client_hello.h"

#include <string.h>

static enum sniff look(const uint8_t *data, size_t size, char name[NAME_MAX_LENGTH + 1])
{
        uint8_t *copy = fuzz_copy(data, size);
        enum sniff state = client_hello_name(copy, size, name);
        free(copy);
        if (state == SNIFF_NAME)
                FUZZ_CHECK(destination_is_name(name));
        return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char name[NAME_MAX_LENGTH + 1], early[NAME_MAX_LENGTH + 1];
        enum sniff state = look(data, size, name);
        /* What was decided early is decided: later bytes change nothing. */
        for (size_t part = size; part > 0; part /= 2) {
                enum sniff before = look(data, part - 1, early);
                if (before == SNIFF_MORE)
                        continue;
                FUZZ_CHECK(before == state);
                FUZZ_CHECK(before != SNIFF_NAME || str_equal(name, early));
        }
        return 0;
}
