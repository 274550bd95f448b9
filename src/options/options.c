/* SPDX-License-Identifier: Apache-2.0
 *
 * See options.h. One pass over the words before `--` finds each option in the table by its whole name (an
 * abbreviation could change its meaning with the next version) and has the table read its value. Checks that
 * need two options come last. No message may contain the value of a variable.
 */
#include "options/options.h"

#include "lib/fd.h"
#include "lib/suggest.h"
#include "options/conflicts.h"
#include "options/foreign_options.h"
#include "options/subcommands.h"
#include "options/tool_options.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { STOP_GRACE_DEFAULT = 5 };

/* The words, the next one to read, and the values given so far. */
struct parse {
        struct options *options;
        const char *subcommand;
        char **words;
        size_t count;
        size_t next;
        const char *given[OPTION_COUNT]; /* the value of each option ("" for none), NULL when not given */
        struct error *error;
};

static const struct option_row *find_long(const char *name, size_t length)
{
        for (size_t i = 0; i < OPTION_COUNT; i++)
                if (strlen(option_table[i].name) == length && memcmp(option_table[i].name, name, length) == 0)
                        return &option_table[i];
        return NULL;
}

static const struct option_row *find_letter(char letter)
{
        for (size_t i = 0; i < OPTION_COUNT; i++)
                if (option_table[i].letter == letter)
                        return &option_table[i];
        return NULL;
}

/* False also for a name that no subcommand has. */
static bool starts_sandbox(const char *subcommand)
{
        const struct subcommand_row *row = subcommand_find(subcommand);
        return row && row->sandbox;
}

bool option_belongs(const struct option_row *row, const char *subcommand)
{
        if (row->always)
                return true;
        if (!row->only && str_equal(subcommand, "fetch"))
                return row->fetch;
        return row->only ? str_words_have(row->only, subcommand, strlen(subcommand))
                         : starts_sandbox(subcommand);
}

/* ---- words ---- */

/* `word` ends with `value`, which is KEY=VALUE: blanks VALUE in the argv of the process, where every user of
 * the machine could read it in /proc until hutch ends. */
static void hide_value(char *word, const char *value)
{
        size_t name = strcspn(value, "=");
        if (value[name])
                memset(word + strlen(word) - strlen(value) + name + 1, '*', strlen(value) - name - 1);
}

/* Checks that a value is there where it must be, and that a repeated option agrees, before the value itself.
 */
static bool take(struct parse *parse, const struct option_row *row, const char *value)
{
        if (!option_belongs(row, parse->subcommand))
                return error_set(parse->error, EXIT_USAGE, "--%s is an option of hutch %s; leave it out here",
                                 row->name, row->only ? row->only : "mcp and run");
        if (row->argument == ARGUMENT_NONE && value)
                return error_set(parse->error, EXIT_USAGE, "--%s takes no value", row->name);
        if (row->argument == ARGUMENT_REQUIRED && !value) {
                const char *word = parse->next < parse->count ? parse->words[parse->next] : NULL;
                if (!word || str_equal(word, "--"))
                        return error_set(parse->error, EXIT_USAGE, "--%s needs a value: --%s %s", row->name,
                                         row->name, row->metavariable);
                if (str_starts(word, "--") && find_long(word + 2, strcspn(word + 2, "=")))
                        return error_set(parse->error, EXIT_USAGE,
                                         "--%s needs a value, but the option %s follows", row->name,
                                         error_shown(word));
                value = word;
                parse->next++;
        }
        if (value && !value[0])
                return error_set(parse->error, EXIT_USAGE, "--%s has an empty value", row->name);
        const char **given = &parse->given[row - option_table];
        const char *before = *given;
        *given = value ? value : "";
        if (before && !row->repeatable && !str_equal(before, *given))
                return error_set(parse->error, EXIT_USAGE, "--%s is given twice with different values",
                                 row->name);
        /* A program that chose the words learns here which of them was wrong, and need
         * not look for the name in a sentence that is meant for people. What options.c itself refuses, such
         * as a missing value, is a mistake in the words that no user of that program can have made. */
        if (!row->read(parse->options, row, *given, parse->error)) {
                parse->error->option = row->name;
                return false;
        }
        if (row->secret)
                hide_value(parse->words[parse->next - 1], *given);
        return true;
}

static bool refuse_unknown(struct parse *parse, const char *word)
{
        const char *names[OPTION_COUNT + 1] = {0};
        for (size_t i = 0, count = 0; i < OPTION_COUNT; i++)
                if (option_belongs(&option_table[i], parse->subcommand))
                        names[count++] = option_table[i].name;
        size_t length = strcspn(word, "=");
        const char *hint = foreign_option_find(word, length);
        /* What follows = may be a secret. */
        autofree char *option = str_copy_n(word, length);
        if (strchr(option, ' '))
                return error_set(parse->error, EXIT_USAGE,
                                 "unknown option %s: an option and its value are two words; in a client's "
                                 "\"args\", two items",
                                 error_shown(option));
        if (hint)
                return error_set(parse->error, EXIT_USAGE, "%s is not an option of hutch: %s", option, hint);
        const char *nearest = str_starts(option, "--") ? suggest_nearest(option + 2, names) : NULL;
        for (const char **name = names; !nearest && *name; name++) /* -rw */
                nearest = str_equal(option + 1, *name) ? *name : NULL;
        if (nearest)
                return error_set(parse->error, EXIT_USAGE, "unknown option %s; did you mean --%s?",
                                 error_shown(option), nearest);
        return error_set(parse->error, EXIT_USAGE, "unknown option %s", error_shown(option));
}

static bool take_letters(struct parse *parse, const char *word)
{
        const struct option_row *row = find_letter(word[1]);
        if (!row || foreign_option_find(word, strlen(word)))
                return refuse_unknown(parse, word);
        if (row->argument == ARGUMENT_REQUIRED && word[2])
                return error_set(parse->error, EXIT_USAGE,
                                 "-%c and its value are two words: -%c %s, or --%s=%s", row->letter,
                                 row->letter, row->metavariable, row->name, row->metavariable);
        for (const char *letter = word + 1; *letter; letter++) {
                if (*letter != row->letter)
                        return refuse_unknown(parse, word);
                if (!take(parse, row, NULL))
                        return false;
        }
        return true;
}

static bool refuse_word(struct parse *parse, const char *word)
{
        const char *before = parse->next >= 2 ? parse->words[parse->next - 2] : "";
        /* It may be KEY=VALUE without --env, and the value a secret. */
        autofree char *shown = str_copy_n(word, strcspn(word, "="));
        if (str_equal(before, "-v") && strchr(word, ':'))
                return error_set(
                    parse->error, EXIT_USAGE,
                    "-v is --verbose here; write --volume SRC:DST[:ro], or --ro PATH[:DEST] or --rw "
                    "PATH[:DEST]");
        for (size_t i = parse->next; i < parse->count; i++)
                if (str_equal(parse->words[i], "--"))
                        return error_set(parse->error, EXIT_USAGE,
                                         "%s is neither an option nor an option's value", error_shown(shown));
        /* Word processors and chat programs turn two dashes into one. */
        if (str_starts(word, "\u2013") || str_starts(word, "\u2014"))
                return error_set(parse->error, EXIT_USAGE,
                                 "%s begins with a long dash; write two short ones, --", error_shown(shown));
        return error_set(parse->error, EXIT_USAGE, "-- is missing before the command %s", error_shown(shown));
}

static bool take_word(struct parse *parse, const char *word)
{
        if (word[0] != '-' || word[1] == 0)
                return refuse_word(parse, word);
        if (word[1] != '-')
                return take_letters(parse, word);
        size_t length = strcspn(word + 2, "=");
        const struct option_row *row = find_long(word + 2, length);
        if (!row)
                return refuse_unknown(parse, word);
        return take(parse, row, word[2 + length] ? word + 2 + length + 1 : NULL);
}

/* ---- all words ---- */

/* The words of a subcommand that does not start the sandbox of a command; a command may still follow some. */
static bool parse_options_alone(struct parse *parse)
{
        const struct subcommand_row *row = subcommand_find(parse->subcommand);
        while (parse->next < parse->count) {
                const char *word = parse->words[parse->next++];
                if (str_equal(word, "--") && row && row->command) {
                        while (parse->next < parse->count)
                                str_list_add(&parse->options->command, parse->words[parse->next++]);
                        return parse->options->command.count > 0 ||
                               error_set(parse->error, EXIT_USAGE, "no command after --");
                }
                if (word[0] != '-' || word[1] == 0 || str_equal(word, "--"))
                        return error_set(parse->error, EXIT_USAGE, "%s takes options only, no %s",
                                         parse->subcommand, error_shown(word));
                if (!take_word(parse, word))
                        return false;
                if (parse->options->help)
                        return true;
        }
        return true;
}

bool options_parse(struct options *options, const char *subcommand, int argc, char **argv,
                   struct error *error)
{
        struct parse parse = {.options = options,
                              .subcommand = subcommand,
                              .words = argv,
                              .count = (size_t)argc,
                              .error = error};
        bool ends_with_client = str_equal(subcommand, "mcp");
        *options =
            (struct options){.stop_grace_seconds = ends_with_client ? STOP_GRACE_DEFAULT : LIMIT_NO_GRACE};
        if (!starts_sandbox(subcommand))
                return parse_options_alone(&parse);
        options->directory = getcwd(NULL, 0);
        if (options->directory && options->directory[0] != '/') { /* "(unreachable)", getcwd(3) */
                free(options->directory);
                options->directory = NULL;
        }
        for (;;) {
                if (parse.next == parse.count)
                        return error_set(error, EXIT_USAGE, "no command: -- and the command are missing");
                const char *word = parse.words[parse.next++];
                if (str_equal(word, "--"))
                        break;
                if (!take_word(&parse, word))
                        return false;
                if (options->help)
                        return true;
        }
        for (; parse.next < parse.count; parse.next++)
                str_list_add(&options->command, parse.words[parse.next]);
        if (options->command.count == 0)
                return error_set(error, EXIT_USAGE, "no command after --");
        if (str_starts(options->command.values[0], "--"))
                return error_set(error, EXIT_USAGE,
                                 "%s comes after --, where the command begins; put options before --",
                                 error_shown(options->command.values[0]));
        if (options->command.values[0][0] == 0)
                return error_set(error, EXIT_USAGE, "the command after -- is an empty word");
        if (options->required & REQUIRE_CPUS && !options->cpus)
                return error_set(error, EXIT_USAGE,
                                 "--require cpus: there is no limit on processors to enforce; add --cpus N");
        return conflicts_check(options, error) && tool_options_check(options, error);
}

void options_free(struct options *options)
{
        for (size_t i = 0; i < options->grant_count; i++) {
                free(options->grants[i].path);
                free(options->grants[i].destination);
        }
        free(options->grants);
        for (size_t i = 0; i < options->file_count; i++) {
                free(options->files[i].local);
                free(options->files[i].remote);
        }
        free(options->files);
        free(options->directory);
        free(options->template_name);
        free(options->persist);
        free(options->remove);
        free(options->cwd);
        free(options->seccomp);
        str_list_free(&options->protect);
        str_list_free(&options->hide);
        str_list_free(&options->network_allow);
        str_list_free(&options->network_deny);
        free(options->log);
        tool_rules_free(&options->tools);
        str_list_free(&options->host_ports);
        str_list_free(&options->publish);
        str_list_free(&options->env);
        str_list_free(&options->env_files);
        str_list_free(&options->unsafe_grants);
        str_list_free(&options->command);
        *options = (struct options){0};
}

const char *options_stray(const struct str_list *command)
{
        for (size_t i = 1; i < command->count && !str_equal(command->values[i], "--"); i++) {
                const char *word = command->values[i];
                size_t length = strcspn(word, "=");
                if (!str_starts(word, "--"))
                        continue;
                const struct option_row *row = find_long(word + 2, length - 2);
                if (row && !option_belongs(row, "mcp") && !option_belongs(row, "run"))
                        continue;
                /* Many programs have options of these names; Node.js has the last. */
                if (row && str_words_have("help verbose file env-file", row->name, strlen(row->name)))
                        continue;
                if (row)
                        return word;
        }
        return NULL;
}
