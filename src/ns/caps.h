/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving up every capability of the sandbox's user namespace, and the means to get one back.
 */
#ifndef HUTCH_NS_CAPS_H
#define HUTCH_NS_CAPS_H

#include "ns/entering.h"

/* Sets no_new_privs, empties all capability sets and the bounding set, and locks the securebits. Call it when
 * nothing more is to be mounted. */
void caps_drop(const struct entering *entering);

#endif
