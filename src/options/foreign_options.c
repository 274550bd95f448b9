/* SPDX-License-Identifier: Apache-2.0
 *
 * See foreign_options.h.
 */
#include "options/foreign_options.h"

#include <stdbool.h>
#include <string.h>

static const char grants[] = "grant a file or directory with --ro PATH[:DEST] or --rw PATH[:DEST]";
static const char read_only[] = "write --ro PATH[:DEST]";
static const char writable[] = "write --rw PATH[:DEST]";
static const char no_network[] = "a sandbox reaches only what --network-allow names; leave the option out";
static const char network[] = "name the destinations with --network-allow, as api.example.com or public";
static const char capabilities[] = "a sandbox never has a capability; leave the option out";
static const char own_namespaces[] = "a sandbox always has its own namespaces; leave the option out";
static const char input[] = "standard input is always passed on; leave the option out";
static const char identity[] =
    "the command is always the user nonroot (65532) inside and you outside; leave the option out";
static const char memory_directories[] = "/tmp and the home are empty directories in memory already; leave "
                                         "the option out, or write --tmpfs PATH for "
                                         "another one";
static const char devices[] = "devices of the host cannot be granted; /dev has null, zero, full, random, "
                              "urandom, tty and a private pts";
static const char working_directory[] = "write --cwd DIR";
static const char variables[] = "write --env KEY=VALUE, or --env KEY to pass your own value on";

struct hint {
        const char *spelling;
        const char *hint;
};

static const struct hint hints[] = {
    {"--bind", writable},
    {"--bind-try", "write --rw-try PATH[:DEST]"},
    {"--ro-bind", read_only},
    {"--ro-bind-try", "write --ro-try PATH[:DEST]"},
    {"--dev-bind", devices},
    {"--device", devices},
    {"--gpus", devices},
    {"--dev", "a sandbox always has its own /dev; leave the option out"},
    {"--private", memory_directories},
    {"--whitelist", grants},
    {"--network", no_network},
    {"--net", no_network},
    {"--unshare-net", no_network},
    {"--share-net", network},
    {"-p", "write --publish [HOSTPORT:]PORT"},
    {"--expose", "write --publish [HOSTPORT:]PORT"},
    {"--add-host", "names are looked up as on this machine, with its hosts file; leave the option out"},
    {"--dns", "names are looked up with this machine's own name servers; leave the option out"},
    {"--read-only",
     "everything but /tmp, the home and --rw grants is read-only already; leave the option out"},
    {"--pids-limit", "write --pids N"},
    {"--cap-drop", capabilities},
    {"--cap-add", capabilities},
    {"--security-opt",
     "no new privileges and a seccomp filter always apply; leave the option out, or name another "
     "profile with --seccomp FILE"},
    {"--privileged", "there is no privileged mode; grant what the command needs with --ro and --rw"},
    {"--rm", "nothing of a sandbox is kept; leave the option out"},
    {"-i", input},
    {"-it", input},
    {"-ti", input},
    {"--interactive", input},
    {"--tty", "`hutch run` passes a terminal through; leave the option out"},
    {"--init", "a sandbox always has a pid 1 that reaps; leave the option out"},
    {"--user", identity},
    {"-u", identity},
    {"--uid", identity},
    {"--gid", identity},
    {"--unshare-all", own_namespaces},
    {"--unshare-user", own_namespaces},
    {"--unshare-pid", own_namespaces},
    {"--unshare-ipc", own_namespaces},
    {"--unshare-uts", own_namespaces},
    {"--unshare-cgroup", own_namespaces},
    {"--pid", own_namespaces},
    {"--ipc", own_namespaces},
    {"--uts", own_namespaces},
    {"--userns", own_namespaces},
    {"--hostname", "the host name inside is always hutch; leave the option out"},
    {"--die-with-parent",
     "a sandbox always ends with hutch, and under `hutch mcp` when its client goes away; leave "
     "the option out"},
    {"--new-session",
     "`hutch mcp` always starts a new session, and a terminal takes no injected input; leave the "
     "option out"},
    {"--chdir", working_directory},
    {"--workdir", working_directory},
    {"-w", working_directory},
    {"--setenv", variables},
    {"--clearenv", "a sandbox has only the variables that --env names; leave the option out"},
    {"--allow-read", read_only},
    {"--allow-write", writable},
    {"--allow-net", network},
    {"-m", "write --memory SIZE"},
    {"--name", "`hutch ps` and `hutch logs` derive a server's name from its command; leave the option out"},
    {"--readonly",
     "write --ro PATH[:DEST] for what the command may read; everything without --rw is read-only already"},
};

const char *foreign_option_find(const char *word, size_t length)
{
        for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
                if (strlen(hints[i].spelling) == length && memcmp(hints[i].spelling, word, length) == 0)
                        return hints[i].hint;
        return NULL;
}
