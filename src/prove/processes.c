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

#include <errno.h>
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

enum { BYTES = 256, VICTIM_FILE = 9, SCAN_BYTES = 1 << 20 };

/* `number` of the rows: the process that is attacked. */
enum { VICTIM, FIRST, SUPERVISOR };

static pid_t target_pid(const struct attempt *attempt)
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
static uintptr_t secret_address(const struct attempt *attempt)
{
        if (attempt->number != VICTIM && target_is_inside())
                return environment_of(target_pid(attempt));
        return (uintptr_t)strtoull(
            target_text(attempt->number == SUPERVISOR ? "hutch-address" : "victim-address"), NULL, 10);
}

/* Pid 1 blanks its environment, so that any byte counts. */
static bool shows_secret(const struct attempt *attempt, const char *data, ssize_t length)
{
        bool any = attempt->number == FIRST && target_is_inside();
        return length > 0 && (any || target_has_marker(data, (size_t)length));
}

static enum outcome find_process(const struct attempt *attempt)
{
        autoclosedir DIR *proc = tree_open(AT_FDCWD, "/proc");
        enum outcome outcome = HELD;
        for (const struct dirent *entry; proc && outcome == HELD && (entry = tree_next(proc));) {
                char path[300], data[4096];
                (void)snprintf(path, sizeof(path), "/proc/%.20s/%s", entry->d_name, attempt->text);
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
                    strtol(entry->d_name, NULL, 10) == getpid())
                        continue;
                autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
                ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
                /* Inside, the other processes are attempts, whose variables have no marker. */
                if (length > 0 && target_has_marker(data, (size_t)length))
                        outcome = GOT_OUT;
        }
        return outcome;
}

/* Reads the arguments or the environment of a process. Pid 1 blanks both, so that any byte counts. */
static enum outcome read_file_of(const struct attempt *attempt)
{
        char data[4096];
        autoclose int fd = open(proc_path(target_pid(attempt), attempt->text), O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
        for (ssize_t i = 0; i < length; i++)
                if (data[i])
                        return GOT_OUT;
        return HELD;
}

static enum outcome read_memory(const struct attempt *attempt)
{
        char data[BYTES];
        autoclose int fd = open(proc_path(target_pid(attempt), "mem"), O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), (off_t)secret_address(attempt));
        return out_if(shows_secret(attempt, data, length));
}

static enum outcome read_by_call(const struct attempt *attempt)
{
        char data[64];
        struct iovec local = {data, sizeof(data)};
        struct iovec remote = {.iov_len = sizeof(data)};
        uintptr_t address = secret_address(attempt);
        memcpy(&remote.iov_base, &address, sizeof(address)); /* an address in the other process */
        ssize_t length = process_vm_readv(target_pid(attempt), &local, 1, &remote, 1, 0);
        return out_if(shows_secret(attempt, data, length));
}

static enum outcome trace(const struct attempt *attempt)
{
        pid_t pid = target_pid(attempt);
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 && ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
                return HELD;
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
        return GOT_OUT;
}

static enum outcome list_descriptors(const struct attempt *attempt)
{
        autoclosedir DIR *directory = tree_open(AT_FDCWD, proc_path(target_pid(attempt), "fd"));
        return out_if(directory && tree_next(directory));
}

static enum outcome open_program(const struct attempt *attempt)
{
        autoclose int fd = open(proc_path(target_pid(attempt), "exe"), O_RDONLY | O_CLOEXEC);
        return out_if(fd >= 0);
}

static enum outcome open_root(const struct attempt *attempt)
{
        autoclose int fd = open(proc_path(target_pid(attempt), "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? HELD : target_read_marker(fd, target_path("home/.ssh/id_ed25519") + 1);
}

static enum outcome take_descriptor(const struct attempt *attempt)
{
        autoclose int process = (int)syscall(SYS_pidfd_open, target_pid(attempt), 0);
        char data[BYTES];
        for (int number = 0; process >= 0 && number < 32; number++) {
                autoclose int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
                if (fd >= 0 && attempt->number == FIRST && target_is_inside())
                        return GOT_OUT; /* any descriptor of pid 1 counts */
                ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);
                if (length > 0 && target_has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* Signals the victim, or the caller's process group. Inside, the victim's number may be another process, so
 * `hutch prove` looks whether the victim got the signal. */
static enum outcome signal_victim(const struct attempt *attempt)
{
        pid_t pid = attempt->text ? 0 : (pid_t)target_number("victim");
        if (target_is_inside() && attempt->text) {
                (void)kill(0, SIGURG);
                return HELD;
        }
        return out_if(kill(pid, SIGURG) == 0);
}

static enum outcome kill_first(const struct attempt *attempt)
{
        (void)attempt;
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

static enum outcome change_priority(const struct attempt *attempt)
{
        int lower = (int)target_number("victim-priority") + 1; /* the kernel caps it at the lowest */
        (void)attempt;
        return out_if(setpriority(PRIO_PROCESS, (id_t)target_number("victim"), lower) == 0);
}

static enum outcome raise_priority(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(setpriority(PRIO_PROCESS, 0, -5) == 0 && getpriority(PRIO_PROCESS, 0) == -5);
}

static enum outcome real_time(const struct attempt *attempt)
{
        (void)attempt;
        static const struct sched_param parameters = {.sched_priority = 1};
        bool changed = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
        return out_if(changed && sched_getscheduler(0) == SCHED_FIFO);
}

static enum outcome protect_from_oom(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        return out_if(fd >= 0 && write(fd, "-500", 4) == 4);
}

static const struct attempt rows[] = {
    {"host-processes", "your processes' arguments", SHOW_AS_CALLER, find_process, "cmdline", 0},
    {"host-environments", "your processes' variables", SHOW_AS_CALLER, find_process, "environ", 0},
    {"host-memory", "secrets in your processes' memory", SHOW_AS_CALLER, read_memory, NULL, VICTIM},
    {"host-vm-readv", "the same by process_vm_readv", SHOW_AS_CALLER, read_by_call, NULL, VICTIM},
    {"host-ptrace", "control over your processes", SHOW_AS_CALLER, trace, NULL, VICTIM},
    {"host-pidfd-getfd", "your processes' open files", SHOW_AS_CALLER, take_descriptor, NULL, VICTIM},
    {"host-descriptors", "a list of your open files", SHOW_AS_CALLER, list_descriptors, NULL, VICTIM},
    {"host-signal", "killing your processes", SHOW_AS_CALLER, signal_victim, NULL, 0},
    {"caller-group", "killing the client's group", SHOW_AS_CALLER, signal_victim, "group", 0},
    {"host-priority", "slowing your processes down", SHOW_AS_CALLER, change_priority, NULL, 0},
    {"hutch-memory", "hutch's memory", SHOW_AS_CALLER, read_memory, NULL, SUPERVISOR},
    {"hutch-vm-readv", "the same by process_vm_readv", SHOW_AS_CALLER, read_by_call, NULL, SUPERVISOR},
    {"hutch-environment", "hutch's environment", SHOW_AS_CALLER, read_file_of, "environ", SUPERVISOR},
    {"hutch-ptrace", "control over hutch", SHOW_AS_CALLER, trace, NULL, SUPERVISOR},
    {"pid1-memory", "hutch's memory in pid 1", SHOW_AS_CALLER, read_memory, NULL, FIRST},
    {"pid1-vm-readv", "the same by process_vm_readv", SHOW_AS_CALLER, read_by_call, NULL, FIRST},
    {"pid1-environment", "hutch's environment in pid 1", SHOW_AS_CALLER, read_file_of, "environ", FIRST},
    {"pid1-arguments", "hutch's arguments in pid 1", SHOW_AS_CALLER, read_file_of, "cmdline", FIRST},
    {"pid1-ptrace", "control over pid 1", SHOW_AS_CALLER, trace, NULL, FIRST},
    {"pid1-descriptors", "pid 1's descriptors", SHOW_AS_CALLER, list_descriptors, NULL, FIRST},
    {"pid1-pidfd-getfd", "a descriptor of pid 1", SHOW_AS_CALLER, take_descriptor, NULL, FIRST},
    {"pid1-program", "hutch's program file", SHOW_AS_CALLER, open_program, NULL, FIRST},
    {"pid1-root", "files through pid 1's root", SHOW_AS_CALLER, open_root, NULL, FIRST},
    {"pid1-kill", "stopping or killing pid 1", SHOW_AS_CALLER, kill_first, NULL, 0},
    {"raise-priority", "priority over other programs", SHOW_AS_ROOT, raise_priority, NULL, 0},
    {"real-time", "a processor to itself", SHOW_AS_ROOT, real_time, NULL, 0},
    {"oom-score", "others killed in its place", SHOW_AS_ROOT, protect_from_oom, NULL, 0},
};
const struct attempt_group processes_group = ATTEMPT_GROUP("processes", rows);
