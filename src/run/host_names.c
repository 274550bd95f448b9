/* SPDX-License-Identifier: Apache-2.0
 *
 * See host_names.h. The files belong to the host, but each can be anything: a dangling link, a list of a
 * million blocked names, an edit that is half done. A line that cannot be parsed is skipped.
 */
#include "run/host_names.h"

#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
        FILE_MAX_BYTES = 64 << 20,
        SERVERS_MAX = 8, /* the C library uses three */
};

static const char blanks[] = " \t\r\f\v";

/* The number of the network interface that a zone names, which is what hutch-nat can use; 0 when there is
 * none. if_nametoindex(3) would make a socket. */
static unsigned interface_number(const char *zone, int socket)
{
        struct ifreq request = {0};
        uint64_t number;
        if (str_read_number(zone, UINT_MAX, &number))
                return (unsigned)number;
        if (strlen(zone) >= sizeof(request.ifr_name))
                return 0;
        memcpy(request.ifr_name, zone, strlen(zone));
        return ioctl(socket, SIOCGIFINDEX, &request) < 0 ? 0 : (unsigned)request.ifr_ifindex;
}

static bool write_server(char *value, int socket, struct buf *out)
{
        struct in6_addr parsed;
        char *zone = strchr(value, '%');
        if (zone)
                *zone++ = 0;
        unsigned number = zone ? interface_number(zone, socket) : 0;
        if (!address_parse(value, &parsed) || (zone && !number))
                return false;
        if (number)
                buf_format(out, "nameserver %s%%%u\n", value, number);
        else
                buf_format(out, "nameserver %s\n", value);
        return true;
}

static void write_servers(char *text, int socket, struct buf *out)
{
        char *lines = NULL;
        size_t count = 0;
        for (char *line = strtok_r(text, "\n", &lines); line && count < SERVERS_MAX;
             line = strtok_r(NULL, "\n", &lines)) {
                char *words = NULL;
                const char *key = strtok_r(line, blanks, &words);
                char *value = key ? strtok_r(NULL, blanks, &words) : NULL;
                if (value && str_equal(key, "nameserver") && write_server(value, socket, out))
                        count++;
        }
}

/* True when the proxy, "HOST PORT", has this name. */
static bool is_proxy(const struct network *network, const char *name)
{
        size_t length = strlen(name);
        return network->proxy && strncmp(network->proxy, name, length) == 0 && network->proxy[length] == ' ';
}

static void write_hosts(char *text, const struct network *network, struct buf *out)
{
        char *lines = NULL;
        for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
                line[strcspn(line, "#")] = 0;
                char *words = NULL;
                struct in6_addr parsed;
                const char *address = strtok_r(line, blanks, &words);
                if (!address || !address_parse(address, &parsed))
                        continue;
                for (char *name; (name = strtok_r(NULL, blanks, &words)) != NULL;) {
                        for (char *at = name; *at; at++)
                                *at = (char)tolower((unsigned char)*at);
                        if (rules_cover_name(&network->rules, name) || is_proxy(network, name))
                                buf_format(out, "host %s %s\n", address, name);
                }
        }
}

char *host_names_read(const char *resolv_conf, const char *hosts, const struct network *network, int socket)
{
        autofree char *servers = NULL;
        autofree char *names = NULL;
        struct buf text = {0};
        if (fd_read_file(resolv_conf, FILE_MAX_BYTES, &servers) > 0)
                write_servers(servers, socket, &text);
        if (fd_read_file(hosts, FILE_MAX_BYTES, &names) > 0)
                write_hosts(names, network, &text);
        return buf_take(&text);
}
