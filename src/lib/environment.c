/* SPDX-License-Identifier: Apache-2.0
 *
 * See environment.h.
 */
#include "lib/environment.h"

#include <stdlib.h>

void environment_set(struct str_list *environment, char *entry)
{
        size_t length = strcspn(entry, "=") + 1;
        for (size_t i = 0; i < environment->count; i++)
                if (strncmp(environment->values[i], entry, length) == 0) {
                        free(environment->values[i]);
                        environment->values[i] = entry;
                        return;
                }
        str_list_take(environment, entry);
}

const char *environment_find(const struct str_list *environment, const char *name)
{
        size_t length = strlen(name);
        for (size_t i = 0; i < environment->count; i++)
                if (strncmp(environment->values[i], name, length) == 0 &&
                    environment->values[i][length] == '=')
                        return environment->values[i] + length + 1;
        return NULL;
}
