/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's network namespace, made while the other steps run.
 */
#ifndef HUTCH_NS_NETWORK_H
#define HUTCH_NS_NETWORK_H

#include "ns/entering.h"

/* Starts to make the namespace. */
void network_begin(struct entering *entering);

/* Waits until it is made and enters it. Afterwards its loopback is up. */
void network_enter(struct entering *entering);

#endif
