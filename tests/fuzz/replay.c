/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds every file of the given directories to a fuzz target, once, each also cut short at every length below
 * 512 and with every one of its first bytes changed: what a fuzzer found once stays found.
 */
#include "fuzz.h"

#include "lib/fd.h"

#include <dirent.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 20, VARIED = 512 };

static void try_around(const uint8_t *data, size_t size)
{
        size_t varied = size < VARIED ? size : VARIED;
        uint8_t *copy = fuzz_copy(data, size);
        LLVMFuzzerTestOneInput(copy, size);
        for (size_t i = 0; i < varied; i++) {
                LLVMFuzzerTestOneInput(data, i);
                for (unsigned change = 1; change < 256; change *= 2) {
                        copy[i] = (uint8_t)(data[i] ^ change);
                        LLVMFuzzerTestOneInput(copy, size);
                }
                copy[i] = data[i];
        }
        free(copy);
}

static size_t replay_directory(const char *directory)
{
        size_t count = 0;
        DIR *entries = opendir(directory);
        FUZZ_CHECK(entries);
        for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
                if (entry->d_name[0] == '.')
                        continue;
                autofree char *path = path_join(directory, entry->d_name);
                autofree char *data = NULL;
                ssize_t length = fd_read_file(path, FILE_MAX_BYTES, &data);
                FUZZ_CHECK(length >= 0);
                try_around((const uint8_t *)data, (size_t)length);
                count++;
        }
        closedir(entries);
        return count;
}

int main(int argc, char **argv)
{
        for (int i = 1; i < argc; i++)
                FUZZ_CHECK(replay_directory(argv[i]) > 0);
        return argc > 1 ? 0 : 2;
}
