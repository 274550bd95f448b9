/* SPDX-License-Identifier: Apache-2.0
 *
 * See destinations.h. Anything outside the grammar is refused, with the spelling that was probably meant: a
 * rule that does not mean what its author thinks is worse than no rule.
 */
#include "policy/destinations.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char white_space[] = " \t\r\n\v\f";

enum { PORT_MAX = 65535, WIDEST_PREFIX4 = 8, WIDEST_PREFIX6 = 7 };

/* One destination while it is read. */
struct reading {
        enum destination_use use;
        const char *text;   /* whole, for messages */
        const char *before; /* the valid destination to the left in the same list, or NULL */
        struct destination *made;
        struct error *error;
};

static const char *option_of(const struct reading *reading)
{
        return reading->use == DESTINATION_DENY ? "--network-deny" : "--network-allow";
}

/* Refuses it; `instead` says what to write. Both are cut so that the sentence fits into an error. */
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

/* ---- what was probably meant ---- */

/* The suffixes that were read, as text. */
static const char *suffixes_of(const struct destination *made)
{
        bool udp = made->transport == TRANSPORT_UDP;
        return made->private_too ? (udp ? "/udp/private" : "/private") : (udp ? "/udp" : "");
}

static void make_lower(char *text)
{
        for (; *text; text++)
                *text = (char)tolower((unsigned char)*text);
}

/* Whether they differ by one inserted, missing or changed letter, or two swapped neighbours, ignoring case.
 */
static bool is_slip(const char *text, const char *word)
{
        size_t length = strlen(text), same = 0;
        autofree char *lower = str_copy(text);
        make_lower(lower);
        if (str_distance(lower, word) <= 1)
                return true;
        while (lower[same] && lower[same] == word[same])
                same++;
        return length == strlen(word) && same + 1 < length && lower[same] == word[same + 1] &&
               lower[same + 1] == word[same] && str_equal(lower + same + 2, word + same + 2);
}

/* Service names that users write in place of a port number. */
static const struct {
        const char *name;
        unsigned port;
} services[] = {
    {"http", 80},    {"https", 443}, {"ssh", 22},     {"domain", 53},     {"ftp", 21},
    {"smtp", 25},    {"imaps", 993}, {"ldaps", 636},  {"postgres", 5432}, {"postgresql", 5432},
    {"mysql", 3306}, {"ntp", 123},   {"redis", 6379}, {"mongodb", 27017},
};

/* 0 for a name that is none of them. */
static unsigned service_port(const char *name, size_t length)
{
        for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
                if (strlen(services[i].name) == length && strncasecmp(name, services[i].name, length) == 0)
                        return services[i].port;
        return 0;
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

/* Some programs take a name that ends like this for an address (WHATWG URL, "ends in a number"). */
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

/* Second-level registries of countries, and hosts of users' pages: the entries of the Public Suffix List that
 * are likely in practice. Every top-level domain is a public suffix anyway. */
static const char country_levels[] =
    "ac asso biz co com edu gob go gouv gov gv info int ltd mil ne net nom or org plc priv sch web";
static const char shared_hosts[] =
    "appspot.com azurestaticapps.net azurewebsites.net blogspot.com cloudapp.net cloudfront.net "
    "cloudfunctions.net codeberg.page ddns.net deno.dev duckdns.org elasticbeanstalk.com "
    "firebaseapp.com fly.dev github.io gitlab.io glitch.me herokuapp.com myshopify.com netlify.app "
    "ngrok.io no-ip.org now.sh ondigitalocean.app onrender.com pages.dev pythonanywhere.com r2.dev "
    "readthedocs.io repl.co run.app s3.amazonaws.com streamlit.app supabase.co translate.goog "
    "trycloudflare.com ts.net vercel.app vercel.dev web.app workers.dev";

bool destination_is_public_suffix(const char *name)
{
        size_t label = strcspn(name, ".");
        if (!name[label] || str_words_have(shared_hosts, name, strlen(name)))
                return true;
        return strlen(name + label + 1) == 2 && str_words_have(country_levels, name, label);
}

bool destination_is_loopback(const char *name)
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
        make_lower(name);
        if (strchr(name, '*'))
                return refuse(reading, "* replaces whole labels at the front only", "*.example.com");
        if (!destination_is_name(name))
                return refuse(reading, "not a domain name and not an address", "a name as example.com");
        if (destination_is_loopback(name))
                return refuse(reading, "the sandbox has its own loopback",
                              "localhost:PORT for a port of your machine");
        if (below && destination_is_public_suffix(name)) {
                autofree char *instead =
                    str_format("a name below it, as example.%s or *.example.%s", name, name);
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
                uint64_t value;
                if (!str_read_number(length + 1, bits, &value))
                        return refuse(reading, "the prefix length is not valid",
                                      six ? "2001:db8::/32" : "10.0.0.0/8");
                prefix = (unsigned)value;
        }
        made->prefix = six ? prefix : prefix + 96;
        bool maps4 = IN6_IS_ADDR_V4MAPPED(&made->address);
        if (made->prefix < (maps4 ? 96 + WIDEST_PREFIX4 : WIDEST_PREFIX6))
                return refuse(reading, "the network is too wide for a rule",
                              "public for every public destination, or a narrower one");
        made->kind = DESTINATION_ADDRESS;

        struct in6_addr network = made->address;
        for (unsigned bit = made->prefix; bit < 128; bit++)
                network.s6_addr[bit / 8] = (uint8_t)(network.s6_addr[bit / 8] & ~(0x80 >> bit % 8));
        if (memcmp(&network, &made->address, sizeof(network)) != 0) {
                char text[ADDRESS_TEXT];
                autofree char *instead = str_format("%s/%u", address_format(&network, text), prefix);
                return refuse(reading, "the address has bits beyond its prefix", instead);
        }
        return true;
}

/* Loopback written as an address may mean the sandbox's or the host's: hutch does not guess. */
static bool check_address(const struct reading *reading)
{
        static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
        const struct destination *made = reading->made;
        if (reading->use == DESTINATION_DENY || address_classify(&made->address) != ADDRESS_RESERVED)
                return true;
        if (IN6_ARE_ADDR_EQUAL(&made->address, &six) ||
            (IN6_IS_ADDR_V4MAPPED(&made->address) && made->address.s6_addr[12] == 127)) {
                autofree char *instead =
                    str_format("localhost:%u for that port of your machine", made->ports[0].first);
                return refuse(reading, "the sandbox has its own loopback", instead);
        }
        return refuse(reading, "no rule can permit this address", "another");
}

/* ---- ports ---- */

static bool read_number(const char **text, uint16_t *port)
{
        uint64_t value;
        size_t length = str_read_digits(*text, PORT_MAX, &value);
        if (length == 0 || value > PORT_MAX || **text == '0')
                return false;
        *port = (uint16_t)value;
        *text += length;
        return true;
}

/* PORT, PORT-PORT or *. */
static bool parse_ports(const char *text, struct port_range *range)
{
        if (str_equal(text, "*")) {
                *range = (struct port_range){1, PORT_MAX};
                return true;
        }
        if (!read_number(&text, &range->first))
                return false;
        range->last = range->first;
        if (*text == '-') {
                text++;
                if (!read_number(&text, &range->last) || range->last < range->first)
                        return false;
        }
        return !*text;
}

static bool read_ports(struct reading *reading, const char *text)
{
        static const char forms[] = "HOST:443, HOST:8000-8010 or HOST:*";
        struct destination *made = reading->made;
        made->port_count = 1;
        if (parse_ports(text, &made->ports[0]))
                return true;
        if (!*text)
                return refuse(reading, "there is no port (1 to 65535) after the colon", forms);
        unsigned port = service_port(text, strlen(text));
        autofree char *why = str_format("%.40s is neither a port nor a range of ports (1 to 65535)", text);
        /* Service names contain no colon, so the last colon comes before it. */
        autofree char *instead = str_format("%.*s:%u%s", (int)(strrchr(reading->text, ':') - reading->text),
                                            reading->text, port, suffixes_of(made));
        return refuse(reading, why, port ? instead : forms);
}

static void set_default_ports(struct reading *reading)
{
        struct destination *made = reading->made;
        bool all = reading->use == DESTINATION_DENY;
        made->ports[0] = all ? (struct port_range){1, PORT_MAX} : (struct port_range){443, 443};
        made->ports[1] = (struct port_range){80, 80};
        made->port_count = all ? 1 : 2;
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

/* The host of a valid destination, so that a port can follow it. The caller frees. */
static char *host_as_written(const char *text)
{
        autofree char *host = str_copy(text);
        while (drop_suffix(host, "/udp") || drop_suffix(host, "/private"))
                ;
        char *colon = strchr(host, ':');
        if (host[0] != '[' && colon && strchr(colon + 1, ':'))
                return str_format("[%s]", host);
        char *end = host[0] == '[' ? strchr(host, ']') + 1 : colon;
        return str_copy_n(host, end ? (size_t)(end - host) : strlen(host));
}

/* `text` is a destination without the suffixes that were read. */
static bool check_port_alone(const struct reading *reading, const char *text)
{
        struct port_range range;
        const char *port = text + (text[0] == ':');
        if (!isdigit((unsigned char)port[0]) || !parse_ports(port, &range))
                return true;
        autofree char *host = reading->before ? host_as_written(reading->before) : str_copy("HOST");
        autofree char *instead = str_format("%s:%s%s", host, port, suffixes_of(reading->made));
        return refuse(reading, "a port without its host", instead);
}

/* Refuses what follows a slash and is neither a known suffix nor the prefix length of an address. `text` is
 * as above. */
static bool check_slash(const struct reading *reading, const char *text)
{
        const char *first = strchr(text, '/'), *last = strrchr(text, '/');
        struct destination meant = *reading->made;
        struct in6_addr address;
        struct port_range range;
        if (!first)
                return true;
        bool udp = is_slip(last + 1, "udp"), is_private = is_slip(last + 1, "private");
        if (udp || is_private || is_slip(last + 1, "tcp")) {
                meant.transport = udp ? TRANSPORT_UDP : meant.transport;
                meant.private_too |= is_private;
                autofree char *instead = str_format("%.*s%s", (int)(last - text), text, suffixes_of(&meant));
                return refuse(reading, "a suffix is /udp or /private, and TCP needs none",
                              last > text ? instead : "a host");
        }
        autofree char *host = str_copy_n(text, (size_t)(first - text));
        if (text[0] == '[' || address_parse(host, &address))
                return true;
        bool is_port =
            *host && !strchr(host, ':') && isdigit((unsigned char)first[1]) && parse_ports(first + 1, &range);
        autofree char *instead =
            str_format("%s%s%s%s", host, is_port ? ":" : "", is_port ? first + 1 : "", suffixes_of(&meant));
        return refuse(reading, is_port ? "a port follows a colon" : "a rule cannot name a path",
                      *host ? instead : "a host");
}

/* Splits what is left into host and port, in place; *ports is NULL without one. */
static bool split(struct reading *reading, char *text, char **host, char **ports)
{
        *host = text;
        *ports = NULL;
        if (text[0] == '[') {
                char *close = strchr(text, ']');
                if (!close || (close[1] && close[1] != ':'))
                        return refuse(reading,
                                      "the bracket is not closed, or something else than a port follows it",
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

static bool refuse_url(const struct reading *reading, const char *text, const char *scheme)
{
        const char *user = strchr(scheme + 3, '@');
        size_t length = strcspn(scheme + 3, "/?#");
        const char *start = user && (size_t)(user - scheme - 3) < length ? user + 1 : scheme + 3;
        autofree char *host = str_copy_n(start, strcspn(start, "/?#"));
        const char *bracket = strrchr(host, ']');
        unsigned port = service_port(text, (size_t)(scheme - text));
        /* The two of the web are the ports that a rule has without one. */
        if (port == 80 || port == 443 || strchr(bracket ? bracket : host, ':'))
                port = 0;
        autofree char *number = port ? str_format(":%u", port) : str_copy("");
        bool udp = scheme - text == 3 && strncasecmp(text, "udp", 3) == 0;
        autofree char *instead = str_format("%s%s%s", host, number, udp ? "/udp" : "");
        return refuse(reading, "this is a URL; a rule names a host", instead);
}

/* Several destinations, or one with its port, with white space between them. */
static bool refuse_white_space(const struct reading *reading, const char *text)
{
        autofree char *instead = str_copy("");
        for (const char *word = text; *(word += strspn(word, white_space));) {
                size_t length = strcspn(word, white_space), made = strlen(instead);
                size_t digits = strspn(word, "0123456789-");
                const char *comma = strrchr(instead, ',');
                bool is_port =
                    (digits == length || word[digits] == '/') && !strchr(comma ? comma : instead, ':');
                bool joined = made == 0 || strchr(":/", word[0]) || strchr(":/", instead[made - 1]);
                const char *between = joined ? "" : is_port ? ":" : ",";
                str_append(&instead, "%s%.*s", between, (int)length, word);
                word += length;
        }
        return refuse(reading, "names contain no white space; a comma separates two",
                      *instead ? instead : "a name");
}

/* Refuses what is clearly something else. */
static bool check_shape(const struct reading *reading)
{
        const char *text = reading->text;
        const char *scheme = strpbrk(text, white_space) ? NULL : strstr(text, "://");
        if (!*text)
                return error_set(reading->error, EXIT_USAGE,
                                 "%s: empty destination; write %s HOST,HOST2 without an extra comma",
                                 option_of(reading), option_of(reading));
        if (str_equal(text, "*") || str_equal(text, "*:*"))
                return refuse(reading, "a rule cannot permit everything",
                              "public for every public destination, or the names that are needed");
        if (scheme)
                return refuse_url(reading, text, scheme);
        if (strpbrk(text, white_space))
                return refuse_white_space(reading, text);
        return true;
}

/* The words public and localhost. */
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
        return has_ports || refuse(reading, "the port is missing", "localhost:PORT");
}

/* Words that are valid host names but probably mean something else. `host` ends where `rest` begins. */
static bool check_word(const struct reading *reading, const char *host, const char *rest)
{
        static const char *const everything[] = {"all", "any", "internet"};
        if (strpbrk(host, ".:"))
                return true;
        bool meant = is_slip(host, "public");
        for (size_t i = 0; i < sizeof(everything) / sizeof(*everything); i++)
                meant |= strcasecmp(host, everything[i]) == 0;
        if (!meant && strcasecmp(host, "private") != 0)
                return true;
        autofree char *instead =
            meant ? str_format("public%s for every public destination, or %s.%s for a host of that name",
                               rest, host, rest)
                  : str_format("a network, as 192.168.0.0/16, NAME/private for a name that leads there, or "
                               "%s.%s for a host of that name",
                               host, rest);
        return refuse(reading, "rules do not have this word", instead);
}

static bool read_destination(struct reading *reading)
{
        autofree char *text = str_copy(reading->text);
        char *host, *ports;
        bool is_address = false;
        if (!check_shape(reading))
                return false;
        read_suffixes(reading, text);
        if (!check_port_alone(reading, text) || !check_slash(reading, text))
                return false;
        if (!split(reading, text, &host, &ports))
                return false;
        set_default_ports(reading);
        if (ports && !read_ports(reading, ports))
                return false;
        if (strcasecmp(host, "public") == 0 || strcasecmp(host, "localhost") == 0) {
                make_lower(host);
                return read_word(reading, host, ports != NULL);
        }
        if (!read_address(reading, host, &is_address))
                return false;
        if (is_address)
                return check_address(reading);
        return check_word(reading, host, reading->text + strlen(host)) && read_name(reading, host);
}

bool destinations_add(struct destinations *list, enum destination_use use, const char *text,
                      struct error *error)
{
        for (const char *before = NULL;;) {
                size_t length = strcspn(text, ",");
                struct destination *made = array_add(list->items, list->count);
                *made = (struct destination){.text = str_copy_n(text, length)};
                struct reading reading = {
                    .use = use, .text = made->text, .before = before, .made = made, .error = error};
                if (!read_destination(&reading))
                        return false;
                if (!text[length])
                        return true;
                before = made->text;
                text += length + 1;
        }
}
