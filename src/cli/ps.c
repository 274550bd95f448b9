/* SPDX-License-Identifier: Apache-2.0
 *
 * See ps.h. The records of a run become one JSON object with a fixed set of keys, each of a fixed type, or a
 * row of a table.
 */
#include "cli/ps.h"

#include "command/server_name.h"
#include "lib/fd.h"
#include "lib/json.h"
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

/* ---- records ---- */

/* A run and its records: its start, its end or NULL, and an array of the texts of the lines between them. */
struct shown_run {
        const struct run_store_run *run;
        cJSON *start, *end, *lines;
};

struct shown_runs {
        struct shown_run *runs;
        size_t count;
};

static void free_records(struct shown_run *shown)
{
        cJSON_Delete(shown->start);
        cJSON_Delete(shown->end);
        cJSON_Delete(shown->lines);
}

static void sort_record(struct shown_run *shown, cJSON *record)
{
        const char *event = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(record, "event"));
        if (event && str_equal(event, "line")) {
                cJSON *text = cJSON_DetachItemFromObjectCaseSensitive(record, "text");
                if (text)
                        cJSON_AddItemToArray(shown->lines, text);
        }
        cJSON **place = !event                      ? NULL
                        : str_equal(event, "start") ? &shown->start
                        : str_equal(event, "end")   ? &shown->end
                                                    : NULL;
        if (place && !*place)
                *place = record;
        else
                cJSON_Delete(record);
}

static struct shown_run read_records(const struct run_store_run *run)
{
        struct shown_run shown = {.run = run, .lines = str_or_die(cJSON_CreateArray())};
        const char *line = run->text, *end = run->text + run->text_length, *line_end;
        /* A line without an LF was cut off by a kill or a full disk. */
        for (; line < end && (line_end = memchr(line, '\n', (size_t)(end - line))); line = line_end + 1) {
                cJSON *record = cJSON_ParseWithLength(line, (size_t)(line_end - line));
                if (record)
                        sort_record(&shown, record);
        }
        return shown;
}

/* Which runs are shown. */
enum choice { THE_RUNNING, THE_LAST_OF_EACH, ALL };

static bool is_chosen(const struct run_store_runs *list, size_t i, enum choice choice)
{
        if (choice == THE_RUNNING)
                return list->runs[i].running;
        for (size_t later = i + 1; choice == THE_LAST_OF_EACH && later < list->count; later++)
                if (str_equal(list->runs[later].name, list->runs[i].name))
                        return false;
        return true;
}

/* The chosen runs whose file has a start, oldest first. */
static struct shown_runs read_runs(const struct run_store_runs *list, enum choice choice)
{
        struct shown_runs shown = {.runs = str_or_die(calloc(list->count + 1, sizeof(*shown.runs)))};
        for (size_t i = 0; i < list->count; i++) {
                if (!is_chosen(list, i, choice))
                        continue;
                shown.runs[shown.count] = read_records(&list->runs[i]);
                if (shown.runs[shown.count].start)
                        shown.count++;
                else
                        free_records(&shown.runs[shown.count]);
        }
        return shown;
}

/* A member of a record, or NULL: the file may contain anything. */
static const char *find_text(const cJSON *record, const char *key)
{
        return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(record, key));
}

/* cJSON's numbers are exact up to 2^53, far above all of these. */
static bool find_number(const cJSON *record, const char *key, uint64_t *number)
{
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(record, key);
        bool usable = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e15;
        *number = usable ? (uint64_t)item->valuedouble : 0;
        return usable;
}

static uint64_t age_of(const struct shown_run *shown)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        long long age = (long long)now.tv_sec - (long long)(shown->run->started / 1000000);
        return age > 0 ? (uint64_t)age : 0;
}

/* How it ended, as its record or the lack of one tells; NULL while it runs. */
static const char *ending_of(const struct shown_run *shown)
{
        return !shown->run->running && !shown->end ? "hutch killed" : find_text(shown->end, "how");
}

/* When it started, or NULL. The caller frees. */
static char *show_start(const struct shown_run *shown)
{
        char text[32];
        const time_t seconds = (time_t)(shown->run->started / 1000000);
        struct tm parts;
        bool made =
            gmtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
        return made ? str_copy(text) : NULL;
}

/* ---- writing ---- */

static void put_number(struct json *json, const char *key, const cJSON *record)
{
        uint64_t number;
        bool known = find_number(record, key, &number);
        json_number_if(json, known, key, number);
}

static void put_texts(struct json *json, const char *key, const cJSON *list)
{
        const cJSON *item;
        json_open(json, key, '[');
        cJSON_ArrayForEach(item, list)
        {
                if (cJSON_IsString(item))
                        json_text(json, NULL, item->valuestring);
        }
        json_close(json, "]");
}

static void put_run(struct json *json, const struct shown_run *shown)
{
        autofree char *started = show_start(shown);
        json_open(json, NULL, '{');
        json_text(json, "id", shown->run->id);
        json_text(json, "name", shown->run->name);
        json_text(json, "kind", find_text(shown->start, "kind"));
        json_bool(json, "running", shown->run->running);
        put_number(json, "pid", shown->start);
        json_text(json, "started", started);
        json_number(json, "age_seconds", age_of(shown));
        json_text(json, "command", find_text(shown->start, "command"));
        put_texts(json, "grants", cJSON_GetObjectItemCaseSensitive(shown->start, "grants"));
        put_number(json, "grant_count", shown->start);
        json_text(json, "how", ending_of(shown));
        put_number(json, "status", shown->end);
        put_number(json, "signal", shown->end);
        put_number(json, "duration_ms", shown->end);
        put_texts(json, "lines", shown->lines);
        put_number(json, "lines_left_out", shown->end);
        json_close(json, "}");
}

static bool write_json(const struct shown_runs *shown)
{
        struct json json = {.out = &(struct buf){0}, .pretty = true};
        json_open(&json, NULL, '[');
        for (size_t i = 0; i < shown->count; i++)
                put_run(&json, &shown->runs[i]);
        json_close(&json, "]");
        return json_print(&json, stdout);
}

/* A text of a record for a table; valid until the end of the enclosing block. */
#define printable(text) error_quote((char[1100]){0}, 1100, (text), strlen(text))

static const char *text_of(const cJSON *record, const char *key)
{
        const char *text = find_text(record, key);
        return text ? text : "-";
}

static long long number_of(const cJSON *record, const char *key)
{
        uint64_t number;
        (void)find_number(record, key, &number);
        return (long long)number;
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
static char *show_grants(const cJSON *start)
{
        struct buf shown = {0};
        const cJSON *item, *grants = cJSON_GetObjectItemCaseSensitive(start, "grants");
        long long left = number_of(start, "grant_count") - cJSON_GetArraySize(grants);
        cJSON_ArrayForEach(item, grants)
        {
                if (cJSON_IsString(item))
                        buf_format(&shown, "%s%s", shown.length ? ", " : "", printable(item->valuestring));
        }
        if (left > 0)
                buf_format(&shown, " and %lld more", left);
        return buf_take(&shown);
}

static bool write_ps(const struct shown_runs *shown)
{
        int width = (int)strlen("NAME"), command_width = (int)strlen("COMMAND");
        for (size_t i = 0; i < shown->count; i++) {
                int length = (int)strlen(shown->runs[i].run->name);
                int command_length = (int)strlen(printable(text_of(shown->runs[i].start, "command")));
                width = length > width ? length : width;
                command_width = command_length > command_width ? command_length : command_width;
        }
        printf("%-8s  %-*s  %7s  %8s  %-*s  %s\n", "ID", width, "NAME", "PID", "AGE", command_width,
               "COMMAND", "GRANTS");
        for (size_t i = 0; i < shown->count; i++) {
                const struct shown_run *run = &shown->runs[i];
                autofree char *age = show_duration((long long)age_of(run) * 1000);
                autofree char *grants = show_grants(run->start);
                printf("%-8s  %-*s  %7lld  %8s  %-*s  %s\n", run->run->id, width, run->run->name,
                       number_of(run->start, "pid"), age, command_width,
                       printable(text_of(run->start, "command")), grants);
        }
        return !ferror(stdout);
}

/* The caller frees. */
static char *show_ending(const struct shown_run *shown)
{
        const char *how = ending_of(shown) ? ending_of(shown) : "-";
        long long number = number_of(shown->end, "signal"), status = number_of(shown->end, "status");
        const char *name = number > 0 && number < NSIG ? strsignal((int)number) : "unknown";
        autofree char *duration = show_duration(number_of(shown->end, "duration_ms"));
        if (shown->run->running)
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

static bool write_logs(const struct shown_runs *shown)
{
        const cJSON *line;
        for (size_t i = 0; i < shown->count; i++) {
                const struct shown_run *run = &shown->runs[i];
                autofree char *started = show_start(run);
                autofree char *ending = show_ending(run);
                autofree char *grants = show_grants(run->start);
                long long left_out = number_of(run->end, "lines_left_out");
                printf("%s  %s  %s  (%s %s)\n", started ? started : "-", run->run->name, ending,
                       printable(text_of(run->start, "kind")), printable(text_of(run->start, "command")));
                if (grants[0])
                        printf("    granted: %s\n", grants);
                cJSON_ArrayForEach(line, run->lines)
                {
                        if (cJSON_IsString(line))
                                printf("    %s\n", printable(line->valuestring));
                }
                if (left_out > 0)
                        printf("    and %lld more lines\n", left_out);
        }
        return !ferror(stdout);
}

/* ---- the subcommands ---- */

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

static void refuse_name(const char *name, struct error *error)
{
        autofree char *meant = find_name_with(name);
        if (meant)
                error_set(error, EXIT_NOTHING, "no run of %s is recorded; did you mean %s?",
                          error_shown(name), error_shown(meant));
        else
                error_set(error, EXIT_NOTHING,
                          "no run of %s is recorded; `hutch logs` without a name shows those that are",
                          error_shown(name));
}

static bool show(const struct words *words, bool logs, struct error *error)
{
        struct run_store_runs list;
        if (!read_state(words->name, &list, error))
                return false;
        struct shown_runs shown = read_runs(&list, !logs         ? THE_RUNNING
                                                   : words->name ? ALL
                                                                 : THE_LAST_OF_EACH);
        bool (*write)(const struct shown_runs *) = words->json ? write_json : logs ? write_logs : write_ps;
        if (words->name && shown.count == 0)
                refuse_name(words->name, error);
        else if (!write(&shown) || fflush(stdout) != 0)
                error_set(error, EXIT_NOTHING, "cannot write to standard output: %s", strerror(errno));
        for (size_t i = 0; i < shown.count; i++)
                free_records(&shown.runs[i]);
        free(shown.runs);
        run_store_runs_free(&list);
        return !error->status;
}

int ps_show(const struct subcommand_row *row, int argc, char **argv)
{
        struct error error = {0};
        struct words words = {0};
        bool logs = str_equal(row->name, "logs");
        if (read_words(row, argc, argv, logs, &words, &error) && words.help)
                return help_print(help_write(row, stdout));
        return !error.status && show(&words, logs, &error) ? 0 : help_complain(&error, row);
}
