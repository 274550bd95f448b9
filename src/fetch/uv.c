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

static void take_variable(struct fetch_plan *plan, struct indexes *indexes, const char *name, bool is_default)
{
        const char *value = getenv(name);
        if (value)
                take_words(plan, indexes, value, is_default);
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

bool plan_read_uv(struct fetch_plan *plan, struct error *error)
{
        struct indexes indexes = {0};
        take_variable(plan, &indexes, "UV_DEFAULT_INDEX", true);
        take_variable(plan, &indexes, "UV_INDEX_URL", true);
        take_variable(plan, &indexes, "UV_INDEX", false);
        take_variable(plan, &indexes, "UV_EXTRA_INDEX_URL", false);
        take_files(plan, &indexes);
        if (!indexes.first)
                take_default(plan, &indexes, plan->options->command.values[0]);
        if (indexes.first)
                str_list_take(&plan->environment, str_format("UV_DEFAULT_INDEX=%s", indexes.first));
        autofree char *others = str_join(&indexes.others, " ");
        if (others[0])
                str_list_take(&plan->environment, str_format("UV_INDEX=%s", others));
        bool found = plan->registries.count > 0;
        free(indexes.first);
        str_list_free(&indexes.others);
        if (!found)
                return error_set(
                    error, EXIT_SETUP,
                    "cannot find out where uv fetches packages from; set index-url in uv.toml, or the "
                    "variable UV_DEFAULT_INDEX");
        if (plan->options->min_age_days > 0)
                plan_add_time(plan, "UV_EXCLUDE_NEWER", plan->options->min_age_days);
        str_list_add_all(&plan->entry->environment, &plan->environment);
        return true;
}
