/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a machine refuses: each kind of machine is made up here, since no test machine is all of them. What is
 * read from files is read below a directory of the test's own.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/diagnose.h"
#include "ns/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_rig.h"
#include "unit.h"

/* A machine that forbids nothing. */
static struct machine permissive(void)
{
        struct machine machine = {.userns_clone = -1, .apparmor_restricts = -1};
        for (size_t i = 0; i < NAMESPACE_KINDS; i++)
                machine.namespaces_max[i] = 15000;
        return machine;
}

static void expect(const struct reason *reason, const char *why, const char *fix)
{
        if (!strstr(reason->why, why))
                fail_msg("\"%s\" is not in: %s", why, reason->why);
        if (!strstr(reason->fix, fix))
                fail_msg("\"%s\" is not in: %s", fix, reason->fix);
}

static void expect_namespaces(const struct machine *machine, int error, const char *why, const char *fix)
{
        struct reason reason = {0};
        assert_true(diagnose_namespaces(machine, error, &reason));
        expect(&reason, why, fix);
}

static void expect_step(const struct machine *machine, bool proc, int error, const char *why, const char *fix)
{
        struct reason reason = {0};
        diagnose_refused_step(machine, proc, error, &reason);
        expect(&reason, why, fix);
}

static void test_settings_that_forbid(void **state)
{
        (void)state;
        static const char *const names[NAMESPACE_KINDS] = {"user", "mnt", "pid",   "net",
                                                           "ipc",  "uts", "cgroup"};
        struct machine machine = permissive();
        struct reason reason = {0};
        assert_false(diagnose_settings(&machine, &reason));
        machine.userns_clone = 1;
        assert_false(diagnose_settings(&machine, &reason));
        machine.userns_clone = 0;
        assert_true(diagnose_settings(&machine, &reason));
        expect(&reason, "kernel.unprivileged_userns_clone is 0",
               "sysctl -w kernel.unprivileged_userns_clone=1`");
        for (size_t i = 0; i < NAMESPACE_KINDS; i++) {
                machine = permissive();
                machine.namespaces_max[i] = 0;
                autofree char *why = str_format("user.max_%s_namespaces is 0", names[i]);
                autofree char *fix = str_format("sysctl -w user.max_%s_namespaces=15000`", names[i]);
                assert_true(diagnose_settings(&machine, &reason));
                expect(&reason, why, fix);
                expect_namespaces(&machine, ENOSPC, why, fix);
                machine.namespaces_max[i] = -1; /* a kernel without that kind */
                assert_false(diagnose_settings(&machine, &reason));
        }
}

static void test_namespaces_that_are_refused(void **state)
{
        (void)state;
        struct machine machine = permissive();
        struct reason reason = {0};
        expect_namespaces(&machine, ENOSPC, "nesting depth of 32", "close other sandboxes");
        expect_namespaces(&machine, EUSERS, "nesting depth of 32", "close other sandboxes");
        expect_namespaces(&machine, EINVAL, "lacks some kind", "CONFIG_USER_NS");
        expect_namespaces(&machine, ENOSYS, "lacks some kind", "5.14");
        expect_namespaces(&machine, EAGAIN, "ulimit -u", "close other programs");
        expect_namespaces(&machine, ENOMEM, "memory", "close other programs");
        expect_namespaces(&machine, EPERM, "a security module", "dmesg");
        assert_false(diagnose_namespaces(&machine, EIO, &reason));
        machine.selinux_enforces = true;
        expect_namespaces(&machine, EACCES, "SELinux is enforcing", "semodule -i hutch.pp");
        machine.filtered = true;
        expect_namespaces(&machine, EPERM, "a system call filter", "container");
}

static void test_steps_that_are_refused(void **state)
{
        (void)state;
        struct machine machine = permissive();
        expect_step(&machine, false, EPERM, "a security module", "dmesg");
        expect_step(&machine, true, EPERM, "/proc are masked", "--proc none");
        machine.selinux_enforces = true;
        expect_step(&machine, false, EACCES, "SELinux", "audit2allow");
        machine.filtered = true;
        expect_step(&machine, false, EPERM, "a system call filter", "mounts in user namespaces");
        snprintf(machine.apparmor_label, sizeof(machine.apparmor_label), "docker-default (enforce)");
        /* A filter answers EPERM; of AppArmor EACCES is the mark. */
        expect_step(&machine, false, EPERM, "a system call filter", "container");
        expect_step(&machine, false, EACCES, "the profile docker-default", "apparmor=unconfined");
        machine.filtered = false;
        expect_step(&machine, false, EPERM, "the profile docker-default", "apparmor=unconfined");
        snprintf(machine.apparmor_label, sizeof(machine.apparmor_label), "unconfined");
        machine.selinux_enforces = false;
        expect_step(&machine, false, EACCES, "a security module", "dmesg");
}

static void test_apparmor_that_lets_namespaces_be_made_and_no_more(void **state)
{
        (void)state;
        struct machine machine = permissive();
        machine.apparmor_restricts = 0;
        expect_step(&machine, false, EACCES, "a security module", "dmesg");
        machine.apparmor_restricts = 1;
        expect_step(&machine, false, EACCES, "only named programs",
                    "/apparmor/hutch /etc/apparmor.d/ && sudo apparmor_parser -r");
        machine.apparmor_profile = true;
        expect_step(&machine, false, EACCES, "only named programs", "this is another");
        snprintf(machine.program, sizeof(machine.program), "/home/you/build/hutch");
        expect_step(&machine, true, EACCES, "only named programs", "this is /home/you/build/hutch");
}

static bool find(enum stage stage, int error, struct reason *reason)
{
        struct machine machine = permissive();
        struct failure failure = {.stage = stage, .error = error};
        return failure_diagnose(&failure, &machine, reason);
}

static void test_which_steps_are_a_matter_of_the_machine(void **state)
{
        (void)state;
        struct reason reason = {0};
        assert_true(find(STAGE_NAMESPACES, EPERM, &reason));
        assert_true(find(STAGE_ID_MAP, EACCES, &reason));
        assert_true(find(STAGE_MEMORY_FS, EPERM, &reason));
        assert_true(find(STAGE_NETWORK, ENOSPC, &reason));
        assert_true(find(STAGE_PROC, EPERM, &reason));
        expect(&reason, "/proc are masked", "--proc none");
        assert_false(find(STAGE_SOURCE, EACCES, &reason));
        assert_false(find(STAGE_SWAPPED, EACCES, &reason));
        assert_false(find(STAGE_EXEC, EACCES, &reason));
        assert_false(find(STAGE_MEMORY_FS, ENOMEM, &reason));
        assert_false(find(STAGE_COUNT, 0, &reason));
}

/* ---- looking ---- */

static void test_an_empty_machine_has_no_settings(void **state)
{
        (void)state;
        struct machine machine;
        machine_look(&machine, machine_directory);
        assert_int_equal(machine.userns_clone, -1);
        assert_int_equal(machine.apparmor_restricts, -1);
        for (size_t i = 0; i < NAMESPACE_KINDS; i++)
                assert_int_equal(machine.namespaces_max[i], -1);
        assert_false(machine.apparmor_profile || machine.selinux_enforces || machine.filtered);
        assert_string_equal(machine.apparmor_label, "");
        assert_string_equal(machine.program, "");
}

static void test_each_setting_is_read_from_its_file(void **state)
{
        (void)state;
        static const char *const names[NAMESPACE_KINDS] = {"user", "mnt", "pid",   "net",
                                                           "ipc",  "uts", "cgroup"};
        machine_make_file("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
        machine_make_file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        machine_make_file("/sys/fs/selinux/enforce", "1");
        machine_make_file("/proc/self/status", "Name:\thutch\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        machine_make_file("/etc/apparmor.d/hutch", "");
        machine_make_file("/proc/self/attr/apparmor/current", "docker-default (enforce)\n");
        for (int i = 0; i < NAMESPACE_KINDS; i++) {
                autofree char *path = str_format("/proc/sys/user/max_%s_namespaces", names[i]);
                autofree char *number = str_format("%d\n", 100 + i);
                machine_make_file(path, number);
        }
        autofree char *link = str_format("%s/proc/self/exe", machine_directory);
        assert_int_equal(symlink("/opt/hutch", link), 0);

        struct machine machine;
        machine_look(&machine, machine_directory);
        assert_int_equal(machine.userns_clone, 0);
        assert_int_equal(machine.apparmor_restricts, 1);
        for (int i = 0; i < NAMESPACE_KINDS; i++)
                assert_int_equal(machine.namespaces_max[i], 100 + i);
        assert_true(machine.selinux_enforces && machine.filtered && machine.apparmor_profile);
        assert_string_equal(machine.apparmor_label, "docker-default (enforce)");
        assert_string_equal(machine.program, "/opt/hutch");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_settings_that_forbid),
            cmocka_unit_test(test_namespaces_that_are_refused),
            cmocka_unit_test(test_steps_that_are_refused),
            cmocka_unit_test(test_apparmor_that_lets_namespaces_be_made_and_no_more),
            cmocka_unit_test(test_which_steps_are_a_matter_of_the_machine),
            cmocka_unit_test_setup_teardown(test_an_empty_machine_has_no_settings, machine_set_up,
                                            machine_tear_down),
            cmocka_unit_test_setup_teardown(test_each_setting_is_read_from_its_file, machine_set_up,
                                            machine_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
