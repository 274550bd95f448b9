/* SPDX-License-Identifier: Apache-2.0
 *
 * A person's own profiles: what compiles and what it then means to the running kernel, what is refused, and
 * the cache of compiled programs, hostile ones included.
 */
#include "confined.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp/arguments.h"
#include "seccomp/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <setjmp.h>
/* cmocka wants the three above it. */
#include <cmocka.h>

#define FIXTURES TEST_SOURCE_ROOT "/tests/unit/seccomp/"

static struct seccomp_program compile_fixture(const char *file)
{
        struct seccomp_program program;
        struct error error = {0};
        autofree char *path = str_format("%s%s", FIXTURES, file);
        autofree char *json = NULL;
        ssize_t length = fd_read_file(path, 1 << 20, &json);

        assert_true(length > 0);
        if (!seccomp_compile(file, json, (size_t)length, &program, &error))
                fail_msg("%s", error.text);
        return program;
}

static void test_engine_profile(void **state)
{
        struct seccomp_program program = compile_fixture("engine.json");
        const struct call calls[] = {
            CALL(getpid, 0, 0),
            CALL(getuid, 0, 0),                       /* minKernel reached */
            CALL(getgid, EPERM, 0),                   /* not reached */
            CALL(geteuid, EPERM, 0),                  /* excluded because it is reached */
            CALL(getegid, 0, 0),                      /* this architecture is included */
            CALL(getsid, EPERM, 0),                   /* another one */
            CALL(umask, EPERM, 022),                  /* a capability nobody holds */
            CALL(clone, EINVAL, CLONE(CLONE_THREAD)), /* without a flag in the mask */
            CALL(clone, EPERM, CLONE(CLONE_THREAD | CLONE_NEWUSER)),
            {"clone3", CALL_CLONE3, {0, 0}, ENOSYS},
            {"faccessat2",
             CALL_FACCESSAT2,
             {AT_FDCWD, (long)"/", F_OK, 0},
             EPERM}, /* older than its newest */
            {"newer", CALL_FUTEX_WAITV + 1, {0}, ENOSYS},
            {"future", CALL_OF_THE_FUTURE, {0}, ENOSYS},
        };

        (void)state;
        check_calls(NULL, &program, calls, COUNT(calls));
        seccomp_free(&program);
}

static void test_old_profile(void **state)
{
        struct seccomp_program program = compile_fixture("old.json");
        const struct seccomp_program arguments = seccomp_arguments(false);
        const struct call calls[] = {
            CALL(getpid, 0, 0),
            CALL(umask, EPERM, 022),
            CALL(socket, EPERM, AF_UNIX, SOCK_STREAM, 0),
            CALL(statx, EFAULT, AT_FDCWD, (long)"/", 0, 0, 0),
            {"faccessat2", CALL_FACCESSAT2, {AT_FDCWD, (long)"/", F_OK, 0}, ENOSYS},
            {"openat2", CALL_OPENAT2, {AT_FDCWD, (long)"/", 0, 0}, ENOSYS},
            {"future", CALL_OF_THE_FUTURE, {0}, ENOSYS},
        };

        (void)state;
        check_calls(&arguments, &program, calls, COUNT(calls));
        seccomp_free(&program);
}

static void test_deny_list(void **state)
{
        struct seccomp_program program = compile_fixture("deny.json");
        const struct seccomp_program arguments = seccomp_arguments(false);
        const struct call calls[] = {
            CALL(getpid, 0, 0),
            CALL(umask, EACCES, 022),
            CALL(fcntl, EBADF, 100, F_GETFD),
#ifdef SYS_dup
            CALL(dup, 0, 0),
            CALL(dup, EBUSY, 100),
#endif
            {"faccessat2", CALL_FACCESSAT2, {AT_FDCWD, (long)"/", F_OK, 0}, 0},
            /* permitted by the profile, refused by the argument filter all the same */
            CALL(socket, EPERM, AF_ALG, SOCK_SEQPACKET, 0),
            {"clone3", CALL_CLONE3, {0, 0}, ENOSYS},
            {"io_uring_setup", CALL_IO_URING_SETUP, {0, 0}, ENOSYS},
#ifdef __x86_64__
            {"x32 getpid", 0x40000000 | SYS_getpid, {0}, ENOSYS},
#endif
        };
        pid_t child;

        (void)state;
        check_calls(&arguments, &program, calls, COUNT(calls));
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                confine(&arguments, &program);
                syscall(SYS_getsid, 0);
                end_child(0);
        }
        assert_int_equal(WTERMSIG(wait_status(child)), SIGSYS); /* killed, as the profile says */
        seccomp_free(&program);
}

#define START         "{\"names\":[\"execve\",\"exit_group\"],\"action\":\"SCMP_ACT_ALLOW\"}"
#define PROFILE(rule) "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[" START "," rule "]}"
#define COMPARE(comparisons)                                                                                 \
        PROFILE("{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":" comparisons "}")

static void test_refused_profiles(void **state)
{
        static const struct {
                const char *json;
                const char *complaint;
        } profiles[] = {
            {"", "is not valid JSON"},
            {"{", "is not valid JSON"},
            {PROFILE("{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\"}") "x", "is not valid JSON"},
            {"[]", "is not a JSON object"},
            {"{}", "\"defaultAction\" is missing"},
            {"{\"defaultAction\":7}", "\"defaultAction\" is missing or not a string"},
            {"{\"defaultAction\":\"SCMP_ACT_SHRUG\\n\"}", "unknown action \"SCMP_ACT_SHRUG\\x0a\""},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":4096}", "from 0 to 4095"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":-1}", "from 0 to 4095"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":1.5}", "from 0 to 4095"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\"}", "does not permit execve"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"execve\"],"
             "\"action\":\"SCMP_ACT_ALLOW\"}]}",
             "does not permit exit_group"},
            {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"execve\"],"
             "\"action\":\"SCMP_ACT_ERRNO\"}]}",
             "does not permit execve"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":{}}", "\"syscalls\" is not a list"},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"x86\"]}",
             "unknown architecture \"x86\""},
            {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":\"x86\"}", "must be a list of strings"},
            {PROFILE("7"), "every rule needs \"names\""},
            {PROFILE("{\"action\":\"SCMP_ACT_ALLOW\"}"), "every rule needs \"names\""},
            {PROFILE("{\"names\":[3],\"action\":\"SCMP_ACT_ALLOW\"}"), "every rule needs \"names\""},
            {PROFILE("{\"names\":[\"dup\"]}"), "\"action\" is missing"},
            {PROFILE("{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_NOTIFY\"}"),
             "SCMP_ACT_NOTIFY needs another process"},
            {PROFILE("{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_TRACE\"}"),
             "SCMP_ACT_TRACE needs another process"},
            {PROFILE(
                 "{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{\"minKernel\":\"new\"}}"),
             "\"minKernel\" must look like"},
            {PROFILE("{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{\"caps\":\"all\"}}"),
             "must be lists of strings"},
            {COMPARE("{}"), "\"args\" of dup is not a list"},
            {COMPARE("[{\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]"), "a comparison for dup has no \"index\""},
            {COMPARE("[{\"index\":6,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]"),
             "\"index\" must be a whole number"},
            {COMPARE("[{\"index\":0,\"value\":\"1\",\"op\":\"SCMP_CMP_EQ\"}]"),
             "\"value\" must be a whole number"},
            {COMPARE("[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_LIKE\"}]"), "unknown \"op\""},
            {COMPARE("[{\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_EQ\"}]"),
             "whole number"},
            {COMPARE("[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_NE\"},{\"index\":0,\"value\":2,\"op\":"
                     "\"SCMP_CMP_NE\"}]"),
             "one rule for dup compares argument 0 twice"},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(profiles); i++) {
                struct seccomp_program program = {0};
                struct error error = {0};

                assert_false(
                    seccomp_compile("p.json", profiles[i].json, strlen(profiles[i].json), &program, &error));
                assert_int_equal(error.status, EXIT_SETUP);
                if (!strstr(error.text, profiles[i].complaint) || !strstr(error.text, "p.json"))
                        fail_msg("%s\nsaid: %s", profiles[i].json, error.text);
        }
}

/* Whether a rule with this condition applies on the architecture: without it no program could end. */
static bool applies(uint32_t architecture, const char *condition)
{
        autofree char *json =
            str_format("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"execve\"],"
                       "\"action\":\"SCMP_ACT_ALLOW\"},{\"names\":[\"exit_group\"],\"action\":"
                       "\"SCMP_ACT_ALLOW\",%s}]}",
                       condition);
        const struct seccomp_source source = {
            .name = "p.json", .json = json, .length = strlen(json), .must_start_programs = true};
        struct seccomp_program program = {0};
        struct error error = {0};
        bool compiled = seccomp_compile_for(architecture, &source, NULL, &program, &error);

        if (!compiled)
                assert_non_null(strstr(error.text, "does not permit exit_group"));
        seccomp_free(&program);
        return compiled;
}

static void test_conditions_of_the_engines(void **state)
{
        static const struct {
                const char *condition;
                bool on_x86_64, on_aarch64;
        } rules[] = {
            {"\"includes\":{}", true, true},
            {"\"includes\":{\"arches\":[\"amd64\"]}", true, false},
            {"\"includes\":{\"arches\":[\"arm\",\"arm64\"]}", false, true},
            {"\"excludes\":{\"arches\":[\"amd64\"]}", false, true},
            {"\"excludes\":{\"arches\":[\"arm64\"]}", true, false},
            {"\"includes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}", false, false},
            {"\"includes\":{\"caps\":[\"CAP_SYS_ADMIN\"],\"arches\":[\"amd64\"]}", false, false},
            /* No process has the capability, so the exclusion does not apply. */
            {"\"excludes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}", true, true},
            {"\"includes\":{\"minKernel\":\"4.0\"}", true, true},
            {"\"includes\":{\"minKernel\":\"999.0\"}", false, false},
            {"\"excludes\":{\"minKernel\":\"4.0\"}", false, false},
            {"\"excludes\":{\"minKernel\":\"999.0\"}", true, true},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(rules); i++) {
                if (applies(SCMP_ARCH_X86_64, rules[i].condition) != rules[i].on_x86_64)
                        fail_msg("x86_64: %s", rules[i].condition);
                if (applies(SCMP_ARCH_AARCH64, rules[i].condition) != rules[i].on_aarch64)
                        fail_msg("aarch64: %s", rules[i].condition);
        }
}

static void test_too_long_profile(void **state)
{
        /* With and without the instructions that hutch puts in front. */
        static const char *const defaults[] = {"1", "38"};

        (void)state;
        for (size_t i = 0; i < COUNT(defaults); i++) {
                struct seccomp_program program = {0};
                struct error error = {0};
                autofree char *json = NULL;
                size_t size;
                FILE *out = open_memstream(&json, &size);

                assert_non_null(out);
                fprintf(out,
                        "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":%s,\"syscalls\":[" START,
                        defaults[i]);
                for (int value = 0; value < 4500; value++)
                        fprintf(out,
                                ",{\"names\":[\"fcntl\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":"
                                "[{\"index\":1,\"value\":%d,\"op\":\"SCMP_CMP_EQ\"}]}",
                                value * 3);
                fprintf(out, "]}");
                assert_int_equal(fclose(out), 0);
                assert_false(seccomp_compile("p.json", json, size, &program, &error));
                assert_non_null(strstr(error.text, "4096 instructions"));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_engine_profile),
            cmocka_unit_test(test_old_profile),
            cmocka_unit_test(test_deny_list),
            cmocka_unit_test(test_refused_profiles),
            cmocka_unit_test(test_conditions_of_the_engines),
            cmocka_unit_test(test_too_long_profile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
