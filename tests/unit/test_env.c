/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment inside: exactly the expected variables, each from the right layer, and nothing of the
 * caller's.
 */
#include "lib/fd.h"
#include "resolve/env.h"

#include "command/toolchain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static bool make_environment(struct box *box, const struct options *options, struct template *template,
                             struct toolchain *toolchain, const struct str_list *files, struct error *error)
{
        const struct resolver resolver = {
            .options = options, .box = box, .template = template, .toolchain = toolchain, .error = error};
        return env_make(&resolver, files);
}

static void make(struct box *box, const char *const *env, const char *const *constants,
                 const char *const *front)
{
        struct options options = {0};
        struct template template = {0};
        struct toolchain toolchain = {0};
        struct error error = {0};
        for (; *env; env++)
                str_list_add(&options.env, *env);
        for (; *constants; constants++)
                str_list_add(&template.environment, *constants);
        for (; *front; front++)
                str_list_add(&toolchain.front, *front);
        str_list_add(&template.path, "/usr/bin");
        str_list_add(&template.path, "/bin");
        *box = (struct box){.home = str_copy("/home/someone")};
        assert_true(make_environment(box, &options, &template, &toolchain, &(struct str_list){0}, &error));
        toolchain_free(&toolchain);
        template_free(&template);
        options_free(&options);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__ NULL})

static void test_nothing_of_the_caller(void **state)
{
        (void)state;
        struct box box;
        assert_int_equal(clearenv(), 0);
        assert_int_equal(setenv("SECRET", "x", 1), 0);
        assert_int_equal(setenv("PATH", "/of/the/caller", 1), 0);
        assert_int_equal(setenv("LC_ALL", "de_DE.UTF-8", 1), 0);
        make(&box, LIST(), LIST(), LIST());
        static const char *const expected[] = {"PATH=/usr/bin:/bin", "HOME=/home/someone", "USER=nonroot",
                                               "LOGNAME=nonroot",    "LANG=C.UTF-8",       "TERM=dumb",
                                               "TMPDIR=/tmp",        "SHELL=/bin/sh"};
        assert_int_equal(box.environment.count, sizeof(expected) / sizeof(*expected));
        for (size_t i = 0; i < box.environment.count; i++)
                assert_string_equal(box.environment.values[i], expected[i]);
        assert_int_equal(box.secret_names.count, 0);
        box_free(&box);
}

static void test_layers(void **state)
{
        (void)state;
        struct box box;
        make(&box, LIST("A=named", "TERM=named", "A=last", "EMPTY=", ), LIST("A=constant", "B=constant", ),
             LIST("/opt/x/bin", "/usr/bin", "/opt/x/bin", ));
        assert_true(str_list_has(&box.environment, "PATH=/opt/x/bin:/usr/bin:/bin"));
        assert_true(str_list_has(&box.environment, "A=last"));
        assert_true(str_list_has(&box.environment, "B=constant"));
        assert_true(str_list_has(&box.environment, "TERM=named"));
        assert_true(str_list_has(&box.environment, "EMPTY="));
        assert_int_equal(box.environment.count, 8 + 3);
        assert_int_equal(box.secret_names.count, 3);
        assert_string_equal(box.secret_names.values[0], "A");
        box_free(&box);
}

static void test_files_come_before_names(void **state)
{
        (void)state;
        struct box box = {.home = str_copy("/h")};
        struct options options = {0};
        struct template template = {0};
        struct str_list files = {0};
        struct error error = {0};
        str_list_add(&files, "A=first file");
        str_list_add(&files, "B=first file");
        str_list_add(&files, "B=second file");
        str_list_add(&files, "HOME=/file");
        str_list_add(&options.env, "A=named");
        assert_true(make_environment(&box, &options, &template, &(struct toolchain){0}, &files, &error));
        assert_true(str_list_has(&box.environment, "A=named"));
        assert_true(str_list_has(&box.environment, "B=second file"));
        assert_true(str_list_has(&box.environment, "HOME=/file"));
        assert_int_equal(box.environment.count, 8 + 2);
        assert_int_equal(box.secret_names.count, 3);
        str_list_free(&files);
        options_free(&options);
        box_free(&box);
}

static void test_language_and_terminal(void **state)
{
        (void)state;
        static const struct {
                const char *caller;
                const char *inside;
        } languages[] =
            {
                {"de_DE.UTF-8", "LANG=de_DE.UTF-8"},  {"en_US.utf8", "LANG=en_US.utf8"},
                {"C.UTF-8", "LANG=C.UTF-8"},          {"de_DE", "LANG=C.UTF-8"},
                {"de_DE.ISO-8859-1", "LANG=C.UTF-8"}, {"POSIX", "LANG=C.UTF-8"},
                {"../../x.UTF-8", "LANG=C.UTF-8"},    {"", "LANG=C.UTF-8"},
            },
          terminals[] = {
              {"xterm-256color", "TERM=xterm-256color"},
              {"a/b", "TERM=dumb"},
              {"", "TERM=dumb"},
              {"a\nb", "TERM=dumb"},
          };
        for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
                struct box box;
                assert_int_equal(setenv("LANG", languages[i].caller, 1), 0);
                make(&box, LIST(), LIST(), LIST());
                assert_true(str_list_has(&box.environment, languages[i].inside));
                box_free(&box);
        }
        for (size_t i = 0; i < sizeof(terminals) / sizeof(*terminals); i++) {
                struct box box;
                assert_int_equal(setenv("TERM", terminals[i].caller, 1), 0);
                make(&box, LIST(), LIST(), LIST());
                assert_true(str_list_has(&box.environment, terminals[i].inside));
                box_free(&box);
        }
}

static void test_too_much(void **state)
{
        (void)state;
        struct box box = {.home = str_copy("/h")};
        struct options options = {0};
        struct template template = {0};
        struct error error = {0};
        for (unsigned i = 0; i < 9; i++)
                str_list_take(&options.env, str_format("A%u=%0*d", i, 128 * 1024 - 10, 7));
        assert_false(make_environment(&box, &options, &template, &(struct toolchain){0},
                                      &(struct str_list){0}, &error));
        assert_int_equal(error.status, EXIT_USAGE);
        assert_true(strlen(error.text) < 200);
        options_free(&options);
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_nothing_of_the_caller),
            cmocka_unit_test(test_layers),
            cmocka_unit_test(test_files_come_before_names),
            cmocka_unit_test(test_language_and_terminal),
            cmocka_unit_test(test_too_much),
        };
        return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
