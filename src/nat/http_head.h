/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the host of the first request on a plain HTTP connection (RFC 9112) as it arrives. Every byte is
 * hostile. Pure functions.
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

#endif
