/* SPDX-License-Identifier: Apache-2.0
 *
 * What every sandbox on the host tree has, and what its /etc says.
 */
#include "grants/base.h"
#include "grants/etc.h"
#include "grants/mounts.h"
#include "grants_rig.h"
#include "lib/fd.h"
#include "policy/network.h"

#include <sys/stat.h>

static const struct mount *find(const char *destination)
{
        return mounts_find_exact(&rig.box, destination);
}

static void expect_content(const char *destination, const char *part)
{
        const struct mount *file = find(destination);
        assert_non_null(file);
        assert_true(file->kind == MOUNT_FILE);
        if (!strstr(file->content, part))
                fail_msg("%s: %s", destination, file->content);
}

static void test_the_host_tree(void **state)
{
        (void)state;
        static const char *const tree[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
        rig.box.proc = true;
        assert_true(base_add(&rig.resolver));
        for (size_t i = 0; i < COUNT(tree); i++) {
                struct stat status;
                const struct mount *mount = find(tree[i]);
                assert_int_equal(lstat(tree[i], &status) == 0, mount != NULL);
                if (mount)
                        assert_true(mount->kind == (S_ISLNK(status.st_mode) ? MOUNT_LINK : MOUNT_BIND));
        }
        for (size_t i = 0; i < rig.box.mount_count; i++) {
                assert_false(rig.box.mounts[i].writable);
                assert_string_equal(rig.box.mounts[i].why, "base");
        }
        assert_true(find("/proc")->kind == MOUNT_PROC);
        assert_true(find("/dev")->kind == MOUNT_DEV);
        assert_true(find("/tmp")->kind == MOUNT_MEMORY);
        assert_true(find("/var/tmp")->kind == MOUNT_MEMORY);
        assert_true(find("/dev/shm")->kind == MOUNT_MEMORY);
        assert_true(mount_at("home")->kind == MOUNT_MEMORY);
        assert_null(find("/etc"));
        assert_null(find("/etc/shadow"));
        assert_null(find("/sys"));
}

static void test_paths_of_the_hosts_etc(void **state)
{
        (void)state;
        assert_true(base_add(&rig.resolver));
        assert_null(find("/proc"));
        for (const char *const *path = etc_host_paths; *path; path++) {
                autofree char *real = realpath(*path, NULL);
                autofree char *inside = mounts_follow_inside(&rig.box, *path);
                if (real)
                        assert_true(mounts_show(&rig.box, real));
                else
                        assert_false(mounts_show(&rig.box, inside));
        }
}

static void test_the_home(void **state)
{
        (void)state;
        make_directory("real");
        make_link("spelled", "real");
        free(rig.box.home);
        rig.box.home = str_copy(at("spelled"));
        assert_true(base_add(&rig.resolver));
        assert_true(mount_at("spelled")->kind == MOUNT_LINK);
        assert_true(mount_at("real")->kind == MOUNT_MEMORY);
        box_free(&rig.box);
        rig.box.home = str_copy("/nonexistent");
        assert_true(base_add(&rig.resolver));
        assert_true(find("/nonexistent")->kind == MOUNT_MEMORY);
        box_free(&rig.box);
        rig.box.home = str_copy("/tmp");
        assert_true(base_add(&rig.resolver));
        unsigned count = 0;
        for (size_t i = 0; i < rig.box.mount_count; i++)
                count += str_equal(rig.box.mounts[i].destination, "/tmp");
        assert_int_equal(count, 1);
}

static void test_etc(void **state)
{
        (void)state;
        etc_add_files(&rig.box);
        autofree char *account = str_format("\nnonroot:x:65532:65532:nonroot:%s:/bin/sh\n", at("home"));
        expect_content("/etc/passwd", account);
        expect_content("/etc/group", "nonroot:x:65532:\n");
        expect_content("/etc/hosts", "127.0.0.1 localhost hutch\n");
        expect_content("/etc/resolv.conf", "# no network\n");
        box_free(&rig.box);
        rig.box.home = str_copy("/a:b");
        rig.box.network.host_port_count = 1;
        etc_add_files(&rig.box);
        rig.box.network.host_port_count = 0;
        expect_content("/etc/passwd", "nonroot:/tmp:/bin/sh\n");
        expect_content("/etc/resolv.conf", "nameserver " NETWORK_GATEWAY4 "\n");
        box_free(&rig.box);
        rig.box.home = str_copy("/a\nroot::0:0::/:/bin/sh");
        etc_add_files(&rig.box);
        expect_content("/etc/passwd", "nonroot:/tmp:/bin/sh\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            rig_test(test_the_host_tree),
            rig_test(test_paths_of_the_hosts_etc),
            rig_test(test_the_home),
            rig_test(test_etc),
        };
        return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
