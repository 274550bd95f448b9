/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a flow of the sandbox goes, and whether the rules permit it.
 */
#ifndef HUTCH_NAT_TARGET_H
#define HUTCH_NAT_TARGET_H

#include "policy/rules.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct target {
        const char *name; /* that the address was given to; owned by nat.names; NULL: a literal address */
        struct in6_addr address; /* as the sandbox addressed it, IPv4 mapped */
        uint16_t port;
        enum transport transport;
        bool host_loopback; /* a port of the host's loopback that the user opened: no rule is asked */
};

/* Finds the name of target->address, if it has one, and judges the target. VERDICT_ALLOWED, or why not. */
enum verdict target_judge(struct target *target);

/* Judges a real address of an allowed target before a socket connects to it: special addresses, and those of
 * the host itself. */
enum verdict target_judge_address(const struct target *target, const struct in6_addr *address);

/* Writes an address (IPv4 mapped) and a port as a socket address and returns its length; reads them back. */
socklen_t target_store(const struct in6_addr *address, uint16_t port, struct sockaddr_storage *out);
void target_load(const struct sockaddr_storage *stored, struct in6_addr *address, uint16_t *port);

#endif
