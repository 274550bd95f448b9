/* SPDX-License-Identifier: Apache-2.0
 *
 * See git.h.
 *
 * Theory of operation (gitrepository-layout(5), git-worktree(1), git-config(1)). A work tree has a .git,
 * which is the repository, a link to it, or a file that names it. The repository of a linked worktree is
 * worktrees/NAME in another one, and its file commondir leads to the configuration and the hooks. The
 * repository of a submodule is modules/NAME in the one around it, at any depth. Git treats a directory with
 * the contents of a repository as a bare one, whatever its name. Any configuration may name another directory
 * of hooks and further configuration. Git has rules about which of several wins; this module takes all.
 */
#include "grants/git.h"

#include "grants/git_config.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/path_walk.h"
#include "lib/tree_walk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
        POINTER_MAX = PATH_MAX + 16,
        MAX_DEPTH = 4,
        MAX_DIRECTORIES = 2000, /* in each grant */
        MAX_ENTRIES = 50000,
        MAX_REPOSITORIES = 256, /* in all grants: each adds several mounts */
        MAX_CONFIGS = 2048,
        MAX_PLACES = 4096, /* each is compared with the others, and may become a mount */
        MAX_CONFIG_BYTES = 256 << 10,
};

struct search {
        const struct resolver *resolver;
        struct walker walker; /* its own: a grant may hold thousands of repositories */
        struct str_list *places;
        struct str_list repositories; /* found so far */
        struct str_list configs;      /* read so far: FILE, a newline, and the directory it was read for */
        struct str_list shared_hooks; /* core.hooksPath of the user's and the machine's configuration */
        const char *source;           /* of the grant that is being searched */
        bool is_cut;
};

static char *copy_real(struct walker *walker, const char *path)
{
        const char *real = path_walk_real(walker, path);
        return real ? str_copy(real) : NULL;
}

char *git_read_pointer(struct walker *walker, const char *file, const char *prefix, const char *directory)
{
        autofree char *text = NULL;
        if (fd_read_file(file, POINTER_MAX, &text) < 0 || !str_starts(text, prefix))
                return NULL;
        char *value = text + strlen(prefix);
        value[strcspn(value, "\r\n")] = 0;
        autofree char *path = value[0] == '/' ? str_copy(value) : str_format("%s/%s", directory, value);
        return value[0] ? copy_real(walker, path) : NULL;
}

static void add_place(struct search *search, const char *directory, const char *name)
{
        autofree char *place = path_join(directory, name);
        if (str_list_has(search->places, place))
                return;
        if (search->places->count == MAX_PLACES)
                search->is_cut = true;
        else
                str_list_add(search->places, place);
}

/* The path that a configuration's `value` names, relative to `directory`; the caller frees. Its directory is
 * real, the last component may be a link. NULL for a value that names another account's home or Git's own
 * installation. */
static char *resolve_value(struct walker *walker, const char *value, const char *directory)
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
                return copy_real(walker, path);
        autofree char *parent = path_parent(path);
        autofree char *real = path_walk_missing(walker, parent);
        return path_join(real, last);
}

static void add_hooks(struct search *search, const char *value, const char *directory)
{
        autofree char *hooks = resolve_value(&search->walker, value, directory);
        if (!hooks)
                return;
        for (size_t i = 0; i < search->resolver->box->mount_count; i++) {
                const struct mount *mount = &search->resolver->box->mounts[i];
                if (mount->kind == MOUNT_BIND && mount->writable && path_is_below(mount->source, hooks)) {
                        message("note: core.hooksPath makes git run what is in %s; hutch cannot protect that "
                                "directory, because it is or contains the writable %s",
                                error_shown(hooks), error_shown(mount->source));
                        return;
                }
        }
        /* Husky's hooks are in .husky/_ and run the scripts in .husky. */
        if (str_equal(strrchr(hooks, '/'), "/_")) {
                autofree char *above = path_parent(hooks);
                add_place(search, above, ".");
        } else {
                add_place(search, hooks, ".");
        }
}

/* Reads the configuration `first` and what it includes, with a list in place of recursion. A relative path of
 * hooks is relative to `directory`; NULL means the directory of every repository that is found. */
static void read_config(struct search *search, const char *first, const char *directory)
{
        struct str_list files = {0};
        str_list_add(&files, first);
        for (size_t i = 0; i < files.count; i++) {
                const char *file = files.values[i];
                autofree char *text = NULL;
                autofree char *known = str_format("%s\n%s", file, directory ? directory : "");
                if (search->configs.count == MAX_CONFIGS)
                        search->is_cut = true;
                if (search->is_cut || str_list_has(&search->configs, known))
                        continue;
                str_list_add(&search->configs, known);
                if (fd_read_file(file, MAX_CONFIG_BYTES, &text) < 0)
                        continue;
                struct str_list hooks = {0}, includes = {0};
                git_config_read(text, &hooks, &includes);
                for (size_t j = 0; j < hooks.count; j++) {
                        if (directory)
                                add_hooks(search, hooks.values[j], directory);
                        else
                                str_list_add(&search->shared_hooks, hooks.values[j]);
                }
                struct walker *walker = &search->walker;
                const char *real = path_walk_real(walker, file);
                autofree char *beside = path_parent(real ? real : file);
                for (size_t j = 0; j < includes.count; j++) {
                        char *included = resolve_value(walker, includes.values[j], beside);
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
        /* The path of a linked worktree, in its repository. */
        autofree char *back = path_join(repository, "gitdir");
        if (access(back, F_OK) == 0)
                add_place(search, repository, "gitdir");
}

/* `work_tree` is NULL for a bare repository, and where it is not known. */
static void add_repository(struct search *search, const char *repository, const char *work_tree)
{
        autofree char *pointer = path_join(repository, "commondir");
        autofree char *common = git_read_pointer(&search->walker, pointer, "", repository);
        const char *directories[] = {repository, common};
        const char *base = work_tree ? work_tree : repository;
        for (size_t i = 0; i < sizeof(directories) / sizeof(*directories) && directories[i]; i++) {
                if (!str_list_has(&search->repositories, directories[i])) {
                        if (search->repositories.count == MAX_REPOSITORIES) {
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

/* Adds the repository of `work_tree`. False when that has no .git of any kind. */
static bool add_work_tree(struct search *search, const char *work_tree)
{
        struct stat status;
        autofree char *spelled = path_join(work_tree, ".git");
        if (lstat(spelled, &status) < 0)
                return false;
        /* By this path too: .git itself may be a link that the command could replace. */
        add_names(search, spelled);
        struct walker *walker = &search->walker;
        autofree char *repository = S_ISREG(status.st_mode)
                                        ? git_read_pointer(walker, spelled, "gitdir: ", work_tree)
                                        : copy_real(walker, spelled);
        if (repository)
                add_repository(search, repository, work_tree);
        return true;
}

static bool has_entry(int directory, const char *name)
{
        return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The repositories that one contains: of submodules and of linked worktrees. */
static void look_into_repository(struct tree_walk *tree, const char *relative)
{
        autofree char *modules = str_format("%s%smodules", relative, relative[0] ? "/" : "");
        autofree char *worktrees = str_format("%s%sworktrees", relative, relative[0] ? "/" : "");
        tree_walk_add(tree, modules);
        tree_walk_add(tree, worktrees);
}

static bool enter_directory(struct tree_walk *tree, int directory, const char *relative)
{
        struct search *search = tree->context;
        autofree char *path = path_join(search->source, relative);
        if (search->is_cut)
                return false;
        bool is_named_so = !relative[0] && str_equal(strrchr(path, '/'), "/.git");
        if (is_named_so || (has_entry(directory, "HEAD") &&
                            (has_entry(directory, "objects") || has_entry(directory, "commondir")))) {
                add_repository(search, path, NULL);
                look_into_repository(tree, relative);
                return false;
        }
        if (has_entry(directory, ".git") && add_work_tree(search, path)) {
                autofree char *inner = str_format("%s%s.git", relative, relative[0] ? "/" : "");
                look_into_repository(tree, inner);
        }
        return true;
}

/* Package managers install no repositories, and node_modules has thousands of directories. enter_directory()
 * looks into each .git itself. */
static bool is_searched(struct tree_walk *tree, int directory, const char *relative, const char *name)
{
        (void)tree, (void)directory, (void)relative;
        return !str_equal(name, ".git") && !str_equal(name, "node_modules");
}

static void search_grant(struct search *search, const struct mount *grant)
{
        struct tree_walk tree = {
            .root = path_walk(resolver_walker(search->resolver), grant->source)->descriptor,
            .max_depth = MAX_DEPTH,
            .max_directories = MAX_DIRECTORIES,
            .max_entries = MAX_ENTRIES,
            .context = search,
            .enter = enter_directory,
            .entry = is_searched,
        };
        search->source = grant->source;
        tree_walk(&tree);
        if (tree.is_cut || search->is_cut)
                message(
                    "note: %s holds too much to look for every Git repository in it; hutch does not protect "
                    "those that it did not find",
                    error_shown(grant->source));
        search->is_cut = false;
        /* The repository that contains the grant. */
        char *above = path_parent(grant->source);
        while (!add_work_tree(search, above) && above[1]) {
                char *next = path_parent(above);
                free(above);
                above = next;
        }
        free(above);
}

/* The configuration of the machine and of the user. sensitive_paths.h refuses a writable grant that contains
 * one of these files, but not of what they include. */
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

void git_find(const struct resolver *resolver, struct str_list *places)
{
        struct box *box = resolver->box;
        struct search search = {
            .resolver = resolver, .walker = {.keeps_no_descriptor = true}, .places = places};
        read_shared_configs(&search);
        for (size_t i = 0; i < box->mount_count; i++)
                if (box->mounts[i].kind == MOUNT_BIND && box->mounts[i].writable &&
                    box->mounts[i].is_directory)
                        search_grant(&search, &box->mounts[i]);
        walker_release(&search.walker);
        str_list_free(&search.repositories);
        str_list_free(&search.configs);
        str_list_free(&search.shared_hooks);
}
