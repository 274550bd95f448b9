/* SPDX-License-Identifier: Apache-2.0
 *
 * See trust.h.
 */
#include "command/trust.h"

#include "grants/mounts.h"
#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/path_walk.h"
#include "lib/str.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- places ---- */

/* True when only the user or the machine's administrator can have made the entry `from` of the directory
 * whose real path is `real`. PATH is judged elsewhere. */
static bool only_the_user_writes(const struct resolver *resolver, const char *from, const char *real)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), real);
        const struct stat *status = &walked->status;
        const char *home = resolver_real_home(resolver);
        if (directory_in_host_tree(real))
                return true;
        if (walked->problem || (status->st_mode & S_IWOTH) ||
            (status->st_uid != 0 && status->st_uid != geteuid()))
                return false;
        /* A link that is the home, or on the way to it, as the user spells it. */
        if (resolver->home[0] && path_is_below(resolver->home, from))
                return true;
        /* A directory that the caller cannot write, no server of the caller could write. */
        if (status->st_uid == 0 && geteuid() != 0 && !(status->st_mode & S_IWGRP) && access(real, W_OK) < 0)
                return true;
        return home[0] && (path_is_below(home, real) || sensitive_path_is_executed(real, home));
}

/* The prefix of the PATH directory `real`, when that is the prefix's bin or a version manager's shims; or
 * NULL. */
static char *find_prefix(const struct resolver *resolver, const char *real)
{
        autofree char *prefix = path_parent(real);
        bool is_bin = directory_path_has_name(real, "bin") && directory_has(prefix, "lib");
        bool possible = is_bin || directory_path_has_name(real, "shims");
        return possible && directory_is_own(resolver, prefix) && !directory_is_package(prefix)
                   ? str_copy(prefix)
                   : NULL;
}

/* The real path of an entry of PATH, or NULL where the entry is not the user's word. Whoever writes the
 * working directory decides a relative one, and a server decides one that leads through its link, such as an
 * activated environment in its project. */
static const char *resolve_entry(const struct resolver *resolver, const char *entry)
{
        if (entry[0] != '/')
                return NULL;
        autofree char *normal = path_join("/", entry);
        const struct walked *walked = path_walk(resolver_walker(resolver), normal);
        for (size_t i = 0; i < walked->links.count; i++) {
                autofree char *directory = path_parent(walked->links.values[i]);
                if (!only_the_user_writes(resolver, walked->links.values[i], directory))
                        return NULL;
        }
        return walked->real;
}

/* True when `real`, a directory's real path, is one of PATH or, with `prefixes`, is in the prefix of one. */
static bool is_on_path(const struct resolver *resolver, const char *real, bool prefixes)
{
        autofree char *copy = str_copy(resolver->search_path ? resolver->search_path : "");
        char *rest = NULL;
        for (char *entry = strtok_r(copy, ":", &rest); entry; entry = strtok_r(NULL, ":", &rest)) {
                const char *directory = resolve_entry(resolver, entry);
                if (!directory || !directory[1])
                        continue;
                autofree char *prefix = prefixes ? find_prefix(resolver, directory) : NULL;
                if (str_equal(directory, real) || (prefix && path_is_below(real, prefix)))
                        return true;
        }
        return false;
}

/* ---- projects ---- */

/* The part of `path` up to its first component node_modules, or NULL. */
static char *find_modules(const char *path)
{
        static const char name[] = "/node_modules";
        const char *found = path;
        while ((found = strstr(found, name))) {
                found += sizeof(name) - 1;
                if (!*found || *found == '/')
                        return str_copy_n(path, (size_t)(found - path));
        }
        return NULL;
}

/* How far a reference in the directory `real` may lead: the package or workspace around it, else the
 * directory itself. NULL in a shared directory such as /tmp, from where a reference may lead nowhere. The
 * caller frees. */
static char *find_project(const struct resolver *resolver, const char *real)
{
        if (!directory_is_own(resolver, real))
                return NULL;
        autofree char *modules = find_modules(real);
        autofree char *above = modules ? path_parent(modules) : str_copy(real);
        char *root = directory_find_root(resolver, above);
        /* A workspace's node_modules has links to the sources of its packages. */
        if (modules && !(root && directory_has(root, "package.json"))) {
                free(root);
                return str_copy(modules);
        }
        return root ? root : str_copy(above);
}

bool trust_reference(const struct resolver *resolver, const char *from, const char *target)
{
        autofree char *directory = path_parent(from);
        const char *real = path_walk_real(resolver_walker(resolver), directory);
        const char *end = path_walk_real(resolver_walker(resolver), target);
        autofree char *target_directory = path_parent(target);
        const char *real_target_directory = path_walk_real(resolver_walker(resolver), target_directory);
        if (!real)
                return false;
        if (end && directory_in_host_tree(end))
                return true;
        autofree char *project = find_project(resolver, real);
        if (project && (path_is_below(target, project) || (end && path_is_below(end, project))))
                return true;
        /* A target in PATH itself is what `#!/usr/bin/env NAME` would name as well. */
        return only_the_user_writes(resolver, from, real) || is_on_path(resolver, real, true) ||
               (real_target_directory && is_on_path(resolver, real_target_directory, false));
}

/* Judges the link at `link`, whose directory's path is real. */
static bool trust_link(const struct resolver *resolver, const char *link, const char *text, char **to)
{
        autofree char *directory = path_parent(link);
        char *target = path_join(directory, text);
        bool trusted = trust_reference(resolver, link, target);
        /* `..` behind another link may lead elsewhere than its text says. */
        const char *end = path_walk_real(resolver_walker(resolver), link);
        if (trusted && end && strstr(text, ".."))
                trusted = trust_reference(resolver, link, end);
        if (trusted || !to)
                free(target);
        else
                *to = target;
        return trusted;
}

bool trust_way(const struct resolver *resolver, const char *path, char **from, char **to)
{
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        for (size_t i = 0; i < walked->links.count; i++) {
                const char *link = walked->links.values[i];
                if (directory_may_be_written(resolver, link) ||
                    trust_link(resolver, link, walked->texts.values[i], to))
                        continue;
                if (from)
                        *from = str_copy(link);
                return false;
        }
        return true;
}

bool trust_spelled_way(const struct resolver *resolver, const char *path)
{
        char *rest = str_format("%s/", path);
        bool trusted = true;
        for (char *up; trusted && (up = strstr(rest, "/../"));) {
                autofree char *before = str_copy_n(rest, (size_t)(up - rest));
                autofree char *normal = path_join("/", before);
                const char *real = path_walk_real(resolver_walker(resolver), normal);
                autofree char *above = real ? path_parent(real) : NULL;
                trusted = above && trust_way(resolver, normal, NULL, NULL);
                char *next = str_format("%s/%s", above ? above : "", up + strlen("/../"));
                free(rest);
                rest = next;
        }
        autofree char *normal = path_join("/", rest);
        free(rest);
        return trusted && trust_way(resolver, normal, NULL, NULL);
}

/* ---- installations ---- */

/* A project that contains a whole runtime, such as a checkout of Node.js, is a project. */
static bool is_prefix(const char *directory)
{
        return directory_is_runtime(directory) && !directory_is_package(directory) &&
               !directory_has(directory, ".git");
}

char *trust_find_installation(const struct resolver *resolver, const char *path)
{
        const char *real = path_walk_real(resolver_walker(resolver), path);
        if (!real)
                return NULL;
        autofree char *start = directory_exists(real) ? str_copy(real) : path_parent(real);
        char *whole = directory_find_whole_prefix(resolver, start);
        if (whole)
                return whole;
        autofree char *prefix = directory_find_above(resolver, start, is_prefix);
        if (!prefix)
                return NULL;
        /* Other directories below the prefix, as below a miniconda3, may be somebody's private files. */
        autofree char *programs = path_join(prefix, "bin");
        autofree char *library = path_join(prefix, "lib");
        bool part = str_equal(real, prefix) || path_is_below(real, programs) || path_is_below(real, library);
        return part ? str_copy(prefix) : NULL;
}

bool trust_shows_nothing_new(const struct resolver *resolver, const char *real)
{
        autofree char *installation = trust_find_installation(resolver, real);
        return installation || directory_in_host_tree(real) || (mounts_show(resolver->box, real));
}
