/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_log.h. Lines are written as they come, by one write() each, so that what is known is there even
 * when hutch is killed; nothing is synchronised to the disk. All calls but those of run_log_begin() are among
 * the few that the supervisor's filter permits.
 */
#include "run/run_log.h"

#include "command/server_name.h"
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
            480, /* with RECORD_LINES_MAX lines, every quote doubled, less than RUN_STORE_FILE_MAX */
};

static void write_line(struct run_log *record, const char *text)
{
        struct log_line line;
        log_line_begin(&line, "line");
        log_line_text(&line, "text", text, LINE_BYTES_MAX);
        (void)log_line_write(&line, record->file);
}

/* A message_sink. The prefix says nothing in a record. */
static void take_line(void *context, const char *line, size_t length)
{
        struct run_log *record = context;
        static const char prefix[] = "[hutch] ";
        size_t skipped = sizeof(prefix) - 1;
        if (record->lines == RECORD_LINES_MAX) {
                record->left_out++;
                return;
        }
        record->lines++;
        autofree char *text = str_copy_n(line + skipped, length - skipped - 1);
        if (record->file >= 0)
                write_line(record, text);
        else if (!record->begun)
                str_list_add(&record->early, text);
}

void run_log_prepare(struct run_log *record, int count, char **words)
{
        *record =
            (struct run_log){.file = -1, .log = -1, .id = run_store_new_id(), .begun_ms = clock_now_ms()};
        for (int i = 0; i < count && !record->command.values; i++)
                if (str_equal(words[i], "--"))
                        record->command = (struct str_list){words + i + 1, (size_t)(count - i - 1)};
        messages_record(take_line, record);
}

void run_log_prepare_for_log(struct run_log *record, const struct str_list *command)
{
        *record = (struct run_log){.command = *command,
                                   .file = -1,
                                   .log = -1,
                                   .id = run_store_new_id(),
                                   .begun_ms = clock_now_ms(),
                                   .for_log_alone = true};
}

static void put_grants(struct log_line *line, const struct box *box)
{
        size_t count = 0;
        log_line_list(line, "grants");
        for (size_t i = 0; i < box->mount_count; i++) {
                const struct mount *mount = &box->mounts[i];
                if (!mount_is_asked_for(mount))
                        continue;
                const char *how = mount->kind == MOUNT_OVERLAY ? "overlay" : mount->writable ? "rw" : "ro";
                autofree char *grant = str_format("%s %s", how, mount->source);
                if (count++ < GRANTS_MAX)
                        log_line_item(line, grant, GRANT_BYTES_MAX);
        }
        log_line_list_end(line);
        log_line_number(line, "grant_count", count);
}

static void put_id(struct log_line *line, const struct run_log *record)
{
        char id[9];
        snprintf(id, sizeof(id), "%08" PRIx32, record->id);
        log_line_text(line, "sandbox", id, sizeof(id));
}

/* To the file of --log. One that cannot be written any more is said and given up. */
static void write_log(struct run_log *record, struct log_line *line)
{
        int written = record->log < 0 ? 0 : log_line_write(line, record->log);
        if (written >= 0)
                return;
        fd_close(&record->log);
        message("--log: cannot write any more: %s; what follows is in no log", strerror(-written));
}

static void put_rules(struct log_line *line, const char *key, const struct destinations *list)
{
        log_line_list(line, key);
        for (size_t i = 0; i < list->count; i++)
                log_line_item(line, list->items[i].text, GRANT_BYTES_MAX);
        log_line_list_end(line);
}

static int write_start(struct run_log *record, int file, const char *name, const struct box *box)
{
        struct log_line line;
        log_line_begin(&line, "start");
        put_id(&line, record);
        log_line_text(&line, "name", name, SERVER_NAME_MAX);
        log_line_text(&line, "kind", box->kind == BOX_MCP ? "mcp" : "run", LOG_TEXT_MAX);
        log_line_number(&line, "pid", (uint64_t)getpid());
        log_line_text(&line, "command", path_base(record->command.values[0]), COMMAND_BYTES_MAX);
        put_grants(&line, box);
        put_rules(&line, "network_allow", &box->network.rules.allow);
        put_rules(&line, "network_deny", &box->network.rules.deny);
        autofree char *limits = limits_describe(&box->limits, box->memory_fs_bytes);
        log_line_text(&line, "limits", limits, LOG_TEXT_MAX);
        write_log(record, &line);
        return file < 0 ? 0 : log_line_write(&line, file);
}

char *run_log_server_name(const struct run_log *record)
{
        autofree char *cwd = getcwd(NULL, 0);
        autofree char *work = path_join(cwd && cwd[0] == '/' ? cwd : "/", record->cwd ? record->cwd : ".");
        return server_name(&record->command, work);
}

/* 0, or a negative errno. */
static int make_file(struct run_log *record, const struct box *box)
{
        autofree char *name = run_log_server_name(record);
        if (record->for_log_alone)
                return write_start(record, -1, name, box);
        autoclose int runs = run_store_open(true);
        bool exposed = runs >= 0 && run_store_is_exposed(runs, box);
        autoclose int file = runs < 0 ? runs : exposed ? -EXDEV : run_store_add_run(runs, name, record->id);
        int written = write_start(record, file, name, box);
        if (file < 0)
                return file;
        if (written < 0) /* an empty file is no run; the next ones remove it */
                return ftruncate(file, 0) == 0 ? written : -errno;
        record->file = fd_take(&file);
        return 0;
}

void run_log_begin(struct run_log *record, const struct box *box)
{
        if (record->command.count == 0)
                return;
        /* A bound on the size of files (ulimit -f) is an error like a full disk; the command keeps the
         * caller's setting, because it was cloned before. */
        signal(SIGXFSZ, SIG_IGN);
        int error = make_file(record, box);
        record->begun = true;
        if (error < 0)
                message_verbose("this run is kept in no log: %s",
                                error == -EXDEV ? "a writable grant leads to hutch's own state"
                                : error == -EPERM
                                    ? "hutch's state directory is not the caller's alone (chmod 700)"
                                    : strerror(-error));
        for (size_t i = 0; i < record->early.count && record->file >= 0; i++)
                write_line(record, record->early.values[i]);
        str_list_free(&record->early);
}

bool run_log_open_log(struct run_log *record, const struct box *box, struct error *error)
{
        if (box->log_path)
                record->log = log_file_open(box, "--log", box->log_path, O_WRONLY, error);
        return !box->log_path || record->log >= 0;
}

void run_log_members(struct run_log *record, const char *members)
{
        struct log_line line;
        if (record->log < 0 || !log_line_begin_members(&line, members))
                return;
        put_id(&line, record);
        write_log(record, &line);
}

void run_log_limit(struct run_log *record, const char *limit, const char *value, const char *mechanism)
{
        struct log_line line;
        if (record->log < 0)
                return;
        log_line_begin(&line, "limit");
        put_id(&line, record);
        log_line_text(&line, "limit", limit, LOG_TEXT_MAX);
        log_line_text(&line, "value", value, LOG_TEXT_MAX);
        log_line_text(&line, "mechanism", mechanism, LOG_TEXT_MAX);
        write_log(record, &line);
}

void run_log_end(struct run_log *record, int status)
{
        static const char *const words[] = {
            [ENDING_FAILED] = "failed",     [ENDING_EXITED] = "exit",     [ENDING_SIGNALLED] = "signal",
            [ENDING_TIMED_OUT] = "timeout", [ENDING_STOPPED] = "stopped", [ENDING_ABANDONED] = "client gone",
            [ENDING_KILLED] = "killed",     [ENDING_LIMIT] = "limit",     [ENDING_UNENFORCED] = "unenforced",
        };
        struct log_line line;
        messages_record(NULL, NULL);
        str_list_free(&record->early);
        if (record->file < 0 && record->log < 0)
                return;
        log_line_begin(&line, "end");
        put_id(&line, record);
        log_line_text(&line, "how", words[record->ending], LOG_TEXT_MAX);
        log_line_number(&line, "status", (uint64_t)status);
        if (record->signal_number)
                log_line_number(&line, "signal", (uint64_t)record->signal_number);
        log_line_number(&line, "duration_ms", (uint64_t)(clock_now_ms() - record->begun_ms));
        log_line_number(&line, "lines_left_out", record->left_out);
        write_log(record, &line);
        if (record->file >= 0)
                (void)log_line_write(&line, record->file);
        fd_close(&record->file);
        fd_close(&record->log);
}
