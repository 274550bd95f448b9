/* SPDX-License-Identifier: Apache-2.0
 *
 * What the watchdog counts, in a made /proc: when the cheap numbers are enough, and what the exact ones leave
 * out.
 */
#include "enforce/memory_use.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp/arguments.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "machine_rig.h"
#include "unit.h"

#define KIB    1024ULL
#define MUCH   (1ULL << 40)
#define SHARED ((uint64_t)SECCOMP_SHARED_MOST)

enum { MAPPING = 256, OPEN_FILE = 512, PIPE = 8192 };

static void make_file(const char *process, const char *name, const char *text)
{
        autofree char *path = str_format("/%s/%s", process, name);
        machine_make_file(path, text);
}

static void make_process(const char *process, unsigned anonymous_kib, unsigned space_kib, unsigned threads)
{
        autofree char *text =
            str_format("Name:\tx\nFDSize:\t64\nVmSize:\t%u kB\nRssAnon:\t%u kB\nThreads:\t%u\n", space_kib,
                       anonymous_kib, threads);
        make_file(process, "status", text);
}

static void make_rollup(const char *process, unsigned kib)
{
        autofree char *text = str_format("rollup\nPss_Anon: %u kB\n", kib);
        make_file(process, "smaps_rollup", text);
}

/* A process that began so many milliseconds ago. */
static void make_age(const char *process, long long milliseconds)
{
        struct timespec now;
        clock_gettime(CLOCK_BOOTTIME, &now);
        long long ticks = sysconf(_SC_CLK_TCK);
        long long start = (now.tv_sec * 1000LL + now.tv_nsec / 1000000 - milliseconds) * ticks / 1000;
        autofree char *text =
            str_format("%s (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %lld 0", process, start);
        make_file(process, "stat", text);
}

static struct memory_use measure(uint64_t limit)
{
        struct memory_use use;
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct memory_use_sources sources = {.proc = proc, .sock_diag = -1};
        assert_int_equal(memory_use_measure(&sources, limit, &use), MEMORY_USE_KNOWN);
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

static void make_pair(long long first_age, long long second_age)
{
        static const char *const names[] = {"20", "21"};
        const long long ages[] = {first_age, second_age};
        for (size_t i = 0; i < COUNT(names); i++) {
                make_process(names[i], 300, 64, 1);
                make_rollup(names[i], 300);
                make_age(names[i], ages[i]);
        }
}

static void test_a_child_of_vfork_counts_once_it_stays(void **state)
{
        (void)state;
        make_pair(60000, 0);
        assert_int_equal(measure(500 * KIB).bytes, 300 * KIB);
        make_pair(60000, 1000);
        assert_int_equal(measure(500 * KIB).bytes, 600 * KIB);
        make_pair(60000, -60000); /* began later than now: nonsense is not young */
        assert_int_equal(measure(500 * KIB).bytes, 600 * KIB);
        /* Young, but with memory of its own. */
        make_pair(60000, 0);
        make_process("21", 300, 68, 1);
        assert_int_equal(measure(500 * KIB).bytes, 600 * KIB);
        make_pair(60000, 0);
        make_process("21", 304, 64, 1);
        make_rollup("21", 304);
        assert_int_equal(measure(500 * KIB).bytes, 604 * KIB);
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

static void make_shared(const char *process, unsigned space_kib, const char *inodes)
{
        char text[2048] = "";
        make_process(process, 0, space_kib, 1);
        make_rollup(process, 0);
        for (const char *inode = inodes; *inode; inode++)
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                               "7f00-8f00 rw-s 00000000 00:01 %c     /dev/zero (deleted)\n", *inode);
        make_file(process, "maps", text);
}

static void test_shared_memory_counts_once(void **state)
{
        (void)state;
        make_shared("20", 8, "123");
        make_shared("21", 8, "3445");
        assert_int_equal(measure(4 * SHARED).bytes, 0); /* four pages cannot keep more alive */
        assert_int_equal(measure(4 * SHARED - 1).bytes, 5 * SHARED + 7 * MAPPING);
        uint64_t first = measure(2 * SHARED).bytes; /* of whichever process is listed first */
        assert_true(first == 3 * SHARED + 3 * MAPPING || first == 3 * SHARED + 4 * MAPPING);
        machine_make_file("/20/maps", "7f00-8f00 rw-p 00000000 00:00 0\n7f00-8f00 rw-s 0");
        machine_make_file("/21/maps", "");
        assert_int_equal(measure(SHARED).bytes, MAPPING);
        /* What is private comes on top of it. */
        make_process("22", 40, 8, 1);
        assert_int_equal(measure(SHARED).bytes, MAPPING + 40 * KIB);
}

static void test_mappings_are_counted_until_they_are_too_much(void **state)
{
        enum { LINES = 8000, LINE = 30 };
        autofree char *text = malloc(LINES * LINE + 1);
        (void)state;
        assert_non_null(text);
        for (int i = 0; i < LINES; i++)
                (void)snprintf(text + (size_t)i * LINE, LINE + 1, "7f0000%05x-8f0000%05x rw-p \n",
                               (unsigned)i, (unsigned)i);
        make_process("20", 0, 8, 1);
        make_rollup("20", 0);
        make_file("20", "maps", text);
        assert_int_equal(measure(LINES * MAPPING).bytes, LINES * MAPPING);
        assert_in_range(measure(LINES).bytes, LINES, LINES * MAPPING / 4 * 3); /* the rest is not read */
}

static void make_pipe(const char *process, const char *descriptor, const char *text)
{
        autofree char *keep = str_format("/%s/fd/.keep", process);
        autofree char *link = str_format("%s/%s/fd/%s", machine_directory, process, descriptor);
        machine_make_file(keep, "");
        assert_int_equal(symlink(text, link), 0);
}

static void test_pipes_where_they_could_be_too_much(void **state)
{
        const uint64_t bound = 3 * 64 * (PIPE + OPEN_FILE);
        (void)state;
        make_process("1", 0, 0, 1);
        make_pipe("1", "0", "pipe:[9]"); /* hutch's own */
        make_process("20", 0, 0, 1);
        make_pipe("20", "0", "pipe:[1]");
        make_pipe("20", "1", "pipe:[2]");
        make_process("21", 0, 0, 1);
        make_pipe("21", "0", "pipe:[2]");
        assert_int_equal(measure(bound).bytes, 0);
        assert_int_equal(measure(bound - 1).bytes, 3 * OPEN_FILE + 2 * PIPE);
        assert_int_equal(measure(3 * OPEN_FILE + 2 * PIPE - 1).bytes, 3 * OPEN_FILE + 2 * PIPE);
        uint64_t first = measure(1).bytes; /* whichever is listed first is more than that */
        assert_true(first == 2 * OPEN_FILE + 2 * PIPE || first == OPEN_FILE + PIPE);
}

/* The questions to sock_diag while there is this limit. */
static int count_questions(uint64_t limit)
{
        struct memory_use use;
        char question[256];
        int ends[2], count = 0;
        const struct nlmsghdr done = {.nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE};
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        autoclose int diag = ends[0], kernel = ends[1];
        for (int i = 0; i < 8; i++)
                assert_int_equal(send(kernel, &done, sizeof(done), 0), sizeof(done));
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct memory_use_sources sources = {.proc = proc, .sock_diag = diag};
        assert_int_equal(memory_use_measure(&sources, limit, &use), MEMORY_USE_KNOWN);
        assert_int_equal(use.bytes, 0);
        while (recv(kernel, question, sizeof(question), MSG_DONTWAIT) > 0)
                count++;
        return count;
}

static void test_sockets_where_they_could_be_too_much(void **state)
{
        const uint64_t bound = 2 * (2 * 1000 + 65536);
        (void)state;
        machine_make_file("/sys/net/core/wmem_max", "1000\n");
        machine_make_file("/1/net/sockstat", "sockets: used 2\n");
        machine_make_file("/1/status", "");
        assert_int_equal(count_questions(bound), 0);
        assert_true(count_questions(bound - 1) > 0);
        machine_make_file("/sys/net/core/wmem_max", "");
        assert_true(count_questions(bound) > 0); /* without a bound of the kernel's, a larger one holds */
        assert_int_equal(measure(bound - 1).bytes, 0);
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

/* /proc itself has no blocks, so that it is always full; a descriptor that is none is left out. */
static void test_file_systems_are_asked(void **state)
{
        struct memory_use use;
        (void)state;
        make_process("20", 8, 0, 1);
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        autoclose int full = open("/proc", O_PATH | O_CLOEXEC);
        struct memory_use_sources sources = {
            .proc = proc, .sock_diag = -1, .file_systems = {-1, full}, .file_system_count = 2};
        assert_int_equal(memory_use_measure(&sources, MUCH, &use), MEMORY_USE_KNOWN);
        assert_true(use.disk_full);
        assert_int_equal(use.bytes, 8 * KIB);
        sources.file_system_count = 1;
        assert_int_equal(memory_use_measure(&sources, MUCH, &use), MEMORY_USE_KNOWN);
        assert_false(use.disk_full);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, machine_set_up, machine_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_cheap_numbers_where_they_are_enough),
            MADE(test_exact_numbers_over_the_limit),
            MADE(test_a_storm_is_counted_until_it_is_too_much),
            MADE(test_a_child_of_vfork_counts_once_it_stays),
            MADE(test_a_process_whose_first_thread_has_exited),
            MADE(test_shared_memory_counts_once),
            MADE(test_mappings_are_counted_until_they_are_too_much),
            MADE(test_sockets_where_they_could_be_too_much),
            MADE(test_pipes_where_they_could_be_too_much),
            cmocka_unit_test(test_file_systems),
            MADE(test_file_systems_are_asked),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
