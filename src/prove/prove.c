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
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>

enum { SESSION_SECONDS = 30, LINE_MOST = 2048 };

/* One run of hutch-prove. */
struct session {
        const char *mode;
        bool terminal;
        const struct box *box; /* NULL: outside */
        struct held_sources *held;
        pid_t pid;
        int input, output; /* ends of its standard input and of its report */
        bool ready, done;
        size_t rows, promised; /* rows that came, and the number in its last line */
        int status;            /* the wait status of its process */
        char line[LINE_MOST];
        size_t length;
        bool overlong;
};

/* The attempts look for the marker in this memory: supervisors are copies of this process. */
static struct decoys decoys;

/* ---- the program ---- */
bool prove_words(int argc, char **argv, struct str_list *words, struct error *error)
{
        for (int i = 0; i < argc; i++) {
                if (str_equal(argv[i], "--"))
                        return error_set(error, EXIT_USAGE,
                                         "prove takes no command: it runs its own attempts in the sandbox");
                str_list_take(words, argv[i]);
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

/* Makes the terminal `name` the controlling one of a new session, and its 0 and 1. */
static bool take_terminal(const char *name)
{
        if (setsid() < 0)
                return false;
        autoclose int slave = open(name, O_RDWR | O_CLOEXEC);
        return slave >= 0 && ioctl(slave, TIOCSCTTY, 0) == 0 && dup2(slave, 0) == 0 && dup2(slave, 1) == 1;
}

/* The child: runs the session on its descriptors 0, 1 and 2. */
static _Noreturn void be_session(const struct session *session, const char *program)
{
        /* The keeper must see this pipe close when hutch ends, not when a session does. */
        close(decoys.lifeline);
        messages_send_to(NULL, NULL);
        if (!session->box) {
                char secret[128];
                (void)snprintf(secret, sizeof(secret), "HUTCH_PROVE_SECRET=%s", decoys.marker);
                char *const words[] = {str_copy(program), str_copy(session->mode), NULL};
                char *const variables[] = {secret, NULL};
                execve(program, words, variables);
                _exit(EXIT_SETUP);
        }
        struct error error = {0};
        (void)setenv("HUTCH_PROVE_SECRET", decoys.marker, 1);
        struct run_log record;
        run_log_prepare_for_log(&record, &session->box->argv);
        int status = supervise(session->box, session->held, &record, &error);
        if (error.status) {
                message("%s", error.text);
                status = error.status;
        }
        run_log_end(&record, status);
        _exit(status);
}

/* Opens the file for the standard error of a session. It begins with a secret, because a client's log may
 * hold some too. */
static int open_log(const char *name)
{
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s.log", decoys.directory, name);
        int log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log >= 0)
                (void)dprintf(log, "%s\n", decoys.marker);
        return log;
}

static bool start_session(struct session *session, const char *program)
{
        int input[2], output[2];
        if (pipe2(input, O_CLOEXEC) < 0)
                return false;
        autoclose int input_read = input[0];
        session->input = input[1];
        if (pipe2(output, O_CLOEXEC) < 0)
                return false;
        session->output = output[0];
        autoclose int output_write = output[1];
        autoclose int log = open_log(session->mode);
        autoclose int master = -1;
        char name[64] = "";
        if (session->terminal) {
                master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
                if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
                    ptsname_r(master, name, sizeof(name)) != 0)
                        return false;
        }
        pid_t hutch = getpid();
        session->pid = fork();
        if (session->pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                bool placed = session->terminal ? take_terminal(name) && dup2(output_write, 2) == 2
                                                : dup2(input_read, 0) == 0 && dup2(output_write, 1) == 1 &&
                                                      dup2(log, 2) == 2;
                if (!placed || getppid() != hutch)
                        _exit(EXIT_SETUP);
                close(session->input);
                close(session->output);
                be_session(session, program);
        }
        /* The terminal hangs up when its other end is closed. */
        if (session->terminal) {
                close(session->input);
                session->input = fd_take(&master);
        }
        return session->pid > 0;
}

static enum decoy_side side_of(const struct session *session)
{
        return session->box ? DECOYS_INSIDE : DECOYS_OUTSIDE;
}

static void session_take_line(struct session *session, struct prove_results *results)
{
        session->line[session->length] = 0;
        int read =
            session->overlong || session->line[0] != '{' ? -1 : prove_results_read(results, session->line);
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
                pid_t supervisor = session->box ? session->pid : getpid();
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
                        session->overlong = false;
                } else if (session->length < LINE_MOST - 1) {
                        session->line[session->length++] = data[i];
                } else {
                        session->overlong = true;
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
                if (left <= 0 || (poll(polls, 2, (int)left) < 0 && errno != EINTR))
                        return;
                if (polls[1].revents)
                        decoys_answer(&decoys, side);
                if (polls[0].revents && !read_session(session, results))
                        return;
        }
}

static void end_session(struct session *session)
{
        fd_close(&session->input);
        fd_close(&session->output);
        if (session->pid <= 0)
                return;
        /* A complete session ends by itself, so that its supervisor can clean up. */
        if (!session->done)
                kill(session->pid, SIGKILL);
        while (waitpid(session->pid, &session->status, 0) < 0 && errno == EINTR)
                ;
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

static void grant_path(struct options *options, const char *path, bool writable)
{
        *array_add(options->grants, options->grant_count) = (struct grant_option){
            .path = str_copy(path), .writable = writable, .option = writable ? "--rw" : "--ro"};
}

/* Grants the two directories of decoys, beside what the user grants. */
static void grant_decoys(struct options *options)
{
        autofree char *writable = path_join(decoys.base[DECOYS_INSIDE], "grant");
        autofree char *readable = path_join(decoys.base[DECOYS_INSIDE], "readonly");
        grant_path(options, writable, true);
        grant_path(options, readable, false);
}

/* Repeats the messages of the supervisor. Those about refused connections are left out: the attempts caused
 * them, and nobody should permit them. */
static void show_log(const char *name)
{
        char path[PATH_MAX];
        char *data;
        (void)snprintf(path, sizeof(path), "%s/%s.log", decoys.directory, name);
        if (fd_read_file(path, 1 << 20, &data) < 0)
                return;
        autofree char *text = data;
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
                if (str_starts(line, "[hutch] ") && !str_starts(line, "[hutch] network: refused "))
                        message("%s", line + strlen("[hutch] "));
}

struct boxes {
        struct box server, command;
        struct held_sources held_server, held_command;
};

static bool make_boxes(struct boxes *boxes, struct options *options, struct error *error)
{
        if (!resolve_box(&boxes->server, &boxes->held_server, BOX_MCP, options, error))
                return false;
        /* The second box gets the same messages as the first, so they are dropped. */
        messages_send_to(say_nothing, NULL);
        char **mode = &options->command.values[1];
        free(*mode);
        *mode = str_copy("inside-terminal");
        bool made = resolve_box(&boxes->command, &boxes->held_command, BOX_RUN, options, error);
        messages_send_to(NULL, NULL);
        return made;
}

/* False, with *error set, when a session outside is incomplete. */
static bool show_outside(const char *program, struct prove_results *results, struct error *error)
{
        struct session server = {.mode = "outside", .input = -1, .output = -1};
        struct session command = {.mode = "outside-terminal", .terminal = true, .input = -1, .output = -1};
        if (run_session(&server, program, results) && run_session(&command, program, results))
                return true;
        return error_set(error, EXIT_SETUP, "the attempts could not be shown outside: %s ended early",
                         program);
}

/* Sets *complete when both sessions inside are complete. False, with *error set, when the sandbox did not
 * start; the log says why. */
static bool try_inside(const char *program, struct boxes *boxes, struct prove_results *results,
                       bool *complete, struct error *error)
{
        struct session server = {
            .mode = "inside", .input = -1, .output = -1, .box = &boxes->server, .held = &boxes->held_server};
        struct session command = {.mode = "inside-terminal",
                                  .terminal = true,
                                  .input = -1,
                                  .output = -1,
                                  .box = &boxes->command,
                                  .held = &boxes->held_command};
        *complete = run_session(&server, program, results);
        show_log(server.mode);
        if (!server.ready && WIFEXITED(server.status) && WEXITSTATUS(server.status) == EXIT_SETUP)
                return error_set(error, EXIT_SETUP, "the sandbox did not start: the line above says why");
        *complete &= run_session(&command, program, results);
        return true;
}

/* The boxes are made after the attempts outside: those replace files, and a box records device and inode of
 * what it grants. */
static int attack(struct options *options, struct boxes *boxes, struct error *error)
{
        const char *program = options->command.values[0];
        struct prove_results results = {0};
        int status = 1;
        bool complete = false;
        bool tried = show_outside(program, &results, error);
        decoys_forget_signals(&decoys);
        if (tried && make_boxes(boxes, options, error) &&
            try_inside(program, boxes, &results, &complete, error)) {
                for (size_t i = 0; i < results.count; i++)
                        results.rows[i].spoiled = decoys_spoiled(&decoys, DECOYS_INSIDE, results.rows[i].id);
                prove_results_judge(&results, &boxes->server, decoys.base[DECOYS_INSIDE],
                                    options->no_protect);
                status = complete && prove_results_good(&results) ? 0 : 1;
                if (!(options->json ? prove_write_json(&results, stdout)
                                    : prove_write_table(&results, options->verbose > 0, stdout)))
                        error_set(error, 1, "cannot write to standard output: %s", strerror(errno));
        }
        prove_results_free(&results);
        return status;
}

int prove(struct options *options, struct error *error)
{
        struct boxes boxes = {0};
        int status = 0;
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);
        /* Only the program is granted, not the directory that contains it. */
        grant_path(options, options->command.values[0], false);
        options->no_auto_grant = true;
        /* The lines of the attempts are not messages, which the bridge and hutch-filter would drop. */
        options->raw_stdout = true;
        bool made = decoys_make(&decoys, options->command.values[0], error);
        if (made)
                grant_decoys(options);
        if (made && options->dry_run)
                status = make_boxes(&boxes, options, error) && describe_box(&boxes.server, stdout) &&
                                 fflush(stdout) == 0
                             ? 0
                             : 1;
        else if (made)
                status = attack(options, &boxes, error);
        decoys_end(&decoys);
        held_sources_release(&boxes.held_server);
        held_sources_release(&boxes.held_command);
        watched_names_release(&boxes.held_server);
        watched_names_release(&boxes.held_command);
        box_free(&boxes.server);
        box_free(&boxes.command);
        return status;
}
