/* SPDX-License-Identifier: Apache-2.0
 *
 * See ranges.h. This module must never change an answer.
 *
 * Theory of operation. The answer to a call of the native architecture depends on the call's number and
 * perhaps on its arguments. The program compares the number with constants. Between two neighbouring
 * constants nothing changes, so one walk through the program for each constant, and for the number after it,
 * finds the outcome for all numbers. An outcome is an answer, or the instruction that first loads an
 * argument. Neighbouring numbers with the same outcome become one range, and a binary search over the ranges
 * replaces everything before the outcomes. Instructions from the load of an argument on are copied unchanged:
 * before it, a walk accepts only instructions that change nothing but the accumulator, which the load
 * overwrites.
 *
 * The new program is written from its end to its beginning. All jumps go forward, so a jump's target has its
 * place before the jump is written.
 */
#include "seccomp/ranges.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FARTHEST = 254 }; /* the longest conditional jump, less one instruction of reserve */

struct outcome {
        bool is_answer;
        uint32_t value; /* the answer, or the index of the instruction that loads an argument */
};

struct range {
        uint32_t first; /* call number; the range ends before the next one's first */
        struct outcome outcome;
};

struct ranges {
        struct range list[2 * BPF_MAXINSNS + 1];
        size_t count;
};

/* The new program, from `start` to the end of `code`. */
struct writer {
        struct sock_filter code[BPF_MAXINSNS];
        size_t start;
        bool full;
        size_t copies[BPF_MAXINSNS]; /* the place of each copied instruction of the old program */
        struct {
                uint32_t value;
                size_t place;
        } answers[BPF_MAXINSNS];
        size_t answer_count;
};

struct workplace {
        struct ranges ranges;
        struct writer writer;
};

enum known { NOTHING, NUMBER, ARCHITECTURE };

static bool is_comparison(uint16_t code)
{
        return code == (BPF_JMP | BPF_JEQ | BPF_K) || code == (BPF_JMP | BPF_JGT | BPF_K) ||
               code == (BPF_JMP | BPF_JGE | BPF_K);
}

static bool compare(uint16_t code, uint32_t value, uint32_t constant)
{
        return (BPF_OP(code) != BPF_JGT && value == constant) ||
               (BPF_OP(code) != BPF_JEQ && value > constant);
}

/* Follows the program for one number, of the native architecture or of any other. False when it meets an
 * instruction that this module does not understand. */
static bool walk(const struct seccomp_program *program, uint32_t architecture, bool native, uint32_t number,
                 struct outcome *outcome)
{
        enum known accumulator = NOTHING;

        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                if (one->code == (BPF_RET | BPF_K)) {
                        *outcome = (struct outcome){.is_answer = true, .value = one->k};
                        return true;
                }
                if (one->code == (BPF_LD | BPF_W | BPF_ABS)) {
                        if (one->k == offsetof(struct seccomp_data, nr)) {
                                accumulator = NUMBER;
                        } else if (one->k == offsetof(struct seccomp_data, arch)) {
                                accumulator = ARCHITECTURE;
                        } else {
                                *outcome = (struct outcome){.is_answer = false, .value = (uint32_t)i};
                                return true;
                        }
                } else if (one->code == (BPF_JMP | BPF_JA)) {
                        i += one->k;
                } else if (is_comparison(one->code) && accumulator == NUMBER) {
                        i += compare(one->code, number, one->k) ? one->jt : one->jf;
                } else if (one->code == (BPF_JMP | BPF_JEQ | BPF_K) && accumulator == ARCHITECTURE &&
                           one->k == architecture) {
                        i += native ? one->jt : one->jf;
                } else {
                        return false;
                }
        }
        return false;
}

static int compare_firsts(const void *left, const void *right)
{
        const struct range *a = left, *b = right;
        return a->first < b->first ? -1 : a->first > b->first;
}

/* Lists every number at which an outcome may change, in order and perhaps repeatedly. */
static void list_firsts(const struct seccomp_program *program, struct ranges *ranges)
{
        ranges->list[0].first = 0;
        ranges->count = 1;
        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                if (!is_comparison(one->code))
                        continue;
                ranges->list[ranges->count++].first = one->k;
                if (one->k < UINT32_MAX)
                        ranges->list[ranges->count++].first = one->k + 1;
        }
        qsort(ranges->list, ranges->count, sizeof(*ranges->list), compare_firsts);
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
        return a->is_answer == b->is_answer && a->value == b->value;
}

/* Fills the ranges, and the one answer for all calls of other architectures. False when there is no such
 * answer, or the program is not understood. */
static bool find_ranges(const struct seccomp_program *program, uint32_t architecture, struct ranges *ranges,
                        struct outcome *foreign)
{
        size_t kept = 0;

        list_firsts(program, ranges);
        if (!walk(program, architecture, false, 0, foreign) || !foreign->is_answer)
                return false;
        for (size_t i = 0; i < ranges->count; i++) {
                struct range *range = &ranges->list[i];
                struct outcome other;
                if (!walk(program, architecture, false, range->first, &other) || !is_same(&other, foreign) ||
                    !walk(program, architecture, true, range->first, &range->outcome))
                        return false;
                if (kept == 0 || !is_same(&range->outcome, &ranges->list[kept - 1].outcome))
                        ranges->list[kept++] = *range;
        }
        ranges->count = kept;
        return true;
}

/* Puts one instruction in front of the program and returns its place. */
static size_t prepend(struct writer *writer, uint16_t code, uint32_t operand, size_t if_true, size_t if_false)
{
        if (writer->start == 0)
                writer->full = true;
        else
                writer->code[--writer->start] =
                    (struct sock_filter){code, (uint8_t)if_true, (uint8_t)if_false, operand};
        return writer->start;
}

/* The number of instructions that the next one to be written must skip to get to `target`. */
static size_t skip_to(const struct writer *writer, size_t target)
{
        return target - writer->start;
}

/* Marks every instruction that can be reached from the argument loads of the ranges. */
static void mark_tails(const struct seccomp_program *program, const struct ranges *ranges,
                       bool reached[BPF_MAXINSNS])
{
        for (size_t i = 0; i < ranges->count; i++)
                if (!ranges->list[i].outcome.is_answer)
                        reached[ranges->list[i].outcome.value] = true;
        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                if (!reached[i] || BPF_CLASS(one->code) == BPF_RET)
                        continue;
                if (one->code == (BPF_JMP | BPF_JA)) {
                        reached[i + 1 + one->k] = true;
                } else if (BPF_CLASS(one->code) == BPF_JMP) {
                        reached[i + 1 + one->jt] = true;
                        reached[i + 1 + one->jf] = true;
                } else {
                        reached[i + 1] = true;
                }
        }
}

/* Copies the marked instructions. No jump gets longer, because instructions are only left out between them.
 */
static void copy_tails(struct writer *writer, const struct seccomp_program *program,
                       const struct ranges *ranges)
{
        bool reached[BPF_MAXINSNS] = {false};

        mark_tails(program, ranges, reached);
        for (size_t i = program->length; i-- > 0;) {
                struct sock_filter one = program->code[i];
                if (!reached[i])
                        continue;
                if (one.code == (BPF_JMP | BPF_JA)) {
                        one.k = (uint32_t)skip_to(writer, writer->copies[i + 1 + one.k]);
                } else if (BPF_CLASS(one.code) == BPF_JMP) {
                        one.jt = (uint8_t)skip_to(writer, writer->copies[i + 1 + one.jt]);
                        one.jf = (uint8_t)skip_to(writer, writer->copies[i + 1 + one.jf]);
                }
                writer->copies[i] = prepend(writer, one.code, one.k, one.jt, one.jf);
        }
}

static size_t write_answer(struct writer *writer, uint32_t value)
{
        for (size_t i = 0; i < writer->answer_count; i++)
                if (writer->answers[i].value == value)
                        return writer->answers[i].place;
        size_t place = prepend(writer, BPF_RET | BPF_K, value, 0, 0);
        writer->answers[writer->answer_count].value = value;
        writer->answers[writer->answer_count++].place = place;
        return place;
}

/* Returns `target`, or the place of a new jump to it when it is too far away for a conditional jump. */
static size_t bring_near(struct writer *writer, size_t target)
{
        if (skip_to(writer, target) <= FARTHEST)
                return target;
        return prepend(writer, BPF_JMP | BPF_JA, (uint32_t)skip_to(writer, target), 0, 0);
}

/* Writes the binary search among `count` ranges and returns its place. */
static size_t write_search(struct writer *writer, const struct range *ranges, size_t count)
{
        if (count == 1)
                return ranges->outcome.is_answer ? write_answer(writer, ranges->outcome.value)
                                                 : writer->copies[ranges->outcome.value];
        size_t half = count / 2;
        size_t above = write_search(writer, ranges + half, count - half);
        size_t below = write_search(writer, ranges, half);
        above = bring_near(writer, above);
        below = bring_near(writer, below);
        return prepend(writer, BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, skip_to(writer, above),
                       skip_to(writer, below));
}

static void write_program(struct writer *writer, const struct seccomp_program *program,
                          const struct ranges *ranges, uint32_t architecture, const struct outcome *foreign)
{
        writer->start = BPF_MAXINSNS;
        copy_tails(writer, program, ranges);
        for (size_t i = 0; i < ranges->count; i++)
                if (ranges->list[i].outcome.is_answer)
                        write_answer(writer, ranges->list[i].outcome.value);
        size_t search = bring_near(writer, write_search(writer, ranges->list, ranges->count));
        if (search != writer->start) /* a single range has no search */
                prepend(writer, BPF_JMP | BPF_JA, (uint32_t)skip_to(writer, search), 0, 0);
        prepend(writer, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        prepend(writer, BPF_RET | BPF_K, foreign->value, 0, 0);
        prepend(writer, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
        prepend(writer, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
}

/* True when every jump ends inside of the program and it ends with an answer. The kernel requires that too,
 * and the walks and copies rely on it. */
static bool is_well_formed(const struct seccomp_program *program)
{
        if (program->length == 0 || program->length > BPF_MAXINSNS ||
            BPF_CLASS(program->code[program->length - 1].code) != BPF_RET)
                return false;
        for (size_t i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                size_t behind = program->length - 1 - i;
                if (one->code == (BPF_JMP | BPF_JA)
                        ? one->k >= behind
                        : BPF_CLASS(one->code) == BPF_JMP && (one->jt >= behind || one->jf >= behind))
                        return false;
        }
        return true;
}

static void shorten(struct seccomp_program *program, uint32_t architecture, struct workplace *place)
{
        struct outcome foreign;

        if (!is_well_formed(program) || !find_ranges(program, architecture, &place->ranges, &foreign))
                return;
        write_program(&place->writer, program, &place->ranges, architecture, &foreign);
        size_t length = BPF_MAXINSNS - place->writer.start;
        if (place->writer.full || length >= program->length)
                return;
        /* In place: the block is owned, and the new program is shorter. */
        memcpy((struct sock_filter *)program->code, place->writer.code + place->writer.start,
               length * sizeof(*program->code));
        program->length = (unsigned short)length;
}

void seccomp_ranges(struct seccomp_program *program, uint32_t architecture)
{
        struct workplace *place = calloc(1, sizeof(*place)); /* too large for the stack */

        if (place)
                shorten(program, architecture, place);
        free(place);
}
