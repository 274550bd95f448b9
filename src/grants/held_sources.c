/* SPDX-License-Identifier: Apache-2.0
 *
 * See held_sources.h.
 */
#include "grants/held_sources.h"

void held_sources_release(struct held_sources *held)
{
        walker_release(&held->walker);
        str_list_free(&held->unsafe);
        str_list_free(&held->links);
        str_list_free(&held->reached);
        str_list_free(&held->past);
        held->past_is_read = false;
}
