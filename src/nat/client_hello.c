/* SPDX-License-Identifier: Apache-2.0
 *
 * See client_hello.h. Records and segments may split a hello anywhere (RFC 8446, 5.1), so gather() joins the
 * content of the records and the parser runs once the hello is complete.
 */
#include "nat/client_hello.h"

#include "lib/fd.h"
#include "nat/bytes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
        RECORD_FIRST = 0x14, /* change_cipher_spec; then alert, handshake, application data, heartbeat */
        RECORD_HANDSHAKE = 0x16,
        RECORD_LAST = 0x18,
        RECORD_VERSION = 3, /* its first byte, from SSL 3 to TLS 1.3 */
        RECORD_MAX = 16384, /* bytes of plaintext in one record */
        MESSAGE_CLIENT_HELLO = 1,
        EXTENSION_SERVER_NAME = 0,
        NAME_HOST = 0,
};

/* Copies a host name in the spelling of rules. False when it is not a valid name. */
static bool copy_name(struct bytes host, char name[NAME_MAX_LENGTH + 1])
{
        if (host.left && host.at[host.left - 1] == '.')
                host.left--;
        if (host.left == 0 || host.left > NAME_MAX_LENGTH)
                return false;
        for (size_t i = 0; i < host.left; i++)
                name[i] = (char)tolower(host.at[i]);
        name[host.left] = 0;
        return strlen(name) == host.left && destination_is_name(name);
}

/* Reads the content of the server_name extension, which must be a list of exactly one host name. */
static enum sniff read_server_name(struct bytes content, char name[NAME_MAX_LENGTH + 1])
{
        struct bytes list = bytes_take(&content, bytes_number(&content, 2));
        uint32_t type = bytes_number(&list, 1);
        struct bytes host = bytes_take(&list, bytes_number(&list, 2));
        if (list.short_ || host.short_ || content.short_ || list.left || content.left || type != NAME_HOST)
                return SNIFF_BAD;
        return copy_name(host, name) ? SNIFF_NAME : SNIFF_BAD;
}

static enum sniff read_extensions(struct bytes extensions, char name[NAME_MAX_LENGTH + 1])
{
        enum sniff found = SNIFF_NO_NAME;
        while (extensions.left) {
                uint32_t type = bytes_number(&extensions, 2);
                struct bytes content = bytes_take(&extensions, bytes_number(&extensions, 2));
                if (extensions.short_)
                        return SNIFF_BAD;
                if (type != EXTENSION_SERVER_NAME)
                        continue;
                if (found != SNIFF_NO_NAME)
                        return SNIFF_BAD; /* a second one: servers differ in which they use */
                found = read_server_name(content, name);
        }
        return found;
}

/* Reads the body of a ClientHello. */
static enum sniff read_hello(struct bytes hello, char name[NAME_MAX_LENGTH + 1])
{
        enum { VERSION_AND_RANDOM = 2 + 32, SESSION_MAX = 32 };
        bytes_skip(&hello, VERSION_AND_RANDOM);
        struct bytes session = bytes_take(&hello, bytes_number(&hello, 1));
        struct bytes suites = bytes_take(&hello, bytes_number(&hello, 2));
        struct bytes compression = bytes_take(&hello, bytes_number(&hello, 1));
        if (hello.short_ || session.left > SESSION_MAX || suites.left == 0 || suites.left % 2 ||
            compression.left == 0)
                return SNIFF_BAD;
        if (hello.left == 0)
                return SNIFF_NO_NAME; /* the client predates extensions */
        struct bytes extensions = bytes_take(&hello, bytes_number(&hello, 2));
        if (hello.short_ || hello.left)
                return SNIFF_BAD;
        return read_extensions(extensions, name);
}

/* Joins the content of the records that have arrived in `out`, which is as large as the input. */
static enum sniff gather(struct bytes input, uint8_t *out, size_t *length)
{
        *length = 0;
        while (input.left) {
                uint32_t type = bytes_number(&input, 1);
                uint32_t version = bytes_number(&input, 2);
                uint32_t size = bytes_number(&input, 2);
                if (type != RECORD_HANDSHAKE)
                        return SNIFF_BAD; /* another record type inside the hello */
                if (input.short_)
                        return SNIFF_MORE;
                if (version >> 8 != RECORD_VERSION || size == 0 || size > RECORD_MAX)
                        return SNIFF_BAD;
                size_t here = size < input.left ? size : input.left;
                memcpy(out + *length, input.at, here);
                *length += here;
                bytes_skip(&input, here);
                if (*length >= 4 && *length >= 4 + ((size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]))
                        return SNIFF_NAME; /* the hello is complete: what follows is not part of it */
        }
        return SNIFF_MORE;
}

/* Recognizes a hello in the SSL 2 format that offers SSL 3 or TLS (RFC 5246, E.2): a length with its highest
 * bit set, the message type, the version. It names no host, and servers still accept it. */
static enum sniff look_for_old_hello(const uint8_t *bytes, size_t length)
{
        enum { LENGTH_BIT = 0x80, MINOR_MAX = 4 };
        if (!(bytes[0] & LENGTH_BIT) || (length > 2 && bytes[2] != MESSAGE_CLIENT_HELLO) ||
            (length > 3 && bytes[3] != RECORD_VERSION) || (length > 4 && bytes[4] > MINOR_MAX))
                return SNIFF_OTHER;
        return length > 4 ? SNIFF_NO_NAME : SNIFF_MORE;
}

enum sniff client_hello_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1])
{
        if (length == 0)
                return SNIFF_MORE;
        if (bytes[0] < RECORD_FIRST || bytes[0] > RECORD_LAST)
                return look_for_old_hello(bytes, length);
        if (length > 1 && bytes[1] != RECORD_VERSION)
                return SNIFF_OTHER;
        /* Some servers skip a warning alert and read the hello after it, which this function would not have
         * checked. */
        if (length > 1 && bytes[0] != RECORD_HANDSHAKE)
                return SNIFF_BAD;
        if (bytes[0] != RECORD_HANDSHAKE)
                return SNIFF_MORE;
        autofree uint8_t *message = malloc(length);
        size_t gathered;
        if (!message)
                return SNIFF_BAD;
        enum sniff state = gather((struct bytes){.at = bytes, .left = length}, message, &gathered);
        if (gathered && message[0] != MESSAGE_CLIENT_HELLO)
                return SNIFF_BAD;
        if (state == SNIFF_MORE)
                return length < CLIENT_HELLO_MAX ? SNIFF_MORE : SNIFF_BAD;
        if (state == SNIFF_BAD)
                return SNIFF_BAD;
        size_t body = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
        return read_hello((struct bytes){.at = message + 4, .left = body}, name);
}
