/* SPDX-License-Identifier: Apache-2.0
 *
 * --publish: connections of the host to a port on which the server listens.
 */
#ifndef HUTCH_NAT_PUBLISH_H
#define HUTCH_NAT_PUBLISH_H

#include <stdint.h>

/* Serves a listener of the host (NAT_SOCKET_PUBLISH) for `port` of the sandbox and takes it over. */
void publish_serve(int descriptor, uint16_t port);

#endif
