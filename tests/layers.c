/* SPDX-License-Identifier: Apache-2.0
 *
 * Which layers the sandboxes of a test's hutch have: HUTCH_TEST_LAYERS_OFF names those to leave out, with
 * commas. Only the program `hutch-layers` of the tests has this; it is never installed. It must never leave
 * out the user namespace and keep what relies on it: without one, root's mounts and budgets would be the
 * machine's.
 */
#include "ns/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LAYER_COUNT] = {
    [LAYER_USER] = "user",
    [LAYER_MOUNT] = "mount",
    [LAYER_READ_ONLY] = "read-only",
    [LAYER_PROC_MASKS] = "proc-masks",
    [LAYER_PID] = "pid",
    [LAYER_NETWORK] = "network",
    [LAYER_IPC] = "ipc",
    [LAYER_NAMES] = "names",
    [LAYER_BUDGETS] = "budgets",
    [LAYER_LIMITS] = "limits",
    [LAYER_CAPABILITIES] = "capabilities",
    [LAYER_NO_NEW_PRIVS] = "no-new-privs",
    [LAYER_SESSION] = "session",
    [LAYER_LANDLOCK_FILES] = "landlock-files",
    [LAYER_LANDLOCK_SCOPES] = "landlock-scopes",
    [LAYER_SECCOMP_PROFILE] = "seccomp-profile",
    [LAYER_SECCOMP_ARGUMENTS] = "seccomp-arguments",
};

static bool is_listed(const char *list, const char *name)
{
        size_t length = strlen(name);
        for (const char *word = list; word; word = strchr(word, ',')) {
                word += *word == ',';
                if (strcspn(word, ",") == length && strncmp(word, name, length) == 0)
                        return true;
        }
        return false;
}

/* A name that is no layer's would quietly leave everything on. */
static void check_names(const char *list)
{
        size_t known = 0, words = 1;
        for (const char *at = list; *at; at++)
                words += *at == ',';
        for (size_t i = 0; i < LAYER_COUNT; i++)
                known += is_listed(list, names[i]);
        if (known != words) {
                fprintf(stderr, "hutch-layers: HUTCH_TEST_LAYERS_OFF names no layer: %s\n", list);
                abort();
        }
}

/* Decided before main(): a sandbox's pid 1 blanks the environment that it has from its caller, and to find
 * every layer enabled from then on would be to mount and to set budgets outside of any namespace. */
static bool is_off[LAYER_COUNT];

__attribute__((constructor)) static void decide(void)
{
        const char *off = getenv("HUTCH_TEST_LAYERS_OFF");
        if (!off)
                return;
        check_names(off);
        for (size_t i = 0; i < LAYER_COUNT; i++)
                is_off[i] =
                    is_listed(off, names[i]) || (i <= LAYER_BUDGETS && is_listed(off, names[LAYER_USER]));
}

bool layer_enabled(enum layer layer)
{
        return !is_off[layer];
}
