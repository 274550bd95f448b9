/* SPDX-License-Identifier: Apache-2.0
 *
 * resolv.conf and hosts. The first byte tells which of the two the rest is. Whatever the file holds,
 * hutch-nat is given lines of its own grammar.
 */
#include "fuzz.h"

#include "policy/addresses.h"
#include "run/host_names.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_line(char *line)
{
        struct in6_addr parsed;
        char *words = NULL;
        const char *key = strtok_r(line, " ", &words), *address = strtok_r(NULL, " ", &words);
        const char *name = strtok_r(NULL, " ", &words);
        FUZZ_CHECK(key && address && !strtok_r(NULL, " ", &words));
        if (str_equal(key, "nameserver")) {
                char *bare = str_copy_n(address, strcspn(address, "%"));
                FUZZ_CHECK(!name && address_parse(bare, &parsed));
                free(bare);
                return;
        }
        FUZZ_CHECK(str_equal(key, "host") && name && address_parse(address, &parsed) &&
                   destination_is_name(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct network network;
        struct error error = {0};
        if (network.rules.allow.count == 0)
                FUZZ_CHECK(destinations_add(&network.rules.allow, DESTINATION_ALLOW,
                                            "public,intranet,*.a.test", &error));
        if (size == 0)
                return 0;
        char path[64], *lines = NULL;
        int file = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_CHECK(file >= 0 && write(file, data + 1, size - 1) == (ssize_t)(size - 1));
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        char *text =
            host_names_read(data[0] & 1 ? path : "/dev/null", data[0] & 1 ? "/dev/null" : path, &network, -1);
        close(file);
        for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines))
                check_line(line);
        free(text);
        return 0;
}
