/* SPDX-License-Identifier: Apache-2.0
 *
 * Shortening a program. When the kernel loads a program, it translates every instruction and runs it once for
 * every call number, so each instruction costs time at each start of a server.
 */
#ifndef HUTCH_SECCOMP_RANGES_H
#define HUTCH_SECCOMP_RANGES_H

#include "seccomp/program.h"

#include <stdint.h>

/* Replaces an owned program by a shorter one that gives the same answer to every call of every architecture:
 * it compares ranges of call numbers, where libseccomp compares each number. `architecture` is the audit
 * number of the one architecture that the program was made for. A program with any instruction that this
 * module does not understand, or one that it cannot shorten, stays as it is. */
void seccomp_ranges(struct seccomp_program *program, uint32_t architecture);

#endif
