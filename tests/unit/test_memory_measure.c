/* SPDX-License-Identifier: Apache-2.0
 *
 * What the watchdog counts, in a made /proc: when the cheap numbers are enough, and what the exact ones leave
 * out.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "ns/memory_use.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine_rig.h"
#include "unit.h"

#define KIB  1024ULL
#define MUCH (1ULL << 40)

static void make_file(const char *process, const char *name, const char *text)
{
        autofree char *path = str_format("/%s/%s", process, name);
        machine_make_file(path, text);
}

static void make_process(const char *process, unsigned anonymous_kib, unsigned space_kib, unsigned threads)
{
        autofree char *text = str_format("Name:\tx\nVmSize:\t%u kB\nRssAnon:\t%u kB\nThreads:\t%u\n",
                                         space_kib, anonymous_kib, threads);
        make_file(process, "status", text);
}

static void make_rollup(const char *process, unsigned kib)
{
        autofree char *text = str_format("rollup\nPss_Anon: %u kB\n", kib);
        make_file(process, "smaps_rollup", text);
}

static struct memory_use measure(uint64_t limit)
{
        struct memory_use use;
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct memory_use_sources sources = {.proc = proc};
        assert_true(memory_use_measure(&sources, limit, &use));
        return use;
}

static void test_cheap_numbers_where_they_are_enough(void **state)
{
        (void)state;
        make_process("1", 10, 0, 1);
        make_process("20", 300, 0, 4);
        make_rollup("20", 1); /* not read */
        machine_make_file("/self/status", "VmSize: 1 kB\nRssAnon: 9999 kB\n");
        machine_make_file("/123456789012/status", "x\nRssAnon: 9999 kB\n");
        struct memory_use use = measure(MUCH);
        assert_int_equal(use.bytes, 310 * KIB);
        assert_int_equal(use.tasks, 5);
        assert_false(use.disk_full);
        assert_int_equal(measure(310 * KIB).bytes, 310 * KIB);
}

static void test_exact_numbers_over_the_limit(void **state)
{
        (void)state;
        make_process("1", 10, 0, 1);
        make_rollup("1", 10);
        make_process("20", 300, 0, 1);
        make_rollup("20", 150);
        make_process("21", 290, 0, 1);
        machine_make_file("/21/smaps_rollup/x", ""); /* cannot be read: keeps its rough number */
        make_process("22", 280, 0, 1);               /* has exited meanwhile */
        assert_int_equal(measure(600 * KIB).bytes, (10 + 150 + 290) * KIB);
}

static void test_a_storm_is_counted_until_it_is_too_much(void **state)
{
        (void)state;
        static const unsigned sizes[] = {500, 100, 900, 300, 800, 200, 700, 400, 600};
        for (unsigned i = 0; i < COUNT(sizes); i++) {
                autofree char *process = str_format("%u", 20 + i);
                make_process(process, sizes[i], 0, 1);
                make_rollup(process, sizes[i]);
        }
        /* The largest first, whatever the order of the directory. */
        assert_int_equal(measure(899 * KIB).bytes, 900 * KIB);
        assert_int_equal(measure(900 * KIB).bytes, 1700 * KIB);
        assert_int_equal(measure(1700 * KIB).bytes, 2400 * KIB);
}

static char stack[1 << 16] __attribute__((aligned(16)));

static int sleep_for_good(void *unused)
{
        (void)unused;
        while (pause() < 0)
                ;
        return 0;
}

/* A child of vfork(2) has its parent's memory, and a child of fork(2) has not. */
static void test_one_memory_counts_once(void **state)
{
        (void)state;
        pid_t sharing = clone(sleep_for_good, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
        pid_t own = fork();
        if (own == 0)
                _exit(sleep_for_good(NULL));
        assert_true(sharing > 0 && own > 0);
        const pid_t all[] = {getpid(), sharing, own};
        for (size_t i = 0; i < COUNT(all); i++) {
                autofree char *process = str_format("%d", all[i]);
                make_process(process, 300, 64, 1);
                make_rollup(process, 200);
        }
        assert_int_equal(measure(900 * KIB).bytes, 900 * KIB);
        assert_int_equal(measure(899 * KIB).bytes, 400 * KIB);
        /* It is compared only with those of the same address space. */
        autofree char *process = str_format("%d", sharing);
        make_process(process, 300, 65, 1);
        assert_int_equal(measure(899 * KIB).bytes, 600 * KIB);
        (void)kill(sharing, SIGKILL);
        (void)kill(own, SIGKILL);
        assert_int_equal(waitpid(sharing, NULL, 0), sharing);
        assert_int_equal(waitpid(own, NULL, 0), own);
}

static void test_a_process_whose_first_thread_has_exited(void **state)
{
        (void)state;
        make_process("20", 0, 0, 3);
        machine_make_file("/20/task/x20/x", "");
        machine_make_file("/20/task/x21/x", "");
        machine_make_file("/20/task/a-name-that-is-too-long/x", "");
        machine_make_file("/a-name-that-is-too-long/status", "x\nVmSize: 64 kB\nRssAnon: 999 kB\n");
        make_file("x20", "status", "x\nThreads: 3\n");
        make_file("x21", "status", "x\nVmSize: 64 kB\nRssAnon: 200 kB\nThreads: 3\n");
        make_rollup("x21", 150);
        assert_int_equal(measure(MUCH).bytes, 200 * KIB);
        assert_int_equal(measure(199 * KIB).bytes, 150 * KIB);
        /* One that has exited as a whole has no other thread. */
        make_process("20", 0, 0, 1);
        assert_int_equal(measure(MUCH).bytes, 0);
        /* Nor is another thread asked while the first one lives. */
        make_process("20", 0, 1, 3);
        assert_int_equal(measure(MUCH).bytes, 0);
        make_process("30", 0, 0, 3);
        machine_make_file("/30/task/a-name-that-is-too-long/x", "");
        assert_int_equal(measure(MUCH).bytes, 0);
}

static void test_system_v_memory(void **state)
{
        enum { SEGMENTS = 4096, LINE = 220 };
        static char text[SEGMENTS * LINE];
        size_t length = (size_t)snprintf(text, sizeof(text), "       key      shmid perms rss swap\n");
        (void)state;
        make_process("20", 8, 0, 1);
        for (int i = 0; i < SEGMENTS; i++) /* more than one piece of the file */
                length += (size_t)snprintf(text + length, sizeof(text) - length,
                                           "%10d %10d  %4o %21u %5u %5u  %5u %5u %5u %5u %5u %10u %10u %10u "
                                           "%21u %21u\n",
                                           0, i, 0600, 1 << 20, 3, 3, 0, 0, 0, 0, 0, 0, 0, 1, 4096, 1024);
        machine_make_file("/sysvipc/shm", text);
        assert_int_equal(measure(MUCH).bytes, 8 * KIB + SEGMENTS * 5 * KIB);
}

static void test_file_systems(void **state)
{
        struct statfs status = {
            .f_blocks = 100, .f_bfree = 60, .f_bsize = 4096, .f_files = 50, .f_ffree = 40};
        struct memory_use use = {.bytes = 5};
        (void)state;
        memory_use_add_file_system(&status, &use);
        assert_int_equal(use.bytes, 5 + 40 * 4096 + 10 * 1024);
        assert_false(use.disk_full);
        status.f_ffree = 0;
        memory_use_add_file_system(&status, &use);
        assert_true(use.disk_full);
        use.disk_full = false;
        status.f_ffree = 1;
        status.f_bfree = 0;
        memory_use_add_file_system(&status, &use);
        assert_true(use.disk_full);
        status.f_bfree = 1; /* another file system with room changes nothing */
        memory_use_add_file_system(&status, &use);
        assert_true(use.disk_full);
}

/* /proc itself has no blocks, so that it is always full. */
static void test_file_systems_are_asked(void **state)
{
        struct memory_use use;
        (void)state;
        make_process("20", 8, 0, 1);
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        autoclose int full = open("/proc", O_PATH | O_CLOEXEC);
        struct memory_use_sources sources = {.proc = proc, .file_systems = &full, .file_system_count = 1};
        assert_true(memory_use_measure(&sources, MUCH, &use));
        assert_true(use.disk_full);
        assert_int_equal(use.bytes, 8 * KIB);
        sources.file_system_count = 0;
        assert_true(memory_use_measure(&sources, MUCH, &use));
        assert_false(use.disk_full);
}

/* Nothing that cannot be read counts as nothing. */
static void test_what_cannot_be_measured(void **state)
{
        struct memory_use use;
        const int none = -1;
        (void)state;
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct memory_use_sources sources = {.proc = proc};
        assert_false(memory_use_measure(&sources, MUCH, &use)); /* nobody, although pid 1 must see itself */
        make_process("20", 8, 0, 1);
        assert_true(memory_use_measure(&sources, MUCH, &use));
        sources.file_systems = &none;
        sources.file_system_count = 1;
        assert_false(memory_use_measure(&sources, MUCH, &use));
        sources.file_system_count = 0;
        machine_make_file("/21/status/x", ""); /* a directory */
        assert_false(memory_use_measure(&sources, MUCH, &use));
        sources.proc = none;
        assert_false(memory_use_measure(&sources, MUCH, &use));
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, machine_set_up, machine_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_cheap_numbers_where_they_are_enough),
            MADE(test_exact_numbers_over_the_limit),
            MADE(test_a_storm_is_counted_until_it_is_too_much),
            MADE(test_one_memory_counts_once),
            MADE(test_a_process_whose_first_thread_has_exited),
            MADE(test_system_v_memory),
            cmocka_unit_test(test_file_systems),
            MADE(test_file_systems_are_asked),
            MADE(test_what_cannot_be_measured),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
