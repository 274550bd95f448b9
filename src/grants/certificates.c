/* SPDX-License-Identifier: Apache-2.0
 *
 * See certificates.h. The list has the variables that the programs' own manuals name. This module must never
 * grant more than the value of the variable names: never the directory of a file, and nothing that
 * sensitive_paths.h refuses.
 */
#include "grants/certificates.h"

#include "grants/copy_in.h"
#include "grants/grants.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/messages.h"

enum names { A_FILE, A_FILE_OR_DIRECTORY, DIRECTORIES };

static const struct {
        const char *name;
        enum names names;
} variables[] = {
    {"NODE_EXTRA_CA_CERTS", A_FILE},
    {"SSL_CERT_FILE", A_FILE},     /* OpenSSL, Go, uv */
    {"SSL_CERT_DIR", DIRECTORIES}, /* separated by colons */
    {"REQUESTS_CA_BUNDLE", A_FILE_OR_DIRECTORY},
    {"CURL_CA_BUNDLE", A_FILE_OR_DIRECTORY}, /* requests reads it too, and takes directories */
    {"GIT_SSL_CAINFO", A_FILE},
    {"GIT_SSL_CAPATH", DIRECTORIES},
    {"AWS_CA_BUNDLE", A_FILE},
    {"PIP_CERT", A_FILE},
    {"NPM_CONFIG_CAFILE", A_FILE},
    {"npm_config_cafile", A_FILE},
    {"DENO_CERT", A_FILE},
    {"CARGO_HTTP_CAINFO", A_FILE},
    {"NIX_SSL_CERT_FILE", A_FILE},
    {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", A_FILE},
};

/* True when `path` may exist inside: in the host tree, in a grant, or as a file of --file. Memory is empty at
 * the start. */
static bool is_inside(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        if (!mount || mount->kind != MOUNT_MEMORY)
                return mount;
        return str_equal(mount->destination, path) || copy_in_lead_to(box, path);
}

static bool add_path(const struct resolver *resolver, const char *variable, enum names names,
                     const char *path)
{
        struct box *box = resolver->box;
        autofree char *why = str_format("--env %s", variable);
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        const char *real = walked->real;
        mode_t mode = walked->status.st_mode;
        if (real && mounts_show(box, real) && mounts_show(box, path))
                return true;
        if (walked->problem) {
                if (!is_inside(box, path))
                        message("note: %s names %s, which does not exist", variable, error_shown(path));
                return true;
        }
        bool fits = S_ISREG(mode) ? names != DIRECTORIES : S_ISDIR(mode) && names != A_FILE;
        if (!fits) {
                message("note: %s names %s, which is not a %s; hutch does not grant it", variable,
                        error_shown(path), names == DIRECTORIES ? "directory" : "file");
                return true;
        }
        return grants_add(resolver, path, NULL, false, why);
}

static bool add_value(const struct resolver *resolver, const char *variable, enum names names,
                      const char *value)
{
        struct box *box = resolver->box;
        while (*value) {
                size_t length = names == DIRECTORIES ? strcspn(value, ":") : strlen(value);
                autofree char *word = str_copy_n(value, length);
                autofree char *path = path_join(box->cwd, word);
                if (*word && !add_path(resolver, variable, names, path))
                        return false;
                value += length + (value[length] == ':');
        }
        return true;
}

bool certificates_add(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
                const char *name = variables[i].name;
                if (!str_list_has(&box->secret_names, name))
                        continue;
                size_t length = strlen(name);
                for (size_t entry = 0; entry < box->environment.count; entry++) {
                        const char *variable = box->environment.values[entry];
                        if (strncmp(variable, name, length) == 0 && variable[length] == '=' &&
                            !add_value(resolver, name, variables[i].names, variable + length + 1))
                                return false;
                }
        }
        return grants_check_links(resolver);
}
