/* SPDX-License-Identifier: Apache-2.0
 *
 * What doctor says about every kind of machine: facts are made up and judged; files are read below a
 * directory of the test's own; the table and the JSON are written of made-up findings.
 */
#include "doctor/doctor.h"
#include "lib/fd.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "machine_rig.h"
#include "unit.h"

/* ---- judging ---- */

static struct facts facts;
static struct findings findings;

/* A machine on which everything is as it should be, and `facts` for it. */
static int set_up_good(void **state)
{
        (void)state;
        static const char *const names[TOOL_COUNT] = {"node", "npx", "python3", "uv", "uvx", "deno", "bun"};
        facts = (struct facts){
            .machine = {.userns_clone = -1, .apparmor_restricts = -1},
            .release = str_copy("6.18.4-arch1"),
            .modules = str_copy("capability,yama,apparmor"),
            .uid = 1000,
            .landlock_abi = 7,
            .seccomp_filters = true,
            .kvm_device = true,
            .cgroups = CGROUP_V2,
            .cgroup_delegated = true,
            .limits = {.cpus = 100,
                       .way = CGROUP_WAY_DELEGATED,
                       .memory = LIMIT_CGROUP,
                       .processes = LIMIT_CGROUP,
                       .processors = LIMIT_CGROUP},
            .plain = {.started = true, .failure.stage = STAGE_COUNT, .milliseconds = 7, .path = "/bin/true"},
            .overlay = {.started = true},
        };
        for (size_t i = 0; i < NAMESPACE_KINDS; i++)
                facts.machine.namespaces_max[i] = 15000;
        for (size_t i = 0; i < TOOL_COUNT; i++) {
                facts.tools[i] = (struct tool_fact){
                    .name = names[i],
                    .path = str_format("/usr/bin/%s", names[i]),
                    .real = str_format("/usr/bin/%s", names[i]),
                    .trial = {.started = true, .line = "1.2.3"},
                };
        }
        return 0;
}

static int tear_down_facts(void **state)
{
        (void)state;
        findings_free(&findings);
        facts_free(&facts);
        return 0;
}

static void fail_at(enum stage stage, int error, const char *sentence)
{
        facts.plain.started = false;
        facts.plain.failure = (struct failure){.stage = stage, .error = error};
        error_set(&facts.plain.error, EXIT_SETUP, "%s", sentence);
}

static const struct finding *find(const char *key)
{
        for (size_t i = 0; i < findings.count; i++)
                if (str_equal(findings.rows[i].key, key))
                        return &findings.rows[i];
        fail_msg("no row %s", key);
        return NULL;
}

/* Judges the facts; one row must have this state, and these words in it. `fix` NULL: none is given. */
static void expect(const char *key, enum finding_state wanted, const char *detail, const char *fix)
{
        findings_free(&findings);
        judge_facts(&facts, &findings);
        const struct finding *row = find(key);
        if (row->state != wanted)
                fail_msg("%s is %s, not %s: %s", key, finding_state_name(row->state),
                         finding_state_name(wanted), row->detail);
        if (!strstr(row->detail, detail))
                fail_msg("%s: \"%s\" is not in: %s", key, detail, row->detail);
        if (!fix != !row->fix || (fix && !strstr(row->fix, fix)))
                fail_msg("%s: the fix is not \"%s\": %s", key, fix ? fix : "none",
                         row->fix ? row->fix : "none");
}

static void replace(char **text, const char *value)
{
        free(*text);
        *text = str_copy(value);
}

static void test_on_a_good_machine_everything_is_ok(void **state)
{
        (void)state;
        judge_facts(&facts, &findings);
        assert_true(findings.count < FINDINGS_MAX);
        for (size_t i = 0; i < findings.count; i++) {
                const struct finding *row = &findings.rows[i];
                if (row->state != FINDING_OK || row->fix)
                        fail_msg("%s is %s: %s", row->key, finding_state_name(row->state), row->detail);
                assert_int_equal(row->used, !str_equal(row->key, "kvm"));
        }
        expect("sandbox", FINDING_OK, "ran /bin/true inside, in 7 ms", NULL);
        expect("node", FINDING_OK, "/usr/bin/node (the system), works: 1.2.3", NULL);
}

static void test_the_sandbox_row_is_the_sentence_of_mcp(void **state)
{
        (void)state;
        fail_at(STAGE_ID_MAP, EACCES, "cannot map the user id: Permission denied: so and so");
        expect("sandbox", FINDING_MISSING, "cannot map the user id: Permission denied: so and so", NULL);
        facts.no_proc.started = true;
        expect("sandbox", FINDING_MISSING, "cannot map", "--proc none");
}

static void test_kernel(void **state)
{
        (void)state;
        replace(&facts.release, "5.14.0-1.el9");
        expect("kernel", FINDING_OK, "5.14.0-1.el9", NULL);
        replace(&facts.release, "6.1.0");
        expect("kernel", FINDING_OK, "6.1.0", NULL);
        replace(&facts.release, "5.13.19");
        expect("kernel", FINDING_DEGRADED, "older", "5.14 or newer");
        replace(&facts.release, "4.19.0");
        fail_at(STAGE_MEMORY_FS, ENOSYS, "x");
        expect("kernel", FINDING_MISSING, "4.19.0", "5.14 or newer");
        replace(&facts.release, "");
        expect("kernel", FINDING_MISSING, "unknown", "5.14 or newer");
}

static void test_namespaces(void **state)
{
        (void)state;
        /* What is forbidden to others does not matter to somebody whose sandbox starts. */
        facts.machine.userns_clone = 0;
        expect("namespaces", FINDING_OK, "all work", NULL);
        fail_at(STAGE_NAMESPACES, EPERM, "x");
        expect("namespaces", FINDING_MISSING, "unprivileged_userns_clone",
               "sysctl -w kernel.unprivileged_userns_clone=1");
        facts.machine.userns_clone = -1;
        facts.machine.namespaces_max[NAMESPACE_PID] = 0;
        expect("namespaces", FINDING_MISSING, "max_pid_namespaces",
               "sysctl -w user.max_pid_namespaces=15000");
        facts.machine.namespaces_max[NAMESPACE_PID] = 9;
        facts.machine.filtered = true;
        expect("namespaces", FINDING_MISSING, "filter", "container");
        fail_at(STAGE_NAMESPACES, EIO, "x");
        expect("namespaces", FINDING_MISSING, "Input/output error", NULL);
        facts.machine.apparmor_restricts = 1;
        fail_at(STAGE_ID_MAP, EACCES, "x");
        expect("namespaces", FINDING_MISSING, "AppArmor", "apparmor_parser -r /etc/apparmor.d/hutch");
        /* Another row's matter. */
        fail_at(STAGE_PROC, EPERM, "x");
        expect("namespaces", FINDING_OK, "no setting forbids them", NULL);
        fail_at(STAGE_SECCOMP, ENOSYS, "x");
        expect("namespaces", FINDING_OK, "no setting forbids them", NULL);
}

static void test_proc(void **state)
{
        (void)state;
        str_list_add(&facts.proc_covers, "/proc/kcore");
        expect("proc", FINDING_OK, "a fresh one is mounted", NULL);
        fail_at(STAGE_PROC, EPERM, "x");
        expect("proc", FINDING_MISSING, "a fresh one: /proc/kcore", "--proc none");
        for (char name[] = "/proc/a"; name[6] < 'h'; name[6]++)
                str_list_add(&facts.proc_covers, name);
        expect("proc", FINDING_MISSING, "/proc/e and 2 more", "--proc none");
        /* It did not get so far, and would fail there. */
        fail_at(STAGE_NAMESPACES, EPERM, "x");
        expect("proc", FINDING_MISSING, "masked", "--proc none");
        str_list_free(&facts.proc_covers);
        expect("proc", FINDING_OK, "nothing in it is masked", NULL);
        fail_at(STAGE_PROC_MASK, EACCES, "x");
        snprintf(facts.plain.failure.path, sizeof(facts.plain.failure.path), "kcore");
        expect("proc", FINDING_MISSING, "kcore in it cannot be masked", "--proc none");
}

static void test_landlock(void **state)
{
        (void)state;
        expect("landlock", FINDING_OK, "version 7: writes only below writable grants", NULL);
        expect("landlock", FINDING_OK, "not limited: sockets below a grant that hutch does not hide", NULL);
        facts.landlock_abi = 9;
        expect("landlock", FINDING_OK, "signals and abstract sockets stay inside", NULL);
        assert_null(strstr(find("landlock")->detail, "not limited"));
        facts.landlock_abi = 6;
        expect("landlock", FINDING_OK, "signals and abstract sockets stay inside", NULL);
        facts.landlock_abi = 5;
        expect("landlock", FINDING_DEGRADED, "lacking: signals and abstract sockets stay inside (Linux 6.12)",
               "6.12");
        facts.landlock_abi = 2;
        expect("landlock", FINDING_DEGRADED, "lacking: truncating too (Linux 6.2), signals", "6.12");
        facts.landlock_abi = 1;
        expect("landlock", FINDING_DEGRADED, "too old to permit renames", "6.12");
        facts.landlock_abi = 0;
        expect("landlock", FINDING_MISSING, "not in this kernel", "CONFIG_SECURITY_LANDLOCK");
        facts.landlock_disabled = true;
        expect("landlock", FINDING_MISSING, "not enabled at boot",
               "lsm=landlock,capability,yama,apparmor to");
        replace(&facts.modules, "");
        expect("landlock", FINDING_MISSING, "not enabled at boot", "lsm=landlock,… to");
}

static void test_seccomp(void **state)
{
        (void)state;
        facts.seccomp_filters = false; /* its file is masked, but the filters were loaded */
        expect("seccomp", FINDING_OK, "filters are loaded", NULL);
        facts.machine.filtered = true;
        expect("seccomp", FINDING_OK, "started under", NULL);
        fail_at(STAGE_NAMESPACES, EPERM, "x");
        expect("seccomp", FINDING_MISSING, "accepts no system call filter", "CONFIG_SECCOMP_FILTER");
        facts.seccomp_filters = true;
        expect("seccomp", FINDING_OK, "the kernel has filters", NULL);
        fail_at(STAGE_SECCOMP, EACCES, "x");
        expect("seccomp", FINDING_MISSING, "accepts no system call filter", "CONFIG_SECCOMP_FILTER");
}

static void test_identity(void **state)
{
        (void)state;
        expect("identity", FINDING_OK, "no supplementary groups", NULL);
        str_list_add(&facts.groups, "docker");
        str_list_add(&facts.groups, "ad\033m");
        expect("identity", FINDING_OK, "docker, ad\\x1bm", NULL);
        facts.uid = 0;
        expect("identity", FINDING_DEGRADED, "acts as root", "ordinary user");
}

static void test_overlay(void **state)
{
        (void)state;
        facts.overlay.started = false;
        error_set(&facts.overlay.error, EXIT_SETUP, "cannot make an overlay of /usr/bin");
        expect("overlay", FINDING_MISSING, "cannot make an overlay", NULL);
        fail_at(STAGE_PROC, EPERM, "x");
        expect("overlay", FINDING_DEGRADED, "not tried", NULL);
}

static void test_tools(void **state)
{
        (void)state;
        static const struct {
                const char *path, *real, *manager;
        } places[] = {
            {"/h/.nvm/versions/node/v20/bin/node", "/h/.nvm/versions/node/v20/bin/node", "nvm"},
            {"/usr/local/bin/node", "/h/.nvm/versions/node/v20/bin/node", "nvm"},
            {"/usr/local/bin/node", "/usr/local/lib/node", "/usr/local"},
            {"/h/.local/state/fnm_multishells/1/bin/node", "/x/node", "fnm"},
            {"/h/.volta/bin/node", "/h/.volta/bin/volta-shim", "Volta"},
            {"/h/.local/share/mise/shims/node", "/usr/bin/mise", "mise"},
            {"/h/.asdf/shims/node", "/h/.asdf/shims/node", "asdf"},
            {"/h/.pyenv/shims/python3", "/h/.pyenv/shims/python3", "pyenv"},
            {"/h/.local/bin/python3", "/h/.local/share/uv/python/3.12/bin/python3", "uv"},
            {"/home/linuxbrew/.linuxbrew/bin/node", "/x", "Homebrew"},
            {"/run/current-system/sw/bin/node", "/nix/store/x/bin/node", "Nix"},
            {"/snap/bin/node", "/usr/bin/snap", "snap"},
            {"/h/bin/node", "/usr/bin/snap", "snap"},
            {"/h/miniconda3/bin/python3", "/h/miniconda3/bin/python3.12", "conda"},
            {"/h/.local/bin/node", "/h/.local/bin/node", "~/.local/bin"},
            {"/opt/node/bin/node", "/opt/node/bin/node", "installed by hand"},
            {"/bin/node", "/bin/node", "the system"},
        };
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                replace(&facts.tools[0].path, places[i].path);
                replace(&facts.tools[0].real, places[i].real);
                autofree char *wanted = str_format("%s (%s), works", places[i].path, places[i].manager);
                expect("node", FINDING_OK, wanted, NULL);
        }
        struct tool_fact *bun = &facts.tools[TOOL_COUNT - 1];
        bun->trial.started = false;
        error_set(&bun->trial.error, EXIT_NOT_EXECUTABLE, "it belongs to snap");
        expect("bun", FINDING_MISSING, "(the system) cannot work: it belongs to snap", NULL);
        free(bun->real);
        bun->real = NULL;
        expect("bun", FINDING_MISSING, "/usr/bin/bun", NULL);
        free(bun->path);
        bun->path = NULL;
        bun->copies = str_copy("; name it by its path: /h/.bun/bin/bun");
        expect("bun", FINDING_MISSING, "not on PATH; name it by its path: /h/.bun/bin/bun", NULL);
        fail_at(STAGE_PROC, EPERM, "x");
        facts.tools[1].trial.started = false;
        expect("npx", FINDING_DEGRADED, "/usr/bin/npx (the system), not tried", NULL);
}

static void test_kvm(void **state)
{
        (void)state;
        expect("kvm", FINDING_OK, "opens", NULL);
        facts.kvm_error = EBUSY;
        expect("kvm", FINDING_MISSING, "busy", NULL);
        facts.kvm_error = EACCES;
        expect("kvm", FINDING_MISSING, "may not open", "usermod -aG kvm $USER");
        facts.kvm_paravirtual = true;
        expect("kvm", FINDING_DEGRADED, "paravirtual", NULL);
        facts.kvm_device = false;
        expect("kvm", FINDING_MISSING, "no /dev/kvm", "modprobe");
}

static void test_cgroups(void **state)
{
        (void)state;
        expect("cgroups", FINDING_OK, "version 2; your cgroup is delegated", NULL);
        facts.bus = true;
        expect("cgroups", FINDING_OK, "delegated, and your systemd answers", NULL);
        facts.cgroup_delegated = false;
        expect("cgroups", FINDING_OK, "version 2; your systemd answers", NULL);
        facts.bus = false;
        expect("cgroups", FINDING_DEGRADED, "no cgroup is delegated", "enable-linger");
        facts.cgroups = CGROUP_HYBRID;
        expect("cgroups", FINDING_MISSING, "not at /sys/fs/cgroup", "unified_cgroup_hierarchy=1");
        facts.cgroups = CGROUP_V1;
        expect("cgroups", FINDING_MISSING, "version 1 only", "unified_cgroup_hierarchy=1");
        facts.cgroups = CGROUP_NONE;
        expect("cgroups", FINDING_MISSING, "no cgroups are visible", NULL);
}

static void test_limits(void **state)
{
        (void)state;
        expect("limits", FINDING_OK,
               "memory: cgroup; processes: cgroup; processors: cgroup, in a cgroup that is", NULL);
        facts.limits.way = CGROUP_WAY_SYSTEMD;
        expect("limits", FINDING_OK, "in a scope that systemd makes", NULL);
        limits_choose_without_cgroup(&facts.limits, 1000, true, "there is a reason");
        expect(
            "limits", FINDING_DEGRADED,
            "memory: watchdog (can overshoot), and not limited: buffers of pipes and sockets, shared memory "
            "that no process has mapped; processes: rlimit; processors: affinity",
            "see cgroups");
        expect("limits", FINDING_DEGRADED, "there is a reason", "see cgroups");
        facts.limits.processes = LIMIT_NONE;
        expect("limits", FINDING_MISSING, "processes: none", "see cgroups");
}

static void test_pid_max(void **state)
{
        (void)state;
        replace(&facts.release, "6.14.0");
        expect("pid_max", FINDING_OK, "its own", NULL);
        replace(&facts.release, "6.13.9");
        expect("pid_max", FINDING_MISSING, "whole machine", "6.14");
}

/* ---- reading ---- */

static int tear_down_machine(void **state)
{
        facts_free(&facts);
        return machine_tear_down(state);
}

static void read_again(void)
{
        facts_free(&facts);
        facts_read(&facts, machine_directory);
}

static void test_a_machine_without_files_is_no_error(void **state)
{
        (void)state;
        facts_read(&facts, machine_directory);
        assert_string_equal(facts.release, "");
        assert_string_equal(facts.modules, "");
        assert_false(facts.seccomp_filters || facts.kvm_device || facts.kvm_paravirtual || facts.bus ||
                     facts.cgroup_delegated);
        assert_int_equal(facts.kvm_error, ENOENT);
        assert_int_equal(facts.cgroups, CGROUP_NONE);
        assert_int_equal(facts.proc_covers.count, 0);
        assert_int_equal(facts.plain.failure.stage, STAGE_COUNT);
}

static void test_what_is_read_from_files(void **state)
{
        (void)state;
        machine_make_file("/proc/sys/kernel/osrelease", "6.9.1-x\n");
        machine_make_file("/sys/kernel/security/lsm", "capability,yama");
        machine_make_file("/proc/sys/kernel/seccomp/actions_avail", "kill_process errno allow\n");
        machine_make_file("/dev/kvm", "");
        machine_make_file("/sys/module/kvm_pvm/refcnt", "0\n");
        machine_make_file("/proc/self/mountinfo",
                          "22 27 0:21 / /proc rw - proc proc rw\n"
                          "23 22 0:5 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
                          "24 22 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"
                          "25 22 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"
                          "26 22 0:7 / /proc/acpi ro - tmpfs tmpfs ro\n"
                          "27 1 0:7 / /process rw - tmpfs tmpfs ro\n");
        read_again();
        assert_string_equal(facts.release, "6.9.1-x");
        assert_string_equal(facts.modules, "capability,yama");
        assert_true(facts.seccomp_filters && facts.kvm_device && facts.kvm_paravirtual);
        assert_int_equal(facts.kvm_error, 0);
        assert_int_equal(facts.proc_covers.count, 2);
        assert_string_equal(facts.proc_covers.values[0], "/proc/kcore");
        assert_string_equal(facts.proc_covers.values[1], "/proc/acpi");
}

static void test_control_groups(void **state)
{
        (void)state;
        machine_make_file("/proc/self/cgroup", "4:memory:/x\n1:cpu:/\n");
        read_again();
        assert_int_equal(facts.cgroups, CGROUP_V1);
        machine_make_file("/proc/self/cgroup", "4:memory:/x\n0::/user.slice\n");
        read_again();
        assert_int_equal(facts.cgroups, CGROUP_HYBRID);
        machine_make_file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        read_again();
        assert_int_equal(facts.cgroups, CGROUP_V2);
        assert_false(facts.cgroup_delegated);
        machine_make_file("/sys/fs/cgroup/user.slice/cgroup.procs", "");
        read_again();
        assert_true(facts.cgroup_delegated);
        machine_make_file("/proc/self/cgroup", "4:memory:/x\n");
        read_again();
        assert_int_equal(facts.cgroups, CGROUP_V2);
        assert_false(facts.cgroup_delegated);
}

static void test_the_bus_counts_when_it_answers(void **state)
{
        (void)state;
        autofree char *name = str_format("/run/user/%u/bus", geteuid());
        machine_make_file(name, "");
        autofree char *path = str_format("%s%s", machine_directory, name);
        assert_int_equal(unlink(path), 0);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        assert_true(strlen(path) < sizeof(address.sun_path));
        memcpy(address.sun_path, path, strlen(path));
        autoclose int bus = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(bus, (struct sockaddr *)&address, sizeof(address)), 0);
        read_again();
        assert_false(facts.bus); /* a socket that a systemd left */
        assert_int_equal(listen(bus, 1), 0);
        read_again();
        assert_true(facts.bus);
}

/* ---- writing ---- */

static struct findings two(void)
{
        return (struct findings){
            .rows = {{.key = "proc",
                      .state = FINDING_MISSING,
                      .used = true,
                      .detail = "one two three four five \"six\" seven",
                      .fix = "`a long command that must stay in one line, whatever`"},
                     {.key = "kvm", .state = FINDING_OK, .used = false, .detail = "opens"}},
            .count = 2,
        };
}

static char *write_table(bool colours)
{
        const struct findings made = two();
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_true(doctor_write_table(&made, false, 50, colours, out));
        fclose(out);
        return text;
}

static void test_table(void **state)
{
        (void)state;
        autofree char *plain = write_table(false);
        assert_string_equal(
            plain, "  missing   proc        one two three four five\n"
                   "                        \"six\" seven\n"
                   "                        fix: `a long command that must stay in one line, whatever`\n"
                   "\nNot needed: no option of this version uses these:\n"
                   "  ok        kvm         opens\n"
                   "\n`hutch mcp` does not run here.\n");
        autofree char *coloured = write_table(true);
        assert_non_null(strstr(coloured, "\033[31mmissing \033[0m  proc"));
        assert_non_null(strstr(coloured, "\033[32mok      \033[0m  kvm"));
}

static void test_json(void **state)
{
        (void)state;
        const struct findings made = two();
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_true(doctor_write_json(&made, true, out));
        fclose(out);
        cJSON *report = cJSON_Parse(text);
        assert_non_null(report);
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(report, "runs")));
        const cJSON *checks = cJSON_GetObjectItem(report, "checks");
        assert_int_equal(cJSON_GetArraySize(checks), 2);
        const cJSON *proc = cJSON_GetArrayItem(checks, 0), *kvm = cJSON_GetArrayItem(checks, 1);
        assert_string_equal(cJSON_GetObjectItem(proc, "key")->valuestring, "proc");
        assert_string_equal(cJSON_GetObjectItem(proc, "state")->valuestring, "missing");
        assert_string_equal(cJSON_GetObjectItem(proc, "detail")->valuestring, made.rows[0].detail);
        assert_string_equal(cJSON_GetObjectItem(proc, "fix")->valuestring, made.rows[0].fix);
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(proc, "used")));
        assert_true(cJSON_IsFalse(cJSON_GetObjectItem(kvm, "used")));
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(kvm, "fix")));
        cJSON_Delete(report);
        free(text);
}

#define JUDGED(test) cmocka_unit_test_setup_teardown(test, set_up_good, tear_down_facts)
#define READ(test)   cmocka_unit_test_setup_teardown(test, machine_set_up, tear_down_machine)

int main(void)
{
        const struct CMUnitTest tests[] = {
            JUDGED(test_on_a_good_machine_everything_is_ok),
            JUDGED(test_the_sandbox_row_is_the_sentence_of_mcp),
            JUDGED(test_kernel),
            JUDGED(test_namespaces),
            JUDGED(test_proc),
            JUDGED(test_landlock),
            JUDGED(test_seccomp),
            JUDGED(test_identity),
            JUDGED(test_overlay),
            JUDGED(test_tools),
            JUDGED(test_kvm),
            JUDGED(test_cgroups),
            JUDGED(test_limits),
            JUDGED(test_pid_max),
            READ(test_a_machine_without_files_is_no_error),
            READ(test_what_is_read_from_files),
            READ(test_control_groups),
            READ(test_the_bus_counts_when_it_answers),
            cmocka_unit_test(test_table),
            cmocka_unit_test(test_json),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
