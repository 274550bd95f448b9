/* SPDX-License-Identifier: Apache-2.0
 *
 * See proxy.h. The variables are read as curl reads them: the first that is set decides, lower case first,
 * and an empty one means no proxy. Messages name the variable, never its value.
 */
#include "resolve/proxy.h"

#include "lib/fd.h"
#include "lib/hex.h"
#include "policy/addresses.h"
#include "policy/destinations.h"
#include "policy/no_proxy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
        PORT_DEFAULT = 80,   /* of an http:// URL */
        USERINFO_MAX = 1024, /* decoded; hutch-nat's bound on a request is larger */
};

/* HTTP_PROXY is not read: it is for plain requests, which a proxy wants in another form than CONNECT. */
static const char *const proxy_variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
static const char *const no_proxy_variables[] = {"no_proxy", "NO_PROXY"};
static const char *const other_variables[] = {"http_proxy", "HTTP_PROXY", "ftp_proxy", "FTP_PROXY"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *first_set(const char *const *names, size_t count, const char **name)
{
        for (size_t i = 0; i < count; i++) {
                const char *value = getenv(names[i]);
                if (value) {
                        *name = names[i];
                        return value;
                }
        }
        return NULL;
}

/* Decodes %XX. False when one is malformed, or too much. */
static bool decode(const char *text, size_t length, unsigned char out[USERINFO_MAX], size_t *used)
{
        for (size_t i = 0; i < length; i++) {
                uint8_t value = (uint8_t)text[i];
                if (value == '%') {
                        if (i + 2 >= length || !hex_read(text + i + 1, &value, 1))
                                return false;
                        i += 2;
                }
                if (*used == USERINFO_MAX)
                        return false;
                out[(*used)++] = value;
        }
        return true;
}

/* Base64 (RFC 4648). The caller frees. */
static char *encode(const unsigned char *bytes, size_t length)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        char *text = str_or_die(malloc((length + 2) / 3 * 4 + 1)), *out = text;
        for (size_t i = 0; i < length; i += 3) {
                unsigned long group = (unsigned long)bytes[i] << 16;
                group |= i + 1 < length ? (unsigned long)bytes[i + 1] << 8 : 0;
                group |= i + 2 < length ? bytes[i + 2] : 0;
                for (unsigned digit = 0; digit < 4; digit++)
                        *out++ = (char)(i + digit > length ? '=' : digits[group >> (18 - 6 * digit) & 63]);
        }
        *out = 0;
        return text;
}

/* "USER[:PASSWORD]", percent-encoded, as the credentials of the Basic scheme (RFC 7617). */
static bool take_credentials(struct network *network, const char *userinfo, size_t length)
{
        unsigned char bytes[USERINFO_MAX];
        const char *colon = memchr(userinfo, ':', length);
        size_t user = colon ? (size_t)(colon - userinfo) : length, used = 0;
        bool decoded =
            decode(userinfo, user, bytes, &used) && !memchr(bytes, ':', used) && used < USERINFO_MAX;
        if (decoded)
                bytes[used++] = ':';
        decoded = decoded && (!colon || decode(colon + 1, length - user - 1, bytes, &used));
        if (decoded)
                network->proxy_credentials = encode(bytes, used);
        explicit_bzero(bytes, sizeof(bytes));
        return decoded;
}

/* "HOST[:PORT]", a name or an address, as "HOST PORT". */
static bool take_place(struct network *network, const char *text, size_t length)
{
        autofree char *place = str_copy_n(text, length);
        char *host = place, *port_text = NULL;
        uint64_t port = PORT_DEFAULT;
        struct in6_addr address;
        if (host[0] == '[') {
                host++;
                char *end = strchr(host, ']');
                if (!end || (end[1] && end[1] != ':') || !memchr(host, ':', (size_t)(end - host)))
                        return false;
                port_text = end[1] ? end + 2 : NULL;
                *end = 0;
        } else if ((port_text = strchr(host, ':'))) {
                *port_text++ = 0;
        }
        if (port_text && !str_read_number(port_text, UINT16_MAX, &port))
                return false;
        for (char *at = host; *at; at++)
                *at = (char)tolower((unsigned char)*at);
        size_t last = strlen(host);
        if (last && host[last - 1] == '.')
                host[last - 1] = 0;
        if (port == 0 || (!address_parse(host, &address) && !destination_is_name(host)))
                return false;
        network->proxy = str_format("%s %u", host, (unsigned)port);
        return true;
}

static bool take_url(struct network *network, const char *variable, const char *url, struct error *error)
{
        const char *scheme = strstr(url, "://");
        const char *rest = scheme ? scheme + 3 : url;
        if (scheme && strncasecmp(url, "http://", 7) != 0)
                return error_set(
                    error, EXIT_SETUP,
                    "the variable %s names a proxy that hutch cannot use (https:// and socks proxies are not "
                    "supported); name an http:// proxy, or set %s to nothing to let hutch connect directly",
                    variable, variable);
        size_t length = strcspn(rest, "/?#");
        const char *at = memrchr(rest, '@', length);
        const char *place = at ? at + 1 : rest;
        if (!take_place(network, place, length - (size_t)(place - rest)) ||
            (at && !take_credentials(network, rest, (size_t)(at - rest))))
                return error_set(error, EXIT_SETUP,
                                 "the variable %s is not the URL of a proxy: write http://HOST:PORT, or "
                                 "http://USER:PASSWORD@HOST:PORT with %%XX for special characters",
                                 variable);
        return true;
}

bool proxy_take(struct network *network, struct error *error)
{
        const char *variable, *except;
        const char *url = first_set(proxy_variables, COUNT(proxy_variables), &variable);
        if (!url || !*url)
                return true;
        const char *entries = first_set(no_proxy_variables, COUNT(no_proxy_variables), &except);
        if (entries)
                no_proxy_split(entries, &network->no_proxy);
        return take_url(network, variable, url, error);
}

static void forget(const char *const *names, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                char *value = getenv(names[i]);
                if (value)
                        explicit_bzero(value, strlen(value));
        }
}

void proxy_forget(void)
{
        forget(proxy_variables, COUNT(proxy_variables));
        forget(other_variables, COUNT(other_variables));
}
