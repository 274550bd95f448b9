/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors: reading with a bound, sealed memory files, passing a descriptor, and the three standard ones.
 */
#include "lib/fd.h"
#include "lib/standard_fds.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"

static void test_reading_has_a_bound(void **state)
{
        (void)state;
        char *text = NULL;
        autoclose int file = fd_memory_file("test", "0123456789", 10);
        assert_true(file >= 0);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_all(file, 9, &text), -EFBIG);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        assert_int_equal(fd_read_all(file, 10, &text), 10);
        assert_string_equal(text, "0123456789");
        free(text);
}

static void test_a_pipe_is_read_to_its_end(void **state)
{
        (void)state;
        enum { SIZE = 20000 };
        autofree char *sent = str_or_die(calloc(1, SIZE));
        memset(sent, 'x', SIZE);
        int ends[2];
        char *text = NULL;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(fd_write_all(ends[1], sent, SIZE), 0);
        close(ends[1]);
        assert_int_equal(fd_read_all(ends[0], 1 << 20, &text), SIZE);
        assert_memory_equal(text, sent, SIZE);
        assert_int_equal(text[SIZE], 0);
        close(ends[0]);
        free(text);
}

static void test_only_regular_files_are_read(void **state)
{
        (void)state;
        char directory[] = "/tmp/hutch-test-fd-XXXXXX", *text = NULL;
        assert_non_null(mkdtemp(directory));
        autofree char *fifo = str_format("%s/fifo", directory);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(fd_read_file(fifo, 100, &text), -EINVAL); /* and does not wait for a writer */
        assert_int_equal(fd_read_file(directory, 100, &text), -EISDIR);
        assert_int_equal(fd_read_file("/dev/null", 100, &text), -EINVAL);
        assert_int_equal(unlink(fifo), 0);
        assert_int_equal(fd_read_file(fifo, 100, &text), -ENOENT);
        assert_int_equal(rmdir(directory), 0);
}

static void test_a_memory_file_is_sealed(void **state)
{
        (void)state;
        autoclose int file = fd_memory_file("test", "abc", 3);
        assert_int_equal(pwrite(file, "x", 1, 0), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(ftruncate(file, 0), -1);
        assert_int_equal(ftruncate(file, 10), -1);
        assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
        assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
}

/* Receives one message; returns the descriptor that came with it, or -1. */
static int receive(int socket, char *byte)
{
        struct iovec part = {.iov_base = byte, .iov_len = 1};
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
        struct msghdr head = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        int descriptor = -1;
        assert_int_equal(recvmsg(socket, &head, MSG_CMSG_CLOEXEC), 1);
        const struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
        if (rights && rights->cmsg_type == SCM_RIGHTS)
                memcpy(&descriptor, CMSG_DATA(rights), sizeof(int));
        return descriptor;
}

static void test_sending_a_descriptor(void **state)
{
        (void)state;
        int ends[2];
        char byte;
        struct stat sent, received;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        autoclose int file = fd_memory_file("test", "abc", 3);
        assert_int_equal(fd_send(ends[0], "x", 1, file), 0);
        autoclose int copy = receive(ends[1], &byte);
        assert_true(copy >= 0 && byte == 'x');
        assert_int_equal(fstat(file, &sent), 0);
        assert_int_equal(fstat(copy, &received), 0);
        assert_int_equal(sent.st_ino, received.st_ino);
        assert_int_equal(fd_send(ends[0], "y", 1, -1), 0);
        assert_int_equal(receive(ends[1], &byte), -1);
        close(ends[0]);
        close(ends[1]);
        /* A stream whose reader has closed: an error, and no SIGPIPE. */
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        signal(SIGPIPE, SIG_DFL);
        close(ends[1]);
        assert_int_equal(fd_send(ends[0], "z", 1, -1), -EPIPE);
        close(ends[0]);
}

/* In a child, whose descriptors are its own: without 0 and with two descriptors of its caller's, of which one
 * may be kept. */
static void settle(int keep)
{
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                struct error error = {0};
                int other = dup2(1, 100), kept = dup2(1, keep);
                close(0);
                bool settled = standard_fds_settle(keep, &error);
                _exit(settled && other == 100 && kept == keep && fcntl(0, F_GETFD) >= 0 &&
                              fcntl(100, F_GETFD) < 0 && fcntl(99, F_GETFD) < 0 &&
                              fcntl(keep, F_GETFD) == (keep < 3 ? 0 : FD_CLOEXEC)
                          ? 0
                          : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_the_standard_descriptors(void **state)
{
        (void)state;
        settle(3);
        settle(50);
        settle(101);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_reading_has_a_bound),
            cmocka_unit_test(test_a_pipe_is_read_to_its_end),
            cmocka_unit_test(test_only_regular_files_are_read),
            cmocka_unit_test(test_a_memory_file_is_sealed),
            cmocka_unit_test(test_sending_a_descriptor),
            cmocka_unit_test(test_the_standard_descriptors),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
