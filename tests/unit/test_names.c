/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic addresses: one for each name, never two names for one, and none outside of hutch's own ranges.
 */
#include "policy/network.h"
#include "unit.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/names.h"
#include "nat/setup.h"
#include "policy/addresses.h"

#include <stdio.h>

static int make_names(void **state)
{
        *state = names_new();
        return 0;
}

static int free_names(void **state)
{
        names_free(*state);
        return 0;
}

static bool find(const struct names *names, const char *text, const char **name)
{
        struct in6_addr address;
        assert_true(address_parse(text, &address));
        *name = "untouched";
        return names_find(names, &address, name);
}

static void test_one_name_one_address(void **state)
{
        struct names *names = *state;
        const char *name;
        assert_int_equal(names_number(names, "a.test"), 0);
        assert_int_equal(names_number(names, "b.test"), 1);
        assert_int_equal(names_number(names, "a.test"), 0);
        assert_true(find(names, "198.18.1.0", &name));
        assert_string_equal(name, "a.test");
        assert_true(find(names, "198.18.1.1", &name));
        assert_string_equal(name, "b.test");
        assert_true(find(names, "fd68:7574:6368:1::1", &name));
        assert_string_equal(name, "a.test");
        assert_true(find(names, "fd68:7574:6368:1::2", &name));
        assert_string_equal(name, "b.test");
}

/* In hutch's ranges, but given to no name. */
static void test_addresses_without_a_name(void **state)
{
        static const char *const ours[] = {"198.18.0.0",
                                           NETWORK_GATEWAY4,
                                           NETWORK_SANDBOX4,
                                           "198.18.0.255",
                                           "198.18.1.2",
                                           "198.19.255.255",
                                           NETWORK_GATEWAY6,
                                           NETWORK_SANDBOX6,
                                           "fd68:7574:6368::",
                                           "fd68:7574:6368:1::",
                                           "fd68:7574:6368:1::3",
                                           "fd68:7574:6368:2::1",
                                           "fd68:7574:6368:1:1::1",
                                           "fd68:7574:6368:1::1:0:1",
                                           "fd68:7574:6368:1:1:0:0:1",
                                           "fd68:7574:6368:1:ffff:ffff:ffff:ffff"};
        static const char *const others[] = {"198.17.255.255",
                                             "198.20.0.0",
                                             "127.0.0.1",
                                             "0.0.0.0",
                                             "255.255.255.255",
                                             "::",
                                             "::1",
                                             "fd68:7574:6369::1",
                                             "fd68:7574:6367:1::1",
                                             "64:ff9b::198.18.1.0"};
        struct names *names = *state;
        const char *name;
        (void)names_number(names, "a.test");
        (void)names_number(names, "b.test");
        for (size_t i = 0; i < COUNT(ours); i++) {
                assert_true(find(names, ours[i], &name));
                assert_null(name);
        }
        for (size_t i = 0; i < COUNT(others); i++) {
                assert_false(find(names, others[i], &name));
                assert_null(name);
        }
}

/* As many as there are: each is found again by both addresses, one more gets none, and no one loses its own.
 */
static void test_until_they_are_used_up(void **state)
{
        struct names *names = *state;
        char text[32];
        for (int i = 0; i < NAMES_MAX; i++) {
                snprintf(text, sizeof(text), "n%d.test", i);
                assert_int_equal(names_number(names, text), i);
        }
        assert_int_equal(names_number(names, "one.more.test"), -1);
        assert_int_equal(names_number(names, "one.more.test"), -1);
        for (int i = 0; i < NAMES_MAX; i++) {
                struct in6_addr four, six;
                const char *name;
                snprintf(text, sizeof(text), "n%d.test", i);
                names_address4(i, &four);
                names_address6(i, &six);
                assert_true(names_find(names, &four, &name));
                assert_string_equal(name, text);
                assert_true(names_find(names, &six, &name));
                assert_string_equal(name, text);
                assert_int_equal(names_number(names, text), i);
                assert_int_equal(address_classify(&four), ADDRESS_RESERVED);
                assert_int_equal(address_classify(&six), ADDRESS_RESERVED);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_one_name_one_address, make_names, free_names),
            cmocka_unit_test_setup_teardown(test_addresses_without_a_name, make_names, free_names),
            cmocka_unit_test_setup_teardown(test_until_they_are_used_up, make_names, free_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
