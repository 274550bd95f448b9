/* SPDX-License-Identifier: Apache-2.0
 *
 * See judge.h. A sandbox that started decides; files and settings only explain why one did not start.
 */
#include "doctor/judge.h"

#include "lib/fd.h"
#include "ns/landlock.h"

#include <errno.h>
#include <stdio.h>

enum { FLOOR_MAJOR = 5, FLOOR_MINOR = 14, LISTED_MAX = 6 };

#define NOT_TRIED "not tried, because no sandbox starts"

const char *finding_state_name(enum finding_state state)
{
        static const char *const names[] = {"ok", "degraded", "missing"};
        return names[state];
}

/* `text` as one printable line; frees `text`. */
static char *printable(char *text)
{
        if (!text)
                return NULL;
        size_t size = strlen(text) * 4 + 1;
        char *line = error_quote(str_or_die(malloc(size)), size, text, strlen(text));
        free(text);
        return line;
}

/* Adds a row; owns both texts from now on. */
static void findings_add(struct findings *findings, const char *key, enum finding_state state, char *detail,
                         char *fix)
{
        findings->rows[findings->count++] = (struct finding){
            .key = key, .state = state, .used = true, .detail = printable(detail), .fix = printable(fix)};
}

/* Adds a row about something that no option uses yet. */
static void findings_add_unused(struct findings *findings, const char *key, enum finding_state state,
                                char *detail, char *fix)
{
        findings_add(findings, key, state, detail, fix);
        findings->rows[findings->count - 1].used = false;
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
                findings_add(
                    findings, "sandbox", FINDING_OK,
                    str_format("started, and ran %s inside, in %u ms", plain->path, plain->milliseconds),
                    NULL);
        else
                findings_add(findings, "sandbox", FINDING_MISSING, str_copy(plain->error.text),
                             facts->no_proc.started ? str_copy("use --proc none: a sandbox starts with it")
                                                    : NULL);
}

static void judge_kernel(const struct facts *facts, struct findings *findings)
{
        const char *release = facts->release[0] ? facts->release : "of unknown version";
        if (str_is_release(release, FLOOR_MAJOR, FLOOR_MINOR))
                findings_add(findings, "kernel", FINDING_OK, str_format("Linux %s", release), NULL);
        else if (facts->plain.started)
                findings_add(
                    findings, "kernel", FINDING_DEGRADED,
                    str_format("Linux %s, older than hutch supports, but it has what a sandbox needs",
                               release),
                    str_format("Linux %d.%d or newer", FLOOR_MAJOR, FLOOR_MINOR));
        else
                findings_add(findings, "kernel", FINDING_MISSING,
                             str_format("Linux %s, and there is no fallback", release),
                             str_format("Linux %d.%d or newer", FLOOR_MAJOR, FLOOR_MINOR));
}

static void judge_namespaces(const struct facts *facts, struct findings *findings)
{
        struct reason reason = {0};
        if (facts->plain.started)
                findings_add(findings, "namespaces", FINDING_OK,
                             str_copy("user, mount, pid, network, ipc, uts, cgroup: all work"), NULL);
        else if (diagnose_settings(&facts->machine, &reason) ||
                 (!failed_at(facts, STAGE_PROC) &&
                  failure_diagnose(&facts->plain.failure, &facts->machine, &reason)))
                findings_add(findings, "namespaces", FINDING_MISSING, str_copy(reason.why),
                             str_copy(reason.fix));
        else if (failed_at(facts, STAGE_NAMESPACES))
                findings_add(findings, "namespaces", FINDING_MISSING,
                             str_format("the kernel creates none: %s", strerror(facts->plain.failure.error)),
                             NULL);
        else
                findings_add(findings, "namespaces", FINDING_OK, str_copy("no setting forbids them"), NULL);
}

static void judge_proc(const struct facts *facts, struct findings *findings)
{
        bool refused = failed_at(facts, STAGE_PROC);
        autofree char *covers = join(&facts->proc_covers);
        if (!facts->plain.started && (refused || covers[0])) {
                struct reason reason = {0};
                diagnose_refused_step(&facts->machine, true, refused ? facts->plain.failure.error : EPERM,
                                      &reason);
                findings_add(findings, "proc", FINDING_MISSING,
                             str_format("%s%s%s", reason.why, covers[0] ? ": " : "", covers),
                             str_copy(reason.fix));
        } else if (failed_at(facts, STAGE_PROC_MASK)) {
                findings_add(findings, "proc", FINDING_MISSING,
                             str_format("%s in it cannot be masked: %s", facts->plain.failure.path,
                                        strerror(facts->plain.failure.error)),
                             str_copy("use --proc none"));
        } else {
                findings_add(
                    findings, "proc", FINDING_OK,
                    str_copy(facts->plain.started ? "a fresh one is mounted" : "nothing in it is masked"),
                    NULL);
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
                findings_add(findings, "landlock", FINDING_DEGRADED,
                             str_format("version %d: %s%s", abi, why, sockets),
                             str_copy("Linux 6.12 or newer has all of these"));
        else if (absent[0])
                findings_add(findings, "landlock", FINDING_DEGRADED,
                             str_format("version %d: %s; lacking: %s%s", abi, present, absent, sockets),
                             str_copy("Linux 6.12 or newer has all of these"));
        else
                findings_add(findings, "landlock", FINDING_OK,
                             str_format("version %d: %s%s", abi, present, sockets), NULL);
}

static void judge_landlock(const struct facts *facts, struct findings *findings)
{
        if (facts->landlock_abi)
                judge_landlock_version(facts->landlock_abi, findings);
        else if (facts->landlock_disabled)
                findings_add(
                    findings, "landlock", FINDING_MISSING,
                    str_copy("not enabled at boot; only the mounts protect files, and changes of the "
                             "host's name servers are not followed"),
                    str_format("add lsm=landlock,%s to the kernel command line and reboot",
                               facts->modules[0] ? facts->modules : "…"));
        else
                findings_add(
                    findings, "landlock", FINDING_MISSING,
                    str_copy("not in this kernel, or hidden by a filter that hutch runs under; only the "
                             "mounts protect files, and changes of the host's name servers are not followed"),
                    str_copy("Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK, best 6.12 or newer"));
}

static void judge_seccomp(const struct facts *facts, struct findings *findings)
{
        const char *around =
            facts->machine.filtered ? ", in addition to one that hutch was started under" : "";
        if (failed_at(facts, STAGE_SECCOMP) || (!facts->plain.started && !facts->seccomp_filters))
                findings_add(
                    findings, "seccomp", FINDING_MISSING,
                    str_copy("the kernel accepts no system call filter"),
                    str_copy("use a kernel with CONFIG_SECCOMP_FILTER, or a container that permits seccomp"));
        else if (facts->plain.started)
                findings_add(findings, "seccomp", FINDING_OK, str_format("filters are loaded%s", around),
                             NULL);
        else
                findings_add(findings, "seccomp", FINDING_OK, str_format("the kernel has filters%s", around),
                             NULL);
}

static void judge_identity(const struct facts *facts, struct findings *findings)
{
        autofree char *groups = join(&facts->groups);
        if (facts->uid == 0)
                findings_add(findings, "identity", FINDING_DEGRADED,
                             str_copy("you are root: a sandbox acts as root on the files that it is granted"),
                             str_copy("start hutch as an ordinary user"));
        else if (groups[0])
                findings_add(
                    findings, "identity", FINDING_OK,
                    str_format(
                        "only your user id; your supplementary groups still apply to granted files: %s",
                        groups),
                    NULL);
        else
                findings_add(findings, "identity", FINDING_OK,
                             str_copy("only your user id; you have no supplementary groups"), NULL);
}

static void judge_overlay(const struct facts *facts, struct findings *findings)
{
        if (facts->overlay.started)
                findings_add(findings, "overlay", FINDING_OK, str_copy("--overlay works"), NULL);
        else if (facts->plain.started)
                findings_add(findings, "overlay", FINDING_MISSING, str_copy(facts->overlay.error.text), NULL);
        else
                findings_add(findings, "overlay", FINDING_DEGRADED, str_copy(NOT_TRIED), NULL);
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
                findings_add(findings, tool->name, FINDING_MISSING, str_format("not on PATH%s", tool->copies),
                             NULL);
                return;
        }
        const char *manager = name_manager(tool->path, tool->real ? tool->real : tool->path);
        if (tool->trial.started)
                findings_add(findings, tool->name, FINDING_OK,
                             str_format("%s (%s), works: %s", tool->path, manager, tool->trial.line), NULL);
        else if (facts->plain.started)
                findings_add(
                    findings, tool->name, FINDING_MISSING,
                    str_format("%s (%s) cannot work: %s", tool->path, manager, tool->trial.error.text), NULL);
        else
                findings_add(findings, tool->name, FINDING_DEGRADED,
                             str_format("%s (%s), " NOT_TRIED, tool->path, manager), NULL);
}

static void judge_kvm(const struct facts *facts, struct findings *findings)
{
        if (!facts->kvm_device)
                findings_add_unused(
                    findings, "kvm", FINDING_MISSING, str_copy("there is no /dev/kvm"),
                    str_copy("enable virtualization in the firmware (or, in a virtual machine, nested "
                             "virtualization), then `sudo modprobe kvm_intel` or kvm_amd"));
        else if (facts->kvm_paravirtual)
                findings_add_unused(findings, "kvm", FINDING_DEGRADED,
                                    str_copy("kvm_pvm is paravirtual and cannot run a stock kernel"), NULL);
        else if (facts->kvm_error == EACCES)
                findings_add_unused(findings, "kvm", FINDING_MISSING, str_copy("you may not open /dev/kvm"),
                                    str_copy("run `sudo usermod -aG kvm $USER`, then log in again"));
        else if (facts->kvm_error)
                findings_add_unused(findings, "kvm", FINDING_MISSING,
                                    str_format("/dev/kvm cannot be opened: %s", strerror(facts->kvm_error)),
                                    NULL);
        else
                findings_add_unused(findings, "kvm", FINDING_OK, str_copy("/dev/kvm opens"), NULL);
}

static void judge_cgroups(const struct facts *facts, struct findings *findings)
{
        static const char unify[] =
            "add systemd.unified_cgroup_hierarchy=1 to the kernel command line and reboot";
        switch (facts->cgroups) {
        case CGROUP_NONE:
                findings_add(findings, "cgroups", FINDING_MISSING, str_copy("no cgroups are visible"), NULL);
                break;
        case CGROUP_V1:
                findings_add(findings, "cgroups", FINDING_MISSING, str_copy("version 1 only"),
                             str_copy(unify));
                break;
        case CGROUP_HYBRID:
                findings_add(findings, "cgroups", FINDING_MISSING,
                             str_copy("version 1; version 2 is not at /sys/fs/cgroup"), str_copy(unify));
                break;
        case CGROUP_V2:
                if (facts->cgroup_delegated || facts->bus)
                        findings_add(findings, "cgroups", FINDING_OK,
                                     str_format("version 2; %s%s%s",
                                                facts->cgroup_delegated ? "your cgroup is delegated" : "",
                                                facts->cgroup_delegated && facts->bus ? ", and " : "",
                                                facts->bus ? "your systemd answers on D-Bus" : ""),
                                     NULL);
                else
                        findings_add(findings, "cgroups", FINDING_DEGRADED,
                                     str_copy("version 2, but no cgroup is delegated to you, and no "
                                              "systemd of yours answers on D-Bus"),
                                     str_copy("run `sudo loginctl enable-linger $USER`, or log in through a "
                                              "systemd session"));
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
                findings_add(findings, "limits",
                             limits->processes == LIMIT_NONE ? FINDING_MISSING : FINDING_DEGRADED,
                             str_format("%s; a fraction of a processor: none; %s", how,
                                        limits->no_cgroup ? limits->no_cgroup : "there are no cgroups"),
                             str_copy("a cgroup enforces them exactly; see cgroups below"));
        else
                findings_add(findings, "limits", FINDING_OK,
                             str_format("%s, %s", how,
                                        limits->way == CGROUP_WAY_SYSTEMD
                                            ? "in a scope that systemd makes"
                                            : "in a cgroup that is delegated to you"),
                             NULL);
}

static void judge_pid_max(const struct facts *facts, struct findings *findings)
{
        if (str_is_release(facts->release, 6, 14))
                findings_add(findings, "pid_max", FINDING_OK, str_copy("each pid namespace has its own"),
                             NULL);
        else
                findings_add(findings, "pid_max", FINDING_MISSING, str_copy("one for the whole machine"),
                             str_copy("Linux 6.14 or newer"));
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
