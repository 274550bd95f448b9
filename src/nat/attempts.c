/* SPDX-License-Identifier: Apache-2.0
 *
 * See attempts.h. Every byte of the packets is hostile. This module never answers one, and the verdicts that
 * it asks for only choose the words of a report.
 */
#include "nat/attempts.h"

#include "nat/loop.h"
#include "nat/report.h"
#include "nat/target.h"
#include "policy/addresses.h"

#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <string.h>

enum {
        PER_TURN = 32,
        QUEUED_MAX =
            1024, /* more than the socket's queue holds, and a bound for a sandbox that goes on sending */
};

/* Reads the destination from the headers of a packet. False when they are incomplete. */
static bool read_headers(const uint8_t *packet, size_t length, struct target *target)
{
        size_t transport_at, protocol_at;
        if (length >= sizeof(struct iphdr) && packet[0] >> 4 == 4) {
                transport_at = (size_t)(packet[0] & 15) * 4;
                protocol_at = offsetof(struct iphdr, protocol);
                target->address = address_mapped(packet + offsetof(struct iphdr, daddr));
        } else if (length >= sizeof(struct ip6_hdr) && packet[0] >> 4 == 6) {
                transport_at = sizeof(struct ip6_hdr);
                protocol_at = offsetof(struct ip6_hdr, ip6_nxt);
                memcpy(&target->address, packet + offsetof(struct ip6_hdr, ip6_dst), sizeof(target->address));
        } else {
                return false;
        }
        if (length < transport_at + 4)
                return false;
        target->port = (uint16_t)(packet[transport_at + 2] << 8 | packet[transport_at + 3]);
        target->transport = packet[protocol_at] == IPPROTO_UDP ? TRANSPORT_UDP : TRANSPORT_TCP;
        return true;
}

static struct source attempts = {.descriptor = -1};

/* Reports up to `most` of the attempts that wait in the socket. */
static void report_attempts(int most)
{
        uint8_t packet[128];
        for (int i = 0; i < most; i++) {
                ssize_t length = recv(attempts.descriptor, packet, sizeof(packet), 0);
                if (length < 0)
                        return;
                struct target target = {0};
                if (!read_headers(packet, (size_t)length, &target))
                        continue;
                enum verdict verdict = target_judge(&target);
                /* The port has no listener, so no rule mentions it. */
                report_denied(&target, verdict == VERDICT_ALLOWED ? VERDICT_PORT : verdict);
        }
}

static void attempts_ready(struct source *source)
{
        (void)source;
        report_attempts(PER_TURN);
}

void attempts_catch_up(void)
{
        report_attempts(QUEUED_MAX);
}

void attempts_watch(int descriptor)
{
        source_serve(&attempts, descriptor, attempts_ready);
}
