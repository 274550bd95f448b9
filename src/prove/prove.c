/* SPDX-License-Identifier: Apache-2.0
 *
 * See prove.h.
 */
#include "prove/prove.h"

#include "box/describe.h"
#include "grants/watched_names.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/program.h"
#include "prove/decoys.h"
#include "prove/report.h"
#include "resolve/resolve.h"
#include "run/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

enum { SESSION_SECONDS = 30, LINE_MOST = 2048 };

/* One run of hutch-prove. */
struct session {
        bool terminal;
        const char *subcommand; /* of hutch; NULL: outside */
        struct inner inner;
        int input, output; /* ends of its standard input and of its report */
        bool ready, done;
        size_t rows, promised; /* rows that came, and the number in its last line */
        char line[LINE_MOST];
        size_t length;
};

/* The attempts outside look for the marker in this memory. */
static struct decoys decoys;

/* The user's words that a sandbox gets, and behind them those of this proof. */
static struct str_list box_words;

/* ---- the program ---- */

bool prove_words(int argc, char **argv, struct str_list *words, struct error *error)
{
        for (int i = 0; i < argc; i++) {
                if (str_equal(argv[i], "--"))
                        return error_set(error, EXIT_USAGE,
                                         "prove takes no command: it runs its own attempts in the sandbox");
                str_list_take(words, argv[i]);
                /* Copies: reading an option blanks its value. */
                if (!str_equal(argv[i], "--json") && !str_equal(argv[i], "--dry-run"))
                        str_list_add(&box_words, argv[i]);
        }
        static char found[PATH_MAX];
        autofree char *program = program_find("hutch-prove");
        if (!program || !memccpy(found, program, 0, sizeof(found)))
                return error_set(
                    error, EXIT_SETUP,
                    "hutch-prove, the program with the attempts, is missing beside hutch and in %s; "
                    "install hutch again",
                    HUTCH_LIBEXECDIR);
        static char separator[] = "--", mode[] = "inside";
        str_list_take(words, separator);
        str_list_take(words, found);
        str_list_take(words, mode);
        return true;
}

/* ---- sessions ---- */

/* Opens the file for the standard error of the sessions. It begins with a secret, because a client's log may
 * hold some too. */
static int open_log(void)
{
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/log", decoys.directory);
        int log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log >= 0)
                (void)dprintf(log, "%s\n", decoys.marker);
        return log;
}

/* Like pipe(): what is written to the second end comes to the first, which is a terminal. */
static bool open_terminal(int ends[2])
{
        char name[64];
        ends[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (ends[1] < 0 || grantpt(ends[1]) < 0 || unlockpt(ends[1]) < 0 ||
            ptsname_r(ends[1], name, sizeof(name)) != 0)
                return false;
        ends[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        return ends[0] >= 0;
}

/* Outside the attempts run alone, with the secret as their only variable. hutch gets it first among its own.
 */
static bool start_process(struct session *session, const char *program, const int *given, size_t count)
{
        struct str_list words = {0}, variables = {0};
        struct error error = {0};
        autofree char *hutch = program_self();
        str_list_take(&variables, str_format("HUTCH_PROVE_SECRET=%s", decoys.marker));
        session->inner.child = (struct child){.program = session->subcommand ? hutch : program,
                                              .given = given,
                                              .given_count = count,
                                              .session = session->terminal};
        if (session->subcommand) {
                str_list_add_each(&words, "hutch", session->subcommand, NULL);
                /* hutch-filter, which --log needs, would drop the lines of the attempts: they are not MCP
                 * messages. */
                if (!session->terminal)
                        str_list_add(&words, "--raw-stdout");
                str_list_add_all(&words, &box_words);
                for (char **variable = environ; *variable; variable++)
                        str_list_add(&variables, *variable);
                session->inner.child.environment = variables.values;
                (void)inner_start(&session->inner, &words, &error);
        } else {
                str_list_add_each(&words, program, "outside", NULL);
                session->inner.child.words = words.values;
                session->inner.child.environment = variables.values;
                session->inner.process = child_start(&session->inner.child);
        }
        str_list_free(&words);
        str_list_free(&variables);
        return session->inner.process > 0;
}

static bool start_session(struct session *session, const char *program)
{
        int input[2], output[2];
        session->input = session->output = -1;
        session->inner.lines = session->inner.output[0].pipe = session->inner.output[1].pipe = -1;
        if (!(session->terminal ? open_terminal(input) : pipe2(input, O_CLOEXEC) == 0))
                return false;
        autoclose int input_end = input[0];
        session->input = input[1];
        if (pipe2(output, O_CLOEXEC) < 0)
                return false;
        session->output = output[0];
        autoclose int output_end = output[1], log = open_log();
        /* The last two are open in hutch, and must not be in the sandbox. */
        const int given[] = {input_end,
                             session->terminal ? input_end : output_end,
                             session->terminal ? output_end : log,
                             [INNER_STATUS] = decoys.directory_descriptor, /* hutch has its own there */
                             decoys.directory_descriptor,
                             decoys.socket_descriptor};
        return start_process(session, program, given, sizeof(given) / sizeof(*given));
}

static enum decoy_side side_of(const struct session *session)
{
        return session->subcommand ? DECOYS_INSIDE : DECOYS_OUTSIDE;
}

static void session_take_line(struct session *session, struct prove_results *results)
{
        session->line[session->length] = 0;
        int read = session->line[0] == '{' ? prove_results_read(results, session->line) : -1;
        if (read > 0)
                session->rows++;
        if (read != 0)
                return;
        if (str_starts(session->line, "{\"done\":")) {
                session->done = true;
                session->promised = strtoul(session->line + strlen("{\"done\":"), NULL, 10);
        } else if (!session->ready) {
                session->ready = true;
                if (session->terminal)
                        return;
                decoys_make_later(&decoys, side_of(session));
                pid_t supervisor = session->subcommand ? session->inner.process : getpid();
                (void)decoys_describe(&decoys, side_of(session), supervisor, session->input);
        }
}

/* Reads from the report. False at its end. */
static bool read_session(struct session *session, struct prove_results *results)
{
        char data[4096];
        ssize_t length = read(session->output, data, sizeof(data));
        if (length < 0 && errno == EINTR)
                return true;
        for (ssize_t i = 0; i < length; i++) {
                if (data[i] == '\n') {
                        session_take_line(session, results);
                        session->length = 0;
                } else if (session->length < LINE_MOST - 1) {
                        session->line[session->length++] = data[i];
                }
        }
        return length > 0;
}

/* Reads until the session has sent its last line, has ended, or takes too long. */
static void watch_session(struct session *session, struct prove_results *results)
{
        long long deadline = clock_now_ms() + SESSION_SECONDS * 1000LL;
        enum decoy_side side = side_of(session);
        while (!session->done) {
                struct pollfd polls[2] = {{.fd = session->output, .events = POLLIN},
                                          {.fd = decoys.udp[side], .events = POLLIN}};
                long long left = deadline - clock_now_ms();
                if (left <= 0)
                        return;
                (void)inner_wait(&session->inner, polls, 2, (int)left);
                if (polls[1].revents)
                        decoys_answer(&decoys, side);
                if (polls[0].revents && !read_session(session, results))
                        return;
        }
}

/* A complete session ends by itself, so that its hutch can clean up. A hang-up of its terminal would stop it.
 */
static void end_session(struct session *session)
{
        long long deadline = clock_now_ms() + SESSION_SECONDS * 1000LL, left = 0;
        while (session->done && (left = deadline - clock_now_ms()) > 0 &&
               inner_wait(&session->inner, NULL, 0, (int)left))
                ;
        bool hangs = !session->done || session->inner.lines >= 0;
        if (hangs && session->inner.process > 0)
                kill(session->inner.process, SIGKILL);
        (void)inner_end(&session->inner);
        fd_close(&session->input);
        fd_close(&session->output);
}

/* True when the session sent a row for each attempt. */
static bool run_session(struct session *session, const char *program, struct prove_results *results)
{
        if (start_session(session, program))
                watch_session(session, results);
        end_session(session);
        return session->done && session->promised == session->rows;
}

/* ---- the sandbox ---- */

static void say_nothing(void *context, const char *line, size_t length)
{
        (void)context;
        (void)line;
        (void)length;
}

/* Grants the program, not the directory that contains it, and the two directories of decoys, beside what the
 * user grants. The program is the command. */
static void add_words(const char *program)
{
        autofree char *writable = path_join(decoys.base[DECOYS_INSIDE], "grant");
        autofree char *readable = path_join(decoys.base[DECOYS_INSIDE], "readonly");
        str_list_add_each(&box_words, "--no-auto-grant", "--ro", program, "--rw", writable, "--ro", readable,
                          "--", program, "inside", NULL);
}

/* Repeats the notes of the sandbox. Those about refused connections are left out: the attempts caused them,
 * and nobody should permit them. */
static void repeat_note(enum message_kind kind, const char *option, const char *text)
{
        if (kind != MESSAGE_REFUSED)
                message_as(kind, option, "%s", text);
}

/* Makes the box of the same words: what is described, and by which the results are judged. */
static bool make_box(struct box *box, struct error *error)
{
        struct str_list words = {0};
        struct options options = {0};
        struct held_sources held = {0};
        str_list_add_all(&words, &box_words);
        bool made = options_parse(&options, "mcp", (int)words.count, words.values, error) &&
                    resolve_box(box, &held, BOX_MCP, &options, error);
        held_sources_release(&held);
        watched_names_release(&held);
        options_free(&options);
        str_list_free(&words);
        return made;
}

/* False, with *error set, when a session outside is incomplete. */
static bool show_outside(const char *program, struct prove_results *results, struct error *error)
{
        struct session server = {0}, command = {.terminal = true};
        if (run_session(&server, program, results) && run_session(&command, program, results))
                return true;
        return error_set(error, EXIT_SETUP, "the attempts could not be shown outside: %s ended early",
                         program);
}

/* Sets *complete when both sessions inside are complete, and *limits to what held them. False, with *error
 * set, when the sandbox did not start. */
static bool try_inside(const char *program, struct prove_results *results, bool *complete,
                       struct limits *limits, struct error *error)
{
        struct session server = {.subcommand = "mcp", .inner.note = repeat_note};
        struct session command = {.subcommand = "run", .terminal = true};
        *complete = run_session(&server, program, results);
        if (!server.inner.started)
                return error_set(error, EXIT_SETUP, "%s", server.inner.error.text);
        limits->memory = server.inner.limits.memory;
        limits->processes = server.inner.limits.processes;
        limits->processors = server.inner.limits.processors;
        *complete &= run_session(&command, program, results);
        return true;
}

/* The box is made after the attempts outside: those replace files that it grants. */
static int attack(const struct options *options, struct error *error)
{
        const char *program = options->command.values[0];
        struct prove_results results = {0};
        struct box box = {0};
        int status = 1;
        bool complete = false;
        bool tried = show_outside(program, &results, error);
        decoys_forget_signals(&decoys);
        /* The hutch that is started says the same notes. */
        messages_send_to(say_nothing, NULL);
        tried = tried && make_box(&box, error);
        messages_send_to(NULL, NULL);
        if (tried && try_inside(program, &results, &complete, &box.limits, error)) {
                for (size_t i = 0; i < results.count; i++)
                        results.rows[i].spoiled = decoys_spoiled(&decoys, DECOYS_INSIDE, results.rows[i].id);
                prove_results_judge(&results, &box, decoys.base[DECOYS_INSIDE], options->no_protect);
                status = complete && prove_results_good(&results) ? 0 : 1;
                if (!(options->json ? prove_write_json(&results, stdout)
                                    : prove_write_table(&results, options->verbose > 0, stdout)))
                        error_set(error, 1, "cannot write to standard output: %s", strerror(errno));
        }
        prove_results_free(&results);
        box_free(&box);
        return status;
}

int prove(const struct options *options, struct error *error)
{
        const char *program = options->command.values[0];
        struct box box = {0};
        int status = 0;
        signal(SIGPIPE, SIG_IGN);
        if (decoys_make(&decoys, program, error)) {
                add_words(program);
                if (options->dry_run)
                        status = make_box(&box, error) && describe_box(&box, stdout) ? 0 : 1;
                else
                        status = attack(options, error);
        }
        decoys_end(&decoys);
        box_free(&box);
        str_list_free(&box_words);
        return status;
}
