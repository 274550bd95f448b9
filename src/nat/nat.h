/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch-nat: what its parts share. One thread, one epoll loop; nothing blocks, nothing is read from a file.
 *
 * Theory of operation. The kernel ends every flow of the sandbox in a wildcard socket of the gateway
 * namespace (setup.c); this process, in the host's namespace, accepts it there, learns from getsockname()
 * where it was meant to go, judges that, and opens an ordinary socket of its own to the real destination:
 *
 *     dns_server.c   questions of the sandbox: a synthetic address for an allowed name, else "no such name"
 *     flow.c         one TCP flow: judged, its first bytes looked at, connected (connect.c)
 *     relay.c        the bytes of a flow that was connected
 *     udp.c    flows of UDP
 *     publish.c      connections of the host to ports of the sandbox
 *     attempts.c     what was tried at ports that nothing listens on
 *     refusals.c     what hutch-filter is told when it asks
 *     resolve.c      names of the host's world: c-ares, the hosts file, a cache
 *     report.c       what the supervisor is told
 *
 * Everything that comes from the sandbox or from the network is hostile. Running out of descriptors or memory
 * refuses the newest flow and never stops the loop.
 */
#ifndef HUTCH_NAT_NAT_H
#define HUTCH_NAT_NAT_H

#include "nat/names.h"
#include "policy/rules.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A descriptor in the loop. Embedded as the first member of what it belongs to; `ready` gets the events of
 * epoll. */
struct source {
        int descriptor; /* -1: none */
        uint32_t events;
        void (*ready)(struct source *source, uint32_t events);
};

/* Durations of timers, one queue each: a queue is in order because its timers all run equally long. */
enum timer_kind {
        TIMER_FAMILY,  /* 50 ms: how long a lone A answer waits for its AAAA (RFC 8305, resolution delay) */
        TIMER_ATTEMPT, /* 250 ms: from one connection attempt to the next (RFC 8305) */
        TIMER_CONNECT, /* 20 s: for all attempts of a flow together */
        TIMER_SNIFF,   /* 15 s: for a client to finish what it began, a ClientHello or a request head */
        TIMER_IDLE,    /* 60 s: a flow of UDP without datagrams */
        TIMER_KINDS
};

struct timer {
        struct timer *next, *previous; /* NULL when it does not run */
        long long due;                 /* monotonic ms */
        void (*fired)(struct timer *timer);
};

struct nat {
        int epoll;
        struct rules rules;
        struct names *names;
        bool v6;          /* the sandbox has IPv6 */
        bool busy;        /* many events are to be seen to in this turn */
        size_t flows;     /* that are open, of TCP and UDP */
        size_t flows_max; /* as many as there are descriptors for */
        long long now;    /* monotonic ms, of this turn of the loop */
        uint8_t *buffer;  /* NAT_BUFFER bytes, for whoever has its turn */
        struct timer queues[TIMER_KINDS];
        struct garbage *garbage; /* freed at the end of the turn: events of this turn may still name it */
};

enum { NAT_BUFFER = 1 << 20 };

/* The structure that `pointer` is a member of. */
#define OWNER(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

extern struct nat nat; /* the one there is */

/* loop.c: adds, changes, removes a descriptor. Removing closes it. False when the kernel refuses. */
bool source_add(struct source *source, int descriptor, uint32_t events,
                void (*ready)(struct source *source, uint32_t events));
void source_want(struct source *source, uint32_t events);
void source_detach(struct source *source); /* out of the loop, open */
void source_close(struct source *source);

/* A listening socket in the loop, first member of what it belongs to. Zero it before source_add(). */
struct acceptor {
        struct source source;
        struct timer pause;
};

/* loop.c: the next connection, or -1. Where there is no descriptor for it the acceptor pauses, because it
 * would be ready for ever. */
int acceptor_next(struct acceptor *acceptor);
/* loop.c: leaves what waits to the kernel's queue for a moment. */
void acceptor_pause(struct acceptor *acceptor);

/* loop.c: starts a timer (again). Stopping one that does not run does nothing. */
void timer_start(struct timer *timer, enum timer_kind kind, void (*fired)(struct timer *timer));
void timer_stop(struct timer *timer);

/* loop.c: memory that events of this turn may still point into. */
void free_later(void *pointer);
/* loop.c: closes a descriptor at the end of the turn: telling a peer of the end takes longer than anything
 * else, and somebody waits for what else there is to do. No other process may have a copy of it: closing is
 * what takes it out of the loop. */
void close_later(int descriptor);

/* loop.c: makes the loop; runs it for good. */
bool loop_start(void);
_Noreturn void loop_run(void);

/* Where a flow goes, as the sandbox addressed it and as it was understood. */
struct target {
        const char *name; /* of the synthetic address, lives as long as nat.names; NULL for a literal one */
        struct in6_addr address; /* as the sandbox addressed it, IPv4 mapped */
        uint16_t port;
        enum transport transport;
        bool host_loopback; /* the person opened this port of the host's loopback: no rule is asked */
};

/* flow.c: serves a listener, which is taken over: of the gateway, or (host_port) of the sandbox's loopback.
 */
void flow_serve(int descriptor);
void flow_serve_host_port(int descriptor, uint16_t host_port);
/* flow.c: a flow between two connected sockets, which are taken over: for --publish, where the host begins.
 */
void flow_join(int sandbox, int host, const struct target *target);

/* target.c: understands an address and judges it. VERDICT_ALLOWED, or why not. */
enum verdict target_judge(struct target *target);
/* target.c: the last check before a real address is used: special addresses, the host's own. */
enum verdict target_judge_address(const struct target *target, const struct in6_addr *address);

/* host_routes.c: opens what the kernel is asked with. False, with errno, when it cannot. */
bool host_routes_open(void);
/* host_routes.c: whether a packet to the address would leave this machine, or has no route; false for every
 * address of the host's own, and when that cannot be found out. */
bool host_routes_leave(const struct in6_addr *address);

/* connect.c: has a connection send what it gets at once: the waiting for more was done where it came from. */
void connect_set_nodelay(int descriptor);

/* target.c: a socket address of an address (IPv4 mapped), and back. target_store() returns its length. */
socklen_t target_store(const struct in6_addr *address, uint16_t port, struct sockaddr_storage *out);
void target_load(const struct sockaddr_storage *stored, struct in6_addr *address, uint16_t *port);

/* connect.c: opens a connection to the target: resolves, tries both families in turn (RFC 8305). `done` is
 * called exactly once, perhaps before connect_begin() returns (which is then NULL): with a connected socket
 * (not in the loop) that the callee owns and its real address, or with a negative errno and half a sentence
 * that lives until `done` returns. connect_cancel() before that ends it without a call. */
struct connecting;
typedef void connect_done(void *context, int result, const struct in6_addr *address, const char *why);
struct connecting *connect_begin(const struct target *target, connect_done *done, void *context);
void connect_cancel(struct connecting *connecting);

/* proxy.c: the upstream proxy, "HOST PORT [BASE64]"; one entry of NO_PROXY. */
void proxy_configure(const char *text);
void proxy_except(const char *entry);
/* proxy.c: whether a flow to the target goes through the proxy, whose place is then written as a target: a
 * name or an address, and a port, that no rule is asked about. */
bool proxy_carries(const struct target *target, struct target *place);
/* proxy.c: the proxy as "HOST:PORT". */
const char *proxy_shown(void);
/* proxy.c: asks the proxy for a tunnel to the target on a connected socket, which is taken over. `done` is
 * called exactly once, never before proxy_begin() returns: with the socket, or with a negative errno and half
 * a sentence. proxy_cancel() before that ends it without a call. NULL when memory or the kernel refuses. */
struct tunnel;
typedef void proxy_done(void *context, int result, const char *why);
struct tunnel *proxy_begin(int connected, const struct target *target, proxy_done *done, void *context);
void proxy_cancel(struct tunnel *tunnel);

/* resolve.c: the addresses of a name in one family, from the hosts entries, the cache or the host's name
 * servers. `done` is called exactly once, possibly before resolve_begin() returns; `why` is half a sentence
 * when count is 0. NULL when it was called already. resolve_cancel() ends it without a call. */
struct resolving;
typedef void resolve_done(void *context, const struct in6_addr *addresses, size_t count, const char *why);
struct resolving *resolve_begin(const char *name, int family, resolve_done *done, void *context);
void resolve_cancel(struct resolving *resolving);
/* resolve.c: any other question about a name: the reply as it came, or NULL. Same rules. */
typedef void query_done(void *context, const uint8_t *reply, size_t length);
void resolve_query(const char *name, uint16_t type, query_done *done, void *context);
/* resolve.c: opens c-ares, which may open files for that: before the nat is confined. */
bool resolve_start(void);
/* resolve.c: begins a new configuration; each line `nameserver` and `host` (wire.h), without its first word;
 * ends it. Lookups that are under way are asked again. */
void resolve_configure_begin(void);
void resolve_add_server(const char *address_and_port);
void resolve_add_host(const char *address_and_name);
void resolve_configure_end(void);
/* resolve.c: for the loop: the milliseconds until it wants a turn, or -1; that turn. */
int resolve_timeout(void);
void resolve_turn(void);

/* dns_server.c: the sandbox's questions; both sockets are taken over. */
void dns_serve_udp(int descriptor);
void dns_serve_tcp(int descriptor);

/* udp.c: NAT_SOCKET_UDP, taken over. */
void udp_serve(int descriptor, uint16_t port);
/* udp.c, flow.c: ends every flow, so that each is reported. */
void udp_end_all(const char *why);
void flow_end_all(const char *why);

/* publish.c: NAT_SOCKET_PUBLISH, taken over: a listener of the host for a port of the sandbox. */
void publish_serve(int descriptor, uint16_t port);

/* attempts.c: NAT_SOCKET_ATTEMPTS, taken over. */
void attempts_watch(int descriptor);
/* attempts.c: reports what was attempted up to now. */
void attempts_catch_up(void);

/* refusals.c: answers hutch-filter on NAT_FILTER from now on; before that nothing is kept. */
bool refusals_serve(void);
/* refusals.c: keeps one refusal, half a sentence. */
void refusals_keep(const char *what);

/* report.c: what the supervisor is told; each denied destination is said once, and not more than a bound. */
void report_start(int supervisor, bool log);
void report_ready(void);
/* The supervisor asks for the last time and reads to the end: what is said from now on is neither counted nor
 * lost. */
void report_finish(void);
void report_denied(const struct target *target, enum verdict verdict);
/* The same for an allowed name that leads to an address which the rules refuse. */
void report_denied_address(const struct target *target, const struct in6_addr *address, enum verdict verdict);
void report_mismatch(const struct target *target, const char *what, const char *named); /* SNI, Host */
/* An allowed destination that could not be reached: inside it looks like a connection that was reset. */
void report_failed(const struct target *target, const char *why);
/* A name that was asked for and that no rule covers. */
void report_name(const char *name);
/* What the proxy did not do for a target, or (NULL) for any. */
void report_proxy(const struct target *target, const char *why);
/* A sentence of its own, said once in a run whatever its values are: the sandbox can cause it without end. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_question(const char *name, uint16_t type, bool allowed);
/* The end of a flow: `up` and `down` in bytes, from the sandbox's view; `why` NULL for a clean end. */
void report_flow(const struct target *target, const struct in6_addr *address, uint64_t up, uint64_t down,
                 long long began, const char *why);

#endif
