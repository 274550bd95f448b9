/* SPDX-License-Identifier: Apache-2.0
 *
 * See resolve.h.
 */
#include "resolve/resolve.h"

#include "command/toolchain.h"
#include "command/unseen.h"
#include "grants/base.h"
#include "grants/certificates.h"
#include "grants/copy_in.h"
#include "grants/grants.h"
#include "grants/hide.h"
#include "grants/mounts.h"
#include "grants/protect.h"
#include "grants/sockets.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/messages.h"
#include "lib/path_walk.h"
#include "packages/mounts.h"
#include "packages/persist.h"
#include "packages/start.h"
#include "policy/template.h"
#include "resolve/env.h"
#include "resolve/env_file.h"
#include "resolve/network.h"
#include "resolve/notes.h"
#include "resolve/proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PROFILE_BYTES = 1 << 20 };

/* Bytes of --disk for each inode; the sandbox's own directories need a few inodes. */
enum { BYTES_PER_INODE = 4096, INODES_LEAST = 1024 };

static bool choose_home(const struct resolver *resolver)
{
        resolver->box->home = box_choose_home();
        return true;
}

/* True when `path` does not exist; a path that cannot be examined is not missing. */
static bool is_missing(const char *path)
{
        return access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static bool add_host_grants(const struct resolver *resolver)
{
        const struct options *options = resolver->options;
        for (size_t i = 0; i < options->grant_count; i++) {
                const struct grant_option *grant = &options->grants[i];
                if (grant->memory)
                        continue;
                autofree char *path = path_join(resolver->cwd, grant->path);
                if (grant->optional && is_missing(path)) {
                        message_verbose("%s %s: it does not exist and is skipped", grant->option, path);
                        continue;
                }
                bool added = grant->overlay ? grants_add_overlay(resolver, path, grant->destination)
                                            : grants_add(resolver, path, grant->destination, grant->writable,
                                                         grant->option);
                if (!added)
                        return false;
        }
        return true;
}

/* After the grants, whose links may decide where a memory directory goes. */
static bool add_memory(const struct resolver *resolver)
{
        const struct options *options = resolver->options;
        for (size_t i = 0; i < options->grant_count; i++) {
                const struct grant_option *grant = &options->grants[i];
                if (grant->memory && !grants_add_memory(resolver, grant->path, grant->bytes, grant->option))
                        return false;
        }
        return true;
}

static bool add_grants(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        for (size_t i = 0; i < options->unsafe_grants.count; i++) {
                autofree char *path = path_join(resolver->cwd, options->unsafe_grants.values[i]);
                grants_permit_unsafe(resolver, path);
        }
        if (!add_host_grants(resolver) || !copy_in_add(resolver) || !grants_check_links(resolver) ||
            !add_memory(resolver))
                return false;
        for (size_t i = 0; i < resolver->held->unsafe.count; i++)
                if (!str_list_has(&box->unsafe_grants, resolver->held->unsafe.values[i]))
                        message("note: --unsafe-grant %s has no effect: no grant of exactly that path is "
                                "refused, and the option itself grants nothing",
                                resolver->held->unsafe.values[i]);
        return true;
}

static bool add_toolchain(const struct resolver *resolver)
{
        const struct toolchain *toolchain = resolver->toolchain;
        struct box *box = resolver->box;
        const char *real = path_walk_real(resolver_walker(resolver), toolchain->executable);
        box->executable = str_copy(toolchain->executable);
        bool sent = copy_in_find(box, toolchain->executable) != NULL;
        if (resolver->options->no_auto_grant && !sent && !(real && mounts_show(box, real)))
                return error_set(resolver->error, EXIT_SETUP,
                                 "the command %s is not visible inside, because --no-auto-grant grants "
                                 "nothing that the command names; add --ro %s",
                                 toolchain->executable, real ? real : toolchain->executable);
        /* First, so that --env replaces them. */
        for (size_t i = 0; i < toolchain->environment.count; i++)
                str_list_add(&box->environment, toolchain->environment.values[i]);
        for (size_t i = 0; i < toolchain->grants.count; i++) {
                const struct program_grant *grant = &toolchain->grants.values[i];
                const struct mount_reason reason = {ORIGIN_COMMAND, grant->why};
                if (grant->link)
                        mounts_add_link(box, grant->path, grant->link, reason);
                else if (!grants_add_program(resolver, grant->path, reason))
                        return false;
        }
        return true;
}

/* True when a grant is below `directory`: then the directory exists inside, at least as its parent. */
static bool leads_to_grant(const struct box *box, const char *directory)
{
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (mount_is_grant(mount) && directory[1] && path_is_below(mount->destination, directory))
                        return true;
        }
        return false;
}

/* The working directory: that of --cwd, which must exist inside; else the caller's when the sandbox shows it
 * or something below it, so that `python3 src/server.py` means the same inside; else the home. */
static bool choose_cwd(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        const char *wanted = resolver->work;
        if (!resolver->options->cwd) {
                bool exists = mounts_show(box, resolver->cwd) || leads_to_grant(box, resolver->cwd);
                box->cwd = str_copy(exists ? resolver->cwd : box->home);
                return true;
        }
        const char *real = path_walk_real(resolver_walker(resolver), wanted);
        const struct mount *mount = box_find_mount(box, wanted);
        bool is_empty = !mount || mount->kind == MOUNT_MEMORY;
        /* A link of the host that does not exist inside: the sandbox shows only what it leads to. */
        bool use_target = is_empty && real && mounts_show(box, real);
        if (!mount && !use_target)
                return error_set(
                    resolver->error, EXIT_SETUP,
                    "the working directory %s is not visible inside the sandbox: grant it with --ro or "
                    "--rw",
                    wanted);
        box->cwd = str_copy(use_target ? real : wanted);
        return true;
}

/* With `full`, /proc is not masked, and only file permissions protect its files, which root passes. */
static bool check_userns(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        if (box->userns == USERNS_FULL && box->outer_uid == 0)
                return error_set(
                    resolver->error, EXIT_SETUP,
                    "--allow-userns=full as root would let the command change the kernel's settings in "
                    "/proc/sys; start hutch as an ordinary user, or use --allow-userns");
        /* In its own mount namespace the command can drop the old root. The kernel then no longer refuses to
         * rename what is a mount point here. */
        if (box->userns == USERNS_FULL && mounts_any_writable(box))
                message("note: with --allow-userns=full the command can rename and replace paths inside a "
                        "writable grant that are protected or granted more narrowly");
        return true;
}

/* Refuses a file that decides about the sandbox and that the server may have written, or chosen by a link, in
 * an earlier run. */
static bool check_decides(const struct resolver *resolver, const char *option, const char *path)
{
        bool by_link;
        const struct mount *author =
            mounts_any_writable(resolver->box) ? mounts_find_author(resolver, path, &by_link) : NULL;
        if (!author)
                return true; /* reading it reports that it does not exist */
        return error_set(
            resolver->error, EXIT_SETUP,
            "refusing to use %s %s: %s the writable %s, and the server may have put it there; keep "
            "it where the server cannot write",
            option, path, by_link ? "a link leads there out of" : "it is in", author->source);
}

/* Also where the option is a name, or is not given: an installation of the user's can be in a grant. */
static bool check_template(const struct resolver *resolver)
{
        const char *file = resolver->template->file;
        autofree char *path = file[0] == '/' ? str_copy(file) : str_format("%s/%s", resolver->cwd, file);
        return check_decides(resolver, "--template", path);
}

static bool read_profile(const struct resolver *resolver)
{
        const char *path = resolver->options->seccomp;
        struct box *box = resolver->box;
        if (!path)
                return true;
        box->seccomp_path = path_join(resolver->cwd, path);
        if (!check_decides(resolver, "--seccomp", box->seccomp_path))
                return false;
        ssize_t length = fd_read_file(box->seccomp_path, MOST_PROFILE_BYTES, &box->seccomp_json);
        if (length < 0)
                return error_set(resolver->error, EXIT_SETUP, "cannot read the seccomp profile %s: %s",
                                 box->seccomp_path,
                                 length == -EFBIG ? "it is larger than 1 MiB" : strerror((int)-length));
        box->seccomp_length = (size_t)length;
        return true;
}

static bool read_env_files(const struct resolver *resolver, struct str_list *variables)
{
        const struct options *options = resolver->options;
        for (size_t i = 0; i < options->env_files.count; i++) {
                autofree char *path = path_join(resolver->cwd, options->env_files.values[i]);
                if (!env_file_read(resolver, path, variables))
                        return false;
        }
        return true;
}

static bool make_environment(const struct resolver *resolver)
{
        struct str_list from_files = {0};
        bool made = read_env_files(resolver, &from_files) && env_make(resolver, &from_files);
        str_list_free(&from_files);
        return made;
}

static void name_grants(const struct box *box)
{
        for (size_t i = 0; i < box->secret_names.count; i++)
                message_verbose("variable %s (--env or --env-file)", box->secret_names.values[i]);
        message_verbose("working directory %s", box->cwd);
        autofree char *limits = limits_describe(&box->limits, box->memory_fs_bytes);
        message_verbose("limits: %s", limits);
        if (box->limits.no_cgroup)
                message_verbose("no cgroup enforces them: %s", box->limits.no_cgroup);
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (mount->kind == MOUNT_MEMORY && mount->bytes)
                        message_verbose("memory of %ju bytes at %s (%s)", (uintmax_t)mount->bytes,
                                        mount->destination, mount->why);
                else if (mount->kind == MOUNT_MEMORY)
                        message_verbose("memory at %s (%s)", mount->destination, mount->why);
                if (mount->kind == MOUNT_MASK)
                        message_verbose("hidden %s (%s)", mount->destination, mount->why);
                if (mount->kind != MOUNT_BIND && mount->kind != MOUNT_OVERLAY)
                        continue;
                bool same = str_equal(mount->source, mount->destination);
                const char *how = mount->kind == MOUNT_OVERLAY ? "overlay of"
                                  : mount->writable            ? "writable"
                                                               : "read-only";
                message_verbose("%s %s%s%s (%s)", how, mount->source, same ? "" : " as ",
                                same ? "" : mount->destination, mount->why);
        }
        for (size_t i = 0; i < box->file_count; i++)
                message_verbose("a copy of %s as %s (--file)", box->files[i].source,
                                box->files[i].destination);
}

static const char *first_relative(const struct str_list *paths)
{
        for (size_t i = 0; i < paths->count; i++)
                if (paths->values[i][0] != '/')
                        return paths->values[i];
        return NULL;
}

/* The first path of an option that is relative to the working directory, or NULL. */
static const char *find_relative(const struct options *options)
{
        const char *const single[] = {options->cwd, options->tools.pins, options->seccomp};
        const struct str_list *const lists[] = {&options->unsafe_grants, &options->protect,
                                                &options->env_files};
        const char *found = NULL;
        for (size_t i = 0; i < options->grant_count && !found; i++)
                if (options->grants[i].path[0] != '/')
                        found = options->grants[i].path;
        for (size_t i = 0; i < options->file_count && !found; i++)
                if (options->files[i].local[0] != '/')
                        found = options->files[i].local;
        for (size_t i = 0; i < sizeof(single) / sizeof(*single) && !found; i++)
                if (single[i] && single[i][0] != '/')
                        found = single[i];
        for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && !found; i++)
                found = first_relative(lists[i]);
        return found;
}

/* The working directory, or "/" where it was deleted and no option is relative to it; NULL with an error. */
static const char *find_cwd(const struct options *options, struct error *error)
{
        const char *relative = options->directory ? NULL : find_relative(options);
        if (!relative)
                return options->directory ? options->directory : "/";
        error_set(error, EXIT_SETUP,
                  "cannot resolve %s: the working directory was deleted; start hutch in another directory, "
                  "or write the absolute path",
                  error_shown(relative));
        return NULL;
}

/* What the box holds before the first step decides anything. */
static bool copy_options(const struct resolver *resolver)
{
        const struct options *options = resolver->options;
        struct box *box = resolver->box;
        str_list_add_all(&box->argv, &options->command);
        str_list_add_all(&box->started, &options->command);
        if (options->log)
                box->log_path = path_join(resolver->cwd, options->log);
        tool_rules_copy(&box->tools, &options->tools);
        if (options->tools.pins)
                box->tools.pins = path_join(resolver->cwd, options->tools.pins);
        return template_load(box->template_name, resolver->template, resolver->error);
}

static bool choose_limits(const struct resolver *resolver)
{
        struct box *box = resolver->box;
        limits_choose(&box->limits, box->outer_uid, box->proc);
        return limits_check(&box->limits, box->required, resolver->error);
}

static bool finish(const struct resolver *resolver)
{
        package_start(resolver);
        mounts_sort(resolver->box);
        proxy_forget();
        for (size_t i = 0; i < resolver->toolchain->notes.count; i++)
                message("note: %s", resolver->toolchain->notes.values[i]);
        unseen_note(resolver, &resolver->toolchain->data);
        notes_say(resolver);
        if (resolver->box->verbose) {
                template_note_missing(resolver->template);
                name_grants(resolver->box);
        }
        return true;
}

/* Each step reads the options and what the earlier steps put into the box. The comments say why a step has
 * its place. */
static bool (*const steps[])(const struct resolver *) = {
    /* Needs no grant, and fails before anything is looked at. */
    choose_limits,
    copy_options,
    choose_home,
    network_make,
    /* The tree of every sandbox, into which the user's grants go. */
    base_add,
    persist_add, /* replaces the home of the base */
    /* The user's grants come before everything that files decide: an earlier run of the server may have
     * written the files in a writable one, and every later step asks for that. */
    add_grants,
    check_template,
    check_userns,
    toolchain_find,
    add_toolchain,
    package_mounts_add, /* asks whether the command's package is installed */
    /* Every path that the command starts with is visible now, or is not. */
    choose_cwd,
    read_profile,
    make_environment,
    certificates_add, /* reads variables of the environment */
    /* What takes away or protects comes when every mount is there that it applies to. */
    hide_add,
    sockets_hide,
    persist_make_mount_points, /* before protect_add(), which keeps the server from moving them */
    protect_add,               /* pins the directories above every mount and mask */
    copy_in_place,             /* no file is copied over a protected or hidden path */
    /* Nothing is decided after this. */
    finish,
};

/* Raises the limit of open files: each grant keeps a descriptor until the sandbox has compared it. Returns
 * the caller's limit. */
static uint64_t raise_open_files(void)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 1024;
        uint64_t soft = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        return soft;
}

bool resolve_box(struct box *box, struct held_sources *held, enum box_kind kind,
                 const struct options *options, struct error *error)
{
        *box = (struct box){
            .kind = kind,
            .template_name = str_copy(options->template_name ? options->template_name : TEMPLATE_DEFAULT),
            .outer_uid = geteuid(),
            .outer_gid = getegid(),
            .open_files = raise_open_files(),
            .limits = {.memory_bytes = options->memory_bytes ? options->memory_bytes : LIMITS_MEMORY_DEFAULT,
                       .pids = options->pids ? options->pids : LIMITS_PIDS_DEFAULT,
                       .cpus = options->cpus,
                       .given = (options->memory_bytes ? REQUIRE_MEMORY : 0U) |
                                (options->pids ? REQUIRE_PIDS : 0U) | (options->cpus ? REQUIRE_CPUS : 0U)},
            .memory_fs_bytes = options->disk_bytes ? options->disk_bytes : LIMITS_DISK_DEFAULT,
            .timeout_seconds = options->timeout_seconds,
            .stop_grace_seconds = options->stop_grace_seconds,
            .raw_stdout = options->raw_stdout,
            .userns = (enum userns_mode)options->userns,
            .proc = !options->no_proc,
            .required = options->required,
            .verbose = options->verbose,
        };
        box->memory_fs_inodes = INODES_LEAST + box->memory_fs_bytes / BYTES_PER_INODE;

        const char *cwd = find_cwd(options, error);
        if (!cwd)
                return false;
        autofree char *wanted = options->cwd ? path_join(cwd, options->cwd) : NULL;
        struct template template = {0};
        struct toolchain toolchain = {0};
        struct package_mounts packages = {0};
        const struct resolver resolver = {
            .options = options,
            .search_path = getenv("PATH"),
            .cwd = cwd,
            .work = wanted ? wanted : cwd,
            .home = caller_homes()->spelled,
            .box = box,
            .held = held,
            .template = &template,
            .toolchain = &toolchain,
            .packages = &packages,
            .error = error,
        };
        bool made = true;
        for (size_t i = 0; made && i < sizeof(steps) / sizeof(*steps); i++)
                made = steps[i](&resolver);
        package_mounts_release(&packages);
        toolchain_free(&toolchain);
        template_free(&template);
        return made;
}
