/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of HTTP/1 (RFC 9112): the host of the first request on a plain connection, as it arrives, and a
 * proxy's reply to CONNECT. Every byte is hostile. Pure functions.
 */
#ifndef HUTCH_NAT_HTTP_HEAD_H
#define HUTCH_NAT_HTTP_HEAD_H

#include "nat/sniff.h"
#include "policy/destinations.h"

enum { HTTP_HEAD_MAX = 65536 };

/* `bytes` is everything that the client has sent so far. `*end` is the offset after the head, once that is
 * complete. Later requests on the connection are not inspected.
 *
 * On SNIFF_NAME `name` holds the Host, or the authority of an absolute target, which must be equal: in lower
 * case, without port and final dot; an address keeps its spelling, an IPv6 one loses its brackets.
 * SNIFF_OTHER: the bytes do not look like the start of a request line; the function says so at once, because
 * a client of another protocol may wait for an answer. SNIFF_NO_NAME: a complete head without Host.
 * SNIFF_BAD: two Host fields, a Host that differs from the target's authority, an empty line before the
 * request, white space before the colon, a folded line, a bare CR, a NUL, CONNECT, an upgrade to h2c, the
 * HTTP/2 preface, a head longer than HTTP_HEAD_MAX. */
enum sniff http_head_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1], size_t *end);

enum { HTTP_REPLY_MAX = 16384 };

/* The length of a reply's head with its empty line; 0 when that has not arrived. */
size_t http_reply_end(const uint8_t *bytes, size_t length);

/* The status of a complete head, 100 to 599, or -1 when it is not a reply of HTTP/1. */
int http_reply_status(const uint8_t *head, size_t length);

#endif
