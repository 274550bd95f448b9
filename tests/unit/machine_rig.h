/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory that stands for the root of a made-up machine.
 */
#ifndef HUTCH_TESTS_MACHINE_RIG_H
#define HUTCH_TESTS_MACHINE_RIG_H

/* Its path. */
extern char machine_directory[64];

/* Fixtures of cmocka: makes an empty one; removes it with all that is in it. */
int machine_set_up(void **state);
int machine_tear_down(void **state);

/* Writes a file, with the directories above it. `name` begins with a slash. */
void machine_make_file(const char *name, const char *content);

#endif
