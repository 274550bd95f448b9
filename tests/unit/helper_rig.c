/* SPDX-License-Identifier: Apache-2.0
 *
 * See helper_rig.h.
 */
#include "helper_rig.h"

#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/messages.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "unit.h"

char heard[8192];
struct run_log run;
int helper_end = -1, logged = -1;

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
}

int helper_rig_begin(void)
{
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -1;
        helper_end = ends[1];
        run = (struct run_log){.store_file = -1, .file = memfd_create("log", MFD_CLOEXEC)};
        logged = dup(run.file);
        heard[0] = 0;
        messages_send_to(hear, NULL);
        return ends[0];
}

void helper_rig_end(void)
{
        messages_send_to(NULL, NULL);
        fd_close(&run.file);
        fd_close(&helper_end);
        fd_close(&logged);
}

void helper_says(uint32_t type, const char *text)
{
        autobuf message = {0};
        buf_put(&message, &type, sizeof(type));
        buf_put_text(&message, text);
        assert_int_equal(send(helper_end, message.bytes, message.length, 0), message.length);
}

char *content_of(int file)
{
        char *content = NULL;
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        assert_true(fd_read_all(file, 1 << 20, &content) >= 0);
        return content;
}
