/* SPDX-License-Identifier: Apache-2.0
 *
 * See dial.h. Pid 1 must never wait here, nor connect to anything but the sandbox's loopback.
 */
#include "ns/dial.h"

#include "lib/fd.h"
#include "nat/wire.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* Starts to connect a new socket and returns it, or -1. The receiver checks whether the connection succeeds.
 */
static int dial_begin(const struct nat_dial *request)
{
        struct sockaddr_in four = {
            .sin_family = AF_INET,
            .sin_port = htons(request->port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        struct sockaddr_in6 six = {
            .sin6_family = AF_INET6,
            .sin6_port = htons(request->port),
            .sin6_addr = IN6ADDR_LOOPBACK_INIT,
        };
        int made = socket(request->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0)
                return -1;
        if (request->v6)
                (void)connect(made, (struct sockaddr *)&six, sizeof(six));
        else
                (void)connect(made, (struct sockaddr *)&four, sizeof(four));
        return made;
}

bool dial_answer(int dialler)
{
        struct nat_dial request;
        ssize_t length = recv(dialler, &request, sizeof(request), MSG_DONTWAIT);
        if (length < 0)
                return true;
        if (length != sizeof(request))
                return false;
        autoclose int made = dial_begin(&request);
        /* hutch-nat expects the answers in order, so each request gets one, also where no descriptor can be
         * sent: the server can use up how many its user may have in flight (ETOOMANYREFS). */
        if (fd_send(dialler, &request, sizeof(request), made) < 0 && made >= 0)
                (void)fd_send(dialler, &request, sizeof(request), -1);
        return true;
}
