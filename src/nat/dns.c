/* SPDX-License-Identifier: Apache-2.0
 *
 * See dns.h.
 */
#include "nat/dns.h"

#include "nat/bytes.h"

#include <ctype.h>
#include <string.h>

enum {
        HEADER = 12,
        FLAG_RESPONSE = 0x8000,
        FLAG_TRUNCATED = 0x0200,
        FLAG_RECURSION_DESIRED = 0x0100,
        FLAG_RECURSION_AVAILABLE = 0x0080,
        OPCODE_MASK = 0x7800,
        CODE_MASK = 15,
        CLASS_IN = 1,
        TYPE_NS = 2,
        TYPE_MX = 15,
        TYPE_SRV = 33,
        TYPE_OPT = 41,
        LABEL_MAX = 63,
        POINTERS_MAX = 64, /* in one name, more than compression has a use for */
        RECORD_FIXED = 10, /* type, class, time to live, length */
};

/* Reads the name at `at`. Pointers may only point backwards and not into the header. Sets *end to the offset
 * after the name, and *printable to false when a label has a character that no rule can have. False when the
 * name is malformed. */
static bool read_name(const uint8_t *message, size_t length, size_t at, char name[NAME_MAX_LENGTH + 1],
                      bool *printable, size_t *end)
{
        size_t written = 0, pointers = 0, lowest = at;
        bool jumped = false;
        *printable = true;
        name[0] = 0;
        for (;;) {
                if (at >= length)
                        return false;
                uint8_t size = message[at];
                if (size >= 0xc0) {
                        if (at + 1 >= length || ++pointers > POINTERS_MAX)
                                return false;
                        size_t target = (size_t)(size & 0x3f) << 8 | message[at + 1];
                        if (!jumped)
                                *end = at + 2;
                        jumped = true;
                        if (target >= lowest || target < HEADER)
                                return false;
                        at = lowest = target;
                        continue;
                }
                if (size > LABEL_MAX || at + 1 + size > length)
                        return false;
                if (size == 0)
                        break;
                if (written + (written > 0) + size > NAME_MAX_LENGTH)
                        return false;
                if (written)
                        name[written++] = '.';
                for (size_t i = 1; i <= size; i++) {
                        uint8_t byte = message[at + i];
                        if (!isalnum(byte) && byte != '-' && byte != '_')
                                *printable = false;
                        name[written++] = (char)tolower(byte);
                }
                at += 1 + (size_t)size;
        }
        name[written] = 0;
        if (!jumped)
                *end = at + 1;
        return true;
}

static void read_edns(struct bytes *rest, struct dns_question *question)
{
        /* An OPT record of a query: an empty name, the type, the payload, version and flags, options. */
        uint32_t name = bytes_number(rest, 1), type = bytes_number(rest, 2), payload = bytes_number(rest, 2);
        bytes_skip(rest, 1);
        question->edns_version = (uint8_t)bytes_number(rest, 1);
        bytes_skip(rest, 2);
        bytes_skip(rest, bytes_number(rest, 2));
        if (name != 0 || type != TYPE_OPT || rest->short_) {
                question->problem = DNS_FORMAT_ERROR;
                return;
        }
        question->edns = true;
        if (payload > DNS_UDP_PLAIN)
                question->payload = (uint16_t)payload;
        if (question->edns_version > 0)
                question->problem = DNS_BAD_VERSION;
}

bool dns_read_question(const uint8_t *message, size_t length, struct dns_question *question)
{
        struct bytes header = {.at = message, .left = length};
        *question = (struct dns_question){.payload = DNS_UDP_PLAIN, .question_end = HEADER};
        question->id = (uint16_t)bytes_number(&header, 2);
        uint32_t flags = bytes_number(&header, 2);
        uint32_t questions = bytes_number(&header, 2), answers = bytes_number(&header, 2);
        uint32_t authorities = bytes_number(&header, 2), additional = bytes_number(&header, 2);
        if (header.short_ || (flags & FLAG_RESPONSE))
                return false;
        question->recursion = flags & FLAG_RECURSION_DESIRED;
        if (flags & OPCODE_MASK) {
                question->problem = DNS_NOT_IMPLEMENTED;
                return true;
        }
        size_t end;
        if (questions != 1 || answers || authorities || additional > 1 ||
            !read_name(message, length, HEADER, question->name, &question->printable, &end) ||
            end + 4 > length) {
                question->problem = DNS_FORMAT_ERROR;
                return true;
        }
        struct bytes rest = {.at = message + end, .left = length - end};
        question->type = (uint16_t)bytes_number(&rest, 2);
        question->class_ = (uint16_t)bytes_number(&rest, 2);
        question->question_end = end + 4;
        if (additional)
                read_edns(&rest, question);
        return true;
}

static void put_number(uint8_t *out, size_t at, size_t size, uint32_t value)
{
        for (size_t i = 0; i < size; i++)
                out[at + i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

/* Writes the header and repeats the question; `answers` records follow. Returns the length, or 0 when it does
 * not fit. */
static size_t begin_answer(const uint8_t *query, const struct dns_question *question, enum dns_code code,
                           uint32_t answers, bool truncated, uint8_t *out, size_t size)
{
        if (question->question_end > size)
                return 0;
        bool has_question = question->question_end > HEADER;
        memcpy(out, query, question->question_end);
        put_number(out, 0, 2, question->id);
        put_number(out, 2, 2,
                   FLAG_RESPONSE | (truncated ? FLAG_TRUNCATED : 0) |
                       (question->recursion ? FLAG_RECURSION_DESIRED : 0) | FLAG_RECURSION_AVAILABLE |
                       ((uint32_t)code & CODE_MASK));
        put_number(out, 4, 2, has_question);
        put_number(out, 6, 2, answers);
        put_number(out, 8, 2, 0);
        put_number(out, 10, 2, question->edns);
        return question->question_end;
}

static size_t end_answer(const struct dns_question *question, enum dns_code code, uint8_t *out, size_t length,
                         size_t size)
{
        enum { OPT_LENGTH = 11 };
        if (!question->edns)
                return length;
        if (length + OPT_LENGTH > size)
                return 0;
        out[length] = 0;
        put_number(out, length + 1, 2, TYPE_OPT);
        put_number(out, length + 3, 2, DNS_UDP_MAX);
        put_number(out, length + 5, 4, (uint32_t)code >> 4 << 24);
        put_number(out, length + 9, 2, 0);
        return length + OPT_LENGTH;
}

size_t dns_write_empty(const uint8_t *query, const struct dns_question *question, enum dns_code code,
                       bool truncated, uint8_t *out, size_t size)
{
        size_t length = begin_answer(query, question, code, 0, truncated, out, size);
        return length ? end_answer(question, code, out, length, size) : 0;
}

size_t dns_write_address(const uint8_t *query, const struct dns_question *question,
                         const struct in6_addr *address, uint8_t *out, size_t size)
{
        size_t bytes = question->type == DNS_A ? 4 : 16;
        size_t length = begin_answer(query, question, DNS_OK, 1, false, out, size);
        if (!length || length + 12 + bytes > size)
                return 0;
        put_number(out, length, 2, 0xc000 | HEADER); /* a pointer to the question's name */
        put_number(out, length + 2, 2, question->type);
        put_number(out, length + 4, 2, CLASS_IN);
        put_number(out, length + 6, 4, DNS_TTL);
        put_number(out, length + 10, 2, (uint32_t)bytes);
        memcpy(out + length + 12, address->s6_addr + 16 - bytes, bytes);
        return end_answer(question, DNS_OK, out, length + 12 + bytes, size);
}

/* Finds the name in a record of this type that a client asks for next. False when the type has none. CNAME is
 * not among them, because the same reply holds the records of its target. */
static bool find_target(uint32_t type, size_t *offset)
{
        *offset = type == TYPE_MX ? 2 : type == TYPE_SRV ? 6 : 0;
        return type == TYPE_NS || type == TYPE_MX || type == TYPE_SRV;
}

/* Whether the sandbox may receive the record of the answer section at *at. Moves *at past the record. */
static bool may_have_record(const uint8_t *reply, size_t length, size_t *at,
                            const struct dns_question *question, const struct rules *rules)
{
        char name[NAME_MAX_LENGTH + 1];
        bool printable;
        size_t offset, end;
        if (!read_name(reply, length, *at, name, &printable, &end) || length - end < RECORD_FIXED)
                return false;
        struct bytes rest = {.at = reply + end, .left = length - end};
        uint32_t type = bytes_number(&rest, 2);
        bytes_skip(&rest, 6); /* class and time to live */
        size_t size = bytes_number(&rest, 2);
        size_t data = end + RECORD_FIXED;
        if (size > rest.left || type == DNS_A || type == DNS_AAAA || type == DNS_SVCB || type == DNS_HTTPS)
                return false;
        *at = data + size;
        if (!find_target(type, &offset))
                return true;
        if (!read_name(reply, length, data + offset, name, &printable, &end) || end != *at || !printable)
                return false;
        /* "." means that the service does not exist (RFC 2782, RFC 7505). */
        return !*name || strcmp(name, question->name) == 0 || rules_cover_name(rules, name);
}

/* Whether the reply repeats the question; if it does, the question has the same length in both. */
static bool answers_question(const uint8_t *reply, size_t length, const struct dns_question *question)
{
        char name[NAME_MAX_LENGTH + 1];
        bool printable;
        size_t end;
        if (length < question->question_end || !read_name(reply, length, HEADER, name, &printable, &end) ||
            end + 4 != question->question_end || !printable || strcmp(name, question->name) != 0)
                return false;
        struct bytes rest = {.at = reply + end, .left = length - end};
        return bytes_number(&rest, 2) == question->type && bytes_number(&rest, 2) == question->class_;
}

size_t dns_write_forwarded(const uint8_t *query, const struct dns_question *question, const uint8_t *reply,
                           size_t length, const struct rules *rules, uint8_t *out, size_t size)
{
        struct bytes header = {.at = reply, .left = length};
        bytes_skip(&header, 2);
        uint32_t flags = bytes_number(&header, 2);
        uint32_t questions = bytes_number(&header, 2), answers = bytes_number(&header, 2);
        if (!(flags & FLAG_RESPONSE) || (flags & (OPCODE_MASK | FLAG_TRUNCATED)) || questions != 1 ||
            !answers_question(reply, length, question))
                return dns_write_empty(query, question, DNS_SERVER_FAILURE, false, out, size);
        size_t at = question->question_end;
        for (uint32_t i = 0; i < answers; i++)
                if (!may_have_record(reply, length, &at, question, rules))
                        return dns_write_empty(query, question, DNS_SERVER_FAILURE, false, out, size);
        enum dns_code code = flags & CODE_MASK;
        /* Pointers in the records stay valid, because what precedes the records keeps its length. */
        size_t records = at - question->question_end;
        size_t written = begin_answer(query, question, code, answers, false, out, size);
        if (!written || records > size - written)
                return dns_write_empty(query, question, DNS_OK, true, out, size);
        memcpy(out + written, reply + question->question_end, records);
        written = end_answer(question, code, out, written + records, size);
        return written ? written : dns_write_empty(query, question, DNS_OK, true, out, size);
}
