/* SPDX-License-Identifier: Apache-2.0
 *
 * See filter_helper.h. The filter may be taken over by the bytes it reads. So the supervisor prints its text
 * as one quoted line, and appends its pins only under the server that the supervisor chose.
 */
#include "run/filter_helper.h"

#include "lib/child.h"
#include "lib/endpoint.h"
#include "lib/fd.h"
#include "lib/json.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "mcp/pins.h"
#include "mcp/wire.h"
#include "run/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

enum { READY_MS = 10000 }; /* a file of pins can have tens of megabytes */

static bool fail(struct error *error, const char *what)
{
        return error_set(error, EXIT_SETUP, "cannot start the MCP firewall: %s: %s", what, strerror(errno));
}

/* The name of a server among the pins: its command and its package, without version and arguments, because a
 * new version is what the pins must be compared with. Two servers of one name are compared with each other,
 * which never permits more. The caller frees. */
static char *make_identity(const struct box *box, const struct run_log *log)
{
        autofree char *name = run_log_server_name(log);
        autofree char *text = str_format("%s %s", path_base(box->argv.values[0]), name);
        return json_shown(text, strlen(text), FILTER_TEXT_MAX / 8);
}

/* The value of a variable that the user passed on. No record may show it. */
static void write_secret(const struct box *box, const char *variable, struct buf *out)
{
        size_t length = strcspn(variable, "=");
        autofree char *name = str_copy_n(variable, length);
        if (!variable[length] || !str_list_has(&box->secret_names, name))
                return;
        autofree char *text = json_shown(variable + length + 1, strlen(variable + length + 1), SIZE_MAX);
        buf_format(out, "secret %s\n", text);
        explicit_bzero(text, strlen(text));
}

static void write_endpoint(const char *word, const struct endpoint *endpoint, struct buf *out)
{
        if (endpoint->fd < 0)
                buf_format(out, "%s none\n", word);
        else if (endpoint->burst > 0)
                buf_format(out, "%s burst %zu\n", word, endpoint->burst);
        else
                buf_format(out, "%s %s\n", word, endpoint->is_socket ? "socket" : "plain");
}

void filter_helper_write_rules(const struct box *box, const char *server, bool explain, struct buf *out)
{
        const struct tool_rules *rules = &box->tools;
        for (size_t i = 0; i < rules->allow.count; i++)
                buf_format(out, "allow %s\n", rules->allow.values[i]);
        for (size_t i = 0; i < rules->deny.count; i++)
                buf_format(out, "deny %s\n", rules->deny.values[i]);
        buf_put_text(out, rules->deny_sampling ? "deny-sampling\n" : "");
        buf_put_text(out, rules->deny_elicitation ? "deny-elicitation\n" : "");
        buf_put_text(out, rules->deny_roots ? "deny-roots\n" : "");
        buf_put_text(out, rules->pin_accept ? "pin-accept\n" : "");
        buf_put_text(out, explain ? "explain\n" : "");
        buf_put_text(out, box->log_path ? "log\n" : "");
        buf_put_text(out, rules->log_arguments ? "log-arguments\n" : "");
        for (size_t i = 0; i < box->environment.count && rules->log_arguments; i++)
                write_secret(box, box->environment.values[i], out);
        if (rules->pins)
                buf_format(out, "pin %s\nserver %s\n", error_shown(rules->pins), server);
        buf_format(out, "message-max %zu\n", rules->message_max);
}

/* Copies the pins into a sealed file, which is all that the filter gets of them. A descriptor, or a negative
 * errno. */
static int copy_pins(const struct filter_helper *helper)
{
        autofree char *text = NULL;
        ssize_t length = helper->pins < 0 ? 0 : fd_read_all(helper->pins, PINS_FILE_MAX, &text);
        return length < 0 ? (int)length : fd_memory_file("pins", text, (size_t)length);
}

/* Starts the program. The descriptors stay the caller's. */
static bool spawn(struct filter_helper *helper, const struct box *box, int talk, const int server[2], int nat,
                  struct error *error)
{
        __attribute__((cleanup(endpoint_close))) struct endpoint in, out; /* it leaves 0 and 1 open */
        endpoint_open(&in, STDIN_FILENO, O_RDONLY);
        endpoint_open(&out, STDOUT_FILENO, O_WRONLY);
        autobuf text = {0};
        filter_helper_write_rules(box, helper->server, nat >= 0, &text);
        write_endpoint("input", &in, &text);
        write_endpoint("output", &out, &text);
        autoclose int rules = fd_memory_file("rules", text.bytes, text.length);
        explicit_bzero(text.bytes, text.length); /* it holds the values of variables */
        autoclose int pins = copy_pins(helper);
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (pins < 0)
                return error_set(error, EXIT_SETUP, "--pin %s: cannot read it: %s; name another file",
                                 box->tools.pins, strerror(-pins));
        if (rules < 0 || null < 0)
                return fail(error, "a memory file");
        const int given[] = {
            in.fd < 0 ? null : in.fd,
            out.fd < 0 ? null : out.fd,
            null,
            [FILTER_SUPERVISOR] = talk,
            [FILTER_TO_SERVER] = server[0],
            [FILTER_FROM_SERVER] = server[1],
            [FILTER_RULES] = rules,
            [FILTER_PINS] = pins,
            [FILTER_CLIENT_IN] = in.fd < 0 ? null : in.io,
            [FILTER_CLIENT_OUT] = out.fd < 0 ? null : out.io,
            [FILTER_NAT] = nat,
        };
        pid_t process = child_start_helper("hutch-filter", "the MCP firewall", given,
                                           nat >= 0 ? FILTER_NAT + 1 : FILTER_NAT, error);
        if (process < 0)
                return false;
        helper->process = process;
        return true;
}

bool filter_helper_start(struct filter_helper *helper, const struct box *box, const struct run_log *log,
                         int nat, int server[3], struct error *error)
{
        if (box->tools.pins) {
                helper->pins = log_file_open(box, "--pin", box->tools.pins, O_RDWR, error);
                if (helper->pins < 0)
                        return false;
        }
        helper->server = make_identity(box, log);
        autoclose int filter_talk = -1, server_in = -1, to_server = -1, from_server = -1, server_out = -1;
        if (!fd_socket_pair(&helper->control, &filter_talk, 0))
                return fail(error, "a socket");
        if (!fd_pipe(&server_in, &to_server, &to_server) || !fd_pipe(&from_server, &server_out, &from_server))
                return fail(error, "a pipe");
        if (!spawn(helper, box, filter_talk, (const int[]){to_server, from_server}, nat, error))
                return false;
        server[0] = fd_take(&server_in);
        server[1] = fd_take(&server_out);
        return true;
}

bool filter_helper_await(const struct filter_helper *helper, struct error *error)
{
        struct {
                struct filter_message head;
                char text[FILTER_TEXT_MAX + 1];
        } in;
        struct pollfd news = {.fd = helper->control, .events = POLLIN};
        ssize_t got =
            poll(&news, 1, READY_MS) > 0 ? recv(helper->control, &in, sizeof(in) - 1, MSG_DONTWAIT) : 0;
        if (got < (ssize_t)sizeof(in.head))
                return error_set(error, EXIT_SETUP,
                                 "the MCP firewall (hutch-filter) did not start; nothing was run without it");
        if (in.head.type == FILTER_READY) {
                message_verbose("the MCP firewall is ready");
                return true;
        }
        in.text[(size_t)got - sizeof(in.head)] = 0;
        return error_set(error, EXIT_SETUP, "%s", in.text);
}

/* Appends one record to the pins. After a failure nothing more is pinned, and the next run will ask about the
 * tool again. */
static void write_pin(struct filter_helper *helper, const char *members, size_t length)
{
        autobuf line = {0};
        struct json json = {.out = &line};
        if (helper->pins < 0 || memchr(members, '\n', length))
                return;
        autofree char *server = str_format("\"%s\"", helper->server); /* escaped by make_identity() */
        json_open(&json, NULL, '{');
        json_raw(&json, "server", server, strlen(server));
        if (length > 0)
                json_raw(&json, NULL, members, length);
        json_close(&json, "}");
        buf_put_text(&line, "\n");
        ssize_t written = write(helper->pins, line.bytes, line.length);
        if (written != (ssize_t)line.length) {
                message("--pin: cannot write the pins: %s",
                        written < 0 ? strerror(errno) : "the disk is full");
                fd_close(&helper->pins);
        }
}

bool filter_helper_read(struct filter_helper *helper, struct run_log *log)
{
        struct {
                struct filter_message head;
                char text[FILTER_PIN_MAX + 1];
        } in;
        ssize_t got = recv(helper->control, &in, sizeof(in) - 1, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (got < (ssize_t)sizeof(in.head))
                return false;
        size_t length = (size_t)got - sizeof(in.head);
        in.text[length] = 0;
        switch ((enum filter_message_type)in.head.type) {
        case FILTER_NOTE:
                message("%s", in.text);
                break;
        case FILTER_NOISE:
                message_as(MESSAGE_OUTPUT, NULL, "server stdout: %s", in.text);
                break;
        case FILTER_PIN:
                write_pin(helper, in.text, length);
                break;
        case FILTER_READY:
                break; /* filter_helper_await() has read it */
        case FILTER_RECORD:
                run_log_add_members(log, in.text);
                break;
        case FILTER_INPUT_ENDED:
                helper->state.input_ended = true;
                break;
        case FILTER_GIVEN:
                helper->state.given++;
                break;
        case FILTER_CLIENT_GONE:
                helper->state.client_gone = true;
                break;
        case FILTER_TAKEN:
                helper->state.taken++;
                break;
        case FILTER_DRAINED:
                helper->state.drained = true;
                break;
        }
        return true;
}

void filter_helper_end(struct filter_helper *helper, struct run_log *log)
{
        /* The filter reports before it writes its last line to the client, so all of it is here already. */
        enum { LAST_MESSAGES = 4096 };
        char more;
        for (unsigned i = 0; i < LAST_MESSAGES && helper->control >= 0; i++)
                if (recv(helper->control, &more, sizeof(more), MSG_DONTWAIT | MSG_PEEK) <= 0 ||
                    !filter_helper_read(helper, log))
                        break;
        fd_close(&helper->control);
        child_end(&helper->process);
        fd_close(&helper->pins);
        free(helper->server);
        helper->server = NULL;
}
