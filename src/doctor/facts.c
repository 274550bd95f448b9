/* SPDX-License-Identifier: Apache-2.0
 *
 * See facts.h.
 */
#include "doctor/facts.h"

#include "command/search.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "ns/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, GROUPS_MAX = 65536 };

static const char *const tools[TOOL_COUNT] = {"node", "npx", "python3", "uv", "uvx", "deno", "bun"};

/* The content of a file below `root`, or "". The caller frees. */
static char *read_file_below(const char *root, const char *path)
{
        autofree char *full = str_format("%s%s", root, path);
        char *text = NULL;
        return fd_read_file(full, FILE_MAX, &text) < 0 ? str_copy("") : text;
}

static char *read_line_below(const char *root, const char *path)
{
        char *text = read_file_below(root, path);
        text[strcspn(text, "\n")] = 0;
        return text;
}

static bool exists_below(const char *root, const char *path)
{
        autofree char *full = str_format("%s%s", root, path);
        return access(full, F_OK) == 0;
}

/* ---- reading ---- */

/* The kernel keeps empty directories there as mount points for other file systems, which hide nothing. */
static bool hides_nothing(const char *place)
{
        return str_equal(place, "/proc/sys/fs/binfmt_misc") || str_equal(place, "/proc/fs/nfsd");
}

static void read_proc_covers(struct facts *facts, const char *root)
{
        autofree char *mounts = read_file_below(root, "/proc/self/mountinfo");
        char *rest = NULL;
        for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char place[256]; /* the fifth field */
                if (sscanf(line, "%*s %*s %*s %*s %255s", place) != 1)
                        continue;
                if (str_starts(place, "/proc/") && !hides_nothing(place) &&
                    !str_list_has(&facts->proc_covers, place))
                        str_list_add(&facts->proc_covers, place);
        }
}

static void read_kvm(struct facts *facts, const char *root)
{
        autofree char *path = str_format("%s/dev/kvm", root);
        autoclose int device = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        facts->kvm_error = device < 0 ? errno : 0;
        facts->kvm_device = exists_below(root, "/dev/kvm");
        facts->kvm_paravirtual = exists_below(root, "/sys/module/kvm_pvm");
}

static void read_cgroups(struct facts *facts, const char *root)
{
        autofree char *own = read_file_below(root, "/proc/self/cgroup");
        const char *unified = str_starts(own, "0::") ? own : strstr(own, "\n0::");
        if (!exists_below(root, "/sys/fs/cgroup/cgroup.controllers")) {
                facts->cgroups = !own[0] ? CGROUP_NONE : unified ? CGROUP_HYBRID : CGROUP_V1;
                return;
        }
        facts->cgroups = CGROUP_V2;
        if (!unified)
                return;
        const char *directory = strstr(unified, "::") + 2;
        autofree char *procs =
            str_format("%s/sys/fs/cgroup%.*s/cgroup.procs", root, (int)strcspn(directory, "\n"), directory);
        facts->cgroup_delegated = access(procs, W_OK) == 0;
}

/* True if a systemd listens: the socket of one that has ended stays behind. */
static bool bus_answers(const char *root, uid_t uid)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/user/%u/bus", root, uid);
        if (length < 0 || (size_t)length >= sizeof(address.sun_path))
                return false;
        autoclose int bus = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return bus >= 0 && connect(bus, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void read_groups(struct facts *facts)
{
        autofree gid_t *groups = str_or_die(calloc(GROUPS_MAX, sizeof(*groups)));
        int count = getgroups(GROUPS_MAX, groups);
        for (int i = 0; i < count; i++) {
                if (groups[i] == getegid())
                        continue;
                const struct group *group = getgrgid(groups[i]); /* NOLINT(concurrency-mt-unsafe) */
                str_list_take(&facts->groups, group ? str_copy(group->gr_name) : str_format("%u", groups[i]));
        }
}

void facts_read(struct facts *facts, const char *root)
{
        *facts = (struct facts){
            .uid = geteuid(),
            .release = read_line_below(root, "/proc/sys/kernel/osrelease"),
            .modules = read_line_below(root, "/sys/kernel/security/lsm"),
            .plain.failure.stage = STAGE_COUNT,
            .landlock_abi = landlock_abi(),
        };
        machine_look(&facts->machine, root);
        facts->landlock_disabled = !facts->landlock_abi &&
                                   syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 &&
                                   errno == EOPNOTSUPP;
        autofree char *actions = read_line_below(root, "/proc/sys/kernel/seccomp/actions_avail");
        facts->seccomp_filters = strstr(actions, "errno");
        facts->bus = bus_answers(root, facts->uid);
        read_proc_covers(facts, root);
        read_kvm(facts, root);
        read_cgroups(facts, root);
        read_groups(facts);
        facts->limits = (struct limits){
            .memory_bytes = LIMITS_MEMORY_DEFAULT, .pids = LIMITS_PIDS_DEFAULT, .cpus = LIMITS_CPUS_WHOLE};
        limits_choose(&facts->limits, facts->uid, true);
}

/* ---- trying ---- */

static void try_tool(struct tool_fact *tool, const char *name)
{
        const char *path = getenv("PATH");
        autofree char *cwd = getcwd(NULL, 0);
        tool->name = name;
        tool->path = search_path(path ? path : SEARCH_SYSTEM_PATH, cwd ? cwd : "/", name, NULL);
        if (!tool->path) {
                tool->copies = search_list_copies(name, caller_homes()->spelled);
                return;
        }
        tool->real = realpath(tool->path, NULL);
        trial_run(&tool->trial, TRIAL_PLAIN, name, tool->path, "--version");
}

void facts_try(struct facts *facts, const struct error *settled)
{
        /* some distributions have no /bin/true, but one on PATH */
        const char *program = access("/bin/true", X_OK) == 0 ? "/bin/true" : "true";
        if (settled->status)
                facts->plain.error = *settled;
        else
                trial_run(&facts->plain, TRIAL_PLAIN, program, program, NULL);
        if (facts->plain.started)
                trial_run(&facts->overlay, TRIAL_OVERLAY, program, program, NULL);
        else if (facts->plain.failure.stage == STAGE_PROC)
                trial_run(&facts->no_proc, TRIAL_NO_PROC, program, program, NULL);
        for (size_t i = 0; i < TOOL_COUNT; i++)
                try_tool(&facts->tools[i], tools[i]);
}

void facts_free(struct facts *facts)
{
        for (size_t i = 0; i < TOOL_COUNT; i++) {
                free(facts->tools[i].path);
                free(facts->tools[i].real);
                free(facts->tools[i].copies);
        }
        free(facts->release);
        free(facts->modules);
        str_list_free(&facts->groups);
        str_list_free(&facts->proc_covers);
        *facts = (struct facts){0};
}
