/* SPDX-License-Identifier: Apache-2.0
 *
 * One sentence for the user: what failed, why, and what to do. Modules whose failures the user can act on
 * return false and fill in a struct error; thin wrappers of system calls return a negative errno. No module
 * does both.
 */
#ifndef HUTCH_LIB_ERR_H
#define HUTCH_LIB_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The exit statuses of hutch itself. It passes on those of the command unchanged. */
enum {
        EXIT_USAGE = 2,
        EXIT_TIMED_OUT = 124,
        EXIT_SETUP = 125,
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

struct error {
        int status; /* the exit status for this error; 0: no error */
        const char
            *option;     /* the option that it is about, without dashes, where the parser found it; static */
        char text[1536]; /* one printable line without LF; control bytes are \xNN */
};

/* Stores one sentence and returns false, so that a function can end with `return error_set(…)`. Only the
 * first call on an object has an effect. A text that does not fit ends with an ellipsis. */
bool error_set(struct error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies `length` bytes of untrusted text to `out` (`size` bytes, > 0) as one printable line: control bytes
 * and invalid UTF-8 become \xNN, and a text that does not fit ends with "…". Returns `out`. */
char *error_quote(char *out, size_t size, const char *text, size_t length);

/* `text` for use in a sentence: printable, and cut so that the rest of the sentence fits. The result is valid
 * until the end of the enclosing block. */
#define error_shown(text) error_quote((char[224]){0}, 224, (text), strlen(text))

#endif
