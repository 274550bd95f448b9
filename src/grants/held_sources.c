/* SPDX-License-Identifier: Apache-2.0
 *
 * See held_sources.h.
 */
#include "grants/held_sources.h"

#include <stdlib.h>
#include <unistd.h>

void held_sources_release(struct held_sources *held)
{
        for (size_t i = 0; i < held->count; i++)
                close(held->descriptors[i]);
        free(held->descriptors);
        str_list_free(&held->unsafe);
        str_list_free(&held->links);
        str_list_free(&held->reached);
        held->descriptors = NULL;
        held->count = 0;
}

void held_sources_add(struct held_sources *held, int descriptor)
{
        *array_add(held->descriptors, held->count) = descriptor;
}
