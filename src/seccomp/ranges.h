/* SPDX-License-Identifier: Apache-2.0
 *
 * A shorter program for the same filter. The kernel translates every instruction at load and steps through
 * the program once for every call there is, so the length of a program is time at each start of a server.
 */
#ifndef HUTCH_SECCOMP_RANGES_H
#define HUTCH_SECCOMP_RANGES_H

#include "seccomp/program.h"

#include <stdint.h>

/* Replaces an owned program, made for the one architecture whose audit number is given, by one that gives the
 * same answer to every call of any architecture, with ranges of call numbers where libseccomp has one
 * comparison for each number. A program that it does not understand to the last instruction, or cannot make
 * shorter, stays as it is; so does everything when there is no memory. */
void seccomp_ranges(struct seccomp_program *program, uint32_t architecture);

#endif
