/* SPDX-License-Identifier: Apache-2.0
 *
 * See box.h. The box as a value: this module decides nothing about it.
 */
#include "box/box.h"

#include "lib/homes.h"

#include <stdlib.h>

void mount_free(struct mount *mount)
{
        free(mount->source);
        free(mount->destination);
        free(mount->content);
        free(mount->why);
}

void box_free(struct box *box)
{
        for (size_t i = 0; i < box->mount_count; i++)
                mount_free(&box->mounts[i]);
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
        *array_add(box->mounts, box->mount_count) = *mount;
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

void network_free(struct network *network)
{
        destinations_free(&network->rules.allow);
        destinations_free(&network->rules.deny);
        free(network->tcp_ports);
        free(network->udp_ports);
        free(network->host_ports);
        free(network->publish);
        free(network->proxy);
        free(network->proxy_credentials);
        str_list_free(&network->no_proxy);
        *network = (struct network){0};
}

bool box_has_network(const struct box *box)
{
        const struct network *network = &box->network;
        return network->rules.allow.count > 0 || network->host_port_count > 0 || network->publish_count > 0;
}

static bool is_asked_overlay(const struct mount *mount)
{
        return mount->kind == MOUNT_OVERLAY && mount->origin != ORIGIN_PACKAGES;
}

bool mount_is_asked_for(const struct mount *mount)
{
        return is_asked_overlay(mount) || (mount->kind == MOUNT_BIND && (mount->origin == ORIGIN_OPTION ||
                                                                         mount->origin == ORIGIN_PERSIST));
}

bool mount_is_grant(const struct mount *mount)
{
        return is_asked_overlay(mount) || (mount->kind == MOUNT_BIND && mount->origin != ORIGIN_BASE);
}

char *box_choose_home(void)
{
        const char *home = caller_homes()->spelled;
        /* Directories of the sandbox's own tree cannot be an empty, writable home. */
        static const char *const taken[] = {"/usr", "/bin", "/sbin", "/lib", "/etc", "/proc", "/dev", "/sys"};
        bool usable = home[0] && home[1];
        for (size_t i = 0; usable && i < sizeof(taken) / sizeof(*taken); i++)
                usable = !path_is_below(home, taken[i]);
        if (usable && (str_equal(home, "/tmp") || str_equal(home, "/home") || str_equal(home, "/var")))
                usable = false;
        return str_copy(usable ? home : "/home/" BOX_USER);
}
