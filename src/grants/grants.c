/* SPDX-License-Identifier: Apache-2.0
 *
 * See grants.h.
 */
#include "grants/grants.h"

#include "grants/mountinfo.h"
#include "grants/mounts.h"
#include "grants/past_grants.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"

/* Walks the path of a grant and remembers its links for grants_check_links(). */
static const struct walked *walk_grant(const struct resolver *resolver, const char *path)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        for (size_t i = 0; walked->real && i < walked->links.count; i++) {
                str_list_add(&resolver->held->links, walked->links.values[i]);
                str_list_add(&resolver->held->reached, walked->real);
        }
        return walked;
}

void grants_permit_unsafe(const struct resolver *resolver, const char *path)
{
        const struct walked *walked = walk_grant(resolver, path);
        if (walked->real)
                str_list_add(&resolver->held->unsafe, walked->real);
}

bool grants_check_links(const struct resolver *resolver)
{
        for (size_t i = 0; i < resolver->held->links.count; i++) {
                const char *link = resolver->held->links.values[i],
                           *reached = resolver->held->reached.values[i];
                const struct mount *left = mounts_find_left(resolver, link, reached);
                const char *past = left ? NULL : past_grants_find_left(resolver, link, reached);
                if (left)
                        return error_set(
                            resolver->error, EXIT_SETUP,
                            "refusing to grant %s: the link %s leads there out of the writable %s, and the "
                            "server may have put it there; if it is yours, name %s itself",
                            reached, link, left->source, reached);
                if (past)
                        return error_set(
                            resolver->error, EXIT_SETUP,
                            "refusing to grant %s: the link %s leads there out of %s, which an earlier run "
                            "could write to, and its server may have put it there; if it is yours, name %s "
                            "itself",
                            reached, link, past, reached);
        }
        return true;
}

/* A grant must not hide what every program needs to start, nor the sandbox's own /proc and /dev. */
static bool is_system_place(const char *place)
{
        static const char *const places[] = {"/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/proc", "/dev"};
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
                if (str_equal(place, places[i]))
                        return true;
        return false;
}

/* *why becomes the reason why another path, at which the host shows the object at `real`, must not be
 * granted; the caller frees it. NULL when there is none. False with an error. */
static bool judge_other_names(const char *real, bool writable, char **why, struct error *error)
{
        struct str_list names = {0};
        bool listed = mountinfo_list_names(real, &names, error);
        *why = NULL;
        for (size_t i = 0; i < names.count && !*why; i++) {
                const char *reason = sensitive_path_any_home(names.values[i], writable);
                if (reason)
                        *why = str_format("it is %s too, and %s", names.values[i], reason);
        }
        str_list_free(&names);
        return listed;
}

/* Refuses a grant that would void the sandbox, unless --unsafe-grant named that very path. */
static bool judge_grant(const struct resolver *resolver, const char *real, bool writable)
{
        struct box *box = resolver->box;
        autofree char *other = NULL;
        const char *refusal = sensitive_path_any_home(real, writable);
        if (!refusal && !judge_other_names(real, writable, &other, resolver->error))
                return false;
        if (!refusal)
                refusal = other;
        if (!refusal)
                return true;
        /* --unsafe-grant cannot permit it: hutch builds the sandbox's root on a mount that would be part of
         * the clone. */
        if (real[1] == 0)
                return error_set(resolver->error, EXIT_SETUP,
                                 "refusing to grant /: %s; grant the directories that the server needs",
                                 refusal);
        if (!str_list_has(&resolver->held->unsafe, real))
                return error_set(
                    resolver->error, EXIT_SETUP,
                    "refusing to grant %s%s: %s; grant a directory that holds only what the server "
                    "needs; --unsafe-grant %s permits it although it voids the sandbox",
                    real, writable ? " writable" : "", refusal, real);
        message("note: --unsafe-grant voids the sandbox for %s: %s, and the command can %s it", real, refusal,
                writable ? "read and change" : "read");
        if (!str_list_has(&box->unsafe_grants, real))
                str_list_add(&box->unsafe_grants, real);
        return true;
}

static bool refuse_second(const char *option, const char *path, const struct mount *first,
                          struct error *error)
{
        return error_set(error, EXIT_USAGE,
                         "two grants have the same destination %s, because of a link: %s %s and %s",
                         first->destination, option, path, first->why);
}

static bool add_grant(const struct resolver *resolver, const char *path, const char *destination,
                      bool writable, bool overlay, const char *option)
{
        struct box *box = resolver->box;
        const struct walked *walked = walk_grant(resolver, path);
        const char *real = walked->real;
        /* A grant with a destination needs none of the links on the way to its source. */
        if (!destination)
                mounts_add_links(box, walked, REASON_OPTION(option));
        if (!real)
                return error_set(resolver->error, EXIT_SETUP,
                                 "cannot grant %s: %s: check the path after %s%s", path,
                                 strerror(walked->problem), option,
                                 strchr(path, '$') ? ", in which no variable is expanded" : "");
        if (!judge_grant(resolver, real, writable))
                return false;
        autofree char *place = destination ? mounts_follow_inside(box, destination) : str_copy(real);
        const struct mount *own = mounts_find_exact(box, place);
        bool is_own = own && (own->kind == MOUNT_PROC || own->kind == MOUNT_DEV);
        if (is_own || (destination && is_system_place(place)))
                return error_set(resolver->error, EXIT_SETUP,
                                 "cannot put %s at %s: that would hide the sandbox's own %s", real,
                                 destination ? destination : place, place);
        /* options/ refuses two grants of one path only as they are spelled; here a link made them equal. */
        bool is_same = own && own->source && own->writable == writable && str_equal(own->source, real) &&
                       (own->kind == MOUNT_OVERLAY) == overlay;
        if (own && mount_is_asked_for(own) && !is_same)
                return refuse_second(option, path, own, resolver->error);
        mounts_make_room(box, place);
        return mounts_add_bind(resolver, real, place, writable, REASON_OPTION(option));
}

bool grants_add(const struct resolver *resolver, const char *path, const char *destination, bool writable,
                const char *option)
{
        return add_grant(resolver, path, destination, writable, false, option);
}

bool grants_add_overlay(const struct resolver *resolver, const char *path, const char *destination)
{
        struct box *box = resolver->box;
        if (!add_grant(resolver, path, destination, false, true, "--overlay"))
                return false;
        struct mount *added = &box->mounts[box->mount_count - 1];
        if (!added->is_directory)
                return error_set(resolver->error, EXIT_SETUP,
                                 "cannot make an overlay of %s: it is not a directory; use the directory "
                                 "that contains it",
                                 path);
        added->kind = MOUNT_OVERLAY;
        return true;
}

bool grants_add_memory(const struct resolver *resolver, const char *path, uint64_t bytes, const char *option)
{
        struct box *box = resolver->box;
        autofree char *place = mounts_follow_inside(box, path);
        if (place[1] == 0 || is_system_place(place))
                return error_set(resolver->error, EXIT_SETUP,
                                 "cannot put memory at %s: that would hide the sandbox's own %s", path,
                                 place);
        const struct mount *own = mounts_find_exact(box, place);
        if (own && mount_is_asked_for(own))
                return refuse_second(option, path, own, resolver->error);
        mounts_make_room(box, place);
        struct mount mount = {
            .kind = MOUNT_MEMORY,
            .destination = str_copy(place),
            .bytes = bytes,
            .origin = ORIGIN_OPTION,
            .why = str_copy(option),
        };
        box_add_mount(box, &mount);
        return true;
}

bool grants_add_program(const struct resolver *resolver, const char *path, struct mount_reason reason)
{
        struct box *box = resolver->box;
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        const char *real = walked->real;
        mounts_add_links(box, walked, reason);
        if (!real)
                return error_set(resolver->error, EXIT_SETUP, "cannot grant %s, which the command needs: %s",
                                 path, strerror(walked->problem));
        if (mounts_show(box, real))
                return true;
        const char *refusal = sensitive_path_any_home(real, false);
        if (refusal)
                return error_set(
                    resolver->error, EXIT_SETUP,
                    "refusing to grant %s, which the command needs: %s; move the program elsewhere", real,
                    refusal);
        return mounts_add_bind(resolver, real, real, false, reason);
}

const struct walked *grants_judge_file(const struct resolver *resolver, const char *path, const char *why)
{
        const struct walked *walked = walk_grant(resolver, path);
        if (walked->problem) {
                error_set(resolver->error, EXIT_SETUP, "cannot copy %s in: %s: check the path after %s", path,
                          strerror(walked->problem), why);
                return NULL;
        }
        return judge_grant(resolver, walked->real, false) ? walked : NULL;
}
