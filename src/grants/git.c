/* SPDX-License-Identifier: Apache-2.0
 *
 * See git.h.
 *
 * Theory of operation (gitrepository-layout(5), git-worktree(1), git-config(1)). A work tree has a .git: the
 * repository, a link to it, or a file that names it. A linked worktree's is worktrees/NAME of another, whose
 * file commondir leads to the configuration and the hooks; a submodule's is modules/NAME of the one around
 * it, at any depth. A directory that looks like a repository is one to Git, bare, whatever it is called. Any
 * configuration may name another directory of hooks and further configuration; which of several wins does not
 * matter here, since all are taken.
 */
#include "grants/git.h"

#include "grants/git_config.h"
#include "grants/mounts.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/real_path.h"
#include "lib/suggest.h"
#include "lib/tree_walk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
        POINTER_MAX = PATH_MAX + 16,
        MOST_DEPTH = 4,
        MOST_DIRECTORIES = 2000, /* of each grant */
        MOST_ENTRIES = 50000,
        MOST_REPOSITORIES = 256, /* of all grants: each is a handful of mounts */
        MOST_CONFIGS = 2048,
        MOST_PLACES = 4096, /* each is compared with the others, and may become a mount */
        MOST_CONFIG_BYTES = 256 << 10,
};

struct search {
        const struct box *box;
        struct str_list *places;
        struct str_list repositories; /* known already */
        struct str_list configs;      /* read already: FILE and, behind a newline, the directory it is for */
        struct str_list shared_hooks; /* core.hooksPath of the person's and the machine's configuration */
        const char *source;           /* of the grant that is looked through */
        bool is_cut;
};

char *git_read_pointer(const char *file, const char *prefix, const char *directory)
{
        autofree char *text = NULL;
        if (fd_read_file(file, POINTER_MAX, &text) < 0 || !str_starts(text, prefix))
                return NULL;
        char *value = text + strlen(prefix);
        value[strcspn(value, "\r\n")] = 0;
        autofree char *path = value[0] == '/' ? str_copy(value) : str_format("%s/%s", directory, value);
        return value[0] ? realpath(path, NULL) : NULL;
}

static void add_place(struct search *search, const char *directory, const char *name)
{
        autofree char *place = path_join(directory, name);
        if (str_list_has(search->places, place))
                return;
        if (search->places->count == MOST_PLACES)
                search->is_cut = true;
        else
                str_list_add(search->places, place);
}

/* A path as configurations write it, relative to `directory`; the caller frees. Of what exists the last
 * component may be a link. NULL for a form that names another account's home or Git's own installation. */
static char *resolve_value(const char *value, const char *directory)
{
        static const char optional[] = ":(optional)";
        if (str_starts(value, optional))
                value += sizeof(optional) - 1;
        const char *home = caller_homes()->spelled;
        bool in_home = str_starts(value, "~/");
        if (!value[0] || (value[0] == '~' && (!in_home || !home[0])) || str_starts(value, "%(prefix)"))
                return NULL;
        autofree char *path = value[0] == '/' ? str_copy(value)
                                              : str_format("%s/%s", in_home ? home : directory,
                                                           in_home ? value + strlen("~/") : value);
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/')
                path[--length] = 0;
        const char *last = strrchr(path, '/') + 1;
        if (!last[0] || str_equal(last, ".") || str_equal(last, ".."))
                return realpath(path, NULL);
        autofree char *parent = path_parent(path);
        autofree char *real = real_path_of_missing(parent);
        return path_join(real, last);
}

static void add_hooks(struct search *search, const char *value, const char *directory)
{
        autofree char *hooks = resolve_value(value, directory);
        if (!hooks)
                return;
        for (size_t i = 0; i < search->box->mount_count; i++) {
                const struct mount *mount = &search->box->mounts[i];
                if (mount->kind == MOUNT_BIND && mount->writable && path_is_below(mount->source, hooks)) {
                        message("note: core.hooksPath makes git run what is in %s, which cannot be protected "
                                "because the writable %s is, or lies in, that directory",
                                error_shown(hooks), error_shown(mount->source));
                        return;
                }
        }
        /* Husky's hooks run the scripts beside their own directory. */
        if (str_equal(strrchr(hooks, '/'), "/_")) {
                autofree char *above = path_parent(hooks);
                add_place(search, above, ".");
        } else {
                add_place(search, hooks, ".");
        }
}

/* Reads a configuration, and what it includes. `directory`: what hooks are relative to; NULL: that of
 * whatever repository there will be. The list of files still to be read takes the place of recursion. */
static void read_config(struct search *search, const char *first, const char *directory)
{
        struct str_list files = {0};
        str_list_add(&files, first);
        for (size_t i = 0; i < files.count; i++) {
                const char *file = files.values[i];
                autofree char *text = NULL;
                autofree char *known = str_format("%s\n%s", file, directory ? directory : "");
                if (search->configs.count == MOST_CONFIGS)
                        search->is_cut = true;
                if (search->is_cut || str_list_has(&search->configs, known))
                        continue;
                str_list_add(&search->configs, known);
                if (fd_read_file(file, MOST_CONFIG_BYTES, &text) < 0)
                        continue;
                struct str_list hooks = {0}, includes = {0};
                git_config_read(text, &hooks, &includes);
                for (size_t j = 0; j < hooks.count; j++) {
                        if (directory)
                                add_hooks(search, hooks.values[j], directory);
                        else
                                str_list_add(&search->shared_hooks, hooks.values[j]);
                }
                autofree char *real = realpath(file, NULL);
                autofree char *beside = path_parent(real ? real : file);
                for (size_t j = 0; j < includes.count; j++) {
                        char *included = resolve_value(includes.values[j], beside);
                        if (!included)
                                continue;
                        add_place(search, included, ".");
                        str_list_take(&files, included);
                }
                str_list_free(&hooks);
                str_list_free(&includes);
        }
        str_list_free(&files);
}

static void add_names(struct search *search, const char *repository)
{
        static const char *const names[] = {"config", "config.worktree", "hooks", "commondir"};
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                add_place(search, repository, names[i]);
        /* The way back to a linked worktree: only its repository has one. */
        autofree char *back = path_join(repository, "gitdir");
        if (access(back, F_OK) == 0)
                add_place(search, repository, "gitdir");
}

/* `work_tree`: NULL for a bare one, and where it is not known. */
static void add_repository(struct search *search, const char *repository, const char *work_tree)
{
        autofree char *pointer = path_join(repository, "commondir");
        autofree char *common = git_read_pointer(pointer, "", repository);
        const char *directories[] = {repository, common};
        const char *base = work_tree ? work_tree : repository;
        for (size_t i = 0; i < sizeof(directories) / sizeof(*directories) && directories[i]; i++) {
                if (!str_list_has(&search->repositories, directories[i])) {
                        if (search->repositories.count == MOST_REPOSITORIES) {
                                search->is_cut = true;
                                return;
                        }
                        str_list_add(&search->repositories, directories[i]);
                        add_names(search, directories[i]);
                }
                autofree char *config = path_join(directories[i], "config");
                autofree char *own_config = path_join(directories[i], "config.worktree");
                read_config(search, config, base);
                read_config(search, own_config, base);
        }
        for (size_t i = 0; i < search->shared_hooks.count; i++)
                add_hooks(search, search->shared_hooks.values[i], base);
}

/* True when there is a .git, of whatever kind. */
static bool add_work_tree(struct search *search, const char *work_tree)
{
        struct stat status;
        autofree char *spelled = path_join(work_tree, ".git");
        if (lstat(spelled, &status) < 0)
                return false;
        /* By this spelling too: .git itself may be what is to be protected. */
        add_names(search, spelled);
        autofree char *repository = S_ISREG(status.st_mode) ? git_read_pointer(spelled, "gitdir: ", work_tree)
                                                            : realpath(spelled, NULL);
        if (repository)
                add_repository(search, repository, work_tree);
        return true;
}

static bool has(int directory, const char *name)
{
        return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What a repository has inside for others: submodules' and linked worktrees' own. */
static void look_into_repository(struct tree *tree, const char *relative)
{
        autofree char *modules = str_format("%s%smodules", relative, relative[0] ? "/" : "");
        autofree char *worktrees = str_format("%s%sworktrees", relative, relative[0] ? "/" : "");
        tree_add(tree, modules);
        tree_add(tree, worktrees);
}

static bool enter(struct tree *tree, int directory, const char *relative)
{
        struct search *search = tree->context;
        autofree char *path = path_join(search->source, relative);
        if (search->is_cut)
                return false;
        bool is_named_so = !relative[0] && str_equal(strrchr(path, '/'), "/.git");
        if (is_named_so ||
            (has(directory, "HEAD") && (has(directory, "objects") || has(directory, "commondir")))) {
                add_repository(search, path, NULL);
                look_into_repository(tree, relative);
                return false;
        }
        if (has(directory, ".git") && add_work_tree(search, path)) {
                autofree char *inner = str_format("%s%s.git", relative, relative[0] ? "/" : "");
                look_into_repository(tree, inner);
        }
        return true;
}

/* Package managers strip repositories from what they install, and there are thousands of directories. */
static bool is_looked_into(struct tree *tree, int directory, const char *relative, const char *name)
{
        (void)tree, (void)directory, (void)relative;
        return !str_equal(name, ".git") && !str_equal(name, "node_modules");
}

static void look_through(struct search *search, const struct mount *grant)
{
        autoclose int root = real_path_open(grant->source, O_PATH | O_DIRECTORY);
        struct tree tree = {
            .root = root,
            .max_depth = MOST_DEPTH,
            .max_directories = MOST_DIRECTORIES,
            .max_entries = MOST_ENTRIES,
            .context = search,
            .enter = enter,
            .entry = is_looked_into,
        };
        search->source = grant->source;
        tree_walk(&tree);
        if (tree.is_cut || search->is_cut)
                message("note: %s holds too much to look for every Git repository in it; those that were not "
                        "found are not protected",
                        error_shown(grant->source));
        search->is_cut = false;
        /* The repository around the grant. */
        char *above = path_parent(grant->source);
        while (!add_work_tree(search, above) && above[1]) {
                char *next = path_parent(above);
                free(above);
                above = next;
        }
        free(above);
}

/* The machine's and the person's configuration. A grant that holds one of these files is refused by
 * sensitive_paths.h.
 */
static void read_shared_configs(struct search *search)
{
        const char *variable = getenv("XDG_CONFIG_HOME");
        const char *home = caller_homes()->spelled;
        bool has_own = variable && variable[0] == '/';
        autofree char *directory =
            has_own ? str_format("%s/git/config", variable) : str_format("%s/.config/git/config", home);
        autofree char *file = str_format("%s/.gitconfig", home);
        read_config(search, "/etc/gitconfig", NULL);
        read_config(search, directory, NULL);
        read_config(search, file, NULL);
}

void git_find(const struct box *box, struct str_list *places)
{
        struct search search = {.box = box, .places = places};
        read_shared_configs(&search);
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable &&
                    box->mounts[i].is_directory)
                        look_through(&search, &box->mounts[i]);
        str_list_free(&search.repositories);
        str_list_free(&search.configs);
        str_list_free(&search.shared_hooks);
}
