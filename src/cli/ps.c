/* SPDX-License-Identifier: Apache-2.0
 *
 * See ps.h. The records of a run become one JSON object with a fixed set of keys, each of a fixed type. The
 * tables are written from that object.
 */
#include "cli/ps.h"

#include "command/server_name.h"
#include "lib/fd.h"
#include "options/help.h"
#include "run/run_store.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { EXIT_NOTHING = 1 };

struct words {
        bool json, help;
        const char *name; /* or NULL */
};

static bool read_words(const struct subcommand_row *row, int argc, char **argv, bool takes_name,
                       struct words *words, struct error *error)
{
        for (int i = 0; i < argc; i++) {
                if (str_equal(argv[i], "--json"))
                        words->json = true;
                else if (str_equal(argv[i], "--help") || str_equal(argv[i], "-h"))
                        words->help = true;
                else if (argv[i][0] == '-' || !takes_name)
                        return error_set(error, EXIT_USAGE, "%s takes no %s", row->name,
                                         error_shown(argv[i]));
                else if (words->name)
                        return error_set(error, EXIT_USAGE, "%s takes one name", row->name);
                else if (!argv[i][0])
                        return error_set(error, EXIT_USAGE, "%s: the name is empty", row->name);
                else
                        words->name = argv[i];
        }
        return true;
}

static bool read_state(const char *name, struct run_store_runs *list, struct error *error)
{
        autofree char *clean = name ? server_name_clean(name) : NULL;
        int failed = run_store_read(clean, list);
        if (failed == -EPERM)
                return error_set(error, EXIT_NOTHING,
                                 "hutch's state directory (see hutch(1), FILES) is not yours alone: run "
                                 "chmod 700 on it, or remove it if somebody else made it");
        if (failed < 0)
                return error_set(error, EXIT_NOTHING,
                                 "cannot read hutch's state directory (see hutch(1), FILES): %s",
                                 failed == -ELOOP || failed == -ENOTDIR ? "a link or a file is in its place"
                                                                        : strerror(-failed));
        return true;
}

/* ---- from records to an object ---- */

static void add_member(cJSON *object, const char *key, cJSON *value)
{
        if (!cJSON_AddItemToObject(object, key, str_or_die(value)))
                str_or_die(NULL);
}

/* A text of a record, made printable, because the file may contain anything. NULL if it is not a text. */
static cJSON *make_text(const cJSON *value)
{
        char shown[1100];
        if (!cJSON_IsString(value))
                return NULL;
        return str_or_die(cJSON_CreateString(
            error_quote(shown, sizeof(shown), value->valuestring, strlen(value->valuestring))));
}

static void add_text(cJSON *object, const char *key, const cJSON *record)
{
        cJSON *text = make_text(cJSON_GetObjectItemCaseSensitive(record, key));
        add_member(object, key, text ? text : cJSON_CreateNull());
}

/* cJSON's numbers are exact up to 2^53, far above all of these. */
static void add_number(cJSON *object, const char *key, const cJSON *record)
{
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(record, key);
        bool usable = cJSON_IsNumber(number) && number->valuedouble >= 0 && number->valuedouble < 1e15;
        add_member(object, key, usable ? cJSON_CreateNumber(number->valuedouble) : cJSON_CreateNull());
}

static void add_texts(cJSON *object, const char *key, const cJSON *list)
{
        cJSON *texts = str_or_die(cJSON_CreateArray());
        const cJSON *item;
        cJSON_ArrayForEach(item, list)
        {
                cJSON *text = make_text(item);
                if (text)
                        cJSON_AddItemToArray(texts, text);
        }
        add_member(object, key, texts);
}

static void add_time(cJSON *object, const char *key, uint64_t microseconds)
{
        char text[32];
        const time_t seconds = (time_t)(microseconds / 1000000);
        struct tm parts;
        size_t length =
            gmtime_r(&seconds, &parts) ? strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) : 0;
        add_member(object, key, length > 0 ? cJSON_CreateString(text) : cJSON_CreateNull());
}

/* The records of a run: its start, its end (each may be NULL), and the texts of the lines between them. */
struct records {
        cJSON *start, *end, *lines;
};

static void sort_record(struct records *records, cJSON *record)
{
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(record, "event"));
        if (event && str_equal(event, "line")) {
                cJSON *text = cJSON_DetachItemFromObjectCaseSensitive(record, "text");
                if (text)
                        cJSON_AddItemToArray(records->lines, text);
        }
        cJSON **place = !event                      ? NULL
                        : str_equal(event, "start") ? &records->start
                        : str_equal(event, "end")   ? &records->end
                                                    : NULL;
        if (place && !*place)
                *place = record;
        else
                cJSON_Delete(record);
}

static struct records read_records(const struct run_store_run *run)
{
        struct records records = {.lines = str_or_die(cJSON_CreateArray())};
        const char *line = run->text, *end = run->text + run->text_length, *line_end;
        /* A line without an LF was cut off by a kill or a full disk. */
        for (; line < end && (line_end = memchr(line, '\n', (size_t)(end - line))); line = line_end + 1) {
                cJSON *record = cJSON_ParseWithLength(line, (size_t)(line_end - line));
                if (record)
                        sort_record(&records, record);
        }
        return records;
}

/* NULL if the file has no start of a run. */
static cJSON *make_run(const struct run_store_run *run)
{
        struct records records = read_records(run);
        cJSON *object = records.start ? str_or_die(cJSON_CreateObject()) : NULL;
        if (object) {
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                long long age = (long long)now.tv_sec - (long long)(run->started / 1000000);
                add_member(object, "id", cJSON_CreateString(run->id));
                add_member(object, "name", cJSON_CreateString(run->name));
                add_text(object, "kind", records.start);
                add_member(object, "running", cJSON_CreateBool(run->running));
                add_number(object, "pid", records.start);
                add_time(object, "started", run->started);
                add_member(object, "age_seconds", cJSON_CreateNumber(age > 0 ? (double)age : 0));
                add_text(object, "command", records.start);
                add_texts(object, "grants", cJSON_GetObjectItemCaseSensitive(records.start, "grants"));
                add_number(object, "grant_count", records.start);
                if (!run->running && !records.end)
                        add_member(object, "how", cJSON_CreateString("hutch killed"));
                else
                        add_text(object, "how", records.end);
                add_number(object, "status", records.end);
                add_number(object, "signal", records.end);
                add_number(object, "duration_ms", records.end);
                add_texts(object, "lines", records.lines);
                add_number(object, "lines_left_out", records.end);
        }
        cJSON_Delete(records.start);
        cJSON_Delete(records.end);
        cJSON_Delete(records.lines);
        return object;
}

/* An array of the runs for which `wanted` is true, oldest first. */
static cJSON *make_runs(const struct run_store_runs *list,
                        bool (*wanted)(const struct run_store_runs *, size_t))
{
        cJSON *array = str_or_die(cJSON_CreateArray());
        for (size_t i = 0; i < list->count; i++) {
                cJSON *run = wanted(list, i) ? make_run(&list->runs[i]) : NULL;
                if (run)
                        cJSON_AddItemToArray(array, run);
        }
        return array;
}

/* ---- writing ---- */

static bool write_json(const cJSON *array)
{
        autofree char *text = cJSON_Print(array);
        return text && printf("%s\n", text) > 0;
}

static const char *text_of(const cJSON *run, const char *key)
{
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, key));
        return text ? text : "-";
}

static long long number_of(const cJSON *run, const char *key)
{
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(run, key);
        return cJSON_IsNumber(number) ? (long long)number->valuedouble : 0;
}

/* 4.2 s, 3 min, 5 h, 2 days. The caller frees. */
static char *show_duration(long long milliseconds)
{
        const long long minute = 60000, hour = 60 * minute, day = 24 * hour;
        if (milliseconds < minute)
                return str_format("%lld.%lld s", milliseconds / 1000, milliseconds % 1000 / 100);
        if (milliseconds < 2 * hour)
                return str_format("%lld min", milliseconds / minute);
        if (milliseconds < 2 * day)
                return str_format("%lld h", milliseconds / hour);
        return str_format("%lld days", milliseconds / day);
}

/* The caller frees. */
static char *show_grants(const cJSON *run)
{
        char *shown = str_copy("");
        const cJSON *item, *grants = cJSON_GetObjectItemCaseSensitive(run, "grants");
        long long left = number_of(run, "grant_count") - cJSON_GetArraySize(grants);
        cJSON_ArrayForEach(item, grants)
        {
                char *longer = str_format("%s%s%s", shown, shown[0] ? ", " : "", item->valuestring);
                free(shown);
                shown = longer;
        }
        if (left > 0) {
                char *longer = str_format("%s and %lld more", shown, left);
                free(shown);
                shown = longer;
        }
        return shown;
}

static bool write_ps(const cJSON *runs)
{
        int width = (int)strlen("NAME"), command_width = (int)strlen("COMMAND");
        const cJSON *run;
        cJSON_ArrayForEach(run, runs)
        {
                int length = (int)strlen(text_of(run, "name"));
                int command_length = (int)strlen(text_of(run, "command"));
                width = length > width ? length : width;
                command_width = command_length > command_width ? command_length : command_width;
        }
        printf("%-8s  %-*s  %7s  %8s  %-*s  %s\n", "ID", width, "NAME", "PID", "AGE", command_width,
               "COMMAND", "GRANTS");
        cJSON_ArrayForEach(run, runs)
        {
                autofree char *age = show_duration(number_of(run, "age_seconds") * 1000);
                autofree char *grants = show_grants(run);
                printf("%-8s  %-*s  %7lld  %8s  %-*s  %s\n", text_of(run, "id"), width, text_of(run, "name"),
                       number_of(run, "pid"), age, command_width, text_of(run, "command"), grants);
        }
        return !ferror(stdout);
}

/* The caller frees. */
static char *show_ending(const cJSON *run)
{
        const char *how = text_of(run, "how");
        long long number = number_of(run, "signal"), status = number_of(run, "status");
        const char *name = number > 0 && number < NSIG ? strsignal((int)number) : "unknown";
        autofree char *duration = show_duration(number_of(run, "duration_ms"));
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "running")))
                return str_copy("still running");
        if (str_equal(how, "hutch killed"))
                return str_copy("hutch itself was killed");
        if (str_equal(how, "exit"))
                return str_format("exit %lld after %s", status, duration);
        if (str_equal(how, "signal"))
                return str_format("ended by signal %lld (%s) after %s", number, name, duration);
        if (str_equal(how, "stopped"))
                return str_format("hutch was stopped by signal %lld (%s) after %s", number, name, duration);
        if (str_equal(how, "timeout"))
                return str_format("stopped by --timeout after %s", duration);
        if (str_equal(how, "client gone"))
                return str_format("stopped after %s, because the client was gone", duration);
        if (str_equal(how, "limit"))
                return str_format("ended at a limit after %s", duration);
        if (str_equal(how, "unenforced"))
                return str_format("stopped after %s, because hutch could no longer confine it", duration);
        if (str_equal(how, "killed"))
                return str_format("killed from outside after %s", duration);
        return str_format("did not start, status %lld", status);
}

static bool write_logs(const cJSON *runs)
{
        const cJSON *run, *line;
        cJSON_ArrayForEach(run, runs)
        {
                autofree char *ending = show_ending(run);
                autofree char *grants = show_grants(run);
                long long left_out = number_of(run, "lines_left_out");
                printf("%s  %s  %s  (%s %s)\n", text_of(run, "started"), text_of(run, "name"), ending,
                       text_of(run, "kind"), text_of(run, "command"));
                if (grants[0])
                        printf("    granted: %s\n", grants);
                cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(run, "lines"))
                {
                        printf("    %s\n", line->valuestring);
                }
                if (left_out > 0)
                        printf("    and %lld more lines\n", left_out);
        }
        return !ferror(stdout);
}

/* ---- the subcommands ---- */

static bool is_running(const struct run_store_runs *list, size_t i)
{
        return list->runs[i].running;
}

static bool is_any(const struct run_store_runs *list, size_t i)
{
        (void)list;
        (void)i;
        return true;
}

static bool is_last_of_server(const struct run_store_runs *list, size_t i)
{
        for (size_t later = i + 1; later < list->count; later++)
                if (str_equal(list->runs[later].name, list->runs[i].name))
                        return false;
        return true;
}

/* The name of the last run whose name contains `part`, or NULL. A client may use a shorter name for a server,
 * which hutch does not know. The caller frees. */
static char *find_name_with(const char *part)
{
        struct run_store_runs list;
        if (!part[0] || run_store_read(NULL, &list) < 0)
                return NULL;
        char *found = NULL;
        for (size_t i = list.count; i-- > 0 && !found;)
                if (strstr(list.runs[i].name, part))
                        found = str_copy(list.runs[i].name);
        run_store_runs_free(&list);
        return found;
}

/* Writes the array to standard output, and frees it. */
static int write_runs(cJSON *runs, bool (*write)(const cJSON *), struct error *error)
{
        bool written = write(runs) && fflush(stdout) == 0;
        if (!written)
                error_set(error, EXIT_NOTHING, "cannot write to standard output: %s", strerror(errno));
        cJSON_Delete(runs);
        return 0;
}

int ps_show(const struct subcommand_row *row, int argc, char **argv, struct error *error)
{
        struct words words = {0};
        struct run_store_runs list;
        if (!read_words(row, argc, argv, false, &words, error))
                return 0;
        if (words.help)
                return help_write(row, stdout) ? 0 : EXIT_NOTHING;
        if (!read_state(NULL, &list, error))
                return 0;
        cJSON *runs = make_runs(&list, is_running);
        run_store_runs_free(&list);
        return write_runs(runs, words.json ? write_json : write_ps, error);
}

int logs_show(const struct subcommand_row *row, int argc, char **argv, struct error *error)
{
        struct words words = {0};
        struct run_store_runs list;
        if (!read_words(row, argc, argv, true, &words, error))
                return 0;
        if (words.help)
                return help_write(row, stdout) ? 0 : EXIT_NOTHING;
        if (!read_state(words.name, &list, error))
                return 0;
        cJSON *runs = make_runs(&list, words.name ? is_any : is_last_of_server);
        run_store_runs_free(&list);
        if (words.name && cJSON_GetArraySize(runs) == 0) {
                cJSON_Delete(runs);
                autofree char *meant = find_name_with(words.name);
                if (meant)
                        error_set(error, EXIT_NOTHING, "no run of %s is recorded; did you mean %s?",
                                  error_shown(words.name), error_shown(meant));
                else
                        error_set(
                            error, EXIT_NOTHING,
                            "no run of %s is recorded; `hutch logs` without a name shows those that are",
                            error_shown(words.name));
                return 0;
        }
        return write_runs(runs, words.json ? write_json : write_logs, error);
}
