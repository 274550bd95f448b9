/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers of pipes and sockets: descriptors are links in a made /proc, and a socket pair answers as
 * sock_diag would.
 */
#include "enforce/buffers.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "machine_rig.h"
#include "unit.h"

enum { PIPE = 8192, OPEN_FILE = 512, SOCKET = 2048, TCP = 32 << 20, MAX = 1000, LISTENING = 10 };

static void test_pipe_bound(void **state)
{
        (void)state;
        assert_int_equal(buffers_pipe_bound(0), 0);
        assert_int_equal(buffers_pipe_bound(3), 3 * (PIPE + OPEN_FILE));
}

static uint64_t seen[8];
static size_t seen_count;

static bool is_new(uint64_t number)
{
        for (size_t i = 0; i < seen_count; i++)
                if (seen[i] == number)
                        return false;
        seen[seen_count++] = number;
        return true;
}

static void make_descriptor(const char *process, const char *number, const char *text)
{
        autofree char *path = str_format("%s/%s/fd/%s", machine_directory, process, number);
        assert_int_equal(symlink(text, path), 0);
}

static uint64_t bytes_of(const char *process)
{
        autoclose int proc = open(machine_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t total = 0;
        buffers_add_files(proc, process, 5, is_new, &total);
        return total;
}

static void test_each_pipe_counts_once(void **state)
{
        (void)state;
        machine_make_file("/7/fd/.keep", "");
        machine_make_file("/8/fd/.keep", "");
        make_descriptor("7", "0", "/dev/null");
        make_descriptor("7", "1", "pipe:[41]");
        make_descriptor("7", "2", "pipe:[41]");
        make_descriptor("7", "3", "socket:[9]");
        make_descriptor("8", "0", "pipe:[41]");
        make_descriptor("8", "1", "pipe:[42]");
        seen_count = 0;
        assert_int_equal(bytes_of("7"), 4 * OPEN_FILE + PIPE);
        assert_int_equal(bytes_of("8"), 2 * OPEN_FILE + PIPE);
        assert_int_equal(seen_count, 2);
}

/* A process that has exited holds nothing; one that hides its descriptors may hold all it can. */
static void test_descriptors_that_cannot_be_listed(void **state)
{
        (void)state;
        machine_make_file("/9/fd", "not a directory");
        assert_int_equal(bytes_of("9"), buffers_pipe_bound(5));
        assert_int_equal(bytes_of("10"), 0);
}

static void test_socket_bound(void **state)
{
        static const char four[] =
            "sockets: used 14\nTCP: inuse 2 orphan 0 tw 0 alloc 77 mem 0\nUDP: inuse 1 mem 56\n";
        (void)state;
        assert_int_equal(buffers_socket_bound("", "", MAX), 0);
        assert_int_equal(buffers_socket_bound(four, "", MAX), 14000 + 2ULL * TCP);
        assert_int_equal(buffers_socket_bound(four, "TCP6: inuse 1\n", MAX), 14000 + 3ULL * TCP);
}

/* ---- what sock_diag answers ---- */

struct answer {
        _Alignas(struct nlmsghdr) char bytes[1024];
        struct nlmsghdr *last;
        size_t length;
};

static void begin_message(struct answer *answer, int type, const void *head, size_t size)
{
        answer->last = (void *)(answer->bytes + answer->length);
        *answer->last =
            (struct nlmsghdr){.nlmsg_len = (uint32_t)NLMSG_LENGTH(size), .nlmsg_type = (uint16_t)type};
        if (size)
                memcpy(NLMSG_DATA(answer->last), head, size);
        answer->length += NLMSG_SPACE(size);
}

static void add_attribute(struct answer *answer, uint16_t kind, const void *data, size_t size)
{
        struct nlattr head = {.nla_len = (uint16_t)(sizeof(head) + size), .nla_type = kind};
        char *at = answer->bytes + answer->length;
        memcpy(at, &head, sizeof(head));
        memcpy(at + sizeof(head), data, size);
        answer->last->nlmsg_len = (uint32_t)((size_t)(at - (char *)answer->last) + head.nla_len);
        answer->length += NLMSG_ALIGN(head.nla_len);
}

static void add_memory(struct answer *answer, uint16_t kind, uint32_t received, uint32_t sent,
                       uint32_t queued)
{
        const uint32_t memory[] = {[SK_MEMINFO_RMEM_ALLOC] = received,
                                   [SK_MEMINFO_WMEM_ALLOC] = sent,
                                   [SK_MEMINFO_WMEM_QUEUED] = queued,
                                   [SK_MEMINFO_OPTMEM] = 7};
        add_attribute(answer, kind, memory, sizeof(memory));
}

/* Those that name their protocol in an attribute, of the last sum. */
static int long_questions;

/* The sum over one answer about UNIX sockets; each other kind has none. `limit` as in buffers.h. */
static uint64_t sum_unix(struct answer *answer, uint64_t limit, int *questions)
{
        int ends[2];
        uint64_t total = 0;
        char question[256];
        struct answer none = {0};
        begin_message(answer, NLMSG_DONE, NULL, 0);
        begin_message(&none, NLMSG_DONE, NULL, 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        autoclose int diag = ends[0], kernel = ends[1];
        assert_int_equal(send(kernel, answer->bytes, answer->length, 0), answer->length);
        for (int i = 0; i < 7; i++) /* netlink, and three protocols of two families */
                assert_int_equal(send(kernel, none.bytes, none.length, 0), none.length);
        buffers_add_sockets(diag, MAX, limit, &total);
        *questions = long_questions = 0;
        for (ssize_t length; (length = recv(kernel, question, sizeof(question), MSG_DONTWAIT)) > 0;
             ++*questions)
                long_questions += (size_t)length > NLMSG_LENGTH(sizeof(struct inet_diag_req_v2));
        return total;
}

static uint64_t sum_one(uint8_t type, uint8_t socket_state, int queued, int shut)
{
        struct answer answer = {0};
        int questions;
        struct unix_diag_msg head = {
            .udiag_family = AF_UNIX, .udiag_type = type, .udiag_state = socket_state};
        begin_message(&answer, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        add_memory(&answer, UNIX_DIAG_MEMINFO, 100, 20, 30);
        if (queued >= 0)
                add_attribute(&answer, UNIX_DIAG_RQLEN,
                              &(struct unix_diag_rqlen){.udiag_rqueue = (uint32_t)queued},
                              sizeof(struct unix_diag_rqlen));
        if (shut >= 0)
                add_attribute(&answer, UNIX_DIAG_SHUTDOWN, &(uint8_t){(uint8_t)shut}, 1);
        return sum_unix(&answer, UINT64_MAX, &questions);
}

static void test_unix_sockets(void **state)
{
        const uint64_t own = SOCKET + 100 + 30 + 7;
        (void)state;
        assert_int_equal(sum_one(SOCK_STREAM, 1, -1, -1), own);
        assert_int_equal(sum_one(SOCK_STREAM, 1, 0, 1), own);
        /* What waits at a receiver whose sender is gone is charged to nobody any more. */
        assert_int_equal(sum_one(SOCK_STREAM, 1, 5, 1), own + MAX);
        assert_int_equal(sum_one(SOCK_STREAM, 1, 5, 0), own);
        assert_int_equal(sum_one(SOCK_STREAM, 1, 5, -1), own);
        assert_int_equal(sum_one(SOCK_DGRAM, 7, 5, -1), own + 11 * MAX);
        assert_int_equal(sum_one(SOCK_STREAM, LISTENING, 5, 1), own);
}

/* The larger of the two counts of what was sent is taken, and an array that is too short is not read. */
static void test_memory_of_a_socket(void **state)
{
        struct unix_diag_msg head = {.udiag_type = SOCK_STREAM};
        struct answer sent = {0}, brief = {0}, bare = {0}, torn = {0};
        int questions;
        (void)state;
        begin_message(&sent, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        add_memory(&sent, UNIX_DIAG_MEMINFO, 0, 50, 30);
        assert_int_equal(sum_unix(&sent, UINT64_MAX, &questions), SOCKET + 50 + 7);
        begin_message(&brief, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        add_attribute(&brief, UNIX_DIAG_MEMINFO, (const uint32_t[]){9, 9, 9}, 3 * sizeof(uint32_t));
        assert_int_equal(sum_unix(&brief, UINT64_MAX, &questions), SOCKET);
        begin_message(&bare, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        begin_message(&bare, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        assert_int_equal(sum_unix(&bare, UINT64_MAX, &questions), 2 * SOCKET);
        /* An attribute that claims to reach beyond its message ends the reading of it. */
        begin_message(&torn, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        add_attribute(&torn, UNIX_DIAG_NAME, "abcd", 4);
        struct nlattr *first = (void *)(torn.bytes + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(head)));
        add_memory(&torn, UNIX_DIAG_MEMINFO, 100, 0, 0);
        first->nla_len = 600;
        assert_int_equal(sum_unix(&torn, UINT64_MAX, &questions), SOCKET);
        first->nla_type = UNIX_DIAG_MEMINFO;
        torn.length = (size_t)((char *)torn.last - torn.bytes);
        assert_int_equal(sum_unix(&torn, UINT64_MAX, &questions), SOCKET);
        first->nla_len = 1;
        torn.length = (size_t)((char *)torn.last - torn.bytes);
        assert_int_equal(sum_unix(&torn, UINT64_MAX, &questions), SOCKET);
}

static void test_counting_ends_over_the_limit(void **state)
{
        struct unix_diag_msg head = {.udiag_type = SOCK_STREAM};
        struct answer exact = {0}, over = {0};
        int questions;
        (void)state;
        begin_message(&exact, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        assert_int_equal(sum_unix(&exact, SOCKET, &questions), SOCKET);
        assert_int_equal(questions, 2 + 6);
        assert_int_equal(long_questions, 2); /* MPTCP, for each family */
        begin_message(&over, SOCK_DIAG_BY_FAMILY, &head, sizeof(head));
        assert_int_equal(sum_unix(&over, SOCKET - 1, &questions), SOCKET);
        assert_int_equal(questions, 2);
}

/* What the kernel refuses to list counts for nothing, and neither does a socket that cannot ask. */
static void test_refusals_of_the_kernel(void **state)
{
        struct answer answer = {0};
        int questions;
        uint64_t total = 0;
        struct nlmsgerr error = {.error = -ENOENT};
        (void)state;
        begin_message(&answer, NLMSG_ERROR, &error, sizeof(error));
        assert_int_equal(sum_unix(&answer, UINT64_MAX, &questions), 0);
        buffers_add_sockets(-1, MAX, UINT64_MAX, &total);
        assert_int_equal(total, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_pipe_bound),
            cmocka_unit_test_setup_teardown(test_each_pipe_counts_once, machine_set_up, machine_tear_down),
            cmocka_unit_test_setup_teardown(test_descriptors_that_cannot_be_listed, machine_set_up,
                                            machine_tear_down),
            cmocka_unit_test(test_socket_bound),
            cmocka_unit_test(test_unix_sockets),
            cmocka_unit_test(test_memory_of_a_socket),
            cmocka_unit_test(test_counting_ends_over_the_limit),
            cmocka_unit_test(test_refusals_of_the_kernel),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
