/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates that a forwarded variable names: exactly what it names is granted, or a note says why not.
 */
#include "grants/certificates.h"
#include "grants/copy_in.h"
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"

static bool forward(const char *name, const char *value)
{
        autofree char *entry = str_format("%s=%s", name, value);
        str_list_free(&rig.box.environment);
        str_list_free(&rig.box.secret_names);
        rig.said[0] = 0;
        str_list_add(&rig.box.environment, "OTHER=/none");
        str_list_add(&rig.box.environment, entry);
        str_list_add(&rig.box.secret_names, name);
        return certificates_add(&rig.resolver);
}

static void test_the_file_is_granted(void **state)
{
        (void)state;
        make_file("ca/bundle.pem", "");
        assert_true(forward("SSL_CERT_FILE", at("ca/bundle.pem")));
        assert_false(mount_at("ca/bundle.pem")->writable);
        assert_string_equal(mount_at("ca/bundle.pem")->why, "--env SSL_CERT_FILE");
        assert_int_equal(rig.box.mount_count, 1);
        assert_true(forward("SSL_CERT_FILE", at("ca/bundle.pem"))); /* visible already */
        assert_int_equal(rig.box.mount_count, 1);
        assert_string_equal(rig.said, "");
        /* From the working directory, and by a link, which is needed inside too. */
        make_link("link.pem", "ca/bundle.pem");
        assert_true(forward("PIP_CERT", "link.pem"));
        assert_true(mount_at("link.pem")->kind == MOUNT_LINK);
}

static void test_only_what_is_forwarded(void **state)
{
        (void)state;
        make_file("ca.pem", "");
        autofree char *entry = str_format("SSL_CERT_FILE=%s", at("ca.pem"));
        str_list_add(&rig.box.environment, entry);
        assert_true(certificates_add(&rig.resolver));
        assert_int_equal(rig.box.mount_count, 0);
        assert_true(forward("SSL_CERT_FILES", at("ca.pem")));
        assert_true(forward("SSL_CERT_FIL", at("ca.pem")));
        assert_int_equal(rig.box.mount_count, 0);
        /* A name that begins like another. */
        str_list_add(&rig.box.secret_names, "SSL_CERT_FILE");
        autofree char *longer = str_format("SSL_CERT_FILE_X=%s", at("ca.pem"));
        str_list_free(&rig.box.environment);
        str_list_add(&rig.box.environment, longer);
        assert_true(certificates_add(&rig.resolver));
        assert_int_equal(rig.box.mount_count, 0);
}

static void test_directories(void **state)
{
        (void)state;
        make_directory("one");
        make_directory("two");
        make_file("file", "");
        autofree char *list = str_format("%s::%s", at("one"), at("two"));
        assert_true(forward("SSL_CERT_DIR", list));
        assert_true(has_mount("one") && has_mount("two"));
        assert_int_equal(rig.box.mount_count, 2);
        assert_true(forward("SSL_CERT_DIR", at("file")));
        assert_true(was_said("which is not a directory; hutch does not grant it"));
        assert_true(forward("SSL_CERT_FILE", at("home")));
        assert_true(was_said("which is not a file; hutch does not grant it"));
        assert_int_equal(rig.box.mount_count, 2);
        assert_true(forward("REQUESTS_CA_BUNDLE", at("file")));
        assert_true(has_mount("file"));
        make_directory("three");
        assert_true(forward("CURL_CA_BUNDLE", at("three")));
        assert_true(has_mount("three"));
        assert_true(forward("SSL_CERT_FILE", ""));
        assert_string_equal(rig.said, "");
}

static void test_a_missing_one_is_a_note(void **state)
{
        (void)state;
        assert_true(forward("SSL_CERT_FILE", at("none.pem")));
        assert_true(was_said("none.pem, which does not exist"));
        /* Not where the sandbox has its own. */
        struct mount mount = {
            .kind = MOUNT_FILE, .destination = str_copy(at("none.pem")), .why = str_copy("base")};
        box_add_mount(&rig.box, &mount);
        assert_true(forward("SSL_CERT_FILE", at("none.pem")));
        assert_string_equal(rig.said, "");
        /* Memory is empty, except for what is copied in. */
        rig.box.mounts[0].kind = MOUNT_MEMORY;
        assert_true(forward("SSL_CERT_FILE", at("none.pem/x")));
        assert_true(was_said("which does not exist"));
        assert_true(forward("SSL_CERT_DIR", at("none.pem")));
        assert_string_equal(rig.said, "");
        rig.box.files = str_or_die(calloc(1, sizeof(*rig.box.files)));
        rig.box.file_count = 1;
        rig.box.files[0] =
            (struct copy_in){.source = str_copy("/x"), .destination = str_copy(at("none.pem/d/x"))};
        assert_true(forward("SSL_CERT_FILE", at("none.pem/d/x")));
        assert_string_equal(rig.said, "");
        assert_true(forward("SSL_CERT_DIR", at("none.pem/d")));
        assert_string_equal(rig.said, "");
        /* A grant at another path may have it. */
        make_directory("grant");
        grant("grant", "/elsewhere", false, "--ro");
        assert_true(forward("SSL_CERT_FILE", "/elsewhere/x"));
        assert_string_equal(rig.said, "");
}

static void test_what_is_refused(void **state)
{
        (void)state;
        make_file("home/.ssh/ca.pem", "");
        make_file("outside.pem", "");
        make_directory("rw");
        make_link("rw/ca.pem", "../outside.pem");
        assert_false(forward("SSL_CERT_FILE", at("home/.ssh/ca.pem")));
        expect_error(EXIT_SETUP, "it holds keys");
        grant("rw", NULL, true, "--rw");
        assert_false(forward("SSL_CERT_FILE", at("rw/ca.pem")));
        expect_error(EXIT_SETUP, "the server may have put it there");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_the_file_is_granted), rig_test(test_only_what_is_forwarded),
            rig_test(test_directories),         rig_test(test_a_missing_one_is_a_note),
            rig_test(test_what_is_refused),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
