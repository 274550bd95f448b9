/* SPDX-License-Identifier: Apache-2.0
 *
 * See entry.h.
 */
#include "packages/entry.h"

#include "lib/fd.h"
#include "lib/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>

enum { ENTRY_BYTES_MAX = 16 << 20 };

#define FILE_NAME "entry.json"

void entry_add_package(struct entry *entry, const char *name, const char *version, const char *integrity)
{
        *array_add(entry->packages, entry->package_count) =
            (struct entry_package){str_copy(name), str_copy(version), str_copy(integrity)};
}

static void put_text(struct json *json, const char *key, const char *text)
{
        json_exact(json, key, text ? text : "", text ? strlen(text) : 0);
}

static void put_list(struct json *json, const char *key, const struct str_list *list)
{
        json_open(json, key, '[');
        for (size_t i = 0; i < list->count; i++)
                put_text(json, NULL, list->values[i]);
        json_close(json, "]");
}

bool entry_write(int directory, const struct entry *entry, struct error *error)
{
        autobuf text = {0};
        struct json json = {.out = &text, .pretty = true};
        json_open(&json, NULL, '{');
        put_text(&json, "name", entry->name);
        json_number(&json, "fetched", (uint64_t)entry->fetched);
        put_list(&json, "command", &entry->command);
        put_list(&json, "environment", &entry->environment);
        put_list(&json, "registries", &entry->registries);
        put_text(&json, "digest", entry->digest);
        put_text(&json, "directory", entry->directory);
        put_text(&json, "program", entry->program);
        json_open(&json, "packages", '[');
        for (size_t i = 0; i < entry->package_count; i++) {
                json_open(&json, NULL, '{');
                put_text(&json, "name", entry->packages[i].name);
                put_text(&json, "version", entry->packages[i].version);
                put_text(&json, "integrity", entry->packages[i].integrity);
                json_close(&json, "}");
        }
        json_close(&json, "]}");
        autoclose int file =
            openat(directory, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int failure = file < 0 ? -errno : fd_write_all(file, text.bytes, text.length);
        if (failure == 0 && fsync(file) < 0)
                failure = -errno;
        return failure == 0 ||
               error_set(error, EXIT_SETUP, "cannot write " FILE_NAME " of the fetched packages: %s",
                         strerror(-failure));
}

static bool read_list(const cJSON *object, const char *key, struct str_list *list)
{
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, key), *item;
        cJSON_ArrayForEach(item, array)
        {
                if (!cJSON_IsString(item))
                        return false;
                str_list_add(list, item->valuestring);
        }
        return cJSON_IsArray(array);
}

static const char *text_at(const cJSON *object, const char *key)
{
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
        return cJSON_IsString(item) ? item->valuestring : NULL;
}

static bool read_packages(const cJSON *object, struct entry *entry)
{
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, "packages"), *item;
        cJSON_ArrayForEach(item, array)
        {
                const char *name = text_at(item, "name"), *version = text_at(item, "version");
                const char *integrity = text_at(item, "integrity");
                if (!name || !version || !integrity)
                        return false;
                entry_add_package(entry, name, version, integrity);
        }
        return cJSON_IsArray(array);
}

static bool read_object(const cJSON *object, struct entry *entry)
{
        const char *name = text_at(object, "name"), *digest = text_at(object, "digest");
        const cJSON *fetched = cJSON_GetObjectItemCaseSensitive(object, "fetched");
        if (!name || !digest || !cJSON_IsNumber(fetched))
                return false;
        entry->name = str_copy(name);
        entry->digest = str_copy(digest);
        /* Older entries have neither, or the directory under another key. */
        const char *directory = text_at(object, "directory"), *program = text_at(object, "program");
        if (!directory)
                directory = text_at(object, "folder");
        entry->directory = str_copy(directory ? directory : "");
        entry->program = str_copy(program ? program : "");
        entry->fetched = (int64_t)fetched->valuedouble;
        return read_list(object, "command", &entry->command) && entry->command.count > 0 &&
               read_list(object, "environment", &entry->environment) &&
               read_list(object, "registries", &entry->registries) && read_packages(object, entry);
}

bool entry_read(int directory, const char *shown, struct entry *entry, struct error *error)
{
        *entry = (struct entry){0};
        autofree char *text = NULL;
        autoclose int file = openat(directory, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        ssize_t length = file < 0 ? -errno : fd_read_all(file, ENTRY_BYTES_MAX, &text);
        cJSON *object = length < 0 ? NULL : cJSON_ParseWithLength(text, (size_t)length);
        bool read = object && read_object(object, entry);
        cJSON_Delete(object);
        return read ||
               error_set(error, EXIT_SETUP,
                         "the entry of %s cannot be read (%s); remove it with `hutch fetch --remove` and "
                         "fetch it again",
                         error_shown(shown), length < 0 ? strerror((int)-length) : FILE_NAME " is damaged");
}

void entry_free(struct entry *entry)
{
        for (size_t i = 0; i < entry->package_count; i++) {
                free(entry->packages[i].name);
                free(entry->packages[i].version);
                free(entry->packages[i].integrity);
        }
        free(entry->packages);
        free(entry->name);
        free(entry->digest);
        free(entry->directory);
        free(entry->program);
        str_list_free(&entry->command);
        str_list_free(&entry->environment);
        str_list_free(&entry->registries);
        *entry = (struct entry){0};
}
