/* SPDX-License-Identifier: Apache-2.0
 *
 * The shorter program must be the same filter. Both are run, by a small interpreter, for every call number
 * there is and more, for calls of other architectures, and with arguments made of the constants that the
 * longer one compares arguments with.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp/compile.h"
#include "seccomp/ranges.h"

#include <glob.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>
/* cmocka wants the ones above it. */
#include <cmocka.h>

#define PROFILES TEST_SOURCE_ROOT "/policy/seccomp/"
#define FIXTURES TEST_SOURCE_ROOT "/tests/unit/seccomp/"
#define X32_BIT  0x40000000u

enum { NUMBERS = 2048, MANY_DRAWS = 200, FEW_DRAWS = 3, MOST_CONSTANTS = 256, ROOM = 4096 };

/* What the kernel does with the instructions that libseccomp uses. */
static uint32_t run(const struct seccomp_program *program, const struct seccomp_data *data)
{
        uint32_t accumulator = 0;

        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                switch (one->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        assert_true(one->k <= sizeof(*data) - sizeof(accumulator));
                        memcpy(&accumulator, (const char *)data + one->k, sizeof(accumulator));
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        accumulator &= one->k;
                        break;
                case BPF_JMP | BPF_JA:
                        i += one->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        i += accumulator == one->k ? one->jt : one->jf;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        i += accumulator > one->k ? one->jt : one->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        i += accumulator >= one->k ? one->jt : one->jf;
                        break;
                case BPF_RET | BPF_K:
                        return one->k;
                default:
                        fail_msg("instruction %zu has the code 0x%x", i, one->code);
                }
        }
        fail_msg("the program ends without an answer");
        return 0;
}

struct constants {
        uint32_t list[MOST_CONSTANTS];
        size_t count;
};

static void add_constant(struct constants *constants, uint32_t value)
{
        assert_true(constants->count < MOST_CONSTANTS);
        constants->list[constants->count++] = value;
}

/* What stands in the instructions behind each load of an argument, and its neighbours. */
static struct constants find_constants(const struct seccomp_program *program)
{
        struct constants constants = {.list = {0, 1, UINT32_MAX}, .count = 3};
        bool of_argument = false;

        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                if (BPF_CLASS(one->code) == BPF_LD)
                        of_argument = one->k >= offsetof(struct seccomp_data, args);
                else if (BPF_CLASS(one->code) == BPF_RET)
                        of_argument = false;
                else if (of_argument)
                        for (uint32_t step = 0; step < 3; step++)
                                add_constant(&constants, one->k - 1 + step);
        }
        return constants;
}

/* The same sequence in every run. */
static size_t draw(uint64_t *state, size_t count)
{
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (size_t)(*state >> 33) % count;
}

/* Halves of arguments: 0 half of the time, else one of the constants. */
static void draw_arguments(uint64_t *state, const struct constants *constants, struct seccomp_data *data)
{
        for (size_t i = 0; i < sizeof(data->args) / sizeof(data->args[0]); i++) {
                uint32_t halves[2] = {0};
                for (size_t half = 0; half < 2; half++)
                        if (draw(state, 2))
                                halves[half] = constants->list[draw(state, constants->count)];
                data->args[i] = (uint64_t)halves[1] << 32 | halves[0];
        }
}

/* Compares for one number. True when the answer depends on the arguments. */
static bool compare_number(const char *name, const struct seccomp_program *longer,
                           const struct seccomp_program *shorter, const struct constants *constants,
                           uint32_t architecture, uint32_t number, size_t draws)
{
        uint64_t state = number;
        uint32_t first = 0;
        bool depends = false;

        for (size_t i = 0; i < draws; i++) {
                struct seccomp_data data = {.nr = (int)number, .arch = architecture};
                draw_arguments(&state, constants, &data);
                uint32_t expected = run(longer, &data);
                uint32_t answer = run(shorter, &data);
                if (answer != expected)
                        fail_msg("%s: call %u of 0x%x: 0x%x instead of 0x%x", name, number, architecture,
                                 answer, expected);
                if (i == 0)
                        first = answer;
                depends |= answer != first;
        }
        return depends;
}

/* Compares for all numbers. Returns for how many of them the arguments decided. */
static unsigned compare_programs(const char *name, const struct seccomp_program *longer,
                                 const struct seccomp_program *shorter, uint32_t native)
{
        const uint32_t architectures[] = {native, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_S390,
                                          0,      UINT32_MAX};
        const uint32_t huge[] = {4096, 0x3fffffff, 0x7fffffff, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
        const struct constants constants = find_constants(longer);
        unsigned depending = 0;

        for (uint32_t number = 0; number < NUMBERS; number++)
                depending += compare_number(name, longer, shorter, &constants, native, number, MANY_DRAWS);
        for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
                for (uint32_t number = 0; number < NUMBERS; number++) {
                        compare_number(name, longer, shorter, &constants, architectures[i], number,
                                       FEW_DRAWS);
                        compare_number(name, longer, shorter, &constants, architectures[i], number | X32_BIT,
                                       FEW_DRAWS);
                }
                for (size_t j = 0; j < sizeof(huge) / sizeof(huge[0]); j++)
                        compare_number(name, longer, shorter, &constants, architectures[i], huge[j],
                                       MANY_DRAWS);
        }
        return depending;
}

static bool compile(const struct seccomp_source *profile, const struct seccomp_source *changes,
                    bool keep_every_comparison, struct seccomp_program *program)
{
        struct error error = {0};

        if (!seccomp_compile_for(seccomp_arch_native(), profile, changes, program, &error))
                return false;
        if (!keep_every_comparison)
                seccomp_ranges(program, seccomp_arch_native());
        return true;
}

/* Compiles both ways and compares. Returns for how many calls the arguments decided; *saved: instructions. */
static unsigned check_profile(const char *path, const char *changes_path, unsigned *saved)
{
        struct seccomp_program longer = {0}, shorter = {0};
        autofree char *json = NULL;
        autofree char *changes_json = NULL;
        ssize_t length = fd_read_file(path, 1 << 20, &json);
        ssize_t changes_length = changes_path ? fd_read_file(changes_path, 1 << 20, &changes_json) : 0;

        assert_true(length > 0 && changes_length >= 0);
        struct seccomp_source profile = {.name = path, .json = json, .length = (size_t)length};
        struct seccomp_source changes = {
            .name = changes_path, .json = changes_json, .length = (size_t)changes_length};
        const struct seccomp_source *given = changes_path ? &changes : NULL;
        assert_true(compile(&profile, given, true, &longer));
        assert_true(compile(&profile, given, false, &shorter));
        assert_true(shorter.length <= longer.length);
        *saved = (unsigned)(longer.length - shorter.length);
        unsigned depending = compare_programs(path, &longer, &shorter, seccomp_arch_native());
        seccomp_free(&longer);
        seccomp_free(&shorter);
        return depending;
}

static void test_built_in(void **state)
{
        unsigned saved;

        (void)state;
        /* The comparison of arguments means something: personality at least is decided by them. */
        assert_true(check_profile(PROFILES "default.json", NULL, &saved) > 0);
        assert_true(saved > 100);
        assert_true(check_profile(PROFILES "default.json", PROFILES "allow-userns.json", &saved) > 0);
        assert_true(saved > 100);
        check_profile(PROFILES "init.json", NULL, &saved);
        check_profile(PROFILES "supervisor.json", NULL, &saved);
}

static void test_fixtures(void **state)
{
        glob_t found;

        (void)state;
        assert_int_equal(glob(FIXTURES "*.json", 0, NULL, &found), 0);
        assert_true(found.gl_pathc > 2);
        for (size_t i = 0; i < found.gl_pathc; i++) {
                unsigned saved;
                check_profile(found.gl_pathv[i], NULL, &saved);
        }
        globfree(&found);
}

/* A program in memory of its own, as seccomp_ranges() wants it. */
static struct seccomp_program own(const struct sock_filter *code, size_t count)
{
        struct sock_filter *copy = str_or_die(malloc(count * sizeof(*copy)));

        memcpy(copy, code, count * sizeof(*copy));
        return (struct seccomp_program){.code = copy, .length = (unsigned short)count, .owned = true};
}

#define ANSWER(value)    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (value))
#define LOAD(field)      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))

/* So many ranges that the answers are farther away than a conditional jump goes. */
static void test_far_jumps(void **state)
{
        static struct sock_filter code[ROOM];
        size_t count = 0;

        (void)state;
        code[count++] = (struct sock_filter)LOAD(arch);
        code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
        code[count++] = (struct sock_filter)ANSWER(1);
        code[count++] = (struct sock_filter)LOAD(nr);
        for (uint32_t number = 0; count + 3 < ROOM; number++) {
                code[count++] = (struct sock_filter)UNLESS(number, 1);
                code[count++] = (struct sock_filter)ANSWER(number / 3 % 5);
        }
        code[count++] = (struct sock_filter)ANSWER(6);

        struct seccomp_program longer = own(code, count), shorter = own(code, count);
        seccomp_ranges(&shorter, AUDIT_ARCH_X86_64);
        assert_true(shorter.length < longer.length / 2 && shorter.length > 600);
        compare_programs("far jumps", &longer, &shorter, AUDIT_ARCH_X86_64);
        seccomp_free(&longer);
        seccomp_free(&shorter);
}

/* What is not understood to the end stays as it is. */
static void test_left_alone(void **state)
{
        const struct sock_filter bits_of_number[] = {LOAD(nr),  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 1, 0),
                                                     ANSWER(1), ANSWER(2),
                                                     ANSWER(3), ANSWER(4),
                                                     ANSWER(5), ANSWER(6),
                                                     ANSWER(7), ANSWER(8),
                                                     ANSWER(9)};
        const struct sock_filter other_architecture[] = {LOAD(arch), UNLESS(AUDIT_ARCH_I386, 1),
                                                         ANSWER(1),  ANSWER(2),
                                                         ANSWER(3),  ANSWER(4),
                                                         ANSWER(5),  ANSWER(6),
                                                         ANSWER(7),  ANSWER(8),
                                                         ANSWER(9)};
        const struct sock_filter foreign_numbers[] = {LOAD(nr),  UNLESS(7, 1), ANSWER(1), ANSWER(2),
                                                      ANSWER(3), ANSWER(4),    ANSWER(5), ANSWER(6),
                                                      ANSWER(7), ANSWER(8),    ANSWER(9)};
        const struct sock_filter changed_before[] = {LOAD(nr),     BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1),
                                                     UNLESS(1, 1), ANSWER(1),
                                                     ANSWER(2),    ANSWER(3),
                                                     ANSWER(4),    ANSWER(5),
                                                     ANSWER(6),    ANSWER(7),
                                                     ANSWER(8)};
        const struct sock_filter leaves[] = {LOAD(nr),  UNLESS(1, 9), ANSWER(1), ANSWER(2),
                                             ANSWER(3), ANSWER(4),    ANSWER(5), ANSWER(6),
                                             ANSWER(7), ANSWER(8),    ANSWER(9)};
        const struct sock_filter *const programs[] = {bits_of_number, other_architecture, foreign_numbers,
                                                      changed_before, leaves};

        (void)state;
        for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
                struct seccomp_program program = own(programs[i], 11);
                seccomp_ranges(&program, AUDIT_ARCH_X86_64);
                assert_int_equal(program.length, 11);
                assert_memory_equal(program.code, programs[i], 11 * sizeof(*programs[i]));
                seccomp_free(&program);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_built_in),
            cmocka_unit_test(test_fixtures),
            cmocka_unit_test(test_far_jumps),
            cmocka_unit_test(test_left_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
