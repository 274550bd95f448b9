/* SPDX-License-Identifier: Apache-2.0
 *
 * See env_file.h.
 */
#include "resolve/env_file.h"

#include "grants/mounts.h"
#include "grants/past_grants.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/path_walk.h"
#include "options/values.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 20, MOST_LINES = 4096 };

/* Reads the text of the file, of which the judged real path is `real`. */
static ssize_t read_text(const char *path, const char *real, char **text)
{
        struct stat status;
        autoclose int file = real_path_open(AT_FDCWD, real, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (file < 0 || fstat(file, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode))
                return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
        ssize_t length = fd_read_all(file, MOST_BYTES, text);
        if (length >= 0 && (status.st_mode & (S_IRGRP | S_IROTH)))
                message("note: other users can read %s, which holds secrets: chmod 600 it",
                        error_shown(path));
        return length;
}

/* One line, without its end, of `length` bytes. */
static bool read_line(const char *path, size_t number, const char *line, size_t length,
                      struct str_list *variables, struct error *error)
{
        size_t blank = strspn(line, " \t");
        if (blank >= length || line[blank] == '#')
                return true;
        const char *equals = memchr(line, '=', length);
        /* The text before = may be part of a secret: the second line of a key that was broken in two. */
        if (memchr(line, 0, length) || !equals ||
            !str_is_variable_name(line + blank, (size_t)(equals - line) - blank))
                return error_set(error, EXIT_USAGE,
                                 "--env-file %s:%zu: the line is not KEY=VALUE, KEY of letters, digits and _ "
                                 "with no digit first; a comment begins with #",
                                 error_shown(path), number);
        if (length - blank >= ENV_VARIABLE_MAX)
                return error_set(error, EXIT_USAGE, "--env-file %s:%zu: the line has more than %d bytes",
                                 error_shown(path), number, ENV_VARIABLE_MAX - 1);
        size_t value = length - (size_t)(equals + 1 - line);
        if (value >= 2 && (equals[1] == '"' || equals[1] == '\'') && line[length - 1] == equals[1])
                message("note: %s:%zu: the quotes are part of the value", error_shown(path), number);
        str_list_take(variables, str_copy_n(line + blank, length - blank));
        return true;
}

bool env_file_read(const struct resolver *resolver, const char *path, struct str_list *variables)
{
        autofree char *text = NULL;
        const struct walked *walked = path_walk(resolver_walker(resolver), path);
        const struct mount *left = mounts_find_escape(resolver, walked);
        if (left)
                return error_set(resolver->error, EXIT_SETUP,
                                 "refusing to read --env-file %s: a link leads there out of the writable %s, "
                                 "and the server may have put it there; if it is yours, name %s itself",
                                 error_shown(path), left->source, error_shown(walked->real));
        const char *past = past_grants_find_escape(resolver, walked);
        if (past)
                return error_set(resolver->error, EXIT_SETUP,
                                 "refusing to read --env-file %s: a link leads there out of %s, which an "
                                 "earlier run could write to, and its server may have put it there; if it is "
                                 "yours, name %s itself",
                                 error_shown(path), past, error_shown(walked->real));
        ssize_t length = walked->real ? read_text(path, walked->real, &text) : -walked->problem;
        if (length < 0 || !text)
                return error_set(resolver->error, EXIT_SETUP, "cannot read --env-file %s: %s",
                                 error_shown(path),
                                 length == -EFBIG    ? "it is larger than 1 MiB"
                                 : length == -EINVAL ? "it is not a regular file"
                                                     : strerror((int)-length));
        const char *line = text, *end = text + length;
        /* Editors on Windows write a byte-order mark and end lines with \r. */
        if (str_starts(line, "\xef\xbb\xbf"))
                line += 3;
        for (size_t number = 1; line < end; number++) {
                if (number > MOST_LINES)
                        return error_set(resolver->error, EXIT_SETUP,
                                         "cannot read --env-file %s: it has more than %d lines",
                                         error_shown(path), MOST_LINES);
                const char *stop = memchr(line, '\n', (size_t)(end - line));
                if (!stop)
                        stop = end;
                size_t whole = (size_t)(stop - line);
                if (whole > 0 && line[whole - 1] == '\r')
                        whole--;
                if (!read_line(path, number, line, whole, variables, resolver->error))
                        return false;
                line = stop + 1;
        }
        return true;
}
