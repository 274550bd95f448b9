/* SPDX-License-Identifier: Apache-2.0
 *
 * See host_names.h. The files are the host's own, but either may be anything: a link that leads nowhere, a
 * list of a million blocked names, somebody's half-finished edit. Lines that make no sense are left out.
 */
#include "run/host_names.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <string.h>

enum {
        FILE_MAX_BYTES = 64 << 20,
        SERVERS_MAX = 8, /* the C library stops at three */
};

static const char blanks[] = " \t\r\f\v";

/* An address, perhaps with the zone of a link-local one. */
static bool is_server(const char *text)
{
        struct in6_addr parsed;
        autofree char *address = str_copy_n(text, strcspn(text, "%"));
        const char *zone = strchr(text, '%');
        if (zone && (!zone[1] || strspn(zone + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") !=
                                     strlen(zone + 1)))
                return false;
        return address_parse(address, &parsed);
}

static void write_servers(char *text, FILE *out)
{
        char *lines = NULL;
        size_t count = 0;
        for (char *line = strtok_r(text, "\n", &lines); line && count < SERVERS_MAX;
             line = strtok_r(NULL, "\n", &lines)) {
                char *words = NULL;
                const char *key = strtok_r(line, blanks, &words);
                const char *value = key ? strtok_r(NULL, blanks, &words) : NULL;
                if (!value || !str_equal(key, "nameserver") || !is_server(value))
                        continue;
                fprintf(out, "nameserver %s\n", value);
                count++;
        }
}

static void write_hosts(char *text, const struct rules *rules, FILE *out)
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
                        if (rules_cover_name(rules, name))
                                fprintf(out, "host %s %s\n", address, name);
                }
        }
}

void host_names_write(const char *resolv_conf, const char *hosts, const struct rules *rules, FILE *out)
{
        autofree char *servers = NULL;
        autofree char *names = NULL;
        if (fd_read_file(resolv_conf, FILE_MAX_BYTES, &servers) > 0)
                write_servers(servers, out);
        if (fd_read_file(hosts, FILE_MAX_BYTES, &names) > 0)
                write_hosts(names, rules, out);
}
