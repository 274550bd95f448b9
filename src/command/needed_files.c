/* SPDX-License-Identifier: Apache-2.0
 *
 * See needed_files.h.
 */
#include "command/needed_files.h"

#include "command/installations.h"
#include "command/interpreters.h"
#include "command/scripts.h"
#include "command/search.h"
#include "command/shims.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        CONFIG_MAX = 64 * 1024,
        INTERPRETERS_MAX = 5, /* as the kernel: a script's interpreter may be a script */
};

char *needed_files_join(const char *base, const char *word)
{
        return word[0] == '/' ? str_copy(word) : str_format("%s/%s", base[1] ? base : "", word);
}

void needed_files_put_on_path(struct finding *finding, const char *program, enum place place)
{
        struct str_list *front = &finding->result->front;
        autofree char *directory = path_parent(program);
        if (directory_in_host_tree(directory) || !directory_is_own(finding->resolver, directory) ||
            str_list_has(front, directory))
                return;
        str_list_add(front, directory);
        if (place == LAST)
                return;
        char *added = front->values[front->count - 1];
        memmove(front->values + 1, front->values, (front->count - 1) * sizeof(*front->values));
        front->values[0] = added;
}

/* ---- projects ---- */

/* A link that only the user or the administrator can have made, because no server writes there and no clone
 * has it: in the host tree, in the home itself or above it, or on the way to the home as the user spells it.
 */
static bool is_users_link(const struct resolver *resolver, const char *link)
{
        autofree char *directory = path_parent(link);
        return directory_in_host_tree(link) || path_is_below(resolver_real_home(resolver), directory) ||
               (resolver->home[0] && path_is_below(resolver->home, link));
}

/* The directory with the entry `place`, or `place` when that is a directory itself. *venv becomes the virtual
 * environment in whose bin the entry is, or NULL. The caller frees both. */
static char *find_directory(const struct finding *finding, const char *place, bool is_link, char **venv)
{
        bool whole = !is_link && path_walk_is_directory(resolver_walker(finding->resolver), place);
        char *directory = whole ? str_copy(place) : path_parent(place);
        autofree char *above = path_parent(directory);
        bool in_venv = directory_path_has_name(directory, "bin") && directory_is_venv(above) &&
                       directory_is_own(finding->resolver, above);
        *venv = in_venv ? str_copy(above) : NULL;
        return directory;
}

/* The package or workspace around a directory or a virtual environment, or NULL. It is searched above an
 * environment, whose own bin beside lib would look like the end of the search. The caller frees. */
static char *find_root(const struct finding *finding, const char *directory, const char *venv)
{
        autofree char *above = venv ? path_parent(venv) : NULL;
        return directory_find_root(finding->resolver, above ? above : directory);
}

/* How far references from `place`, which the user named, may lead. The caller frees. */
static char *find_project(const struct finding *finding, const char *place, bool is_link)
{
        autofree char *venv = NULL;
        autofree char *directory = find_directory(finding, place, is_link, &venv);
        if (!directory_is_own(finding->resolver, directory))
                return str_copy(place);
        char *root = find_root(finding, directory, venv);
        if (!root)
                return str_copy(venv ? venv : directory);
        /* A workspace's node_modules has links to the sources of its packages. */
        autofree char *above = path_parent(root);
        autofree char *package = directory_find_root(finding->resolver, above);
        if (!directory_path_has_name(root, "node_modules") || !package ||
            !directory_has(package, "package.json"))
                return root;
        free(root);
        return str_copy(package);
}

void needed_files_add_project(struct finding *finding, const char *path)
{
        const struct walked *walked = path_walk(resolver_walker(finding->resolver), path);
        const char *place = walked->real;
        for (size_t i = walked->links.count; i-- > 0;)
                if (!is_users_link(finding->resolver, walked->links.values[i]))
                        place = walked->links.values[i];
        /* Around an installation may be what its manager keeps. */
        if (place && !directory_in_host_tree(place) &&
            !installation_add(finding->resolver, place, NULL, NULL))
                str_list_take(&finding->projects, find_project(finding, place, place != walked->real));
}

/* ---- grants ---- */

/* Adds a grant of the real path `path`. The walk that finds it unchanged is the one that is mounted: a
 * directory that became a link meanwhile must not bring what the link leads to. */
static bool add_grant(const struct finding *finding, const char *path, const char *why)
{
        const char *real = path_walk_real(resolver_walker(finding->resolver), path);
        if (!real || !str_equal(real, path))
                return error_set(finding->resolver->error, EXIT_SETUP,
                                 "%s, which is needed as %s, changed while hutch looked at it; start the "
                                 "command again when nothing changes it",
                                 error_shown(path), why);
        grant_list_add(&finding->result->grants, path, why);
        return true;
}

/* Grants the file alone, because its directory is not a program's own, and tells the user why if need be. */
static bool grant_alone(struct finding *finding, const char *directory, const char *path, const char *why)
{
        const struct resolver *resolver = finding->resolver;
        const char *refusal = sensitive_path_reason(path, resolver_real_home(resolver), false);
        /* The user has granted it already, with --unsafe-grant. */
        if (refusal && mounts_show(resolver->box, path))
                return true;
        if (refusal)
                return error_set(resolver->error, EXIT_SETUP, "%s is needed as %s and cannot be granted: %s",
                                 error_shown(path), why, refusal);
        if (!add_grant(finding, path, why))
                return false;
        /* /tmp and similar directories, which have the sticky bit, are not projects and need no note. */
        const struct walked *walked = path_walk(resolver_walker(resolver), directory);
        bool is_shared = (walked->status.st_mode & S_IWOTH) && !(walked->status.st_mode & S_ISVTX);
        const char *reason = is_shared ? "everybody may write in its directory"
                             : directory_is_personal(resolver, directory)
                                 ? "its directory has private files too"
                                 : NULL;
        if (reason && !walked->problem && !mounts_show(resolver->box, directory))
                str_list_take(&finding->result->notes,
                              str_format("only the file %s is granted, because %s; move it to a separate "
                                         "directory, or grant the whole one with --ro %s",
                                         error_shown(path), reason, directory));
        return true;
}

/* Grants what `place`, which is in the project `project`, needs. Beside a link nothing is needed but what its
 * package or environment has. */
static bool grant_in_project(struct finding *finding, const char *project, const char *place, bool is_link,
                             const char *why)
{
        autofree char *venv = NULL;
        autofree char *directory = find_directory(finding, place, is_link, &venv);
        autofree char *root = find_root(finding, directory, venv);
        if (venv && !add_grant(finding, venv, "virtual environment of the command"))
                return false;
        if (root && path_is_below(root, project))
                return add_grant(finding, root, venv ? "project of the virtual environment" : why);
        if (venv || is_link)
                return true;
        if (directory_is_own(finding->resolver, directory))
                return add_grant(finding, directory, why);
        if (!str_equal(directory, place))
                return grant_alone(finding, directory, place, why);
        str_list_add(&finding->result->data, place);
        return true;
}

/* Adds a note about the place to which `from` leads, which nothing permits to grant, unless there is a note
 * already. False with status 125 when even the user could not grant it. */
static bool refuse(struct finding *finding, const char *from, const char *place, bool is_link,
                   const char *why)
{
        const struct resolver *resolver = finding->resolver;
        if (finding->doubted)
                return true;
        finding->doubted = true;
        const char *refusal = sensitive_path_reason(place, resolver_real_home(resolver), false);
        autofree char *shown_from = str_copy(error_shown(from)), *shown = str_copy(error_shown(place));
        if (refusal)
                return error_set(resolver->error, EXIT_SETUP,
                                 "%s leads to %s, which is needed as %s and cannot be granted: %s",
                                 shown_from, shown, why, refusal);
        autofree char *venv = NULL;
        autofree char *directory = find_directory(finding, place, is_link, &venv);
        autofree char *root = find_root(finding, directory, NULL);
        /* The advice is what the target would bring if the user typed it, because a program needs what is
         * beside it; a second start then follows its links and its #! line in turn. */
        const char *whole = venv ? venv : root ? root : directory;
        str_list_take(&finding->result->notes,
                      str_format("%s leads to %s, which is neither in the project of a path of the command "
                                 "nor in a known installation, and is not granted; --ro %s grants it",
                                 shown_from, shown,
                                 error_shown(directory_is_own(resolver, whole) ? whole : place)));
        return true;
}

/* ---- one place ---- */

/* Grants what the place on the way to a needed file brings. *permitted becomes false when it brings nothing.
 * An installation comes before a project: ~/.nvm itself has a package.json, and all of it would come. */
static bool add_place(struct finding *finding, const char *place, bool is_link, const char *from,
                      const char *why, bool *permitted)
{
        const struct resolver *resolver = finding->resolver;
        *permitted =
            directory_in_host_tree(place) || installation_add(resolver, place, why, &finding->result->grants);
        if (*permitted)
                return true;
        /* What the server of an earlier run wrote must not lead to a second project that the user names,
         * of which the grant of this run may show a part only. */
        bool is_written = from && directory_content_may_be_written(resolver, from);
        for (size_t i = 0; i < finding->projects.count && !is_written; i++) {
                const char *project = finding->projects.values[i];
                *permitted = path_is_below(place, project);
                if (*permitted)
                        return grant_in_project(finding, project, place, is_link, why);
        }
        autofree char *directory = path_parent(place);
        *permitted = mounts_show(resolver->box, is_link ? directory : place);
        return true;
}

/* Adds the Python that a virtual environment's pyvenv.cfg names (`home = /prefix/bin`). */
static bool add_base(struct finding *finding, const char *place)
{
        autofree char *bin = path_parent(place);
        autofree char *venv = path_parent(bin);
        autofree char *file = path_join(venv, "pyvenv.cfg");
        autofree char *text = NULL;
        if (!directory_path_has_name(bin, "bin") || fd_read_file(file, CONFIG_MAX, &text) < 0)
                return true;
        char *rest = NULL;
        for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                char *value = strchr(line, '=');
                if (!value || strncmp(line + strspn(line, " \t"), "home", 4) != 0)
                        continue;
                value += 1 + strspn(value + 1, " \t");
                autofree char *why = str_format("base of the virtual environment %s", venv);
                return value[0] != '/' ||
                       needed_files_add(finding, value, (struct need){.why = why, .from = file});
        }
        return true;
}

/* ---- what a script names ---- */

/* The program that `#!/usr/bin/env X` starts. It is searched in the directories that come first on the
 * sandbox's PATH, beside the script, and on the caller's PATH. */
static char *find_env_program(const struct finding *finding, const char *script, char *words)
{
        const char *word = interpreter_env_program(words);
        if (!word)
                return NULL;
        if (strchr(word, '/'))
                return needed_files_join(finding->resolver->work, word);
        const struct str_list *front = &finding->result->front;
        for (size_t i = 0; i < front->count; i++) {
                char *found = search_path(front->values[i], "/", word, NULL);
                if (found)
                        return found;
        }
        autofree char *directory = path_parent(script);
        const char *const places[] = {directory, finding->resolver->search_path, SEARCH_SYSTEM_PATH};
        for (size_t i = 0; i < 3; i++) {
                char *found = places[i] ? search_path(places[i], finding->resolver->cwd, word, NULL) : NULL;
                if (found)
                        return found;
        }
        return NULL;
}

/* False when one more step would be one too many. */
static bool go_deeper(const struct finding *finding, const char *called, struct need *need)
{
        return need->depth++ < INTERPRETERS_MAX ||
               error_set(finding->resolver->error, EXIT_NOT_EXECUTABLE,
                         "%s cannot be started: it leads through more than %d interpreters and shims",
                         error_shown(called), INTERPRETERS_MAX);
}

/* pnpm writes shell scripts that start node, where npm makes links. */
static bool add_node_script(struct finding *finding, const char *called, const char *file, struct need need)
{
        autofree char *target = script_read_node_program(file);
        if (!target)
                return true;
        char name[] = "node";
        autofree char *node = find_env_program(finding, called, name);
        autofree char *directory = path_parent(file);
        autofree char *program = needed_files_join(directory, target);
        if (node) {
                needed_files_put_on_path(finding, node, LAST);
                if (!needed_files_add(finding, node, need))
                        return false;
        }
        need.executable = false;
        need.why = "program of the command";
        return needed_files_add(finding, program, need);
}

bool needed_files_add_interpreter(struct finding *finding, const char *called, const char *file,
                                  struct need need)
{
        struct script_line line;
        if (!script_read_line(file, &line))
                return true;
        if (!go_deeper(finding, called, &need))
                return false;
        autofree char *program = needed_files_join(finding->resolver->work, line.interpreter);
        if (directory_path_has_name(program, "env") && directory_in_host_tree(program)) {
                free(program);
                program = find_env_program(finding, called, line.words);
                if (!program)
                        return error_set(
                            finding->resolver->error, EXIT_NOT_FOUND,
                            "%s is started by /usr/bin/env, and what its #! line names is neither beside it "
                            "nor on PATH",
                            error_shown(called));
                needed_files_put_on_path(finding, program, LAST);
        }
        struct search_failure failure = {0};
        autofree char *usable = search_file("/", program, &failure);
        if (!usable)
                return error_set(finding->resolver->error, failure.status,
                                 "the interpreter of %s cannot be started: %s: %s", error_shown(called),
                                 error_shown(program), failure.problem);
        autofree char *why = str_format("interpreter of %s", called);
        need.why = why;
        need.from = file;
        return needed_files_add(finding, program, need) && add_node_script(finding, called, file, need);
}

/* ---- from file to file ---- */

/* Adds the first `count` links, so that the path means the same inside. */
static void add_links(struct finding *finding, const struct walked *walked, size_t count, const char *why)
{
        for (size_t i = 0; i < count; i++)
                if (!directory_in_host_tree(walked->links.values[i]))
                        grant_list_add_link(&finding->result->grants, walked->links.values[i],
                                            walked->texts.values[i], why);
}

/* When a place of the walk is a version manager's shim, adds the program that it starts, and the sandbox
 * shows a link to that program in the shim's place. */
static bool add_shim(struct finding *finding, const struct walked *walked, struct need need, bool *is_shim)
{
        struct shim shim = {0};
        const char *place = NULL;
        size_t links = 0;
        for (; links <= walked->links.count && !shim.program; links++) {
                place = links < walked->links.count ? walked->links.values[links] : walked->real;
                if (!directory_in_host_tree(place) && !shims_follow(place, finding->resolver, &shim)) {
                        free(shim.program);
                        free(shim.runtime);
                        return false;
                }
        }
        autofree char *runtime = shim.runtime, *program = shim.program;
        *is_shim = program != NULL;
        if (!program)
                return true;
        if (!go_deeper(finding, place, &need))
                return false;
        add_links(finding, walked, links - 1, need.why);
        grant_list_add_link(&finding->result->grants, place, program, need.why);
        /* Before the shim's directory: the program expects its neighbours in its bin. */
        needed_files_put_on_path(finding, program, FIRST);
        if (runtime)
                needed_files_put_on_path(finding, runtime, FIRST);
        /* A version that is called "system" is the user's next program of that name on PATH. */
        autofree char *directory = path_parent(place);
        autofree char *manager = path_parent(directory);
        struct need of_program = need;
        if (need.from || path_is_below(program, manager))
                of_program.from = place;
        need.from = place;
        return (!runtime || needed_files_add(finding, runtime, need)) &&
               needed_files_add(finding, program, of_program);
}

bool needed_files_add(struct finding *finding, const char *path, struct need need)
{
        const struct walked *walked = path_walk(resolver_walker(finding->resolver), path);
        bool is_shim = false;
        /* What does not exist is reported by the program that looks for it, better than hutch could. */
        if (!walked->real)
                return true;
        if (need.executable && !add_shim(finding, walked, need, &is_shim))
                return false;
        if (is_shim)
                return true;
        if (!need.from)
                needed_files_add_project(finding, path);
        const char *from = need.from;
        for (size_t i = 0; i <= walked->links.count; i++) {
                bool is_link = i < walked->links.count, permitted;
                const char *place = is_link ? walked->links.values[i] : walked->real;
                if (!add_place(finding, place, is_link, from, need.why, &permitted) ||
                    (permitted && need.executable && !add_base(finding, place)))
                        return false;
                autofree char *venv = NULL;
                autofree char *directory = find_directory(finding, place, is_link, &venv);
                /* A link may be anywhere on the way to what is granted, but a virtual environment's has
                 * packages beside it. */
                if (!permitted && (!is_link || venv))
                        return refuse(finding, from ? from : path, place, is_link, need.why);
                if (permitted && is_link)
                        from = place;
        }
        add_links(finding, walked, walked->links.count, need.why);
        return !need.executable || needed_files_add_interpreter(finding, path, walked->real, need);
}
