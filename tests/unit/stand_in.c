/* SPDX-License-Identifier: Apache-2.0
 *
 * See stand_in.h.
 */
#include "stand_in.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define VARIABLE "HUTCH_TEST_STAND_IN"

static char *directory, *copy, *helper_path;

static void remove_all(void)
{
        (void)unlink(copy);
        (void)unlink(helper_path);
        (void)rmdir(directory);
}

static void copy_self(void)
{
        struct stat status;
        autoclose int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        autoclose int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        if (from < 0 || to < 0 || fstat(from, &status) < 0)
                exit(1);
        for (off_t left = status.st_size; left > 0;) {
                ssize_t done = sendfile(to, from, NULL, (size_t)left);
                if (done <= 0)
                        exit(1);
                left -= done;
        }
}

void stand_in_begin(char **argv, const char *name, void (*helper)(void))
{
        static char made[] = "/tmp/hutch-test-helper-XXXXXX";
        if (str_equal(path_base(argv[0]), name)) {
                helper();
                _exit(0);
        }
        const char *given = getenv(VARIABLE);
        directory = str_copy(given ? given : str_or_die(mkdtemp(made)));
        copy = str_format("%s/test", directory);
        helper_path = str_format("%s/%s", directory, name);
        if (given) {
                (void)atexit(remove_all);
                (void)unsetenv(VARIABLE);
                return;
        }
        copy_self();
        if (link(copy, helper_path) == 0 && setenv(VARIABLE, directory, 1) == 0)
                execv(copy, argv);
        remove_all();
        exit(1);
}
