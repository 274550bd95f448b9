/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree_digest.h. The walk descends with one descriptor for each level, which the greatest depth bounds.
 */
#include "fetch/tree_digest.h"

#include "lib/fd.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static bool count(struct tree_size *size, const struct stat *status)
{
        size->objects++;
        uint64_t disk = (uint64_t)status->st_blocks * 512, length = (uint64_t)status->st_size;
        size->bytes += disk > length ? disk : length; /* reading a sparse file takes its whole length */
        return size->objects <= TREE_OBJECTS_MAX && size->bytes <= TREE_BYTES_MAX;
}

static bool measure(int directory, struct tree_size *size, unsigned depth)
{
        struct str_list names = {0};
        bool fits = depth < TREE_DEPTH_MAX;
        (void)tree_list(directory, NULL, TREE_OBJECTS_MAX,
                        &names); /* the final digest judges what cannot be read now */
        for (size_t i = 0; fits && i < names.count; i++) {
                struct stat status;
                if (fstatat(directory, names.values[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                fits = count(size, &status);
                if (!fits || !S_ISDIR(status.st_mode))
                        continue;
                autoclose int below =
                    openat(directory, names.values[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                fits = below < 0 || measure(below, size, depth + 1);
        }
        str_list_free(&names);
        return fits;
}

bool tree_measure(int directory, struct tree_size *size)
{
        *size = (struct tree_size){0};
        return measure(directory, size, 0);
}

struct digesting {
        SHA512_CTX hash;
        struct tree_size size;
        struct error *error;
};

static void add_number(SHA512_CTX *hash, uint64_t number)
{
        uint8_t bytes[8];
        for (size_t i = 0; i < 8; i++)
                bytes[i] = (uint8_t)(number >> 8 * i);
        SHA512Update(hash, bytes, sizeof(bytes));
}

/* Each text goes in with its length, so that different trees give different bytes. */
static void add_text(SHA512_CTX *hash, const char *text, size_t length)
{
        add_number(hash, length);
        SHA512Update(hash, (const uint8_t *)text, length);
}

static bool refuse(struct digesting *digesting, const char *name, const char *why)
{
        return error_set(digesting->error, EXIT_SETUP, "what was fetched cannot be kept: %s %s",
                         error_shown(name), why);
}

static bool digest_file(struct digesting *digesting, int directory, const char *name,
                        const struct stat *judged)
{
        static uint8_t data[1 << 16];
        struct stat status;
        autoclose int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0 || fstat(file, &status) < 0)
                return refuse(digesting, name, strerror(errno));
        if (!S_ISREG(status.st_mode) || status.st_size != judged->st_size)
                return refuse(digesting, name, "changed meanwhile");
        uint64_t left = (uint64_t)status.st_size;
        add_number(&digesting->hash, left);
        while (left > 0) {
                ssize_t length = read(file, data, left < sizeof(data) ? (size_t)left : sizeof(data));
                if (length <= 0)
                        return refuse(digesting, name, length < 0 ? strerror(errno) : "changed meanwhile");
                SHA512Update(&digesting->hash, data, (size_t)length);
                left -= (uint64_t)length;
        }
        return true;
}

static bool digest_directory(struct digesting *digesting, int directory, unsigned depth);

static bool digest_object(struct digesting *digesting, int directory, const char *name, unsigned depth)
{
        struct stat status;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return refuse(digesting, name, strerror(errno));
        if (!count(&digesting->size, &status))
                return error_set(digesting->error, EXIT_SETUP,
                                 "what was fetched cannot be kept: it is more than %llu GiB or %d files",
                                 (unsigned long long)(TREE_BYTES_MAX >> 30), TREE_OBJECTS_MAX);
        add_text(&digesting->hash, name, strlen(name));
        add_number(&digesting->hash, status.st_mode);
        if (S_ISLNK(status.st_mode)) {
                char text[PATH_MAX];
                ssize_t length = readlinkat(directory, name, text, sizeof(text));
                if (length < 0)
                        return refuse(digesting, name, strerror(errno));
                add_text(&digesting->hash, text, (size_t)length);
                return true;
        }
        if (S_ISREG(status.st_mode))
                return digest_file(digesting, directory, name, &status);
        if (!S_ISDIR(status.st_mode))
                return refuse(digesting, name, "is not a file, directory or link");
        autoclose int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
                return refuse(digesting, name, strerror(errno));
        return digest_directory(digesting, below, depth + 1);
}

static bool digest_directory(struct digesting *digesting, int directory, unsigned depth)
{
        struct str_list names = {0};
        if (depth >= TREE_DEPTH_MAX)
                return error_set(digesting->error, EXIT_SETUP,
                                 "what was fetched cannot be kept: its directories are deeper than %d",
                                 TREE_DEPTH_MAX);
        bool read = tree_list(directory, NULL, TREE_OBJECTS_MAX, &names) ||
                    refuse(digesting, "a directory", strerror(errno));
        add_number(&digesting->hash, names.count);
        for (size_t i = 0; read && i < names.count; i++)
                read = digest_object(digesting, directory, names.values[i], depth);
        str_list_free(&names);
        return read;
}

bool tree_digest(int directory, char digest[SHA512_DIGEST_STRING_LENGTH], struct error *error)
{
        struct digesting digesting = {.error = error};
        SHA512Init(&digesting.hash);
        if (!digest_directory(&digesting, directory, 0))
                return false;
        return SHA512End(&digesting.hash, digest) != NULL;
}
