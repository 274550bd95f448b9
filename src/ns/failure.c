/* SPDX-License-Identifier: Apache-2.0
 *
 * See failure.h. Only after a failure does this module look at the machine, to tell the causes apart that the
 * user can act on.
 */
#include "ns/failure.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The names are an interface (--status-fd): one that a program may know does not change with its sentence.
 * Each step by name, and in words between "cannot" and the path. */
static const struct {
        const char *name, *words;
} stages[STAGE_COUNT] = {
    [STAGE_NAMESPACES] = {"namespaces", "create user namespaces"},
    [STAGE_ID_MAP] = {"id-map", "map the user id in the new user namespace"},
    [STAGE_MEMORY_FS] = {"memory-fs", "mount the sandbox's memory file system"},
    [STAGE_SOURCE] = {"source", "open"},
    [STAGE_SWAPPED] = {"swapped", "use"},
    [STAGE_MOUNT_POINT] = {"mount-point", "make a mount point at"},
    [STAGE_OVERLAY] = {"overlay", "make an overlay of"},
    [STAGE_MOUNT] = {"mount", "mount"},
    [STAGE_PROC] = {"proc", "mount a fresh /proc"},
    [STAGE_PROC_MASK] = {"proc-mask", "mask a part of /proc:"},
    [STAGE_DEVICES] = {"devices", "set up the sandbox's devices:"},
    [STAGE_NETWORK] = {"network", "make the sandbox's network namespace"},
    [STAGE_HOST_NAME] = {"host-name", "set the sandbox's host name"},
    [STAGE_BUDGET] = {"budget", "set the sandbox's budget in"},
    [STAGE_ROOT] = {"root", "change to the sandbox's root"},
    [STAGE_LIMIT] = {"limit", "set the resource limit"},
    [STAGE_CAPABILITIES] = {"capabilities", "give up"},
    [STAGE_STDIO] = {"stdio", "set up standard input and output"},
    [STAGE_FILE_READ] = {"file-read", "copy"},
    [STAGE_FILE_PLACE] = {"file-place", "put a file at"},
    [STAGE_CWD] = {"cwd", "enter the working directory"},
    [STAGE_LANDLOCK] = {"landlock", "restrict the file system with Landlock"},
    [STAGE_SECCOMP] = {"seccomp", "load the system call filter"},
    [STAGE_FORK] = {"fork", "start a process in the sandbox"},
    [STAGE_EXEC] = {"exec", "execute"},
};

const char *failure_stage_name(enum stage stage)
{
        return stages[stage].name;
}

enum stage failure_find_stage(const char *name)
{
        enum stage stage = 0;
        while (stage < STAGE_COUNT && !str_equal(stages[stage].name, name))
                stage++;
        return stage;
}

#define PROCESS_LIMIT                                                                                        \
        "the limit on processes (ulimit -u, or that of a cgroup) or memory is reached; close other "         \
        "programs or raise it"

/* What most often causes an errno of a step. The first row that has both is taken. */
static const struct {
        enum stage stage;
        int errors[4]; /* as many as there are; none: any */
        const char *why;
} causes[] = {
    {STAGE_EXEC,
     {ENOENT},
     "it, or the interpreter it names, does not exist inside the sandbox; grant it with --ro"},
    {STAGE_EXEC,
     {EACCES, EPERM},
     "you may not execute it; check its mode (chmod +x) and that its file system is not mounted noexec"},
    {STAGE_EXEC, {ENOEXEC}, "it is not a program for this machine and has no #! line"},
    {STAGE_EXEC, {E2BIG}, "its arguments and environment are too long"},
    {STAGE_FILE_READ, {ESTALE}, "it grew or shrank while it was copied; start again"},
    {STAGE_FILE_PLACE,
     {EEXIST},
     "the destination exists and is not a regular file, and hutch replaces nothing else; remove it or name "
     "another destination"},
    {STAGE_FILE_PLACE,
     {ENOTDIR, ELOOP},
     "a part of the path is a link or not a directory; name the real path"},
    {STAGE_FILE_PLACE,
     {ENOSPC, EDQUOT},
     "there is no room; directories in memory share the size of --disk, and one of --tmpfs PATH:SIZE has "
     "its own"},
    {STAGE_FILE_PLACE, {EACCES, EPERM, EROFS, EBUSY}, "the command could not write there either"},
    {STAGE_SWAPPED,
     {0},
     "something else was put in its place while hutch started; make sure that nobody else can write there"},
    {STAGE_MOUNT_POINT,
     {ENOENT, EROFS},
     "the granted directory has no such path, and hutch creates nothing on the host; create it first"},
    {STAGE_MOUNT_POINT,
     {ELOOP, ENOTDIR, EXDEV},
     "a part of the path is a link or a file inside a granted directory; name the real path"},
    {STAGE_MOUNT_POINT, {ENAMETOOLONG}, "the path is too long"},
    {STAGE_SOURCE,
     {EPERM, EACCES},
     "you may not enter it, or its file system refuses you in a user namespace (a FUSE or root-squashed "
     "mount)"},
    {STAGE_OVERLAY,
     {EINVAL},
     "another file system is mounted below it, or overlayfs does not support the one that it is on; name "
     "another directory, or grant it with --ro"},
    {STAGE_OVERLAY,
     {EPERM, EACCES, ENODEV},
     "overlayfs is missing, or this kernel does not permit it in user namespaces (Linux 5.11 does); grant "
     "the directory with --ro"},
    {STAGE_NETWORK, {EAGAIN, ENOMEM}, PROCESS_LIMIT},
    {STAGE_FORK, {EAGAIN, ENOMEM}, PROCESS_LIMIT},
};

/* NULL when the errno says all that is known. */
static const char *find_cause(enum stage stage, int error)
{
        for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
                for (size_t j = 0; causes[i].stage == stage && j < 4; j++)
                        if (causes[i].errors[j] == error || (j == 0 && !causes[i].errors[0]))
                                return causes[i].why;
        return NULL;
}

/* True when the kernel lacks the call, rather than the process the permission. */
static bool is_missing_call(enum stage stage, int error)
{
        return error == ENOSYS || (error == ENODEV && stage != STAGE_DEVICES && stage != STAGE_OVERLAY);
}

/* True for the steps that a policy about namespaces may refuse. Later steps need no capability in them. */
static bool is_refused_step(enum stage stage, int error)
{
        return diagnose_is_refusal(error) && stage < STAGE_STDIO && stage != STAGE_SOURCE &&
               stage != STAGE_SWAPPED;
}

bool failure_diagnose(const struct failure *failure, const struct machine *machine, struct reason *reason)
{
        enum stage stage = (enum stage)failure->stage;
        if (stage == STAGE_NAMESPACES)
                return diagnose_namespaces(machine, failure->error, reason);
        if (stage == STAGE_NETWORK && failure->error == ENOSPC)
                return diagnose_namespaces(machine, ENOSPC, reason);
        if (!is_refused_step(stage, failure->error))
                return false;
        diagnose_refused_step(machine, stage == STAGE_PROC, failure->error, reason);
        return true;
}

/* The part of the sentence that follows the errno, or NULL. The caller frees. */
static char *explain(const struct failure *failure, enum stage stage)
{
        const char *why = NULL;
        if (stage != STAGE_NAMESPACES && stage != STAGE_EXEC && is_missing_call(stage, failure->error))
                why = "this kernel, or a system call filter around hutch, lacks the call; hutch needs Linux "
                      "5.14 or newer";
        else if (stage == STAGE_CWD)
                why = access(failure->path, F_OK) == 0
                          ? "it exists, but is not visible inside; grant it with --ro or --rw"
                          : "name one that exists inside, with --cwd";
        else
                why = find_cause(stage, failure->error);
        if (why)
                return str_copy(why);

        struct machine machine;
        struct reason reason = {0};
        machine_look(&machine, "");
        return failure_diagnose(failure, &machine, &reason) ? str_format("%s; %s", reason.why, reason.fix)
                                                            : NULL;
}

void failure_explain(const struct failure *failure, struct error *error)
{
        enum stage stage = failure->stage < STAGE_COUNT ? (enum stage)failure->stage : STAGE_NAMESPACES;
        int status = EXIT_SETUP;
        if (stage == STAGE_EXEC)
                status = failure->error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;

        autofree char *why = explain(failure, stage);
        const char *path = failure->path;
        error_set(error, status, "cannot %s%s%.*s: %s%s%s", stages[stage].words, path[0] ? " " : "",
                  (int)strnlen(path, sizeof(failure->path) - 1), path, strerror(failure->error),
                  why ? ": " : "", why ? why : "");
}
