/* SPDX-License-Identifier: Apache-2.0
 *
 * See template.h. cJSON parses the text, but is too lenient for policy: it cuts strings at \u0000, keeps
 * repeated keys and ignores the case of keys. So this module checks the text first and walks the tree in the
 * order of the text; counting the keys gives each error its line.
 */
#include "policy/template.h"

#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/suggest.h"
#include "lib/tree_walk.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HUTCH_DATADIR
#error "HUTCH_DATADIR is the directory of hutch's data, usually /usr/share/hutch"
#endif

enum {
        FILE_MAX = 1024 * 1024,
        NAME_LONGEST = 64,
        DIRECTORIES = 3, /* where templates are looked for */
};

/* ---- from text ---- */

struct reader {
        const char *file;
        const char *text;
        size_t keys; /* number of the current key, from 1 */
        struct template *result;
        struct error *error;
};

static size_t line_of_offset(const char *text, size_t offset)
{
        size_t line = 1;
        for (size_t i = 0; i < offset; i++)
                line += text[i] == '\n';
        return line;
}

/* The line of the n-th key (from 1) of valid JSON: a key is a string that a colon follows. */
static size_t line_of_key(const char *text, size_t n)
{
        for (size_t i = 0; text[i]; i++) {
                if (text[i] != '"')
                        continue;
                size_t start = i;
                for (i++; text[i] != '"'; i++)
                        if (text[i] == '\\')
                                i++;
                if (text[i + 1 + strspn(text + i + 1, " \t\r\n")] == ':' && --n == 0)
                        return line_of_offset(text, start);
        }
        return 1;
}

/* An error at the current key. */
static bool refuse(const struct reader *reader, const char *sentence)
{
        return error_set(reader->error, EXIT_USAGE, "%s line %zu: %s", error_shown(reader->file),
                         line_of_key(reader->text, reader->keys), sentence);
}

static bool refuse_key(const struct reader *reader, const char *key, const char *problem)
{
        autofree char *sentence = str_format("\"%s\" %s", error_shown(key), problem);
        return refuse(reader, sentence);
}

/* Makes `item` of an object current. Refuses a repeated key. */
static bool next_key(struct reader *reader, const cJSON *object, const cJSON *item)
{
        reader->keys++;
        for (const cJSON *before = object->child; before != item; before = before->next)
                if (str_equal(before->string, item->string))
                        return refuse_key(reader, item->string, "is given twice");
        return true;
}

static bool read_description(struct reader *reader, const cJSON *item)
{
        if (!cJSON_IsString(item) || !item->valuestring[0])
                return refuse_key(reader, item->string, "must be a string");
        reader->result->description = str_copy(item->valuestring);
        return true;
}

static bool read_tree(struct reader *reader, const cJSON *item)
{
        if (!cJSON_IsString(item) || !str_equal(item->valuestring, "host"))
                return refuse_key(reader, item->string, "must be \"host\", the only tree");
        return true;
}

static bool read_path(struct reader *reader, const cJSON *item)
{
        if (!cJSON_IsArray(item) || !item->child)
                return refuse_key(reader, item->string, "must be a list of absolute directories");
        for (const cJSON *directory = item->child; directory; directory = directory->next) {
                if (!cJSON_IsString(directory) || directory->valuestring[0] != '/' ||
                    strchr(directory->valuestring, ':'))
                        return refuse_key(reader, item->string,
                                          "must be a list of absolute directories, none with a colon");
                str_list_take(&reader->result->path, path_join("/", directory->valuestring));
        }
        return true;
}

static bool read_environment(struct reader *reader, const cJSON *item)
{
        if (!cJSON_IsObject(item))
                return refuse_key(reader, item->string, "must be an object of variables");
        for (const cJSON *variable = item->child; variable; variable = variable->next) {
                if (!next_key(reader, item, variable))
                        return false;
                if (!str_is_variable_name(variable->string, strlen(variable->string)))
                        return refuse_key(reader, variable->string, "is not the name of a variable");
                if (!cJSON_IsString(variable))
                        return refuse_key(reader, variable->string, "must be a string");
                str_list_take(&reader->result->environment,
                              str_format("%s=%s", variable->string, variable->valuestring));
        }
        return true;
}

static bool read_commands(struct reader *reader, const cJSON *item)
{
        struct template *result = reader->result;
        if (!cJSON_IsObject(item))
                return refuse_key(reader, item->string, "must be an object of commands and their packages");
        for (const cJSON *command = item->child; command; command = command->next) {
                if (!next_key(reader, item, command))
                        return false;
                if (!command->string[0] || strchr(command->string, '/'))
                        return refuse_key(reader, command->string,
                                          "must be the name of a command, without a directory");
                if (!cJSON_IsString(command) || !command->valuestring[0])
                        return refuse_key(reader, command->string,
                                          "must name the package that contains the command");
                *array_add(result->commands, result->command_count) = (struct template_command){
                    .name = str_copy(command->string), .package = str_copy(command->valuestring)};
        }
        return true;
}

static const struct key {
        const char *name;
        bool (*read)(struct reader *reader, const cJSON *item);
        bool required;
} keys[] = {
    {"description", read_description, true},  {"tree", read_tree, true},          {"path", read_path, true},
    {"environment", read_environment, false}, {"commands", read_commands, false},
};
enum { KEY_COUNT = sizeof(keys) / sizeof(*keys) };

static bool refuse_unknown_key(const struct reader *reader, const char *key)
{
        const char *names[KEY_COUNT + 1] = {0};
        for (size_t i = 0; i < KEY_COUNT; i++)
                names[i] = keys[i].name;
        const char *nearest = suggest_nearest(key, names);
        autofree char *problem = nearest
                                     ? str_format("is not a key of templates; did you mean \"%s\"?", nearest)
                                     : str_copy("is not a key of templates");
        return refuse_key(reader, key, problem);
}

static bool read_members(struct reader *reader, const cJSON *root)
{
        for (const cJSON *item = root->child; item; item = item->next) {
                const struct key *key = keys;
                if (!next_key(reader, root, item))
                        return false;
                while (key < keys + KEY_COUNT && !str_equal(key->name, item->string))
                        key++;
                if (key == keys + KEY_COUNT)
                        return refuse_unknown_key(reader, item->string);
                if (!key->read(reader, item))
                        return false;
        }
        for (size_t i = 0; i < KEY_COUNT; i++)
                if (keys[i].required && !cJSON_GetObjectItemCaseSensitive(root, keys[i].name))
                        return error_set(reader->error, EXIT_USAGE, "%s: the key \"%s\" is missing",
                                         error_shown(reader->file), keys[i].name);
        return true;
}

static void json_autodelete(cJSON **json)
{
        cJSON_Delete(*json);
}

bool template_parse(const char *name, const char *file, const char *json, size_t length,
                    struct template *result, struct error *error)
{
        *result = (struct template){.name = str_copy(name), .file = str_copy(file)};
        if (length > FILE_MAX)
                return error_set(error, EXIT_USAGE, "%s: larger than %d bytes; templates are smaller",
                                 error_shown(file), FILE_MAX);
        autofree char *text = str_copy_n(json, length);
        const char *null = memmem(text, strlen(text), "\\u0000", 6);
        if (strlen(text) < length || null)
                return error_set(error, EXIT_USAGE, "%s line %zu: a NUL character", error_shown(file),
                                 line_of_offset(text, null ? (size_t)(null - text) : strlen(text)));
        const char *end = text;
        __attribute__((cleanup(json_autodelete))) cJSON *root = cJSON_ParseWithOpts(text, &end, true);
        if (!root)
                return error_set(error, EXIT_USAGE, "%s line %zu: not JSON", error_shown(file),
                                 line_of_offset(text, (size_t)(end - text)));
        if (!cJSON_IsObject(root))
                return error_set(error, EXIT_USAGE, "%s: a template is a JSON object", error_shown(file));
        struct reader reader = {.file = file, .text = text, .result = result, .error = error};
        return read_members(&reader, root);
}

/* ---- from files ---- */

void template_list_directories(const char *program, struct str_list *directories)
{
        static const char helpers[] = "/libexec/hutch";
        autofree char *directory = path_parent(program);
        size_t length = strlen(directory);
        str_list_take(directories, path_join(directory, "policy/templates"));
        str_list_take(directories, path_join(directory, "../share/hutch/templates"));
        /* Two levels above any other directory, another account or a server may be able to write. */
        if (length >= strlen(helpers) && str_equal(directory + length - strlen(helpers), helpers))
                str_list_take(directories, path_join(directory, "../../share/hutch/templates"));
}

static void list_directories(struct str_list *directories)
{
        char program[4096];
        ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
        if (length > 0 && program[0] == '/') {
                program[length] = 0;
                template_list_directories(program, directories);
        }
        str_list_add(directories, HUTCH_DATADIR "/templates");
}

static char *known_templates(const struct str_list *directories)
{
        struct str_list known = {0};
        for (size_t i = 0; i < directories->count; i++) {
                autoclosedir DIR *directory = tree_open(AT_FDCWD, directories->values[i]);
                for (const struct dirent *entry; directory && (entry = tree_next(directory));) {
                        size_t length = strlen(entry->d_name);
                        if (length < 6 || !str_equal(entry->d_name + length - 5, ".json"))
                                continue;
                        autofree char *name = str_copy_n(entry->d_name, length - 5);
                        if (!str_list_has(&known, name))
                                str_list_add(&known, name);
                }
        }
        char *text = known.count ? str_join(&known, ", ") : str_copy("none is installed");
        str_list_free(&known);
        return text;
}

static bool name_is_plain(const char *name)
{
        size_t length = strlen(name);
        return length <= NAME_LONGEST && name[0] != '.' && name[0] != '-' &&
               strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

static bool refuse_file(const char *file, ssize_t result, struct error *error)
{
        if (result == -EFBIG)
                return error_set(error, EXIT_USAGE,
                                 "template %s: larger than %d bytes; templates are smaller",
                                 error_shown(file), FILE_MAX);
        if (result == -EISDIR || result == -EINVAL)
                return error_set(error, EXIT_USAGE, "template %s: not a regular file", error_shown(file));
        if (result == -ENOENT || result == -ENOTDIR)
                return error_set(error, EXIT_USAGE, "template %s: there is no such file", error_shown(file));
        return error_set(error, EXIT_SETUP, "template %s cannot be read: %s", error_shown(file),
                         strerror((int)-result));
}

bool template_load(const char *name_or_file, struct template *result, struct error *error)
{
        autofree char *json = NULL;
        *result = (struct template){0};
        if (strchr(name_or_file, '/')) {
                ssize_t length = fd_read_file(name_or_file, FILE_MAX, &json);
                if (length < 0)
                        return refuse_file(name_or_file, length, error);
                return template_parse(name_or_file, name_or_file, json, (size_t)length, result, error);
        }
        if (!name_is_plain(name_or_file))
                return error_set(
                    error, EXIT_USAGE,
                    "template %s: a name has at most %d letters, digits, dots, _ and -; a file's has a /",
                    error_shown(name_or_file), NAME_LONGEST);

        struct str_list directories = {0};
        bool loaded = false;
        list_directories(&directories);
        for (size_t i = 0; i < directories.count && !loaded && !error->status; i++) {
                autofree char *file = str_format("%s/%s.json", directories.values[i], name_or_file);
                ssize_t length = fd_read_file(file, FILE_MAX, &json);
                if (length == -ENOENT || length == -ENOTDIR)
                        continue;
                loaded = length < 0 ? refuse_file(file, length, error)
                                    : template_parse(name_or_file, file, json, (size_t)length, result, error);
        }
        if (!loaded && !error->status) {
                autofree char *known = known_templates(&directories);
                error_set(error, EXIT_USAGE, "there is no template %s; known ones: %s", name_or_file, known);
        }
        str_list_free(&directories);
        return loaded;
}

void template_free(struct template *result)
{
        for (size_t i = 0; i < result->command_count; i++) {
                free(result->commands[i].name);
                free(result->commands[i].package);
        }
        free(result->commands);
        free(result->name);
        free(result->file);
        free(result->description);
        str_list_free(&result->path);
        str_list_free(&result->environment);
        *result = (struct template){0};
}

void template_note_missing(const struct template *template)
{
        for (size_t i = 0; i < template->command_count; i++) {
                const struct template_command *command = &template->commands[i];
                bool found = false;
                for (size_t j = 0; j < template->path.count && !found; j++) {
                        autofree char *file = path_join(template->path.values[j], command->name);
                        found = access(file, X_OK) == 0;
                }
                if (!found)
                        message_verbose(
                            "note: template %s promises %s, which is not in the host's system directories; "
                            "Debian's package is %s",
                            template->name, command->name, command->package);
        }
}
