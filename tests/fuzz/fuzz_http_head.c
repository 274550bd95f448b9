/* SPDX-License-Identifier: Apache-2.0
 *
 * Request heads, whole and as far as they have arrived.
 */
#include "fuzz.h"

#include "nat/http_head.h"
#include "policy/addresses.h"

#include <string.h>

static enum sniff look(const uint8_t *data, size_t size, char name[NAME_MAX_LENGTH + 1])
{
        uint8_t *copy = fuzz_copy(data, size);
        struct in6_addr parsed;
        size_t end = 0;
        enum sniff state = http_head_name(copy, size, name, &end);
        free(copy);
        if (state == SNIFF_NAME)
                FUZZ_CHECK((destination_is_name(name) || address_parse(name, &parsed)) && end >= 18 &&
                           end <= size);
        return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char name[NAME_MAX_LENGTH + 1], early[NAME_MAX_LENGTH + 1];
        enum sniff state = look(data, size, name);
        /* A judgement is final: later bytes change nothing. Only "something else" may have been said too
         * early. */
        for (size_t part = size; part > 0; part /= 2) {
                enum sniff before = look(data, part - 1, early);
                if (before == SNIFF_MORE || before == SNIFF_OTHER)
                        continue;
                FUZZ_CHECK(before == state);
                FUZZ_CHECK(before != SNIFF_NAME || str_equal(name, early));
        }
        return 0;
}
