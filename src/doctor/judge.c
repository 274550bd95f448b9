/* SPDX-License-Identifier: Apache-2.0
 *
 * See judge.h. A sandbox that started decides; files and settings only explain why one did not start.
 */
#include "doctor/judge.h"

#include "lib/fd.h"
#include "ns/landlock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { LISTED_MAX = 6 };
#define FLOOR "Linux 5.14 or newer"

#define NOT_TRIED "not tried, because no sandbox starts"

const char *finding_state_name(enum finding_state state)
{
        static const char *const names[] = {"ok", "degraded", "missing"};
        return names[state];
}

/* `text` as one printable line. The caller frees. */
static char *printable(const char *text)
{
        size_t size = strlen(text) * 4 + 1;
        return error_quote(str_or_die(malloc(size)), size, text, strlen(text));
}

/* Adds a row. `fix` may be NULL; the rest is the detail. */
static void __attribute__((format(printf, 5, 6)))
add(struct findings *findings, const char *key, enum finding_state state, const char *fix, const char *format,
    ...)
{
        char *text;
        va_list arguments;
        va_start(arguments, format);
        int length = vasprintf(&text, format, arguments);
        va_end(arguments);
        autofree char *detail = str_or_die(length < 0 ? NULL : text);
        findings->rows[findings->count++] = (struct finding){.key = key,
                                                             .state = state,
                                                             .used = !str_equal(key, "kvm"),
                                                             .detail = printable(detail),
                                                             .fix = fix ? printable(fix) : NULL};
}

/* The first items of a list, with commas between them. The caller frees. */
static char *join(const struct str_list *list)
{
        struct str_list first = {list->values, list->count < LISTED_MAX ? list->count : LISTED_MAX};
        char *text = str_join(&first, ", ");
        if (list->count > LISTED_MAX)
                str_append(&text, " and %zu more", list->count - LISTED_MAX);
        return text;
}

static bool failed_at(const struct facts *facts, enum stage stage)
{
        return !facts->plain.started && facts->plain.failure.stage == (uint32_t)stage;
}

static void judge_sandbox(const struct facts *facts, struct findings *findings)
{
        const struct trial *plain = &facts->plain;
        if (plain->started)
                add(findings, "sandbox", FINDING_OK, NULL, "started, and ran %s inside, in %u ms",
                    plain->path, plain->milliseconds);
        else
                add(findings, "sandbox", FINDING_MISSING,
                    facts->no_proc.started ? "use --proc none: a sandbox starts with it" : NULL, "%s",
                    plain->error.text);
}

static void judge_kernel(const struct facts *facts, struct findings *findings)
{
        const char *release = facts->release[0] ? facts->release : "of unknown version";
        if (str_is_release(release, 5, 14))
                add(findings, "kernel", FINDING_OK, NULL, "Linux %s", release);
        else if (facts->plain.started)
                add(findings, "kernel", FINDING_DEGRADED, FLOOR,
                    "Linux %s, older than hutch supports, but it has what a sandbox needs", release);
        else
                add(findings, "kernel", FINDING_MISSING, FLOOR, "Linux %s, and there is no fallback",
                    release);
}

static void judge_namespaces(const struct facts *facts, struct findings *findings)
{
        struct reason reason = {0};
        if (facts->plain.started)
                add(findings, "namespaces", FINDING_OK, NULL,
                    "user, mount, pid, network, ipc, uts, cgroup: all work");
        else if (diagnose_settings(&facts->machine, &reason) ||
                 (!failed_at(facts, STAGE_PROC) &&
                  failure_diagnose(&facts->plain.failure, &facts->machine, &reason)))
                add(findings, "namespaces", FINDING_MISSING, reason.fix, "%s", reason.why);
        else if (failed_at(facts, STAGE_NAMESPACES))
                add(findings, "namespaces", FINDING_MISSING, NULL, "the kernel creates none: %s",
                    strerror(facts->plain.failure.error));
        else
                add(findings, "namespaces", FINDING_OK, NULL, "no setting forbids them");
}

static void judge_proc(const struct facts *facts, struct findings *findings)
{
        bool refused = failed_at(facts, STAGE_PROC);
        autofree char *covers = join(&facts->proc_covers);
        if (!facts->plain.started && (refused || covers[0])) {
                struct reason reason = {0};
                diagnose_refused_step(&facts->machine, true, refused ? facts->plain.failure.error : EPERM,
                                      &reason);
                add(findings, "proc", FINDING_MISSING, reason.fix, "%s%s%s", reason.why,
                    covers[0] ? ": " : "", covers);
        } else if (failed_at(facts, STAGE_PROC_MASK)) {
                add(findings, "proc", FINDING_MISSING, "use --proc none", "%s in it cannot be masked: %s",
                    facts->plain.failure.path, strerror(facts->plain.failure.error));
        } else {
                add(findings, "proc", FINDING_OK, NULL, "%s",
                    facts->plain.started ? "a fresh one is mounted" : "nothing in it is masked");
        }
}

/* What hutch uses of Landlock, by version of its ABI. */
static const struct {
        int abi;
        const char *gives, *kernel;
} layers[] = {
    {2, "writes only below writable grants", "5.19"},
    {3, "truncating too", "6.2"},
    {6, "signals and abstract sockets stay inside", "6.12"},
};
enum { LAYERS = sizeof(layers) / sizeof(*layers) };

static void judge_landlock_version(int abi, struct findings *findings)
{
        const char *why;
        struct str_list has = {0}, lacks = {0};
        for (size_t i = 0; i < LAYERS; i++) {
                if (layers[i].abi <= abi)
                        str_list_add(&has, layers[i].gives);
                else
                        str_list_take(&lacks, str_format("%s (Linux %s)", layers[i].gives, layers[i].kernel));
        }
        autofree char *present = join(&has);
        autofree char *absent = join(&lacks);
        str_list_free(&has);
        str_list_free(&lacks);
        /* On every kernel before 7.1, so that it does not make the row worse. */
        const char *sockets =
            landlock_guards_sockets(&(struct box){0}, abi)
                ? ""
                : "; not limited: sockets below a grant that hutch does not hide (Linux 7.1)";
        if (!landlock_guards_files(&(struct box){0}, abi, &why))
                add(findings, "landlock", FINDING_DEGRADED, "Linux 6.12 or newer has all of these",
                    "version %d: %s%s", abi, why, sockets);
        else if (absent[0])
                add(findings, "landlock", FINDING_DEGRADED, "Linux 6.12 or newer has all of these",
                    "version %d: %s; lacking: %s%s", abi, present, absent, sockets);
        else
                add(findings, "landlock", FINDING_OK, NULL, "version %d: %s%s", abi, present, sockets);
}

static void judge_landlock(const struct facts *facts, struct findings *findings)
{
        autofree char *enable = str_format("add lsm=landlock,%s to the kernel command line and reboot",
                                           facts->modules[0] ? facts->modules : "…");
        if (facts->landlock_abi)
                judge_landlock_version(facts->landlock_abi, findings);
        else if (facts->landlock_disabled)
                add(findings, "landlock", FINDING_MISSING, enable,
                    "not enabled at boot; only the mounts protect files, and changes of the "
                    "host's name servers are not followed");
        else
                add(findings, "landlock", FINDING_MISSING,
                    "Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK, best 6.12 or newer",
                    "not in this kernel, or hidden by a filter that hutch runs under; only the "
                    "mounts protect files, and changes of the host's name servers are not followed");
}

static void judge_seccomp(const struct facts *facts, struct findings *findings)
{
        const char *around =
            facts->machine.filtered ? ", in addition to one that hutch was started under" : "";
        if (failed_at(facts, STAGE_SECCOMP) || (!facts->plain.started && !facts->seccomp_filters))
                add(findings, "seccomp", FINDING_MISSING,
                    "use a kernel with CONFIG_SECCOMP_FILTER, or a container that permits seccomp",
                    "the kernel accepts no system call filter");
        else
                add(findings, "seccomp", FINDING_OK, NULL, "%s%s",
                    facts->plain.started ? "filters are loaded" : "the kernel has filters", around);
}

static void judge_identity(const struct facts *facts, struct findings *findings)
{
        autofree char *groups = join(&facts->groups);
        if (facts->uid == 0)
                add(findings, "identity", FINDING_DEGRADED, "start hutch as an ordinary user",
                    "you are root: a sandbox acts as root on the files that it is granted");
        else if (groups[0])
                add(findings, "identity", FINDING_OK, NULL,
                    "only your user id; your supplementary groups still apply to granted files: %s", groups);
        else
                add(findings, "identity", FINDING_OK, NULL,
                    "only your user id; you have no supplementary groups");
}

static void judge_overlay(const struct facts *facts, struct findings *findings)
{
        if (facts->overlay.started)
                add(findings, "overlay", FINDING_OK, NULL, "--overlay works");
        else if (facts->plain.started)
                add(findings, "overlay", FINDING_MISSING, NULL, "%s", facts->overlay.error.text);
        else
                add(findings, "overlay", FINDING_DEGRADED, NULL, NOT_TRIED);
}

/* Who installed the program, judged by its path. */
static const char *name_manager(const char *path, const char *real)
{
        static const struct {
                const char *part, *manager;
        } places[] = {
            {"/snap/", "snap"},
            {"/usr/bin/snap", "snap"},
            {"/.nvm/", "nvm"},
            {"/fnm/", "fnm"},
            {"/.fnm/", "fnm"},
            {"/fnm_multishells/", "fnm"},
            {"/.volta/", "Volta"},
            {"/mise/", "mise"},
            {"/.asdf/", "asdf"},
            {"/.pyenv/", "pyenv"},
            {"/uv/", "uv"},
            {"/linuxbrew/", "Homebrew"},
            {"/.linuxbrew/", "Homebrew"},
            {"/nix/", "Nix"},
            {"/.nix-profile/", "Nix"},
            {"/miniconda", "conda"},
            {"/miniforge", "conda"},
            {"/anaconda", "conda"},
            {"/.cargo/", "cargo"},
            {"/.bun/", "bun"},
            {"/.deno/", "deno"},
            {"/.local/bin/", "~/.local/bin"},
        };
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
                if (strstr(path, places[i].part) || strstr(real, places[i].part))
                        return places[i].manager;
        if (str_starts(real, "/usr/local/"))
                return "/usr/local";
        return str_starts(real, "/usr/") || str_starts(real, "/bin/") ? "the system" : "installed by hand";
}

static void judge_tool(const struct facts *facts, const struct tool_fact *tool, struct findings *findings)
{
        if (!tool->path) {
                add(findings, tool->name, FINDING_MISSING, NULL, "not on PATH%s", tool->copies);
                return;
        }
        const char *manager = name_manager(tool->path, tool->real ? tool->real : tool->path);
        if (tool->trial.started)
                add(findings, tool->name, FINDING_OK, NULL, "%s (%s), works: %s", tool->path, manager,
                    tool->trial.line);
        else if (facts->plain.started)
                add(findings, tool->name, FINDING_MISSING, NULL, "%s (%s) cannot work: %s", tool->path,
                    manager, tool->trial.error.text);
        else
                add(findings, tool->name, FINDING_DEGRADED, NULL, "%s (%s), " NOT_TRIED, tool->path, manager);
}

static void judge_kvm(const struct facts *facts, struct findings *findings)
{
        if (!facts->kvm_device)
                add(findings, "kvm", FINDING_MISSING,
                    "enable virtualization in the firmware (or, in a virtual machine, nested "
                    "virtualization), then `sudo modprobe kvm_intel` or kvm_amd",
                    "there is no /dev/kvm");
        else if (facts->kvm_paravirtual)
                add(findings, "kvm", FINDING_DEGRADED, NULL,
                    "kvm_pvm is paravirtual and cannot run a stock kernel");
        else if (facts->kvm_error == EACCES)
                add(findings, "kvm", FINDING_MISSING, "run `sudo usermod -aG kvm $USER`, then log in again",
                    "you may not open /dev/kvm");
        else if (facts->kvm_error)
                add(findings, "kvm", FINDING_MISSING, NULL, "/dev/kvm cannot be opened: %s",
                    strerror(facts->kvm_error));
        else
                add(findings, "kvm", FINDING_OK, NULL, "/dev/kvm opens");
}

static void judge_cgroups(const struct facts *facts, struct findings *findings)
{
        static const char unify[] =
            "add systemd.unified_cgroup_hierarchy=1 to the kernel command line and reboot";
        switch (facts->cgroups) {
        case CGROUP_NONE:
                add(findings, "cgroups", FINDING_MISSING, NULL, "no cgroups are visible");
                break;
        case CGROUP_V1:
                add(findings, "cgroups", FINDING_MISSING, unify, "version 1 only");
                break;
        case CGROUP_HYBRID:
                add(findings, "cgroups", FINDING_MISSING, unify,
                    "version 1; version 2 is not at /sys/fs/cgroup");
                break;
        case CGROUP_V2:
                if (facts->cgroup_delegated || facts->bus)
                        add(findings, "cgroups", FINDING_OK, NULL, "version 2; %s%s%s",
                            facts->cgroup_delegated ? "your cgroup is delegated" : "",
                            facts->cgroup_delegated && facts->bus ? ", and " : "",
                            facts->bus ? "your systemd answers on D-Bus" : "");
                else
                        add(findings, "cgroups", FINDING_DEGRADED,
                            "run `sudo loginctl enable-linger $USER`, or log in through a "
                            "systemd session",
                            "version 2, but no cgroup is delegated to you, and no "
                            "systemd of yours answers on D-Bus");
        }
}

/* Which mechanism will enforce each limit, and what none of them enforces although --memory reads as if it
 * did.
 */
static void judge_limits(const struct facts *facts, struct findings *findings)
{
        const struct limits *limits = &facts->limits;
        autofree char *how =
            str_format("memory: %s%s; processes: %s; processors: %s", limit_mechanism_name(limits->memory),
                       limits->memory == LIMIT_WATCHDOG ? ", and not limited: buffers of pipes and sockets, "
                                                          "shared memory that no process has mapped"
                                                        : "",
                       limit_mechanism_name(limits->processes), limit_mechanism_name(limits->processors));
        if (limits->way == CGROUP_WAY_NONE)
                add(findings, "limits", limits->processes == LIMIT_NONE ? FINDING_MISSING : FINDING_DEGRADED,
                    "a cgroup enforces them exactly; see cgroups below",
                    "%s; a fraction of a processor: none; %s", how,
                    limits->no_cgroup ? limits->no_cgroup : "there are no cgroups");
        else
                add(findings, "limits", FINDING_OK, NULL, "%s, %s", how,
                    limits->way == CGROUP_WAY_SYSTEMD ? "in a scope that systemd makes"
                                                      : "in a cgroup that is delegated to you");
}

static void judge_pid_max(const struct facts *facts, struct findings *findings)
{
        if (str_is_release(facts->release, 6, 14))
                add(findings, "pid_max", FINDING_OK, NULL, "each pid namespace has its own");
        else
                add(findings, "pid_max", FINDING_MISSING, "Linux 6.14 or newer", "one for the whole machine");
}

void judge_facts(const struct facts *facts, struct findings *findings)
{
        *findings = (struct findings){0};
        judge_sandbox(facts, findings);
        judge_kernel(facts, findings);
        judge_namespaces(facts, findings);
        judge_proc(facts, findings);
        judge_landlock(facts, findings);
        judge_seccomp(facts, findings);
        judge_identity(facts, findings);
        judge_overlay(facts, findings);
        judge_limits(facts, findings);
        judge_cgroups(facts, findings);
        judge_pid_max(facts, findings);
        for (size_t i = 0; i < TOOL_COUNT; i++)
                judge_tool(facts, &facts->tools[i], findings);
        judge_kvm(facts, findings);
}

void findings_free(struct findings *findings)
{
        for (size_t i = 0; i < findings->count; i++) {
                free(findings->rows[i].detail);
                free(findings->rows[i].fix);
        }
        findings->count = 0;
}
