/* SPDX-License-Identifier: Apache-2.0
 *
 * See trust.h. What can be forged, and what cannot: whoever may write a directory may put there any link, any
 * file and any marker of a project, and may remove them. So a marker beside a link proves nothing in the
 * link's favour; it only bounds a project that naming a plain file there would grant as well. A repository's
 * .git is no such bound: a server that may write one directory of it would reach all of it. Where a link
 * leads is the other way round: the attacker could not write there, so what marks an installation there is
 * true. Yet a private directory can carry such marks honestly (a virtual environment, a project with
 * package.json): only what nobody keeps own files in counts, a whole runtime with its library, never an
 * environment or a project.
 *
 * Which places only the person writes: what hutch never grants writable and no clone lies in (the home itself
 * and what is above it, version managers' directories), root's directories, and the directories of PATH,
 * whose programs the person runs without any sandbox.
 */
#include "command/trust.h"

#include "grants/sensitive_paths.h"
#include "lib/fd.h"
#include "lib/real_path.h"
#include "lib/str.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- places ---- */

/* True when nobody but the person, or the machine's administrator, can have put what lies at `from`, whose
 * directory's real path is `real`; PATH aside. */
static bool only_the_person_writes(const struct trust *trust, const char *from, const char *real)
{
        struct stat status;
        const char *home = trust->directories->real_home;
        if (directory_in_host_tree(real))
                return true;
        if (stat(real, &status) < 0 || (status.st_mode & S_IWOTH) ||
            (status.st_uid != 0 && status.st_uid != geteuid()))
                return false;
        /* A link that is the home, or on the way to it, by the name the person gave it. */
        if (trust->home[0] && path_is_below(trust->home, from))
                return true;
        /* What the caller cannot write, no server of the caller's could. */
        if (status.st_uid == 0 && geteuid() != 0 && !(status.st_mode & S_IWGRP) && access(real, W_OK) < 0)
                return true;
        return home[0] && (path_is_below(home, real) || sensitive_path_is_executed(real, home));
}

/* The prefix whose bin, or whose version manager's shims, are the PATH directory `real`; or NULL. */
static char *find_prefix(const struct directories *directories, const char *real)
{
        autofree char *prefix = path_parent(real);
        bool is_bin = directory_path_has_name(real, "bin") && directory_has(prefix, "lib");
        bool possible = is_bin || directory_path_has_name(real, "shims");
        return possible && directory_is_own(directories, prefix) && !directory_is_package(prefix)
                   ? str_copy(prefix)
                   : NULL;
}

/* The real path of an entry of PATH, or NULL where it is not the person's word: a relative one is the working
 * directory's, and one that a server's link leads elsewhere, as an environment that was activated, is the
 * server's. */
static char *resolve_entry(const struct trust *trust, const char *entry)
{
        if (entry[0] != '/')
                return NULL;
        __attribute__((cleanup(str_list_free))) struct str_list links = {0};
        autofree char *normal = path_join("/", entry);
        real_path_list_links(normal, &links);
        for (size_t i = 0; i < links.count; i++) {
                autofree char *directory = path_parent(links.values[i]);
                if (!only_the_person_writes(trust, links.values[i], directory))
                        return NULL;
        }
        return realpath(normal, NULL);
}

/* True when `real`, a directory's real path, is one of PATH, or with `prefixes` lies in the prefix of one. */
static bool is_on_path(const struct trust *trust, const char *real, bool prefixes)
{
        autofree char *copy = str_copy(trust->path ? trust->path : "");
        char *rest = NULL;
        for (char *entry = strtok_r(copy, ":", &rest); entry; entry = strtok_r(NULL, ":", &rest)) {
                autofree char *directory = resolve_entry(trust, entry);
                if (!directory || !directory[1])
                        continue;
                autofree char *prefix = prefixes ? find_prefix(trust->directories, directory) : NULL;
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
 * directory itself. In a directory that is not its own, as /tmp, nowhere: NULL. The caller frees. */
static char *find_project(const struct directories *directories, const char *real)
{
        if (!directory_is_own(directories, real))
                return NULL;
        autofree char *modules = find_modules(real);
        autofree char *above = modules ? path_parent(modules) : str_copy(real);
        char *root = directory_find_root(directories, above);
        /* Packages are linked from the workspace's node_modules to where they are written. */
        if (modules && !(root && directory_has(root, "package.json"))) {
                free(root);
                return str_copy(modules);
        }
        return root ? root : str_copy(above);
}

bool trust_reference(const struct trust *trust, const char *from, const char *target)
{
        autofree char *directory = path_parent(from);
        autofree char *real = realpath(directory, NULL);
        autofree char *end = realpath(target, NULL);
        autofree char *target_directory = path_parent(target);
        autofree char *real_target_directory = realpath(target_directory, NULL);
        if (!real)
                return false;
        if (end && directory_in_host_tree(end))
                return true;
        autofree char *project = find_project(trust->directories, real);
        if (project && (path_is_below(target, project) || (end && path_is_below(end, project))))
                return true;
        /* What lies in PATH itself, `#!/usr/bin/env NAME` may name as well. */
        return only_the_person_writes(trust, from, real) || is_on_path(trust, real, true) ||
               (real_target_directory && is_on_path(trust, real_target_directory, false));
}

/* Judges the link at `link`, whose directory's path is real. */
static bool trust_link(const struct trust *trust, const char *link, char **to)
{
        char text[PATH_MAX];
        ssize_t length = readlink(link, text, sizeof(text) - 1);
        if (length <= 0)
                return true; /* gone: what stands there now is judged when it is opened */
        text[length] = 0;
        autofree char *directory = path_parent(link);
        char *target = path_join(directory, text);
        bool trusted = trust_reference(trust, link, target);
        /* `..` behind another link is not what it looks like. */
        autofree char *end = realpath(link, NULL);
        if (trusted && end && strstr(text, ".."))
                trusted = trust_reference(trust, link, end);
        if (trusted || !to)
                free(target);
        else
                *to = target;
        return trusted;
}

bool trust_way(const struct trust *trust, const char *path, char **from, char **to)
{
        __attribute__((cleanup(str_list_free))) struct str_list links = {0};
        real_path_list_links(path, &links);
        for (size_t i = 0; i < links.count; i++) {
                if (directory_may_be_written(trust->directories, links.values[i]) ||
                    trust_link(trust, links.values[i], to))
                        continue;
                if (from)
                        *from = str_copy(links.values[i]);
                return false;
        }
        return true;
}

bool trust_spelled_way(const struct trust *trust, const char *path)
{
        char *rest = str_format("%s/", path);
        bool trusted = true;
        for (char *up; trusted && (up = strstr(rest, "/../"));) {
                autofree char *before = str_copy_n(rest, (size_t)(up - rest));
                autofree char *normal = path_join("/", before);
                autofree char *real = realpath(normal, NULL);
                autofree char *above = real ? path_parent(real) : NULL;
                trusted = above && trust_way(trust, normal, NULL, NULL);
                char *next = str_format("%s/%s", above ? above : "", up + strlen("/../"));
                free(rest);
                rest = next;
        }
        autofree char *normal = path_join("/", rest);
        free(rest);
        return trusted && trust_way(trust, normal, NULL, NULL);
}

/* ---- installations ---- */

/* A project that carries a whole runtime, as a checkout of one, is a project. */
static bool is_prefix(const char *directory)
{
        return directory_is_runtime(directory) && !directory_is_package(directory) &&
               !directory_has(directory, ".git");
}

char *trust_find_installation(const struct directories *directories, const char *path)
{
        autofree char *real = realpath(path, NULL);
        if (!real)
                return NULL;
        autofree char *start = directory_exists(real) ? str_copy(real) : path_parent(real);
        char *whole = directory_find_whole_prefix(directories, start);
        if (whole)
                return whole;
        autofree char *prefix = directory_find_above(directories, start, is_prefix);
        if (!prefix)
                return NULL;
        /* What else somebody keeps below the prefix, as below a miniconda3, is no part of it. */
        autofree char *programs = path_join(prefix, "bin");
        autofree char *library = path_join(prefix, "lib");
        bool part = str_equal(real, prefix) || path_is_below(real, programs) || path_is_below(real, library);
        return part ? str_copy(prefix) : NULL;
}
