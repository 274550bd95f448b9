/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates that environment variables name (SSL_CERT_FILE and the like), so that a variable that the user
 * forwards works inside.
 */
#ifndef HUTCH_GRANTS_CERTIFICATES_H
#define HUTCH_GRANTS_CERTIFICATES_H

#include "grants/resolver.h"

/* Grants, read-only and at the same path, exactly the file or the directories that each certificate variable
 * names which the user forwards with --env or --env-file. A path that the sandbox shows already needs no
 * grant. For a missing one hutch prints a note. Status 125 when a grant is refused, as with --ro. Call after
 * env_make(). */
bool certificates_add(const struct resolver *resolver);

#endif
