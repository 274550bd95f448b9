/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts on kernel interfaces that have a history of holes, that no namespace separates, or that act on the
 * machine. A call that would act on the machine gets arguments that the kernel refuses only after its
 * permission check.
 */
#include "prove/attempts.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#define NOWHERE POINTER("/nonexistent/hutch-prove")

static const union bpf_attr map = {
    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
static const struct perf_event_attr task_clock = {.type = PERF_TYPE_SOFTWARE,
                                                  .size = sizeof(task_clock),
                                                  .config = PERF_COUNT_SW_TASK_CLOCK,
                                                  .exclude_kernel = 1,
                                                  .exclude_hv = 1};
static struct io_uring_params ring;
static unsigned long io_context;
enum { USER_MODE_ONLY = 1 }; /* of userfaultfd(2) */

static enum outcome readable_is_executable(void)
{
        (void)personality(READ_IMPLIES_EXEC);
        return out_if((personality(0xffffffff) & READ_IMPLIES_EXEC) != 0);
}

static enum outcome adjust_clock(void)
{
        struct timex now = {.modes = 0}, wanted;
        if (adjtimex(&now) < 0)
                return HELD;
        wanted = (struct timex){.modes = ADJ_TICK, .tick = now.tick}; /* changes nothing */
        return out_if(adjtimex(&wanted) >= 0);
}

#ifdef __x86_64__
static void on_bad_call(int number)
{
        (void)number;
        _exit(0);
}

/* The 32-bit entry has other call numbers, which a filter may overlook. */
static enum outcome call_32_bit(void)
{
        signal(SIGSEGV, on_bad_call);
        int result = (int)attempt->number;
        __asm__ volatile("int $0x80" : "+a"(result) : "b"(0L) : "memory", "r8", "r9", "r10", "r11");
        return out_if(result > 0);
}
#endif

static const struct attempt rows[] = {
    {"keyring-own", "the kernel's keys", AS_CALLER,
     REACH(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1)},
    {"keyring-user", "keys of all your processes", AS_CALLER,
     REACH(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0)},
    {"add-key", "a key in the kernel", AS_CALLER,
     CALL(SYS_add_key, POINTER("user"), POINTER("hutch-prove"), POINTER("x"), 1, KEY_SPEC_PROCESS_KEYRING)},
    {"request-key", "a helper of root for keys", AS_CALLER,
     REACH(SYS_request_key, POINTER("user"), NOWHERE, 0, 0)},
    {"bpf", "programs in the kernel", AS_CALLER, CALL(SYS_bpf, BPF_MAP_CREATE, POINTER(&map), sizeof(map))},
    {"io-uring", "calls that no filter sees", AS_CALLER, CALL(SYS_io_uring_setup, 2, POINTER(&ring))},
    {"io-setup", "the machine's asynchronous I/O", AS_CALLER, CALL(SYS_io_setup, 8, POINTER(&io_context))},
    {"perf", "measuring the kernel", AS_CALLER,
     CALL(SYS_perf_event_open, POINTER(&task_clock), 0, -1, -1, 0)},
    {"userfaultfd", "stalling the kernel", AS_CALLER, CALL(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY)},
    {"fanotify", "watching every file", AS_CALLER,
     CALL(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC, O_RDONLY)},
    {"kcmp", "comparing others' memory", AS_CALLER, REACH(SYS_kcmp, 1, 1, 99)}, /* no such comparison */
    /* none of this process's pages */
    {"move-pages", "moving others' memory", AS_CALLER, REACH(SYS_move_pages, 0)},
    /* from no node to none */
    {"migrate-pages", "the same by node", AS_CALLER, REACH(SYS_migrate_pages, 0, 1)},
    {"personality", "executable data", AS_CALLER, readable_is_executable},
#ifdef SYS_modify_ldt
    /* reads nothing */
    {"modify-ldt", "segments with a history of holes", AS_CALLER, REACH(SYS_modify_ldt, 0)},
#endif
#ifdef __x86_64__
    {"call-32-bit", "calls past the filter, 32 bits", AS_CALLER, call_32_bit, NULL, 20},
    {"call-x32", "calls past the filter, x32", AS_CALLER, CALL(0x40000000 | SYS_getpid)},
#endif
    /* neither time nor zone: changes nothing */
    {"clock", "the machine's clock", AS_ROOT, REACH(SYS_settimeofday, 0)},
    {"clock-rate", "the rate of the clock", AS_ROOT, adjust_clock},
    {"load-module", "code in the kernel", AS_ROOT, REACH(SYS_init_module, 0)},          /* no image */
    {"load-module-file", "the same from a file", AS_ROOT, REACH(SYS_finit_module, -1)}, /* no file */
    {"unload-module", "unloading kernel code", AS_ROOT, REACH(SYS_delete_module, NOWHERE, O_NONBLOCK)},
#ifdef SYS_kexec_load
    {"kexec", "another kernel", AS_ROOT, REACH(SYS_kexec_load, 0, 0, 0, 0xffffff)}, /* no such flags */
#endif
#ifdef SYS_kexec_file_load
    {"kexec-file", "another kernel from a file", AS_ROOT, REACH(SYS_kexec_file_load, -1, -1, 0, 0, 0xffff)},
#endif
    /* no such command */
    {"reboot", "rebooting the machine", AS_ROOT, REACH(SYS_reboot, 0xfee1dead, 672274793, 0xffff)},
    {"swapon", "the machine's memory on a disk", AS_ROOT, REACH(SYS_swapon, NOWHERE)},
    {"swapoff", "the machine without swap", AS_ROOT, REACH(SYS_swapoff, NOWHERE)},
    {"acct", "a log of all processes", AS_ROOT, REACH(SYS_acct, NOWHERE)},
    {"quota", "other users' disk limits", AS_CALLER, REACH(SYS_quotactl, 0x80000100, NOWHERE)},
    {"syslog", "the kernel's log", AS_CALLER, REACH(SYS_syslog, 10)}, /* the size of the log */
#ifdef SYS_ioperm
    /* the port of start-up codes, for this process, which ends */
    {"ioperm", "the machine's ports", AS_ROOT, REACH(SYS_ioperm, 0x80, 1, 1)},
    {"iopl", "all of the machine's ports", AS_ROOT, REACH(SYS_iopl, 3)},
#endif
};
const struct attempt_group kernel_group = ATTEMPT_GROUP("kernel interfaces", rows);
