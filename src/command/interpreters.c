/* SPDX-License-Identifier: Apache-2.0
 *
 * See interpreters.h. For each interpreter, the table lists the options that take the next word as their
 * value, and the options after which no program follows. Any other word that starts with a dash is an option
 * alone.
 */
#include "command/interpreters.h"

#include <stdbool.h>
#include <stdlib.h>

struct interpreter {
        /* Lists of words have blanks between them. */
        const char *names;        /* of the command, without a version at the end */
        const char *subcommand;   /* a word that may come before the program, or NULL */
        bool needs_subcommand;    /* without it there is no program */
        const char *value_words;  /* options whose value is the next word */
        const char *no_program;   /* options after which no program follows */
        const char *program_word; /* an option whose value is the program, or NULL */
        /* Single letters, in a group such as -uW. */
        const char *value_letters;      /* the rest of the word, or the next word, is the value */
        const char *no_program_letters; /* no program follows */
        const char *module_letters;     /* the value is a module in place of the program */
        const char *isolating_letters;  /* the module is not looked for in the working directory */
};

static const struct interpreter interpreters[] = {
    {
        .names = "node nodejs",
        .value_words = "-r --require --import --loader --experimental-loader -C --conditions --env-file "
                       "--env-file-if-exists --inspect-port --title --input-type --icu-data-dir "
                       "--openssl-config --redirect-warnings --disable-warning --watch-path "
                       "--unhandled-rejections --dns-result-order --diagnostic-dir",
        .no_program = "-e --eval -p --print -pe --run --test",
    },
    {
        .names = "python pypy",
        .value_words = "--check-hash-based-pycs",
        .no_program = "",
        .value_letters = "WX",
        .no_program_letters = "c",
        .module_letters = "m",
        .isolating_letters = "IP",
    },
    {
        .names = "deno",
        .subcommand = "run",
        .needs_subcommand = true,
        .value_words = "-c --config --import-map --lock --cert --location --seed --preload",
        .no_program = "",
    },
    {
        .names = "bun",
        .subcommand = "run",
        .value_words = "-r --preload -c --config --cwd --env-file --port --conditions --filter",
        .no_program = "-e --eval -p --print",
    },
    {
        .names = "sh bash dash zsh ksh",
        .value_words = "--rcfile --init-file -O +O +o",
        .no_program = "",
        .value_letters = "o",
        .no_program_letters = "cs",
    },
    {
        .names = "java",
        .value_words = "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports "
                       "--add-reads",
        .no_program = "-m --module",
        .program_word = "-jar",
    },
    {
        .names = "ruby",
        .value_words = "--encoding --external-encoding --internal-encoding",
        .no_program = "",
        .value_letters = "IrCEF",
        .no_program_letters = "eS",
    },
    {
        .names = "perl",
        .value_words = "",
        .no_program = "",
        .value_letters = "I",
        .no_program_letters = "eES",
    },
};

/* Finds the interpreter by its name without a version: python3.12, ruby3.1, perl5.36. */
static const struct interpreter *find_interpreter(const char *command)
{
        const char *name = path_base(command);
        size_t length = strlen(name);
        while (length > 0 && strchr("0123456789.", name[length - 1]))
                length--;
        for (size_t i = 0; length > 0 && i < sizeof(interpreters) / sizeof(*interpreters); i++)
                if (str_words_have(interpreters[i].names, name, length))
                        return &interpreters[i];
        return NULL;
}

static bool is_in(const char *letters, char letter)
{
        return letters && strchr(letters, letter);
}

/* What follows an option. */
enum meaning { ALONE, TAKES_NEXT, NO_PROGRAM, MODULE };

/* Reads a group of letters: `-Bu`, `-uW`, `-Wignore`, `-lc`. *letters becomes what is left of the group. */
static enum meaning judge_letters(const struct interpreter *interpreter, const char **letters, bool *isolated)
{
        while (**letters) {
                char letter = *(*letters)++;
                *isolated |= is_in(interpreter->isolating_letters, letter);
                if (is_in(interpreter->no_program_letters, letter))
                        return NO_PROGRAM;
                if (is_in(interpreter->module_letters, letter))
                        return MODULE;
                if (is_in(interpreter->value_letters, letter))
                        return **letters ? ALONE : TAKES_NEXT;
        }
        return ALONE;
}

static enum meaning judge_option(const struct interpreter *interpreter, const char **word, bool *isolated)
{
        if (str_words_have(interpreter->value_words, *word, strlen(*word)))
                return TAKES_NEXT;
        /* `--eval=…` has the program's text in the same word. */
        if (str_words_have(interpreter->no_program, *word, strcspn(*word, "=")))
                return NO_PROGRAM;
        bool is_group = (*word)[1] != '-';
        *word += is_group;
        return is_group ? judge_letters(interpreter, word, isolated) : ALONE;
}

size_t interpreter_program(const struct str_list *command, const char **module)
{
        const struct interpreter *interpreter = find_interpreter(command->values[0]);
        *module = NULL;
        if (!interpreter)
                return 0;
        bool subcommand_seen = !interpreter->subcommand, isolated = false;
        for (size_t i = 1; i < command->count; i++) {
                const char *word = command->values[i];
                if ((interpreter->program_word && str_equal(word, interpreter->program_word)) ||
                    str_equal(word, "--"))
                        return i + 1 < command->count ? i + 1 : 0;
                if (str_equal(word, "-"))
                        return 0; /* the interpreter reads the program from standard input */
                if (word[0] == '-' || str_words_have(interpreter->value_words, word, strlen(word))) {
                        switch (judge_option(interpreter, &word, &isolated)) {
                        case MODULE:
                                *module = isolated ? NULL : *word ? word : command->values[i + 1];
                                return 0;
                        case NO_PROGRAM:
                                return 0;
                        case TAKES_NEXT:
                                i++;
                                break;
                        case ALONE:
                                break;
                        }
                } else if (!subcommand_seen && str_equal(word, interpreter->subcommand)) {
                        subcommand_seen = true;
                } else {
                        return subcommand_seen || !interpreter->needs_subcommand ? i : 0;
                }
        }
        return 0;
}

const char *interpreter_env_program(char *words)
{
        static const char with_value[] = "-u --unset -C --chdir -a --argv0";
        char *rest = NULL;
        const char *word = strtok_r(words, " \t", &rest);
        while (word && (word[0] == '-' || strchr(word, '='))) {
                if (str_words_have(with_value, word, strlen(word)))
                        (void)strtok_r(NULL, " \t", &rest);
                word = strtok_r(NULL, " \t", &rest);
        }
        return word;
}
