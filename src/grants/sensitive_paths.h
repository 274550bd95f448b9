/* SPDX-License-Identifier: Apache-2.0
 *
 * Which host paths void the sandbox when they are granted: whoever holds them holds the user's account. The
 * judgement is made on real paths only (no link in any component), so that no spelling avoids it.
 */
#ifndef HUTCH_GRANTS_SENSITIVE_PATHS_H
#define HUTCH_GRANTS_SENSITIVE_PATHS_H

#include <stdbool.h>

/* Why granting `real_path` would void the sandbox, as half a sentence ("it holds …"), or NULL when it may be
 * granted. `home` is the caller's home as a real path ("" when there is none). The result is static. */
const char *sensitive_path_reason(const char *real_path, const char *home, bool writable);

/* True when `real_path` is, holds or lies in a place of the home `home` (real, not "") whose files the
 * person's own shell and tools run. It is never granted writable. */
bool sensitive_path_is_executed(const char *real_path, const char *home);

#endif
