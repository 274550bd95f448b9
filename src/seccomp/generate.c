/* SPDX-License-Identifier: Apache-2.0
 *
 * A tool of the build, which runs on the building machine: compiles a profile for the architecture that hutch
 * is built for and writes the program as a C array. Its exit status is 0 only when the array is complete.
 *
 *     seccomp-generate ARCHITECTURE SYMBOL OUT.h PROFILE.json [CHANGES.json]
 */
#include "lib/err.h"
#include "lib/fd.h"
#include "seccomp/compile.h"
#include "seccomp/program.h"
#include "seccomp/ranges.h"

#include <seccomp.h>
#include <stdio.h>
#include <string.h>

enum { PROFILE_LIMIT = 1 << 20 };

static bool read_source(const char *path, struct seccomp_source *source, char **text)
{
        ssize_t length = fd_read_file(path, PROFILE_LIMIT, text);

        if (length < 0) {
                fprintf(stderr, "seccomp-generate: %s: %s\n", path, strerror((int)-length));
                return false;
        }
        *source = (struct seccomp_source){.name = path, .json = *text, .length = (size_t)length};
        return true;
}

static bool write_array(const char *path, const char *symbol, const struct seccomp_program *program)
{
        FILE *out = fopen(path, "we");
        if (!out)
                return false;
        fprintf(out, "/* Made by seccomp-generate. */\n#include <linux/filter.h>\n\n");
        fprintf(out, "static const struct sock_filter %s[] = {\n", symbol);
        for (unsigned i = 0; i < program->length; i++) {
                const struct sock_filter *one = &program->code[i];
                fprintf(out, "        {0x%02x, %u, %u, 0x%08x},\n", one->code, one->jt, one->jf, one->k);
        }
        fprintf(out, "};\n");
        bool written = !ferror(out);
        return fclose(out) == 0 && written;
}

int main(int argc, char **argv)
{
        if (argc != 5 && argc != 6) {
                fprintf(stderr,
                        "usage: seccomp-generate ARCHITECTURE SYMBOL OUT.h PROFILE.json [CHANGES.json]\n");
                return 2;
        }
        uint32_t architecture = seccomp_arch_resolve_name(argv[1]);
        if (architecture == 0) {
                fprintf(stderr, "seccomp-generate: libseccomp does not know the architecture %s\n", argv[1]);
                return 1;
        }
        autofree char *profile_text = NULL, *changes_text = NULL;
        struct seccomp_source profile, changes;
        if (!read_source(argv[4], &profile, &profile_text) ||
            (argc == 6 && !read_source(argv[5], &changes, &changes_text)))
                return 1;
        struct seccomp_program program = {0};
        struct error error = {0};
        if (!seccomp_compile_for(architecture, &profile, argc == 6 ? &changes : NULL, &program, &error)) {
                fprintf(stderr, "seccomp-generate: %s\n", error.text);
                return 1;
        }
        seccomp_ranges(&program, architecture);
        bool written = write_array(argv[3], argv[2], &program);
        seccomp_free(&program);
        if (!written)
                perror(argv[3]);
        return written ? 0 : 1;
}
