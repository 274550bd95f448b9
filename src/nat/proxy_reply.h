/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a proxy's answer to CONNECT, as hostile bytes.
 */
#ifndef HUTCH_NAT_PROXY_REPLY_H
#define HUTCH_NAT_PROXY_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum { PROXY_REPLY_MAX = 16384 };

/* The length of the head, its empty line included; 0: its end is not there yet. */
size_t proxy_reply_end(const uint8_t *bytes, size_t length);

/* The status of a whole head, 100 to 599, or -1 when it is no answer of HTTP/1. */
int proxy_reply_status(const uint8_t *head, size_t length);

#endif
