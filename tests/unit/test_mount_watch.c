/* SPDX-License-Identifier: Apache-2.0
 *
 * What is noticed of a mount point that is replaced on the host, while the sandbox runs and before the watch
 * began, and whether that ends the sandbox.
 */
#include "grants/sockets.h"
#include "lib/fd.h"
#include "lib/messages.h"
#include "lib/str.h"
#include "run/mount_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "machine_rig.h"
#include "origins.h"
#include "unit.h"

static struct mount mounts[4];
static struct box box;
static struct held_sources held;
static char heard[8192];

static void hear(void *context, const char *line, size_t length)
{
        (void)context;
        assert_true(strlen(heard) + length < sizeof(heard));
        strncat(heard, line, length);
}

/* DIRECTORY/granted is granted for writing. The second mount is each test's. */
static int set_up(void **state)
{
        if (machine_set_up(state))
                return -1;
        machine_make_file("/granted/secret", "old");
        machine_make_file("/granted/sub/deep/secret", "old");
        mounts[0] = (struct mount){.kind = MOUNT_BIND,
                                   .source = str_format("%s/granted", machine_directory),
                                   .destination = (char *)"/inside",
                                   .writable = true,
                                   .is_directory = true,
                                   .origin = ORIGIN_OPTION,
                                   .why = (char *)"--rw"};
        box = (struct box){.mounts = mounts, .mount_count = 1};
        heard[0] = 0;
        messages_send_to(hear, NULL);
        return 0;
}

static int tear_down(void **state)
{
        messages_send_to(NULL, NULL);
        free(mounts[0].source);
        for (size_t i = 1; i < box.mount_count; i++)
                if (mounts[i].kind == MOUNT_BIND)
                        free(mounts[i].source);
        return machine_tear_down(state);
}

static void add_mask(const char *destination, const char *why)
{
        mounts[box.mount_count++] = (struct mount){.kind = MOUNT_MASK,
                                                   .destination = (char *)destination,
                                                   .origin = origin_of(why),
                                                   .why = (char *)why};
}

static void add_bind(const char *name, const char *destination, bool writable, const char *why)
{
        mounts[box.mount_count++] = (struct mount){.kind = MOUNT_BIND,
                                                   .source = str_format("%s/%s", machine_directory, name),
                                                   .destination = (char *)destination,
                                                   .writable = writable,
                                                   .origin = origin_of(why),
                                                   .why = (char *)why};
}

/* As an editor does: writes a new file and renames it over the old one. */
static void replace(const char *name)
{
        autofree char *made = str_format("/%s.new", name);
        autofree char *from = str_format("%s/%s.new", machine_directory, name);
        autofree char *to = str_format("%s/%s", machine_directory, name);
        machine_make_file(made, "new");
        assert_int_equal(rename(from, to), 0);
}

static bool is_readable(const struct mount_watch *watch)
{
        struct pollfd ready = {.fd = mount_watch_descriptor(watch), .events = POLLIN};
        return poll(&ready, 1, 0) == 1;
}

static void test_nothing_to_watch(void **state)
{
        (void)state;
        assert_null(mount_watch_new(&box, &held, false));
        assert_int_equal(mount_watch_descriptor(NULL), -1);
        assert_true(mount_watch_finish(NULL));
        mount_watch_free(NULL);
        /* A mount below no grant depends on nothing of the host. */
        add_mask("/elsewhere/secret", "--hide secret");
        assert_null(mount_watch_new(&box, &held, false));
        /* Nor does one below what hutch itself shows, or on an overlay. */
        mounts[box.mount_count - 1].destination = (char *)"/inside/secret";
        mounts[0].origin = ORIGIN_BASE;
        assert_null(mount_watch_new(&box, &held, false));
        mounts[0].origin = ORIGIN_OPTION;
        mounts[0].kind = MOUNT_OVERLAY;
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        assert_null(watch);
}

static void test_which_mounts_matter(void **state)
{
        static const struct {
                enum mount_kind kind;
                bool writable;
                const char *why;
                bool sockets_guarded, watched;
        } cases[] = {
            {MOUNT_MASK, false, "--hide", false, true},      {MOUNT_MASK, false, "socket", false, true},
            {MOUNT_MASK, false, "socket", true, false},      {MOUNT_MASK, false, "--hide", true, true},
            {MOUNT_OVERLAY, false, "--overlay", true, true}, {MOUNT_MEMORY, false, "--tmpfs", true, true},
            {MOUNT_BIND, true, "--rw", true, false},         {MOUNT_BIND, false, "--ro", true, true},
            {MOUNT_FILE, false, "etc", true, false},         {MOUNT_LINK, false, "--ro", true, false},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                mounts[1] = (struct mount){.kind = cases[i].kind,
                                           .source = (char *)"/usr/share",
                                           .destination = (char *)"/inside/secret",
                                           .writable = cases[i].writable,
                                           .origin = origin_of(cases[i].why),
                                           .why = (char *)cases[i].why};
                box.mount_count = 2;
                struct mount_watch *watch = mount_watch_new(&box, &held, cases[i].sockets_guarded);
                assert_int_equal(watch != NULL, cases[i].watched);
                mount_watch_free(watch);
        }
        box.mount_count = 1;
}

static void test_what_was_asked_for_ends_the_sandbox(void **state)
{
        (void)state;
        add_mask("/inside/secret", "--hide secret");
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        assert_int_equal(mount_watch_descriptor(watch), -1);
        assert_true(mount_watch_begin(watch));
        assert_false(is_readable(watch));
        machine_make_file("/granted/other", "x"); /* in the same directory */
        assert_true(is_readable(watch));
        assert_true(mount_watch_read(watch));
        machine_make_file("/granted/secret", "written, not replaced");
        assert_false(is_readable(watch));
        assert_string_equal(heard, "");
        replace("granted/secret");
        assert_false(mount_watch_read(watch));
        assert_non_null(strstr(
            heard, "/granted/secret was replaced while the sandbox ran, so /inside/secret (--hide secret)"));
        assert_non_null(strstr(heard, "status 125"));
        heard[0] = 0;
        replace("granted/secret"); /* said once */
        assert_true(mount_watch_read(watch));
        assert_string_equal(heard, "");
        mount_watch_free(watch);
}

static void test_what_hutch_did_is_reported(void **state)
{
        (void)state;
        add_mask("/inside/secret", "hidden by default");
        add_bind("granted/sub/deep/secret", "/inside/sub/deep/secret", false, "protected by default");
        mounts[0].writable = true;
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        assert_true(mount_watch_begin(watch));
        replace("granted/secret");
        assert_true(mount_watch_read(watch));
        assert_non_null(strstr(heard,
                               "/granted/secret was replaced while the sandbox runs, so the command can use "
                               "/inside/secret (hidden by default)"));
        assert_non_null(strstr(heard, "start it again to hide the new object"));
        heard[0] = 0;
        replace("granted/sub/deep/secret");
        assert_true(mount_watch_read(watch));
        assert_non_null(strstr(heard, "check what the command wrote there"));
        mount_watch_free(watch);
}

/* A directory between the grant and the mount takes the mount with it. */
static void test_a_directory_above(void **state)
{
        (void)state;
        add_mask("/inside/sub/deep/secret", "hidden by default");
        add_mask("/inside/sub/deep/other", "--hide other");
        machine_make_file("/granted/sub/deep/other", "");
        machine_make_file("/new/deep/secret", "");
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        assert_true(mount_watch_begin(watch));
        autofree char *sub = str_format("%s/granted/sub", machine_directory);
        autofree char *aside = str_format("%s/aside", machine_directory);
        autofree char *fresh = str_format("%s/new", machine_directory);
        assert_int_equal(rename(sub, aside), 0);
        assert_false(is_readable(watch)); /* gone alone shows nothing */
        assert_int_equal(rename(fresh, sub), 0);
        assert_false(mount_watch_read(watch)); /* one of the two was asked for */
        assert_non_null(strstr(heard, "/granted/sub was replaced"));
        assert_non_null(strstr(heard, "(--hide other)"));
        assert_null(strstr(heard, "hidden by default"));
        mount_watch_free(watch);
}

static void test_what_happened_before_the_watch(void **state)
{
        (void)state;
        add_mask("/inside/secret", "--hide secret");
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        replace("granted/secret");
        assert_false(mount_watch_begin(watch));
        mount_watch_free(watch);
        heard[0] = 0;
        /* A run too short for the watch looks at its end. */
        watch = mount_watch_new(&box, &held, false);
        assert_true(mount_watch_finish(watch));
        autofree char *path = str_format("%s/granted/secret", machine_directory);
        /* Held open, so that the file system cannot give its inode number to the next file. */
        autoclose int kept = open(path, O_PATH | O_CLOEXEC);
        assert_int_equal(unlink(path), 0);
        assert_true(mount_watch_finish(watch)); /* gone alone shows nothing */
        machine_make_file("/granted/secret", "made again");
        assert_false(mount_watch_finish(watch));
        mount_watch_free(watch);
        /* A directory that is gone cannot be watched, and needs no warning. */
        autofree char *granted = str_format("%s/granted", machine_directory);
        autofree char *aside = str_format("%s/aside", machine_directory);
        heard[0] = 0;
        watch = mount_watch_new(&box, &held, false);
        assert_int_equal(rename(granted, aside), 0);
        assert_true(mount_watch_begin(watch));
        assert_string_equal(heard, "");
        assert_int_equal(rename(aside, granted), 0);
        mount_watch_free(watch);
        /* With the watch it was noticed already. */
        watch = mount_watch_new(&box, &held, false);
        assert_true(mount_watch_begin(watch));
        replace("granted/secret");
        assert_true(mount_watch_finish(watch));
        mount_watch_free(watch);
}

/* Losing a read-only mount of what the grant shows read-only in any case changes nothing. */
static void test_a_mount_that_changes_nothing(void **state)
{
        (void)state;
        mounts[0].writable = false;
        add_bind("granted/secret", "/inside/secret", false, "--ro");
        struct mount_watch *watch = mount_watch_new(&box, &held, false);
        assert_null(watch == NULL ? NULL : strstr("x", "y"));
        size_t places = watch != NULL;
        mount_watch_free(watch);
        /* The read-only grant itself is below no other. */
        assert_int_equal(places, 0);
        mounts[0].writable = true;
        watch = mount_watch_new(&box, &held, false);
        assert_non_null(watch);
        mount_watch_free(watch);
        mounts[0].writable = false;
        free(mounts[1].source);
        mounts[1].source = str_format("%s/granted/sub", machine_directory); /* shows another object there */
        watch = mount_watch_new(&box, &held, false);
        assert_non_null(watch);
        mount_watch_free(watch);
}

#define MADE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
            MADE(test_nothing_to_watch),
            MADE(test_which_mounts_matter),
            MADE(test_what_was_asked_for_ends_the_sandbox),
            MADE(test_what_hutch_did_is_reported),
            MADE(test_a_directory_above),
            MADE(test_what_happened_before_the_watch),
            MADE(test_a_mount_that_changes_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
