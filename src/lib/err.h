/* SPDX-License-Identifier: Apache-2.0
 *
 * One sentence that travels up to the person: what failed, why, and what to do. Modules that fail for reasons
 * a person can act on return false and fill a struct error; thin wrappers of system calls return a negative
 * errno. No module does both.
 */
#ifndef HUTCH_LIB_ERR_H
#define HUTCH_LIB_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Exit statuses of hutch itself (the command's own are passed on unchanged). */
enum {
        EXIT_USAGE = 2,
        EXIT_TIMED_OUT = 124,
        EXIT_SETUP = 125,
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

struct error {
        int status;      /* the exit status that belongs to it; 0 while nothing went wrong */
        char text[1536]; /* one line, printable (control bytes of names are written as \xNN), no final newline
                          */
};

/* Records one sentence and returns false, so that `return error_set(…)` ends a function. The first error
 * wins: a later call on the same object changes nothing. Text that does not fit ends in an ellipsis. */
bool error_set(struct error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies `length` bytes of untrusted text into `out` (capacity `size`, > 0) so that it is one printable line:
 * control bytes and invalid UTF-8 become \xNN, too long a text ends in "…". Returns out. */
char *error_quote(char *out, size_t size, const char *text, size_t length);

/* `text` as it can stand in a sentence: printable and cut where it would push the rest of the sentence out.
 * The result lives as long as the enclosing block. */
#define error_shown(text) error_quote((char[224]){0}, 224, (text), strlen(text))

#endif
