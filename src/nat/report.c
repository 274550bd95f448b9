/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h. The sandbox can cause refusals without end, so the user reads of each destination once and of
 * REPORTED_MAX destinations at most, and a supervisor that does not read loses messages but delays nothing.
 */
#include "nat/report.h"

#include "lib/fd.h"
#include "lib/json.h"
#include "lib/str.h"
#include "nat/nat.h"
#include "nat/refusals.h"
#include "nat/wire.h"
#include "policy/addresses.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
        REPORTED_MAX = 128, /* destinations that are reported in one run */
        /* Records of each kind in a time window. The bound is for each kind, because one that is cheap to
         * cause (a question) must not displace others. The window is short, because the supervisor's queue
         * has room for some 400 messages. */
        WINDOW_MS = 200,
        RECORDS_PER_WINDOW = 100,
};

enum record_kind { RECORD_QUESTION, RECORD_DENIED, RECORD_FLOW, RECORD_KINDS };

static struct {
        int supervisor;
        bool log;
        struct str_list reported; /* destinations, and other sentences, that the user has read */
        struct str_list noted;    /* the formats of notes that the user has read */
        long long window;         /* the window that `records` counts */
        unsigned records[RECORD_KINDS];
        unsigned dropped; /* records that were not sent */
        bool last;        /* the supervisor reads to the end */
} report = {.supervisor = -1};

void report_start(int supervisor, bool log)
{
        report.supervisor = supervisor;
        report.log = log;
}

static bool send_text(enum nat_message_type type, const char *text)
{
        struct nat_message head = {.type = type};
        size_t length = strnlen(text, NAT_TEXT_MAX);
        struct iovec parts[] = {
            {.iov_base = &head, .iov_len = sizeof(head)},
            {.iov_base = (void *)text, .iov_len = length},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        return sendmsg(report.supervisor, &message, MSG_NOSIGNAL | (report.last ? 0 : MSG_DONTWAIT)) >= 0;
}

void report_ready(void)
{
        (void)send_text(NAT_READY, "");
}

static struct json begin_record(struct buf *text, const char *event)
{
        struct json members = {.out = text, .ascii = true};
        json_text(&members, "event", event);
        return members;
}

/* Sends one record of the log, unless there are too many. */
static void record(enum record_kind kind, struct json *members)
{
        if (!report.log)
                return;
        if (nat.now / WINDOW_MS != report.window) {
                report.window = nat.now / WINDOW_MS;
                memset(report.records, 0, sizeof(report.records));
        }
        if (report.dropped)
                json_number(members, "dropped_before", report.dropped);
        bool room = report.last || report.records[kind]++ < RECORDS_PER_WINDOW;
        buf_put(members->out, "", 1);
        if (room && send_text(NAT_RECORD, members->out->bytes))
                report.dropped = 0;
        else
                report.dropped++;
}

void report_finish(void)
{
        autobuf text = {0};
        struct json members = begin_record(&text, "dropped");
        report.last = true;
        if (report.dropped)
                record(RECORD_FLOW, &members);
}

/* "HOST:PORT" as --network-allow spells it. The caller frees. */
static char *format_target(const struct target *target)
{
        char address[ADDRESS_TEXT];
        const char *udp = target->transport == TRANSPORT_UDP ? "/udp" : "";
        if (target->host_loopback)
                return str_format("localhost:%u", target->port);
        if (target->name)
                return str_format("%s:%u%s", target->name, target->port, udp);
        return str_format(IN6_IS_ADDR_V4MAPPED(&target->address) ? "%s:%u%s" : "[%s]:%u%s",
                          address_format(&target->address, address), target->port, udp);
}

/* True the first time, until REPORTED_MAX is reached. */
static bool is_new_report(const char *destination)
{
        if (report.reported.count >= REPORTED_MAX || str_list_has(&report.reported, destination))
                return false;
        str_list_add(&report.reported, destination);
        if (report.reported.count == REPORTED_MAX)
                report_note(
                    "network: refused so many destinations that no more are shown; --log FILE records all");
        return report.reported.count < REPORTED_MAX;
}

void report_sentence(enum nat_message_type type, bool once, const char *format, ...)
{
        autofree char *text = NULL;
        va_list values;
        if (once && str_list_has(&report.noted, format))
                return;
        if (once)
                str_list_add(&report.noted, format);
        va_start(values, format);
        int length = vasprintf(&text, format, values);
        va_end(values);
        (void)send_text(type, str_or_die(length < 0 ? NULL : text));
}

#define send_denied(...) report_sentence(NAT_DENIED, false, __VA_ARGS__)

static void record_denied(const char *destination, const char *reason)
{
        autobuf text = {0};
        struct json members = begin_record(&text, "connection");
        json_text(&members, "decision", "denied");
        json_text(&members, "destination", destination);
        json_text(&members, "reason", reason);
        record(RECORD_DENIED, &members);
        autofree char *refusal = str_format("a connection to %s (%s)", destination, reason);
        refusals_keep(refusal);
}

static const char *const reasons[] = {
    [VERDICT_ALLOWED] = "",
    [VERDICT_NO_RULE] = "no rule allows it",
    [VERDICT_DENIED] = "--network-deny names it",
    [VERDICT_PORT] = "the rules allow it on other ports only",
    [VERDICT_SPECIAL] = "the address is private, or this machine's own",
    [VERDICT_METADATA] = "the address is a cloud's metadata service",
    [VERDICT_RESERVED] = "the address is reserved",
};

void report_denied(const struct target *target, enum verdict verdict)
{
        autofree char *destination = format_target(target);
        record_denied(destination, reasons[verdict]);
        if (!is_new_report(destination))
                return;
        if (verdict == VERDICT_DENIED || verdict == VERDICT_METADATA || verdict == VERDICT_RESERVED) {
                send_denied("network: refused %s: %s", destination, reasons[verdict]);
                return;
        }
        autofree char *suggestion =
            rules_suggest(&nat.rules, target->name, &target->address, target->port, target->transport);
        send_denied("network: refused %s: %s; to permit it: --network-allow %s", destination,
                    reasons[verdict], suggestion);
}

void report_denied_address(const struct target *target, const struct in6_addr *address, enum verdict verdict)
{
        char text[ADDRESS_TEXT];
        autofree char *destination = format_target(target);
        address_format(address, text);
        record_denied(destination, reasons[verdict]);
        if (!is_new_report(destination))
                return;
        if (verdict == VERDICT_SPECIAL)
                send_denied(
                    "network: refused %s: it leads to %s, and %s; to permit it: --network-allow %s/private",
                    destination, text, reasons[verdict], destination);
        else
                send_denied("network: refused %s: it leads to %s, and %s", destination, text,
                            reasons[verdict]);
}

void report_mismatch(const struct target *target, const char *what, const char *named)
{
        autofree char *destination = format_target(target);
        autofree char *once = str_format("%s as %s", destination, named ? named : "?");
        record_denied(destination,
                      named ? "the server name differs" : "the server name is missing or malformed");
        if (!is_new_report(once))
                return;
        if (named)
                send_denied(
                    "network: refused a connection to %s: its %s is %s; to permit that: --network-allow %s",
                    destination, what, named, named);
        else
                send_denied("network: refused a connection to %s: its %s is missing or cannot be read",
                            destination, what);
}

void report_name(const char *name)
{
        if (!is_new_report(name))
                return;
        if (rules_judge_name(&nat.rules, name, 443, TRANSPORT_TCP) == VERDICT_DENIED) {
                send_denied("network: refused to look up %s: %s", name, reasons[VERDICT_DENIED]);
                return;
        }
        autofree char *suggestion = rules_suggest(&nat.rules, name, NULL, 443, TRANSPORT_TCP);
        send_denied("network: refused to look up %s: no rule allows it; to permit it: --network-allow %s",
                    name, suggestion);
}

void report_failed(const struct target *target, const char *why)
{
        autofree char *destination = format_target(target);
        if (is_new_report(destination))
                report_sentence(NAT_NOTE, false, "network: cannot reach %s: %s", destination, why);
}

void report_proxy(const char *proxy, const struct target *target, const char *why)
{
        autofree char *destination = target ? format_target(target) : str_copy("");
        autofree char *once = str_format("%s by proxy: %s", destination, why);
        if (!is_new_report(once))
                return;
        if (!target)
                send_denied("network: no connection to the proxy %s: %s", proxy, why);
        else
                send_denied("network: the proxy %s gives no connection to %s: %s", proxy, destination, why);
}

void report_question(const char *name, uint16_t type, bool allowed)
{
        autobuf text = {0};
        struct json members = begin_record(&text, "dns");
        json_text(&members, "name", name);
        json_number(&members, "type", type);
        json_text(&members, "decision", allowed ? "allowed" : "denied");
        record(RECORD_QUESTION, &members);
        if (allowed)
                return;
        autofree char *refusal = str_format("the name %s", name);
        refusals_keep(refusal);
}

void report_flow(const struct flow_report *flow, const char *why)
{
        char address[ADDRESS_TEXT] = "";
        autofree char *destination = format_target(&flow->target);
        autobuf text = {0};
        struct json members = begin_record(&text, "connection");
        if (flow->connected)
                address_format(&flow->address, address);
        json_text(&members, "decision", "allowed");
        json_text(&members, "destination", destination);
        json_text(&members, flow->proxied ? "proxy_address" : "address", address);
        json_number(&members, "bytes_up", flow->up);
        json_number(&members, "bytes_down", flow->down);
        json_number(&members, "duration_ms", (uint64_t)(nat.now - flow->began));
        json_text(&members, "end", why ? why : "closed");
        record(RECORD_FLOW, &members);
}
