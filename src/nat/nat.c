/* SPDX-License-Identifier: Apache-2.0
 *
 * See nat.h.
 */
#include "nat/nat.h"

#include "lib/clock.h"
#include "nat/names.h"

#include <stdlib.h>

enum {
        RESERVED_DESCRIPTORS = 64, /* listeners, name servers, the loop: not for flows */
        FLOW_DESCRIPTORS = 2,      /* the sandbox's side and the host's side */
};

struct nat nat;

bool nat_start(size_t descriptors)
{
        nat.flows_max = descriptors <= RESERVED_DESCRIPTORS + FLOW_DESCRIPTORS
                            ? 1
                            : (descriptors - RESERVED_DESCRIPTORS) / FLOW_DESCRIPTORS;
        nat.now = clock_now_ms();
        nat.names = names_new();
        nat.buffer = malloc(NAT_BUFFER);
        return nat.buffer != NULL;
}
