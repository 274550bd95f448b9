/* SPDX-License-Identifier: Apache-2.0
 *
 * The server name in a TLS ClientHello (RFC 8446, RFC 6066), read as it arrives: over several segments and
 * several records. Every byte is hostile. Pure functions.
 */
#ifndef HUTCH_NAT_CLIENT_HELLO_H
#define HUTCH_NAT_CLIENT_HELLO_H

#include "nat/sniff.h"
#include "policy/destinations.h"

enum { CLIENT_HELLO_MAX = 65536 }; /* bytes that are looked at before it is refused as endless */

/* `bytes` is everything the client has sent so far. SNIFF_OTHER at once when it does not begin as a record of
 * SSL 3 or TLS does (0x14 to 0x18, 3): other protocols may begin with a length. A record that is none of a
 * handshake: SNIFF_BAD. A hello in the form of SSL 2: SNIFF_NO_NAME.
 * On SNIFF_NAME `name` holds the host name in lower case without a final dot. Two server names, two
 * server_name extensions, an empty or illegal name: SNIFF_BAD. An encrypted hello shows its outer name. */
enum sniff client_hello_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1]);

#endif
