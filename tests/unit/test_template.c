/* SPDX-License-Identifier: Apache-2.0
 *
 * Templates: the one that hutch brings is right, and everything that is not right about a file is said with
 * its line and status 2, never skipped.
 */
#include "lib/fd.h"
#include "lib/messages.h"
#include "policy/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GOOD "\"description\": \"d\",\n\"tree\": \"host\",\n\"path\": [\"/bin\"]"

static void test_our_own(void **state)
{
        (void)state;
        struct template template;
        struct error error = {0};
        if (!template_load(HUTCH_SOURCE_DIR "/policy/templates/mcp-server.json", &template, &error))
                fail_msg("%s", error.text);
        assert_true(str_list_has(&template.path, "/usr/bin"));
        assert_true(template.command_count >= 3);
        assert_non_null(strstr(template.file, "mcp-server.json"));
        assert_true(template.description[0]);
        template_free(&template);
}

static void test_all_keys(void **state)
{
        (void)state;
        static const char json[] = "{" GOOD ", \"environment\": {\"A\": \"\", \"B\": \"x=y\"},"
                                   "\"commands\": {\"node\": \"nodejs\"}}\n";
        struct template template;
        struct error error = {0};
        assert_true(template_parse("name", "file", json, sizeof(json) - 1, &template, &error));
        assert_string_equal(template.name, "name");
        assert_string_equal(template.path.values[0], "/bin");
        assert_string_equal(template.environment.values[0], "A=");
        assert_string_equal(template.environment.values[1], "B=x=y");
        assert_string_equal(template.commands[0].name, "node");
        assert_string_equal(template.commands[0].package, "nodejs");
        template_free(&template);
}

static void assert_refused(const char *json, size_t length, const char *part)
{
        struct template template;
        struct error error = {0};
        if (template_parse("t", "/t.json", json, length, &template, &error))
                fail_msg("taken: %s", json);
        assert_int_equal(error.status, EXIT_USAGE);
        if (!strstr(error.text, part) || !strstr(error.text, "/t.json"))
                fail_msg("\"%s\" says nothing of \"%s\"", error.text, part);
        template_free(&template);
}

static void test_refusals(void **state)
{
        (void)state;
        static const char *const rows[][2] = {
            {"", "line 1: not JSON"},
            {"{", "not JSON"},
            {"{}}", "not JSON"},
            {"{" GOOD "}\n\n x", "line 5: not JSON"},
            {"{" GOOD ",}", "line 3: not JSON"},
            {"[]", "JSON object"},
            {"\"x\"", "JSON object"},
            {"{}", "\"description\" is missing"},
            {"{\"description\": \"d\", \"tree\": \"host\"}", "\"path\" is missing"},
            {"{" GOOD ",\n\"enviroment\": {}}",
             "line 4: \"enviroment\" is not a key of templates; did you mean "
             "\"environment\"?"},
            {"{" GOOD ",\n\n\"Path\": []}", "line 5: \"Path\" is not a key"},
            {"{" GOOD ",\n\"xyzzy\": {}}", "line 4: \"xyzzy\" is not a key"},
            {"{" GOOD ",\n\"tree\": \"host\"}", "line 4: \"tree\" is given twice"},
            {"{" GOOD ",\n\"environment\": {\"A\": \"\",\n\"A\": \"\"}}", "line 5: \"A\" is given twice"},
            {"{" GOOD ",\n\"environment\": {\"A\": \"\"},\n\"x:\\\"\": 1}", "line 5"},
            {"{" GOOD ", \"environment\": {\"A\": 1}}", "line 3: \"A\" must be a string"},
            {"{" GOOD ", \"environment\": {\"A-B\": \"\"}}", "not the name of a variable"},
            {"{" GOOD ", \"environment\": []}", "must be an object"},
            {"{" GOOD ", \"commands\": {\"a/b\": \"x\"}}", "without a directory"},
            {"{" GOOD ", \"commands\": {\"a\": \"\"}}", "must name the package"},
            {"{" GOOD ", \"commands\": {\"a\": null}}", "must name the package"},
            {"{" GOOD ", \"commands\": \"a\"}", "must be an object"},
            {"{\"description\": 1}", "must be a string"},
            {"{\"tree\": \"image\"}", "must be \"host\""},
            {"{\"tree\": null}", "must be \"host\""},
            {"{\"path\": []}", "list of absolute directories"},
            {"{\"path\": \"/bin\"}", "list of absolute directories"},
            {"{\"path\": [\"bin\"]}", "list of absolute directories"},
            {"{\"path\": [\"/bin:/x\"]}", "none with a colon"},
            {"{\"path\": [1]}", "list of absolute directories"},
            {"{\"description\": \"a\\u0000b\"}", "NUL"},
        };
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
                assert_refused(rows[i][0], strlen(rows[i][0]), rows[i][1]);
        assert_refused("{}\n\0x", 5, "line 2: a NUL character");
}

/* Cut anywhere, or with any one byte changed, a file is taken or refused, with everything freed. */
static void test_damaged(void **state)
{
        (void)state;
        autofree char *json = NULL;
        ssize_t length = fd_read_file(HUTCH_SOURCE_DIR "/policy/templates/mcp-server.json", 1 << 20, &json);
        assert_true(length > 0);
        static const char bytes[] = {0, '"', '{', '}', '[', ',', ':', '\\', '9', '\n', (char)0xff};
        for (size_t i = 0; i < (size_t)length; i++) {
                struct template template;
                struct error error = {0};
                /* Only the final line's end may be missing. */
                bool whole = i + 1 == (size_t)length;
                assert_int_equal(template_parse("t", "t", json, i, &template, &error), whole);
                assert_int_equal(error.status, whole ? 0 : EXIT_USAGE);
                template_free(&template);
                for (size_t j = 0; j < sizeof(bytes); j++) {
                        char before = json[i];
                        json[i] = bytes[j];
                        error = (struct error){0};
                        bool taken = template_parse("t", "t", json, (size_t)length, &template, &error);
                        assert_int_equal(error.status, taken ? 0 : EXIT_USAGE);
                        template_free(&template);
                        json[i] = before;
                }
        }
}

static void assert_not_loaded(const char *name, int status, const char *part)
{
        struct template template;
        struct error error = {0};
        assert_false(template_load(name, &template, &error));
        assert_int_equal(error.status, status);
        if (!strstr(error.text, part))
                fail_msg("\"%s\" says nothing of \"%s\"", error.text, part);
        template_free(&template);
}

static void write_file(const char *path, size_t length)
{
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        for (size_t i = 0; i < length; i++)
                fputc(' ', file);
        assert_int_equal(fclose(file), 0);
}

static void test_names_and_files(void **state)
{
        (void)state;
        char directory[] = "/tmp/hutch-template-XXXXXX";
        assert_non_null(mkdtemp(directory));
        autofree char *fifo = str_format("%s/fifo", directory);
        autofree char *big = str_format("%s/big", directory);
        autofree char *below = str_format("%s/x", big);
        char longer[200];
        memset(longer, 'a', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = 0;
        assert_int_equal(mkfifo(fifo, 0600), 0);
        write_file(big, 1024 * 1024 + 1);

        assert_not_loaded("..", EXIT_USAGE, "a name has at most");
        assert_not_loaded("../x", EXIT_USAGE, "no such file");
        assert_not_loaded("a b", EXIT_USAGE, "a name has at most");
        assert_not_loaded("--dry-run", EXIT_USAGE, "a name has at most");
        assert_not_loaded(longer, EXIT_USAGE, "a name has at most");
        assert_not_loaded("no-such-template", EXIT_USAGE, "known ones: ");
        assert_not_loaded("/no/such/template", EXIT_USAGE, "no such file");
        assert_not_loaded(below, EXIT_USAGE, "no such file");
        assert_not_loaded(directory, EXIT_USAGE, "not a regular file");
        assert_not_loaded(fifo, EXIT_USAGE, "not a regular file");
        assert_not_loaded(big, EXIT_USAGE, "larger than");

        assert_int_equal(unlink(fifo), 0);
        assert_int_equal(unlink(big), 0);
        assert_int_equal(rmdir(directory), 0);
}

/* The test program stands in a directory of its own making, so that its templates are found beside it. */
static void test_found_beside_the_program(void **state)
{
        (void)state;
        char program[4096];
        ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
        assert_true(length > 0);
        program[length] = 0;
        autofree char *directory = path_parent(program);
        autofree char *prefix = path_parent(directory);
        autofree char *templates = str_format("%s/share/hutch/templates", prefix);
        autofree char *file = str_format("%s/unit-test.json", templates);
        for (size_t i = strlen(prefix) + 1; i <= strlen(templates); i++)
                if (templates[i] == '/' || !templates[i]) {
                        autofree char *part = str_copy_n(templates, i);
                        (void)mkdir(part, 0700);
                }
        FILE *out = fopen(file, "we");
        assert_non_null(out);
        fputs("{" GOOD "}", out);
        assert_int_equal(fclose(out), 0);

        struct template template;
        struct error error = {0};
        bool loaded = template_load("unit-test", &template, &error);
        bool beside = loaded && str_equal(template.file, file);
        if (loaded)
                template_free(&template);
        assert_not_loaded("unit-tset", EXIT_USAGE, "unit-test");
        unlink(file);
        /* Only what is empty goes: an installed hutch may stand there. */
        for (char *slash; strlen(templates) > strlen(prefix); *slash = 0) {
                (void)rmdir(templates);
                slash = strrchr(templates, '/');
        }
        assert_true(loaded);
        assert_true(beside);
}

static void assert_directories(const char *program, const char *const *expected, size_t count)
{
        struct str_list directories = {0};
        template_list_directories(program, &directories);
        assert_int_equal(directories.count, count);
        for (size_t i = 0; i < count; i++)
                assert_string_equal(directories.values[i], expected[i]);
        str_list_free(&directories);
}

/* Only helper programs are two levels below their prefix: another account can write to /tmp/share, where the
 * second case must not look. */
static void test_directories(void **state)
{
        (void)state;
        static const char *const installed[] = {"/opt/bin/policy/templates", "/opt/share/hutch/templates"};
        static const char *const build[] = {"/tmp/tree/build/policy/templates",
                                            "/tmp/tree/share/hutch/templates"};
        static const char *const helper[] = {"/opt/libexec/hutch/policy/templates",
                                             "/opt/libexec/share/hutch/templates",
                                             "/opt/share/hutch/templates"};
        assert_directories("/opt/bin/hutch", installed, 2);
        assert_directories("/tmp/tree/build/hutch", build, 2);
        assert_directories("/opt/libexec/hutch/hutch-fetch", helper, 3);
}

static void hear(void *context, const char *line, size_t length)
{
        char *heard = context;
        size_t used = strlen(heard);
        assert_true(used + length < 4096);
        memcpy(heard + used, line, length);
        heard[used + length] = 0;
}

static void test_missing_commands_are_noted(void **state)
{
        (void)state;
        static const char json[] =
            "{" GOOD ", \"commands\": {\"sh\": \"dash\", \"no-such-command\": \"a-package\"}}";
        char heard[4096] = "";
        struct template template;
        struct error error = {0};
        assert_true(template_parse("t", "t", json, sizeof(json) - 1, &template, &error));
        messages_send_to(hear, heard);
        template_note_missing(&template);
        assert_string_equal(heard, "");
        messages_set_verbose(1);
        template_note_missing(&template);
        messages_set_verbose(0);
        messages_send_to(NULL, NULL);
        assert_non_null(strstr(heard, "no-such-command"));
        assert_non_null(strstr(heard, "a-package"));
        assert_null(strstr(heard, "dash"));
        template_free(&template);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_our_own),         cmocka_unit_test(test_all_keys),
            cmocka_unit_test(test_refusals),        cmocka_unit_test(test_damaged),
            cmocka_unit_test(test_names_and_files), cmocka_unit_test(test_found_beside_the_program),
            cmocka_unit_test(test_directories),     cmocka_unit_test(test_missing_commands_are_noted),
        };
        return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
