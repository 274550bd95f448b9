/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets a test be one of hutch's helper programs, too: what starts the helper finds the test in its place.
 */
#ifndef HUTCH_TESTS_STAND_IN_H
#define HUTCH_TESTS_STAND_IN_H

/* First thing in main(). Started as `name`, the program runs `helper` and exits. Otherwise it goes on as a
 * copy of itself in a directory where program_find() finds `name` beside it; the directory is removed at
 * exit. */
void stand_in_begin(char **argv, const char *name, void (*helper)(void));

#endif
