/* SPDX-License-Identifier: Apache-2.0
 *
 * What a script's text names, and which grants of a list are covered by others.
 */
#include "command/grant_list.h"
#include "command/scripts.h"

#include "tree_rig.h"

#include <sys/stat.h>

static void test_first_lines(void **state)
{
        (void)state;
        static const struct {
                const char *text, *interpreter, *words; /* NULL: none */
        } cases[] = {
            {"#!/bin/sh\nx", "/bin/sh", ""},
            {"#! \t/bin/sh  -e -x\r\n", "/bin/sh", " -e -x"},
            {"#!/usr/bin/env node", "/usr/bin/env", "node"},
            {"#!/bin/sh\t-e", "/bin/sh", "-e"},
            {"#!sh", "sh", ""},
            {"#!\n/bin/sh", NULL, NULL},
            {"#! \t\n", NULL, NULL},
            {"#!", NULL, NULL},
            {"#", NULL, NULL},
            {"#x/bin/sh", NULL, NULL},
            {"x!/bin/sh", NULL, NULL},
            {"", NULL, NULL},
        };
        autofree char *file = tree_path("T/script");
        struct script_line line;
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file("T/script", cases[i].text, 0755);
                bool read = script_read_line(file, &line);
                assert_int_equal(read, cases[i].interpreter != NULL);
                if (read) {
                        assert_string_equal(line.interpreter, cases[i].interpreter);
                        assert_string_equal(line.words, cases[i].words);
                }
        }
        char longest[400];
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "#!/", 3);
        longest[sizeof(longest) - 1] = 0;
        tree_make_file("T/script", longest, 0755);
        assert_true(script_read_line(file, &line));
        assert_int_equal(strlen(line.interpreter), SCRIPT_LINE_MAX - 2);
        /* A fifo that nobody writes must not stop hutch. */
        autofree char *fifo = tree_path("T/fifo");
        assert_int_equal(mkfifo(fifo, 0755), 0);
        assert_false(script_read_line(fifo, &line));
        assert_false(script_read_line("/nowhere", &line));
}

static void test_scripts_that_start_node(void **state)
{
        (void)state;
        static const struct {
                const char *text, *program;
        } cases[] = {
            {"#!/bin/sh\nbasedir=x\n  exec node  \"$basedir/../a/cli.js\" \"$@\"\n", "../a/cli.js"},
            {"#!/bin/sh\nbasedir=x\nexec node \"$basedir/a b.js\"", "a b.js"},
            {"/bin/sh\nbasedir=x\nexec node \"$basedir/a.js\"\n", NULL},
            {"#!/bin/sh\nexec node \"$basedir/a.js\"\n", NULL},
            {"#!/bin/sh\nbasedir=x\nexec deno \"$basedir/a.js\"\n", NULL},
            {"#!/bin/sh\nbasedir=x\nexec node a.js\n", NULL},
            {"#!/bin/sh\nbasedir=x\nexec node \"$basedir/\"\n", NULL},
            {"#!/bin/sh\nbasedir=x\nexec node \"$basedir/a.js\n\"", NULL},
            {"#!/bin/sh\nbasedir=x\nexec node \"$basedir/a.js", NULL},
        };
        autofree char *file = tree_path("T/script");
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_make_file("T/script", cases[i].text, 0755);
                assert_found(script_read_node_program(file), cases[i].program);
        }
        assert_found(script_read_node_program("/nowhere"), NULL);
}

/* Adds the grants in `added`, where "PATH -> TEXT" is a link, and compares what is left of them. */
static void assert_left(const char *const *added, const char *const *left)
{
        struct grant_list list = {0};
        struct str_list found = {0};
        for (; *added; added++) {
                autofree char *text = tree_path(*added);
                char *arrow = strstr(text, " -> ");
                if (arrow)
                        *arrow = 0;
                if (arrow)
                        grant_list_add_link(&list, text, arrow + 4, "why");
                else
                        grant_list_add(&list, text, "why");
        }
        grant_list_drop_covered(&list, resolver_walker(tree_resolver(NULL)));
        for (size_t i = 0; i < list.count; i++) {
                const struct program_grant *grant = &list.values[i];
                assert_string_equal(grant->why, "why");
                str_list_take(&found, grant->link ? str_format("%s -> %s", grant->path, grant->link)
                                                  : str_copy(grant->path));
        }
        assert_list(&found, left);
        str_list_free(&found);
        grant_list_free(&list);
        assert_int_equal(list.count, 0);
}

static void test_covered_grants(void **state)
{
        (void)state;
        tree_make_file("T/a/b/c", "", 0644);
        tree_make_file("T/other/x", "", 0644);
        tree_make_link("T/a/out", "../other");
        tree_make_link("T/a/in", "b");
        tree_make_link("T/la", "a");
        assert_left(LIST("T/a/b/c", "T/other"), LIST("T/a/b/c", "T/other"));
        assert_left(LIST("T/a/b/c", "T/a"), LIST("T/a"));
        assert_left(LIST("T/a", "T/a/b/c", "T/a/b"), LIST("T/a"));
        assert_left(LIST("T/a", "T/a"), LIST("T/a"));
        /* By the text alone it would be covered; in fact the link leaves the directory. */
        assert_left(LIST("T/a", "T/a/out/x"), LIST("T/a", "T/a/out/x"));
        assert_left(LIST("T/a", "T/a/in/c"), LIST("T/a"));
        /* A granted link is an entry of its directory, wherever it leads. */
        assert_left(LIST("T/a", "T/a/out -> ../other"), LIST("T/a"));
        /* A link covers nothing below it. */
        assert_left(LIST("T/la -> a", "T/la/b/c"), LIST("T/la -> a", "T/la/b/c"));
        assert_left(LIST("T/a/none", "T/a"), LIST("T/a/none", "T/a"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_first_lines),
            TREE_TEST(test_scripts_that_start_node),
            TREE_TEST(test_covered_grants),
        };
        return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
