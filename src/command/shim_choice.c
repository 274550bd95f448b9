/* SPDX-License-Identifier: Apache-2.0
 *
 * See shim_choice.h.
 */
#include "command/shim_choice.h"

#include "command/search.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION_FILE_MAX = 256 * 1024 };

void shim_choice_free_wanted(struct wanted *wanted)
{
        free(wanted->versions);
        free(wanted->source);
}

bool shim_choice_is_program(const char *path)
{
        struct stat status;
        return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool refuse_writable(const struct shim_choice *choice, const char *file)
{
        return error_set(choice->resolver->error, EXIT_SETUP,
                         "%s is a shim of %s, and %s, which chooses what it starts, can be written by the "
                         "sandbox; name the program itself instead",
                         error_shown(choice->path), choice->manager, error_shown(file));
}

bool shim_choice_ask_file(const struct shim_choice *choice, const char *file, versions_reader *read,
                          const char *tool, struct wanted *wanted)
{
        autofree char *text = NULL;
        if (fd_read_file(file, VERSION_FILE_MAX, &text) < 0)
                return true;
        autofree char *versions = read(text, tool);
        if (!versions)
                return true;
        if (directory_content_may_be_written(choice->resolver, file))
                return refuse_writable(choice, file);
        wanted->versions = str_copy(versions);
        wanted->source = str_copy(file);
        return true;
}

void shim_choice_ask_variable(const char *name, struct wanted *wanted)
{
        const char *value = getenv(name);
        wanted->versions = value ? versions_read_words(value, NULL) : NULL;
        if (wanted->versions)
                wanted->source = str_copy(name);
}

bool shim_choice_ask_upward(const struct shim_choice *choice, const struct version_file *files,
                            const char *tool, struct wanted *wanted)
{
        autofree char *directory = str_copy(choice->resolver->work);
        for (;;) {
                for (const struct version_file *file = files; file->name && !wanted->versions; file++) {
                        autofree char *path = path_join(directory, file->name);
                        if (!shim_choice_ask_file(choice, path, file->read, tool, wanted))
                                return false;
                }
                if (wanted->versions || !directory[1])
                        return true;
                char *parent = path_parent(directory);
                free(directory);
                directory = parent;
        }
}

/* The next program of that name on PATH, apart from the directory of the shims. */
static char *find_system_program(const struct shim_choice *choice)
{
        autofree char *shims = path_parent(choice->path);
        const char *path = choice->resolver->search_path ? choice->resolver->search_path : SEARCH_SYSTEM_PATH;
        autofree char *copy = str_copy(path);
        char *rest = NULL;
        for (char *directory = strtok_r(copy, ":", &rest); directory;
             directory = strtok_r(NULL, ":", &rest)) {
                autofree char *spelled = path_join(choice->resolver->cwd, directory);
                const char *real = path_walk_real(resolver_walker(choice->resolver), spelled);
                const char *real_shims = path_walk_real(resolver_walker(choice->resolver), shims);
                if (!real || !real_shims || str_equal(real, real_shims))
                        continue;
                char *found = search_path(spelled, "/", choice->name, NULL);
                if (found)
                        return found;
        }
        return search_path(SEARCH_SYSTEM_PATH, "/", choice->name, NULL);
}

/* `directory`/VERSION, or the newest version that begins with it: pyenv takes 3.12 for the newest 3.12.x. */
static char *find_version_directory(const char *directory, const char *version)
{
        char *exact = path_join(directory, version);
        if (directory_exists(exact))
                return exact;
        free(exact);
        autofree char *escaped = search_escape(directory);
        autofree char *pattern = str_format("%s/%s.*", escaped, version);
        glob_t matches = {0};
        glob(pattern, GLOB_NOSORT, NULL, &matches);
        const char *newest = NULL;
        for (size_t i = 0; i < matches.gl_pathc; i++) {
                const char *rest = matches.gl_pathv[i] + strlen(directory) + 1 + strlen(version);
                if (rest[strspn(rest, ".0123456789")] == 0 &&
                    (!newest || strverscmp(matches.gl_pathv[i], newest) > 0))
                        newest = matches.gl_pathv[i];
        }
        char *found = newest ? str_copy(newest) : NULL;
        globfree(&matches);
        return found;
}

bool shim_choice_take_version(const struct shim_choice *choice, const char *versions_directory,
                              const struct wanted *wanted)
{
        autofree char *directory = path_join(choice->root, versions_directory);
        autofree char *words = str_copy(wanted->versions);
        char *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
                if (str_equal(word, "system")) {
                        choice->shim->program = find_system_program(choice);
                } else {
                        if (!str_is_file_name(word))
                                return error_set(choice->resolver->error, EXIT_SETUP,
                                                 "%s is a shim of %s, and %s names \"%s\", which is not a "
                                                 "version number or name; name the program itself instead",
                                                 error_shown(choice->path), choice->manager,
                                                 error_shown(wanted->source), error_shown(word));
                        autofree char *version = find_version_directory(directory, word);
                        autofree char *program =
                            version ? str_format("%s/bin/%s", version, choice->name) : NULL;
                        if (program && shim_choice_is_program(program))
                                choice->shim->program = str_copy(program);
                }
                if (choice->shim->program)
                        return true;
        }
        return error_set(choice->resolver->error, EXIT_NOT_FOUND,
                         "%s is a shim of %s, and no installed version that %s names (%s) has %s; install "
                         "it, or name the program itself",
                         error_shown(choice->path), choice->manager, error_shown(wanted->source),
                         error_shown(wanted->versions), error_shown(choice->name));
}

bool shim_choice_no_version(const struct shim_choice *choice)
{
        return error_set(choice->resolver->error, EXIT_NOT_FOUND,
                         "%s is a shim of %s, and nothing says which version it starts; choose one with %s, "
                         "or name the program itself",
                         error_shown(choice->path), choice->manager, choice->manager);
}

struct shared_files {
        const char *tool;
        const struct version_file *files;
};

static const struct version_file node_files[] = {
    {".nvmrc", versions_read_plain}, {".node-version", versions_read_plain}, {0}};
static const struct version_file python_files[] = {{".python-version", versions_read_plain}, {0}};
static const struct shared_files shared_files[] = {
    {"nodejs", node_files}, {"node", node_files}, {"python", python_files}, {0}};

bool shim_choice_ask_upward_shared(const struct shim_choice *choice, const struct version_file *files,
                                   bool shared, const char *tool, struct wanted *wanted)
{
        enum { MOST_FILES = 16 };
        struct version_file all[MOST_FILES] = {0};
        size_t count = 0;
        for (; files->name && count < MOST_FILES - 1; files++)
                all[count++] = *files;
        for (const struct shared_files *row = shared_files; shared && row->tool; row++)
                for (const struct version_file *file = row->files;
                     str_equal(row->tool, tool) && file->name && count < MOST_FILES - 1; file++)
                        all[count++] = *file;
        return shim_choice_ask_upward(choice, all, tool, wanted);
}

char *shim_choice_variable_name(const char *prefix, const char *tool)
{
        char *name = str_format("%s_%s_VERSION", prefix, tool);
        for (char *byte = name; *byte; byte++)
                if (*byte == '-')
                        *byte = '_';
                else
                        *byte = (char)toupper((unsigned char)*byte);
        return name;
}
