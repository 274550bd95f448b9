/* SPDX-License-Identifier: Apache-2.0
 *
 * npm: its configuration (plan.h), and what it leaves in its cache (npm.h).
 */
#include "fetch/npm.h"

#include "fetch/plan.h"
#include "lib/fd.h"
#include "lib/tree_walk.h"
#include "packages/request.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sha512.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum {
        CONFIG_MAX = 1 << 20,
        LOCK_MAX = 32 << 20,
        HASH_LENGTH = 16, /* of the directory's name: libnpmexec cuts a SHA-512 there */
};

#define ARCHIVE_MAX ((size_t)1 << 30)

/* ---- its configuration ---- */

static const char *text_of(const cJSON *object, const char *key)
{
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
        return cJSON_IsString(item) && item->valuestring[0] ? item->valuestring : NULL;
}

/* The registry and the registries of scopes. npm's variables have the names of its settings. */
static bool take_registries(struct fetch_plan *plan, const cJSON *config, struct error *error)
{
        static const char suffix[] = ":registry";
        const cJSON *item;
        cJSON_ArrayForEach(item, config)
        {
                size_t length = item->string ? strlen(item->string) : 0;
                bool scope = length > sizeof(suffix) && item->string[0] == '@' &&
                             str_equal(item->string + length - (sizeof(suffix) - 1), suffix);
                if (!item->string || (!scope && !str_equal(item->string, "registry")) ||
                    !cJSON_IsString(item))
                        continue;
                autofree char *url = plan_add_registry(plan, item->valuestring);
                if (!url)
                        return error_set(error, EXIT_SETUP, "npm's setting %s is not an http or https URL",
                                         error_shown(item->string));
                str_list_take(&plan->environment, str_format("npm_config_%s=%s", item->string, url));
        }
        return plan->registries.count > 0 ||
               error_set(error, EXIT_SETUP, "npm's configuration has no registry");
}

/* hutch connects through the proxy that npm would use. */
static void take_proxy(const cJSON *config)
{
        const char *proxy = text_of(config, "https-proxy");
        if (!proxy)
                proxy = text_of(config, "proxy");
        if (proxy && !getenv("https_proxy") && !getenv("HTTPS_PROXY"))
                (void)setenv("HTTPS_PROXY", proxy, 1);
}

/* The minimum age of a version: that of the option, and that of npm's settings. */
static void take_age(struct fetch_plan *plan, const cJSON *config)
{
        const char *before = text_of(config, "before");
        const cJSON *age = cJSON_GetObjectItemCaseSensitive(config, "min-release-age");
        unsigned days = cJSON_IsNumber(age) && age->valuedouble > 0 && age->valuedouble < 10000
                            ? (unsigned)age->valuedouble
                            : 0;
        if (days < plan->options->min_age_days)
                days = plan->options->min_age_days;
        if (days > 0)
                plan_add_time(plan, "npm_config_before", days);
        else if (before)
                str_list_take(&plan->environment, str_format("npm_config_before=%s", before));
}

bool plan_read_npm(struct fetch_plan *plan, struct error *error)
{
        autofree char *npm = plan_find_tool("npm", plan->options->command.values[0]);
        if (!npm)
                return error_set(error, EXIT_NOT_FOUND,
                                 "npm is not on PATH; hutch asks it where packages are fetched from");
        const char *const words[] = {npm, "config", "list", "--json", NULL};
        autofree char *text = plan_ask(words, CONFIG_MAX, error);
        if (!text)
                return false;
        cJSON *config = cJSON_Parse(text);
        bool read = config && take_registries(plan, config, error);
        if (!config)
                error_set(error, EXIT_SETUP, "`%s config list --json` wrote no JSON", npm);
        if (read) {
                const char *certificates = text_of(config, "cafile");
                take_proxy(config);
                take_age(plan, config);
                plan->no_scripts = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(config, "ignore-scripts"));
                plan->certificates = certificates && certificates[0] == '/' ? str_copy(certificates) : NULL;
                str_list_add_all(&plan->entry->environment, &plan->environment);
        }
        cJSON_Delete(config);
        return read;
}

/* ---- its cache ---- */

/* Opens a path below the cache on which nothing is a link. */
static int open_below(int directory, const char *path, int flags)
{
        struct open_how how = {
            .flags = (unsigned)(flags | O_CLOEXEC),
            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/* NULL when the file is not there, or no JSON. */
static cJSON *read_json(int cache, const char *path)
{
        autofree char *text = NULL;
        autoclose int file = open_below(cache, path, O_RDONLY | O_NONBLOCK);
        ssize_t length = file < 0 ? -1 : fd_read_all(file, LOCK_MAX, &text);
        return length < 0 ? NULL : cJSON_ParseWithLength(text, (size_t)length);
}

static bool is_npx_directory(const char *name)
{
        return strlen(name) == HASH_LENGTH && strspn(name, "0123456789abcdef") == HASH_LENGTH;
}

/* The one directory below _npx. The caller frees; NULL when there is none, or several. */
static char *find_directory(int cache)
{
        autoclose int npx = open_below(cache, "_npx", O_RDONLY | O_DIRECTORY);
        struct str_list names = {0};
        (void)tree_list(npx, is_npx_directory, 2, &names);
        char *name = names.count == 1 ? str_copy(names.values[0]) : NULL;
        str_list_free(&names);
        return name;
}

static void add_packages(const cJSON *lock, struct entry *entry, bool *scripts)
{
        static const char modules[] = "node_modules/";
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(lock, "packages"))
        {
                const char *name = item->string ? item->string : "", *next;
                while ((next = strstr(name, modules)))
                        name = next + sizeof(modules) - 1;
                const char *version = text_of(item, "version"), *integrity = text_of(item, "integrity");
                if (!*name || !version)
                        continue; /* the directory itself */
                entry_add_package(entry, name, version, integrity ? integrity : "");
                *scripts |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "hasInstallScript"));
        }
}

char *npm_choose_program(const char *name, const cJSON *bin, const cJSON *written)
{
        const char *slash = strrchr(name, '/'), *chosen = NULL;
        const cJSON *item, *first = cJSON_IsObject(bin) ? bin->child : NULL;
        bool same = first != NULL;
        cJSON_ArrayForEach(item, bin)
        {
                same = same && cJSON_IsString(item) && cJSON_IsString(first) &&
                       str_equal(item->valuestring, first->valuestring);
        }
        const cJSON *order = same && first->next ? cJSON_GetObjectItemCaseSensitive(written, "bin") : bin;
        if (same)
                chosen = cJSON_IsObject(order) && order->child ? order->child->string : NULL;
        else if (cJSON_GetObjectItemCaseSensitive(bin, slash ? slash + 1 : name))
                chosen = slash ? slash + 1 : name;
        return chosen && str_is_file_name(chosen) ? str_copy(chosen) : NULL;
}

/* The directory of the programs, and npm's choice among them. */
static void find_program(int cache, const char *directory, const char *package, const cJSON *lock,
                         struct entry *entry)
{
        autofree char *name = command_package_name(COMMAND_NPX, package);
        autofree char *place = str_format("node_modules/%s", name);
        autofree char *path = str_format("_npx/%s/%s/package.json", directory, place);
        cJSON *written = read_json(cache, path);
        const cJSON *packages = cJSON_GetObjectItemCaseSensitive(lock, "packages");
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(packages, place);
        entry->directory = str_format("_npx/%s/node_modules/.bin", directory);
        entry->program = npm_choose_program(name, cJSON_GetObjectItemCaseSensitive(item, "bin"), written);
        cJSON_Delete(written);
}

bool npm_read_packages(int cache, const char *package, struct entry *entry, char **directory, bool *scripts,
                       struct error *error)
{
        autofree char *name = find_directory(cache);
        autofree char *path = str_format("_npx/%s/package-lock.json", name ? name : "");
        cJSON *lock = name ? read_json(cache, path) : NULL;
        *scripts = false;
        if (lock) {
                add_packages(lock, entry, scripts);
                find_program(cache, name, package, lock, entry);
        }
        cJSON_Delete(lock);
        if (entry->package_count == 0)
                return error_set(error, EXIT_SETUP, "npm has fetched nothing, or left no lock file");
        *directory = name;
        name = NULL;
        return true;
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The first "sha512-…" of an integrity in hexadecimal digits. False where there is none. */
static bool read_integrity(const char *text, char hex[SHA512_DIGEST_STRING_LENGTH])
{
        static const char prefix[] = "sha512-";
        const char *at = strstr(text, prefix);
        uint32_t bits = 0;
        unsigned have = 0;
        size_t length = 0;
        if (!at)
                return false;
        for (at += sizeof(prefix) - 1; *at && length < SHA512_DIGEST_LENGTH; at++) {
                const char *digit = strchr(base64, *at);
                if (!digit)
                        break;
                bits = bits << 6 | (uint32_t)(digit - base64);
                have += 6;
                if (have < 8)
                        continue;
                have -= 8;
                (void)snprintf(hex + 2 * length++, 3, "%02x", bits >> have & 0xff);
        }
        return length == SHA512_DIGEST_LENGTH;
}

/* Where cacache keeps content: by its hash. */
static bool has_content(int cache, const char wanted[SHA512_DIGEST_STRING_LENGTH])
{
        char hex[SHA512_DIGEST_STRING_LENGTH];
        autofree char *path =
            str_format("_cacache/content-v2/sha512/%.2s/%.2s/%s", wanted, wanted + 2, wanted + 4);
        autofree char *data = NULL;
        autoclose int file = open_below(cache, path, O_RDONLY | O_NONBLOCK);
        ssize_t length = file < 0 ? -1 : fd_read_all(file, ARCHIVE_MAX, &data);
        return length >= 0 && SHA512Data((const uint8_t *)data, (size_t)length, hex) &&
               str_equal(hex, wanted);
}

bool npm_verify(int cache, const struct entry *entry, struct error *error)
{
        for (size_t i = 0; i < entry->package_count; i++) {
                const struct entry_package *package = &entry->packages[i];
                char wanted[SHA512_DIGEST_STRING_LENGTH];
                if (read_integrity(package->integrity, wanted) && !has_content(cache, wanted))
                        return error_set(error, 1,
                                         "the archive of %s %s is not the one that the registry described",
                                         error_shown(package->name), error_shown(package->version));
        }
        return true;
}
