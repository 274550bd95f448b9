/* SPDX-License-Identifier: Apache-2.0
 *
 * The program hutch-filter, which sits between the client and the server. hutch starts it with the
 * descriptors of wire.h, an empty environment and no arguments. It reads its rules, confines itself, and runs
 * until the supervisor hangs up. It reads hostile bytes from both sides, so it must never open a file, start
 * a program or create a socket; policy/seccomp/filter.json has the system calls that remain.
 */
#include "mcp/direction.h"
#include "mcp/firewall.h"
#include "mcp/report.h"

#include "lib/err.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "seccomp-filter.h"
#include "seccomp/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

enum { RULES_MAX = 64 << 20 };

static struct firewall firewall;
static struct endpoint input, output; /* the client's */

/* Reports why the filter cannot start; `error` is an errno, or 0. */
static _Noreturn void die(const char *what, int error)
{
        filter_report_note("the MCP firewall (hutch-filter) cannot start: %s%s%s", what, error ? ": " : "",
                           error ? strerror(error) : "");
        _exit(EXIT_SETUP);
}

/* Adds a value that no record may contain. `text` is the inside of a JSON string. */
static void read_secret(const char *text)
{
        autofree char *quoted = str_format("\"%s\"", text);
        size_t length;
        autofree char *value = json_text_of((struct json_span){quoted, strlen(quoted)}, &length);
        call_log_hide(&firewall.calls, value);
}

/* One of the client's descriptors, by what the supervisor knows about it. */
static struct endpoint read_endpoint(const char *kind, int waited_on, int used)
{
        const char *burst = str_after_word(kind, "burst");
        if (str_equal(kind, "none"))
                return (struct endpoint){.fd = -1, .io = -1};
        return (struct endpoint){.fd = waited_on,
                                 .io = used,
                                 .is_socket = str_equal(kind, "socket"),
                                 .burst = burst ? strtoul(burst, NULL, 10) : 0};
}

static void read_rule(const char *line)
{
        struct tool_rules *rules = &firewall.rules;
        const struct {
                const char *word;
                bool *is;
        } flags[] = {
            {"deny-sampling", &rules->deny_sampling},
            {"deny-elicitation", &rules->deny_elicitation},
            {"deny-roots", &rules->deny_roots},
            {"pin-accept", &firewall.pins.accept},
            {"explain", &firewall.explain.on},
            {"log", &firewall.calls.on},
            {"log-arguments", &firewall.calls.arguments},
        };
        const char *rest;
        for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
                if (str_equal(line, flags[i].word)) {
                        *flags[i].is = true;
                        return;
                }
        if ((rest = str_after_word(line, "allow")))
                str_list_add(&rules->allow, rest);
        else if ((rest = str_after_word(line, "deny")))
                str_list_add(&rules->deny, rest);
        else if ((rest = str_after_word(line, "message-max")))
                (void)str_read_digits(rest, SIZE_MAX / 2, &rules->message_max);
        else if ((rest = str_after_word(line, "input")))
                input = read_endpoint(rest, STDIN_FILENO, FILTER_CLIENT_IN);
        else if ((rest = str_after_word(line, "output")))
                output = read_endpoint(rest, STDOUT_FILENO, FILTER_CLIENT_OUT);
        else if ((rest = str_after_word(line, "server")))
                firewall.pins.server = str_copy(rest);
        else if ((rest = str_after_word(line, "pin")))
                firewall.pins.file = str_copy(rest);
        else if ((rest = str_after_word(line, "secret")))
                read_secret(rest);
        else
                die(line, 0);
}

/* Reads a descriptor to its end and closes it. The caller frees. */
static char *read_and_close(int descriptor, size_t most, size_t *length)
{
        char *text = NULL;
        ssize_t got = lseek(descriptor, 0, SEEK_SET) < 0 ? -errno : fd_read_all(descriptor, most, &text);
        close(descriptor);
        if (got < 0)
                die("cannot read its rules or pins", (int)-got);
        *length = (size_t)got;
        return text;
}

static void read_rules(void)
{
        size_t length;
        autofree char *lines = read_and_close(FILTER_RULES, RULES_MAX, &length);
        char *position = NULL;
        for (char *line = strtok_r(lines, "\n", &position); line; line = strtok_r(NULL, "\n", &position))
                read_rule(line);
        if (firewall.rules.message_max == 0)
                die("its rules are incomplete", 0);
}

static void read_pins(void)
{
        size_t length;
        autofree char *text = read_and_close(FILTER_PINS, PINS_FILE_MAX, &length);
        size_t broken = firewall.pins.on ? pins_read(&firewall.pins, &firewall.scanner, text, length) : 0;
        if (broken > 0) {
                filter_report_note(
                    "--pin %s: line %zu of the file is not a record, so the file cannot be trusted; repair "
                    "the line, or remove the file to pin the tools as they are now",
                    firewall.pins.file, broken);
                _exit(EXIT_SETUP);
        }
}

static void confine(void)
{
        struct seccomp_program filter = {.code = program_filter,
                                         .length = sizeof(program_filter) / sizeof(*program_filter)};
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                die("cannot confine itself", errno);
        int error = seccomp_install(&filter);
        if (error < 0)
                die("cannot load its system call filter", -error);
}

static void prepare(void)
{
        uint64_t seed;
        signal(SIGPIPE, SIG_IGN);
        (void)prctl(PR_SET_NAME, "hutch-filter", 0, 0, 0);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
            getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
                die("prctl", errno);
        read_rules();
        firewall.pins.on = firewall.pins.file != NULL;
        firewall_begin(&firewall, seed);
        read_pins();
}

static _Noreturn void run(struct direction directions[SIDES])
{
        for (int i = 0; i < SIDES; i++)
                direction_open(&directions[i]);
        for (;;) {
                struct pollfd polls[1 + SIDES * DIRECTION_POLLS] = {{.fd = FILTER_SUPERVISOR}};
                for (int i = 0; i < SIDES; i++)
                        direction_poll(&directions[i], polls + 1 + i * DIRECTION_POLLS);
                if (poll(polls, sizeof(polls) / sizeof(*polls), -1) < 0)
                        continue;
                if (polls[0].revents) /* the supervisor hung up */
                        _exit(0);
                for (int i = 0; i < SIDES; i++)
                        direction_read(&directions[i], polls + 1 + i * DIRECTION_POLLS);
                for (int i = 0; i < SIDES; i++)
                        direction_write(&directions[i]);
        }
}

int main(void)
{
        static struct direction directions[SIDES];
        const struct endpoint to_server = {.fd = FILTER_TO_SERVER, .io = FILTER_TO_SERVER};
        const struct endpoint from_server = {.fd = FILTER_FROM_SERVER, .io = FILTER_FROM_SERVER};
        prepare();
        direction_begin(&directions[CLIENT], &firewall, CLIENT, input, to_server);
        direction_begin(&directions[SERVER], &firewall, SERVER, from_server, output);
        confine();
        filter_report(FILTER_READY, "", 0);
        run(directions);
}
