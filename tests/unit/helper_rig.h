/* SPDX-License-Identifier: Apache-2.0
 *
 * A helper program that is played by the test: its end of the socket, the file of --log, and what hutch
 * prints.
 */
#ifndef HUTCH_TESTS_HELPER_RIG_H
#define HUTCH_TESTS_HELPER_RIG_H

#include "run/run_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern char heard[8192];   /* hutch's lines; a test may clear it */
extern struct run_log run; /* with a file of --log, and without a record */
extern int helper_end;     /* the helper's end of the socket */
extern int logged;         /* a second descriptor of the file of --log */

/* Returns the supervisor's end of the socket, or -1. */
int helper_rig_begin(void);
void helper_rig_end(void);

/* Sends what the helper says: a head that is its type, and the text. */
void helper_says(uint32_t type, const char *text);

/* The content of a file from its beginning; the caller frees. */
char *content_of(int file);

#endif
