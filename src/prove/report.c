/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h.
 */
#include "prove/report.h"

#include "lib/fd.h"
#include "lib/json.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <cjson/cJSON.h>
#include <unistd.h>

/* Keys of --json, words and colours of the table. */
static const struct {
        const char *key, *words, *colour;
} states[PROVE_STATES] = {
    [PROVE_HELD] = {"held", "held", "32"},
    [PROVE_GOT_OUT] = {"got-out", "GOT OUT", "1;31"},
    [PROVE_OPEN_BY_OPTION] = {"open-by-option", "open by your option", "33"},
    [PROVE_NOT_LIMITED] = {"not-limited", "not limited here", "33"},
    [PROVE_NOT_SHOWN] = {"not-shown", "could not be shown here", "2"},
    [PROVE_FAILED] = {"failed", "NO RESULT", "1;31"},
};

/* ---- reading ---- */

static struct prove_row *find_row(const struct prove_results *results, const char *id)
{
        for (size_t i = 0; i < results->count; i++)
                if (str_equal(results->rows[i].id, id))
                        return &results->rows[i];
        return NULL;
}

static const char *text_of(const cJSON *object, const char *key)
{
        return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void add_row(struct prove_results *results, const cJSON *object)
{
        *array_add(results->rows, results->count) = (struct prove_row){
            .id = str_copy(text_of(object, "id")),
            .group = str_copy(text_of(object, "group")),
            .gain = str_copy(text_of(object, "gain")),
            .shown = str_copy(text_of(object, "shown")),
        };
}

static int read_row(struct prove_results *results, const cJSON *object)
{
        const char *id = text_of(object, "id"), *result = text_of(object, "result");
        if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(object, "ready")) ||
            cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(object, "done")))
                return 0;
        if (!id || !text_of(object, "group") || !text_of(object, "gain") || !text_of(object, "path"))
                return -1;
        struct prove_row *row = find_row(results, id);
        if (text_of(object, "shown") && !row) {
                add_row(results, object);
                return 1;
        }
        /* A second result of the same attempt must not replace the first. */
        if (!result || !row || row->result)
                return -1;
        row->result = str_copy(result);
        row->path = str_copy(text_of(object, "path"));
        return 1;
}

int prove_results_read(struct prove_results *results, const char *line)
{
        cJSON *object = cJSON_Parse(line);
        int read = cJSON_IsObject(object) ? read_row(results, object) : -1;
        cJSON_Delete(object);
        return read;
}

/* ---- judging ---- */

static bool is_one_of(const struct prove_row *row, const char *ids)
{
        return str_words_have(ids, row->id, strlen(row->id));
}

static bool has_result(const struct prove_row *row, const char *word)
{
        return row->result && str_equal(row->result, word);
}

static void replace(char **text, const char *with)
{
        free(*text);
        *text = str_copy(with);
}

/* The first grant below a directory, which an attempt that lists the directory sees. */
static const struct mount *find_below(const struct box *box, const char *directory)
{
        for (size_t i = 0; i < box->mount_count; i++)
                if (mount_is_asked_for(&box->mounts[i]) &&
                    path_is_below(box->mounts[i].destination, directory))
                        return &box->mounts[i];
        return NULL;
}

/* The address to which an attempt connects, or NULL. */
static const char *destination_of(const struct prove_row *row)
{
        return str_equal(row->id, "route-out")          ? "192.0.2.1"
               : str_equal(row->id, "metadata-service") ? "169.254.169.254"
                                                        : NULL;
}

/* The rule of --network-allow that permits it, or NULL. */
static char *permitted_by(const char *destination, const struct rules *rules)
{
        struct in6_addr address;
        (void)address_parse(destination, &address);
        for (size_t i = 0; i < rules->allow.count; i++) {
                struct destination *rule = &rules->allow.items[i];
                struct rules alone = {.allow = {rule, 1}, .deny = rules->deny};
                if (rules_judge_address(&alone, NULL, &address, rule->ports[0].first, rule->transport) ==
                    VERDICT_ALLOWED)
                        return str_format("--network-allow %s", rule->text);
        }
        return NULL;
}

/* The option of the user's that lets this attempt out, or NULL. The caller frees. */
static char *opened_by(const struct prove_row *row, const struct box *box, const char *own, bool no_protect)
{
        if (box->userns && is_one_of(row, "userns userns-clone userns-clone3"))
                return str_copy("--allow-userns");
        if (no_protect && is_one_of(row, "git-hook git-config git-hook-reopen client-servers envrc "
                                         "rename-hooks rename-git"))
                return str_copy("--no-protect");
        if (destination_of(row))
                return permitted_by(destination_of(row), &box->network.rules);
        if (box->userns == USERNS_FULL && row->path && str_starts(row->path, "/proc/"))
                return str_copy("--allow-userns=full");
        if (str_equal(row->id, "fork-storm") && box->limits.pids > LIMITS_PIDS_DEFAULT &&
            box->limits.processes != LIMIT_NONE)
                return str_format("--pids %u", box->limits.pids);
        if (!row->path || row->path[0] != '/')
                return NULL;
        const struct mount *mount = box_find_mount(box, row->path);
        if (mount && mount->origin == ORIGIN_PERSIST)
                return str_format("--persist %s", strrchr(mount->source, '/') + 1);
        if ((!mount || !mount_is_asked_for(mount)) && str_equal(row->group, "files"))
                mount = find_below(box, row->path);
        if (!mount || !mount_is_asked_for(mount) || path_is_below(mount->destination, own))
                return NULL;
        return str_format("%s %s",
                          str_list_has(&box->unsafe_grants, mount->source) ? "--unsafe-grant" : mount->why,
                          mount->source);
}

/* The mechanism that limits a storm, which the attempt cannot see. The limits of a cgroup were read back at
 * the start. */
static enum limit_mechanism bounded_by(const struct prove_row *row, const struct limits *limits)
{
        if (str_equal(row->id, "memory-storm"))
                return limits->memory;
        if (is_one_of(row, "buffered-memory unmapped-memory")) /* which the watchdog does not count */
                return limits->memory == LIMIT_CGROUP ? LIMIT_CGROUP : LIMIT_NONE;
        if (str_equal(row->id, "processor-storm"))
                return limits->processors;
        return str_equal(row->id, "fork-storm") ? limits->processes : LIMIT_MECHANISMS;
}

/* The option, or the property of the machine, that would limit this attempt. */
static const char *needed_by(const struct prove_row *row, const struct limits *limits)
{
        if (str_equal(row->id, "processor-storm"))
                return limits->cpus ? "a whole number of --cpus" : "--cpus N";
        if (is_one_of(row, "descriptors-sent epoll-watches"))
                return "a separate account"; /* the kernel counts by user */
        return str_equal(row->group, "budgets") ? "cgroups" : "Linux 7.1";
}

static void judge_storm(struct prove_row *row, const struct limits *limits)
{
        enum limit_mechanism mechanism = bounded_by(row, limits);
        if (has_result(row, "got-out") && mechanism == LIMIT_CGROUP)
                replace(&row->result, "held");
        if (has_result(row, "got-out") && (mechanism == LIMIT_NONE || mechanism == LIMIT_UNASKED))
                replace(&row->result, "not-limited");
}

/* At the path of the caller's home is the home of --persist, from which no program of the caller's starts. */
static void judge_persisted(struct prove_row *row)
{
        if (row->option && str_starts(row->option, "--persist "))
                replace(&row->gain, "the home that its runs share");
}

/* A destination that a rule permits counts as open, also when it did not answer this time. */
static void judge_network(struct prove_row *row)
{
        if (destination_of(row) && row->option && has_result(row, "held"))
                replace(&row->result, "got-out");
}

static enum prove_state judge_row(const struct prove_row *row)
{
        if (row->result && (row->spoiled || has_result(row, "got-out"))) {
                /* --unsafe-grant voids a sandbox, so it does not excuse an escape. */
                bool excused = row->option && !str_starts(row->option, "--unsafe-grant");
                return excused ? PROVE_OPEN_BY_OPTION : PROVE_GOT_OUT;
        }
        if (has_result(row, "not-limited"))
                return PROVE_NOT_LIMITED;
        if (has_result(row, "not-applicable"))
                return PROVE_NOT_SHOWN;
        if (!has_result(row, "held"))
                return PROVE_FAILED;
        return str_equal(row->shown, "no") ? PROVE_NOT_SHOWN : PROVE_HELD;
}

void prove_results_judge(struct prove_results *results, const struct box *box, const char *own,
                         bool no_protect)
{
        for (size_t i = 0; i < results->count; i++) {
                struct prove_row *row = &results->rows[i];
                row->option = opened_by(row, box, own, no_protect);
                judge_storm(row, &box->limits);
                judge_network(row);
                judge_persisted(row);
                row->state = judge_row(row);
                if (row->state == PROVE_NOT_LIMITED && !row->option)
                        row->option = str_copy(needed_by(row, &box->limits));
                results->totals[row->state]++;
        }
}

bool prove_results_good(const struct prove_results *results)
{
        return results->count > 0 && results->totals[PROVE_GOT_OUT] == 0 &&
               results->totals[PROVE_FAILED] == 0;
}

/* ---- writing ---- */

struct paint {
        FILE *out;
        bool colours;
};

/* Left-aligned in `width` columns; 0: as wide as it is. */
static void write_painted(const struct paint *paint, enum prove_state state, const char *text, int width)
{
        if (paint->colours)
                (void)fprintf(paint->out, "\033[%sm%-*s\033[0m", states[state].colour, width, text);
        else
                (void)fprintf(paint->out, "%-*s", width, text);
}

static void write_row(const struct paint *paint, const struct prove_row *row)
{
        (void)fprintf(paint->out, "    %-23s %-37s ", row->id, row->gain);
        write_painted(paint, row->state, states[row->state].words, 0);
        if (row->option && (row->state == PROVE_OPEN_BY_OPTION || row->state == PROVE_GOT_OUT))
                (void)fprintf(paint->out, " (%s)", row->option);
        else if (row->state == PROVE_NOT_LIMITED)
                (void)fprintf(paint->out, " (%s would limit it)", row->option);
        else if (row->state == PROVE_FAILED)
                (void)fprintf(paint->out, " (%s)", row->result ? row->result : "no result line");
        else if (row->state == PROVE_HELD)
                (void)fprintf(paint->out, ", shown %s", row->shown);
        (void)fputc('\n', paint->out);
}

static void write_group(const struct paint *paint, const struct prove_results *results, size_t first,
                        bool all)
{
        const char *group = results->rows[first].group;
        size_t totals[PROVE_STATES] = {0}, count = 0;
        for (size_t i = first; i < results->count && str_equal(results->rows[i].group, group); i++, count++)
                totals[results->rows[i].state]++;
        (void)fprintf(paint->out, "  %-22s %3zu", group, count);
        for (enum prove_state state = 0; state < PROVE_STATES; state++) {
                if (!totals[state])
                        continue;
                autofree char *text = str_format("%3zu %s", totals[state], states[state].words);
                (void)fputs("  ", paint->out);
                write_painted(paint, state, text, state == PROVE_HELD && totals[state] < count ? 9 : 0);
        }
        (void)fputc('\n', paint->out);
        for (size_t i = first; i < first + count; i++) {
                enum prove_state state = results->rows[i].state;
                if (all || (state != PROVE_HELD && state != PROVE_NOT_SHOWN))
                        write_row(paint, &results->rows[i]);
        }
}

static bool wants_colours(FILE *out)
{
        const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
        return isatty(fileno(out)) && !(none && none[0]) && term && !str_equal(term, "dumb");
}

/* The exit status in words. */
static const char *verdict(const struct prove_results *results)
{
        if (results->totals[PROVE_GOT_OUT])
                return "the sandbox did not hold";
        if (!prove_results_good(results))
                return "nothing is proven";
        return results->totals[PROVE_OPEN_BY_OPTION] ? "nothing got out except where your options permit it"
                                                     : "nothing got out";
}

bool prove_write_table(const struct prove_results *results, bool all, FILE *out)
{
        struct paint paint = {.out = out, .colours = wants_colours(out)};
        (void)fprintf(out, "%zu escape attempts, each shown to work outside first where that is possible:\n",
                      results->count);
        for (size_t i = 0; i < results->count; i++)
                if (i == 0 || !str_equal(results->rows[i].group, results->rows[i - 1].group))
                        write_group(&paint, results, i, all);
        write_painted(&paint, prove_results_good(results) ? PROVE_HELD : PROVE_GOT_OUT, verdict(results), 0);
        for (enum prove_state state = 0; state < PROVE_STATES; state++) {
                if (state != PROVE_HELD && !results->totals[state])
                        continue;
                autofree char *text = str_format("%zu %s", results->totals[state], states[state].words);
                (void)fputs(state == PROVE_HELD ? ": " : ", ", out);
                write_painted(&paint, state, text, 0);
        }
        (void)fputs(results->count ? "\n" : "\nnothing was tried\n", out);
        if (results->totals[PROVE_NOT_SHOWN] && !all)
                (void)fprintf(out,
                              "%zu could not be shown to work here without a sandbox: %s; -v lists them\n",
                              results->totals[PROVE_NOT_SHOWN],
                              geteuid() ? "most need root" : "the machine lacks what they attack");
        return fflush(out) == 0 && !ferror(out);
}

bool prove_write_json(const struct prove_results *results, FILE *out)
{
        struct json json = {.out = &(struct buf){0}, .pretty = true};
        json_open(&json, NULL, '{');
        json_open(&json, "totals", '{');
        for (enum prove_state state = 0; state < PROVE_STATES; state++)
                json_number(&json, states[state].key, results->totals[state]);
        json_close(&json, "}");
        json_bool(&json, "ok", prove_results_good(results));
        json_open(&json, "attempts", '[');
        for (size_t i = 0; i < results->count; i++) {
                const struct prove_row *row = &results->rows[i];
                bool out_of_it = row->state == PROVE_OPEN_BY_OPTION || row->state == PROVE_GOT_OUT;
                json_open(&json, NULL, '{');
                json_text(&json, "id", row->id);
                json_text(&json, "group", row->group);
                json_text(&json, "gain", row->gain);
                json_text(&json, "shown", row->shown);
                json_text(&json, "state", states[row->state].key);
                if (row->option && (out_of_it || row->state == PROVE_NOT_LIMITED))
                        json_text(&json, "option", row->option);
                if (row->state == PROVE_FAILED)
                        json_text(&json, "failure", row->result ? row->result : "no-result");
                json_close(&json, "}");
        }
        json_close(&json, "]}");
        return json_print(&json, out);
}

void prove_results_free(struct prove_results *results)
{
        for (size_t i = 0; i < results->count; i++) {
                struct prove_row *row = &results->rows[i];
                free(row->id);
                free(row->group);
                free(row->gain);
                free(row->shown);
                free(row->result);
                free(row->path);
                free(row->option);
        }
        free(results->rows);
        *results = (struct prove_results){0};
}
