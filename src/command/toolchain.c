/* SPDX-License-Identifier: Apache-2.0
 *
 * See toolchain.h. Theory of operation: from the command one file leads to the next (a link to its target, a
 * script to its interpreter, a virtual environment to its base), and each file outside the host's /usr brings
 * the directory it needs, chosen by choose_directory(). Links in directories need no step of their own: a
 * grant's source is a real path and its destination the spelled one. A link that is the file itself is
 * followed step by step, because programs look beside the target. Whoever may have written a step cannot
 * choose what it grants: trust.h judges; beyond one in doubt only installations count.
 */
#include "command/toolchain.h"

#include "command/directories.h"
#include "command/interpreters.h"
#include "command/runners.h"
#include "command/search.h"
#include "command/shims.h"
#include "command/trust.h"
#include "grants/copy_in.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/suggest.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        LINKS_MAX = 40,       /* as the kernel */
        INTERPRETERS_MAX = 5, /* as the kernel: a script's interpreter may be a script */
        LINE_MAX_BYTES = 256, /* what the kernel reads of a #! line */
        CONFIG_MAX = 64 * 1024,
};

struct finding {
        const struct toolchain_caller *caller;
        struct directories directories;
        struct trust trust;
        bool doubted; /* the person was told of a reference that is not followed */
        struct toolchain *result;
        struct error *error;
};

/* ---- grants ---- */

static void add_grant(struct toolchain *toolchain, char *path, char *link, char *why)
{
        toolchain->grants = str_or_die(
            reallocarray(toolchain->grants, toolchain->grant_count + 1, sizeof(*toolchain->grants)));
        toolchain->grants[toolchain->grant_count++] =
            (struct toolchain_grant){.path = path, .link = link, .why = why};
}

static void free_grant(struct toolchain_grant *grant)
{
        free(grant->path);
        free(grant->link);
        free(grant->why);
}

/* True when the directory of `other` holds `grant`, by its spelling and in fact: not behind a link that
 * leaves it. */
static bool covers(const struct toolchain_grant *other, const struct toolchain_grant *grant)
{
        if (str_equal(grant->path, other->path))
                return true;
        if (!path_is_below(grant->path, other->path))
                return false;
        /* A link's text is in the directory that holds it; a directory's content is where the directory
         * really is. */
        autofree char *place = grant->link ? path_parent(grant->path) : str_copy(grant->path);
        autofree char *real_place = realpath(place, NULL);
        autofree char *real_other = realpath(other->path, NULL);
        return !other->link && real_place && real_other && path_is_below(real_place, real_other);
}

/* Drops every grant that another one holds already, and of two equal ones the later. */
static void drop_covered(struct toolchain *toolchain)
{
        size_t kept = 0;
        for (size_t i = 0; i < toolchain->grant_count; i++) {
                struct toolchain_grant grant = toolchain->grants[i];
                bool covered = false;
                for (size_t j = 0; j < kept && !covered; j++)
                        covered = covers(&toolchain->grants[j], &grant);
                for (size_t j = i + 1; j < toolchain->grant_count && !covered; j++)
                        covered = covers(&toolchain->grants[j], &grant) &&
                                  !str_equal(toolchain->grants[j].path, grant.path);
                if (covered)
                        free_grant(&grant);
                else
                        toolchain->grants[kept++] = grant;
        }
        toolchain->grant_count = kept;
}

/* Grants the file itself and nothing beside it. */
static bool grant_alone(struct finding *finding, const char *path, const char *why)
{
        autofree char *real = realpath(path, NULL);
        const char *danger = real ? sensitive_path_reason(real, finding->directories.real_home, false) : NULL;
        /* The person granted it in full knowledge. */
        if (danger && finding->caller->box && mounts_show(finding->caller->box, real))
                return true;
        if (danger)
                return error_set(finding->error, EXIT_SETUP, "%s is needed as %s and cannot be granted: %s",
                                 error_shown(path), why, danger);
        add_grant(finding->result, str_copy(path), NULL, str_copy(why));
        return true;
}

/* The base that a virtual environment's pyvenv.cfg names (`home = /prefix/bin`). */
static void grant_venv_base(struct finding *finding, const char *venv)
{
        autofree char *file = path_join(venv, "pyvenv.cfg");
        autofree char *text = NULL;
        if (fd_read_file(file, CONFIG_MAX, &text) < 0)
                return;
        char *rest = NULL;
        for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
                char *value = strchr(line, '=');
                if (!value || strncmp(line + strspn(line, " \t"), "home", 4) != 0)
                        continue;
                value += 1 + strspn(value + 1, " \t");
                if (value[0] != '/')
                        return;
                autofree char *bin = path_join("/", value);
                autofree char *prefix = path_parent(bin);
                autofree char *installed = trust_find_installation(&finding->directories, prefix);
                if (!directory_in_host_tree(bin) && installed && directory_is_runtime(prefix) &&
                    directory_is_own(&finding->directories, prefix))
                        add_grant(finding->result, str_copy(prefix), NULL,
                                  str_format("base of the virtual environment %s", venv));
                return;
        }
}

/* A file in the bin directory of a virtual environment: the environment as spelled, and its project. */
static void grant_venv(struct finding *finding, const char *venv)
{
        autofree char *above = path_parent(venv);
        autofree char *project = directory_find_root(&finding->directories, above);
        add_grant(finding->result, str_copy(venv), NULL, str_copy("virtual environment of the command"));
        if (project && trust_way(&finding->trust, project, NULL, NULL))
                add_grant(finding->result, str_copy(project), NULL,
                          str_copy("project of the virtual environment"));
}

/* A project that anybody may write to is not granted, and the program then lacks what lies beside it. /tmp
 * and its like, which have the sticky bit, are no projects. */
static void note_shared_directory(struct finding *finding, const char *directory, const char *path)
{
        struct stat status;
        const struct box *box = finding->caller->box;
        autofree char *real = realpath(directory, NULL);
        if (!real || stat(real, &status) < 0 || !(status.st_mode & S_IWOTH) || (status.st_mode & S_ISVTX))
                return;
        if (!box || !mounts_show(box, real))
                str_list_take(
                    &finding->result->notes,
                    str_format("only the file %s is granted, because everybody may write in its "
                               "directory; `chmod o-w %s` lets hutch grant the directory, and so does "
                               "--ro %s",
                               path, directory, directory));
}

/* True for what a reference in doubt may bring all the same: it is visible anyway, or part of an
 * installation.
 */
static bool is_no_secret(const struct finding *finding, const char *real)
{
        autofree char *installation = trust_find_installation(&finding->directories, real);
        return installation || directory_in_host_tree(real) ||
               (finding->caller->box && mounts_show(finding->caller->box, real));
}

/* May the directory be granted because of a file in it? */
static bool may_grant(const struct finding *finding, const char *directory, bool trusted)
{
        if (trusted && trust_way(&finding->trust, directory, NULL, NULL))
                return true;
        autofree char *installation = trust_find_installation(&finding->directories, directory);
        return installation != NULL;
}

/* Grants what the file at `path` needs. A path with a link in it needs less: what lies beside the real file
 * comes with a later step. What is not trusted is granted when it is an installed interpreter; else it is
 * only remembered, so that the person hears of it. */
static bool grant_file(struct finding *finding, const char *path, bool has_link, const char *why,
                       bool trusted)
{
        autofree char *directory = path_parent(path);
        autofree char *above = path_parent(directory);
        autofree char *root = directory_find_root(&finding->directories, directory);
        bool in_venv = directory_path_has_name(directory, "bin") && directory_is_venv(above) &&
                       directory_is_own(&finding->directories, above);
        if (in_venv)
                grant_venv_base(finding, above);
        if (in_venv && trusted && may_grant(finding, above, trusted)) {
                grant_venv(finding, above);
                return true;
        }
        if (!trusted) {
                free(root);
                root = trust_find_installation(&finding->directories, path);
        }
        if (root && may_grant(finding, root, trusted)) {
                add_grant(finding->result, str_copy(root), NULL, str_copy(why));
                return true;
        }
        if (has_link)
                return true;
        if (!trusted) {
                if (!finding->doubted)
                        str_list_add(&finding->result->data, path);
                return true;
        }
        if (directory_is_own(&finding->directories, directory)) {
                add_grant(finding->result, str_copy(directory), NULL, str_copy(why));
                return true;
        }
        note_shared_directory(finding, directory, path);
        return grant_alone(finding, path, why);
}

/* ---- from one file to the next ---- */

static bool same_file(const char *one, const char *other)
{
        struct stat first, second;
        return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
}

/* `word` relative to `base`, as text where that names the same file (`..` behind a link does not). Where it
 * does not, the links on the way are out of sight afterwards: the command may have made one of them, and
 * *trusted becomes false where it may have made any. */
static char *spell(const struct finding *finding, const char *base, const char *word, bool *trusted)
{
        char *folded = path_join(base, word);
        autofree char *plain = word[0] == '/' ? str_copy(word) : str_format("%s/%s", base, word);
        if (str_equal(folded, plain) || same_file(folded, plain))
                return folded;
        char *real = realpath(plain, NULL);
        if (!real)
                return folded;
        free(folded);
        *trusted = *trusted && !(finding->caller->box && mounts_any_writable(finding->caller->box)) &&
                   trust_spelled_way(&finding->trust, plain);
        return real;
}

/* The first symbolic link among the components of a normal path, and its text; or false. The caller frees
 * both. */
static bool find_link(const char *path, char **link, char **text)
{
        char buffer[PATH_MAX];
        for (const char *end = path + 1;; end++) {
                end += strcspn(end, "/");
                autofree char *prefix = str_copy_n(path, (size_t)(end - path));
                ssize_t length = readlink(prefix, buffer, sizeof(buffer));
                if (length > 0 && (size_t)length < sizeof(buffer)) {
                        *link = prefix;
                        prefix = NULL;
                        *text = str_copy_n(buffer, (size_t)length);
                        return true;
                }
                if (!*end)
                        return false;
        }
}

/* `path` with its first link, `link`, replaced by what it says. */
static char *replace_link(const struct finding *finding, const char *path, const char *link, const char *text,
                          bool *trusted)
{
        autofree char *directory = path_parent(link);
        autofree char *target = str_format("%s%s", text, path + strlen(link));
        return spell(finding, directory, target, trusted);
}

/* The program that `#!/usr/bin/env X` starts: in the directories that come first on the inner PATH, beside
 * the script, on the caller's PATH. */
static char *find_env_program(const struct finding *finding, const char *script, char *words, bool *trusted)
{
        const char *word = interpreter_env_program(words);
        if (!word)
                return NULL;
        if (strchr(word, '/'))
                return spell(finding, finding->caller->work, word, trusted);
        const struct str_list *front = &finding->result->front;
        for (size_t i = 0; i < front->count; i++) {
                char *found = search_path(front->values[i], "/", word, NULL);
                if (found)
                        return found;
        }
        autofree char *directory = path_parent(script);
        const char *const places[] = {directory, finding->caller->path, SEARCH_SYSTEM_PATH};
        for (size_t i = 0; i < 3; i++) {
                char *found = places[i] ? search_path(places[i], finding->caller->cwd, word, NULL) : NULL;
                if (found)
                        return found;
        }
        return NULL;
}

enum place { FIRST, LAST };

/* Puts the program's directory on the inner PATH, first or last of those before the template's. */
static void put_in_front(struct finding *finding, const char *program, enum place place)
{
        struct str_list *front = &finding->result->front;
        autofree char *directory = path_parent(program);
        if (directory_in_host_tree(directory) || !directory_is_own(&finding->directories, directory) ||
            str_list_has(front, directory))
                return;
        str_list_add(front, directory);
        if (place == LAST)
                return;
        char *added = front->values[front->count - 1];
        memmove(front->values + 1, front->values, (front->count - 1) * sizeof(*front->values));
        front->values[0] = added;
}

/* How a file came to be needed. */
struct need {
        const char *why;
        bool executable; /* the kernel starts it: a #! line counts */
        bool trusted;    /* not named by something that the command may have written */
        unsigned depth;  /* of interpreters */
};

static bool need_file(struct finding *finding, const char *path, struct need need);

/* Judges the step from `from` to `target`, by which `end` came to be needed: need->trusted becomes false when
 * it is in doubt, and the first time the person hears of it. False when `end` may not be granted at all. */
static bool judge_step(struct finding *finding, const char *from, const char *target, const char *end,
                       struct need *need)
{
        if (!need->trusted)
                return true;
        need->trusted = !directory_may_be_written(&finding->directories, from);
        if (!need->trusted || trust_reference(&finding->trust, from, target))
                return true;
        need->trusted = false;
        autofree char *real = realpath(target, NULL);
        autofree char *real_end = realpath(end, NULL);
        if (finding->doubted || !real || !real_end || is_no_secret(finding, real))
                return true;
        finding->doubted = true;
        const char *home = finding->directories.real_home,
                   *danger = sensitive_path_reason(real_end, home, false);
        autofree char *shown_from = str_copy(error_shown(from));
        autofree char *shown =
            str_copy(error_shown(sensitive_path_reason(real, home, false) ? real_end : real));
        if (danger)
                return error_set(finding->error, EXIT_SETUP,
                                 "%s leads to %s, which is needed as %s and cannot be granted: %s",
                                 shown_from, shown, need->why, danger);
        str_list_take(&finding->result->notes,
                      str_format("%s leads out of its project, to %s, which is not granted: a server that "
                                 "could write there in an earlier run may have made it so; --ro %s grants it",
                                 shown_from, shown, shown));
        return true;
}

/* The same for the first link in doubt on the way of a directory. */
static bool judge_way(struct finding *finding, const char *path, struct need *need)
{
        autofree char *from = NULL, *to = NULL;
        return trust_way(&finding->trust, path, &from, &to) || judge_step(finding, from, to, path, need);
}

/* Reads the `#!` line of a file: its interpreter and the words behind that, both within `line`. False when
 * the file has none, as a program of machine code. */
static bool read_interpreter(const char *file, char line[LINE_MAX_BYTES + 1], char **interpreter,
                             char **words)
{
        autoclose int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        ssize_t length = fd < 0 ? -1 : pread(fd, line, LINE_MAX_BYTES, 0);
        if (length < 2 || line[0] != '#' || line[1] != '!')
                return false;
        line[length] = 0;
        line[strcspn(line, "\r\n")] = 0;
        *interpreter = line + 2 + strspn(line + 2, " \t");
        *words = *interpreter + strcspn(*interpreter, " \t");
        if (**words)
                *(*words)++ = 0;
        return (*interpreter)[0] != 0;
}

/* pnpm's commands are scripts of the shell that start node, where npm's are links. */
static bool need_node_script(struct finding *finding, const char *called, const char *file, struct need need)
{
        autofree char *target = shims_read_node_script(file);
        if (!target)
                return true;
        char name[] = "node";
        autofree char *node = find_env_program(finding, called, name, &need.trusted);
        autofree char *directory = path_parent(file);
        autofree char *program = spell(finding, directory, target, &need.trusted);
        struct need interpreter = need;
        if (node) {
                put_in_front(finding, node, LAST);
                if (!judge_step(finding, file, node, node, &interpreter) ||
                    !need_file(finding, node, interpreter))
                        return false;
        }
        need.executable = false;
        need.why = "program of the command";
        return access(program, F_OK) < 0 ||
               (judge_step(finding, file, program, program, &need) && need_file(finding, program, need));
}

/* `called` is the script as it was called, `file` what its links lead to. */
static bool need_interpreter(struct finding *finding, const char *called, const char *file, struct need need)
{
        char line[LINE_MAX_BYTES + 1];
        char *interpreter, *words;
        if (!read_interpreter(file, line, &interpreter, &words))
                return true;
        if (need.depth == INTERPRETERS_MAX)
                return error_set(finding->error, EXIT_NOT_EXECUTABLE,
                                 "%s: interpreters of interpreters, more than %d", error_shown(called),
                                 INTERPRETERS_MAX);

        autofree char *program = NULL;
        autofree char *why = str_format("interpreter of %s", called);
        autofree char *spelled = spell(finding, finding->caller->work, interpreter, &need.trusted);
        if (directory_path_has_name(spelled, "env") && directory_in_host_tree(spelled)) {
                program = find_env_program(finding, called, words, &need.trusted);
                if (!program)
                        return error_set(
                            finding->error, EXIT_NOT_FOUND,
                            "%s is started by /usr/bin/env, and what its #! line names is neither beside it "
                            "nor on PATH",
                            error_shown(called));
                put_in_front(finding, program, LAST);
        } else {
                program = str_copy(spelled);
        }
        struct search_failure failure = {0};
        autofree char *usable = search_file("/", program, &failure);
        if (!usable)
                return error_set(finding->error, failure.status,
                                 "the interpreter of %s cannot be started: %s: %s", error_shown(called),
                                 error_shown(program), failure.problem);
        if (!judge_step(finding, file, program, program, &need))
                return false;
        need.why = why;
        need.depth++;
        return need_file(finding, program, need) && need_node_script(finding, called, file, need);
}

/* When the file at `path` is a version manager's shim, *program becomes what it starts, and inside the shim
 * is a link to that. */
static bool need_shim(struct finding *finding, const char *path, struct need need, char **program)
{
        struct shim shim;
        bool found = shims_follow(path, finding->caller, &finding->directories, &shim, finding->error);
        autofree char *runtime = shim.runtime;
        *program = shim.program;
        if (!found || !shim.program)
                return found;
        add_grant(finding->result, str_copy(path), str_copy(shim.program), str_copy(need.why));
        /* Before the shim's own directory: there, a program's neighbours are in its bin. */
        put_in_front(finding, shim.program, FIRST);
        if (!runtime)
                return true;
        put_in_front(finding, runtime, FIRST);
        return need_file(finding, runtime, need);
}

static bool need_file(struct finding *finding, const char *path, struct need need)
{
        autofree char *current = str_copy(path);
        for (unsigned links = 0; links < LINKS_MAX; links++) {
                autofree char *link = NULL, *text = NULL;
                autofree char *shimmed = NULL;
                if (need.executable && !directory_in_host_tree(current) &&
                    !need_shim(finding, current, need, &shimmed))
                        return false;
                if (shimmed) {
                        free(current);
                        current = shimmed;
                        shimmed = NULL;
                        continue;
                }
                bool has_link = find_link(current, &link, &text);
                if (!directory_in_host_tree(current) &&
                    !grant_file(finding, current, has_link, need.why, need.trusted))
                        return false;
                if (!has_link)
                        return !need.executable || need_interpreter(finding, path, current, need);
                /* Beyond a step in doubt a link is shown where it leads to what is visible. */
                autofree char *real = realpath(current, NULL);
                if (!directory_in_host_tree(link) && (need.trusted || (real && is_no_secret(finding, real))))
                        add_grant(finding->result, str_copy(link), str_copy(text), str_copy(need.why));
                autofree char *place = replace_link(finding, link, link, text, &need.trusted);
                char *target = replace_link(finding, current, link, text, &need.trusted);
                free(current);
                current = target;
                if (!judge_step(finding, link, place, current, &need))
                        return false;
        }
        return error_set(finding->error, EXIT_SETUP, "%s: too many links", error_shown(path));
}

/* ---- the command's words ---- */

/* True when `word`, relative to `base`, is what --file sends in: the host's file of that path is another. */
static bool is_sent(const struct finding *finding, const char *base, const char *word)
{
        autofree char *path = path_join(base, word);
        return finding->caller->box && copy_in_lead_to(finding->caller->box, path);
}

/* The command when it is itself sent in, or NULL. */
static const struct copy_in *find_sent_command(const struct finding *finding, const char *name)
{
        autofree char *path = path_join(finding->caller->cwd, name);
        bool possible = finding->caller->box && strchr(name, '/');
        return possible ? copy_in_find(finding->caller->box, path) : NULL;
}

static bool find_executable(struct finding *finding, const char *name, bool *trusted)
{
        const struct toolchain_caller *caller = finding->caller;
        struct search_failure failure = {0};
        if (strchr(name, '/'))
                finding->result->executable = search_file(caller->cwd, name, &failure);
        else
                finding->result->executable = search_path(caller->path ? caller->path : SEARCH_SYSTEM_PATH,
                                                          caller->cwd, name, &failure);
        if (finding->result->executable) {
                char *spelled = spell(finding, "/", finding->result->executable, trusted);
                free(finding->result->executable);
                finding->result->executable = spelled;
                return true;
        }
        return search_explain(&failure, name, caller->path, caller->home, finding->error);
}

/* Node.js completes a name without an ending. */
static char *find_program_file(const struct finding *finding, const char *word, bool *trusted)
{
        char *path = spell(finding, finding->caller->work, word, trusted);
        if (access(path, F_OK) == 0)
                return path;
        char *completed = str_format("%s.js", path);
        free(path);
        if (access(completed, F_OK) == 0)
                return completed;
        free(completed);
        return NULL;
}

/* Grants the program that the words name; `index` is 0 where none does. A program that does not exist is left
 * for the called itself to say. */
static bool need_program(struct finding *finding, const char *word)
{
        struct need need = {.why = "program of the command", .trusted = true};
        if (is_sent(finding, finding->caller->work, word))
                return true;
        autofree char *path = find_program_file(finding, word, &need.trusted);
        if (!path || directory_in_host_tree(path))
                return true;
        if (!directory_exists(path))
                return need_file(finding, path, need);
        if (need.trusted && !judge_way(finding, path, &need))
                return false;
        autofree char *real = realpath(path, NULL);
        bool grants = need.trusted ? directory_is_own(&finding->directories, path)
                                   : real && is_no_secret(finding, real);
        if (!grants) {
                if (!finding->doubted)
                        str_list_add(&finding->result->data, path);
                return true;
        }
        char *root = need.trusted ? directory_find_root(&finding->directories, path) : NULL;
        add_grant(finding->result, root ? root : str_copy(path), NULL, str_copy(need.why));
        return true;
}

/* Remembers a word, or what stands behind `--option=`, that spells a path which exists. */
static void note_data(struct finding *finding, const char *word)
{
        const char *value = word;
        if (word[0] == '-') {
                value = strchr(word, '=');
                if (!value || *++value != '/')
                        return;
        }
        /* `build` in `npm run build` is no path, whatever lies in the directory. */
        if (!strchr(value, '/') && !str_equal(value, ".") && !str_equal(value, ".."))
                return;
        if (is_sent(finding, finding->caller->work, value))
                return;
        bool unused = true;
        autofree char *path = spell(finding, finding->caller->work, value, &unused);
        if (access(path, F_OK) == 0 && !str_list_has(&finding->result->data, path))
                str_list_add(&finding->result->data, path);
}

static void take_list(struct str_list *to, struct str_list *from)
{
        str_list_free(to);
        *to = *from;
        *from = (struct str_list){0};
}

static bool need_everyday(struct finding *finding, struct runners *runners)
{
        const struct need need = {.why = "program of the command", .executable = true, .trusted = true};
        for (size_t i = 0; i < runners->directories.count; i++) {
                struct need directory = {.why = "project of the command", .trusted = true};
                if (!judge_way(finding, runners->directories.values[i], &directory))
                        return false;
                if (directory.trusted &&
                    directory_is_own(&finding->directories, runners->directories.values[i]))
                        add_grant(finding->result, str_copy(runners->directories.values[i]), NULL,
                                  str_copy(directory.why));
        }
        for (size_t i = 0; i < runners->programs.count; i++)
                if (!directory_in_host_tree(runners->programs.values[i]) &&
                    !need_file(finding, runners->programs.values[i], need))
                        return false;
        take_list(&finding->result->environment, &runners->environment);
        for (size_t i = 0; i < runners->notes.count; i++)
                str_list_add(&finding->result->notes, runners->notes.values[i]);
        finding->result->fetches = runners->fetches;
        finding->result->missing = runners->missing;
        return true;
}

/* What commands such as `uv run` and `npx` use of what is installed. */
static bool need_installed(struct finding *finding, const struct str_list *command)
{
        struct runners runners = {0};
        runners_find(command, &finding->directories, finding->caller->work,
                     finding->caller->home ? finding->caller->home : "", &runners);
        bool found = need_everyday(finding, &runners);
        runners_free(&runners);
        return found;
}

static bool find_all(struct finding *finding, const struct str_list *command)
{
        struct need need = {.why = "the command", .executable = true, .trusted = true};
        const struct copy_in *sent = find_sent_command(finding, command->values[0]);
        if (sent)
                finding->result->executable = path_join(finding->caller->cwd, command->values[0]);
        else if (!find_executable(finding, command->values[0], &need.trusted))
                return false;
        put_in_front(finding, finding->result->executable, LAST);
        bool grants = !finding->caller->grant_nothing;
        /* Of what is sent in, the copy is there; only what its #! line names is missing. */
        if (grants && (sent ? !need_interpreter(finding, sent->source, sent->source, need)
                            : !need_file(finding, finding->result->executable, need)))
                return false;
        size_t program = grants ? interpreter_program(command) : 0;
        if (program && !need_program(finding, command->values[program]))
                return false;
        if (grants && !need_installed(finding, command))
                return false;
        for (size_t i = 1; i < command->count; i++)
                if (i != program)
                        note_data(finding, command->values[i]);
        drop_covered(finding->result);
        return true;
}

bool toolchain_find(const struct str_list *command, const struct toolchain_caller *caller,
                    struct toolchain *toolchain, struct error *error)
{
        *toolchain = (struct toolchain){0};
        autofree char *real_home = caller->home ? realpath(caller->home, NULL) : NULL;
        struct finding finding = {
            .caller = caller,
            .directories = {.box = caller->box, .real_home = real_home ? real_home : ""},
            .trust = {.path = caller->path, .home = caller->home ? caller->home : ""},
            .result = toolchain,
            .error = error,
        };
        finding.trust.directories = &finding.directories;
        return find_all(&finding, command);
}

void toolchain_free(struct toolchain *toolchain)
{
        for (size_t i = 0; i < toolchain->grant_count; i++)
                free_grant(&toolchain->grants[i]);
        free(toolchain->grants);
        free(toolchain->executable);
        str_list_free(&toolchain->front);
        str_list_free(&toolchain->data);
        str_list_free(&toolchain->environment);
        str_list_free(&toolchain->notes);
        *toolchain = (struct toolchain){0};
}
