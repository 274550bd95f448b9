/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the head of a proxy's reply to CONNECT. Every byte is hostile. Pure functions.
 */
#ifndef HUTCH_NAT_PROXY_REPLY_H
#define HUTCH_NAT_PROXY_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum { PROXY_REPLY_MAX = 16384 };

/* The length of the head with its empty line; 0 when that has not arrived. */
size_t proxy_reply_end(const uint8_t *bytes, size_t length);

/* The status of a complete head, 100 to 599, or -1 when it is not a reply of HTTP/1. */
int proxy_reply_status(const uint8_t *head, size_t length);

#endif
