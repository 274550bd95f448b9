/* SPDX-License-Identifier: Apache-2.0
 *
 * See cache.h. An entry is the key (everything that the program was made from, with the whole text of the
 * profile), a hash of the program, and the program. This module must never use an entry or a directory that
 * another user could have written, nor follow a link. It must never fail a start: whatever goes wrong, the
 * profile is compiled again.
 */
#include "seccomp/cache.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* Raise it whenever the compiler makes another program from the same profile. */
#define CACHE_FORMAT 2

enum { PROFILE_LIMIT = 1 << 20 }; /* larger ones are not cached */

/* FNV-1a, to name the file of an entry and to find torn writes. It need not be hard to forge. */
static uint64_t hash(const void *data, size_t length)
{
        const unsigned char *bytes = data;
        uint64_t value = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < length; i++)
                value = (value ^ bytes[i]) * UINT64_C(0x100000001b3);
        return value;
}

/* Everything that the program depends on: one line, followed by the profile. The kernel's release is in it
 * because profiles can have rules for newer kernels (minKernel). NULL when it is unknown. The caller frees.
 */
static char *make_key(const char *json, size_t length, size_t *key_length)
{
        const struct scmp_version *version = seccomp_version();
        struct utsname machine;
        autofree char *line = NULL;
        size_t line_length;
        char *key;

        if (!version || uname(&machine) < 0)
                return NULL;
        line = str_format("hutch seccomp %d %08" PRIx32 " %u.%u.%u %s %zu\n", CACHE_FORMAT,
                          seccomp_arch_native(), version->major, version->minor, version->micro,
                          machine.release, length);
        line_length = strlen(line);
        key = str_or_die(malloc(line_length + length + 1));
        memcpy(key, line, line_length);
        memcpy(key + line_length, json, length);
        *key_length = line_length + length;
        return key;
}

/* Opens a directory below another and makes a missing one. -1 unless the caller owns it and nobody else can
 * write to it. */
static int open_directory(int parent, const char *name)
{
        autoclose int fd = -1;
        struct stat status;

        if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
                return -1;
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0 || status.st_uid != geteuid() || (status.st_mode & 022) != 0)
                return -1;
        return fd_take(&fd);
}

static int open_cache(void)
{
        const char *base = getenv("XDG_CACHE_HOME");
        const char *home = getenv("HOME");
        autofree char *path = NULL;
        autoclose int base_fd = -1;
        autoclose int hutch_fd = -1;

        /* The specification of XDG_CACHE_HOME says to ignore a relative path. */
        if (base && base[0] == '/')
                path = str_copy(base);
        else if (home && home[0] == '/')
                path = str_format("%s/.cache", home);
        else
                return -1;
        (void)mkdir(path, 0700);
        base_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (base_fd < 0)
                return -1;
        hutch_fd = open_directory(base_fd, "hutch");
        return hutch_fd < 0 ? -1 : open_directory(hutch_fd, "seccomp");
}

/* Fills *program from the entry. False when it is missing, unsafe, for another key, or damaged. */
static bool read_entry(int directory, const char *name, const char *key, size_t key_length,
                       struct seccomp_program *program)
{
        const size_t limit = key_length + sizeof(uint64_t) + BPF_MAXINSNS * sizeof(struct sock_filter);
        autoclose int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        autofree char *entry = NULL;
        struct stat status;
        const char *code;
        uint64_t expected;
        ssize_t length;
        size_t size;

        if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
            (status.st_mode & 022) != 0)
                return false;
        length = fd_read_all(fd, limit, &entry);
        if (length < 0 || (size_t)length <= key_length + sizeof(expected) ||
            memcmp(entry, key, key_length) != 0)
                return false;
        size = (size_t)length - key_length - sizeof(expected);
        code = entry + key_length + sizeof(expected);
        memcpy(&expected, entry + key_length, sizeof(expected));
        if (size % sizeof(struct sock_filter) != 0 || hash(code, size) != expected)
                return false;
        program->code = memcpy(str_or_die(malloc(size)), code, size);
        program->length = (unsigned short)(size / sizeof(struct sock_filter));
        program->owned = true;
        return true;
}

/* Writes a temporary file and renames it, so that a reader sees a whole entry or none. */
static void write_entry(int directory, const char *name, const char *key, size_t key_length,
                        const struct seccomp_program *program)
{
        const size_t size = program->length * sizeof(struct sock_filter);
        const uint64_t program_hash = hash(program->code, size);
        autofree char *temporary = str_format("%s.%d", name, (int)getpid());
        autoclose int fd =
            openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
                return;
        if (fd_write_all(fd, key, key_length) < 0 ||
            fd_write_all(fd, &program_hash, sizeof(program_hash)) < 0 ||
            fd_write_all(fd, program->code, size) < 0 || renameat(directory, temporary, directory, name) < 0)
                (void)unlinkat(directory, temporary, 0);
}

bool seccomp_compile_cached(const char *name, const char *json, size_t length,
                            struct seccomp_program *program, struct error *error)
{
        autofree char *key = NULL;
        autofree char *entry_name = NULL;
        size_t key_length = 0;
        autoclose int directory = -1;

        if (length <= PROFILE_LIMIT)
                key = make_key(json, length, &key_length);
        if (key) {
                entry_name = str_format("%016" PRIx64, hash(key, key_length));
                directory = open_cache();
        }
        if (directory >= 0 && read_entry(directory, entry_name, key, key_length, program))
                return true;
        if (!seccomp_compile(name, json, length, program, error))
                return false;
        if (directory >= 0)
                write_entry(directory, entry_name, key, key_length, program);
        return true;
}
