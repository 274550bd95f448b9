/* SPDX-License-Identifier: Apache-2.0
 *
 * The box as a value and as JSON: valid whatever bytes are in it, complete, and without the values of
 * variables that a person named.
 */
#include "box/box.h"
#include "box/describe.h"
#include "lib/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

static char *describe(const struct box *box)
{
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        assert_true(describe_box(box, out));
        fclose(out);
        return text;
}

static void fill(struct box *box)
{
        *box = (struct box){
            .kind = BOX_MCP,
            .template_name = str_copy("mcp-server"),
            .executable = str_copy("/usr/bin/node"),
            .cwd = str_copy("/"),
            .home = str_copy("/home/x"),
            .outer_uid = 1000,
            .outer_gid = 1000,
            .memory_fs_bytes = 1073741824,
            .memory_fs_inodes = 1000,
            .timeout_seconds = 7,
            .stop_grace_seconds = 5,
            .userns = USERNS_FULL,
            .proc = true,
            .verbose = 1,
        };
        str_list_add(&box->argv, "node");
        str_list_add(&box->argv, "a\xff\x80\xc3\xa4\n\"");
        str_list_add(&box->environment, "HOME=/home/x");
        str_list_add(&box->environment, "TOKEN=swordfish");
        str_list_add(&box->secret_names, "TOKEN");
        box_add_mount(box, &(struct mount){.kind = MOUNT_BIND,
                                           .source = str_copy("/real"),
                                           .destination = str_copy("/data"),
                                           .is_directory = true,
                                           .writable = true,
                                           .device = 2049,
                                           .inode = 18446744073709551615UL,
                                           .origin = ORIGIN_OPTION,
                                           .why = str_copy("--rw")});
        box_add_mount(box, &(struct mount){.kind = MOUNT_FILE,
                                           .destination = str_copy("/etc/hostname"),
                                           .content = str_copy("hutch\n"),
                                           .why = str_copy("base")});
        box_add_mount(
            box,
            &(struct mount){.kind = MOUNT_PROC, .destination = str_copy("/proc"), .why = str_copy("base")});
}

static const char *text_of(const cJSON *object, const char *key)
{
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
        assert_non_null(text);
        return text;
}

static void test_complete_and_valid(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        autofree char *text = describe(&box);
        cJSON *root = cJSON_Parse(text);
        assert_non_null(root);
        assert_string_equal(text_of(root, "kind"), "mcp");
        assert_string_equal(
            cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "argv"), 1)->valuestring,
            "a\\xff\\x80ä\n\"");
        const cJSON *mounts = cJSON_GetObjectItemCaseSensitive(root, "mounts");
        assert_int_equal(cJSON_GetArraySize(mounts), 3);
        assert_string_equal(text_of(mounts->child, "source"), "/real");
        assert_string_equal(text_of(mounts->child, "why"), "--rw");
        assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(mounts->child, "writable")));
        assert_string_equal(text_of(mounts->child->next, "content"), "hutch\n");
        assert_non_null(strstr(text, "18446744073709551615"));
        const cJSON *limits = cJSON_GetObjectItemCaseSensitive(root, "limits");
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(limits, "timeout_seconds")->valueint, 7);
        const cJSON *layers = cJSON_GetObjectItemCaseSensitive(root, "layers");
        assert_string_equal(text_of(layers, "user_namespaces"), "full");
        cJSON_Delete(root);
        box_free(&box);
}

static void test_secrets_stay_unsaid(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        autofree char *text = describe(&box);
        assert_null(strstr(text, "swordfish"));
        cJSON *root = cJSON_Parse(text);
        const cJSON *environment = cJSON_GetObjectItemCaseSensitive(root, "environment");
        assert_string_equal(text_of(environment, "HOME"), "/home/x");
        assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(environment, "TOKEN")));
        const cJSON *forwarded = cJSON_GetObjectItemCaseSensitive(root, "forwarded");
        assert_string_equal(cJSON_GetArrayItem(forwarded, 0)->valuestring, "TOKEN");
        cJSON_Delete(root);
        box_free(&box);
}

static void test_custom_profile(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        box.seccomp_path = str_copy("/p.json");
        box.seccomp_json = str_copy("{}\n");
        box.seccomp_length = 3;
        autofree char *text = describe(&box);
        cJSON *root = cJSON_Parse(text);
        const cJSON *seccomp =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "layers"), "seccomp");
        assert_string_equal(text_of(seccomp, "profile"), "/p.json");
        assert_string_equal(text_of(seccomp, "content"), "{}\n");
        cJSON_Delete(root);
        box_free(&box);
}

static void test_memory_says_its_budget(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        box_add_mount(&box, &(struct mount){.kind = MOUNT_MEMORY,
                                            .destination = str_copy("/own"),
                                            .bytes = 1ULL << 40,
                                            .origin = ORIGIN_OPTION,
                                            .why = str_copy("--tmpfs")});
        box_add_mount(&box, &(struct mount){.kind = MOUNT_MEMORY,
                                            .destination = str_copy("/common"),
                                            .origin = ORIGIN_OPTION,
                                            .why = str_copy("--tmpfs")});
        str_list_add(&box.unsafe_grants, "/keys");
        autofree char *text = describe(&box);
        assert_non_null(strstr(text, "1099511627776"));
        cJSON *root = cJSON_Parse(text);
        const cJSON *mounts = cJSON_GetObjectItemCaseSensitive(root, "mounts");
        assert_true(cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(mounts, 3), "bytes")));
        assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(mounts, 4), "bytes")));
        const cJSON *unsafe = cJSON_GetObjectItemCaseSensitive(root, "unsafe_grants");
        assert_string_equal(cJSON_GetArrayItem(unsafe, 0)->valuestring, "/keys");
        cJSON_Delete(root);
        box_free(&box);
}

static void test_files_that_are_sent_in(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        box.files = str_or_die(calloc(1, sizeof(*box.files)));
        box.file_count = 1;
        *box.files = (struct copy_in){.source = str_copy("/a"),
                                      .destination = str_copy("/tmp/a"),
                                      .device = 2049,
                                      .inode = 18446744073709551614UL,
                                      .bytes = 104857600,
                                      .mode = 0640};
        autofree char *text = describe(&box);
        cJSON *root = cJSON_Parse(text);
        const cJSON *file = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "files"), 0);
        assert_string_equal(text_of(file, "source"), "/a");
        assert_string_equal(text_of(file, "destination"), "/tmp/a");
        assert_string_equal(text_of(file, "mode"), "0640");
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(file, "bytes")->valueint, 104857600);
        assert_non_null(strstr(text, "18446744073709551614"));
        cJSON_Delete(root);
        box_free(&box);
}

static void test_full_disk_is_an_error(void **state)
{
        (void)state;
        struct box box;
        fill(&box);
        FILE *out = fopen("/dev/full", "we");
        assert_non_null(out);
        assert_false(describe_box(&box, out));
        fclose(out);
        box_free(&box);
}

static void add_place(struct box *box, const char *destination, const char *why)
{
        box_add_mount(box, &(struct mount){.kind = MOUNT_MEMORY,
                                           .destination = str_copy(destination),
                                           .why = str_copy(why)});
}

static void test_the_deepest_mount_decides(void **state)
{
        (void)state;
        struct box box = {0};
        assert_null(box_find_mount(&box, "/a"));
        add_place(&box, "/a/b", "deep");
        add_place(&box, "/a", "shallow");
        add_place(&box, "/a/b", "last");
        assert_string_equal(box_find_mount(&box, "/a/b/c")->why, "last");
        assert_string_equal(box_find_mount(&box, "/a/b")->why, "last");
        assert_string_equal(box_find_mount(&box, "/a/bc")->why, "shallow");
        assert_null(box_find_mount(&box, "/ab"));
        assert_null(box_find_mount(&box, "/"));
        box_free(&box);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_files_that_are_sent_in),    cmocka_unit_test(test_complete_and_valid),
            cmocka_unit_test(test_secrets_stay_unsaid),       cmocka_unit_test(test_custom_profile),
            cmocka_unit_test(test_memory_says_its_budget),    cmocka_unit_test(test_full_disk_is_an_error),
            cmocka_unit_test(test_the_deepest_mount_decides),
        };
        return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
