/* SPDX-License-Identifier: Apache-2.0
 *
 * See connect.h. Both families are looked up and their addresses tried in turn, and no attempt waits until
 * the one before it has failed (RFC 8305). For a flow that goes through the upstream proxy, the same steps
 * reach the proxy and proxy.c does the rest.
 *
 * This module connects only to addresses that target_judge_address() allows. The one exception is the proxy,
 * because the user's environment names it.
 */
#include "nat/connect.h"

#include "lib/str.h"
#include "nat/loop.h"
#include "nat/proxy.h"
#include "nat/report.h"
#include "nat/resolve.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ADDRESSES_MAX = 12 };

struct attempt {
        struct source source;
        struct connecting *connecting;
        struct in6_addr address;
};

struct connecting {
        struct target target;
        bool proxied;
        struct target place;     /* where to connect: the target, or the proxy */
        struct tunnel *tunnel;   /* that the proxy is asked for; NULL: none */
        struct in6_addr address; /* the address of the proxy */
        connect_done *done;
        void *context;
        struct resolving *lookups[2]; /* IPv6, IPv4 */
        bool answered[2];
        struct in6_addr addresses[2][ADDRESSES_MAX];
        size_t counts[2], next[2]; /* addresses, and the first that is untried */
        int family;                /* to try next: 0 is IPv6 */
        struct attempt attempts[2 * ADDRESSES_MAX];
        size_t attempt_count, open;
        bool trying; /* the first attempt has begun */
        bool ended;
        bool refused; /* the rules refused an address */
        int error;    /* of the last attempt that failed */
        const char *why;
        struct timer family_timer, attempt_timer, connect_timer;
};

static void try_next(struct connecting *connecting);

/* Ends all lookups and attempts. */
static void stop_attempts(struct connecting *connecting)
{
        for (size_t i = 0; i < 2; i++)
                if (connecting->lookups[i]) {
                        resolve_cancel(connecting->lookups[i]);
                        connecting->lookups[i] = NULL;
                }
        for (size_t i = 0; i < connecting->attempt_count; i++)
                source_close(&connecting->attempts[i].source);
        timer_stop(&connecting->family_timer);
        timer_stop(&connecting->attempt_timer);
}

void connect_cancel(struct connecting *connecting)
{
        connecting->ended = true;
        stop_attempts(connecting);
        if (connecting->tunnel)
                proxy_cancel(connecting->tunnel);
        timer_stop(&connecting->connect_timer);
        loop_free_later(connecting);
}

static void fail_connecting(struct connecting *connecting, int error, const char *why)
{
        connect_cancel(connecting);
        connecting->done(connecting->context, error, NULL, why);
}

/* Fails when no attempt is open, no address is left and no answer is missing. */
static void fail_if_over(struct connecting *connecting)
{
        if (connecting->open || !connecting->answered[0] || !connecting->answered[1] ||
            connecting->next[0] < connecting->counts[0] || connecting->next[1] < connecting->counts[1])
                return;
        const char *why = connecting->error ? strerror(-connecting->error) : connecting->why;
        if (connecting->proxied)
                report_proxy(proxy_shown(), NULL, why);
        fail_connecting(connecting, connecting->error ? connecting->error : -EHOSTUNREACH, why);
}

static void got_tunnel(void *context, int result, const char *why)
{
        struct connecting *connecting = context;
        connecting->tunnel = NULL;
        connect_cancel(connecting);
        connecting->done(connecting->context, result, result < 0 ? NULL : &connecting->address, why);
}

/* An attempt has succeeded. */
static void use_connected(struct connecting *connecting, int connected, const struct in6_addr *address)
{
        if (!connecting->proxied) {
                connect_cancel(connecting);
                connecting->done(connecting->context, connected, address, NULL);
                return;
        }
        connecting->address = *address;
        stop_attempts(connecting);
        connecting->tunnel = proxy_begin(connected, &connecting->target, got_tunnel, connecting);
        if (!connecting->tunnel)
                fail_connecting(connecting, -ENOMEM, strerror(ENOMEM));
}

static void finish_attempt(struct source *source)
{
        struct attempt *attempt = OWNER(source, struct attempt, source);
        struct connecting *connecting = attempt->connecting;
        int error = source_error(source);
        if (error) {
                source_close(source);
                connecting->open--;
                connecting->error = -error;
                try_next(connecting);
                return;
        }
        use_connected(connecting, source_take(source), &attempt->address);
}

void connect_set_nodelay(int descriptor)
{
        int on = 1;
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Returns 0 when the socket is connected, -EALREADY while the kernel still connects it, or another negative
 * errno. To a service of this machine connect() returns EINPROGRESS although the connection exists already;
 * only a second call shows that. */
static int connect_once(int made, const struct sockaddr *destination, socklen_t length)
{
        if (connect(made, destination, length) == 0 ||
            (errno == EINPROGRESS && connect(made, destination, length) == 0))
                return 0;
        return -errno;
}

static void attempt_due(struct timer *timer)
{
        try_next(OWNER(timer, struct connecting, attempt_timer));
}

/* Begins one attempt. False when it has failed already. */
static bool attempt_begin(struct connecting *connecting, const struct in6_addr *address)
{
        struct attempt *attempt = &connecting->attempts[connecting->attempt_count];
        struct sockaddr_storage destination;
        socklen_t length = target_store(address, connecting->place.port, &destination);
        int made = socket(destination.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int result = made < 0 ? -errno : connect_once(made, (struct sockaddr *)&destination, length);
        if (result < 0 && result != -EALREADY) {
                connecting->error = result;
                if (made >= 0)
                        close(made);
                return false;
        }
        connect_set_nodelay(made);
        if (result == 0) {
                use_connected(connecting, made, address);
                return true;
        }
        *attempt = (struct attempt){.connecting = connecting, .address = *address};
        if (!source_add(&attempt->source, made, EPOLLOUT, finish_attempt)) {
                connecting->error = -errno;
                source_close(&attempt->source);
                return false;
        }
        connecting->attempt_count++;
        connecting->open++;
        timer_start(&connecting->attempt_timer, TIMER_ATTEMPT, attempt_due);
        return true;
}

/* Returns the next address, with the families in turn, or NULL when there is none now. */
static const struct in6_addr *next_address(struct connecting *connecting)
{
        for (int i = 0; i < 2; i++) {
                int family = connecting->family;
                connecting->family = !family;
                if (connecting->next[family] < connecting->counts[family])
                        return &connecting->addresses[family][connecting->next[family]++];
        }
        return NULL;
}

static void try_next(struct connecting *connecting)
{
        const struct in6_addr *address;
        connecting->trying = true;
        timer_stop(&connecting->family_timer);
        timer_stop(&connecting->attempt_timer);
        while ((address = next_address(connecting)) != NULL)
                if (attempt_begin(connecting, address))
                        return;
        fail_if_over(connecting);
}

static void family_due(struct timer *timer)
{
        try_next(OWNER(timer, struct connecting, family_timer));
}

static void connect_due(struct timer *timer)
{
        struct connecting *connecting = OWNER(timer, struct connecting, connect_timer);
        static const char why[] = "nothing answered in time";
        if (connecting->proxied)
                report_proxy(proxy_shown(), connecting->tunnel ? &connecting->target : NULL, why);
        fail_connecting(connecting, -ETIMEDOUT, why);
}

/* Keeps the addresses of an answer that the rules allow. */
static void keep_addresses(struct connecting *connecting, int family, const struct in6_addr *addresses,
                           size_t count, const char *why)
{
        connecting->lookups[family] = NULL;
        connecting->answered[family] = true;
        if (count == 0)
                connecting->why = why;
        for (size_t i = 0; i < count && connecting->counts[family] < ADDRESSES_MAX; i++) {
                /* The sandbox does not choose the proxy's address. */
                enum verdict verdict = connecting->proxied
                                           ? VERDICT_ALLOWED
                                           : target_judge_address(&connecting->target, &addresses[i]);
                if (verdict == VERDICT_ALLOWED) {
                        connecting->addresses[family][connecting->counts[family]++] = addresses[i];
                        continue;
                }
                connecting->why = "it resolves to an address that the rules refuse";
                if (!connecting->refused)
                        report_denied_address(&connecting->target, &addresses[i], verdict);
                connecting->refused = true;
        }
}

static void got_addresses(struct connecting *connecting, int family, const struct in6_addr *addresses,
                          size_t count, const char *why)
{
        if (connecting->ended)
                return;
        keep_addresses(connecting, family, addresses, count, why);
        bool all = connecting->answered[0] && connecting->answered[1];
        if (connecting->trying) {
                if (!connecting->open)
                        try_next(connecting);
        } else if (connecting->counts[0] || all) {
                try_next(connecting); /* there are IPv6 addresses, or nothing more will come */
        } else if (connecting->counts[1]) {
                timer_start(&connecting->family_timer, TIMER_FAMILY, family_due);
        }
}

static void got_ipv6(void *context, const struct in6_addr *addresses, size_t count, const char *why)
{
        got_addresses(context, 0, addresses, count, why);
}

static void got_ipv4(void *context, const struct in6_addr *addresses, size_t count, const char *why)
{
        got_addresses(context, 1, addresses, count, why);
}

/* A service of the host listens on either loopback address, most often on 127.0.0.1. */
static void begin_loopback(struct connecting *connecting)
{
        static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;
        static const struct in6_addr four = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
        connecting->answered[0] = connecting->answered[1] = true;
        connecting->addresses[0][0] = six;
        connecting->addresses[1][0] = four;
        connecting->counts[0] = connecting->counts[1] = 1;
        connecting->family = 1;
        try_next(connecting);
}

struct connecting *connect_begin(const struct target *target, connect_done *done, void *context)
{
        struct connecting *connecting = str_or_die(calloc(1, sizeof(*connecting)));
        connecting->target = *target;
        connecting->done = done;
        connecting->context = context;
        const struct target *proxy = proxy_for(target);
        connecting->proxied = proxy != NULL;
        connecting->place = proxy ? *proxy : *target;
        timer_start(&connecting->connect_timer, TIMER_CONNECT, connect_due);
        /* A literal address is judged before the proxy is asked to connect to it. */
        enum verdict verdict = connecting->proxied && !target->name
                                   ? target_judge_address(target, &target->address)
                                   : VERDICT_ALLOWED;
        if (verdict != VERDICT_ALLOWED) {
                report_denied_address(target, &target->address, verdict);
                fail_connecting(connecting, -EACCES, "the rules refuse the address");
                return NULL;
        }
        if (connecting->place.host_loopback) {
                begin_loopback(connecting);
                return connecting->ended ? NULL : connecting;
        }
        if (!connecting->place.name) {
                connecting->answered[0] = true;
                got_ipv4(connecting, &connecting->place.address, 1, NULL);
                return connecting->ended ? NULL : connecting;
        }
        struct resolving *six = resolve_begin(connecting->place.name, AF_INET6, got_ipv6, connecting);
        if (connecting->ended)
                return NULL;
        connecting->lookups[0] = six;
        struct resolving *four = resolve_begin(connecting->place.name, AF_INET, got_ipv4, connecting);
        if (connecting->ended)
                return NULL;
        connecting->lookups[1] = four;
        return connecting;
}
