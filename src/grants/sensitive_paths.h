/* SPDX-License-Identifier: Apache-2.0
 *
 * Host paths whose grant voids the sandbox: whoever holds them holds the user's account. The decision is made
 * on real paths (no link in any component), so that no spelling avoids it. The table is made from
 * policy/sensitive-paths.json when hutch is built.
 */
#ifndef HUTCH_GRANTS_SENSITIVE_PATHS_H
#define HUTCH_GRANTS_SENSITIVE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum sensitive_kind {
        SENSITIVE_NEVER,          /* is not granted */
        SENSITIVE_NEVER_WRITABLE, /* is granted for reading only */
        SENSITIVE_PROTECTED,      /* stays read-only in a writable grant (protect.h) */
};

struct sensitive_row {
        enum sensitive_kind kind;
        enum {
                SENSITIVE_MACHINE,  /* the path is absolute; what is inside it or above it counts too */
                SENSITIVE_HOME,     /* the same, relative to a home */
                SENSITIVE_ANYWHERE, /* a path that ends so */
                SENSITIVE_GRANT,    /* relative to a writable grant */
        } where;
        const char *path, *why; /* why: half a sentence ("it holds …") */
};
extern const struct sensitive_row sensitive_rows[];
extern const size_t sensitive_row_count;

/* Why granting `real_path` would void the sandbox, as half a sentence ("it holds …"), or NULL when it may be
 * granted. `home` is the caller's home as a real path ("" when there is none). The result is static. */
const char *sensitive_path_reason(const char *real_path, const char *home, bool writable);

/* The same for every home of the caller (lib/homes.h). */
const char *sensitive_path_any_home(const char *real_path, bool writable);

#endif
