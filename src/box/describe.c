/* SPDX-License-Identifier: Apache-2.0
 *
 * See describe.h.
 */
#include "box/describe.h"

#include "lib/fd.h"
#include "lib/json.h"

static void put_environment(struct json *json, const struct box *box)
{
        json_open(json, "environment", '{');
        for (size_t i = 0; i < box->environment.count; i++) {
                const char *entry = box->environment.values[i];
                size_t length = strcspn(entry, "=");
                autofree char *name = str_copy_n(entry, length);
                json_text(json, name, str_list_has(&box->secret_names, name) ? NULL : entry + length + 1);
        }
        json_close(json, "}");
}

static const char *origin_name(enum mount_origin origin)
{
        static const char *const names[] = {
            [ORIGIN_BASE] = "base",         [ORIGIN_OPTION] = "option",   [ORIGIN_COMMAND] = "command",
            [ORIGIN_PACKAGES] = "packages", [ORIGIN_PERSIST] = "persist", [ORIGIN_PROTECT] = "protect",
            [ORIGIN_SOCKET] = "socket",
        };
        return names[origin];
}

static void put_mount(struct json *json, const struct mount *mount)
{
        static const char *const kinds[] = {
            [MOUNT_BIND] = "bind",     [MOUNT_OVERLAY] = "overlay", [MOUNT_MASK] = "mask",
            [MOUNT_MEMORY] = "memory", [MOUNT_FILE] = "file",       [MOUNT_LINK] = "link",
            [MOUNT_PROC] = "proc",     [MOUNT_DEV] = "dev",
        };
        json_open(json, NULL, '{');
        json_text(json, "kind", kinds[mount->kind]);
        json_text(json, "destination", mount->destination);
        if (mount->source)
                json_text(json, "source", mount->source);
        if (mount->kind == MOUNT_BIND)
                json_bool(json, "writable", mount->writable);
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_MASK)
                json_bool(json, "directory", mount->is_directory);
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY) {
                json_number(json, "device", mount->device);
                json_number(json, "inode", mount->inode);
        }
        if (mount->kind == MOUNT_MEMORY)
                json_number_if(json, mount->bytes > 0, "bytes", mount->bytes);
        if (mount->content)
                json_text(json, "content", mount->content);
        json_text(json, "origin", origin_name(mount->origin));
        json_text(json, "why", mount->why);
        json_close(json, "}");
}

static void put_file(struct json *json, const struct copy_in *file)
{
        autofree char *mode = str_format("%04o", (unsigned)file->mode);
        json_open(json, NULL, '{');
        json_text(json, "source", file->source);
        json_text(json, "destination", file->destination);
        json_number(json, "device", file->device);
        json_number(json, "inode", file->inode);
        json_number(json, "bytes", file->bytes);
        json_text(json, "mode", mode);
        json_close(json, "}");
}

static void put_identity(struct json *json, const struct box *box)
{
        json_open(json, "identity", '{');
        json_text(json, "user", BOX_USER);
        json_text(json, "host", BOX_HOST);
        json_number(json, "uid", BOX_ID);
        json_number(json, "gid", BOX_ID);
        json_number(json, "outer_uid", box->outer_uid);
        json_number(json, "outer_gid", box->outer_gid);
        json_number(json, "open_files", box->open_files);
        json_close(json, "}");
}

/* A limit and the mechanism that will hold it. */
static void put_limit(struct json *json, const char *key, const char *unit, uint64_t value,
                      enum limit_mechanism mechanism)
{
        json_open(json, key, '{');
        json_number_if(json, value > 0, unit, value);
        json_text(json, "mechanism", limit_mechanism_name(mechanism));
        json_close(json, "}");
}

static void put_limits(struct json *json, const struct box *box)
{
        const struct limits *limits = &box->limits;
        json_open(json, "limits", '{');
        put_limit(json, "memory", "bytes", limits->memory_bytes, limits->memory);
        put_limit(json, "pids", "count", limits->pids, limits->processes);
        put_limit(json, "cpus", "hundredths", limits->cpus, limits->processors);
        json_text(json, "no_cgroup", limits->no_cgroup);
        json_number(json, "memory_fs_bytes", box->memory_fs_bytes);
        json_number(json, "memory_fs_inodes", box->memory_fs_inodes);
        json_number(json, "timeout_seconds", box->timeout_seconds);
        json_number_if(json, box->stop_grace_seconds != LIMIT_NO_GRACE, "stop_grace_seconds",
                       box->stop_grace_seconds);
        json_close(json, "}");
}

static void put_destinations(struct json *json, const char *key, const struct destinations *list)
{
        json_open(json, key, '[');
        for (size_t i = 0; i < list->count; i++)
                json_text(json, NULL, list->items[i].text);
        json_close(json, "]");
}

static void put_pairs(struct json *json, const char *key, const struct port_pair *pairs, size_t count)
{
        json_open(json, key, '[');
        for (size_t i = 0; i < count; i++) {
                json_open(json, NULL, '{');
                json_number(json, "inside", pairs[i].inside);
                json_number(json, "host", pairs[i].host);
                json_close(json, "}");
        }
        json_close(json, "]");
}

/* Only whether there are credentials, not what they are. */
static void put_proxy(struct json *json, const struct network *network)
{
        json_open(json, "proxy", '{');
        json_text(json, "place", network->proxy);
        json_bool(json, "credentials", network->proxy_credentials != NULL);
        json_texts(json, "except", &network->no_proxy);
        json_close(json, "}");
}

static void put_network(struct json *json, const struct network *network)
{
        json_open(json, "network", '{');
        put_destinations(json, "allow", &network->rules.allow);
        put_destinations(json, "deny", &network->rules.deny);
        put_pairs(json, "host_ports", network->host_ports, network->host_port_count);
        put_pairs(json, "publish", network->publish, network->publish_count);
        if (network->proxy)
                put_proxy(json, network);
        json_close(json, "}");
}

static void put_tools(struct json *json, const struct tool_rules *rules)
{
        json_open(json, "tools", '{');
        json_texts(json, "allow", &rules->allow);
        json_texts(json, "deny", &rules->deny);
        json_bool(json, "deny_sampling", rules->deny_sampling);
        json_bool(json, "deny_elicitation", rules->deny_elicitation);
        json_bool(json, "deny_roots", rules->deny_roots);
        json_text(json, "pins", rules->pins);
        json_bool(json, "pin_accept", rules->pin_accept);
        json_bool(json, "explain", rules->explain);
        json_bool(json, "log_arguments", rules->log_arguments);
        json_number(json, "message_max", rules->message_max);
        json_close(json, "}");
}

static void put_layers(struct json *json, const struct box *box)
{
        static const char *const userns[] = {
            [USERNS_NONE] = "none", [USERNS_ALLOWED] = "allowed", [USERNS_FULL] = "full"};
        json_open(json, "layers", '{');
        json_text(json, "user_namespaces", userns[box->userns]);
        json_bool(json, "proc", box->proc);
        json_open(json, "required", '[');
        for (unsigned i = 0; limits_requirements[i]; i++)
                if (box->required & 1U << i)
                        json_text(json, NULL, limits_requirements[i]);
        json_close(json, "]");
        json_open(json, "seccomp", '{');
        json_text(json, "profile", box->seccomp_path ? box->seccomp_path : "built in");
        if (box->seccomp_json) {
                autofree char *content = str_copy_n(box->seccomp_json, box->seccomp_length);
                json_text(json, "content", content);
        }
        json_close(json, "}}");
}

bool describe_box(const struct box *box, FILE *out)
{
        struct json writer = {.out = &(struct buf){0}, .pretty = true}, *json = &writer;
        json_open(json, NULL, '{');
        json_text(json, "kind", box->kind == BOX_MCP ? "mcp" : "run");
        json_text(json, "template", box->template_name);
        json_texts(json, "argv", &box->argv);
        json_texts(json, "started", &box->started);
        json_text(json, "executable", box->executable);
        json_text(json, "cwd", box->cwd);
        json_text(json, "home", box->home);
        put_environment(json, box);
        json_texts(json, "forwarded", &box->secret_names);
        put_identity(json, box);
        json_open(json, "mounts", '[');
        for (size_t i = 0; i < box->mount_count; i++)
                put_mount(json, &box->mounts[i]);
        json_close(json, "]");
        json_open(json, "files", '[');
        for (size_t i = 0; i < box->file_count; i++)
                put_file(json, &box->files[i]);
        json_close(json, "]");
        json_texts(json, "unsafe_grants", &box->unsafe_grants);
        put_limits(json, box);
        put_network(json, &box->network);
        if (box_has_filter(box))
                put_tools(json, &box->tools);
        if (box->log_path)
                json_text(json, "log", box->log_path);
        put_layers(json, box);
        json_bool(json, "raw_stdout", box->raw_stdout);
        json_number(json, "verbose", box->verbose);
        json_close(json, "}");
        return json_print(json, out);
}
