/* SPDX-License-Identifier: Apache-2.0
 *
 * See env.h.
 */
#include "resolve/env.h"

#include "command/toolchain.h"

#include "lib/environment.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <strings.h>

enum { ENVIRONMENT_MAX = 1024 * 1024 }; /* the kernel's bound on argv and environment together is 2 MiB */

static char *make_path(const struct str_list *front, const struct str_list *base)
{
        const struct str_list *const layers[] = {front, base};
        struct str_list directories = {0};
        for (size_t layer = 0; layer < 2; layer++)
                for (size_t i = 0; i < layers[layer]->count; i++)
                        if (!str_list_has(&directories, layers[layer]->values[i]))
                                str_list_add(&directories, layers[layer]->values[i]);
        autofree char *joined = str_join(&directories, ":");
        str_list_free(&directories);
        return str_format("PATH=%s", joined);
}

static bool is_word(const char *text, size_t longest)
{
        size_t length = strlen(text);
        return length > 0 && length <= longest &&
               strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@-") == length;
}

/* The caller's locale when its encoding is UTF-8: the host's locales are in /usr, and MCP is UTF-8. */
static const char *choose_language(void)
{
        const char *caller = getenv("LANG");
        const char *encoding = caller ? strrchr(caller, '.') : NULL;
        if (encoding && is_word(caller, 64) &&
            (strcasecmp(encoding, ".UTF-8") == 0 || strcasecmp(encoding, ".UTF8") == 0))
                return caller;
        return "C.UTF-8";
}

static const char *choose_terminal(void)
{
        const char *caller = getenv("TERM");
        return caller && is_word(caller, 64) ? caller : "dumb";
}

/* Every variable that the user names is treated as a secret. */
static void set_named(struct box *box, const struct str_list *named)
{
        for (size_t i = 0; i < named->count; i++) {
                const char *entry = named->values[i];
                autofree char *name = str_copy_n(entry, strcspn(entry, "="));
                if (!str_list_has(&box->secret_names, name))
                        str_list_add(&box->secret_names, name);
                environment_set(&box->environment, str_copy(entry));
        }
}

bool env_make(const struct resolver *resolver, const struct str_list *from_files)
{
        const struct template *template = resolver->template;
        struct box *box = resolver->box;
        const struct options *options = resolver->options;
        struct str_list *environment = &box->environment;
        size_t bytes = 0;

        environment_set(environment, make_path(&resolver->toolchain->front, &template->path));
        environment_set(environment, str_format("HOME=%s", box->home));
        environment_set(environment, str_copy("USER=" BOX_USER));
        environment_set(environment, str_copy("LOGNAME=" BOX_USER));
        environment_set(environment, str_format("LANG=%s", choose_language()));
        environment_set(environment, str_format("TERM=%s", choose_terminal()));
        environment_set(environment, str_copy("TMPDIR=/tmp"));
        environment_set(environment, str_copy("SHELL=/bin/sh"));
        for (size_t i = 0; i < template->environment.count; i++)
                environment_set(environment, str_copy(template->environment.values[i]));
        set_named(box, from_files);
        set_named(box, &options->env);

        for (size_t i = 0; i < environment->count; i++)
                bytes += strlen(environment->values[i]) + 1 + sizeof(char *);
        if (bytes > ENVIRONMENT_MAX)
                return error_set(
                    resolver->error, EXIT_USAGE,
                    "--env and --env-file: the variables together have %zu bytes, the most is %d", bytes,
                    ENVIRONMENT_MAX);
        return true;
}
