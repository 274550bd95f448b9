/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on other processes: those of the host, the sandbox's pid 1, which began as a copy of hutch, and
 * hutch itself. Outside, the target of all of them is the victim that `hutch prove` started. The attempts
 * send other processes SIGURG only, which by default has no effect.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "lib/tree_walk.h"
#include "prove/target.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { BYTES = 256 };

/* `number` of the rows: the process that is attacked. */
enum { VICTIM, FIRST, SUPERVISOR };

static pid_t target_pid(void)
{
        if (attempt->number == SUPERVISOR)
                return (pid_t)target_number("supervisor");
        return attempt->number == FIRST && target_is_inside() ? 1 : (pid_t)target_number("victim");
}

static const char *proc_path(pid_t pid, const char *name)
{
        static char path[128];
        (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
        return path;
}

/* Where the environment of a process begins; 0 when the kernel does not say. hutch inside has the secret
 * there. */
static uintptr_t environment_of(pid_t pid)
{
        enum { FIELDS_BEFORE = 47 }; /* env_start is field 50; two come before the end of the name */
        char data[1024];
        autoclose int fd = open(proc_path(pid, "stat"), O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data) - 1);
        data[length > 0 ? length : 0] = 0;
        const char *at = strrchr(data, ')');
        for (int i = 0; at && i <= FIELDS_BEFORE; i++)
                at = strchr(at + 1, ' ');
        return at ? (uintptr_t)strtoull(at, NULL, 10) : 0;
}

/* The address of the secret in the memory of that process. */
static uintptr_t secret_address(void)
{
        if (attempt->number != VICTIM && target_is_inside())
                return environment_of(target_pid());
        return (uintptr_t)strtoull(
            target_text(attempt->number == SUPERVISOR ? "hutch-address" : "victim-address"), NULL, 10);
}

/* Pid 1 blanks its environment, so that any byte counts. */
static bool shows_secret(const char *data, ssize_t length)
{
        bool any = attempt->number == FIRST && target_is_inside();
        return length > 0 && (any || target_has_marker(data, (size_t)length));
}

/* Reads the arguments or the environment of a process. Pid 1 blanks both, so that any byte counts. */
static enum outcome read_file_of(void)
{
        char data[4096];
        autoclose int fd = open(proc_path(target_pid(), attempt->text), O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
        for (ssize_t i = 0; i < length; i++)
                if (data[i])
                        return GOT_OUT;
        return HELD;
}

static enum outcome read_memory(void)
{
        char data[BYTES];
        autoclose int fd = open(proc_path(target_pid(), "mem"), O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), (off_t)secret_address());
        return out_if(shows_secret(data, length));
}

static enum outcome read_by_call(void)
{
        char data[64];
        struct iovec local = {data, sizeof(data)};
        struct iovec remote = {.iov_len = sizeof(data)};
        uintptr_t address = secret_address();
        memcpy(&remote.iov_base, &address, sizeof(address)); /* an address in the other process */
        ssize_t length = process_vm_readv(target_pid(), &local, 1, &remote, 1, 0);
        return out_if(shows_secret(data, length));
}

static enum outcome trace(void)
{
        pid_t pid = target_pid();
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 && ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
                return HELD;
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return GOT_OUT;
}

static enum outcome list_descriptors(void)
{
        autoclosedir DIR *directory = tree_open(AT_FDCWD, proc_path(target_pid(), "fd"));
        return out_if(directory && tree_next(directory));
}

static enum outcome open_program(void)
{
        autoclose int fd = open(proc_path(target_pid(), "exe"), O_RDONLY | O_CLOEXEC);
        return out_if(fd >= 0);
}

static enum outcome open_root(void)
{
        autoclose int fd = open(proc_path(target_pid(), "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? HELD : target_read_marker(fd, target_path("home/.ssh/id_ed25519") + 1);
}

static enum outcome take_descriptor(void)
{
        autoclose int process = (int)syscall(SYS_pidfd_open, target_pid(), 0);
        for (int number = 0; process >= 0 && number < 32; number++) {
                autoclose int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
                if (fd >= 0 && attempt->number == FIRST && target_is_inside())
                        return GOT_OUT; /* any descriptor of pid 1 counts */
                if (target_read_at(fd, 0) == GOT_OUT)
                        return GOT_OUT;
        }
        return HELD;
}

/* Signals the victim, or the caller's process group. Inside, the victim's number may be another process, so
 * `hutch prove` looks whether the victim got the signal. */
static enum outcome signal_victim(void)
{
        pid_t pid = attempt->text ? 0 : (pid_t)target_number("victim");
        if (target_is_inside() && attempt->text) {
                (void)kill(0, SIGURG);
                return HELD;
        }
        return out_if(kill(pid, SIGURG) == 0);
}

static enum outcome kill_first(void)
{
        pid_t child = target_is_inside() ? 1 : fork();
        if (child == 0) {
                pause();
                _exit(0);
        }
        (void)kill(child, SIGSTOP);
        (void)kill(child, SIGKILL);
        /* Inside, this process ends with pid 1: an answer is the proof that pid 1 lives. */
        int status;
        return out_if(!target_is_inside() && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static enum outcome change_priority(void)
{
        int lower = (int)target_number("victim-priority") + 1; /* the kernel caps it at the lowest */
        return out_if(setpriority(PRIO_PROCESS, (id_t)target_number("victim"), lower) == 0);
}

static enum outcome raise_priority(void)
{
        return out_if(setpriority(PRIO_PROCESS, 0, -5) == 0 && getpriority(PRIO_PROCESS, 0) == -5);
}

static enum outcome real_time(void)
{
        static const struct sched_param parameters = {.sched_priority = 1};
        bool changed = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
        return out_if(changed && sched_getscheduler(0) == SCHED_FIFO);
}

static enum outcome protect_from_oom(void)
{
        return out_if(target_write("/proc/self/oom_score_adj", "-500"));
}

static const struct attempt rows[] = {
    {"host-processes", "your processes' arguments", AS_CALLER, try_processes, "cmdline"},
    {"host-environments", "your processes' variables", AS_CALLER, try_processes, "environ"},
    {"host-memory", "secrets in your processes' memory", AS_CALLER, read_memory, NULL, VICTIM},
    {"host-vm-readv", "the same by process_vm_readv", AS_CALLER, read_by_call, NULL, VICTIM},
    {"host-ptrace", "control over your processes", AS_CALLER, trace, NULL, VICTIM},
    {"host-pidfd-getfd", "your processes' open files", AS_CALLER, take_descriptor, NULL, VICTIM},
    {"host-descriptors", "a list of your open files", AS_CALLER, list_descriptors, NULL, VICTIM},
    {"host-signal", "killing your processes", AS_CALLER, signal_victim},
    {"caller-group", "killing the client's group", AS_CALLER, signal_victim, "group"},
    {"host-priority", "slowing your processes down", AS_CALLER, change_priority},
    {"hutch-memory", "hutch's memory", AS_CALLER, read_memory, NULL, SUPERVISOR},
    {"hutch-vm-readv", "the same by process_vm_readv", AS_CALLER, read_by_call, NULL, SUPERVISOR},
    {"hutch-environment", "hutch's environment", AS_CALLER, read_file_of, "environ", SUPERVISOR},
    {"hutch-ptrace", "control over hutch", AS_CALLER, trace, NULL, SUPERVISOR},
    {"pid1-memory", "hutch's memory in pid 1", AS_CALLER, read_memory, NULL, FIRST},
    {"pid1-vm-readv", "the same by process_vm_readv", AS_CALLER, read_by_call, NULL, FIRST},
    {"pid1-environment", "hutch's environment in pid 1", AS_CALLER, read_file_of, "environ", FIRST},
    {"pid1-arguments", "hutch's arguments in pid 1", AS_CALLER, read_file_of, "cmdline", FIRST},
    {"pid1-ptrace", "control over pid 1", AS_CALLER, trace, NULL, FIRST},
    {"pid1-descriptors", "pid 1's descriptors", AS_CALLER, list_descriptors, NULL, FIRST},
    {"pid1-pidfd-getfd", "a descriptor of pid 1", AS_CALLER, take_descriptor, NULL, FIRST},
    {"pid1-program", "hutch's program file", AS_CALLER, open_program, NULL, FIRST},
    {"pid1-root", "files through pid 1's root", AS_CALLER, open_root, NULL, FIRST},
    {"pid1-kill", "stopping or killing pid 1", AS_CALLER, kill_first},
    {"raise-priority", "priority over other programs", AS_ROOT, raise_priority},
    {"real-time", "a processor to itself", AS_ROOT, real_time},
    {"oom-score", "others killed in its place", AS_ROOT, protect_from_oom},
};
const struct attempt_group processes_group = ATTEMPT_GROUP("processes", rows);
