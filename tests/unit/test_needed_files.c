/* SPDX-License-Identifier: Apache-2.0
 *
 * From one needed file to the next: how a word is spelled, which references are in doubt, and the order of
 * the sandbox's PATH. Whole commands are in test_toolchain.c.
 */
#include "command/needed_files.h"

#include "command/file_grants.h"
#include "command/finding.h"

#include "tree_rig.h"

#include <sys/stat.h>
#include <unistd.h>

static struct toolchain toolchain;
static struct resolver *resolver;

/* A finding with an empty PATH; T/caller is the working directory. */
static struct finding make_finding(const struct box *box)
{
        toolchain_free(&toolchain);
        resolver = tree_resolver(box);
        resolver->toolchain = &toolchain;
        return (struct finding){.resolver = resolver, .result = &toolchain};
}

static int tear_down(void **state)
{
        toolchain_free(&toolchain);
        return tree_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tear_down)

static void assert_granted(const char *const *wanted)
{
        struct str_list found = {0};
        for (size_t i = 0; i < toolchain.grants.count; i++) {
                const struct program_grant *grant = &toolchain.grants.values[i];
                str_list_take(&found, grant->link ? str_format("%s -> %s", grant->path, grant->link)
                                                  : str_copy(grant->path));
        }
        assert_list(&found, wanted);
        str_list_free(&found);
}

static void assert_spelled(const struct box *box, const char *base, const char *word, const char *wanted,
                           bool trusted)
{
        struct finding finding = make_finding(box);
        autofree char *from = tree_path(base), *text = tree_path(word);
        bool trust = true, doubt = false;
        assert_found(needed_files_spell(&finding, from, text, &trust), wanted);
        assert_int_equal(trust, trusted);
        assert_found(needed_files_spell(&finding, from, text, &doubt), wanted);
        assert_false(doubt);
}

static void test_spelling(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/real/package.json", "{}", 0644);
        tree_make_file("T/real/src/x", "", 0644);
        tree_make_file("T/real/only", "", 0644);
        tree_make_file("T/x", "", 0644);
        tree_make_file("T/real/x", "", 0644);
        tree_make_link("T/real/up", "src");
        tree_make_link("T/b", "real/src");
        tree_make_link("T/out/b", "../real/src");
        assert_spelled(NULL, "T/real", "src/x", "T/real/src/x", true);
        assert_spelled(NULL, "T/real", "./src//../x", "T/real/x", true);
        assert_spelled(NULL, "/", "T/real/src/../x", "T/real/x", true);
        /* `..` behind a link leads elsewhere than its text: to a file that the text does not name, to another
         * file, or to nothing. */
        assert_spelled(NULL, "T", "b/../only", "T/real/only", true);
        assert_spelled(NULL, "T", "b/../x", "T/real/x", true);
        assert_spelled(NULL, "T", "b/../home/.profile", "T/home/.profile", true);
        assert_spelled(NULL, "T/real", "up/../only", "T/real/only", true);
        /* The real path hides the links on the way, so the command must not have made one. */
        assert_spelled(NULL, "T/out", "b/../only", "T/real/only", false);
        tree_add_grant(&box, "T/real", false, "--ro");
        assert_spelled(&box, "T", "b/../only", "T/real/only", true);
        tree_add_grant(&box, "T/home", true, "--rw");
        assert_spelled(&box, "T", "b/../only", "T/real/only", false);
        box_free(&box);
}

/* Two file systems may have files of the same number. */
static void test_spelling_across_file_systems(void **state)
{
        (void)state;
        struct stat proc, sys;
        if (stat("/proc", &proc) < 0 || stat("/sys", &sys) < 0 || proc.st_ino != sys.st_ino)
                skip();
        tree_make_link("T/link", "/proc/sys");
        tree_make_link("T/self/cwd", "/sys");
        assert_int_equal(chdir("/proc"), 0);
        assert_spelled(NULL, "T", "link/../self/cwd", "/proc", false);
        assert_int_equal(chdir("/"), 0);
}

static void test_order_on_path(void **state)
{
        (void)state;
        static const char *const programs[] = {"T/a/x",    "T/b/x",        "T/c/x",
                                               "T/home/x", "/usr/bin/env", "T/none/x"};
        static const enum place places[] = {LAST, LAST, FIRST, FIRST, FIRST, LAST};
        struct finding finding = make_finding(NULL);
        for (size_t i = 0; i < COUNT(programs); i++) {
                autofree char *program = tree_path(programs[i]);
                if (i < 4)
                        tree_make_file(programs[i], "", 0755);
                needed_files_put_on_path(&finding, program, places[i]);
                needed_files_put_on_path(&finding, program, FIRST);
        }
        /* A directory that is not the program's own, or is the host's, is not put there; none is there twice.
         */
        assert_list(&toolchain.front, LIST("T/a", "T/b", "T/c"));
        static const char *const order[] = {"T/c", "T/a", "T/b"};
        for (size_t i = 0; i < COUNT(order); i++) {
                autofree char *directory = tree_path(order[i]);
                assert_string_equal(toolchain.front.values[i], directory);
        }
}

/* Judges the way to `path`; `trusted` is the need's trust afterwards. */
static bool judge(struct finding *finding, const char *path, bool trusted)
{
        struct need need = {.why = "project of the command", .trusted = true};
        autofree char *place = tree_path(path);
        bool possible = needed_files_judge_way(finding, place, &need);
        assert_int_equal(need.trusted, trusted);
        return possible;
}

static void test_doubts(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/p/src/x", "", 0644);
        tree_make_file("T/elsewhere/x", "", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_file("T/node/bin/node", "", 0755);
        tree_make_file("T/node/include/node/node.h", "", 0644);
        tree_make_link("T/p/in", "src");
        tree_make_link("T/p/out", "../elsewhere");
        tree_make_link("T/p/runtime", "../node");
        tree_make_link("T/p/keys", "../home/.ssh");
        tree_make_link("T/p/home", "../home");
        struct finding finding = make_finding(&box);
        assert_true(judge(&finding, "T/p/in", true));
        assert_false(finding.doubted);
        /* In doubt, but nothing that the user needs to hear of: it does not exist, or is not private. */
        assert_true(judge(&finding, "T/p/out/none", false));
        assert_true(judge(&finding, "T/p/runtime", false));
        assert_int_equal(toolchain.notes.count, 0);
        assert_false(finding.doubted);
        assert_true(judge(&finding, "T/p/out", false));
        assert_true(finding.doubted);
        assert_int_equal(toolchain.notes.count, 1);
        autofree char *note =
            tree_path("T/p/out leads out of its project, to T/elsewhere, which is not granted");
        assert_non_null(strstr(toolchain.notes.values[0], note));
        /* One note is enough. */
        tree_make_link("T/p/more", "../elsewhere");
        assert_true(judge(&finding, "T/p/more", false));
        assert_int_equal(toolchain.notes.count, 1);
        assert_int_equal(resolver->error->status, 0);

        struct finding other = make_finding(&box);
        assert_false(judge(&other, "T/p/keys", false));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        autofree char *sentence =
            tree_path("T/p/keys leads to T/home/.ssh, which is needed as project of the command and cannot "
                      "be granted: it holds keys");
        assert_string_equal(resolver->error->text, sentence);

        /* A link to the home brings what is needed in it, so that is named and not the home. */
        tree_make_file("T/home/app/x", "", 0644);
        struct finding third = make_finding(&box);
        assert_true(judge(&third, "T/p/home/app", false));
        autofree char *inside = tree_path("T/p/home leads out of its project, to T/home/app, which");
        assert_non_null(strstr(toolchain.notes.values[0], inside));

        /* A link in a writable grant is mounts_add_program()'s to refuse. */
        tree_add_grant(&box, "T/p", true, "--rw");
        struct finding fourth = make_finding(&box);
        assert_true(judge(&fourth, "T/p/out", true));
        assert_int_equal(toolchain.notes.count, 0);
        box_free(&box);
}

static bool add(struct finding *finding, const char *path, struct need need)
{
        autofree char *file = tree_path(path);
        need.why = "the command";
        return needed_files_add(finding, file, need);
}

static void test_chains_of_links(void **state)
{
        (void)state;
        const struct need trusted = {.executable = true, .trusted = true};
        tree_make_file("T/q/x", "", 0755);
        for (unsigned i = 1; i <= 40; i++) {
                autofree char *link = str_format("T/q/%u", i);
                autofree char *text = i > 1 ? str_format("%u", i - 1) : str_copy("x");
                tree_make_link(link, text);
        }
        struct finding finding = make_finding(NULL);
        assert_true(add(&finding, "T/q/39", trusted));
        struct finding longer = make_finding(NULL);
        assert_false(add(&longer, "T/q/40", trusted));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        assert_non_null(strstr(resolver->error->text, "too many links"));

        /* Behind a link in doubt, further links are granted only where they lead to what is no secret. */
        tree_make_file("T/p/package.json", "{}", 0644);
        tree_make_file("T/elsewhere/private/x", "", 0755);
        tree_make_link("T/elsewhere/step", "private/x");
        tree_make_link("T/elsewhere/shell", "/usr/bin/env");
        tree_make_link("T/p/one", "../elsewhere/step");
        tree_make_link("T/p/two", "../elsewhere/shell");
        struct finding doubtful = make_finding(NULL);
        assert_true(add(&doubtful, "T/p/one", trusted));
        assert_granted(LIST("T/p", "T/p/one -> ../elsewhere/step"));
        struct finding harmless = make_finding(NULL);
        assert_true(add(&harmless, "T/p/two", trusted));
        assert_granted(LIST("T/p", "T/p/two -> ../elsewhere/shell", "T/elsewhere/shell -> /usr/bin/env"));
}

static void test_interpreters_that_must_not_be_granted(void **state)
{
        (void)state;
        const struct need need = {.executable = true, .trusted = true};
        tree_make_file("T/home/.ssh/tool", "", 0755);
        tree_make_file("T/p/run", "#!T/home/.ssh/tool\n", 0755);
        struct finding finding = make_finding(NULL);
        assert_false(add(&finding, "T/p/run", need));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        autofree char *sentence =
            tree_path("T/p/run leads to T/home/.ssh/tool, which is needed as the command");
        assert_non_null(strstr(resolver->error->text, sentence));
        /* A file that the kernel does not start has no interpreter. */
        struct finding data = make_finding(NULL);
        assert_true(add(&data, "T/p/run", (struct need){.trusted = true}));
        assert_granted(LIST("T/p"));
        /* Five interpreters are the kernel's limit too. */
        struct finding deep = make_finding(NULL);
        tree_make_file("T/p/deep", "#!/bin/sh\n", 0755);
        assert_true(add(&deep, "T/p/deep", (struct need){.executable = true, .trusted = true, .depth = 4}));
        struct finding deeper = make_finding(NULL);
        assert_false(
            add(&deeper, "T/p/deep", (struct need){.executable = true, .trusted = true, .depth = 5}));
        assert_int_equal(resolver->error->status, EXIT_NOT_EXECUTABLE);
}

/* The sandbox's PATH decides first, as it will inside. */
static void test_programs_of_env(void **state)
{
        (void)state;
        const struct need need = {.executable = true, .trusted = true};
        autofree char *first = tree_path("T/first/tool"), *directory = tree_path("T/first");
        tree_make_file("T/first/tool", "ELF", 0755);
        tree_make_file("T/beside/tool", "ELF", 0755);
        tree_make_file("T/beside/run", "#!/usr/bin/env tool\n", 0755);
        struct finding finding = make_finding(NULL);
        resolver->search_path = directory;
        assert_true(add(&finding, "T/beside/run", need));
        assert_granted(LIST("T/beside", "T/beside"));
        struct finding other = make_finding(NULL);
        resolver->search_path = directory;
        needed_files_put_on_path(&other, first, LAST);
        assert_true(add(&other, "T/beside/run", need));
        assert_granted(LIST("T/beside", "T/first"));
}

static bool grant(struct finding *finding, const char *path, bool has_link, bool trusted)
{
        autofree char *file = tree_path(path);
        return file_grants_add(finding, file, has_link, "the command", trusted);
}

static void test_grants_of_one_file(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/home/.ssh/key.js", "", 0600);
        tree_make_file("T/lone/x", "", 0644);
        /* With a link in the path, the neighbours come with the real file. */
        struct finding finding = make_finding(&box);
        assert_true(grant(&finding, "T/lone/x", true, true));
        assert_granted(LIST());
        assert_true(grant(&finding, "T/lone/x", false, true));
        assert_granted(LIST("T/lone"));
        /* Not trusted: it is data, unless a note names it already. */
        struct finding doubtful = make_finding(&box);
        assert_true(grant(&doubtful, "T/lone/x", false, false));
        assert_granted(LIST());
        assert_list(&toolchain.data, LIST("T/lone/x"));
        struct finding noted = make_finding(&box);
        noted.doubted = true;
        assert_true(grant(&noted, "T/lone/x", false, false));
        assert_granted(LIST());
        assert_list(&toolchain.data, LIST());
        /* A sensitive file is refused unless the user has granted it. */
        struct finding refused = make_finding(&box);
        assert_false(grant(&refused, "T/home/.ssh/key.js", false, true));
        assert_int_equal(resolver->error->status, EXIT_SETUP);
        struct finding no_box = make_finding(NULL);
        assert_false(grant(&no_box, "T/home/.ssh/key.js", false, true));
        tree_add_grant(&box, "T/home/.ssh", false, "--unsafe-grant");
        struct finding granted = make_finding(&box);
        assert_true(grant(&granted, "T/home/.ssh/key.js", false, true));
        assert_granted(LIST());
        assert_int_equal(resolver->error->status, 0);
        box_free(&box);
}

static void test_shared_directories_are_noted(void **state)
{
        (void)state;
        struct box box = {0};
        static const struct {
                mode_t mode;
                bool noted;
        } cases[] = {{0777, true}, {01777, false}, {0757, true}};
        tree_make_file("T/shared/x", "", 0644);
        for (size_t i = 0; i < COUNT(cases); i++) {
                tree_set_mode("T/shared", cases[i].mode);
                struct finding finding = make_finding(i ? &box : NULL);
                assert_true(grant(&finding, "T/shared/x", false, true));
                assert_granted(LIST("T/shared/x"));
                assert_int_equal(toolchain.notes.count, cases[i].noted);
                autofree char *advice = tree_path(
                    "`chmod o-w T/shared` lets hutch grant the directory, and so does --ro T/shared");
                if (cases[i].noted)
                        assert_non_null(strstr(toolchain.notes.values[0], advice));
        }
        /* The home is not granted either, for another reason. */
        struct finding finding = make_finding(&box);
        assert_true(grant(&finding, "T/home/.profile", false, true));
        assert_int_equal(toolchain.notes.count, 0);
        assert_true(grant(&finding, "T/none/x", false, true));
        assert_int_equal(toolchain.notes.count, 0);
        /* What the user has granted already needs no note. */
        tree_add_grant(&box, "T/shared", false, "--ro");
        finding = make_finding(&box);
        assert_true(grant(&finding, "T/shared/x", false, true));
        assert_int_equal(toolchain.notes.count, 0);
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_spelling),
            TEST(test_spelling_across_file_systems),
            TEST(test_order_on_path),
            TEST(test_doubts),
            TEST(test_chains_of_links),
            TEST(test_interpreters_that_must_not_be_granted),
            TEST(test_programs_of_env),
            TEST(test_grants_of_one_file),
            TEST(test_shared_directories_are_noted),
        };
        return cmocka_run_group_tests_name("needed_files", tests, NULL, NULL);
}
