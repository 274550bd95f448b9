/* SPDX-License-Identifier: Apache-2.0
 *
 * See attempts.h.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "lib/tree_walk.h"
#include "prove/target.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

const struct attempt *attempt;

static long make_call(void)
{
        const long *call = attempt->call;
        return syscall(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
}

enum outcome try_call(void)
{
        return out_if(make_call() >= 0);
}

enum outcome try_reach(void)
{
        return out_if_reached(make_call());
}

enum outcome try_open(void)
{
        return target_open(target_path(attempt->text), (int)attempt->number);
}

enum outcome try_processes(void)
{
        autoclosedir DIR *proc = tree_open(AT_FDCWD, "/proc");
        enum outcome outcome = HELD;
        for (const struct dirent *entry; proc && outcome == HELD && (entry = tree_next(proc));) {
                char path[PATH_MAX];
                (void)snprintf(path, sizeof(path), "/proc/%.20s/%s%.3000s", entry->d_name, attempt->text,
                               attempt->number ? target_path("home/.ssh/id_ed25519") : "");
                bool other = strtol(entry->d_name, NULL, 10) != getpid();
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && other)
                        outcome = target_read_marker(AT_FDCWD, path);
        }
        return outcome;
}
