/* SPDX-License-Identifier: Apache-2.0
 *
 * Which paths among the arguments, and which packages of the program, are noted as not visible inside.
 */
#include "command/linked_packages.h"
#include "command/unseen.h"
#include "lib/messages.h"

#include <fcntl.h>

#include "tree_rig.h"

/* The messages that are printed about these paths. */
static struct heard note(const struct str_list *paths, const struct box *box)
{
        struct heard heard = {""};
        messages_send_to(hear, &heard);
        unseen_note(tree_resolver(box), paths);
        messages_send_to(NULL, NULL);
        return heard;
}

static size_t count_lines(const struct heard *heard)
{
        size_t lines = 0;
        for (const char *c = heard->text; *c; c++)
                lines += *c == '\n';
        return lines;
}

static void add_mount(struct box *box, enum mount_kind kind, const char *source, const char *destination)
{
        box_add_mount(box, &(struct mount){.kind = kind,
                                           .source = source ? tree_path(source) : NULL,
                                           .destination = tree_path(destination),
                                           .why = str_copy("base")});
}

static void test_arguments(void **state)
{
        (void)state;
        struct box box = {.home = tree_path("T/home")};
        tree_make_file("T/data/file", "", 0644);
        tree_make_file("T/seen/file", "", 0644);
        tree_make_file("T/home/.ssh/key", "", 0600);
        add_mount(&box, MOUNT_MEMORY, NULL, "/tmp");
        add_mount(&box, MOUNT_DEV, NULL, "/dev");
        add_mount(&box, MOUNT_PROC, NULL, "/proc");
        add_mount(&box, MOUNT_LINK, "T/seen", "T/link");
        add_mount(&box, MOUNT_MASK, NULL, "T/seen/masked");
        add_mount(&box, MOUNT_OVERLAY, "T/data", "T/over");
        add_mount(&box, MOUNT_MEMORY, NULL, "T/own");
        tree_add_grant(&box, "T/seen", false, "--ro");

        struct str_list visible =
            tree_words("T/seen/file T/seen T/link/file T/over/x T/own /dev/null /proc/1 "
                       "/tmp / T");
        const struct heard nothing = note(&visible, &box);
        assert_string_equal(nothing.text, "");
        str_list_free(&visible);

        struct str_list unseen = tree_words("T/data T/home/.ssh T/own/x T/seen/masked/x /nowhere");
        const struct heard heard = note(&unseen, &box);
        autofree char *data =
            tree_path("[hutch] note: T/data is not visible inside; --ro T/data would grant it "
                      "(--rw for writing too)\n");
        autofree char *refused = tree_path("T/home/.ssh is not visible inside (it holds keys)\n");
        assert_non_null(strstr(heard.text, data));
        assert_non_null(strstr(heard.text, refused));
        assert_int_equal(count_lines(&heard), 5);
        str_list_free(&unseen);
        box_free(&box);
}

static void test_notes_are_bounded(void **state)
{
        (void)state;
        struct str_list paths = {0};
        struct box box = {.home = str_copy("/nowhere")};
        for (unsigned i = 0; i < 100; i++)
                str_list_take(&paths, str_format("/nowhere/%u", i));
        const struct heard heard = note(&paths, &box);
        assert_non_null(strstr(heard.text, "more of the arguments"));
        assert_int_equal(count_lines(&heard), 9);
        str_list_free(&paths);
        box_free(&box);
}

static struct heard note_packages(const struct box *box)
{
        struct heard heard = {""};
        messages_send_to(hear, &heard);
        linked_packages_note_unseen(tree_resolver(box));
        messages_send_to(NULL, NULL);
        return heard;
}

static void assert_noted(const struct box *box, const char *place, const char *verb, const char *target)
{
        autofree char *from = tree_path(place), *to = tree_path(target);
        const struct heard heard = note_packages(box);
        autofree char *line =
            str_format("[hutch] note: %s %s %s, which is not visible inside; --ro %s would grant it\n", from,
                       verb, to, to);
        assert_string_equal(heard.text, line);
}

static void assert_nothing_noted(const struct box *box)
{
        const struct heard heard = note_packages(box);
        assert_string_equal(heard.text, "");
}

static void test_links_of_packages(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/other/package.json", "{}", 0644);
        tree_make_file("T/p/node_modules/real/package.json", "{}", 0644);
        tree_make_link("T/p/node_modules/inside", "real");
        tree_make_link("T/p/node_modules/.bin", "../../other");
        tree_make_link("T/p/node_modules/gone", "nowhere");
        tree_make_link("T/p/node_modules/shell", "/usr/bin/env");
        tree_add_grant(&box, "T/p", false, "program of the command");
        assert_nothing_noted(&box);
        tree_make_link("T/p/node_modules/@s/linked", "../../../other");
        assert_noted(&box, "T/p/node_modules/@s/linked", "leads to", "T/other");
        /* One level of scopes is all that npm knows. */
        tree_remove_file("T/p/node_modules/@s/linked");
        tree_make_link("T/p/node_modules/@s/@t/linked", "../../../../other");
        assert_nothing_noted(&box);
        tree_make_link("T/p/node_modules/real/linked", "../../../other");
        assert_nothing_noted(&box);
        tree_make_link("T/p/node_modules/linked", "../../other");
        assert_noted(&box, "T/p/node_modules/linked", "leads to", "T/other");
        /* It is visible, or must not be granted. */
        tree_add_grant(&box, "T/other", false, "program of the command");
        assert_nothing_noted(&box);
        tree_make_link("T/p/node_modules/proc", "/proc/self");
        assert_nothing_noted(&box);
        box_free(&box);

        /* The grant may be the node_modules themselves. */
        tree_add_grant(&box, "T/p/node_modules", false, "program of the command");
        assert_noted(&box, "T/p/node_modules/linked", "leads to", "T/other");
        box_free(&box);
}

static int count_descriptors(void)
{
        int count = 0;
        for (int fd = 0; fd < 1024; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

/* A project can have more links than hutch may have descriptors. */
static void test_links_keep_no_descriptor(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_directory("T/other");
        tree_make_link("T/p/node_modules/linked", "../../other");
        tree_add_grant(&box, "T/p", false, "program of the command");
        (void)tree_resolver(&box); /* forgets earlier walks */
        int before = count_descriptors();
        assert_noted(&box, "T/p/node_modules/linked", "leads to", "T/other");
        assert_int_equal(count_descriptors(), before);
        box_free(&box);
}

/* The user knows what they granted, and the server may have written there. */
static void test_grants_of_the_user_are_not_read(void **state)
{
        (void)state;
        struct box box = {0};
        tree_make_file("T/other/package.json", "{}", 0644);
        tree_make_link("T/p/node_modules/linked", "../../other");
        tree_add_grant(&box, "T/p", true, "--rw");
        tree_add_grant(&box, "T/p", false, "base");
        assert_nothing_noted(&box);
        tree_make_file("T/file", "", 0644);
        tree_add_grant(&box, "T/file", false, "program of the command");
        assert_nothing_noted(&box);
        tree_add_grant(&box, "T/p", false, "program of the command");
        assert_noted(&box, "T/p/node_modules/linked", "leads to", "T/other");
        box_free(&box);
}

static void test_paths_of_an_environment(void **state)
{
        (void)state;
        static const char file[] = "T/p/.venv/lib/python3.12/site-packages/editable.pth";
        struct box box = {0};
        tree_make_file("T/sources/x.py", "", 0644);
        autofree char *sources = tree_path("T/sources");
        autofree char *text = str_format("import x\nsources\n/nowhere\n%s\n", sources);
        tree_make_file(file, text, 0644);
        tree_add_grant(&box, "T/p", false, "program of the command");
        /* Without a pyvenv.cfg it is not an environment. */
        assert_nothing_noted(&box);
        tree_make_file("T/p/.venv/pyvenv.cfg", "", 0644);
        assert_noted(&box, file, "names", "T/sources");
        box_free(&box);
        tree_add_grant(&box, "T/p/.venv", false, "virtual environment of the command");
        assert_noted(&box, file, "names", "T/sources");
        box_free(&box);
}

static void test_notes_of_packages_are_bounded(void **state)
{
        (void)state;
        struct box box = {0};
        for (unsigned i = 0; i < 9; i++) {
                autofree char *package = str_format("T/other/%u/package.json", i);
                autofree char *link = str_format("T/p/node_modules/%u", i);
                autofree char *text = str_format("../../other/%u", i);
                tree_make_file(package, "{}", 0644);
                tree_make_link(link, text);
        }
        tree_add_grant(&box, "T/p", false, "program of the command");
        const struct heard heard = note_packages(&box);
        assert_int_equal(count_lines(&heard), 4);
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TREE_TEST(test_arguments),
            cmocka_unit_test(test_notes_are_bounded),
            TREE_TEST(test_links_of_packages),
            TREE_TEST(test_links_keep_no_descriptor),
            TREE_TEST(test_grants_of_the_user_are_not_read),
            TREE_TEST(test_paths_of_an_environment),
            TREE_TEST(test_notes_of_packages_are_bounded),
        };
        return cmocka_run_group_tests_name("unseen", tests, NULL, NULL);
}
