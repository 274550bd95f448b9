/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking names up as the host would: the entries of its hosts file, a cache, its name servers.
 */
#ifndef HUTCH_NAT_RESOLVE_H
#define HUTCH_NAT_RESOLVE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts c-ares, which may open files, and registers its turn with the loop: call it before the process is
 * confined. False when memory is out. */
bool resolve_start(void);

/* Replaces the configuration. Each text is a line `nameserver` or `host` (wire.h) without its first word.
 * resolve_configure_end() asks lookups that are in progress again. */
void resolve_configure_begin(void);
void resolve_add_server(const char *address_and_port);
void resolve_add_host(const char *address_and_name);
void resolve_configure_end(void);

struct resolving;

/* `why` is half a sentence when `count` is 0. */
typedef void resolve_done(void *context, const struct in6_addr *addresses, size_t count, const char *why);

/* Looks up the addresses of a name in one family. Calls `done` exactly once. When that happens before
 * resolve_begin() returns, it returns NULL. resolve_cancel() before `done` ends it without a call. */
struct resolving *resolve_begin(const char *name, int family, resolve_done *done, void *context);
void resolve_cancel(struct resolving *resolving);

/* `reply` is the name server's message as it arrived, or NULL. The form is that of c-ares. */
typedef void query_done(void *context, int status, int timeouts, uint8_t *reply, int length);

/* Sends any other question about a name to the name servers. Calls `done` exactly once, perhaps before
 * resolve_query() returns. */
void resolve_query(const char *name, uint16_t type, query_done *done, void *context);

#endif
