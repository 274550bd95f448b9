/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_log.h. Every line is written at once, by one write(), so that a killed hutch leaves all that was
 * known. Nothing is synchronised to the disk. Only run_log_begin() makes calls that the supervisor's filter
 * refuses.
 */
#include "run/run_log.h"

#include "command/server_name.h"
#include "grants/past_grants.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log_line.h"
#include "lib/messages.h"
#include "run/log_file.h"
#include "run/run_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
        GRANTS_MAX = 8,
        GRANT_BYTES_MAX = 160,
        COMMAND_BYTES_MAX = 64,
        LINE_BYTES_MAX =
            480, /* RUN_LOG_LINES_MAX lines with every byte escaped stay below RUN_STORE_FILE_MAX */
};

static void write_line(struct run_log *log, const char *text)
{
        autoline line = {0};
        log_line_begin(&line, "line");
        log_line_text(&line, "text", text, LINE_BYTES_MAX);
        (void)log_line_write(&line, log->store_file);
}

/* A message_sink. A record does not need the prefix. */
static void record_line(void *context, const char *line, size_t length)
{
        struct run_log *log = context;
        static const char prefix[] = "[hutch] ";
        size_t skipped = sizeof(prefix) - 1;
        if (log->lines == RUN_LOG_LINES_MAX) {
                log->left_out++;
                return;
        }
        log->lines++;
        autofree char *text = str_copy_n(line + skipped, length - skipped - 1);
        if (log->store_file >= 0)
                write_line(log, text);
        else if (!log->begun)
                str_list_add(&log->early, text);
}

void run_log_prepare(struct run_log *log, int count, char **words)
{
        *log = (struct run_log){.store_file = -1,
                                .file = -1,
                                .id = run_store_new_id(),
                                .begun_ms = clock_now_ms(),
                                .failure.stage = STAGE_COUNT};
        for (int i = 0; i < count && !log->command.values; i++)
                if (str_equal(words[i], "--"))
                        log->command = (struct str_list){words + i + 1, (size_t)(count - i - 1)};
        messages_record(record_line, log);
}

static void put_grants(struct log_line *line, const struct box *box)
{
        struct str_list grants = {0};
        size_t count = 0;
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                const char *how = mount->kind == MOUNT_OVERLAY ? "overlay" : mount->writable ? "rw" : "ro";
                if (mount_is_asked_for(mount) && count++ < GRANTS_MAX)
                        str_list_take(&grants, str_format("%s %s", how, mount->source));
        }
        log_line_list(line, "grants", &grants, GRANT_BYTES_MAX);
        str_list_free(&grants);
        log_line_number(line, "grant_count", count);
}

static void put_id(struct log_line *line, const struct run_log *log)
{
        char id[9];
        snprintf(id, sizeof(id), "%08" PRIx32, log->id);
        log_line_text(line, "sandbox", id, sizeof(id));
}

/* Writes to the file of --log. Reports a failure once and stops writing to it. */
static void write_log(struct run_log *log, struct log_line *line)
{
        int written = log->file < 0 ? 0 : log_line_write(line, log->file);
        if (written >= 0)
                return;
        fd_close(&log->file);
        message("--log: cannot write: %s; the rest of this run is not logged", strerror(-written));
}

static void put_rules(struct log_line *line, const char *key, const struct destinations *list)
{
        struct str_list rules = {0};
        for (size_t i = 0; i < list->count; i++)
                str_list_add(&rules, list->items[i].text);
        log_line_list(line, key, &rules, GRANT_BYTES_MAX);
        str_list_free(&rules);
}

static int write_start(struct run_log *log, int file, const char *name, const struct box *box)
{
        autoline line = {0};
        log_line_begin(&line, "start");
        put_id(&line, log);
        log_line_text(&line, "name", name, SERVER_NAME_MAX);
        log_line_text(&line, "kind", box->kind == BOX_MCP ? "mcp" : "run", LOG_TEXT_MAX);
        log_line_number(&line, "pid", (uint64_t)getpid());
        log_line_text(&line, "command", path_base(log->command.values[0]), COMMAND_BYTES_MAX);
        put_grants(&line, box);
        put_rules(&line, "network_allow", &box->network.rules.allow);
        put_rules(&line, "network_deny", &box->network.rules.deny);
        autofree char *limits = limits_describe(&box->limits, box->memory_fs_bytes);
        log_line_text(&line, "limits", limits, LOG_TEXT_MAX);
        write_log(log, &line);
        return file < 0 ? 0 : log_line_write(&line, file);
}

char *run_log_server_name(const struct run_log *log)
{
        autofree char *work = path_join(log->directory ? log->directory : "/", log->cwd ? log->cwd : ".");
        return server_name(&log->command, work);
}

/* 0, or a negative errno. */
static int make_file(struct run_log *log, const struct box *box)
{
        autofree char *name = run_log_server_name(log);
        if (log->for_log_alone)
                return write_start(log, -1, name, box);
        autoclose int runs = run_store_open(true);
        bool exposed = runs >= 0 && run_store_is_exposed(runs, box);
        autoclose int file = runs < 0 ? runs : exposed ? -EXDEV : run_store_add_run(runs, name, log->id);
        int written = write_start(log, file, name, box);
        if (runs >= 0 && !exposed && log->is_started)
                past_grants_keep(runs, box);
        if (file < 0)
                return file;
        if (written < 0) /* the next run removes an empty file */
                return ftruncate(file, 0) == 0 ? written : -errno;
        log->store_file = fd_take(&file);
        return 0;
}

void run_log_begin(struct run_log *log, const struct box *box)
{
        if (log->command.count == 0)
                return;
        /* A limit on file sizes (ulimit -f) becomes an error like a full disk. The command keeps the caller's
         * setting, because it was cloned before. */
        signal(SIGXFSZ, SIG_IGN);
        int error = make_file(log, box);
        log->begun = true;
        if (error < 0)
                message_verbose("hutch logs will not show this run: %s",
                                error == -EXDEV ? "a writable grant leads to hutch's own state"
                                : error == -EPERM
                                    ? "other users can enter hutch's state directory (chmod 700)"
                                    : strerror(-error));
        for (size_t i = 0; i < log->early.count && log->store_file >= 0; i++)
                write_line(log, log->early.values[i]);
        str_list_free(&log->early);
}

bool run_log_open_file(struct run_log *log, const struct box *box, struct error *error)
{
        if (box->log_path)
                log->file = log_file_open(box, "--log", box->log_path, O_WRONLY, error);
        return !box->log_path || log->file >= 0;
}

void run_log_add_members(struct run_log *log, const char *members)
{
        autoline line = {0};
        if (log->file < 0 || !log_line_begin_members(&line, members))
                return;
        put_id(&line, log);
        write_log(log, &line);
}

void run_log_add_limit(void *run_log, const char *limit, const char *value, const char *mechanism)
{
        struct run_log *log = run_log;
        autoline line = {0};
        if (log->file < 0)
                return;
        log_line_begin(&line, "limit");
        put_id(&line, log);
        log_line_text(&line, "limit", limit, LOG_TEXT_MAX);
        log_line_text(&line, "value", value, LOG_TEXT_MAX);
        log_line_text(&line, "mechanism", mechanism, LOG_TEXT_MAX);
        write_log(log, &line);
}

void run_log_end(struct run_log *log, int status)
{
        autoline line = {0};
        messages_record(NULL, NULL);
        str_list_free(&log->early);
        if (log->store_file < 0 && log->file < 0)
                return;
        log_line_begin(&line, "end");
        put_id(&line, log);
        log_line_text(&line, "how", ending_name(log->ending), LOG_TEXT_MAX);
        log_line_number(&line, "status", (uint64_t)status);
        if (log->signal_number)
                log_line_number(&line, "signal", (uint64_t)log->signal_number);
        log_line_number(&line, "duration_ms", (uint64_t)(clock_now_ms() - log->begun_ms));
        log_line_number(&line, "lines_left_out", log->left_out);
        write_log(log, &line);
        if (log->store_file >= 0)
                (void)log_line_write(&line, log->store_file);
        fd_close(&log->store_file);
        fd_close(&log->file);
}
