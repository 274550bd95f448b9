/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's questions, and the world's replies: the input is a length (two bytes), a query of that length
 * and a reply.
 */
#include "fuzz.h"

#include "nat/dns.h"

#include <ctype.h>
#include <string.h>

static struct rules rules;

static void check_name(const char *name)
{
        size_t length = strlen(name);
        FUZZ_CHECK(length <= NAME_MAX_LENGTH);
        for (size_t i = 0; i < length; i++)
                FUZZ_CHECK(name[i] == '.' || name[i] == '-' || name[i] == '_' ||
                           islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]));
}

/* What is written answers the query, and fits. */
static void check_answer(const uint8_t *query, const struct dns_question *question, const uint8_t *out,
                         size_t length, size_t size)
{
        FUZZ_CHECK(length >= question->question_end && length <= size);
        FUZZ_CHECK(memcmp(out, query, 2) == 0 && (out[2] & 0x80));
        FUZZ_CHECK(memcmp(out + 12, query + 12, question->question_end - 12) == 0);
        FUZZ_CHECK(out[8] == 0 && out[9] == 0 && out[10] == 0 && out[11] == question->edns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct dns_question question;
        struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 18, 1, 0}};
        static uint8_t out[DNS_MESSAGE_MAX];
        struct error error = {0};
        if (rules.allow.count == 0)
                FUZZ_CHECK(destinations_add(&rules.allow, DESTINATION_ALLOW, "a.test,*.b.test", &error));
        if (size < 2)
                return 0;
        size_t length = (size_t)data[0] << 8 | data[1];
        size -= 2;
        if (length > size)
                length = size;
        uint8_t *query = fuzz_copy(data + 2, length), *reply = fuzz_copy(data + 2 + length, size - length);
        if (dns_read_question(query, length, &question)) {
                FUZZ_CHECK(question.question_end >= 12 && question.question_end <= length);
                if (question.printable)
                        check_name(question.name);
                check_answer(query, &question, out,
                             dns_write_empty(query, &question, DNS_NO_NAME, false, out, DNS_UDP_PLAIN),
                             DNS_UDP_PLAIN);
                if (question.problem == DNS_OK) {
                        check_answer(query, &question, out,
                                     dns_write_address(query, &question, &address, out, DNS_UDP_PLAIN),
                                     DNS_UDP_PLAIN);
                        size_t room = size & 1 ? DNS_UDP_PLAIN : sizeof(out);
                        check_answer(
                            query, &question, out,
                            dns_write_forwarded(query, &question, reply, size - length, &rules, out, room),
                            room);
                }
        }
        free(query);
        free(reply);
        return 0;
}
