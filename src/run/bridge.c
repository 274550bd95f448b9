/* SPDX-License-Identifier: Apache-2.0
 *
 * See bridge.h.
 *
 * Theory of operation
 *
 *   client 0 ──► input ──► server's stdin
 *   client 1 ◄── output (line judge) ◄── server's stdout
 *   client 2 ◄── errors (bounded queue) ◄── server's stderr
 *                   ▲ noise lines of stdout, hutch's own lines
 *
 * The supervisor polls. bridge_poll() names what to wait for, and bridge_move() does what has become
 * possible. Input and output read only when nothing is left to write, and write at once what they read. So a
 * message costs one read and one write, and a side that does not read stops the side that writes. Stderr is
 * different: it is always read, and what does not fit is dropped and counted, so a client that ignores stderr
 * cannot stall its server. Nothing but the server's bytes ever goes to stdout.
 *
 * A descriptor that would report the same condition for ever (a hang-up, an error, room that nobody needs)
 * leaves the poll set once the condition is known. So an idle bridge sleeps in every half-closed state.
 *
 * An empty buffer is filled from its start again, so small messages never touch most of its pages.
 * OUTPUT_SIZE has room for the content of a full pipe after the longest line that is held.
 */
#include "run/bridge.h"
#include "lib/endpoint.h"
#include "lib/fd.h"
#include "lib/line.h"
#include "lib/str.h"
#include "run/queue.h"
#include "run/stdout_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
        INPUT_SIZE = 64 * 1024,
        OUTPUT_SIZE = LINE_WHOLE_MAX + 64 * 1024,
        DROP_SIZE = 16 * 1024,
        NOISE_TEXT_MAX = 1024,
        ERRORS = POLLERR | POLLHUP | POLLNVAL,
};

enum role { CLIENT_IN, CLIENT_OUT, CLIENT_ERR, SERVER_IN, SERVER_OUT, SERVER_ERR, ROLES };
_Static_assert((int)ROLES < (int)BRIDGE_POLL_MAX, "bridge_poll names one of them twice");

struct bridge {
        struct endpoint client_in, client_out, client_err;
        int server_in, server_out, server_err; /* the bridge's ends, which do not block; -1 once closed */
        enum role roles[BRIDGE_POLL_MAX];      /* of the entries that bridge_poll() filled in last */
        unsigned long long bytes_taken;

        bool input_at_end;  /* there is nothing more to read */
        bool input_hung_up; /* the client has closed its end, but there may be more to read */
        unsigned long long bytes_given;
        size_t input_start, input_end; /* read from the client, not yet written to the server */

        bool judging;
        bool output_at_end;
        struct stdout_lines lines;
        size_t output_start, output_end; /* read from the server, not yet written to the client */
        size_t output_passed;            /* the first bytes of these, which the judge has passed */

        bool errors_full; /* the client took less than it was offered; wait for POLLOUT */
        struct queue errors;

        char input[INPUT_SIZE];
        char output[OUTPUT_SIZE];
};

/* ---- input: client to server */

static void read_input(struct bridge *bridge)
{
        ssize_t got = endpoint_read(&bridge->client_in, bridge->input, sizeof bridge->input);

        if (got > 0)
                bridge->input_end = (size_t)got;
        else if (got != -EAGAIN) /* no error lets more input follow, so each counts as the end */
                bridge->input_at_end = true;
}

/* Goes on reading the input of a server that closed its stdin, to notice the end of input. */
static void write_input(struct bridge *bridge)
{
        size_t length = bridge->input_end - bridge->input_start;

        if (length > 0 && bridge->server_in >= 0) {
                ssize_t put = write(bridge->server_in, bridge->input + bridge->input_start, length);

                if (put >= 0) {
                        bridge->input_start += (size_t)put;
                        bridge->bytes_given += (size_t)put;
                } else if (errno != EAGAIN && errno != EINTR)
                        fd_close(&bridge->server_in);
        }
        if (bridge->server_in < 0 || bridge->input_start == bridge->input_end)
                bridge->input_start = bridge->input_end = 0;
        if (bridge->input_at_end && bridge->input_end == 0)
                fd_close(&bridge->server_in);
}

/* ---- output: server to client */

static void report_noise(struct bridge *bridge, const char *text, size_t length)
{
        char quoted[NOISE_TEXT_MAX];
        char line[NOISE_TEXT_MAX + 64];

        while (length > 0 && strchr("\n\r\t ", text[length - 1]))
                length--;
        error_quote(quoted, sizeof quoted, text, length);
        snprintf(line, sizeof line, "[hutch] server stdout: %s\n", quoted);
        bridge_say(bridge, line, strlen(line));
}

/* Judges the bytes at output_start until some may be written. False when more bytes are needed first. */
static bool judge_output(struct bridge *bridge)
{
        while (bridge->output_start < bridge->output_end) {
                const char *data = bridge->output + bridge->output_start;
                size_t run = bridge->output_end - bridge->output_start;
                enum stdout_lines_verdict verdict = STDOUT_LINES_MESSAGE;

                if (bridge->judging)
                        verdict = stdout_lines_judge(&bridge->lines, data, run, bridge->output_at_end, &run);
                if (verdict == STDOUT_LINES_HOLD)
                        return false;
                if (verdict == STDOUT_LINES_MESSAGE) {
                        bridge->output_passed = run;
                        return true;
                }
                if (verdict == STDOUT_LINES_NOISE)
                        report_noise(bridge, data, run);
                bridge->output_start += run;
        }
        return false;
}

static void lose_client(struct bridge *bridge)
{
        endpoint_close(&bridge->client_out);
        fd_close(&bridge->server_out);
        bridge->output_at_end = true;
        bridge->output_start = bridge->output_end = bridge->output_passed = 0;
}

static void write_output(struct bridge *bridge)
{
        while (bridge->output_passed > 0 || judge_output(bridge)) {
                ssize_t put = endpoint_write(&bridge->client_out, bridge->output + bridge->output_start,
                                             bridge->output_passed);

                if (put < 0 && put != -EAGAIN)
                        lose_client(bridge);
                if (put <= 0)
                        return;
                bridge->bytes_taken += (size_t)put;
                bridge->output_start += (size_t)put;
                bridge->output_passed -= (size_t)put;
                if (bridge->output_passed > 0)
                        return;
        }
        /* The rest is the start of a line. Moving it to the front keeps the used part of the buffer small. */
        bridge->output_end -= bridge->output_start;
        if (bridge->output_start > 0)
                memmove(bridge->output, bridge->output + bridge->output_start, bridge->output_end);
        bridge->output_start = 0;
}

static void read_output(struct bridge *bridge)
{
        ssize_t got = read(bridge->server_out, bridge->output + bridge->output_end,
                           sizeof bridge->output - bridge->output_end);

        if (got > 0) {
                bridge->output_end += (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                fd_close(&bridge->server_out);
                bridge->output_at_end = true;
        }
}

/* ---- errors: server's stderr, and hutch's own lines, to the client */

static void read_errors(struct bridge *bridge)
{
        char dropped[DROP_SIZE];
        char *where = dropped;
        size_t room = bridge->client_err.fd < 0 ? 0 : queue_room(&bridge->errors, &where);
        ssize_t got = read(bridge->server_err, where, room > 0 ? room : sizeof dropped);

        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
                fd_close(&bridge->server_err);
        if (got <= 0)
                return;
        if (room > 0)
                queue_put(&bridge->errors, (size_t)got);
        else if (bridge->client_err.fd >= 0)
                queue_drop(&bridge->errors, (size_t)got);
}

static void write_errors(struct bridge *bridge)
{
        const char *data;
        size_t length = queue_front(&bridge->errors, &data);
        ssize_t put;

        if (length == 0 || bridge->errors_full)
                return;
        put = endpoint_write(&bridge->client_err, data, length);
        if (put < 0 && put != -EAGAIN) {
                endpoint_close(&bridge->client_err);
                queue_forget(&bridge->errors);
                return;
        }
        if (put > 0) {
                bridge->bytes_taken += (size_t)put;
                queue_took(&bridge->errors, (size_t)put);
        }
        bridge->errors_full = put < (ssize_t)length;
}

/* ---- the poll loop */

static void want(struct bridge *bridge, struct pollfd *polls, size_t *count, enum role role, int fd,
                 short events)
{
        if (fd < 0)
                return;
        bridge->roles[*count] = role;
        polls[(*count)++] = (struct pollfd){.fd = fd, .events = events};
}

size_t bridge_poll(struct bridge *bridge, struct pollfd *polls, size_t *quiet)
{
        size_t count = 0;

        /* No event is asked for: poll() reports the error that the end of the client causes. */
        want(bridge, polls, &count, CLIENT_OUT, bridge->client_out.fd, 0);
        want(bridge, polls, &count, SERVER_ERR, bridge->server_err, POLLIN);
        *quiet = count;

        if (bridge->input_end > 0)
                want(bridge, polls, &count, SERVER_IN, bridge->server_in, POLLOUT);
        /* While the server does not take its input, wait only for the client's end. */
        short wanted = bridge->input_end > 0 ? POLLRDHUP : POLLIN;
        if (!bridge->input_at_end && !(bridge->input_hung_up && bridge->input_end > 0))
                want(bridge, polls, &count, CLIENT_IN, bridge->client_in.fd, wanted);

        if (bridge->output_passed == 0)
                want(bridge, polls, &count, SERVER_OUT, bridge->server_out, POLLIN);
        if (bridge->output_passed > 0)
                want(bridge, polls, &count, CLIENT_OUT, bridge->client_out.fd, POLLOUT);
        if (queue_is_pending(&bridge->errors))
                want(bridge, polls, &count, CLIENT_ERR, bridge->client_err.fd, POLLOUT);
        return count;
}

void bridge_move(struct bridge *bridge, const struct pollfd *polls, size_t count)
{
        short reported[ROLES] = {0};

        for (size_t i = 0; i < count; i++)
                reported[bridge->roles[i]] = (short)(reported[bridge->roles[i]] | polls[i].revents);

        if (reported[CLIENT_IN] & (ERRORS | POLLRDHUP))
                bridge->input_hung_up = true;
        if (reported[CLIENT_IN] && bridge->input_end == 0)
                read_input(bridge);
        if (reported[CLIENT_IN] || reported[SERVER_IN])
                write_input(bridge);

        if (reported[CLIENT_OUT] & ERRORS)
                lose_client(bridge);
        else if (reported[SERVER_OUT])
                read_output(bridge);
        if (reported[SERVER_OUT] || reported[CLIENT_OUT])
                write_output(bridge);

        if (reported[SERVER_ERR])
                read_errors(bridge);
        if (reported[CLIENT_ERR])
                bridge->errors_full = false;
        queue_settle(&bridge->errors, !reported[SERVER_ERR] || bridge->server_err < 0);
        write_errors(bridge);
}

struct bytes_state bridge_state(const struct bridge *bridge)
{
        return (struct bytes_state){
            .input_ended = bridge->input_at_end || bridge->input_hung_up,
            .client_gone = bridge->client_out.fd < 0,
            .drained = bridge->output_at_end && bridge->output_end == 0 && bridge->server_err < 0 &&
                       !queue_is_pending(&bridge->errors),
            .given = bridge->bytes_given,
            .taken = bridge->bytes_taken,
        };
}

void bridge_say(void *context, const char *line, size_t length)
{
        struct bridge *bridge = context;

        if (bridge->client_err.fd >= 0)
                queue_add_line(&bridge->errors, line, length);
}

/* ---- beginning and end */

struct bridge *bridge_new(bool lines, const bool passed[3], int server[3], struct error *error)
{
        struct bridge *bridge = str_or_die(calloc(1, sizeof *bridge));

        bridge->judging = lines;
        bridge->server_in = bridge->server_out = bridge->server_err = -1;
        server[0] = server[1] = server[2] = -1;
        bridge->client_in = bridge->client_out = (struct endpoint){.fd = -1, .io = -1};
        if (!passed[STDIN_FILENO])
                endpoint_open(&bridge->client_in, STDIN_FILENO, O_RDONLY);
        if (!passed[STDOUT_FILENO])
                endpoint_open(&bridge->client_out, STDOUT_FILENO, O_WRONLY);
        endpoint_open(&bridge->client_err, STDERR_FILENO,
                      O_WRONLY); /* also where stderr is passed: hutch's own lines need it */

        /* The ends of a pipe are two open file descriptions, so the server's blocks as usual. */
        if ((!passed[0] && !fd_pipe(&server[0], &bridge->server_in, &bridge->server_in)) ||
            (!passed[1] && !fd_pipe(&bridge->server_out, &server[1], &bridge->server_out)) ||
            (!passed[2] && !fd_pipe(&bridge->server_err, &server[2], &bridge->server_err))) {
                error_set(error, EXIT_SETUP, "cannot make the pipes of the command: %s", strerror(errno));
                for (int i = 0; i < 3; i++)
                        fd_close(&server[i]);
                bridge_free(bridge);
                return NULL;
        }

        if (bridge->client_in.fd < 0) {
                bridge->input_at_end = true;
                write_input(bridge);
        }
        if (bridge->client_out.fd < 0)
                lose_client(bridge);
        return bridge;
}

void bridge_free(struct bridge *bridge)
{
        bridge->errors_full = false;
        while (queue_is_pending(&bridge->errors) && !bridge->errors_full) {
                queue_settle(&bridge->errors, true);
                write_errors(bridge);
        }

        endpoint_close(&bridge->client_in);
        endpoint_close(&bridge->client_out);
        endpoint_close(&bridge->client_err);
        fd_close(&bridge->server_in);
        fd_close(&bridge->server_out);
        fd_close(&bridge->server_err);
        free(bridge);
}
