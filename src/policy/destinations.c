/* SPDX-License-Identifier: Apache-2.0
 *
 * See destinations.h. What is not exactly in the grammar is refused, with the spelling that was probably
 * meant: a rule that means something else than its author thinks is worse than none.
 */
#include "policy/destinations.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535, WIDEST_PREFIX4 = 8, WIDEST_PREFIX6 = 7 };

/* One destination while it is read. */
struct reading {
        enum destination_use use;
        const char *text; /* whole, for messages */
        struct destination *made;
        struct error *error;
};

static const char *option_of(const struct reading *reading)
{
        return reading->use == DESTINATION_DENY ? "--network-deny" : "--network-allow";
}

/* Refuses it; `instead` says what to write. So much of either is shown that the sentence fits into an error.
 */
static bool refuse(const struct reading *reading, const char *why, const char *instead)
{
        enum { SHOWN = 160 };
        const char *cut = strlen(reading->text) > SHOWN ? "…" : "";
        return error_set(reading->error, EXIT_USAGE, "%s %.*s%s: %s; write %.*s", option_of(reading), SHOWN,
                         reading->text, cut, why, SHOWN, instead);
}

void destinations_free(struct destinations *list)
{
        for (size_t i = 0; i < list->count; i++)
                free(list->items[i].text);
        free(list->items);
        *list = (struct destinations){0};
}

/* ---- names ---- */

static bool is_label(const char *text, size_t length)
{
        if (length == 0 || length > 63 || text[0] == '-' || text[length - 1] == '-')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9') &&
                    text[i] != '-' && text[i] != '_')
                        return false;
        return true;
}

/* A name that ends like this is an address to some programs (WHATWG URL, "ends in a number"). */
static bool is_number(const char *label)
{
        if (label[0] == '0' && label[1] == 'x')
                return strspn(label + 2, "0123456789abcdef") == strlen(label + 2);
        return label[0] && strspn(label, "0123456789") == strlen(label);
}

bool destination_is_name(const char *text)
{
        if (strlen(text) > NAME_MAX_LENGTH)
                return false;
        const char *label = text;
        for (;;) {
                size_t length = strcspn(label, ".");
                if (!is_label(label, length))
                        return false;
                if (!label[length])
                        return !is_number(label);
                label += length + 1;
        }
}

/* Second levels under which registries of countries sell names, and hosts of everybody's pages: those of the
 * Public Suffix List that a person is likely to meet. Every top-level domain is one anyway. */
static const char *const country_levels[] = {
    "ac",  "asso", "biz", "co", "com", "edu", "gob", "go",  "gouv", "gov",  "gv",  "info",
    "int", "ltd",  "mil", "ne", "net", "nom", "or",  "org", "plc",  "priv", "sch", "web",
};
static const char *const shared_hosts[] = {
    "appspot.com",
    "azurestaticapps.net",
    "azurewebsites.net",
    "blogspot.com",
    "cloudapp.net",
    "cloudfront.net",
    "cloudfunctions.net",
    "codeberg.page",
    "ddns.net",
    "deno.dev",
    "duckdns.org",
    "elasticbeanstalk.com",
    "firebaseapp.com",
    "fly.dev",
    "github.io",
    "gitlab.io",
    "glitch.me",
    "herokuapp.com",
    "myshopify.com",
    "netlify.app",
    "ngrok.io",
    "no-ip.org",
    "now.sh",
    "ondigitalocean.app",
    "onrender.com",
    "pages.dev",
    "pythonanywhere.com",
    "r2.dev",
    "readthedocs.io",
    "repl.co",
    "run.app",
    "s3.amazonaws.com",
    "streamlit.app",
    "supabase.co",
    "translate.goog",
    "trycloudflare.com",
    "ts.net",
    "vercel.app",
    "vercel.dev",
    "web.app",
    "workers.dev",
};

bool destination_is_public_suffix(const char *name)
{
        const char *dot = strchr(name, '.');
        if (!dot)
                return true;
        for (size_t i = 0; i < sizeof(shared_hosts) / sizeof(*shared_hosts); i++)
                if (str_equal(name, shared_hosts[i]))
                        return true;
        if (strlen(dot + 1) != 2)
                return false;
        for (size_t i = 0; i < sizeof(country_levels) / sizeof(*country_levels); i++)
                if (strlen(country_levels[i]) == (size_t)(dot - name) && str_starts(name, country_levels[i]))
                        return true;
        return false;
}

/* Names that lead to the asking machine itself, wherever they are asked (RFC 6761). */
static bool is_loopback_name(const char *name)
{
        const char *last = strrchr(name, '.');
        return str_equal(last ? last + 1 : name, "localhost");
}

static bool read_name(struct reading *reading, char *host)
{
        struct destination *made = reading->made;
        bool below = str_starts(host, "*.");
        char *name = below ? host + 2 : host;
        size_t length = strlen(name);
        if (length && name[length - 1] == '.')
                name[--length] = 0;
        for (char *at = name; *at; at++)
                if ((unsigned char)*at >= 0x80)
                        return refuse(reading, "a name outside of ASCII",
                                      "it as the resolver asks for it (xn--…, Punycode)");
        for (char *at = name; *at; at++)
                *at = (char)tolower((unsigned char)*at);
        if (strchr(name, '*'))
                return refuse(reading, "* stands for whole labels at the front only", "*.example.com");
        if (!destination_is_name(name))
                return refuse(reading, "this is no domain name and no address", "a name as example.com");
        if (is_loopback_name(name))
                return refuse(reading, "the sandbox has a loopback of its own",
                              "localhost:PORT for a port of your own machine");
        if (below && destination_is_public_suffix(name)) {
                autofree char *instead =
                    str_format("a name of its own below it, as example.%s or *.example.%s", name, name);
                return refuse(reading, "anybody can have a name there", instead);
        }
        made->kind = below ? DESTINATION_BELOW : DESTINATION_NAME;
        memcpy(made->name, name, length + 1);
        return true;
}

/* ---- addresses ---- */

/* "ADDRESS" or "ADDRESS/LENGTH". *is_address tells whether it is one at all. */
static bool read_address(struct reading *reading, const char *host, bool *is_address)
{
        struct destination *made = reading->made;
        autofree char *address = str_copy_n(host, strcspn(host, "/"));
        const char *length = strchr(host, '/');
        *is_address = address_parse(address, &made->address);
        if (!*is_address)
                return true;
        bool six = strchr(address, ':') != NULL;
        unsigned bits = six ? 128 : 32, prefix = bits;
        if (length) {
                char *end;
                unsigned long value = strtoul(length + 1, &end, 10);
                if (!isdigit((unsigned char)length[1]) || *end || value > bits)
                        return refuse(reading, "a prefix length that is none",
                                      six ? "2001:db8::/32" : "10.0.0.0/8");
                prefix = (unsigned)value;
        }
        made->prefix = six ? prefix : prefix + 96;
        bool maps4 = IN6_IS_ADDR_V4MAPPED(&made->address);
        if (made->prefix < (maps4 ? 96 + WIDEST_PREFIX4 : WIDEST_PREFIX6))
                return refuse(reading, "so wide a network is no rule",
                              "public for every public destination, or a narrower one");
        made->kind = DESTINATION_ADDRESS;

        struct in6_addr network = made->address;
        for (unsigned bit = made->prefix; bit < 128; bit++)
                network.s6_addr[bit / 8] = (uint8_t)(network.s6_addr[bit / 8] & ~(0x80 >> bit % 8));
        if (memcmp(&network, &made->address, sizeof(network)) != 0) {
                char text[ADDRESS_TEXT];
                autofree char *instead = str_format("%s/%u", address_format(&network, text), prefix);
                return refuse(reading, "the address has bits behind its prefix", instead);
        }
        return true;
}

/* Loopback written as an address: which loopback is meant is not for hutch to guess. */
static bool check_address(const struct reading *reading)
{
        static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
        const struct destination *made = reading->made;
        if (reading->use == DESTINATION_DENY || address_classify(&made->address) != ADDRESS_RESERVED)
                return true;
        if (IN6_ARE_ADDR_EQUAL(&made->address, &six) ||
            (IN6_IS_ADDR_V4MAPPED(&made->address) && made->address.s6_addr[12] == 127)) {
                autofree char *instead =
                    str_format("localhost:%u for that port of your own machine", made->ports[0].first);
                return refuse(reading, "the sandbox has a loopback of its own", instead);
        }
        return refuse(reading, "no rule can permit that address", "another");
}

/* ---- ports ---- */

static bool read_number(const char **text, uint16_t *port)
{
        unsigned value = 0;
        const char *at = *text;
        while (isdigit((unsigned char)*at) && value <= PORT_MAX)
                value = value * 10 + (unsigned)(*at++ - '0');
        if (at == *text || value == 0 || value > PORT_MAX || **text == '0')
                return false;
        *port = (uint16_t)value;
        *text = at;
        return true;
}

static bool read_ports(struct reading *reading, const char *text)
{
        struct destination *made = reading->made;
        struct port_range *range = &made->ports[0];
        made->port_count = 1;
        if (str_equal(text, "*")) {
                *range = (struct port_range){1, PORT_MAX};
                return true;
        }
        const char *at = text;
        bool good = read_number(&at, &range->first);
        range->last = range->first;
        if (good && *at == '-') {
                at++;
                good = read_number(&at, &range->last) && range->last >= range->first;
        }
        return (good && !*at) || refuse(reading, "the port is none", "HOST:443, HOST:8000-8010 or HOST:*");
}

static void set_default_ports(struct reading *reading)
{
        struct destination *made = reading->made;
        if (reading->use == DESTINATION_DENY) {
                made->ports[0] = (struct port_range){1, PORT_MAX};
                made->port_count = 1;
                return;
        }
        made->ports[0] = (struct port_range){443, 443};
        made->ports[1] = (struct port_range){80, 80};
        made->port_count = 2;
}

/* ---- one destination ---- */

static bool drop_suffix(char *text, const char *suffix)
{
        size_t length = strlen(text), of = strlen(suffix);
        if (length < of || !str_equal(text + length - of, suffix))
                return false;
        text[length - of] = 0;
        return true;
}

static void read_suffixes(struct reading *reading, char *text)
{
        struct destination *made = reading->made;
        bool udp = false, again = true;
        while (again) {
                again = false;
                if (!made->private_too && drop_suffix(text, "/private"))
                        made->private_too = again = true;
                if (!udp && drop_suffix(text, "/udp"))
                        udp = again = true;
        }
        made->transport = udp ? TRANSPORT_UDP : TRANSPORT_TCP;
        made->any_transport = reading->use == DESTINATION_DENY && !udp;
}

/* Splits what is left into host and port, in place; *ports is NULL without one. */
static bool split(struct reading *reading, char *text, char **host, char **ports)
{
        *host = text;
        *ports = NULL;
        if (text[0] == '[') {
                char *close = strchr(text, ']');
                if (!close || (close[1] && close[1] != ':'))
                        return refuse(reading, "the bracket is not closed, or something stands behind it",
                                      "[2001:db8::1]:443");
                *host = text + 1;
                *close = 0;
                *ports = close[1] ? close + 2 : NULL;
                return strchr(*host, ':') ||
                       refuse(reading, "brackets are for IPv6 addresses", "the rest without them");
        }
        char *colon = strchr(text, ':');
        if (colon && !strchr(colon + 1, ':')) {
                *colon = 0;
                *ports = colon + 1;
        }
        return true;
}

/* What looks like something else entirely. */
static bool check_shape(const struct reading *reading)
{
        const char *text = reading->text;
        const char *scheme = strstr(text, "://");
        if (!*text)
                return error_set(reading->error, EXIT_USAGE,
                                 "%s: an empty destination; write %s HOST,HOST2 without a comma too many",
                                 option_of(reading), option_of(reading));
        if (str_equal(text, "*") || str_equal(text, "*:*") || str_equal(text, "all") ||
            str_equal(text, "any"))
                return refuse(reading, "everything is no rule",
                              "public for every public destination, or the names that are needed");
        if (scheme) {
                const char *user = strchr(scheme + 3, '@');
                size_t length = strcspn(scheme + 3, "/?#");
                const char *host = user && (size_t)(user - scheme - 3) < length ? user + 1 : scheme + 3;
                autofree char *instead = str_copy_n(host, strcspn(host, "/?#"));
                return refuse(reading, "a URL; a rule names a host", instead);
        }
        if (strpbrk(text, " \t\r\n")) {
                autofree char *instead = str_copy(text);
                char *out = instead;
                for (const char *in = text; *in; in++)
                        if (!isspace((unsigned char)*in))
                                *out++ = *in;
                *out = 0;
                return refuse(reading, "white space is part of no name", *instead ? instead : "a name");
        }
        return true;
}

/* public and localhost, which are words and no names. */
static bool read_word(struct reading *reading, const char *host, bool has_ports)
{
        struct destination *made = reading->made;
        if (str_equal(host, "public")) {
                made->kind = DESTINATION_PUBLIC;
                return !made->private_too || refuse(reading, "public and private exclude each other",
                                                    "the private network's address, as 10.0.0.0/8");
        }
        made->kind = DESTINATION_LOCALHOST;
        if (reading->use == DESTINATION_DENY)
                return refuse(reading, "the host's loopback is denied anyway", "nothing");
        if (made->transport == TRANSPORT_UDP || made->private_too)
                return refuse(reading, "only TCP ports of the host's loopback can be shown",
                              "localhost:PORT");
        return has_ports || refuse(reading, "which of your own ports", "localhost:PORT");
}

static bool read_destination(struct reading *reading)
{
        autofree char *text = str_copy(reading->text);
        char *host, *ports;
        bool is_address = false;
        if (!check_shape(reading))
                return false;
        read_suffixes(reading, text);
        if (!split(reading, text, &host, &ports))
                return false;
        set_default_ports(reading);
        if (ports && !read_ports(reading, ports))
                return false;
        if (strcasecmp(host, "public") == 0 || strcasecmp(host, "localhost") == 0) {
                for (char *at = host; *at; at++)
                        *at = (char)tolower((unsigned char)*at);
                return read_word(reading, host, ports != NULL);
        }
        if (!read_address(reading, host, &is_address))
                return false;
        if (is_address)
                return check_address(reading);
        if (strchr(host, '/')) {
                autofree char *instead = str_copy_n(host, strcspn(host, "/"));
                return refuse(reading, "a rule names no path", *instead ? instead : "a host");
        }
        return read_name(reading, host);
}

bool destinations_add(struct destinations *list, enum destination_use use, const char *text,
                      struct error *error)
{
        for (;;) {
                size_t length = strcspn(text, ",");
                list->items = str_or_die(reallocarray(list->items, list->count + 1, sizeof(*list->items)));
                struct destination *made = &list->items[list->count++];
                *made = (struct destination){.text = str_copy_n(text, length)};
                struct reading reading = {.use = use, .text = made->text, .made = made, .error = error};
                if (!read_destination(&reading))
                        return false;
                if (!text[length])
                        return true;
                text += length + 1;
        }
}
