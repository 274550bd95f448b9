/* SPDX-License-Identifier: Apache-2.0
 *
 * See toolchain.h.
 */
#include "command/toolchain.h"

#include "command/needed_files.h"
#include "command/runners.h"
#include "command/search.h"
#include "grants/copy_in.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <unistd.h>

/* True when --file copies something to `word`, relative to `base`, or below it: the host's file of that path
 * is then not the one that the command means. */
static bool is_copied_in(const struct finding *finding, const char *base, const char *word)
{
        autofree char *path = path_join(base, word);
        return copy_in_lead_to(finding->resolver->box, path);
}

/* The file that --file copies to the command's own place, or NULL. */
static const struct copy_in *find_copied_command(const struct finding *finding, const char *name)
{
        autofree char *path = path_join(finding->resolver->cwd, name);
        bool possible = strchr(name, '/');
        return possible ? copy_in_find(finding->resolver->box, path) : NULL;
}

/* `word` relative to `base`, folded as text where that names the same file, else its real path. */
static char *spell(const struct finding *finding, const char *base, const char *word)
{
        struct walker *walker = resolver_walker(finding->resolver);
        autofree char *plain = needed_files_join(base, word);
        char *folded = path_join(base, word);
        const char *real = path_walk_real(walker, plain), *other = path_walk_real(walker, folded);
        if (!real || (other && str_equal(real, other)))
                return folded;
        free(folded);
        return str_copy(real);
}

/* The path as the user means it becomes *typed, which the caller frees. */
static bool find_executable(struct finding *finding, const char *name, char **typed)
{
        const struct resolver *resolver = finding->resolver;
        struct search_failure failure = {0};
        *typed = strchr(name, '/')
                     ? search_file(resolver->cwd, name, &failure)
                     : search_path(resolver->search_path ? resolver->search_path : SEARCH_SYSTEM_PATH,
                                   resolver->cwd, name, &failure);
        if (!*typed)
                return search_explain(&failure, name, resolver->search_path, resolver->home, resolver->error);
        finding->result->executable = spell(finding, "/", *typed);
        return true;
}

/* Grants the program that `word` names; Node.js completes a name without an ending. When it does not exist,
 * the command itself reports that best. */
static bool add_program(struct finding *finding, const char *word)
{
        const struct need need = {.why = "program of the command"};
        if (is_copied_in(finding, finding->resolver->work, word))
                return true;
        autofree char *path = needed_files_join(finding->resolver->work, word);
        autofree char *completed = str_format("%s.js", path);
        return needed_files_add(finding, access(path, F_OK) == 0 ? path : completed, need);
}

/* Lists a word, or the value in `--option=/value`, that is a path which exists. */
static void note_data(struct finding *finding, const char *word)
{
        const char *value = word;
        if (word[0] == '-') {
                value = strchr(word, '=');
                if (!value || *++value != '/')
                        return;
        }
        /* `build` in `npm run build` is not a path, whatever the directory has. */
        if (!strchr(value, '/') && !str_equal(value, ".") && !str_equal(value, ".."))
                return;
        if (is_copied_in(finding, finding->resolver->work, value))
                return;
        autofree char *path = spell(finding, finding->resolver->work, value);
        if (access(path, F_OK) == 0 && !str_list_has(&finding->result->data, path))
                str_list_add(&finding->result->data, path);
}

static bool add_runner_needs(struct finding *finding, const struct runner_needs *needs)
{
        const struct need program = {.why = "program of the command", .executable = true};
        const struct need project = {.why = "project of the command"};
        for (size_t i = 0; i < needs->directories.count; i++)
                if (!needed_files_add(finding, needs->directories.values[i], project))
                        return false;
        for (size_t i = 0; i < needs->programs.count; i++)
                if (!needed_files_add(finding, needs->programs.values[i], program))
                        return false;
        for (size_t i = 0; i < needs->environment.count; i++)
                str_list_add(&finding->result->environment, needs->environment.values[i]);
        for (size_t i = 0; i < needs->notes.count; i++)
                str_list_add(&finding->result->notes, needs->notes.values[i]);
        finding->result->fetches = needs->fetches;
        finding->result->missing = needs->missing;
        return true;
}

/* Adds what commands such as `uv run` and `npx` use of the installed packages. */
static bool add_installed(struct finding *finding)
{
        struct runner_needs needs = {0};
        runners_find_needs(finding->resolver, &finding->result->command, &needs);
        bool found = add_runner_needs(finding, &needs);
        runners_free_needs(&needs);
        return found;
}

static bool find_all(struct finding *finding, const struct str_list *command)
{
        struct need need = {.why = "the command", .executable = true};
        const struct copy_in *copied = find_copied_command(finding, command->values[0]);
        autofree char *typed = copied ? str_copy(copied->source) : NULL;
        if (copied)
                finding->result->executable = path_join(finding->resolver->cwd, command->values[0]);
        else if (!find_executable(finding, command->values[0], &typed))
                return false;
        needed_files_put_on_path(finding, finding->result->executable, LAST);
        bool grants = !finding->resolver->options->no_auto_grant;
        /* The copy of a copied command is there; only the interpreter of its #! line is missing. */
        if (copied)
                needed_files_add_project(finding, typed);
        if (grants && (copied ? !needed_files_add_interpreter(finding, typed, typed, need)
                              : !needed_files_add(finding, typed, need)))
                return false;
        const struct command *read = &finding->result->command;
        size_t program = grants && read->tool == COMMAND_OTHER ? read->program : 0;
        if (program && !add_program(finding, command->values[program]))
                return false;
        if (grants && !add_installed(finding))
                return false;
        for (size_t i = 1; i < command->count; i++)
                if (i != program)
                        note_data(finding, command->values[i]);
        grant_list_drop_covered(&finding->result->grants, resolver_walker(finding->resolver));
        return true;
}

bool toolchain_find(const struct resolver *resolver)
{
        struct finding finding = {.resolver = resolver, .result = resolver->toolchain};
        command_read(&resolver->box->argv, &resolver->toolchain->command);
        bool found = find_all(&finding, &resolver->box->argv);
        str_list_free(&finding.projects);
        return found;
}

void toolchain_free(struct toolchain *toolchain)
{
        command_free(&toolchain->command);
        grant_list_free(&toolchain->grants);
        free(toolchain->executable);
        str_list_free(&toolchain->front);
        str_list_free(&toolchain->data);
        str_list_free(&toolchain->environment);
        str_list_free(&toolchain->notes);
        *toolchain = (struct toolchain){0};
}
