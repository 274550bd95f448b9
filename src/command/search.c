/* SPDX-License-Identifier: Apache-2.0
 *
 * See search.h.
 */
#include "command/search.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { COPIES_MAX = 4 };

/* NULL when `file` can be executed, else the problem; `status` becomes a shell's exit status for it. With
 * `named` the user wrote this very path: a directory on the way that is closed to the caller is then the
 * problem, where a search of PATH passes over it. */
static const char *judge_file(const char *file, bool named, int *status)
{
        struct stat found;
        *status = EXIT_NOT_FOUND;
        if (stat(file, &found) < 0) {
                int problem = errno;
                if (named && problem == EACCES)
                        *status = EXIT_NOT_EXECUTABLE;
                return problem == ENOENT || problem == ENOTDIR ? "there is no such file" : strerror(problem);
        }
        *status = EXIT_NOT_EXECUTABLE;
        if (S_ISDIR(found.st_mode))
                return "it is a directory";
        if (!S_ISREG(found.st_mode))
                return "it is not a regular file";
        if (access(file, X_OK) == 0)
                return NULL;
        struct statvfs mounted;
        if ((found.st_mode & 0111) && statvfs(file, &mounted) == 0 && (mounted.f_flag & ST_NOEXEC))
                return "its file system is mounted noexec";
        return "it is not executable (chmod +x would make it so)";
}

static char *take_if_executable(char *file, bool named, struct search_failure *failure)
{
        int status;
        const char *problem = judge_file(file, named, &status);
        if (!problem)
                return file;
        /* A file that exists explains more than one that does not. */
        if (failure &&
            (!failure->problem || (failure->status == EXIT_NOT_FOUND && status != EXIT_NOT_FOUND))) {
                failure->problem = problem;
                failure->status = status;
                snprintf(failure->path, sizeof(failure->path), "%s", file);
        }
        free(file);
        return NULL;
}

char *search_path(const char *path, const char *cwd, const char *name, struct search_failure *failure)
{
        for (const char *directory = path; name[0];) {
                size_t length = strcspn(directory, ":");
                autofree char *spelled = str_copy_n(directory, length);
                autofree char *absolute = path_join(cwd, spelled);
                char *found = take_if_executable(path_join(absolute, name), false, failure);
                if (found)
                        return found;
                directory += length;
                if (!*directory++)
                        break;
        }
        return NULL;
}

char *search_file(const char *cwd, const char *name, struct search_failure *failure)
{
        /* Not folded as text: the kernel follows `..` behind a link. */
        char *file = name[0] == '/' ? str_copy(name) : str_format("%s/%s", cwd[1] ? cwd : "", name);
        return take_if_executable(file, true, failure);
}

char *search_escape(const char *text)
{
        char *escaped = str_or_die(malloc(strlen(text) * 2 + 1)), *out = escaped;
        for (; *text; text++) {
                if (strchr("*?[\\", *text))
                        *out++ = '\\';
                *out++ = *text;
        }
        *out = 0;
        return escaped;
}

char *search_list_copies(const char *name, const char *home)
{
        /* Not /snap/bin: programs of snap cannot run in a sandbox. */
        static const char *const places[] = {
            "~/.nvm/versions/node/*/bin",
            "~/.local/share/fnm/node-versions/*/installation/bin",
            "~/.fnm/node-versions/*/installation/bin",
            "~/.volta/tools/image/node/*/bin",
            "~/.volta/bin",
            "~/.local/share/mise/installs/*/*/bin",
            "~/.asdf/installs/*/*/bin",
            "~/.asdf/shims",
            "~/.pyenv/versions/*/bin",
            "~/.local/share/uv/python/*/bin",
            "~/.local/share/uv/tools/*/bin",
            "~/.local/share/pnpm",
            "~/.npm-global/bin",
            "~/.local/bin",
            "~/.cargo/bin",
            "~/.bun/bin",
            "~/.deno/bin",
            "~/.nix-profile/bin",
            "~/.linuxbrew/bin",
            "~/bin",
            "/usr/local/bin",
            "/usr/bin",
            "/opt/*/bin",
            "/opt/bin",
            "/home/linuxbrew/.linuxbrew/bin",
            "/nix/var/nix/profiles/default/bin",
            "/run/current-system/sw/bin",
        };
        autofree char *escaped_name = search_escape(name);
        autofree char *escaped_home = search_escape(home ? home : "");
        glob_t copies = {0};
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                bool in_home = places[i][0] == '~';
                autofree char *pattern =
                    str_format("%s%s/%s", in_home ? escaped_home : "", places[i] + in_home, escaped_name);
                glob(pattern, i ? GLOB_APPEND : 0, NULL, &copies);
        }
        char *text = str_copy("");
        size_t listed = 0;
        for (size_t i = 0; i < copies.gl_pathc && listed < COPIES_MAX; i++) {
                int status;
                if (judge_file(copies.gl_pathv[i], true, &status))
                        continue;
                str_append(&text, "%s%s",
                           listed++ ? ", " : "; name it by its path: ", error_shown(copies.gl_pathv[i]));
        }
        globfree(&copies);
        return text;
}

bool search_explain(const struct search_failure *failure, const char *name, const char *path,
                    const char *home, struct error *error)
{
        if (strchr(name, ' ') && failure->status == EXIT_NOT_FOUND)
                return error_set(
                    error, EXIT_NOT_FOUND,
                    "the command \"%s\" was not found: write the command and each argument as separate words",
                    error_shown(name));
        size_t key = strcspn(name, "=");
        if (name[key] && str_is_variable_name(name, key) && failure->status == EXIT_NOT_FOUND)
                return error_set(
                    error, EXIT_NOT_FOUND,
                    "the command is %.*s=…, which sets a variable in a shell; write --env %.*s=… before --",
                    (int)key, name, (int)key, name);
        if (str_starts(name, "~/") && failure->status == EXIT_NOT_FOUND)
                return error_set(
                    error, EXIT_NOT_FOUND,
                    "the command %s was not found: ~ is not expanded after --; write the whole path",
                    error_shown(name));
        if (str_equal(name, failure->path))
                return error_set(error, failure->status, "the command %s cannot be started: %s",
                                 error_shown(name), failure->problem);
        if (strchr(name, '/') || failure->status == EXIT_NOT_EXECUTABLE)
                return error_set(error, failure->status, "the command %s cannot be started: %s: %s",
                                 error_shown(name), error_shown(failure->path), failure->problem);
        autofree char *copies = search_list_copies(name, home);
        char shown[600];
        error_quote(shown, sizeof(shown), path ? path : SEARCH_SYSTEM_PATH,
                    strlen(path ? path : SEARCH_SYSTEM_PATH));
        return error_set(error, EXIT_NOT_FOUND, "the command %s was not found on PATH (%s)%s",
                         error_shown(name), shown,
                         copies[0] ? copies : "; install it, or name it by its path");
}
