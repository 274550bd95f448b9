/* SPDX-License-Identifier: Apache-2.0
 *
 * See resolve.h. c-ares sends the questions to the host's name servers, which the supervisor names: this
 * module opens no file once the process is confined. Equal questions in progress are asked once, and answers
 * are kept as long as their time to live permits, so a thousand flows to one name cost one question.
 */
#include "nat/resolve.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/target.h"
#include "policy/addresses.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
        TIMEOUT_MS = 1200, /* of one try at one server; c-ares doubles it in each round */
        TRIES = 3,
        ADDRESSES_MAX = 12,
        CACHE_SIZE = 256,
        LOOKUPS_MAX = 2048, /* at a time: c-ares numbers its questions with 16 bits, and searches for a free
                               number until it finds one */
        KEEP_MAX_S = 60,    /* the longest time to keep an answer */
        KEEP_NONE_S = 5, /* for an answer without address: most names have no IPv6 address, and each flow asks
                            for both */
        PAYLOAD = 1232,
};

/* A question for addresses that is in progress. */
struct lookup {
        struct lookup *next;
        char name[NAME_MAX_LENGTH + 1];
        int family;
        struct resolving *waiting;
        bool again; /* to be asked in the next turn: it is new, or the name servers have changed */
};

/* A caller that waits for a lookup. */
struct resolving {
        struct resolving *next;
        struct lookup *lookup;
        resolve_done *done;
        void *context;
};

struct answer {
        char name[NAME_MAX_LENGTH + 1];
        int family;
        long long until; /* monotonic ms; 0: unused */
        const char *why; /* when it has no address */
        size_t count;
        struct in6_addr addresses[ADDRESSES_MAX];
};

struct host {
        struct in6_addr address;
        char *name;
};

/* A descriptor of c-ares in the loop. */
struct ares_source {
        struct source source;
        struct ares_source *next;
};

/* A name server with a link-local address, and the index of its interface. */
struct zone {
        struct in6_addr address;
        unsigned interface;
};

static struct {
        ares_channel channel;
        struct zone zones[8];
        size_t zone_count;
        struct ares_source *sources;
        struct lookup *lookups;
        size_t lookup_count;
        struct host *hosts;
        size_t host_count;
        char *servers; /* comma-separated, as c-ares takes them; "" when there are none */
        bool changing;
        struct answer cache[CACHE_SIZE];
} resolver;

static void ares_ready(struct source *source)
{
        ares_socket_t none = ARES_SOCKET_BAD, own = source->descriptor;
        ares_process_fd(resolver.channel, source->reported & ~(uint32_t)EPOLLOUT ? own : none,
                        source->reported & EPOLLOUT ? own : none);
}

/* c-ares reports what it waits for. Nothing at all means that it is about to close the descriptor. */
static void ares_wants(void *context, ares_socket_t descriptor, int readable, int writable)
{
        uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
        struct ares_source **link = &resolver.sources;
        (void)context;
        while (*link && (*link)->source.descriptor != descriptor)
                link = &(*link)->next;
        struct ares_source *found = *link;
        if (found && events) {
                source_want(&found->source, events);
        } else if (found) {
                *link = found->next;
                (void)source_take(&found->source);
                loop_free_later(found);
        } else if (events) {
                found = str_or_die(calloc(1, sizeof(*found)));
                found->next = resolver.sources;
                resolver.sources = found;
                (void)source_add(&found->source, descriptor, events, ares_ready);
        }
}

/* Some versions of c-ares do not let a caller name the interface of a link-local server, so the interface is
 * set here. */
static int connect_server(ares_socket_t made, const struct sockaddr *address, ares_socklen_t length,
                          void *context)
{
        (void)context;
        if (address->sa_family != AF_INET6 || length < (ares_socklen_t)sizeof(struct sockaddr_in6))
                return connect(made, address, length);
        struct sockaddr_in6 six;
        memcpy(&six, address, sizeof(six));
        for (size_t i = 0; i < resolver.zone_count; i++)
                if (IN6_ARE_ADDR_EQUAL(&resolver.zones[i].address, &six.sin6_addr))
                        six.sin6_scope_id = resolver.zones[i].interface;
        return connect(made, (struct sockaddr *)&six, sizeof(six));
}

/* c-ares requires either all of these functions or none. */
static ares_socket_t make_socket(int family, int type, int protocol, void *context)
{
        (void)context;
        return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

static int close_socket(ares_socket_t made, void *context)
{
        (void)context;
        return close(made);
}

static ares_ssize_t receive(ares_socket_t from, void *bytes, size_t length, int flags,
                            struct sockaddr *address, ares_socklen_t *address_length, void *context)
{
        (void)context;
        return recvfrom(from, bytes, length, flags, address, address_length);
}

static ares_ssize_t send_vector(ares_socket_t to, const struct iovec *parts, int count, void *context)
{
        struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
        (void)context;
        return sendmsg(to, &message, MSG_NOSIGNAL);
}

static struct answer *cache_place(const char *name, int family)
{
        uint32_t hash = (uint32_t)family;
        for (const char *at = name; *at; at++)
                hash = (hash ^ (uint8_t)*at) * 16777619u;
        return &resolver.cache[hash % CACHE_SIZE];
}

/* Answers every caller that waits and frees the lookup. */
static void answer_all(struct lookup *lookup, const struct in6_addr *addresses, size_t count, const char *why)
{
        for (struct lookup **link = &resolver.lookups; *link; link = &(*link)->next)
                if (*link == lookup) {
                        *link = lookup->next;
                        resolver.lookup_count--;
                        break;
                }
        /* A caller may cancel others of the same lookup. */
        while (lookup->waiting) {
                struct resolving *first = lookup->waiting;
                lookup->waiting = first->next;
                first->done(first->context, addresses, count, why);
                free(first);
        }
        free(lookup);
}

static size_t read_addresses(const struct ares_addrinfo *found, struct in6_addr *addresses, int *keep_s)
{
        size_t count = 0;
        for (const struct ares_addrinfo_node *node = found->nodes; node && count < ADDRESSES_MAX;
             node = node->ai_next) {
                struct sockaddr_storage stored = {0};
                uint16_t port;
                memcpy(&stored, node->ai_addr,
                       node->ai_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
                target_load(&stored, &addresses[count++], &port);
                if (node->ai_ttl < *keep_s)
                        *keep_s = node->ai_ttl;
        }
        return count;
}

static const char *lookup_error(int status)
{
        switch (status) {
        case ARES_ENOTFOUND:
                return "the name does not exist";
        case ARES_ENODATA:
                return "the name has no address";
        case ARES_ETIMEOUT:
                return "the name servers do not answer";
        case ARES_ECONNREFUSED:
                return "the name servers cannot be reached";
        default:
                return ares_strerror(status);
        }
}

static void got_lookup_answer(void *context, int status, int timeouts, struct ares_addrinfo *found)
{
        struct lookup *lookup = context;
        struct in6_addr addresses[ADDRESSES_MAX];
        int keep_s = KEEP_MAX_S;
        (void)timeouts;
        if (status == ARES_ECANCELLED && resolver.changing) {
                lookup->again = true;
                return;
        }
        size_t count = status == ARES_SUCCESS && found ? read_addresses(found, addresses, &keep_s) : 0;
        const char *why = count ? NULL : lookup_error(status == ARES_SUCCESS ? ARES_ENODATA : status);
        if (status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND) {
                struct answer *place = cache_place(lookup->name, lookup->family);
                memcpy(place->name, lookup->name, sizeof(place->name));
                place->family = lookup->family;
                place->until = nat.now + (count ? keep_s : KEEP_NONE_S) * 1000LL;
                place->why = why;
                place->count = count;
                memcpy(place->addresses, addresses, count * sizeof(*addresses));
        }
        answer_all(lookup, addresses, count, why);
        if (found)
                ares_freeaddrinfo(found);
}

/* The hosts file alone decides about the names in it, as in the C library. True when the name is in it. */
static bool answer_from_hosts(const char *name, int family, resolve_done *done, void *context)
{
        struct in6_addr addresses[ADDRESSES_MAX];
        size_t count = 0;
        bool listed = false;
        for (size_t i = 0; i < resolver.host_count; i++) {
                const struct host *host = &resolver.hosts[i];
                if (!str_equal(host->name, name))
                        continue;
                listed = true;
                if ((family == AF_INET) == (IN6_IS_ADDR_V4MAPPED(&host->address) != 0) &&
                    count < ADDRESSES_MAX)
                        addresses[count++] = host->address;
        }
        if (listed)
                done(context, addresses, count, "the hosts file has no address of this family for it");
        return listed;
}

static bool answer_from_cache(const char *name, int family, resolve_done *done, void *context)
{
        const struct answer *place = cache_place(name, family);
        if (place->until <= nat.now || place->family != family || !str_equal(place->name, name))
                return false;
        struct answer kept = *place;
        done(context, kept.addresses, kept.count, kept.why);
        return true;
}

struct resolving *resolve_begin(const char *name, int family, resolve_done *done, void *context)
{
        if (answer_from_hosts(name, family, done, context) || answer_from_cache(name, family, done, context))
                return NULL;
        if (!*resolver.servers) {
                done(context, NULL, 0, "this machine has no name server (/etc/resolv.conf names none)");
                return NULL;
        }
        struct lookup *lookup = resolver.lookups;
        while (lookup && (lookup->family != family || !str_equal(lookup->name, name)))
                lookup = lookup->next;
        if (!lookup && resolver.lookup_count >= LOOKUPS_MAX) {
                done(context, NULL, 0, "too many names are being looked up");
                return NULL;
        }
        if (!lookup) {
                lookup = str_or_die(calloc(1, sizeof(*lookup)));
                memcpy(lookup->name, name, strnlen(name, NAME_MAX_LENGTH));
                lookup->family = family;
                lookup->next = resolver.lookups;
                resolver.lookups = lookup;
                resolver.lookup_count++;
                /* c-ares calls back at once when it cannot even send. The turn of the loop comes after
                 * resolve_begin() has returned. */
                lookup->again = true;
        }
        struct resolving *resolving = str_or_die(malloc(sizeof(*resolving)));
        *resolving =
            (struct resolving){.next = lookup->waiting, .lookup = lookup, .done = done, .context = context};
        lookup->waiting = resolving;
        return resolving;
}

void resolve_cancel(struct resolving *resolving)
{
        for (struct resolving **link = &resolving->lookup->waiting; *link; link = &(*link)->next)
                if (*link == resolving) {
                        *link = resolving->next;
                        free(resolving);
                        return;
                }
}

void resolve_query(const char *name, uint16_t type, query_done *done, void *context)
{
        if (*resolver.servers)
                ares_query(resolver.channel, name, ns_c_in, type, done, context);
        else
                done(context, ARES_ENODATA, 0, NULL, 0);
}

void resolve_configure_begin(void)
{
        for (size_t i = 0; i < resolver.host_count; i++)
                free(resolver.hosts[i].name);
        free(resolver.hosts);
        resolver.hosts = NULL;
        resolver.host_count = 0;
        free(resolver.servers);
        resolver.servers = str_copy("");
        resolver.zone_count = 0;
        memset(resolver.cache, 0, sizeof(resolver.cache));
}

/* Splits "FIRST REST". The caller frees FIRST. */
static char *split_word(const char *text, const char **rest)
{
        size_t length = strcspn(text, " ");
        *rest = text[length] ? text + length + 1 : text + length;
        return str_copy_n(text, length);
}

void resolve_add_server(const char *address_and_port)
{
        const char *port;
        autofree char *address = split_word(address_and_port, &port);
        struct in6_addr parsed;
        bool six = strchr(address, ':') != NULL;
        char *zone = strchr(address, '%');
        if (zone)
                *zone++ = 0;
        if (!address_parse(address, &parsed))
                return;
        if (zone && resolver.zone_count < sizeof(resolver.zones) / sizeof(*resolver.zones))
                resolver.zones[resolver.zone_count++] =
                    (struct zone){.address = parsed, .interface = (unsigned)strtoul(zone, NULL, 10)};
        /* Always with a port: c-ares refuses the whole list when brackets have none. */
        str_append(&resolver.servers, six ? "%s[%s]:%s" : "%s%s:%s", *resolver.servers ? "," : "", address,
                   *port ? port : "53");
}

void resolve_add_host(const char *address_and_name)
{
        const char *name;
        autofree char *address = split_word(address_and_name, &name);
        struct in6_addr parsed;
        if (!*name || !address_parse(address, &parsed))
                return;
        *array_add(resolver.hosts, resolver.host_count) =
            (struct host){.address = parsed, .name = str_copy(name)};
}

void resolve_configure_end(void)
{
        resolver.changing = true;
        ares_cancel(resolver.channel);
        (void)ares_set_servers_ports_csv(resolver.channel, resolver.servers);
        resolver.changing = false;
}

/* The first lookup that is to be asked, or NULL. */
static struct lookup *next_lookup(void)
{
        struct lookup *lookup = resolver.lookups;
        while (lookup && !lookup->again)
                lookup = lookup->next;
        return lookup;
}

static int resolve_timeout(void)
{
        struct timeval left, *soonest;
        if (next_lookup())
                return 0;
        soonest = ares_timeout(resolver.channel, NULL, &left);
        return soonest ? (int)(soonest->tv_sec * 1000 + (soonest->tv_usec + 999) / 1000) : -1;
}

static void resolve_turn(void)
{
        for (struct lookup *lookup; (lookup = next_lookup());) {
                struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT, .ai_family = lookup->family};
                lookup->again = false;
                ares_getaddrinfo(resolver.channel, lookup->name, NULL, &hints, got_lookup_answer, lookup);
        }
        ares_process_fd(resolver.channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

bool resolve_start(void)
{
        /* Every option is set, so that c-ares reads no configuration of the host: a file of it might be a
         * fifo. */
        char lookups[] = "b";
        struct ares_options options = {
            .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
            .timeout = TIMEOUT_MS,
            .tries = TRIES,
            .lookups = lookups,
            .sock_state_cb = ares_wants,
            .ednspsz = PAYLOAD,
            .ndots = 1,
        };
        int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                    ARES_OPT_SOCK_STATE_CB | ARES_OPT_EDNSPSZ | ARES_OPT_DOMAINS | ARES_OPT_NDOTS |
                    ARES_OPT_SORTLIST | ARES_OPT_SERVERS;
        resolver.servers = str_copy("");
        static const struct ares_socket_functions functions = {
            .asocket = make_socket,
            .aclose = close_socket,
            .aconnect = connect_server,
            .arecvfrom = receive,
            .asendv = send_vector,
        };
        if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
            ares_init_options(&resolver.channel, &options, given) != ARES_SUCCESS)
                return false;
        ares_set_socket_functions(resolver.channel, &functions, NULL);
        loop_set_hook(resolve_timeout, resolve_turn);
        return true;
}
