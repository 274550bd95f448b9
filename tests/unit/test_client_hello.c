/* SPDX-License-Identifier: Apache-2.0
 *
 * The server name of a ClientHello: of real clients (recorded in tests/fuzz/corpus/client_hello), cut
 * everywhere; and of hellos that are made to be read in two ways.
 */
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/client_hello.h"

#include <stdio.h>

struct buffer {
        uint8_t bytes[CLIENT_HELLO_MAX + 70000];
        size_t length;
};

static void put(struct buffer *buffer, const void *bytes, size_t length)
{
        assert_true(buffer->length + length <= sizeof(buffer->bytes));
        memcpy(buffer->bytes + buffer->length, bytes, length);
        buffer->length += length;
}

static void put_number(struct buffer *buffer, size_t size, size_t value)
{
        while (size--)
                put(buffer, &(uint8_t){(uint8_t)(value >> 8 * size)}, 1);
}

/* ---- hellos made here ---- */

static void put_extension(struct buffer *extensions, unsigned type, const void *content, size_t length)
{
        put_number(extensions, 2, type);
        put_number(extensions, 2, length);
        put(extensions, content, length);
}

static void put_server_name(struct buffer *extensions, const char *name)
{
        static struct buffer content;
        content.length = 0;
        put_number(&content, 2, strlen(name) + 3);
        put_number(&content, 1, 0);
        put_number(&content, 2, strlen(name));
        put(&content, name, strlen(name));
        put_extension(extensions, 0, content.bytes, content.length);
}

/* The handshake message around the extensions; NULL: without any, as before TLS 1.0's extensions. */
static void make_message(struct buffer *out, const struct buffer *extensions)
{
        static const uint8_t random[32], suites[] = {0x0a, 0x0a, 0x13, 0x01}, compression[] = {0};
        out->length = 0;
        put_number(out, 1, 1);
        put_number(out, 3,
                   2 + 32 + 1 + 32 + 2 + sizeof(suites) + 1 + 1 + (extensions ? 2 + extensions->length : 0));
        put_number(out, 2, 0x0303);
        put(out, random, sizeof(random));
        put_number(out, 1, 32);
        put(out, random, sizeof(random));
        put_number(out, 2, sizeof(suites));
        put(out, suites, sizeof(suites));
        put_number(out, 1, 1);
        put(out, compression, 1);
        if (!extensions)
                return;
        put_number(out, 2, extensions->length);
        put(out, extensions->bytes, extensions->length);
}

/* The message in records of `size` bytes each. */
static void make_records(struct buffer *out, const uint8_t *message, size_t length, size_t size)
{
        out->length = 0;
        for (size_t at = 0; at < length; at += size) {
                size_t here = length - at < size ? length - at : size;
                put_number(out, 1, 0x16);
                put_number(out, 2, 0x0301);
                put_number(out, 2, here);
                put(out, message + at, here);
        }
}

static enum sniff look(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1])
{
        /* Exactly as large as its content, for the sanitizer. */
        uint8_t *copy = malloc(length + !length);
        assert_non_null(copy);
        memcpy(copy, bytes, length);
        memset(name, 'x', NAME_MAX_LENGTH + 1);
        enum sniff state = client_hello_name(copy, length, name);
        free(copy);
        return state;
}

static enum sniff look_at_extensions(const struct buffer *extensions, char name[NAME_MAX_LENGTH + 1])
{
        static struct buffer message, records;
        make_message(&message, extensions);
        make_records(&records, message.bytes, message.length, 16384);
        return look(records.bytes, records.length, name);
}

/* ---- real clients ---- */

static const struct {
        const char *client, *name;
} recorded[] = {
    {"curl-openssl", "a.test"},   {"openssl-tls12", "a.test"},    {"python", "a.test"}, {"node", "a.test"},
    {"gnutls", "a.test"},         {"git-gnutls", "a.test"},       {"go", "a.test"},     {"java", "localhost"},
    {"rustls-deno", "localhost"}, {"boringssl-bun", "localhost"}, /* 1,500 bytes: with a post-quantum key
                                                                     share */
};

static size_t read_recorded(const char *client, char **bytes)
{
        autofree char *path = str_format("%s/tests/fuzz/corpus/client_hello/%s", HUTCH_SOURCE_DIR, client);
        ssize_t length = fd_read_file(path, 65536, bytes);
        if (length <= 0)
                fail_msg("%s cannot be read", path);
        return (size_t)length;
}

/* However little has arrived, it is waited for; with the last byte the name is known, and what follows is
 * none of the hello. */
static void test_real_clients_in_segments(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(recorded); i++) {
                autofree char *bytes = NULL;
                char name[NAME_MAX_LENGTH + 1];
                size_t length = read_recorded(recorded[i].client, &bytes);
                for (size_t part = 0; part < length; part++)
                        if (look((uint8_t *)bytes, part, name) != SNIFF_MORE)
                                fail_msg("%s: decided after %zu of %zu bytes", recorded[i].client, part,
                                         length);
                assert_int_equal(look((uint8_t *)bytes, length, name), SNIFF_NAME);
                assert_string_equal(name, recorded[i].name);
                bytes = realloc(bytes, length + 5);
                assert_non_null(bytes);
                memcpy(bytes + length, "\x14\x03\x03\x00\x01", 5);
                assert_int_equal(look((uint8_t *)bytes, length + 5, name), SNIFF_NAME);
        }
}

/* Cut into two records at every byte, and into many of every small size. */
static void test_real_clients_in_records(void **state)
{
        static struct buffer records;
        (void)state;
        for (size_t i = 0; i < COUNT(recorded); i++) {
                autofree char *bytes = NULL;
                char name[NAME_MAX_LENGTH + 1];
                size_t length = read_recorded(recorded[i].client, &bytes);
                for (size_t size = 1; size < length - 5; size++) {
                        make_records(&records, (uint8_t *)bytes + 5, length - 5, size);
                        assert_int_equal(look(records.bytes, records.length, name), SNIFF_NAME);
                        assert_string_equal(name, recorded[i].name);
                        assert_int_equal(look(records.bytes, records.length - 1, name), SNIFF_MORE);
                }
        }
}

static void test_without_a_name(void **state)
{
        static struct buffer extensions, message, records;
        autofree char *bytes = NULL;
        char name[NAME_MAX_LENGTH + 1];
        (void)state;
        size_t length = read_recorded("no-name", &bytes);
        assert_int_equal(look((uint8_t *)bytes, length, name), SNIFF_NO_NAME);
        extensions.length = 0;
        assert_int_equal(look_at_extensions(&extensions, name), SNIFF_NO_NAME);
        make_message(&message, NULL);
        make_records(&records, message.bytes, message.length, 16384);
        assert_int_equal(look(records.bytes, records.length, name), SNIFF_NO_NAME);
}

/* What browsers add: values that mean nothing (GREASE), an encrypted hello, a large key share, padding. The
 * name is found wherever it stands among them. */
static void test_as_browsers_say_it(void **state)
{
        static const uint8_t filler[1300];
        char name[NAME_MAX_LENGTH + 1];
        (void)state;
        for (int place = 0; place < 5; place++) {
                static struct buffer extensions;
                static const struct {
                        unsigned type;
                        size_t length;
                } others[] = {{0x0a0a, 0}, {0xfe0d, 250}, {0x33, 1216}, {0x15, 300}, {0xfafa, 1}};
                extensions.length = 0;
                for (int i = 0; i < 5; i++) {
                        if (i == place)
                                put_server_name(&extensions, "Outer.Example.COM");
                        put_extension(&extensions, others[i].type, filler, others[i].length);
                }
                assert_int_equal(look_at_extensions(&extensions, name), SNIFF_NAME);
                assert_string_equal(name, "outer.example.com");
        }
}

static void expect_name(const char *sent, enum sniff expected, const char *read)
{
        static struct buffer extensions;
        char name[NAME_MAX_LENGTH + 1];
        extensions.length = 0;
        put_server_name(&extensions, sent);
        enum sniff state = look_at_extensions(&extensions, name);
        if (state != expected)
                fail_msg("\"%s\" gives %d, not %d", sent, state, expected);
        if (expected == SNIFF_NAME)
                assert_string_equal(name, read);
}

static void test_spelling(void **state)
{
        char longest[400];
        (void)state;
        expect_name("a.test", SNIFF_NAME, "a.test");
        expect_name("A.TEST.", SNIFF_NAME, "a.test");
        expect_name("_x-1.xn--a.test", SNIFF_NAME, "_x-1.xn--a.test");
        expect_name("", SNIFF_BAD, NULL);
        expect_name(".", SNIFF_BAD, NULL);
        expect_name("a..test", SNIFF_BAD, NULL);
        expect_name("a.test..", SNIFF_BAD, NULL);
        expect_name("*.test", SNIFF_BAD, NULL);
        expect_name("a.test:443", SNIFF_BAD, NULL);
        expect_name("a.test ", SNIFF_BAD, NULL);
        expect_name("a.test\n", SNIFF_BAD, NULL);
        expect_name("b\xc3\xbc.test", SNIFF_BAD, NULL);
        expect_name("127.0.0.1", SNIFF_BAD, NULL);
        expect_name("::1", SNIFF_BAD, NULL);
        memset(longest, 'a', sizeof(longest));
        for (size_t i = 50; i < sizeof(longest); i += 51)
                longest[i] = '.';
        longest[NAME_MAX_LENGTH] = 0;
        expect_name(longest, SNIFF_NAME, longest);
        longest[NAME_MAX_LENGTH] = 'a';
        longest[NAME_MAX_LENGTH + 1] = 0;
        expect_name(longest, SNIFF_BAD, NULL);
}

/* What two servers could read as two names. */
static void test_ambiguous(void **state)
{
        static const struct {
                const char *what;
                const char *content;
                size_t length;
        } contents[] = {
            {"no content", "", 0},
            {"an empty list", "\0\0", 2},
            {"two names", "\0\x08\0\0\1a\0\0\1b", 10},
            {"two types", "\0\x08\0\0\1a\1\0\1b", 10},
            {"another type", "\0\4\1\0\1a", 6},
            {"a list longer than the extension", "\0\x09\0\0\1a", 6},
            {"a list shorter than the extension", "\0\3\0\0\1a", 6},
            {"a name longer than the list", "\0\4\0\0\2a", 6},
            {"a name shorter than the list", "\0\5\0\0\1ab", 7},
            {"bytes behind the list", "\0\4\0\0\1ab", 7},
            {"a NUL in the name", "\0\6\0\0\3a\0b", 8},
            {"a NUL behind the name", "\0\5\0\0\2a\0", 7},
        };
        char name[NAME_MAX_LENGTH + 1];
        static struct buffer extensions;
        (void)state;
        for (size_t i = 0; i < COUNT(contents); i++) {
                extensions.length = 0;
                put_extension(&extensions, 0, contents[i].content, contents[i].length);
                if (look_at_extensions(&extensions, name) != SNIFF_BAD)
                        fail_msg("%s was not refused", contents[i].what);
        }
        extensions.length = 0;
        put_server_name(&extensions, "a.test");
        put_extension(&extensions, 0x2b, "", 0);
        put_server_name(&extensions, "a.test");
        assert_int_equal(look_at_extensions(&extensions, name), SNIFF_BAD);
        extensions.length = 0;
        put_server_name(&extensions, "");
        put_server_name(&extensions, "a.test");
        assert_int_equal(look_at_extensions(&extensions, name), SNIFF_BAD);
        /* Less or more than an extension at the end. */
        extensions.length = 0;
        put_server_name(&extensions, "a.test");
        for (size_t more = 1; more < 4; more++) {
                put_number(&extensions, 1, 0);
                assert_int_equal(look_at_extensions(&extensions, name), SNIFF_BAD);
        }
}

/* Every length inside the message one too large or too small: never a name that is not there. */
static void test_malformed(void **state)
{
        static struct buffer extensions, message, records;
        char name[NAME_MAX_LENGTH + 1];
        (void)state;
        extensions.length = 0;
        put_server_name(&extensions, "a.test");
        make_message(&message, &extensions);
        static const size_t lengths[] = {3, 38, 72, 77, 80};
        for (size_t i = 0; i < COUNT(lengths); i++)
                for (int change = -1; change <= 1; change += 2) {
                        make_records(&records, message.bytes, message.length, 16384);
                        records.bytes[5 + lengths[i]] = (uint8_t)(records.bytes[5 + lengths[i]] + change);
                        enum sniff got = look(records.bytes, records.length, name);
                        if (got != SNIFF_BAD && got != SNIFF_MORE)
                                fail_msg("length at %zu changed by %d: %d", lengths[i], change, got);
                }
}

static void test_records(void **state)
{
        static const struct {
                const char *what;
                const char *bytes;
                size_t length;
                enum sniff expected;
        } cases[] = {
            {"nothing", "", 0, SNIFF_MORE},
            {"the first byte", "\x16", 1, SNIFF_MORE},
            {"another first byte", "\x13\3\1", 3, SNIFF_OTHER},
            {"a byte of any record", "\x15", 1, SNIFF_MORE},
            {"a warning first", "\x15\3\1\0\2\1\0", 7, SNIFF_BAD},
            {"a change of ciphers first", "\x14\3", 2, SNIFF_BAD},
            {"data first", "\x17\3\1", 3, SNIFF_BAD},
            {"an alert's byte, but a length", "\x15\0\0\0", 4, SNIFF_OTHER},
            {"the beginning of a hello of SSL 2", "\x80\x2e\1\3", 4, SNIFF_MORE},
            {"a hello of SSL 2", "\x80\x2e\1\3\3\0", 6, SNIFF_NO_NAME},
            {"another message of SSL 2's length", "\x80\x2e\2", 3, SNIFF_OTHER},
            {"another version", "\x80\x2e\1\2", 4, SNIFF_OTHER},
            {"text", "GET /", 5, SNIFF_OTHER},
            {"another protocol's length", "\x16\1\0\0\0", 5, SNIFF_OTHER},
            {"an empty record", "\x16\3\1\0\0", 5, SNIFF_BAD},
            {"a record over the limit", "\x16\3\1\x40\1", 5, SNIFF_BAD},
            {"the largest record", "\x16\3\1\x40\0", 5, SNIFF_MORE},
            {"another message", "\x16\3\1\0\4\2", 6, SNIFF_BAD},
            {"another record within the message", "\x16\3\1\0\1\1\x17\3\1\0\1x", 12, SNIFF_BAD},
            {"an alert within the message", "\x16\3\1\0\1\1\x15", 7, SNIFF_BAD},
            {"another version within the message", "\x16\3\1\0\1\1\x16\2\1\0\1x", 12, SNIFF_BAD},
            {"an empty message", "\x16\3\1\0\4\1\0\0\0", 9, SNIFF_BAD},
        };
        char name[NAME_MAX_LENGTH + 1];
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                enum sniff got = look((const uint8_t *)cases[i].bytes, cases[i].length, name);
                if (got != cases[i].expected)
                        fail_msg("%s gives %d", cases[i].what, got);
        }
}

static void test_endless(void **state)
{
        static struct buffer records, message;
        char name[NAME_MAX_LENGTH + 1];
        (void)state;
        message.length = 0;
        put_number(&message, 1, 1);
        put_number(&message, 3, 0xffffff);
        while (message.length < CLIENT_HELLO_MAX)
                put_number(&message, 4, 0);
        make_records(&records, message.bytes, message.length, 16384);
        assert_int_equal(look(records.bytes, CLIENT_HELLO_MAX - 1, name), SNIFF_MORE);
        assert_int_equal(look(records.bytes, CLIENT_HELLO_MAX, name), SNIFF_BAD);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_real_clients_in_segments),
            cmocka_unit_test(test_real_clients_in_records),
            cmocka_unit_test(test_without_a_name),
            cmocka_unit_test(test_as_browsers_say_it),
            cmocka_unit_test(test_spelling),
            cmocka_unit_test(test_ambiguous),
            cmocka_unit_test(test_malformed),
            cmocka_unit_test(test_records),
            cmocka_unit_test(test_endless),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
