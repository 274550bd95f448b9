/* SPDX-License-Identifier: Apache-2.0
 *
 * See box.h: the box as a value. What is decided about it is decided elsewhere.
 */
#include "box/box.h"

#include "resolve/network.h"

#include <stdlib.h>

void box_free(struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++) {
                free(box->mounts[i].source);
                free(box->mounts[i].destination);
                free(box->mounts[i].content);
                free(box->mounts[i].why);
        }
        free(box->mounts);
        for (size_t i = 0; i < box->file_count; i++) {
                free(box->files[i].source);
                free(box->files[i].destination);
        }
        free(box->files);
        free(box->template_name);
        str_list_free(&box->argv);
        str_list_free(&box->started);
        free(box->executable);
        str_list_free(&box->environment);
        str_list_free(&box->secret_names);
        str_list_free(&box->unsafe_grants);
        free(box->cwd);
        free(box->home);
        free(box->log_path);
        network_free(&box->network);
        tool_rules_free(&box->tools);
        free(box->seccomp_path);
        free(box->seccomp_json);
        *box = (struct box){0};
}

bool box_has_filter(const struct box *box)
{
        return tool_rules_exist(&box->tools) || (box->log_path && box->kind == BOX_MCP && !box->raw_stdout);
}

void box_add_mount(struct box *box, const struct mount *mount)
{
        box->mounts = str_or_die(reallocarray(box->mounts, box->mount_count + 1, sizeof(*box->mounts)));
        box->mounts[box->mount_count++] = *mount;
}

const struct mount *box_find_mount(const struct box *box, const char *path)
{
        const struct mount *found = NULL;
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (path_is_below(path, mount->destination) &&
                    (!found || path_depth(mount->destination) >= path_depth(found->destination)))
                        found = mount;
        }
        return found;
}
