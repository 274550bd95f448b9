/* SPDX-License-Identifier: Apache-2.0
 *
 * See publish.h. Only a process inside the sandbox can make a socket of the sandbox, so hutch-nat asks pid 1
 * for one for each connection. Pid 1 answers in order.
 */
#include "nat/publish.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "nat/connect.h"
#include "nat/flow.h"
#include "nat/loop.h"
#include "nat/nat.h"
#include "nat/packets.h"
#include "nat/report.h"
#include "nat/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { WAITING_MAX = 256 };

struct published {
        struct acceptor acceptor;
        uint16_t port; /* of the sandbox */
};

/* A connection of the host that waits for the sandbox's end. */
struct joining {
        struct source source; /* the sandbox's end, while the kernel connects it */
        struct joining *next; /* in the queue for pid 1 */
        struct timer patience;
        int host;
        bool v6;
        bool queued; /* pid 1 has not answered: the place in the queue stays */
        bool over;
        uint16_t port;
};

static struct {
        struct source source;
        struct joining *first, **last;
        size_t waiting;
} dialler = {.source = {.descriptor = -1}, .last = &dialler.first};

static void drop_joining(struct joining *joining)
{
        joining->over = true;
        timer_stop(&joining->patience);
        source_close(&joining->source);
        close(joining->host);
        if (!joining->queued)
                loop_free_later(joining);
}

static void patience_due(struct timer *timer)
{
        struct joining *joining = OWNER(timer, struct joining, patience);
        report_note("the server did not accept a connection to its published port %u in time", joining->port);
        drop_joining(joining);
}

/* Asks pid 1 for a socket. */
static bool request_socket(struct joining *joining)
{
        struct nat_dial request = {.port = joining->port, .v6 = joining->v6};
        if (dialler.waiting >= WAITING_MAX || send(dialler.source.descriptor, &request, sizeof(request),
                                                   MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(request))
                return false;
        dialler.waiting++;
        joining->queued = true;
        joining->next = NULL;
        *dialler.last = joining;
        dialler.last = &joining->next;
        return true;
}

static void sandbox_ready(struct source *source)
{
        struct joining *joining = OWNER(source, struct joining, source);
        if (source_error(source)) {
                source_close(source);
                /* The server may listen on the other loopback address. */
                bool other = !joining->v6 && nat.v6;
                joining->v6 = true;
                if (!other || !request_socket(joining))
                        drop_joining(joining);
                return;
        }
        struct target target = {.host_loopback = true, .port = joining->port, .transport = TRANSPORT_TCP};
        int sandbox = source_take(source);
        timer_stop(&joining->patience);
        connect_set_nodelay(sandbox);
        flow_join(sandbox, joining->host, &target);
        joining->over = true;
        loop_free_later(joining);
}

static void dialler_ready(struct source *source)
{
        struct nat_dial answer;
        int made;
        ssize_t length = packet_receive_descriptor(source->descriptor, &answer, sizeof(answer), &made);
        if (length < 0)
                return;
        struct joining *joining = dialler.first;
        if (length != sizeof(answer) || !joining) {
                source_close(source); /* pid 1 has ended, and the sandbox with it */
                return;
        }
        dialler.waiting--;
        dialler.first = joining->next;
        if (!dialler.first)
                dialler.last = &dialler.first;
        joining->queued = false;
        if (!joining->over && made >= 0 && source_add(&joining->source, made, EPOLLOUT, sandbox_ready))
                return;
        fd_close(&made);
        joining->source.descriptor = -1;
        if (joining->over)
                loop_free_later(joining);
        else
                drop_joining(joining);
}

static void host_ready(struct source *source)
{
        struct published *published = OWNER(source, struct published, acceptor.source);
        if (dialler.waiting >= WAITING_MAX) {
                acceptor_pause(&published->acceptor);
                return;
        }
        int host = acceptor_next(&published->acceptor);
        if (host < 0)
                return;
        struct joining *joining = calloc(1, sizeof(*joining));
        if (!joining) {
                close(host);
                return;
        }
        *joining = (struct joining){.source.descriptor = -1, .host = host, .port = published->port};
        timer_start(&joining->patience, TIMER_SNIFF, patience_due);
        if (!request_socket(joining))
                drop_joining(joining);
}

void publish_serve(int descriptor, uint16_t port)
{
        struct published *published = str_or_die(calloc(1, sizeof(*published)));
        published->port = port;
        source_serve(&published->acceptor.source, descriptor, host_ready);
        if (dialler.source.descriptor < 0)
                source_serve(&dialler.source, NAT_DIALLER, dialler_ready);
}
