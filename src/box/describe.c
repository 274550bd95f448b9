/* SPDX-License-Identifier: Apache-2.0
 *
 * The box as JSON, for `hutch --dry-run`: every field, so that nothing about a sandbox has to be believed.
 * Values of variables that the person named never stand in it, since a description is pasted into bug
 * reports.
 */
#include "box/box.h"

#include "lib/fd.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* Names of the kernel are bytes, JSON is UTF-8: what is not valid becomes \xNN, and only that; the text keeps
 * its line ends. The caller frees. */
static char *make_valid(const char *text)
{
        char *valid = str_or_die(malloc(strlen(text) * 4 + 1));
        char *out = valid;
        while (*text) {
                const size_t line = strcspn(text, "\t\n");
                const size_t room = line * 4 + 1;
                out += strlen(error_quote(out, room, text, line));
                text += line;
                if (*text)
                        *out++ = *text++;
        }
        *out = 0;
        return valid;
}

/* cJSON's constructors return NULL only when memory is out, and pass NULL on. */
static void add(cJSON *object, const char *key, cJSON *value)
{
        if (!cJSON_AddItemToObject(object, key, str_or_die(value)))
                str_or_die(NULL);
}

static cJSON *make_text(const char *text)
{
        if (!text)
                return cJSON_CreateNull();
        autofree char *valid = make_valid(text);
        return cJSON_CreateString(valid);
}

/* A whole number, exactly: cJSON's own are floating point. */
static cJSON *make_number(uintmax_t number)
{
        autofree char *digits = str_format("%ju", number);
        return cJSON_CreateRaw(digits);
}

static cJSON *make_list(const struct str_list *list)
{
        cJSON *array = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < list->count; i++)
                cJSON_AddItemToArray(array, str_or_die(make_text(list->values[i])));
        return array;
}

static cJSON *make_environment(const struct box *box)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        for (size_t i = 0; i < box->environment.count; i++) {
                const char *entry = box->environment.values[i];
                size_t length = strcspn(entry, "=");
                autofree char *name = str_copy_n(entry, length);
                add(object, name,
                    make_text(str_list_has(&box->secret_names, name) ? NULL : entry + length + 1));
        }
        return object;
}

static cJSON *make_mount(const struct mount *mount)
{
        static const char *const kinds[] = {
            [MOUNT_BIND] = "bind",     [MOUNT_OVERLAY] = "overlay", [MOUNT_MASK] = "mask",
            [MOUNT_MEMORY] = "memory", [MOUNT_FILE] = "file",       [MOUNT_LINK] = "link",
            [MOUNT_PROC] = "proc",     [MOUNT_DEV] = "dev",
        };
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "kind", make_text(kinds[mount->kind]));
        add(object, "destination", make_text(mount->destination));
        if (mount->source)
                add(object, "source", make_text(mount->source));
        if (mount->kind == MOUNT_BIND)
                add(object, "writable", cJSON_CreateBool(mount->writable));
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_MASK)
                add(object, "directory", cJSON_CreateBool(mount->is_directory));
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY) {
                add(object, "device", make_number(mount->device));
                add(object, "inode", make_number(mount->inode));
        }
        if (mount->kind == MOUNT_MEMORY)
                add(object, "bytes", mount->bytes ? make_number(mount->bytes) : cJSON_CreateNull());
        if (mount->content)
                add(object, "content", make_text(mount->content));
        add(object, "why", make_text(mount->why));
        return object;
}

static cJSON *make_file(const struct copy_in *file)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        autofree char *mode = str_format("%04o", (unsigned)file->mode);
        add(object, "source", make_text(file->source));
        add(object, "destination", make_text(file->destination));
        add(object, "device", make_number(file->device));
        add(object, "inode", make_number(file->inode));
        add(object, "bytes", make_number(file->bytes));
        add(object, "mode", make_text(mode));
        return object;
}

static cJSON *make_identity(const struct box *box)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "user", make_text(BOX_USER));
        add(object, "host", make_text(BOX_HOST));
        add(object, "uid", make_number(BOX_ID));
        add(object, "gid", make_number(BOX_ID));
        add(object, "outer_uid", make_number(box->outer_uid));
        add(object, "outer_gid", make_number(box->outer_gid));
        add(object, "open_files", make_number(box->open_files));
        return object;
}

/* A limit with what will hold it. */
static cJSON *make_limit(const char *unit, uint64_t value, enum limit_mechanism mechanism)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, unit, value ? make_number(value) : cJSON_CreateNull());
        add(object, "mechanism", make_text(limit_mechanism_name(mechanism)));
        return object;
}

static cJSON *make_limits(const struct box *box)
{
        const struct limits *limits = &box->limits;
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "memory", make_limit("bytes", limits->memory_bytes, limits->memory));
        add(object, "pids", make_limit("count", limits->pids, limits->processes));
        add(object, "cpus", make_limit("hundredths", limits->cpus, limits->processors));
        add(object, "no_cgroup", make_text(limits->no_cgroup));
        add(object, "memory_fs_bytes", make_number(box->memory_fs_bytes));
        add(object, "memory_fs_inodes", make_number(box->memory_fs_inodes));
        add(object, "timeout_seconds", make_number(box->timeout_seconds));
        add(object, "stop_grace_seconds",
            box->stop_grace_seconds == LIMIT_NO_GRACE ? cJSON_CreateNull()
                                                      : make_number(box->stop_grace_seconds));
        return object;
}

static cJSON *make_destinations(const struct destinations *list)
{
        cJSON *array = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < list->count; i++)
                cJSON_AddItemToArray(array, make_text(list->items[i].text));
        return array;
}

static cJSON *make_pairs(const struct port_pair *pairs, size_t count)
{
        cJSON *array = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < count; i++) {
                cJSON *pair = str_or_die(cJSON_CreateObject());
                add(pair, "inside", make_number(pairs[i].inside));
                add(pair, "host", make_number(pairs[i].host));
                cJSON_AddItemToArray(array, pair);
        }
        return array;
}

/* Credentials are said to be there and no more. */
static cJSON *make_proxy(const struct network *network)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "place", make_text(network->proxy));
        add(object, "credentials", str_or_die(cJSON_CreateBool(network->proxy_credentials != NULL)));
        add(object, "except", make_list(&network->no_proxy));
        return object;
}

static cJSON *make_network(const struct network *network)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "allow", make_destinations(&network->rules.allow));
        add(object, "deny", make_destinations(&network->rules.deny));
        add(object, "host_ports", make_pairs(network->host_ports, network->host_port_count));
        add(object, "publish", make_pairs(network->publish, network->publish_count));
        if (network->proxy)
                add(object, "proxy", make_proxy(network));
        return object;
}

static cJSON *make_tools(const struct tool_rules *rules)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "allow", make_list(&rules->allow));
        add(object, "deny", make_list(&rules->deny));
        add(object, "deny_sampling", cJSON_CreateBool(rules->deny_sampling));
        add(object, "deny_elicitation", cJSON_CreateBool(rules->deny_elicitation));
        add(object, "deny_roots", cJSON_CreateBool(rules->deny_roots));
        add(object, "pins", make_text(rules->pins));
        add(object, "pin_accept", cJSON_CreateBool(rules->pin_accept));
        add(object, "explain", cJSON_CreateBool(rules->explain));
        add(object, "log_arguments", cJSON_CreateBool(rules->log_arguments));
        add(object, "message_max", make_number(rules->message_max));
        return object;
}

static cJSON *make_layers(const struct box *box)
{
        static const char *const userns[] = {
            [USERNS_NONE] = "none", [USERNS_ALLOWED] = "allowed", [USERNS_FULL] = "full"};
        cJSON *object = str_or_die(cJSON_CreateObject());
        add(object, "user_namespaces", make_text(userns[box->userns]));
        add(object, "proc", cJSON_CreateBool(box->proc));
        cJSON *required = str_or_die(cJSON_CreateArray());
        for (unsigned i = 0; limits_requirement(i); i++)
                if (box->required & 1U << i)
                        cJSON_AddItemToArray(required, str_or_die(make_text(limits_requirement(i))));
        add(object, "required", required);
        cJSON *seccomp = str_or_die(cJSON_CreateObject());
        add(seccomp, "profile", make_text(box->seccomp_path ? box->seccomp_path : "built in"));
        if (box->seccomp_json) {
                autofree char *json = str_copy_n(box->seccomp_json, box->seccomp_length);
                add(seccomp, "content", make_text(json));
        }
        add(object, "seccomp", seccomp);
        return object;
}

bool box_write_json(const struct box *box, FILE *out)
{
        cJSON *root = str_or_die(cJSON_CreateObject());
        add(root, "kind", make_text(box->kind == BOX_MCP ? "mcp" : "run"));
        add(root, "template", make_text(box->template_name));
        add(root, "argv", make_list(&box->argv));
        add(root, "started", make_list(&box->started));
        add(root, "executable", make_text(box->executable));
        add(root, "cwd", make_text(box->cwd));
        add(root, "home", make_text(box->home));
        add(root, "environment", make_environment(box));
        add(root, "forwarded", make_list(&box->secret_names));
        add(root, "identity", make_identity(box));
        cJSON *mounts = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < box->mount_count; i++)
                cJSON_AddItemToArray(mounts, make_mount(&box->mounts[i]));
        add(root, "mounts", mounts);
        cJSON *files = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < box->file_count; i++)
                cJSON_AddItemToArray(files, make_file(&box->files[i]));
        add(root, "files", files);
        add(root, "unsafe_grants", make_list(&box->unsafe_grants));
        add(root, "limits", make_limits(box));
        add(root, "network", make_network(&box->network));
        if (box_has_filter(box))
                add(root, "tools", make_tools(&box->tools));
        if (box->log_path)
                add(root, "log", make_text(box->log_path));
        add(root, "layers", make_layers(box));
        add(root, "raw_stdout", cJSON_CreateBool(box->raw_stdout));
        add(root, "verbose", make_number(box->verbose));

        char *text = str_or_die(cJSON_Print(root));
        bool written = fprintf(out, "%s\n", text) > 0 && fflush(out) == 0;
        cJSON_free(text);
        cJSON_Delete(root);
        return written;
}
