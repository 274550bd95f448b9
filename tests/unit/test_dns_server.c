/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's resolver: which questions get an address, which are refused, and that a refused name reaches
 * no name server.
 */
#include "nat_rig.h"

#include "nat/dns.h"
#include "nat/dns_server.h"
#include "nat/resolve.h"
#include "nat/target.h"

#include <netinet/in.h>
#include <poll.h>

enum { TYPE_TXT = 16, NO_ANSWER = -1 };

static int client;      /* connected to the resolver */
static int name_server; /* of the host */
static uint8_t answer[600];
static ssize_t answer_length;

static int bind_loopback(int type, uint16_t *port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof(address);
        int on = 1;
        int made = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        CHECK(made >= 0 && bind(made, (struct sockaddr *)&address, length) == 0);
        CHECK(getsockname(made, (struct sockaddr *)&address, &length) == 0);
        CHECK(type != SOCK_DGRAM || setsockopt(made, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == 0);
        *port = ntohs(address.sin_port);
        return made;
}

static void connect_client(int type, uint16_t port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        client = socket(AF_INET, type | SOCK_CLOEXEC, 0);
        CHECK(client >= 0 && connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
}

static void start(void)
{
        uint16_t port, server_port;
        char server[40];
        rig_start("*.allowed.test:443", "denied.allowed.test", false);
        name_server = bind_loopback(SOCK_DGRAM, &server_port);
        snprintf(server, sizeof(server), "127.0.0.1 %u", server_port);
        CHECK(resolve_start());
        resolve_configure_begin();
        resolve_add_server(server);
        resolve_configure_end();
        dns_server_add_udp(bind_loopback(SOCK_DGRAM, &port));
        connect_client(SOCK_DGRAM, port);
}

static size_t write_question(uint8_t *out, const char *name, uint16_t type, uint16_t class_)
{
        static const uint8_t head[12] = {0x12, 0x34, 1, 0, 0, 1};
        size_t length = sizeof(head);
        memcpy(out, head, sizeof(head));
        for (const char *label = name; *label;) {
                size_t size = strcspn(label, ".");
                out[length++] = (uint8_t)size;
                memcpy(out + length, label, size);
                length += size;
                label += size + (label[size] == '.');
        }
        const uint8_t end[] = {0, (uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(class_ >> 8),
                               (uint8_t)class_};
        memcpy(out + length, end, sizeof(end));
        return length + sizeof(end);
}

static bool asked_name_server(void)
{
        uint8_t question[600];
        return recv(name_server, question, sizeof(question), MSG_DONTWAIT) > 0;
}

/* Asks by UDP. The code of the answer, or NO_ANSWER. */
static int ask_class(const char *name, uint16_t type, uint16_t class_)
{
        uint8_t question[600];
        size_t length = write_question(question, name, type, class_);
        CHECK(send(client, question, length, 0) == (ssize_t)length);
        loop_turn();
        answer_length = recv(client, answer, sizeof(answer), MSG_DONTWAIT);
        return answer_length < 12 ? NO_ANSWER : answer[3] & 15;
}

static int ask(const char *name, uint16_t type)
{
        return ask_class(name, type, 1);
}

static int answers(void)
{
        return answer[6] << 8 | answer[7];
}

static void addresses(void)
{
        start();
        nat.v6 = true;
        static const uint8_t first4[] = {198, 18, 1, 0}, second4[] = {198, 18, 1, 1};
        CHECK(ask("a.allowed.test", DNS_A) == DNS_OK && answers() == 1);
        CHECK(memcmp(answer + answer_length - 4, first4, 4) == 0);
        CHECK(ask("b.allowed.test", DNS_A) == DNS_OK && memcmp(answer + answer_length - 4, second4, 4) == 0);
        CHECK(ask("A.Allowed.Test", DNS_A) == DNS_OK && memcmp(answer + answer_length - 4, first4, 4) == 0);
        CHECK(ask("a.allowed.test", DNS_AAAA) == DNS_OK && answers() == 1 && answer[answer_length - 1] == 1);
        nat.v6 = false;
        CHECK(ask("a.allowed.test", DNS_AAAA) == DNS_OK && answers() == 0);
        CHECK(!asked_name_server());
}
TEST_IN_CHILD(addresses)

/* What would lead a client past the synthetic addresses is answered with nothing. */
static void empty(void)
{
        static const uint16_t types[] = {DNS_HTTPS, DNS_SVCB, DNS_ANY};
        start();
        for (size_t i = 0; i < COUNT(types); i++)
                CHECK(ask("a.allowed.test", types[i]) == DNS_OK && answers() == 0);
        CHECK(!asked_name_server());
}
TEST_IN_CHILD(empty)

static void refused(void)
{
        static const char *const names[] = {"allowed.test", "other.test", "denied.allowed.test",
                                            "sp ace.allowed.test", "allowed.test.other"};
        static const uint16_t types[] = {DNS_A, DNS_AAAA, TYPE_TXT, DNS_PTR, DNS_HTTPS};
        start();
        for (size_t i = 0; i < COUNT(names); i++)
                for (size_t j = 0; j < COUNT(types); j++)
                        CHECK(ask(names[i], types[j]) == DNS_NO_NAME && answers() == 0);
        CHECK(ask_class("a.allowed.test", DNS_A, 3) == DNS_NO_NAME);
        CHECK(!asked_name_server());
        CHECK(strstr(rig_message(NAT_DENIED), "refused to look up allowed.test: "));
        CHECK(strstr(rig_message(NAT_DENIED), "refused to look up other.test: "));
        CHECK(strstr(rig_message(NAT_DENIED), "refused to look up denied.allowed.test: --network-deny"));
}
TEST_IN_CHILD(refused)

/* The user reads of refused addresses; a program that asks for other types asks for these too. */
static void refused_types(void)
{
        start();
        CHECK(ask("only-text.test", TYPE_TXT) == DNS_NO_NAME && strcmp(rig_message(0), "") == 0);
        CHECK(ask("six.test", DNS_AAAA) == DNS_NO_NAME &&
              strstr(rig_message(NAT_DENIED), "look up six.test"));
}
TEST_IN_CHILD(refused_types)

/* Plays the name server: waits for a question of type TXT about a.allowed.test and answers it with "hi". */
static void serve_text(void)
{
        static const uint8_t text[] = {0xc0, 12, 0, TYPE_TXT, 0, 1, 0, 0, 0, 9, 0, 3, 2, 'h', 'i'};
        uint8_t message[600];
        struct sockaddr_in from;
        socklen_t from_length = sizeof(from);
        struct dns_question question;
        struct pollfd waits = {.fd = name_server, .events = POLLIN};
        CHECK(poll(&waits, 1, 3000) == 1);
        ssize_t length =
            recvfrom(name_server, message, sizeof(message), 0, (struct sockaddr *)&from, &from_length);
        CHECK(length > 0 && dns_read_question(message, (size_t)length, &question));
        CHECK(strcmp(question.name, "a.allowed.test") == 0 && question.type == TYPE_TXT);
        message[2] |= 0x80;
        message[7] = 1;
        message[11] = 0;
        memcpy(message + question.question_end, text, sizeof(text));
        size_t size = question.question_end + sizeof(text);
        CHECK(sendto(name_server, message, size, 0, (struct sockaddr *)&from, from_length) == (ssize_t)size);
}

/* Runs the loop until the client has something to read. */
static void await_answer(void)
{
        struct pollfd waits = {.fd = client, .events = POLLIN};
        while (poll(&waits, 1, 0) == 0)
                loop_turn();
}

static bool is_text_answer(void)
{
        return answer_length > 12 && (answer[3] & 15) == DNS_OK && answers() == 1 && answer[0] == 0x12 &&
               memcmp(answer + answer_length - 3, "\2hi", 3) == 0;
}

/* Any other question about an allowed name goes to the host's name server, and its answer comes back. */
static void forwarded(void)
{
        start();
        CHECK(ask("a.allowed.test", TYPE_TXT) == NO_ANSWER);
        serve_text();
        await_answer();
        answer_length = recv(client, answer, sizeof(answer), MSG_DONTWAIT);
        CHECK(is_text_answer());
}
TEST_IN_CHILD(forwarded)

/* A client that has shut its side down gets the answer that it waits for, and then the end. */
static void forwarded_by_tcp(void)
{
        uint8_t question[600] = {0};
        uint16_t port;
        start();
        int listener = bind_loopback(SOCK_STREAM, &port);
        CHECK(listen(listener, 8) == 0);
        dns_server_add_tcp(listener);
        connect_client(SOCK_STREAM, port);
        size_t size = write_question(question + 2, "a.allowed.test", TYPE_TXT, 1);
        question[1] = (uint8_t)size;
        CHECK(send(client, question, 2 + size, 0) == (ssize_t)(2 + size) && shutdown(client, SHUT_WR) == 0);
        struct pollfd asked = {.fd = name_server, .events = POLLIN};
        while (poll(&asked, 1, 0) == 0)
                loop_turn();
        /* The end of the client's side is read before the answer is there. */
        loop_turn();
        serve_text();
        await_answer();
        CHECK(recv(client, answer, 2, 0) == 2);
        answer_length = recv(client, answer, answer[1], 0);
        CHECK(is_text_answer());
        await_answer();
        CHECK(recv(client, answer, 1, 0) == 0);
}
TEST_IN_CHILD(forwarded_by_tcp)

static void no_name_server(void)
{
        start();
        resolve_configure_begin();
        resolve_configure_end();
        CHECK(ask("a.allowed.test", TYPE_TXT) == DNS_SERVER_FAILURE);
        CHECK(ask("a.allowed.test", DNS_A) == DNS_OK && answers() == 1);
}
TEST_IN_CHILD(no_name_server)

/* Two questions in one segment, and the rest of a third later. */
static void by_tcp(void)
{
        uint8_t bytes[600];
        size_t length = 0;
        uint16_t port;
        start();
        int listener = bind_loopback(SOCK_STREAM, &port);
        CHECK(listen(listener, 8) == 0);
        dns_server_add_tcp(listener);
        connect_client(SOCK_STREAM, port);
        static const char *const names[] = {"a.allowed.test", "other.test", "b.allowed.test"};
        static const int codes[] = {DNS_OK, DNS_NO_NAME, DNS_OK};
        for (size_t i = 0; i < COUNT(names); i++) {
                size_t size = write_question(bytes + length + 2, names[i], DNS_A, 1);
                bytes[length] = 0;
                bytes[length + 1] = (uint8_t)size;
                length += 2 + size;
        }
        CHECK(send(client, bytes, length - 5, 0) == (ssize_t)length - 5);
        await_answer();
        size_t received = 0;
        for (size_t i = 0; i < COUNT(names); i++) {
                if (i == 2) {
                        CHECK(recv(client, answer, 1, MSG_DONTWAIT) < 0);
                        CHECK(send(client, bytes + length - 5, 5, 0) == 5);
                        loop_turn();
                }
                CHECK(recv(client, answer, 2, 0) == 2);
                received = (size_t)answer[1];
                CHECK(recv(client, answer, received, 0) == (ssize_t)received && (answer[3] & 15) == codes[i]);
        }
}
TEST_IN_CHILD(by_tcp)

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_addresses),      cmocka_unit_test(test_empty),
            cmocka_unit_test(test_refused),        cmocka_unit_test(test_refused_types),
            cmocka_unit_test(test_forwarded),      cmocka_unit_test(test_forwarded_by_tcp),
            cmocka_unit_test(test_no_name_server), cmocka_unit_test(test_by_tcp),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
