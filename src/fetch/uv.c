/* SPDX-License-Identifier: Apache-2.0
 *
 * uv's configuration (plan.h), as far as it is documented: the variables UV_DEFAULT_INDEX, UV_INDEX,
 * UV_INDEX_URL and UV_EXTRA_INDEX_URL, the keys index-url, extra-index-url and [[index]] url of uv.toml of
 * the user and of the machine, and the default that `uv tool run --help` names.
 */
#include "fetch/plan.h"
#include "lib/fd.h"
#include "lib/homes.h"

#include <stdlib.h>
#include <time.h>

enum { CONFIG_MAX = 1 << 20, HELP_MAX = 1 << 20 };

struct indexes {
        char *first; /* the default index, or NULL */
        struct str_list others;
};

/* Takes every URL of a list with blanks; uv permits a name before a URL, NAME=URL. */
static void take_words(struct fetch_plan *plan, struct indexes *indexes, const char *words, bool is_default)
{
        autofree char *text = str_copy(words);
        char *rest = text;
        for (char *word; (word = strsep(&rest, " \t\r\n"));) {
                char *url = strstr(word, "http");
                if (!url || (url != word && url[-1] != '='))
                        continue;
                char *plain = plan_add_registry(plan, url);
                if (plain && is_default && !indexes->first)
                        indexes->first = plain;
                else if (plain)
                        str_list_take(&indexes->others, plain);
        }
}

static void take_variables(struct fetch_plan *plan, struct indexes *indexes)
{
        static const struct {
                const char *name;
                bool is_default;
        } variables[] = {{"UV_DEFAULT_INDEX", true},
                         {"UV_INDEX_URL", true},
                         {"UV_INDEX", false},
                         {"UV_EXTRA_INDEX_URL", false}};
        for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
                const char *value = getenv(variables[i].name);
                if (value)
                        take_words(plan, indexes, value, variables[i].is_default);
        }
}

/* The strings of one line `key = "…"` or `key = ["…", "…"]`. */
static void take_line(struct fetch_plan *plan, struct indexes *indexes, char *line)
{
        char *value = strchr(line, '=');
        if (!value)
                return;
        *value++ = 0;
        char *key = line + strspn(line, " \t");
        key[strcspn(key, " \t")] = 0;
        bool is_default = str_equal(key, "index-url");
        if (!is_default && !str_equal(key, "extra-index-url") && !str_equal(key, "url"))
                return;
        for (char *c = value; *c; c++)
                if (strchr("\"'[],", *c))
                        *c = ' ';
        take_words(plan, indexes, value, is_default);
}

static void take_file(struct fetch_plan *plan, struct indexes *indexes, const char *path)
{
        autofree char *text = NULL;
        if (fd_read_file(path, CONFIG_MAX, &text) < 0)
                return;
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n"));)
                if (line[strspn(line, " \t")] != '#')
                        take_line(plan, indexes, line);
}

static void take_files(struct fetch_plan *plan, struct indexes *indexes)
{
        const char *config = getenv("XDG_CONFIG_HOME"), *home = caller_homes()->spelled;
        autofree char *own = config && config[0] == '/' ? path_join(config, "uv/uv.toml")
                             : home[0]                  ? path_join(home, ".config/uv/uv.toml")
                                                        : NULL;
        if (own)
                take_file(plan, indexes, own);
        take_file(plan, indexes, "/etc/uv/uv.toml");
}

/* `uv tool run --help` describes --default-index with "(by default: <URL>)". */
static void take_default(struct fetch_plan *plan, struct indexes *indexes, const char *command)
{
        static const char mark[] = "by default: <";
        struct error ignored = {0};
        autofree char *uv = plan_find_tool("uv", command);
        const char *const words[] = {uv, "tool", "run", "--help", NULL};
        autofree char *help = uv ? plan_ask(words, HELP_MAX, &ignored) : NULL;
        char *at = help ? strstr(help, mark) : NULL;
        if (!at)
                return;
        at += sizeof(mark) - 1;
        at[strcspn(at, ">")] = 0;
        take_words(plan, indexes, at, true);
}

static void add_list(struct fetch_plan *plan, const char *key, const struct str_list *list)
{
        autofree char *all = str_join(list, " ");
        if (list->count > 0)
                str_list_take(&plan->environment, str_format("%s=%s", key, all));
}

bool plan_read_uv(struct fetch_plan *plan, const struct str_list *command, unsigned min_age_days,
                  struct error *error)
{
        struct indexes indexes = {0};
        take_variables(plan, &indexes);
        take_files(plan, &indexes);
        if (!indexes.first)
                take_default(plan, &indexes, command->values[0]);
        if (indexes.first)
                str_list_take(&plan->environment, str_format("UV_DEFAULT_INDEX=%s", indexes.first));
        add_list(plan, "UV_INDEX", &indexes.others);
        bool found = plan->registries.count > 0;
        free(indexes.first);
        str_list_free(&indexes.others);
        if (!found)
                return error_set(
                    error, EXIT_SETUP,
                    "cannot find out where uv fetches packages from; set index-url in uv.toml, or the "
                    "variable UV_DEFAULT_INDEX");
        if (min_age_days > 0) {
                char text[32];
                struct tm utc;
                time_t then = time(NULL) - (time_t)min_age_days * 86400;
                (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &utc));
                str_list_take(&plan->environment, str_format("UV_EXCLUDE_NEWER=%s", text));
        }
        return true;
}
