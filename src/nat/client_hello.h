/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the server name in a TLS ClientHello (RFC 8446, RFC 6066) as it arrives, in any number of segments
 * and records. Every byte is hostile. Pure functions.
 */
#ifndef HUTCH_NAT_CLIENT_HELLO_H
#define HUTCH_NAT_CLIENT_HELLO_H

#include "nat/sniff.h"
#include "policy/destinations.h"

enum { CLIENT_HELLO_MAX = 65536 }; /* bytes: a hello that is longer is refused */

/* `bytes` is everything that the client has sent so far.
 *
 * On SNIFF_NAME `name` holds the host name in lower case without a final dot; of an encrypted hello it is the
 * outer name. SNIFF_OTHER: the bytes do not begin as a record of SSL 3 or TLS does (0x14 to 0x18, then 3);
 * the function says so at once, because other protocols may begin with a length and wait for an answer.
 * SNIFF_NO_NAME: also a hello in the SSL 2 format. SNIFF_BAD: also a first record of another type than
 * handshake, two server names, two server_name extensions, an empty or illegal name. */
enum sniff client_hello_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1]);

#endif
