/* SPDX-License-Identifier: Apache-2.0
 *
 * See command.h. One table has the words that begin each tool's command line, another one the options of
 * these tools. An option that is not in the table takes no value, and makes the command not plain.
 */
#include "command/command.h"

#include "command/interpreters.h"
#include "lib/fd.h"

#include <stdlib.h>

/* Whose options a command line has. */
enum family { NPX = 1, NPM = 2, UV = 4 };

static const struct form {
        const char *words;
        enum family family;
        enum command_tool tool;
} forms[] = {
    {"npx", NPX, COMMAND_NPX},       {"npm exec", NPM, COMMAND_NPX},   {"npm x", NPM, COMMAND_NPX},
    {"uvx", UV, COMMAND_UVX},        {"uv tool run", UV, COMMAND_UVX}, {"uv run", UV, COMMAND_UV_RUN},
    {"bunx", NPX, COMMAND_BUNX},     {"bun x", NPX, COMMAND_BUNX},     {"pnpx", NPX, COMMAND_BUNX},
    {"pnpm dlx", NPX, COMMAND_BUNX}, {"yarn dlx", NPX, COMMAND_BUNX},  {"pipx run", UV, COMMAND_PIPX_RUN},
};

enum meaning { NOTHING, CONSENT, PACKAGE, FROM, PYTHON, DIRECTORY, PROJECT, MODULE, ELSEWHERE };

static const struct option {
        unsigned families;
        enum meaning meaning;
        bool takes_value; /* in the next word, or after `=` */
        unsigned plain;   /* for these tools, as bits */
        const char *names;
} options[] = {
#define ALONE      false
#define VALUE      true
#define TOOL(name) (1U << COMMAND_##name)
    {NPX | NPM, CONSENT, ALONE, TOOL(NPX), "-y --yes -yq -qy"},
    {NPX | NPM, NOTHING, ALONE, TOOL(NPX), "-q --quiet"},
    {NPX | NPM, PACKAGE, VALUE, TOOL(NPX), "--package"},
    {NPX, PACKAGE, VALUE, TOOL(NPX), "-p"}, /* of `npm exec`, it is --parseable */
    {NPX | NPM, ELSEWHERE, VALUE, 0, "--registry --userconfig --globalconfig --cache --prefix"},
    {NPX | NPM, NOTHING, VALUE, 0, "-c --call -w --workspace --script-shell --loglevel"},
    {UV, NOTHING, ALONE, TOOL(UVX) | TOOL(UV_RUN), "-q --quiet"},
    {UV, FROM, VALUE, TOOL(UVX), "--from"},
    {UV, PACKAGE, VALUE, TOOL(UVX), "-w --with"},
    {UV, PYTHON, VALUE, TOOL(UVX), "-p --python"},
    {UV, DIRECTORY, VALUE, TOOL(UV_RUN), "--directory"},
    {UV, PROJECT, VALUE, TOOL(UV_RUN), "--project"},
    {UV, MODULE, ALONE, TOOL(UV_RUN), "-m --module"},
    {UV, NOTHING, ALONE, TOOL(UV_RUN), "--frozen --locked --offline"},
    {UV, ELSEWHERE, ALONE, 0, "-n --no-cache --no-index"},
    {UV, ELSEWHERE, VALUE, 0,
     "--index --default-index -i --index-url --extra-index-url -f --find-links --cache-dir --config-file "
     "--with-editable --with-requirements -c --constraints -b --build-constraints --overrides"},
    {UV, NOTHING, VALUE, 0,
     "--color --allow-insecure-host --python-preference --extra --no-extra --group --no-group --only-group "
     "--env-file --index-strategy --keyring-provider -P --upgrade-package --resolution --prerelease "
     "--fork-strategy --exclude-newer --link-mode -C --config-setting --no-build-package --no-binary-package "
     "--refresh-package --reinstall-package --package --no-editable-package --python-platform "
     "--torch-backend"},
};

struct reading {
        struct command *command;
        enum family family;
        const char *from;
        unsigned plain; /* the tools for which all options so far are plain */
};

static const struct option *find_option(enum family family, const char *word)
{
        for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
                size_t length = options[i].takes_value ? strcspn(word, "=") : strlen(word);
                if ((options[i].families & family) && str_words_have(options[i].names, word, length))
                        return &options[i];
        }
        return NULL;
}

/* `value` is NULL for an option that takes none. */
static void take_option(struct reading *reading, enum meaning meaning, const char *value)
{
        struct command *command = reading->command;
        switch (meaning) {
        case CONSENT:
                command->consents = true;
                break;
        case PACKAGE:
                str_list_add(&command->packages, value);
                break;
        case FROM:
                reading->from = value;
                break;
        case PYTHON:
                command->python = value;
                break;
        case DIRECTORY:
                command->directory = value;
                command->elsewhere = true;
                break;
        case PROJECT:
                command->project = value;
                command->elsewhere = true;
                break;
        case MODULE:
                command->is_module = true;
                break;
        case ELSEWHERE:
                command->elsewhere = true;
                break;
        case NOTHING:
                break;
        }
}

/* Reads the options from `index` on. Returns the index of the next word that is neither an option nor an
 * option's value, or the count. */
static size_t read_options(struct reading *reading, size_t index)
{
        const struct str_list *words = &reading->command->words;
        for (; index < words->count && words->values[index][0] == '-'; index++) {
                const char *word = words->values[index];
                bool has_next = index + 1 < words->count;
                const char *next = has_next ? words->values[index + 1] : "";
                if (str_equal(word, "--"))
                        return index + 1;
                const struct option *option = find_option(reading->family, word);
                reading->plain &= option ? option->plain : 0;
                if (!option)
                        continue;
                if (!option->takes_value) {
                        take_option(reading, option->meaning, NULL);
                        /* npm could take such a word as the option's value. */
                        if (str_words_have("true false null", next, strlen(next)))
                                reading->plain &= ~TOOL(NPX);
                        continue;
                }
                const char *inside = strchr(word, '=');
                const char *value = inside ? inside + 1 : next;
                if (inside || has_next)
                        take_option(reading, option->meaning, value);
                if (!value[0] || value[0] == '-')
                        reading->plain = 0;
                index += !inside;
        }
        return index < words->count ? index : words->count;
}

/* The form with this beginning; *whole when it has no further word. */
static const struct form *find_form(const char *beginning, bool *whole)
{
        size_t length = strlen(beginning);
        for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
                char end = '-';
                if (str_starts(forms[i].words, beginning))
                        end = forms[i].words[length];
                *whole = !end;
                if (!end || end == ' ')
                        return &forms[i];
        }
        return NULL;
}

/* Reads the words that choose the tool, and all its options. Returns the index of the word after them, 0 when
 * the command is none of these tools'. */
static size_t read_tool(struct reading *reading)
{
        struct command *command = reading->command;
        autofree char *beginning = str_copy(path_base(command->words.values[0]));
        for (size_t index = 1;;) {
                bool whole;
                const struct form *form = find_form(beginning, &whole);
                if (!form)
                        return 0;
                reading->family = form->family;
                index = read_options(reading, index);
                if (whole) {
                        command->tool = form->tool;
                        return index;
                }
                if (index == command->words.count)
                        return 0;
                str_append(&beginning, " %s", command->words.values[index++]);
        }
}

/* Lists what the tool would download: what options name, or else the program; uv's first one brings the
 * program. */
static void list_packages(struct reading *reading, const char *program)
{
        struct command *command = reading->command;
        struct str_list named = command->packages;
        bool is_npm = command->tool == COMMAND_NPX || command->tool == COMMAND_BUNX;
        const char *first = is_npm && named.count > 0 ? named.values[0]
                            : reading->from           ? reading->from
                                                      : program;
        command->packages = (struct str_list){0};
        if (first && command->tool != COMMAND_UV_RUN) {
                command->names_package = first == program;
                str_list_add(&command->packages, first);
                for (size_t i = is_npm; i < named.count; i++)
                        str_list_add(&command->packages, named.values[i]);
        }
        str_list_free(&named);
}

/* True when the words after the program are all its arguments. `npm exec` takes options there too, until
 * `--`, and uv's `--` is not one. */
static bool has_plain_arguments(const struct reading *reading)
{
        const struct command *command = reading->command;
        char *const *words = command->words.values;
        for (size_t i = command->program + 1; i < command->words.count; i++)
                if ((command->tool == COMMAND_UVX && str_equal(words[i], "--")) ||
                    (reading->family == NPM && words[i][0] == '-' && words[i][1] &&
                     !str_equal(words[command->program - 1], "--")))
                        return false;
        return command->program > 0;
}

void command_read(const struct str_list *words, struct command *command)
{
        struct reading reading = {.command = command, .plain = TOOL(NPX) | TOOL(UVX) | TOOL(UV_RUN)};
        *command = (struct command){0};
        str_list_add_all(&command->words, words);
        size_t index = read_tool(&reading);
        if (!index) {
                struct str_list kept = command->words;
                str_list_free(&command->packages);
                *command = (struct command){.words = kept};
                command->program = interpreter_program(&command->words, &command->module);
                return;
        }
        command->program = index < words->count ? index : 0;
        command->consents |= reading.family == UV;
        list_packages(&reading, command->program ? command->words.values[index] : NULL);
        command->plain = (reading.plain & 1U << command->tool) != 0 &&
                         (command->tool == COMMAND_UV_RUN || has_plain_arguments(&reading));
}

void command_free(struct command *command)
{
        str_list_free(&command->words);
        str_list_free(&command->packages);
        *command = (struct command){0};
}

char *command_package_name(enum command_tool tool, const char *package)
{
        if (tool == COMMAND_UVX || tool == COMMAND_PIPX_RUN)
                return str_copy_n(package, strcspn(package, "[@=<>~! ;"));
        const char *at = strchr(package + (package[0] == '@'), '@');
        return str_copy_n(package, at ? (size_t)(at - package) : strlen(package));
}

bool command_is_npm_name(const char *name)
{
        const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
        autofree char *scope = slash ? str_copy_n(name + 1, (size_t)(slash - name) - 1) : str_copy("x");
        return str_is_file_name(scope) && str_is_file_name(slash ? slash + 1 : name);
}
