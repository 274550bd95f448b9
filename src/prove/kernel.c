/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on kernel interfaces that have a history of holes, that no namespace separates, or that act on the
 * machine. A call that would act on the machine gets arguments that the kernel refuses only after its
 * permission check.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "prove/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

struct call {
        long number;
        unsigned long arguments[5];
};

static const struct call calls[] = {
#define NOWHERE ((unsigned long)"/nonexistent/hutch-prove")
    {SYS_reboot, {0xfee1dead, 672274793, 0xffff, 0, 0}}, /* no such command */
#ifdef SYS_kexec_load
    {SYS_kexec_load, {0, 0, 0, 0xffffff, 0}}, /* no such flags */
#endif
#ifdef SYS_kexec_file_load
    {SYS_kexec_file_load, {~0UL, ~0UL, 0, 0, 0xffff}},
#endif
    {SYS_init_module, {0, 0, 0, 0, 0}},     /* no image */
    {SYS_finit_module, {~0UL, 0, 0, 0, 0}}, /* no file */
    {SYS_delete_module, {NOWHERE, O_NONBLOCK, 0, 0, 0}},
    {SYS_swapon, {NOWHERE, 0, 0, 0, 0}},
    {SYS_swapoff, {NOWHERE, 0, 0, 0, 0}},
    {SYS_acct, {NOWHERE, 0, 0, 0, 0}},
    {SYS_quotactl, {0x80000100, NOWHERE, 0, 0, 0}},
    {SYS_settimeofday, {0, 0, 0, 0, 0}}, /* neither time nor zone: changes nothing */
    {SYS_syslog, {10, 0, 0, 0, 0}},      /* the size of the log */
    {SYS_keyctl, {KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_PROCESS_KEYRING, 1, 0, 0}},
    {SYS_keyctl, {KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_USER_KEYRING, 0, 0, 0}},
    {SYS_request_key, {(unsigned long)"user", NOWHERE, 0, 0, 0}},
    {SYS_kcmp, {1, 1, 99, 0, 0}},         /* no such comparison */
    {SYS_move_pages, {0, 0, 0, 0, 0}},    /* none of this process's pages */
    {SYS_migrate_pages, {0, 1, 0, 0, 0}}, /* from no node to none */
#ifdef SYS_ioperm
    {SYS_ioperm, {0x80, 1, 1, 0, 0}}, /* the port of start-up codes, for this process, which ends */
    {SYS_iopl, {3, 0, 0, 0, 0}},
#endif
#ifdef SYS_modify_ldt
    {SYS_modify_ldt, {0, 0, 0, 0, 0}}, /* reads nothing */
#endif
};

/* Makes the call `number`, by its first entry above, or by its second when `text` is "2". */
static enum outcome reach(const struct attempt *attempt)
{
        int skip = attempt->text ? 1 : 0;
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
                const unsigned long *arguments = calls[i].arguments;
                if (calls[i].number == attempt->number && skip-- == 0)
                        return out_if_reached(syscall(calls[i].number, arguments[0], arguments[1],
                                                      arguments[2], arguments[3], arguments[4]));
        }
        return NOT_APPLICABLE;
}

static enum outcome add_key(const struct attempt *attempt)
{
        (void)attempt;
        return out_if(syscall(SYS_add_key, "user", "hutch-prove", "x", 1, KEY_SPEC_PROCESS_KEYRING) > 0);
}

static enum outcome bpf_map(const struct attempt *attempt)
{
        union bpf_attr attributes = {
            .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
        (void)attempt;
        autoclose int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
        return out_if(map >= 0);
}

static enum outcome io_uring(const struct attempt *attempt)
{
        struct io_uring_params parameters = {0};
        (void)attempt;
        autoclose int ring = (int)syscall(SYS_io_uring_setup, 2, &parameters);
        return out_if(ring >= 0);
}

static enum outcome perf(const struct attempt *attempt)
{
        struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                             .size = sizeof(attributes),
                                             .config = PERF_COUNT_SW_TASK_CLOCK,
                                             .exclude_kernel = 1,
                                             .exclude_hv = 1};
        (void)attempt;
        autoclose int event = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
        return out_if(event >= 0);
}

static enum outcome fault_handler(const struct attempt *attempt)
{
        enum { USER_MODE_ONLY = 1 };
        (void)attempt;
        autoclose int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY);
        return out_if(fd >= 0);
}

static enum outcome fanotify(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC, O_RDONLY);
        return out_if(fd >= 0);
}

static enum outcome readable_is_executable(const struct attempt *attempt)
{
        (void)attempt;
        (void)personality(READ_IMPLIES_EXEC);
        return out_if((personality(0xffffffff) & READ_IMPLIES_EXEC) != 0);
}

static enum outcome adjust_clock(const struct attempt *attempt)
{
        struct timex now = {.modes = 0}, wanted;
        (void)attempt;
        if (adjtimex(&now) < 0)
                return HELD;
        wanted = (struct timex){.modes = ADJ_TICK, .tick = now.tick}; /* changes nothing */
        return out_if(adjtimex(&wanted) >= 0);
}

static void on_bad_call(int number)
{
        (void)number;
        _exit(0);
}

/* The 32-bit entry has other call numbers, which a filter may overlook. */
static enum outcome call_32_bit(const struct attempt *attempt)
{
#ifdef __x86_64__
        signal(SIGSEGV, on_bad_call);
        int result = (int)attempt->number;
        __asm__ volatile("int $0x80" : "+a"(result) : "b"(0L) : "memory", "r8", "r9", "r10", "r11");
        return out_if(result > 0);
#else
        (void)on_bad_call;
        (void)attempt;
        return NOT_APPLICABLE;
#endif
}

static enum outcome call_x32(const struct attempt *attempt)
{
#ifdef __x86_64__
        return out_if(syscall(0x40000000L | attempt->number) > 0);
#else
        (void)attempt;
        return NOT_APPLICABLE;
#endif
}

static enum outcome asynchronous_io(const struct attempt *attempt)
{
        unsigned long context = 0;
        (void)attempt;
        return out_if(syscall(SYS_io_setup, 8, &context) == 0);
}

static const struct attempt rows[] = {
    {"keyring-own", "the kernel's keys", SHOW_AS_CALLER, reach, NULL, SYS_keyctl},
    {"keyring-user", "keys of all your processes", SHOW_AS_CALLER, reach, "2", SYS_keyctl},
    {"add-key", "a key in the kernel", SHOW_AS_CALLER, add_key, NULL, 0},
    {"request-key", "a helper of root for keys", SHOW_AS_CALLER, reach, NULL, SYS_request_key},
    {"bpf", "programs in the kernel", SHOW_AS_CALLER, bpf_map, NULL, 0},
    {"io-uring", "calls that no filter sees", SHOW_AS_CALLER, io_uring, NULL, 0},
    {"io-setup", "the machine's asynchronous I/O", SHOW_AS_CALLER, asynchronous_io, NULL, 0},
    {"perf", "measuring the kernel", SHOW_AS_CALLER, perf, NULL, 0},
    {"userfaultfd", "stalling the kernel", SHOW_AS_CALLER, fault_handler, NULL, 0},
    {"fanotify", "watching every file", SHOW_AS_CALLER, fanotify, NULL, 0},
    {"kcmp", "comparing others' memory", SHOW_AS_CALLER, reach, NULL, SYS_kcmp},
    {"move-pages", "moving others' memory", SHOW_AS_CALLER, reach, NULL, SYS_move_pages},
    {"migrate-pages", "the same by node", SHOW_AS_CALLER, reach, NULL, SYS_migrate_pages},
    {"personality", "executable data", SHOW_AS_CALLER, readable_is_executable, NULL, 0},
#ifdef SYS_modify_ldt
    {"modify-ldt", "segments with a history of holes", SHOW_AS_CALLER, reach, NULL, SYS_modify_ldt},
#endif
    {"call-32-bit", "calls past the filter, 32 bits", SHOW_AS_CALLER, call_32_bit, NULL, 20},
    {"call-x32", "calls past the filter, x32", SHOW_AS_CALLER, call_x32, NULL, 39},
    {"clock", "the machine's clock", SHOW_AS_ROOT, reach, NULL, SYS_settimeofday},
    {"clock-rate", "the rate of the clock", SHOW_AS_ROOT, adjust_clock, NULL, 0},
    {"load-module", "code in the kernel", SHOW_AS_ROOT, reach, NULL, SYS_init_module},
    {"load-module-file", "the same from a file", SHOW_AS_ROOT, reach, NULL, SYS_finit_module},
    {"unload-module", "unloading kernel code", SHOW_AS_ROOT, reach, NULL, SYS_delete_module},
#ifdef SYS_kexec_load
    {"kexec", "another kernel", SHOW_AS_ROOT, reach, NULL, SYS_kexec_load},
#endif
#ifdef SYS_kexec_file_load
    {"kexec-file", "another kernel from a file", SHOW_AS_ROOT, reach, NULL, SYS_kexec_file_load},
#endif
    {"reboot", "rebooting the machine", SHOW_AS_ROOT, reach, NULL, SYS_reboot},
    {"swapon", "the machine's memory on a disk", SHOW_AS_ROOT, reach, NULL, SYS_swapon},
    {"swapoff", "the machine without swap", SHOW_AS_ROOT, reach, NULL, SYS_swapoff},
    {"acct", "a log of all processes", SHOW_AS_ROOT, reach, NULL, SYS_acct},
    {"quota", "other users' disk limits", SHOW_AS_CALLER, reach, NULL, SYS_quotactl},
    {"syslog", "the kernel's log", SHOW_AS_CALLER, reach, NULL, SYS_syslog},
#ifdef SYS_ioperm
    {"ioperm", "the machine's ports", SHOW_AS_ROOT, reach, NULL, SYS_ioperm},
    {"iopl", "all of the machine's ports", SHOW_AS_ROOT, reach, NULL, SYS_iopl},
#endif
};
const struct attempt_group kernel_group = ATTEMPT_GROUP("kernel interfaces", rows);
