/* SPDX-License-Identifier: Apache-2.0
 *
 * The D-Bus messages of enforce/systemd_scope.h against made bytes: what is sent is parsed as the
 * specification says, and what a bus may answer is cut, torn and forged.
 */
#include "enforce/systemd_scope.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "bus_rig.h"
#include "unit.h"

static const struct limits limits = {.memory_bytes = 64 << 20, .pids = 50, .cpus = 150};

/* ---- what is sent ---- */

struct parser {
        const unsigned char *bytes;
        size_t at, end;
};

static uint64_t parse_number(struct parser *parser, size_t size)
{
        uint64_t value = 0;
        parser->at = (parser->at + size - 1) / size * size;
        assert_true(parser->at + size <= parser->end);
        for (size_t i = size; i > 0; i--)
                value = value << 8 | parser->bytes[parser->at + i - 1];
        parser->at += size;
        return value;
}

static const char *parse_text(struct parser *parser, size_t prefix)
{
        size_t length = parse_number(parser, prefix);
        const char *text = (const char *)parser->bytes + parser->at;
        assert_true(parser->at + length < parser->end);
        assert_int_equal(strlen(text), length);
        parser->at += length + 1;
        return text;
}

static void expect_text(struct parser *parser, size_t prefix, const char *expected)
{
        assert_string_equal(parse_text(parser, prefix), expected);
}

struct call {
        const char *fields[10]; /* by their numbers */
        struct parser body;
        size_t length;
};

static struct call parse_call(const unsigned char *message, size_t left, uint32_t serial)
{
        struct call call = {0};
        struct parser parser = {.bytes = message, .end = left};
        static const unsigned char start[] = {'l', 1, 0, 1};
        assert_memory_equal(message, start, sizeof(start));
        parser.at = sizeof(start);
        size_t body = parse_number(&parser, 4);
        assert_int_equal(parse_number(&parser, 4), serial);
        size_t fields = parse_number(&parser, 4), end = parser.at + fields;
        while (parser.at < end) {
                parser.at = (parser.at + 7) / 8 * 8;
                uint64_t number = parse_number(&parser, 1);
                const char *kind = parse_text(&parser, 1);
                assert_in_range(number, 1, 9);
                call.fields[number] = parse_text(&parser, kind[0] == 'g' ? 1 : 4);
                assert_string_equal(kind, number == 1 ? "o" : number == BUS_SIGNATURE ? "g" : "s");
        }
        assert_int_equal(parser.at, end);
        size_t start_of_body = (end + 7) / 8 * 8;
        call.length = start_of_body + body;
        call.body = (struct parser){.bytes = message, .at = start_of_body, .end = call.length};
        return call;
}

static void expect_property(struct parser *parser, const char *name, uint64_t value)
{
        parser->at = (parser->at + 7) / 8 * 8;
        expect_text(parser, 4, name);
        expect_text(parser, 1, "t");
        assert_int_equal(parse_number(parser, 8), value);
}

static void expect_scope(struct parser *parser, const char *name, const struct limits *expected)
{
        expect_text(parser, 4, name);
        expect_text(parser, 4, "fail");
        size_t length = parse_number(parser, 4), start = (parser->at + 7) / 8 * 8;
        parser->at = start;
        expect_text(parser, 4, "Description");
        expect_text(parser, 1, "s");
        (void)parse_text(parser, 4);
        parser->at = (parser->at + 7) / 8 * 8;
        expect_text(parser, 4, "CollectMode");
        expect_text(parser, 1, "s");
        expect_text(parser, 4, "inactive-or-failed");
        parser->at = (parser->at + 7) / 8 * 8;
        expect_text(parser, 4, "PIDs");
        expect_text(parser, 1, "au");
        assert_int_equal(parse_number(parser, 4), 4);
        assert_int_equal(parse_number(parser, 4), 4321);
        expect_property(parser, "MemoryMax", expected->memory_bytes);
        expect_property(parser, "MemorySwapMax", 0);
        expect_property(parser, "TasksMax", expected->pids + 1);
        if (expected->cpus)
                expect_property(parser, "CPUQuotaPerSecUSec", expected->cpus * 10000ULL);
        assert_int_equal(parser->at, start + length);
        assert_int_equal(parse_number(parser, 4), 0); /* no auxiliary units */
        parser->at = (parser->at + 7) / 8 * 8;
        assert_int_equal(parser->at, parser->end);
}

static void expect_request(const unsigned char *bytes, size_t left, const char *name,
                           const struct limits *expected)
{
        struct call hello = parse_call(bytes, left, 1);
        assert_string_equal(hello.fields[BUS_MEMBER], "Hello");
        assert_string_equal(hello.fields[6], "org.freedesktop.DBus");
        assert_null(hello.fields[BUS_SIGNATURE]);
        assert_int_equal(hello.body.at, hello.body.end);
        bytes += hello.length;
        left -= hello.length;
        struct call match = parse_call(bytes, left, 2);
        assert_string_equal(match.fields[BUS_MEMBER], "AddMatch");
        assert_string_equal(match.fields[BUS_SIGNATURE], "s");
        expect_text(&match.body, 4,
                    "type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1',"
                    "member='JobRemoved'");
        assert_int_equal(match.body.at, match.body.end);
        bytes += match.length;
        left -= match.length;
        struct call scope = parse_call(bytes, left, 3);
        assert_string_equal(scope.fields[1], "/org/freedesktop/systemd1");
        assert_string_equal(scope.fields[2], "org.freedesktop.systemd1.Manager");
        assert_string_equal(scope.fields[BUS_MEMBER], "StartTransientUnit");
        assert_string_equal(scope.fields[6], "org.freedesktop.systemd1");
        assert_string_equal(scope.fields[BUS_SIGNATURE], "ssa(sv)a(sa(sv))");
        expect_scope(&scope.body, name, expected);
        assert_int_equal(scope.length, left);
}

static void test_the_request(void **state)
{
        struct systemd_scope scope = {.name = "hutch-4194304-01234567.scope"};
        struct limits fewer = limits;
        (void)state;
        fewer.cpus = 0;
        const struct limits *const asked[] = {&limits, &fewer};
        for (size_t i = 0; i < COUNT(asked); i++) {
                autobuf requests = {0};
                systemd_scope_write_request(&scope, 4321, asked[i], &requests);
                expect_request((const unsigned char *)requests.bytes, requests.length, scope.name, asked[i]);
        }
}

/* ---- what is received ---- */

static void make_refusal(struct bus_message *message, const char *signature, const char *text)
{
        bus_begin(message, BUS_FAILURE);
        bus_add_field(message, BUS_ERROR_NAME, "s", "org.example.No");
        if (signature)
                bus_add_field(message, BUS_SIGNATURE, "g", signature);
        bus_begin_body(message);
        if (text)
                bus_add_text(message, text);
        bus_end(message);
}

static const struct systemd_scope asked = {.name = "hutch-1-2.scope"};

/* Judges a copy of exactly this size, so that a sanitizer sees a read behind it. */
static enum systemd_scope_progress judge(const struct bus_message *message, size_t length, char why[256])
{
        unsigned char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, message->bytes, length);
        snprintf(why, 256, "nothing");
        enum systemd_scope_progress progress = systemd_scope_judge_message(&asked, copy, length, why, 256);
        free(copy);
        return progress;
}

static void expect(const struct bus_message *message, enum systemd_scope_progress expected,
                   const char *reason)
{
        char why[256];
        assert_int_equal(judge(message, message->length, why), expected);
        assert_string_equal(why, reason);
}

static void test_what_the_scope_became(void **state)
{
        struct bus_message message;
        (void)state;
        bus_make_job_removed(&message, asked.name, "done");
        expect(&message, SYSTEMD_SCOPE_DONE, "nothing");
        bus_make_job_removed(&message, asked.name, "failed");
        expect(&message, SYSTEMD_SCOPE_REFUSED, "systemd did not make the scope: failed");
        bus_make_job_removed(&message, "another.scope", "done");
        expect(&message, SYSTEMD_SCOPE_WAITING, "nothing");
        make_refusal(&message, "s", "Unit is masked.");
        expect(&message, SYSTEMD_SCOPE_REFUSED, "systemd refuses: Unit is masked.");
        make_refusal(&message, NULL, NULL);
        expect(&message, SYSTEMD_SCOPE_REFUSED, "systemd refuses: org.example.No");
        make_refusal(&message, "u", "not a text");
        expect(&message, SYSTEMD_SCOPE_REFUSED, "systemd refuses: org.example.No");
}

static void test_what_is_not_meant(void **state)
{
        struct bus_message message;
        (void)state;
        bus_make_job_removed(&message, asked.name, "done");
        message.bytes[1] = BUS_REPLY; /* only a signal reports a job */
        expect(&message, SYSTEMD_SCOPE_WAITING, "nothing");
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "s", "JobNew");
        bus_add_field(&message, BUS_SIGNATURE, "g", "uoss");
        bus_begin_body(&message);
        bus_end(&message);
        expect(&message, SYSTEMD_SCOPE_WAITING, "nothing");
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "s", "JobRemoved");
        bus_add_field(&message, BUS_SIGNATURE, "g", "uos");
        bus_begin_body(&message);
        bus_end(&message);
        expect(&message, SYSTEMD_SCOPE_WAITING, "nothing");
}

static void expect_invalid(const struct bus_message *message)
{
        expect(message, SYSTEMD_SCOPE_REFUSED, "the bus sent an invalid message");
}

static void test_torn_messages(void **state)
{
        struct bus_message whole, message;
        char why[256];
        (void)state;
        bus_make_job_removed(&whole, asked.name, "done");
        for (size_t length = 0; length < whole.length; length++)
                assert_int_equal(judge(&whole, length, why), SYSTEMD_SCOPE_REFUSED);
        /* Any one byte may be another: nothing is read behind the message, and only this scope is done. */
        for (size_t at = 0; at < whole.length; at++)
                for (int value = 0; value < 256; value += 5) {
                        message = whole;
                        message.bytes[at] = (unsigned char)value;
                        (void)judge(&message, message.length, why);
                }
        message = whole;
        message.bytes[0] = 'B';
        expect_invalid(&message);
        message = whole;
        message.bytes[3] = 2;
        expect_invalid(&message);
        message = whole;
        bus_set_number(&message, 4, SYSTEMD_SCOPE_BUFFER_SIZE + 1);
        expect_invalid(&message);
        message = whole;
        bus_set_number(&message, 12, SYSTEMD_SCOPE_BUFFER_SIZE + 1);
        expect_invalid(&message);
}

static void test_torn_fields(void **state)
{
        struct bus_message message;
        (void)state;
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "s", "JobRemoved");
        message.bytes[20] = 200; /* the text's length */
        bus_begin_body(&message);
        bus_end(&message);
        expect_invalid(&message);
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "ss", "x"); /* one kind at a time */
        bus_begin_body(&message);
        bus_end(&message);
        expect_invalid(&message);
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "x", NULL); /* a kind that no field has */
        bus_begin_body(&message);
        bus_end(&message);
        expect_invalid(&message);
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_REPLY_SERIAL, "u", NULL);
        message.length -= 1; /* the number is cut */
        bus_set_number(&message, 12, message.length - 16);
        message.bytes[message.length++] = 0;
        message.body = message.length;
        bus_end(&message);
        expect_invalid(&message);
        bus_begin(&message, BUS_SIGNAL);
        bus_add_field(&message, BUS_MEMBER, "s", "JobRemoved");
        message.bytes[message.length - 1] = 'x'; /* no NUL at its end */
        bus_begin_body(&message);
        bus_end(&message);
        expect_invalid(&message);
}

/* ---- the conversation ---- */

static struct systemd_scope connection;
static int bus;

static int connect_ends(void **state)
{
        int ends[2];
        (void)state;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -1;
        connection = (struct systemd_scope){.socket = ends[0]};
        snprintf(connection.name, sizeof(connection.name), "%s", asked.name);
        bus = ends[1];
        return 0;
}

static int close_ends(void **state)
{
        (void)state;
        close(connection.socket);
        if (bus >= 0)
                close(bus);
        return 0;
}

static void expect_read(enum systemd_scope_progress expected, const char *reason)
{
        char why[256] = "nothing";
        assert_int_equal(systemd_scope_read(&connection, why, sizeof(why)), expected);
        assert_string_equal(why, reason);
}

static void send_bytes(const void *data, size_t length)
{
        assert_int_equal(send(bus, data, length, MSG_NOSIGNAL), length);
}

static void test_byte_by_byte(void **state)
{
        struct bus_message other, done;
        (void)state;
        bus_make_job_removed(&other, "another.scope", "done");
        bus_make_job_removed(&done, asked.name, "done");
        expect_read(SYSTEMD_SCOPE_WAITING, "nothing");
        for (const char *c = "OK 0123456789\r\n"; *c; c++) {
                assert_false(connection.authenticated);
                send_bytes(c, 1);
                expect_read(SYSTEMD_SCOPE_WAITING, "nothing");
        }
        assert_true(connection.authenticated);
        for (size_t i = 0; i < other.length; i++) {
                send_bytes(other.bytes + i, 1);
                expect_read(SYSTEMD_SCOPE_WAITING, "nothing");
        }
        assert_int_equal(connection.length, 0);
        for (size_t i = 0; i < done.length; i++) {
                expect_read(SYSTEMD_SCOPE_WAITING, "nothing");
                send_bytes(done.bytes + i, 1);
        }
        expect_read(SYSTEMD_SCOPE_DONE, "nothing");
}

static void test_all_at_once(void **state)
{
        struct bus_message all, next;
        (void)state;
        bus_make_job_removed(&all, "another.scope", "failed");
        bus_make_job_removed(&next, asked.name, "done");
        send_bytes("OK 0\r\n", 6);
        send_bytes(all.bytes, all.length);
        send_bytes(next.bytes, next.length);
        expect_read(SYSTEMD_SCOPE_DONE, "nothing");
}

static void test_the_bus_refuses(void **state)
{
        (void)state;
        send_bytes("REJECTED EXTERNAL\r\n", 19);
        expect_read(SYSTEMD_SCOPE_REFUSED, "the bus rejected your user id");
}

static void test_a_short_refusal(void **state)
{
        (void)state;
        send_bytes("\n", 1);
        expect_read(SYSTEMD_SCOPE_REFUSED, "the bus rejected your user id");
}

static void test_the_bus_hangs_up(void **state)
{
        (void)state;
        close(bus);
        bus = -1;
        expect_read(SYSTEMD_SCOPE_REFUSED, "the bus closed the connection or sent too much");
}

static void test_more_than_there_is_room_for(void **state)
{
        static const char much[SYSTEMD_SCOPE_BUFFER_SIZE] = {0};
        (void)state;
        send_bytes(much, sizeof(much)); /* no line, no message */
        expect_read(SYSTEMD_SCOPE_WAITING, "nothing");
        send_bytes("x", 1);
        expect_read(SYSTEMD_SCOPE_REFUSED, "the bus closed the connection or sent too much");
}

static void test_a_message_that_claims_too_much(void **state)
{
        struct bus_message message;
        (void)state;
        bus_make_job_removed(&message, asked.name, "done");
        bus_set_number(&message, 4, SYSTEMD_SCOPE_BUFFER_SIZE);
        send_bytes("OK 0\r\n", 6);
        send_bytes(message.bytes, message.length);
        expect_read(SYSTEMD_SCOPE_REFUSED, "the bus sent an invalid message");
}

static void test_asking(void **state)
{
        unsigned char bytes[4096];
        char start[128], digits[32] = "", uid[16];
        (void)state;
        assert_int_equal(systemd_scope_request(&connection, 4321, &limits), 0);
        ssize_t length = recv(bus, bytes, sizeof(bytes), 0);
        snprintf(uid, sizeof(uid), "%u", geteuid());
        for (size_t i = 0; uid[i]; i++)
                snprintf(digits + 2 * i, 3, "%02hhx", uid[i]);
        size_t skipped = 1 + (size_t)snprintf(start, sizeof(start), "AUTH EXTERNAL %s\r\nBEGIN\r\n", digits);
        assert_int_equal(bytes[0], 0);
        assert_true(length > (ssize_t)skipped);
        assert_memory_equal(bytes + 1, start, skipped - 1);
        assert_true(str_starts(connection.name, "hutch-4321-"));
        assert_string_equal(strchr(connection.name, '.'), ".scope");
        assert_int_equal(strlen(connection.name), strlen("hutch-4321-01234567.scope"));
        expect_request(bytes + skipped, (size_t)length - skipped, connection.name, &limits);
        autofree char *first = str_copy(connection.name);
        assert_int_equal(systemd_scope_request(&connection, 4321, &limits), 0);
        assert_string_not_equal(connection.name, first);
}

static void test_asking_nobody(void **state)
{
        (void)state;
        close(bus);
        bus = -1;
        assert_int_equal(systemd_scope_request(&connection, 4321, &limits), -EPIPE);
}

/* ---- connecting ---- */

static char socket_directory[] = "/tmp/hutch-test-bus-XXXXXX";

static int listen_at(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 5), 0);
        return fd;
}

/* Connects from a pid namespace of its own, which does not see the listener: the errno, or -1 where the
 * kernel makes no such namespace. */
static int connect_from_elsewhere(const char *path)
{
        pid_t child = fork();
        int status;
        if (child == 0) {
                struct systemd_scope scope = {.socket = -1};
                if ((geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) || unshare(CLONE_NEWPID) < 0)
                        _exit(255);
                pid_t inner = fork();
                if (inner == 0)
                        _exit(-systemd_scope_connect(&scope, path));
                waitpid(inner, &status, 0);
                _exit(WEXITSTATUS(status));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

static void test_connecting(void **state)
{
        struct systemd_scope scope = {.socket = -1, .authenticated = true, .length = 9};
        char longest[200];
        (void)state;
        assert_non_null(mkdtemp(socket_directory));
        autofree char *path = str_format("%s/bus", socket_directory);
        assert_int_equal(systemd_scope_connect(&scope, path), -ENOENT);
        assert_int_equal(scope.socket, -1);
        memset(longest, 'x', sizeof(longest));
        longest[sizeof(((struct sockaddr_un *)0)->sun_path)] = 0;
        assert_int_equal(systemd_scope_connect(&scope, longest), -ENAMETOOLONG);
        autoclose int listener = listen_at(path);
        assert_int_equal(systemd_scope_connect(&scope, path), 0);
        assert_true(scope.socket >= 0);
        assert_false(scope.authenticated);
        assert_int_equal(scope.length, 0);
        close(scope.socket);
        int elsewhere = connect_from_elsewhere(path);
        (void)unlink(path);
        (void)rmdir(socket_directory);
        if (elsewhere < 0)
                skip();
        assert_int_equal(elsewhere, EXDEV);
}

#define CONNECTED(test) cmocka_unit_test_setup_teardown(test, connect_ends, close_ends)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_the_request),
            cmocka_unit_test(test_what_the_scope_became),
            cmocka_unit_test(test_what_is_not_meant),
            cmocka_unit_test(test_torn_messages),
            cmocka_unit_test(test_torn_fields),
            CONNECTED(test_byte_by_byte),
            CONNECTED(test_all_at_once),
            CONNECTED(test_the_bus_refuses),
            CONNECTED(test_a_short_refusal),
            CONNECTED(test_the_bus_hangs_up),
            CONNECTED(test_more_than_there_is_room_for),
            CONNECTED(test_a_message_that_claims_too_much),
            CONNECTED(test_asking),
            CONNECTED(test_asking_nobody),
            cmocka_unit_test(test_connecting),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
