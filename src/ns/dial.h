/* SPDX-License-Identifier: Apache-2.0
 *
 * --publish: pid 1 connects to the sandbox's loopback on behalf of hutch-nat, which is outside of the
 * sandbox's network namespace. The messages are those of nat/wire.h.
 */
#ifndef HUTCH_NS_DIAL_H
#define HUTCH_NS_DIAL_H

#include <stdbool.h>

/* Answers one request of hutch-nat with a connecting socket. False when hutch-nat has hung up. */
bool dial_answer(int dialler);

#endif
