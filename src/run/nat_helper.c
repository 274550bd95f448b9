/* SPDX-License-Identifier: Apache-2.0
 *
 * See nat_helper.h. hutch-nat may be taken over by the bytes it reads. So the supervisor prints its text as
 * one quoted line and acts on nothing in it.
 */
#include "run/nat_helper.h"

#include "lib/child.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "nat/listeners.h"
#include "nat/wire.h"
#include "run/host_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
        LAST_MS = 500,       /* how long it may be silent after NAT_FINISH */
        LAST_RECORDS = 4096, /* how many messages it may send after it */
};

static void write_destinations(const char *word, const struct destinations *list, struct buf *out)
{
        for (size_t i = 0; i < list->count; i++)
                if (list->items[i].kind != DESTINATION_LOCALHOST)
                        buf_format(out, "%s %s\n", word, list->items[i].text);
}

void nat_helper_write_rules(const struct box *box, bool explain, struct buf *out)
{
        const struct network *network = &box->network;
        buf_put_text(out, box->log_path ? "log\n" : "");
        buf_put_text(out, explain ? "explain\n" : "");
        write_destinations("allow", &network->rules.allow, out);
        write_destinations("deny", &network->rules.deny, out);
        for (size_t i = 0; i < network->host_port_count; i++)
                buf_format(out, "host-port %u %u\n", network->host_ports[i].inside,
                           network->host_ports[i].host);
        if (network->proxy)
                buf_format(out, "proxy %s%s%s\n", network->proxy, network->proxy_credentials ? " " : "",
                           network->proxy_credentials ? network->proxy_credentials : "");
        for (size_t i = 0; i < network->no_proxy.count; i++)
                buf_format(out, "no-proxy %s\n", network->no_proxy.values[i]);
}

static bool fail(struct error *error, const char *what)
{
        return error_set(error, EXIT_SETUP, "cannot start the network helper: %s: %s", what, strerror(errno));
}

bool nat_helper_refuse_port(const struct port_pair *pair, int problem, struct error *error)
{
        autofree char *advice = NULL;
        if (problem == EADDRINUSE)
                advice = str_format("; stop the program that listens there, or choose another port with "
                                    "--publish HOSTPORT:%u",
                                    pair->inside);
        if (problem == EACCES)
                advice = str_format("; the kernel reserves low ports for root; use --publish %u:%u",
                                    8000U + pair->host % 1000U, pair->inside);
        return error_set(error, EXIT_SETUP, "--publish %u: cannot listen on 127.0.0.1:%u: %s%s", pair->host,
                         pair->host, strerror(problem), advice ? advice : "");
}

bool nat_helper_start(struct nat_helper *helper, const struct box *box, int filter, struct error *error)
{
        autoclose int nat_talk = -1, nat_setup = -1, nat_dial = -1, sandbox_dial = -1;
        if (!fd_socket_pair(&helper->control, &nat_talk, 0) ||
            !fd_socket_pair(&helper->setup, &nat_setup, 0) || !fd_socket_pair(&sandbox_dial, &nat_dial, 0))
                return fail(error, "a socket");
        /* The published ports go through the sandbox's end of the set-up socket, to which nothing else writes
         * yet. */
        for (size_t i = 0; i < box->network.publish_count; i++) {
                const struct port_pair *pair = &box->network.publish[i];
                if (!listeners_publish(helper->setup, pair->host, pair->inside))
                        return nat_helper_refuse_port(pair, errno, error);
        }
        names_watch_begin(&helper->names, &box->network, helper->control);
        autobuf text = {0};
        nat_helper_write_rules(box, filter >= 0, &text);
        buf_put_text(&text, helper->names.told);
        autoclose int rules = fd_memory_file("rules", text.bytes, text.length);
        explicit_bzero(text.bytes, text.length); /* it holds the credentials of the proxy */
        if (rules < 0)
                errno = -rules;
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (rules < 0 || null < 0)
                return fail(error, "a memory file");
        const int given[] = {
            null,
            null,
            null,
            [NAT_SETUP] = nat_setup,
            [NAT_SUPERVISOR] = nat_talk,
            [NAT_RULES] = rules,
            [NAT_DIALLER] = nat_dial,
            [NAT_FILTER] = filter,
        };
        pid_t process = child_start_helper("hutch-nat", "the network helper", given,
                                           filter >= 0 ? NAT_FILTER + 1 : NAT_FILTER, error);
        if (process < 0)
                return false;
        helper->process = process;
        if (box->network.publish_count)
                helper->dialler = fd_take(&sandbox_dial);
        return true;
}

void nat_helper_close_setup(struct nat_helper *helper)
{
        fd_close(&helper->setup);
        fd_close(&helper->dialler);
}

bool nat_helper_follow_names(struct nat_helper *helper)
{
        int error = names_watch_confine();
        if (error == 0)
                return true;
        fd_close(&helper->names.inotify);
        message("note: changes to /etc/resolv.conf and /etc/hosts are not followed in this run: %s",
                error == -ENOSYS || error == -EOPNOTSUPP ? "this kernel has no Landlock, or it is not enabled"
                                                         : strerror(-error));
        return false;
}

int nat_helper_tell_names(struct nat_helper *helper, const struct network *network)
{
        struct names_watch *names = &helper->names;
        struct nat_message head = {.type = NAT_RESOLVER};
        if (names->inotify >= 0)
                names_watch_renew(names);
        if (names_watch_look(names, HOST_RESOLV_CONF, HOST_HOSTS, network, helper->control)) {
                autoclose int file = fd_memory_file("names", names->told, strlen(names->told));
                if (file >= 0)
                        (void)fd_send(helper->control, &head, sizeof(head), file);
        }
        return names_watch_next_look(names);
}

bool nat_helper_read(struct nat_helper *helper, struct run_log *log)
{
        struct {
                struct nat_message head;
                char text[NAT_TEXT_MAX + 1];
        } in;
        ssize_t length = recv(helper->control, &in, sizeof(in) - 1, MSG_DONTWAIT);
        /* ECONNRESET comes once when it exits with a message unread; its own messages can still be read. */
        if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
                return true;
        if (length < (ssize_t)sizeof(in.head))
                return false;
        in.text[(size_t)length - sizeof(in.head)] = 0;
        switch ((enum nat_message_type)in.head.type) {
        case NAT_DENIED:
                message_as(MESSAGE_REFUSED, "network-allow", "%s", in.text);
                break;
        case NAT_NOTE:
                message("%s", in.text);
                break;
        case NAT_READY:
                message_verbose("the network helper is ready");
                break;
        case NAT_RECORD:
                run_log_add_members(log, in.text);
                break;
        case NAT_RESOLVER:
        case NAT_FINISH:
                break;
        }
        return true;
}

/* Only now is it known which flows were open when the sandbox ended. */
static void take_last_records(struct nat_helper *helper, struct run_log *log)
{
        struct nat_message last = {.type = NAT_FINISH};
        if (fd_send(helper->control, &last, sizeof(last), -1) < 0)
                return;
        struct pollfd news = {.fd = helper->control, .events = POLLIN};
        for (unsigned i = 0; i < LAST_RECORDS && poll(&news, 1, LAST_MS) > 0; i++)
                if (!nat_helper_read(helper, log))
                        break;
}

void nat_helper_end(struct nat_helper *helper, struct run_log *log)
{
        nat_helper_close_setup(helper);
        if (helper->control >= 0 && helper->process > 0 && log->file >= 0)
                take_last_records(helper, log);
        fd_close(&helper->control);
        child_end(&helper->process);
        names_watch_end(&helper->names);
}
