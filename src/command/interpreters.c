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
};

static const struct interpreter interpreters[] = {
    {
        .names = "node nodejs",
        .value_words = "-r --require --import --loader --experimental-loader -C --conditions --env-file "
                       "--env-file-if-exists --inspect-port --title --input-type --icu-data-dir "
                       "--openssl-config --redirect-warnings --disable-warning --watch-path "
                       "--unhandled-rejections --dns-result-order --diagnostic-dir",
        .no_program = "-e --eval -p --print -pe --run --test",
        .value_letters = "",
        .no_program_letters = "",
    },
    {
        .names = "python pypy",
        .value_words = "--check-hash-based-pycs",
        .no_program = "",
        .value_letters = "WX",
        .no_program_letters = "cm",
    },
    {
        .names = "deno",
        .subcommand = "run",
        .needs_subcommand = true,
        .value_words = "-c --config --import-map --lock --cert --location --seed --preload",
        .no_program = "",
        .value_letters = "",
        .no_program_letters = "",
    },
    {
        .names = "bun",
        .subcommand = "run",
        .value_words = "-r --preload -c --config --cwd --env-file --port --conditions --filter",
        .no_program = "-e --eval -p --print",
        .value_letters = "",
        .no_program_letters = "",
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
        .value_letters = "",
        .no_program_letters = "",
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

enum meaning { ALONE, TAKES_NEXT, NO_PROGRAM };

/* Reads a group of letters: `-Bu`, `-uW`, `-Wignore`, `-lc`. */
static enum meaning judge_letters(const struct interpreter *interpreter, const char *letters)
{
        for (; *letters; letters++) {
                if (strchr(interpreter->no_program_letters, *letters))
                        return NO_PROGRAM;
                if (strchr(interpreter->value_letters, *letters))
                        return letters[1] ? ALONE : TAKES_NEXT;
        }
        return ALONE;
}

static enum meaning judge_option(const struct interpreter *interpreter, const char *word)
{
        size_t length = strlen(word);
        if (str_words_have(interpreter->value_words, word, length))
                return TAKES_NEXT;
        /* `--eval=…` has the program's text in the same word. */
        if (str_words_have(interpreter->no_program, word, strcspn(word, "=")))
                return NO_PROGRAM;
        return word[1] == '-' ? ALONE : judge_letters(interpreter, word + 1);
}

size_t interpreter_program(const struct str_list *command)
{
        const struct interpreter *interpreter = find_interpreter(command->values[0]);
        if (!interpreter)
                return 0;
        bool subcommand_seen = !interpreter->subcommand;
        for (size_t i = 1; i < command->count; i++) {
                const char *word = command->values[i];
                if (interpreter->program_word && str_equal(word, interpreter->program_word))
                        return i + 1 < command->count ? i + 1 : 0;
                if (str_equal(word, "--"))
                        return i + 1 < command->count ? i + 1 : 0;
                if (str_equal(word, "-"))
                        return 0; /* the interpreter reads the program from standard input */
                if (word[0] == '-' || str_words_have(interpreter->value_words, word, strlen(word))) {
                        switch (judge_option(interpreter, word)) {
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

const char *interpreter_module(const struct str_list *command)
{
        const struct interpreter *interpreter = find_interpreter(command->values[0]);
        if (!interpreter || !str_words_have(interpreter->names, "python", strlen("python")))
                return NULL;
        for (size_t i = 1; i < command->count && command->values[i][0] == '-' && command->values[i][1]; i++) {
                const char *word = command->values[i];
                if (judge_option(interpreter, word) == TAKES_NEXT) {
                        i++;
                        continue;
                }
                if (word[1] == '-')
                        continue;
                /* With -I and -P Python does not look into the working directory; after -c no module follows.
                 */
                const char *letter = word + 1 + strcspn(word + 1, "mcIPWX");
                if (*letter == 'm')
                        return letter[1] ? letter + 1 : command->values[i + 1];
                if (*letter == 'c' || *letter == 'I' || *letter == 'P')
                        return NULL;
        }
        return NULL;
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
