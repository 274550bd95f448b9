/* SPDX-License-Identifier: Apache-2.0
 *
 * See program.h. npx passes on every word after the package's name; `npm exec` reads its own options among
 * the arguments too, up to `--`.
 */
#include "packages/program.h"

#include "packages/request.h"

#include <stdlib.h>

/* The value of the option `name` at *index, in the next word or after `=`; *index becomes the index of the
 * value's word. NULL when the word is another option, or the value is not a plain one. */
static const char *take_value(const struct str_list *command, size_t *index, const char *name)
{
        const char *word = command->values[*index];
        size_t length = strlen(name);
        if (strncmp(word, name, length) != 0 || (word[length] && word[length] != '='))
                return NULL;
        size_t last = word[length] ? *index : *index + 1;
        const char *value =
            word[length] ? word + length + 1 : command->values[last]; /* NULL after the last word */
        if (!value || !value[0] || value[0] == '-')
                return NULL;
        *index = last;
        return value;
}

/* Takes npm's option at *index. For `npm exec`, -p means --parseable. */
static bool take_npm_option(const struct str_list *command, size_t *index, bool is_npx,
                            struct fetch_program *program)
{
        const char *word = command->values[*index];
        if (str_words_have("-y --yes -q --quiet", word, strlen(word))) {
                /* npm could take these words as the option's value. */
                const char *next = *index + 1 < command->count ? command->values[*index + 1] : "";
                return !str_words_have("true false null", next, strlen(next));
        }
        const char *package = take_value(command, index, "--package");
        if (!package && is_npx)
                package = take_value(command, index, "-p");
        if (!package || program->package)
                return false;
        program->package = str_copy(package);
        return true;
}

static bool read_npm(const struct str_list *command, size_t index, bool is_npx, struct fetch_program *program)
{
        struct str_list *words = &program->words;
        bool plain = true, options = true;
        for (; plain && index < command->count; index++) {
                const char *word = command->values[index];
                if (options && str_equal(word, "--"))
                        options = false;
                else if (options && word[0] == '-' && word[1])
                        plain = take_npm_option(command, &index, is_npx, program);
                else
                        str_list_add(words, word);
                options = options && !(is_npx && words->count > 0);
        }
        if (!plain || words->count == 0)
                return false;
        if (program->package)
                return str_is_file_name(words->values[0]);
        program->package = words->values[0];
        words->values[0] = str_copy("");
        return true;
}

static bool read_uv(const struct str_list *command, size_t index, struct fetch_program *program)
{
        static const char *const with_value[] = {"--with", "-w", "--python", "-p"};
        const char *from = NULL;
        for (; index < command->count && command->values[index][0] == '-'; index++) {
                const char *word = command->values[index];
                const char *value = take_value(command, &index, "--from");
                from = value ? value : from;
                for (size_t i = 0; !value && i < sizeof(with_value) / sizeof(*with_value); i++)
                        value = take_value(command, &index, with_value[i]);
                if (!value && !str_words_have("-q --quiet", word, strlen(word)))
                        return false;
        }
        if (index == command->count)
                return false;
        const char *word = command->values[index];
        program->package = str_copy(from ? from : word);
        str_list_take(&program->words, from ? str_copy(word) : fetch_package_name(FETCH_UV, word));
        while (++index < command->count) {
                if (str_equal(command->values[index], "--"))
                        return false;
                str_list_add(&program->words, command->values[index]);
        }
        /* For `python…` uv starts an interpreter, not a package's program. */
        const char *name = program->words.values[0];
        return str_is_file_name(name) && !str_starts(name, "python");
}

bool fetch_program_read(const struct str_list *command, struct fetch_program *program)
{
        *program = (struct fetch_program){0};
        const char *name = path_base(command->values[0]);
        const char *first = command->count > 1 ? command->values[1] : "";
        const char *second = command->count > 2 ? command->values[2] : "";
        if (str_equal(name, "npx"))
                return read_npm(command, 1, true, program);
        if (str_equal(name, "npm") && (str_equal(first, "exec") || str_equal(first, "x")))
                return read_npm(command, 2, false, program);
        bool tool = str_equal(name, "uv") && str_equal(first, "tool") && str_equal(second, "run");
        program->uv = tool || str_equal(name, "uvx");
        return program->uv && read_uv(command, tool ? 3 : 1, program);
}

void fetch_program_free(struct fetch_program *program)
{
        str_list_free(&program->words);
        free(program->package);
        *program = (struct fetch_program){0};
}
