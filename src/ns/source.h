/* SPDX-License-Identifier: Apache-2.0
 *
 * The host object of a grant, as a detached mount that cannot change any more.
 */
#ifndef HUTCH_NS_SOURCE_H
#define HUTCH_NS_SOURCE_H

#include "ns/entering.h"

/* Clones mount->source with everything mounted below it. The clone is the object that was judged, private,
 * NOSUID, NODEV, and read-only unless the mount is writable. The caller closes it. */
int source_clone(const struct entering *entering, const struct mount *mount);

#endif
