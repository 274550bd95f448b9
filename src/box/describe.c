/* SPDX-License-Identifier: Apache-2.0
 *
 * See describe.h.
 */
#include "box/describe.h"

#include "lib/fd.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* Paths and arguments are bytes, JSON is UTF-8: this escapes invalid and control bytes as \xNN, but keeps
 * tabs and line ends. The caller frees. */
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

/* cJSON returns NULL only when it is out of memory, and passes NULL on. */
static void add_member(cJSON *object, const char *key, cJSON *value)
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

/* A whole number, exactly: cJSON's numbers are floating point. */
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
                add_member(object, name,
                           make_text(str_list_has(&box->secret_names, name) ? NULL : entry + length + 1));
        }
        return object;
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

static cJSON *make_mount(const struct mount *mount)
{
        static const char *const kinds[] = {
            [MOUNT_BIND] = "bind",     [MOUNT_OVERLAY] = "overlay", [MOUNT_MASK] = "mask",
            [MOUNT_MEMORY] = "memory", [MOUNT_FILE] = "file",       [MOUNT_LINK] = "link",
            [MOUNT_PROC] = "proc",     [MOUNT_DEV] = "dev",
        };
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "kind", make_text(kinds[mount->kind]));
        add_member(object, "destination", make_text(mount->destination));
        if (mount->source)
                add_member(object, "source", make_text(mount->source));
        if (mount->kind == MOUNT_BIND)
                add_member(object, "writable", cJSON_CreateBool(mount->writable));
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_MASK)
                add_member(object, "directory", cJSON_CreateBool(mount->is_directory));
        if (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY) {
                add_member(object, "device", make_number(mount->device));
                add_member(object, "inode", make_number(mount->inode));
        }
        if (mount->kind == MOUNT_MEMORY)
                add_member(object, "bytes", mount->bytes ? make_number(mount->bytes) : cJSON_CreateNull());
        if (mount->content)
                add_member(object, "content", make_text(mount->content));
        add_member(object, "origin", make_text(origin_name(mount->origin)));
        add_member(object, "why", make_text(mount->why));
        return object;
}

static cJSON *make_file(const struct copy_in *file)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        autofree char *mode = str_format("%04o", (unsigned)file->mode);
        add_member(object, "source", make_text(file->source));
        add_member(object, "destination", make_text(file->destination));
        add_member(object, "device", make_number(file->device));
        add_member(object, "inode", make_number(file->inode));
        add_member(object, "bytes", make_number(file->bytes));
        add_member(object, "mode", make_text(mode));
        return object;
}

static cJSON *make_identity(const struct box *box)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "user", make_text(BOX_USER));
        add_member(object, "host", make_text(BOX_HOST));
        add_member(object, "uid", make_number(BOX_ID));
        add_member(object, "gid", make_number(BOX_ID));
        add_member(object, "outer_uid", make_number(box->outer_uid));
        add_member(object, "outer_gid", make_number(box->outer_gid));
        add_member(object, "open_files", make_number(box->open_files));
        return object;
}

/* A limit and the mechanism that will hold it. */
static cJSON *make_limit(const char *unit, uint64_t value, enum limit_mechanism mechanism)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, unit, value ? make_number(value) : cJSON_CreateNull());
        add_member(object, "mechanism", make_text(limit_mechanism_name(mechanism)));
        return object;
}

static cJSON *make_limits(const struct box *box)
{
        const struct limits *limits = &box->limits;
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "memory", make_limit("bytes", limits->memory_bytes, limits->memory));
        add_member(object, "pids", make_limit("count", limits->pids, limits->processes));
        add_member(object, "cpus", make_limit("hundredths", limits->cpus, limits->processors));
        add_member(object, "no_cgroup", make_text(limits->no_cgroup));
        add_member(object, "memory_fs_bytes", make_number(box->memory_fs_bytes));
        add_member(object, "memory_fs_inodes", make_number(box->memory_fs_inodes));
        add_member(object, "timeout_seconds", make_number(box->timeout_seconds));
        add_member(object, "stop_grace_seconds",
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
                add_member(pair, "inside", make_number(pairs[i].inside));
                add_member(pair, "host", make_number(pairs[i].host));
                cJSON_AddItemToArray(array, pair);
        }
        return array;
}

/* Only whether there are credentials, not what they are. */
static cJSON *make_proxy(const struct network *network)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "place", make_text(network->proxy));
        add_member(object, "credentials", str_or_die(cJSON_CreateBool(network->proxy_credentials != NULL)));
        add_member(object, "except", make_list(&network->no_proxy));
        return object;
}

static cJSON *make_network(const struct network *network)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "allow", make_destinations(&network->rules.allow));
        add_member(object, "deny", make_destinations(&network->rules.deny));
        add_member(object, "host_ports", make_pairs(network->host_ports, network->host_port_count));
        add_member(object, "publish", make_pairs(network->publish, network->publish_count));
        if (network->proxy)
                add_member(object, "proxy", make_proxy(network));
        return object;
}

static cJSON *make_tools(const struct tool_rules *rules)
{
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "allow", make_list(&rules->allow));
        add_member(object, "deny", make_list(&rules->deny));
        add_member(object, "deny_sampling", cJSON_CreateBool(rules->deny_sampling));
        add_member(object, "deny_elicitation", cJSON_CreateBool(rules->deny_elicitation));
        add_member(object, "deny_roots", cJSON_CreateBool(rules->deny_roots));
        add_member(object, "pins", make_text(rules->pins));
        add_member(object, "pin_accept", cJSON_CreateBool(rules->pin_accept));
        add_member(object, "explain", cJSON_CreateBool(rules->explain));
        add_member(object, "log_arguments", cJSON_CreateBool(rules->log_arguments));
        add_member(object, "message_max", make_number(rules->message_max));
        return object;
}

static cJSON *make_layers(const struct box *box)
{
        static const char *const userns[] = {
            [USERNS_NONE] = "none", [USERNS_ALLOWED] = "allowed", [USERNS_FULL] = "full"};
        cJSON *object = str_or_die(cJSON_CreateObject());
        add_member(object, "user_namespaces", make_text(userns[box->userns]));
        add_member(object, "proc", cJSON_CreateBool(box->proc));
        cJSON *required = str_or_die(cJSON_CreateArray());
        for (unsigned i = 0; limits_requirement(i); i++)
                if (box->required & 1U << i)
                        cJSON_AddItemToArray(required, str_or_die(make_text(limits_requirement(i))));
        add_member(object, "required", required);
        cJSON *seccomp = str_or_die(cJSON_CreateObject());
        add_member(seccomp, "profile", make_text(box->seccomp_path ? box->seccomp_path : "built in"));
        if (box->seccomp_json) {
                autofree char *json = str_copy_n(box->seccomp_json, box->seccomp_length);
                add_member(seccomp, "content", make_text(json));
        }
        add_member(object, "seccomp", seccomp);
        return object;
}

bool describe_box(const struct box *box, FILE *out)
{
        cJSON *root = str_or_die(cJSON_CreateObject());
        add_member(root, "kind", make_text(box->kind == BOX_MCP ? "mcp" : "run"));
        add_member(root, "template", make_text(box->template_name));
        add_member(root, "argv", make_list(&box->argv));
        add_member(root, "started", make_list(&box->started));
        add_member(root, "executable", make_text(box->executable));
        add_member(root, "cwd", make_text(box->cwd));
        add_member(root, "home", make_text(box->home));
        add_member(root, "environment", make_environment(box));
        add_member(root, "forwarded", make_list(&box->secret_names));
        add_member(root, "identity", make_identity(box));
        cJSON *mounts = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < box->mount_count; i++)
                cJSON_AddItemToArray(mounts, make_mount(&box->mounts[i]));
        add_member(root, "mounts", mounts);
        cJSON *files = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < box->file_count; i++)
                cJSON_AddItemToArray(files, make_file(&box->files[i]));
        add_member(root, "files", files);
        add_member(root, "unsafe_grants", make_list(&box->unsafe_grants));
        add_member(root, "limits", make_limits(box));
        add_member(root, "network", make_network(&box->network));
        if (box_has_filter(box))
                add_member(root, "tools", make_tools(&box->tools));
        if (box->log_path)
                add_member(root, "log", make_text(box->log_path));
        add_member(root, "layers", make_layers(box));
        add_member(root, "raw_stdout", cJSON_CreateBool(box->raw_stdout));
        add_member(root, "verbose", make_number(box->verbose));

        char *text = str_or_die(cJSON_Print(root));
        bool written = fprintf(out, "%s\n", text) > 0 && fflush(out) == 0;
        cJSON_free(text);
        cJSON_Delete(root);
        return written;
}
