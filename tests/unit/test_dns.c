/* SPDX-License-Identifier: Apache-2.0
 *
 * DNS messages: questions as resolvers send them and as nobody should, the answers to them byte for byte, and
 * what of the world's replies reaches the sandbox.
 */
#include "unit.h"

#include "lib/fd.h"
#include "nat/dns.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <string.h>

enum { TXT = 16, MX = 15, SRV = 33, NS = 2, CNAME = 5, OPT = 41 };

struct message {
        uint8_t bytes[DNS_MESSAGE_MAX];
        size_t length;
};

static void put(struct message *message, const void *bytes, size_t length)
{
        assert_true(message->length + length <= sizeof(message->bytes));
        memcpy(message->bytes + message->length, bytes, length);
        message->length += length;
}

static void put_number(struct message *message, size_t size, size_t value)
{
        while (size--)
                put(message, &(uint8_t){(uint8_t)(value >> 8 * size)}, 1);
}

static void put_name(struct message *message, const char *name)
{
        while (*name) {
                size_t label = strcspn(name, ".");
                put_number(message, 1, label);
                put(message, name, label);
                name += label + (name[label] == '.');
        }
        put_number(message, 1, 0);
}

static void put_header(struct message *message, unsigned flags, unsigned questions, unsigned answers,
                       unsigned authorities, unsigned additional)
{
        message->length = 0;
        put_number(message, 2, 0x1234);
        put_number(message, 2, flags);
        put_number(message, 2, questions);
        put_number(message, 2, answers);
        put_number(message, 2, authorities);
        put_number(message, 2, additional);
}

static void put_question(struct message *message, const char *name, unsigned type)
{
        put_name(message, name);
        put_number(message, 2, type);
        put_number(message, 2, 1);
}

static void put_opt(struct message *message, unsigned payload, unsigned version, size_t options)
{
        put_number(message, 1, 0);
        put_number(message, 2, OPT);
        put_number(message, 2, payload);
        put_number(message, 4, version << 16);
        put_number(message, 2, options);
        for (size_t i = 0; i < options; i++)
                put_number(message, 1, 0);
}

/* A plain question, with recursion desired. */
static void make_query(struct message *message, const char *name, unsigned type)
{
        put_header(message, 0x0100, 1, 0, 0, 0);
        put_question(message, name, type);
}

/* Reads a copy that is exactly as large as the message, for the sanitizer. */
static bool read_bytes(const uint8_t *bytes, size_t length, struct dns_question *question)
{
        uint8_t *copy = malloc(length + !length);
        assert_non_null(copy);
        memcpy(copy, bytes, length);
        bool read = dns_read_question(copy, length, question);
        free(copy);
        return read;
}

static struct dns_question read_good(const struct message *message)
{
        struct dns_question question;
        assert_true(read_bytes(message->bytes, message->length, &question));
        assert_int_equal(question.problem, DNS_OK);
        return question;
}

static void expect_problem(const struct message *message, enum dns_code problem)
{
        struct dns_question question;
        uint8_t out[DNS_UDP_PLAIN];
        assert_true(read_bytes(message->bytes, message->length, &question));
        assert_int_equal(question.problem, problem);
        size_t length = dns_write_empty(message->bytes, &question, problem, false, out, sizeof(out));
        assert_true(length >= 12);
        assert_int_equal(out[3] & 15, problem & 15);
}

/* ---- questions ---- */

static void test_questions(void **state)
{
        static struct message message;
        (void)state;
        make_query(&message, "WWW.Allowed.test", DNS_AAAA);
        struct dns_question question = read_good(&message);
        assert_int_equal(question.id, 0x1234);
        assert_int_equal(question.type, DNS_AAAA);
        assert_int_equal(question.class_, 1);
        assert_string_equal(question.name, "www.allowed.test");
        assert_true(question.printable);
        assert_true(question.recursion);
        assert_false(question.edns);
        assert_int_equal(question.payload, 512);
        assert_int_equal(question.question_end, message.length);
        make_query(&message, "", NS);
        assert_string_equal(read_good(&message).name, "");
        make_query(&message, "_ldap._tcp.a-1.test", SRV);
        question = read_good(&message);
        assert_true(question.printable);
        assert_string_equal(question.name, "_ldap._tcp.a-1.test");
}

static void test_edns(void **state)
{
        static struct message message;
        (void)state;
        static const struct {
                unsigned sent, taken;
        } payloads[] = {{0, 512}, {100, 512}, {512, 512}, {1232, 1232}, {65535, 65535}};
        for (size_t i = 0; i < COUNT(payloads); i++) {
                put_header(&message, 0x0120, 1, 0, 0, 1);
                put_question(&message, "a.test", DNS_A);
                put_opt(&message, payloads[i].sent, 0, 12);
                struct dns_question question = read_good(&message);
                assert_true(question.edns);
                assert_int_equal(question.payload, payloads[i].taken);
        }
        /* A newer version is told ours, in an OPT record of its own (RFC 6891). */
        put_header(&message, 0x0100, 1, 0, 0, 1);
        put_question(&message, "a.test", DNS_A);
        put_opt(&message, 1232, 1, 0);
        struct dns_question question;
        uint8_t out[DNS_UDP_PLAIN];
        assert_true(read_bytes(message.bytes, message.length, &question));
        assert_int_equal(question.problem, DNS_BAD_VERSION);
        size_t length = dns_write_empty(message.bytes, &question, DNS_BAD_VERSION, false, out, sizeof(out));
        static const uint8_t opt[] = {0, 0, OPT, 1232 >> 8, 1232 & 255, 1, 0, 0, 0, 0, 0};
        assert_memory_equal(out + length - sizeof(opt), opt, sizeof(opt));
        assert_int_equal(out[3] & 15, 0);
        assert_int_equal(out[11], 1);
}

static void test_what_is_not_answered(void **state)
{
        static struct message message;
        struct dns_question question;
        (void)state;
        make_query(&message, "a.test", DNS_A);
        for (size_t length = 0; length < 12; length++)
                assert_false(read_bytes(message.bytes, length, &question));
        message.bytes[2] |= 0x80; /* a response: answering it could go on for ever */
        assert_false(read_bytes(message.bytes, message.length, &question));
}

static void test_malformed_questions(void **state)
{
        static struct message message;
        struct dns_question question;
        (void)state;
        make_query(&message, "a.test", DNS_A);
        for (size_t length = 12; length < message.length; length++) {
                assert_true(read_bytes(message.bytes, length, &question));
                assert_int_equal(question.problem, DNS_FORMAT_ERROR);
                assert_int_equal(question.question_end, 12);
        }
        put_header(&message, 0x0100, 0, 0, 0, 0);
        expect_problem(&message, DNS_FORMAT_ERROR);
        put_header(&message, 0x0100, 2, 0, 0, 0);
        put_question(&message, "a.test", DNS_A);
        put_question(&message, "evil.test", DNS_A);
        expect_problem(&message, DNS_FORMAT_ERROR);
        for (int section = 1; section <= 2; section++) {
                put_header(&message, 0x0100, 1, section == 1, section == 2, 0);
                put_question(&message, "a.test", DNS_A);
                expect_problem(&message, DNS_FORMAT_ERROR);
        }
        put_header(&message, 0x0100, 1, 0, 0, 2);
        put_question(&message, "a.test", DNS_A);
        put_opt(&message, 512, 0, 0);
        put_opt(&message, 512, 0, 0);
        expect_problem(&message, DNS_FORMAT_ERROR);
        /* An OPT record that is none, or not whole. */
        put_header(&message, 0x0100, 1, 0, 0, 1);
        put_question(&message, "a.test", DNS_A);
        size_t before = message.length;
        expect_problem(&message, DNS_FORMAT_ERROR);
        put_opt(&message, 512, 0, 4);
        for (size_t length = before; length < message.length; length++) {
                assert_true(read_bytes(message.bytes, length, &question));
                assert_int_equal(question.problem, DNS_FORMAT_ERROR);
                assert_false(question.edns);
        }
        message.bytes[before] = 1;
        expect_problem(&message, DNS_FORMAT_ERROR);
        /* Other kinds of request: status, notify, update. */
        for (unsigned opcode = 1; opcode < 16; opcode++) {
                put_header(&message, opcode << 11, 1, 0, 0, 0);
                put_question(&message, "a.test", DNS_A);
                expect_problem(&message, DNS_NOT_IMPLEMENTED);
        }
}

static void test_malformed_names(void **state)
{
        static const struct {
                const char *what, *bytes;
                size_t length;
        } names[] = {
            {"a pointer to itself", "\xc0\x0c", 2},
            {"a pointer forward", "\xc0\x12", 2},
            {"a pointer into the header", "\1a\xc0\4", 4},
            {"a pointer to its own label", "\1a\xc0\x0c", 4},
            {"half a pointer", "\xc0", 1},
            {"an extended label",
             "\x41"
             "a",
             2},
            {"a reserved label",
             "\x80"
             "a",
             2},
        };
        static struct message message;
        (void)state;
        for (size_t i = 0; i < COUNT(names); i++) {
                put_header(&message, 0x0100, 1, 0, 0, 0);
                put(&message, names[i].bytes, names[i].length);
                put_number(&message, 4, 0x00010001);
                put_name(&message, "a.test"); /* something to run into */
                struct dns_question question;
                assert_true(read_bytes(message.bytes, message.length, &question));
                if (question.problem != DNS_FORMAT_ERROR)
                        fail_msg("%s was read as \"%s\"", names[i].what, question.name);
        }
        /* 253 characters, and one more. */
        for (int more = 0; more < 2; more++) {
                put_header(&message, 0x0100, 1, 0, 0, 0);
                for (int label = 0; label < 3; label++) {
                        put_number(&message, 1, 63);
                        for (int i = 0; i < 63; i++)
                                put(&message, "a", 1);
                }
                put_number(&message, 1, (size_t)(61 + more));
                for (int i = 0; i < 61 + more; i++)
                        put(&message, "b", 1);
                put_number(&message, 1, 0);
                put_number(&message, 4, 0x00010001);
                struct dns_question question;
                assert_true(read_bytes(message.bytes, message.length, &question));
                assert_int_equal(question.problem, more ? DNS_FORMAT_ERROR : DNS_OK);
        }
}

/* A byte that no rule can mean never makes a name that one does. */
static void test_bytes_of_names(void **state)
{
        static struct message message;
        (void)state;
        for (int byte = 0; byte < 256; byte++) {
                put_header(&message, 0x0100, 1, 0, 0, 0);
                put_number(&message, 1, 3);
                put(&message, (uint8_t[]){'a', (uint8_t)byte, 'b'}, 3);
                put_name(&message, "test");
                put_number(&message, 4, 0x00010001);
                struct dns_question question = read_good(&message);
                bool fine = byte < 128 && (isalnum(byte) || byte == '-' || byte == '_');
                assert_int_equal(question.printable, fine);
                if (fine)
                        assert_int_equal(question.name[1], tolower(byte));
        }
}

/* ---- answers ---- */

static void test_addresses(void **state)
{
        static struct message message;
        struct in6_addr four, six;
        uint8_t out[DNS_UDP_PLAIN];
        (void)state;
        assert_true(address_parse("198.18.1.0", &four) && address_parse("fd68:7574:6368:1::1", &six));
        for (int edns = 0; edns < 2; edns++)
                for (int v6 = 0; v6 < 2; v6++) {
                        static struct message expected;
                        put_header(&message, 0x0100, 1, 0, 0, (unsigned)edns);
                        put_question(&message, "A.Test", v6 ? DNS_AAAA : DNS_A);
                        if (edns)
                                put_opt(&message, 4096, 0, 0);
                        struct dns_question question = read_good(&message);
                        put_header(&expected, 0x8180, 1, 1, 0, (unsigned)edns);
                        put_question(&expected, "A.Test", v6 ? DNS_AAAA : DNS_A); /* as it was asked */
                        put_number(&expected, 2, 0xc00c);
                        put_number(&expected, 2, v6 ? DNS_AAAA : DNS_A);
                        put_number(&expected, 2, 1);
                        put_number(&expected, 4, DNS_TTL);
                        put_number(&expected, 2, v6 ? 16 : 4);
                        put(&expected, v6 ? six.s6_addr : four.s6_addr + 12, v6 ? 16 : 4);
                        if (edns)
                                put_opt(&expected, DNS_UDP_MAX, 0, 0);
                        size_t length =
                            dns_write_address(message.bytes, &question, v6 ? &six : &four, out, sizeof(out));
                        assert_int_equal(length, expected.length);
                        assert_memory_equal(out, expected.bytes, length);
                        /* With less room: all of it or nothing. */
                        for (size_t size = 0; size < length; size++)
                                assert_int_equal(
                                    dns_write_address(message.bytes, &question, v6 ? &six : &four, out, size),
                                    0);
                }
}

static void test_empty_answers(void **state)
{
        static struct message message, expected;
        uint8_t out[DNS_UDP_PLAIN];
        (void)state;
        put_header(&message, 0, 1, 0, 0, 0); /* no recursion desired */
        put_question(&message, "a.test", DNS_A);
        struct dns_question question = read_good(&message);
        put_header(&expected, 0x8083, 1, 0, 0, 0);
        put_question(&expected, "a.test", DNS_A);
        size_t length = dns_write_empty(message.bytes, &question, DNS_NO_NAME, false, out, sizeof(out));
        assert_int_equal(length, expected.length);
        assert_memory_equal(out, expected.bytes, length);
        (void)dns_write_empty(message.bytes, &question, DNS_OK, true, out, sizeof(out));
        assert_int_equal(out[2] & 0x02, 0x02);
}

/* ---- replies that are handed on ---- */

struct exchange {
        struct message query, reply;
        struct dns_question question;
        struct rules rules;
        uint8_t out[DNS_MESSAGE_MAX];
        size_t length;
};

static int begin_exchange(void **state)
{
        struct exchange *exchange = calloc(1, sizeof(*exchange));
        struct error error = {0};
        *state = exchange;
        return exchange &&
                       destinations_add(&exchange->rules.allow, DESTINATION_ALLOW, "a.test,*.b.test", &error)
                   ? 0
                   : -1;
}

static int end_exchange(void **state)
{
        struct exchange *exchange = *state;
        destinations_free(&exchange->rules.allow);
        free(exchange);
        return 0;
}

static void ask(struct exchange *exchange, const char *name, unsigned type, bool edns)
{
        put_header(&exchange->query, 0x0100, 1, 0, 0, edns);
        put_question(&exchange->query, name, type);
        if (edns)
                put_opt(&exchange->query, 1232, 0, 0);
        exchange->question = read_good(&exchange->query);
}

static void begin_reply(struct exchange *exchange, unsigned flags, unsigned answers, unsigned authorities,
                        unsigned additional)
{
        put_header(&exchange->reply, flags, 1, answers, authorities, additional);
        put_question(&exchange->reply, exchange->question.name, exchange->question.type);
        exchange->reply.bytes[0] ^= 0xff; /* the id that the nat asked with is another */
}

static void put_record(struct message *message, unsigned type, const void *data, size_t length)
{
        put_number(message, 2, 0xc00c);
        put_number(message, 2, type);
        put_number(message, 2, 1);
        put_number(message, 4, 300);
        put_number(message, 2, length);
        put(message, data, length);
}

/* A record whose data is a number of bytes and then a name. */
static void put_pointing(struct message *message, unsigned type, size_t before, const char *name)
{
        static struct message data;
        data.length = 0;
        put_number(&data, before, 0);
        put_name(&data, name);
        put_record(message, type, data.bytes, data.length);
}

static enum dns_code forward(struct exchange *exchange, size_t size)
{
        uint8_t *copy = malloc(exchange->reply.length + 1);
        assert_non_null(copy);
        memcpy(copy, exchange->reply.bytes, exchange->reply.length);
        exchange->length = dns_write_forwarded(exchange->query.bytes, &exchange->question, copy,
                                               exchange->reply.length, &exchange->rules, exchange->out, size);
        free(copy);
        assert_true(exchange->length >= exchange->question.question_end && exchange->length <= size);
        assert_memory_equal(exchange->out, exchange->query.bytes, 2);
        assert_memory_equal(exchange->out + 12, exchange->query.bytes + 12,
                            exchange->question.question_end - 12);
        return exchange->out[3] & 15;
}

static void test_forwarding(void **state)
{
        struct exchange *exchange = *state;
        static struct message expected;
        for (int edns = 0; edns < 2; edns++) {
                ask(exchange, "A.test", TXT, edns);
                begin_reply(exchange, 0x85a0, 2, 1, 2);
                size_t records = exchange->reply.length;
                put_record(&exchange->reply, TXT, "\5hello", 6);
                put_record(&exchange->reply, TXT, "\0", 1);
                size_t end = exchange->reply.length;
                put_pointing(&exchange->reply, NS, 0, "ns.elsewhere.test");
                put_record(&exchange->reply, DNS_A, "\12\0\0\1", 4);
                put_opt(&exchange->reply, 4096, 0, 0);
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_OK);
                /* The answer section, and nothing else of it. */
                put_header(&expected, 0x8180, 1, 2, 0, (unsigned)edns);
                put_question(&expected, "A.test", TXT);
                put(&expected, exchange->reply.bytes + records, end - records);
                if (edns)
                        put_opt(&expected, DNS_UDP_MAX, 0, 0);
                assert_int_equal(exchange->length, expected.length);
                assert_memory_equal(exchange->out, expected.bytes, expected.length);
        }
}

static void test_forwarding_what_is_not_there(void **state)
{
        struct exchange *exchange = *state;
        static const enum dns_code codes[] = {DNS_OK, DNS_NO_NAME, DNS_SERVER_FAILURE, DNS_REFUSED};
        for (size_t i = 0; i < COUNT(codes); i++) {
                ask(exchange, "a.test", TXT, false);
                begin_reply(exchange, 0x8180 | codes[i], 0, 0, 0);
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), codes[i]);
                assert_int_equal(exchange->length, exchange->query.length);
        }
}

static void test_a_reply_that_is_too_long(void **state)
{
        struct exchange *exchange = *state;
        static const uint8_t text[256] = {255};
        for (int edns = 0; edns < 2; edns++) {
                ask(exchange, "a.test", TXT, edns);
                begin_reply(exchange, 0x8180, 2, 0, 0);
                put_record(&exchange->reply, TXT, text, sizeof(text));
                put_record(&exchange->reply, TXT, text, sizeof(text));
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_OK);
                assert_int_equal(exchange->out[2] & 2, 2);
                assert_int_equal(exchange->out[7], 0);
                size_t whole = exchange->reply.length + (edns ? 11 : 0);
                (void)forward(exchange, whole);
                assert_int_equal(exchange->length, whole);
                assert_int_equal(exchange->out[2] & 2, 0);
                (void)forward(exchange, whole - 1);
                assert_int_equal(exchange->out[2] & 2, 2);
        }
}

static void test_where_replies_lead(void **state)
{
        static const struct {
                unsigned type;
                size_t before;
                const char *target;
                enum dns_code expected;
        } cases[] = {
            {MX, 2, "a.test", DNS_OK},
            {MX, 2, "mail.b.test", DNS_OK},
            {MX, 2, "mail.evil.test", DNS_SERVER_FAILURE},
            {MX, 2, "", DNS_OK},
            {SRV, 6, "x.b.test", DNS_OK},
            {SRV, 6, "evil.test", DNS_SERVER_FAILURE},
            {SRV, 6, "", DNS_OK},
            {SRV, 6, "b.test", DNS_SERVER_FAILURE},
            {NS, 0, "ns.b.test", DNS_OK},
            {NS, 0, "ns.evil.test", DNS_SERVER_FAILURE},
            /* Longer or shorter than its record. */
            {MX, 1, "a.test", DNS_SERVER_FAILURE},
            {MX, 3, "a.test", DNS_SERVER_FAILURE},
            /* What an alias leads to is in the same reply. */
            {CNAME, 0, "cdn.evil.test", DNS_OK},
        };
        struct exchange *exchange = *state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                ask(exchange, "a.test", cases[i].type, false);
                begin_reply(exchange, 0x8180, 1, 0, 0);
                put_pointing(&exchange->reply, cases[i].type, cases[i].before, cases[i].target);
                if (forward(exchange, DNS_UDP_PLAIN) != cases[i].expected)
                        fail_msg("type %u to \"%s\"", cases[i].type, cases[i].target);
        }
        /* A label that looks like a covered name, or like the root. */
        static const char *const labels[] = {"\0\0\6a.test\0", "\0\0\1\0\0"};
        static const size_t lengths[] = {10, 5};
        for (size_t i = 0; i < COUNT(labels); i++) {
                ask(exchange, "a.test", MX, false);
                begin_reply(exchange, 0x8180, 1, 0, 0);
                put_record(&exchange->reply, MX, labels[i], lengths[i]);
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_SERVER_FAILURE);
        }
}

static void test_records_a_client_would_use(void **state)
{
        static const unsigned types[] = {DNS_A, DNS_AAAA, DNS_SVCB, DNS_HTTPS};
        static const uint8_t data[16] = {127, 0, 0, 1};
        struct exchange *exchange = *state;
        for (size_t i = 0; i < COUNT(types); i++) {
                ask(exchange, "a.test", TXT, false);
                begin_reply(exchange, 0x8180, 2, 0, 0);
                put_record(&exchange->reply, TXT, "\1x", 2);
                put_record(&exchange->reply, types[i], data, types[i] == DNS_A ? 4 : 16);
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_SERVER_FAILURE);
        }
}

static void test_malformed_replies(void **state)
{
        struct exchange *exchange = *state;
        ask(exchange, "a.test", MX, true);
        begin_reply(exchange, 0x8180, 2, 0, 0);
        put_pointing(&exchange->reply, MX, 2, "mail.b.test");
        put_record(&exchange->reply, MX, "\0\1\4mail\1b\xc0\x0e", 11);
        assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_OK);
        size_t whole = exchange->reply.length;
        for (exchange->reply.length = 0; exchange->reply.length < whole; exchange->reply.length++)
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_SERVER_FAILURE);
        exchange->reply.length = whole;
        /* A question, not truncated, of one question, and the same one. */
        static const struct {
                size_t at;
                uint8_t change;
        } changes[] = {{2, 0x80}, {2, 0x02},  {2, 0x08},      {5, 0x03},  {4, 0x01}, {6, 0x01},
                       {7, 0x01}, {13, 0x01}, {15, 0x20 ^ 1}, {21, 0x01}, {23, 0x02}};
        for (size_t i = 0; i < COUNT(changes); i++) {
                exchange->reply.bytes[changes[i].at] ^= changes[i].change;
                enum dns_code code = forward(exchange, DNS_UDP_PLAIN);
                /* One record less is no error: the header says so. */
                if (code != DNS_SERVER_FAILURE && changes[i].at != 7)
                        fail_msg("byte %zu changed by %d", changes[i].at, changes[i].change);
                exchange->reply.bytes[changes[i].at] ^= changes[i].change;
        }
        assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_OK);
}

/* Pointers that go round, go forward, or go back a long way for nothing. */
static void test_pointers_in_replies(void **state)
{
        struct exchange *exchange = *state;
        static const uint8_t steps[] = {1, 0};
        for (size_t i = 0; i < COUNT(steps); i++) {
                ask(exchange, "a.test", MX, false);
                begin_reply(exchange, 0x8180, 1, 0, 0);
                size_t data = exchange->reply.length + 12;
                uint8_t round[] = {0, 0, 0xc0, (uint8_t)(data + 2 + 2 * steps[i]), 0xc0, (uint8_t)(data + 2)};
                put_record(&exchange->reply, MX, round, steps[i] ? 6 : 4);
                assert_int_equal(forward(exchange, DNS_UDP_PLAIN), DNS_SERVER_FAILURE);
        }
        /* A chain of two thousand pointers, each to the one before. */
        static struct message chain;
        ask(exchange, "a.test", TXT, false);
        begin_reply(exchange, 0x8180, 2, 0, 0);
        size_t data = exchange->reply.length + 12;
        chain.length = 0;
        put_number(&chain, 2, 0xc00c);
        for (size_t i = 0; i < 2000; i++)
                put_number(&chain, 2, 0xc000 | (data + 2 * i));
        put_record(&exchange->reply, TXT, chain.bytes, chain.length);
        put_number(&exchange->reply, 2, 0xc000 | (data + 2 * 2000));
        put_number(&exchange->reply, 2, TXT);
        put_number(&exchange->reply, 8, 0);
        assert_int_equal(forward(exchange, DNS_MESSAGE_MAX), DNS_SERVER_FAILURE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_questions),
            cmocka_unit_test(test_edns),
            cmocka_unit_test(test_what_is_not_answered),
            cmocka_unit_test(test_malformed_questions),
            cmocka_unit_test(test_malformed_names),
            cmocka_unit_test(test_bytes_of_names),
            cmocka_unit_test(test_addresses),
            cmocka_unit_test(test_empty_answers),
            cmocka_unit_test_setup_teardown(test_forwarding, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_forwarding_what_is_not_there, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_a_reply_that_is_too_long, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_where_replies_lead, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_records_a_client_would_use, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_malformed_replies, begin_exchange, end_exchange),
            cmocka_unit_test_setup_teardown(test_pointers_in_replies, begin_exchange, end_exchange),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
