/* SPDX-License-Identifier: Apache-2.0
 *
 * See repositories.h. In such a work tree .git is a file with one line, `gitdir: PATH`. A server may have
 * written that line, and a user may follow the note. So hutch names a repository only when the repository
 * itself names this work tree, or when it is the one that contains a submodule.
 */
#include "grants/repositories.h"

#include "grants/git.h"
#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"

#include <stdlib.h>

/* The repository of a linked worktree, or NULL. `git_directory`, a part of it, names the .git file in turn.
 */
static char *find_main_repository(struct walker *walker, const char *git_directory, const char *git_file)
{
        autofree char *back_file = path_join(git_directory, "gitdir");
        autofree char *common_file = path_join(git_directory, "commondir");
        autofree char *back = git_read_pointer(walker, back_file, "", git_directory);
        autofree char *common = git_read_pointer(walker, common_file, "", git_directory);
        autofree char *worktrees = common ? path_join(common, "worktrees") : NULL;
        bool known = back && common && str_equal(back, git_file) && path_is_below(git_directory, worktrees);
        return known ? str_copy(common) : NULL;
}

/* The repository that contains a submodule, in the .git of a directory above `work_tree`; or NULL. */
static char *find_outer_repository(const char *git_directory, const char *work_tree)
{
        const char *mark = strstr(git_directory, "/.git/modules/");
        autofree char *outer = mark ? str_copy_n(git_directory, (size_t)(mark - git_directory)) : NULL;
        return outer && path_is_below(work_tree, outer) ? path_join(outer, ".git") : NULL;
}

static void note_repository(const struct resolver *resolver, const struct mount *grant)
{
        struct walker *walker = resolver_walker(resolver);
        autofree char *file = path_join(grant->source, ".git");
        autofree char *git_directory = git_read_pointer(walker, file, "gitdir: ", grant->source);
        if (!git_directory || mounts_show(resolver->box, git_directory))
                return;
        autofree char *linked = find_main_repository(walker, git_directory, file);
        autofree char *outer = linked ? NULL : find_outer_repository(git_directory, grant->source);
        const char *repository = linked ? linked : outer;
        if (!repository || sensitive_path_reason(repository, caller_homes()->spelled, grant->writable))
                return;
        message(
            "note: the Git repository of %s is %s, which is not visible inside; for git to work there, add "
            "%s %s",
            error_shown(grant->source), error_shown(repository), grant->writable ? "--rw" : "--ro",
            error_shown(repository));
}

void repositories_note(const struct resolver *resolver)
{
        const struct box *box = resolver->box;
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (mount->kind == MOUNT_BIND && mount->is_directory && mount->origin != ORIGIN_BASE)
                        note_repository(resolver, mount);
        }
}
