/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the network options. What is accepted is well formed, judges without surprise, and reads the
 * same again, as hutch-nat reads it.
 */
#include "fuzz.h"

#include "policy/addresses.h"
#include "policy/rules.h"

#include <string.h>

static void check(const struct destination *made)
{
        FUZZ_CHECK(made->port_count >= 1 && made->port_count <= 2);
        for (size_t i = 0; i < made->port_count; i++)
                FUZZ_CHECK(made->ports[i].first >= 1 && made->ports[i].first <= made->ports[i].last);
        FUZZ_CHECK(!strpbrk(made->text, " \t\r\n,"));
        if (made->kind == DESTINATION_NAME || made->kind == DESTINATION_BELOW)
                FUZZ_CHECK(destination_is_name(made->name));
        if (made->kind == DESTINATION_BELOW)
                FUZZ_CHECK(!destination_is_public_suffix(made->name));
        if (made->kind == DESTINATION_ADDRESS)
                FUZZ_CHECK(made->prefix >= 7 && made->prefix <= 128);
}

/* No rule permits what nothing permits, nor by a network what only an address of its own permits. */
static void check_judgement(const struct destination *made, const struct rules *rules)
{
        struct in6_addr metadata, loopback;
        FUZZ_CHECK(address_parse("169.254.169.254", &metadata) && address_parse("127.0.0.1", &loopback));
        uint16_t port = made->ports[0].first;
        FUZZ_CHECK(rules_judge_address(rules, NULL, &loopback, port, made->transport) != VERDICT_ALLOWED);
        bool own = made->kind == DESTINATION_ADDRESS && made->prefix == 128;
        FUZZ_CHECK(own ||
                   rules_judge_address(rules, NULL, &metadata, port, made->transport) != VERDICT_ALLOWED);
        if (made->kind != DESTINATION_NAME)
                return;
        FUZZ_CHECK(rules_cover_name(rules, made->name));
        FUZZ_CHECK(rules_judge_name(rules, made->name, port, made->transport) == VERDICT_ALLOWED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size == 0)
                return 0;
        enum destination_use use = data[0] & 1 ? DESTINATION_DENY : DESTINATION_ALLOW;
        char *text = str_copy_n((const char *)data + 1, size - 1);
        struct rules rules = {0}, again = {0};
        struct destinations *list = use == DESTINATION_ALLOW ? &rules.allow : &rules.deny;
        struct error error = {0};
        bool good = destinations_add(list, use, text, &error);
        FUZZ_CHECK(good || (error.status == EXIT_USAGE && strstr(error.text, "write ")));
        for (size_t i = 0; good && i < list->count; i++) {
                const struct destination *made = &list->items[i];
                check(made);
                FUZZ_CHECK(destinations_add(&again.allow, use, made->text, &error));
                const struct destination *second = &again.allow.items[i];
                FUZZ_CHECK(second->kind == made->kind && str_equal(second->name, made->name) &&
                           memcmp(&second->address, &made->address, sizeof(made->address)) == 0 &&
                           second->prefix == made->prefix && second->private_too == made->private_too);
                if (use == DESTINATION_ALLOW)
                        check_judgement(made, &rules);
        }
        destinations_free(list);
        destinations_free(&again.allow);
        free(text);
        return 0;
}
