/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether hutch may grant, without being asked, what a link, a `#!` line or a script's text refers to. It
 * only looks: it grants nothing.
 *
 * Theory of operation. hutch decides on behalf of the user, before the sandbox exists, from files that
 * somebody else may have written. Two parties are hostile: the server in an earlier run, which could write
 * every directory that was granted to it writable, and whoever made a clone or an archive that the user
 * unpacked. A reference does not tell who wrote it; only its own place and its target's place can be judged.
 *
 * What can be forged: whoever may write a directory can make any link, any file and any marker of a project
 * there, and can remove them. So a marker beside a link never speaks for the link. It only bounds a project,
 * of which naming a plain file there would grant as much. A repository's .git is not such a bound: a server
 * that may write one directory of the repository would reach all of it.
 *
 * What cannot be forged: the attacker could not write the target's place, so markers of an installation there
 * are true. But a private directory may have such markers honestly (a virtual environment, a project with
 * package.json). Therefore only a whole runtime with its library counts, in which nobody keeps private
 * files; an environment or a project does not.
 *
 * Only the user writes the places that hutch never grants writable and that no clone contains: the home
 * itself and the directories above it, the directories of version managers, root's directories, and the
 * directories of PATH, whose programs the user runs without any sandbox.
 */
#ifndef HUTCH_COMMAND_TRUST_H
#define HUTCH_COMMAND_TRUST_H

#include "command/directories.h"

#include <stdbool.h>

/* True when `from` (a link, or a file that names another) may lead to `target`, both absolute and normal:
 * only the user can have made `from`, or `target` is in the same project or visible anyway. */
bool trust_reference(const struct resolver *resolver, const char *from, const char *target);

/* The same for every link that `path` (absolute and normal) leads through. When false, *from and *to, unless
 * they are NULL, become the first link in doubt and its target; the caller frees both. It skips links in a
 * writable grant, because grants_add_program() refuses them. */
bool trust_way(const struct resolver *resolver, const char *path, char **from, char **to);

/* The same for an absolute path in which `..` may follow a link. */
bool trust_spelled_way(const struct resolver *resolver, const char *path);

/* The real path of the installed Python, Node.js, Homebrew or Nix store of which `path` is a part, or NULL.
 * It has nobody's private files, so hutch may grant it whoever wrote the reference. The caller frees. */
char *trust_find_installation(const struct resolver *resolver, const char *path);

/* True when granting `real` shows the command nothing private: it is visible anyway, or part of an
 * installation. Even a reference in doubt may bring it. */
bool trust_shows_nothing_new(const struct resolver *resolver, const char *real);

#endif
