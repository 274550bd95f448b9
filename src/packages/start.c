/* SPDX-License-Identifier: Apache-2.0
 *
 * See start.h. Before npm takes a package of its cache, it looks (libnpmexec) at a project around the working
 * directory, at its settings, and at the packages installed there and globally. Where any of these exists and
 * could count, npx decides.
 */
#include "packages/start.h"

#include "grants/copy_in.h"
#include "lib/environment.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/real_path.h"
#include "packages/program.h"
#include "packages/request.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MANIFEST_MAX = 1 << 20, TRIES_MAX = 100 };

/* npm starts a program through sh, which has builtin commands by these names. */
static const char shell_builtins[] =
    ". : [ alias bg bind break builtin caller cd chdir command compgen complete compopt continue "
    "declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs "
    "kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift "
    "shopt source suspend test times trap true type typeset ulimit umask unalias unset wait";

/* ---- the entry ---- */

static int open_within(int directory, const char *path, int flags, unsigned resolve)
{
        struct open_how how = {
            .flags = (unsigned)(flags | O_CLOEXEC),
            .resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };
        int file;
        unsigned tries = 0;
        /* The kernel gives up a path with ".." when anything is renamed or mounted meanwhile, anywhere. */
        do
                file = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
        while (file < 0 && errno == EAGAIN && ++tries < TRIES_MAX);
        return file;
}

/* True when the program is a file in the entry that the kernel can start. Links may lead to it, but not out
 * of the entry. */
static bool is_program(const struct package_mounts *use, const char *name)
{
        char head[4];
        struct stat status;
        autofree char *above = str_format("/%s", use->entry.directory);
        autofree char *tree = path_parent(above);
        autofree char *path = str_format("%s/%s", path_base(above), name);
        autoclose int cache = real_path_open(use->source, O_RDONLY | O_DIRECTORY);
        autoclose int directory =
            cache < 0 ? -1 : open_within(cache, tree + 1, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
        autoclose int file =
            directory < 0 ? -1 : open_within(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (file < 0 || fstat(file, &status) < 0 || !S_ISREG(status.st_mode) || !(status.st_mode & S_IXUSR))
                return false;
        ssize_t length = pread(file, head, sizeof(head), 0);
        return (length > 2 && memcmp(head, "#!", 2) == 0) || (length == 4 && memcmp(head, "\177ELF", 4) == 0);
}

/* ---- what else could count ---- */

/* True when the command's file is named `one` or `other`. It follows links, and a version manager's shim,
 * which is a link inside. */
static bool is_tool(const struct toolchain *toolchain, const char *one, const char *other)
{
        const char *command = toolchain->executable;
        for (size_t i = 0; i < toolchain->grants.count; i++) {
                const struct program_grant *grant = &toolchain->grants.values[i];
                if (grant->link && grant->link[0] == '/' && str_equal(grant->path, command))
                        command = grant->link;
        }
        autofree char *real = realpath(command, NULL);
        return real && (str_equal(path_base(real), one) || str_equal(path_base(real), other));
}

/* True when the box's environment has a variable that begins with `prefix`, in any case, and that hutch did
 * not set. */
static bool has_settings(const struct box *box, const struct entry *entry, const char *prefix)
{
        static const char known[] =
            "npm_config_update_notifier npm_config_offline npm_config_prefer_offline "
            "npm_config_fetch_retries "
            "npm_config_audit npm_config_fund npm_config_logs_max UV_OFFLINE UV_PYTHON_DOWNLOADS";
        for (size_t i = 0; i < box->environment.count; i++) {
                const char *variable = box->environment.values[i];
                if (strncasecmp(variable, prefix, strlen(prefix)) == 0 &&
                    !str_words_have(known, variable, strcspn(variable, "=")) &&
                    !str_list_has(&entry->environment, variable))
                        return true;
        }
        return false;
}

/* True when the user set a variable by which the tools find their caches. */
static bool moves_cache(const struct box *box)
{
        static const char *const names[] = {"HOME", "PREFIX", "XDG_CACHE_HOME", "XDG_DATA_HOME"};
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (str_list_has(&box->secret_names, names[i]))
                        return true;
        return false;
}

/* The host's path of a path inside, or NULL where the sandbox shows nothing of the host. The caller frees. */
static char *find_outside(const struct box *box, const char *path)
{
        const struct mount *mount = box_find_mount(box, path);
        bool shown = mount && (mount->kind == MOUNT_BIND || mount->kind == MOUNT_OVERLAY);
        return shown ? str_format("%s%s", mount->source, path + strlen(mount->destination)) : NULL;
}

/* True when `directory` inside has an entry `name`, from the host or by --file. */
static bool is_there(const struct box *box, const char *directory, const char *name)
{
        autofree char *path = path_join(directory, name);
        autofree char *outside = find_outside(box, path);
        return copy_in_lead_to(box, path) || (outside && access(outside, F_OK) == 0);
}

/* True unless the project's manifest certainly has no program `name`. */
static bool may_bring(const struct box *box, const char *directory, const char *name)
{
        autofree char *path = path_join(directory, "package.json");
        autofree char *outside = find_outside(box, path);
        autofree char *text = NULL;
        autoclose int file =
            outside ? open(outside, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) : -1;
        struct stat status;
        bool regular = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
        ssize_t length = regular ? fd_read_all(file, MANIFEST_MAX, &text) : -1;
        cJSON *manifest = length < 0 ? NULL : cJSON_ParseWithLength(text, (size_t)length);
        const cJSON *bin = cJSON_GetObjectItemCaseSensitive(manifest, "bin");
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(manifest, "name");
        bool named = cJSON_IsString(own) && str_equal(path_base(own->valuestring), path_base(name));
        bool brings = !cJSON_IsObject(manifest) || named || cJSON_GetObjectItemCaseSensitive(bin, name) ||
                      cJSON_GetObjectItemCaseSensitive(manifest, "directories");
        cJSON_Delete(manifest);
        return brings;
}

/* True when a directory at or above the working directory has something that npm could prefer. `written` is
 * the package as in the command, `name` the package without its version. */
static bool has_project(const struct box *box, const char *written, const char *name)
{
        autofree char *command = str_format("node_modules/.bin/%s", written);
        autofree char *package = str_format("node_modules/%s", name);
        for (autofree char *directory = str_copy(box->cwd);;) {
                if (is_there(box, directory, ".npmrc") || is_there(box, directory, command) ||
                    is_there(box, directory, package) ||
                    (is_there(box, directory, "package.json") && may_bring(box, directory, name)))
                        return true;
                if (!directory[1])
                        return false;
                char *above = path_parent(directory);
                free(directory);
                directory = above;
        }
}

/* True when the package is installed beside npm, or where npm looks for global packages. */
static bool is_global(const struct toolchain *toolchain, const char *written, const char *name)
{
        autofree char *directory = path_parent(toolchain->executable);
        autofree char *beside = path_parent(directory);
        const char *const prefixes[] = {beside, "/usr/local", "/usr"};
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
                autofree char *command = str_format("%s/bin/%s", prefixes[i], written);
                autofree char *package = str_format("%s/lib/node_modules/%s", prefixes[i], name);
                if (access(command, F_OK) == 0 || access(package, F_OK) == 0)
                        return true;
        }
        return false;
}

/* ---- the change ---- */

/* The directories that npm puts on PATH: the package's own, then those of the projects upward. */
static char *list_directories(const struct box *box, const char *own)
{
        char *path = str_copy(own);
        for (autofree char *directory = str_copy(box->cwd);;) {
                autofree char *modules = path_join(directory, "node_modules/.bin");
                str_append(&path, ":%s", modules);
                if (!directory[1])
                        return path;
                char *above = path_parent(directory);
                free(directory);
                directory = above;
        }
}

static void start_program(struct box *box, const struct package_mounts *use, struct fetch_program *program)
{
        autofree char *directory = path_join(use->place, use->entry.directory);
        autofree char *front = program->uv ? str_copy(directory) : list_directories(box, directory);
        const char *path = environment_find(&box->environment, "PATH");
        environment_set(&box->environment, str_format("PATH=%s:%s", front, path ? path : ""));
        if (!program->uv) {
                environment_set(&box->environment, str_format("INIT_CWD=%s", box->cwd));
                environment_set(&box->environment, str_copy("npm_command=exec"));
                environment_set(&box->environment, str_copy("npm_lifecycle_event=npx"));
        }
        message_verbose("the fetched package's program %s is started directly, without %s",
                        error_shown(program->words.values[0]), error_shown(box->argv.values[0]));
        free(box->executable);
        box->executable = path_join(directory, program->words.values[0]);
        str_list_free(&box->started);
        box->started = program->words;
        program->words = (struct str_list){0};
}

void package_start(struct box *box, const struct toolchain *toolchain, const struct package_mounts *use)
{
        struct fetch_program program = {0};
        if (!use->source || !use->entry.directory[0] || moves_cache(box) ||
            !fetch_program_read(&box->argv, &program)) {
                fetch_program_free(&program);
                return;
        }
        autofree char *name = fetch_package_name(program.uv ? FETCH_UV : FETCH_NPM, program.package);
        char **first = &program.words.values[0];
        if (!(*first)[0]) {
                free(*first);
                *first = str_copy(use->entry.program);
        }
        bool known = (*first)[0] && is_program(use, *first);
        if (known && program.uv)
                known = is_tool(toolchain, "uv", "uvx") && !has_settings(box, &use->entry, "UV_");
        else if (known)
                known = is_tool(toolchain, "npx-cli.js", "npm-cli.js") &&
                        !has_settings(box, &use->entry, "npm_config_") &&
                        !str_words_have(shell_builtins, *first, strlen(*first)) &&
                        !is_there(box, box->home, ".npmrc") && !has_project(box, program.package, name) &&
                        !is_global(toolchain, program.package, name);
        if (known)
                start_program(box, use, &program);
        fetch_program_free(&program);
}
