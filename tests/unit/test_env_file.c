/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of variables: which lines are taken, which are refused by number, and that nothing of a file's
 * content ever stands in a sentence.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "options/values.h"
#include "resolve/env.h"
#include "resolve/env_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static char path[64];
static char *notes;

static void collect(void *context, const char *line, size_t length)
{
        (void)context;
        char *longer = str_format("%s%.*s", notes, (int)length, line);
        free(notes);
        notes = longer;
}

static bool read_file(const char *file, struct str_list *variables, struct error *error)
{
        struct box box = {0};
        struct held_sources held = {0};
        const struct resolver resolver = {.box = &box, .held = &held, .error = error};
        bool done = env_file_read(&resolver, file, variables);
        held_sources_release(&held);
        return done;
}

static bool read_text(const char *text, size_t length, mode_t mode, struct str_list *variables,
                      struct error *error)
{
        *error = (struct error){0};
        *variables = (struct str_list){0};
        free(notes);
        notes = str_copy("");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, length), 0);
        assert_int_equal(fchmod(fd, mode), 0);
        close(fd);
        return read_file(path, variables, error);
}

static void test_lines(void **state)
{
        (void)state;
        struct str_list variables;
        struct error error;
        static const char text[] = "\xef\xbb\xbf# comment\n\n  \t\n  # another = one\nA=1\n\tB=\nC= x=y # "
                                   "z\r\n_d9=\"q\"\nE=\xff\nF=last";
        assert_true(read_text(text, sizeof(text) - 1, 0600, &variables, &error));
        static const char *const wanted[] = {"A=1", "B=", "C= x=y # z", "_d9=\"q\"", "E=\xff", "F=last"};
        assert_int_equal(variables.count, 6);
        for (size_t i = 0; i < variables.count; i++)
                assert_string_equal(variables.values[i], wanted[i]);
        assert_non_null(strstr(notes, ":8: the quotes are part of the value"));
        assert_null(strstr(notes, "other users can read"));
        str_list_free(&variables);
        assert_true(read_text("", 0, 0600, &variables, &error));
        assert_int_equal(variables.count, 0);
}

/* Container engines keep quotes, too; a shell does not. */
static void test_quotes(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                bool noted;
        } rows[] = {
            {"A=\"q\"", true}, {"A='q'", true}, {"A=\"\"", true},  {"A=''", true},
            {"A=\"", false},   {"A='", false},  {"A=\"q'", false}, {"A=\"q", false},
            {"A=q\"", false},  {"A=qq", false}, {"A=", false},     {"A=q", false},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct str_list variables;
                struct error error;
                assert_true(read_text(rows[i].text, strlen(rows[i].text), 0600, &variables, &error));
                assert_string_equal(variables.values[0], rows[i].text);
                if ((strstr(notes, "the quotes are part of the value") != NULL) != rows[i].noted)
                        fail_msg("%s: \"%s\"", rows[i].text, notes);
                str_list_free(&variables);
        }
}

static void test_others_can_read(void **state)
{
        (void)state;
        struct str_list variables;
        struct error error;
        static const mode_t modes[] = {0640, 0604, 0644};
        for (size_t i = 0; i < 3; i++) {
                assert_true(read_text("A=1\n", 4, modes[i], &variables, &error));
                assert_non_null(strstr(notes, "other users can read"));
                str_list_free(&variables);
        }
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                size_t length; /* 0: the string's */
                const char *part;
        } rows[] = {
            {"A=1\nswordfish\n", 0, ":2: "},       {"swordfish", 0, ":1: "},
            {"\n\nexport A=swordfish", 0, ":3: "}, {"=swordfish", 0, ":1: "},
            {"A =swordfish", 0, ":1: "},           {"9=swordfish", 0, ":1: "},
            {"swordfish+/==\n", 0, ":1: "},        {"A: swordfish\n", 0, ":1: "},
            {"A=1\nB=sword\0fish\n", 17, ":2: "},  {"A=1\n\0", 5, ":2: "},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct str_list variables;
                struct error error;
                size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);
                if (read_text(rows[i].text, length, 0600, &variables, &error))
                        fail_msg("row %zu is taken", i);
                assert_int_equal(error.status, EXIT_USAGE);
                assert_non_null(strstr(error.text, path));
                assert_non_null(strstr(error.text, rows[i].part));
                assert_null(strstr(error.text, "sword"));
                str_list_free(&variables);
        }
}

static void test_sizes(void **state)
{
        (void)state;
        struct str_list variables;
        struct error error;
        enum { MOST = 1 << 20 };
        autofree char *text = str_or_die(malloc(MOST + 1));
        memset(text, '#', MOST + 1);
        assert_true(read_text(text, MOST, 0600, &variables, &error));
        assert_false(read_text(text, MOST + 1, 0600, &variables, &error));
        assert_int_equal(error.status, EXIT_SETUP);
        assert_non_null(strstr(error.text, "larger than 1 MiB"));
        memcpy(text, "A=", 2);
        assert_true(read_text(text, ENV_VARIABLE_MAX - 1, 0600, &variables, &error));
        str_list_free(&variables);
        assert_false(read_text(text, ENV_VARIABLE_MAX, 0600, &variables, &error));
        assert_int_equal(error.status, EXIT_USAGE);
        assert_non_null(strstr(error.text, "131071 bytes"));
}

static void test_what_is_no_file(void **state)
{
        (void)state;
        static const struct {
                const char *path, *part;
        } rows[] = {
            {"/no/such/file", "No such file"},
            {"/", "Is a directory"},
            {"/dev/zero", "it is not a regular file"},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                struct str_list variables = {0};
                struct error error = {0};
                assert_false(read_file(rows[i].path, &variables, &error));
                assert_int_equal(error.status, EXIT_SETUP);
                assert_non_null(strstr(error.text, rows[i].part));
        }
}

static int set_up(void **state)
{
        (void)state;
        snprintf(path, sizeof(path), "/tmp/hutch-env-file-XXXXXX");
        int fd = mkstemp(path);
        messages_send_to(collect, NULL);
        return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
        (void)state;
        free(notes);
        messages_send_to(NULL, NULL);
        return unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lines),           cmocka_unit_test(test_quotes),
            cmocka_unit_test(test_others_can_read), cmocka_unit_test(test_refusals),
            cmocka_unit_test(test_sizes),           cmocka_unit_test(test_what_is_no_file),
        };
        return cmocka_run_group_tests_name("env_file", tests, set_up, tear_down);
}
