/* SPDX-License-Identifier: Apache-2.0
 *
 * The authority of the first request on a plain HTTP connection (RFC 9112), read as it arrives. Every byte is
 * hostile. Pure functions.
 */
#ifndef HUTCH_NAT_HTTP_HEAD_H
#define HUTCH_NAT_HTTP_HEAD_H

#include "nat/sniff.h"
#include "policy/destinations.h"

enum { HTTP_HEAD_MAX = 65536 };

/* `bytes` is everything the client has sent so far. SNIFF_OTHER as soon as the bytes do not look like the
 * start of a request line; a client of another protocol may wait for its answer. On SNIFF_NAME `name` is the
 * Host (or the absolute target's authority, which must be the same), lower case, without port and final dot;
 * an address is written as it stands, a v6 one without brackets. SNIFF_NO_NAME: a complete head without Host.
 * SNIFF_BAD: two Host fields, an empty line before the request, white space before the colon, obs-fold, a
 * bare CR, NUL, a Host that differs from the target's authority, CONNECT, an upgrade to h2c, the HTTP/2
 * preface, a head over HTTP_HEAD_MAX. Later requests on the connection are not looked at here; `*end` is the
 * offset behind the head when it is complete. */
enum sniff http_head_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1], size_t *end);

#endif
