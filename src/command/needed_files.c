/* SPDX-License-Identifier: Apache-2.0
 *
 * See needed_files.h.
 */
#include "command/needed_files.h"

#include "command/file_grants.h"
#include "command/interpreters.h"
#include "command/scripts.h"
#include "command/search.h"
#include "command/shims.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

enum {
        LINKS_MAX = 40,       /* as the kernel */
        INTERPRETERS_MAX = 5, /* as the kernel: a script's interpreter may be a script */
};

char *needed_files_spell(const struct finding *finding, const char *base, const char *word, bool *trusted)
{
        struct walker *walker = resolver_walker(finding->resolver);
        char *folded = path_join(base, word);
        autofree char *plain =
            word[0] == '/' ? str_copy(word) : str_format("%s/%s", base[1] ? base : "", word);
        if (str_equal(folded, plain))
                return folded;
        const char *real = path_walk_real(walker, plain), *other = path_walk_real(walker, folded);
        if (!real || (other && str_equal(real, other)))
                return folded;
        free(folded);
        *trusted = *trusted && !mounts_any_writable(finding->resolver->box) &&
                   trust_spelled_way(finding->resolver, plain);
        return str_copy(real);
}

/* Finds the first symbolic link among the components of a normal path, and its text. */
static bool find_link(const struct finding *finding, const char *path, const char **link, const char **text)
{
        const struct walked *walked = path_walk(resolver_walker(finding->resolver), path);
        if (!walked->links.count)
                return false;
        *link = walked->links.values[0];
        *text = walked->texts.values[0];
        return true;
}

/* `path` with its first link, `link`, replaced by the link's text. */
static char *replace_link(const struct finding *finding, const char *path, const char *link, const char *text,
                          bool *trusted)
{
        autofree char *directory = path_parent(link);
        autofree char *target = str_format("%s%s", text, path + strlen(link));
        return needed_files_spell(finding, directory, target, trusted);
}

/* The program that `#!/usr/bin/env X` starts. It is searched in the directories that come first on the
 * sandbox's PATH, beside the script, and on the caller's PATH. */
static char *find_env_program(const struct finding *finding, const char *script, char *words, bool *trusted)
{
        const char *word = interpreter_env_program(words);
        if (!word)
                return NULL;
        if (strchr(word, '/'))
                return needed_files_spell(finding, finding->resolver->work, word, trusted);
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

/* Judges the reference from `from` to `target`, which leads on to `end`. need->trusted becomes false when the
 * reference is in doubt, and the first doubt adds a note. False when `end` must not be granted at all. */
static bool judge_step(struct finding *finding, const char *from, const char *target, const char *end,
                       struct need *need)
{
        if (!need->trusted)
                return true;
        need->trusted = !directory_may_be_written(finding->resolver, from);
        if (!need->trusted || trust_reference(finding->resolver, from, target))
                return true;
        need->trusted = false;
        const char *real = path_walk_real(resolver_walker(finding->resolver), target);
        const char *real_end = path_walk_real(resolver_walker(finding->resolver), end);
        if (finding->doubted || !real || !real_end || trust_shows_nothing_new(finding->resolver, real))
                return true;
        finding->doubted = true;
        const char *home = resolver_real_home(finding->resolver),
                   *refusal = sensitive_path_reason(real_end, home, false);
        autofree char *shown_from = str_copy(error_shown(from));
        autofree char *shown =
            str_copy(error_shown(sensitive_path_reason(real, home, false) ? real_end : real));
        if (refusal)
                return error_set(finding->resolver->error, EXIT_SETUP,
                                 "%s leads to %s, which is needed as %s and cannot be granted: %s",
                                 shown_from, shown, need->why, refusal);
        str_list_take(&finding->result->notes,
                      str_format("%s leads out of its project, to %s, which is not granted: a server that "
                                 "could write there in an earlier run may have made it so; --ro %s grants it",
                                 shown_from, shown, shown));
        return true;
}

bool needed_files_judge_way(struct finding *finding, const char *path, struct need *need)
{
        autofree char *from = NULL, *to = NULL;
        return trust_way(finding->resolver, path, &from, &to) || judge_step(finding, from, to, path, need);
}

/* pnpm writes shell scripts that start node, where npm makes links. */
static bool add_node_script(struct finding *finding, const char *called, const char *file, struct need need)
{
        autofree char *target = script_read_node_program(file);
        if (!target)
                return true;
        char name[] = "node";
        autofree char *node = find_env_program(finding, called, name, &need.trusted);
        autofree char *directory = path_parent(file);
        autofree char *program = needed_files_spell(finding, directory, target, &need.trusted);
        struct need interpreter = need;
        if (node) {
                needed_files_put_on_path(finding, node, LAST);
                if (!judge_step(finding, file, node, node, &interpreter) ||
                    !needed_files_add(finding, node, interpreter))
                        return false;
        }
        need.executable = false;
        need.why = "program of the command";
        return access(program, F_OK) < 0 || (judge_step(finding, file, program, program, &need) &&
                                             needed_files_add(finding, program, need));
}

bool needed_files_add_interpreter(struct finding *finding, const char *called, const char *file,
                                  struct need need)
{
        struct script_line line;
        if (!script_read_line(file, &line))
                return true;
        if (need.depth == INTERPRETERS_MAX)
                return error_set(finding->resolver->error, EXIT_NOT_EXECUTABLE,
                                 "%s cannot be started: its #! line leads through more than %d interpreters",
                                 error_shown(called), INTERPRETERS_MAX);

        autofree char *program = NULL;
        autofree char *why = str_format("interpreter of %s", called);
        autofree char *spelled =
            needed_files_spell(finding, finding->resolver->work, line.interpreter, &need.trusted);
        if (directory_path_has_name(spelled, "env") && directory_in_host_tree(spelled)) {
                program = find_env_program(finding, called, line.words, &need.trusted);
                if (!program)
                        return error_set(
                            finding->resolver->error, EXIT_NOT_FOUND,
                            "%s is started by /usr/bin/env, and what its #! line names is neither beside it "
                            "nor on PATH",
                            error_shown(called));
                needed_files_put_on_path(finding, program, LAST);
        } else {
                program = str_copy(spelled);
        }
        struct search_failure failure = {0};
        autofree char *usable = search_file("/", program, &failure);
        if (!usable)
                return error_set(finding->resolver->error, failure.status,
                                 "the interpreter of %s cannot be started: %s: %s", error_shown(called),
                                 error_shown(program), failure.problem);
        if (!judge_step(finding, file, program, program, &need))
                return false;
        need.why = why;
        need.depth++;
        return needed_files_add(finding, program, need) && add_node_script(finding, called, file, need);
}

/* When the file at `path` is a version manager's shim, *program becomes the program that it starts, and the
 * sandbox shows a link to that program in the shim's place. */
static bool add_shim(struct finding *finding, const char *path, struct need need, char **program)
{
        struct shim shim;
        bool found = shims_follow(path, finding->resolver, &shim);
        autofree char *runtime = shim.runtime;
        *program = shim.program;
        if (!found || !shim.program)
                return found;
        grant_list_add_link(&finding->result->grants, path, shim.program, need.why);
        /* Before the shim's directory: the program expects its neighbours in its bin. */
        needed_files_put_on_path(finding, shim.program, FIRST);
        if (!runtime)
                return true;
        needed_files_put_on_path(finding, runtime, FIRST);
        return needed_files_add(finding, runtime, need);
}

bool needed_files_add(struct finding *finding, const char *path, struct need need)
{
        autofree char *current = str_copy(path);
        for (unsigned links = 0; links < LINKS_MAX; links++) {
                const char *link, *text;
                autofree char *shimmed = NULL;
                if (need.executable && !directory_in_host_tree(current) &&
                    !add_shim(finding, current, need, &shimmed))
                        return false;
                if (shimmed) {
                        free(current);
                        current = shimmed;
                        shimmed = NULL;
                        continue;
                }
                bool has_link = find_link(finding, current, &link, &text);
                if (!directory_in_host_tree(current) &&
                    !file_grants_add(finding, current, has_link, need.why, need.trusted))
                        return false;
                if (!has_link)
                        return !need.executable || needed_files_add_interpreter(finding, path, current, need);
                /* Behind a step in doubt a link is shown only where it leads to what is visible. */
                const char *real = path_walk_real(resolver_walker(finding->resolver), current);
                if (!directory_in_host_tree(link) &&
                    (need.trusted || (real && trust_shows_nothing_new(finding->resolver, real))))
                        grant_list_add_link(&finding->result->grants, link, text, need.why);
                autofree char *place = replace_link(finding, link, link, text, &need.trusted);
                char *target = replace_link(finding, current, link, text, &need.trusted);
                free(current);
                current = target;
                if (!judge_step(finding, link, place, current, &need))
                        return false;
        }
        return error_set(finding->resolver->error, EXIT_SETUP, "%s: too many links", error_shown(path));
}
