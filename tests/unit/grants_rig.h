/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of src/grants share: a new directory for each test, whose subdirectory `home` is the
 * caller's home; a box with its held sources; and the lines that hutch would print.
 */
#ifndef HUTCH_TESTS_GRANTS_RIG_H
#define HUTCH_TESTS_GRANTS_RIG_H

#include "box/box.h"
#include "grants/resolver.h"
#include "lib/fd.h"

#include "unit.h"

struct grants_rig {
        char *root; /* real */
        struct box box;
        struct held_sources held;
        struct options options;
        struct error error;
        struct resolver resolver; /* of all these */
        char said[16384];         /* every line */
};
extern struct grants_rig rig;

/* Around each test, and around all of a program. */
int rig_set_up(void **state);
int rig_tear_down(void **state);
int rig_begin(void **state);
int rig_end(void **state);

#define rig_test(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

/* The path of `relative` in the directory; "" is the directory. Sixteen results live at a time. */
const char *at(const char *relative);

/* These make the directories above. */
void make_directory(const char *relative);
void make_file(const char *relative, const char *content);
void make_link(const char *relative, const char *text);

/* Mounts the object at `relative` at `destination` (NULL: the same path), as the option `why` does. */
struct mount *grant(const char *relative, const char *destination, bool writable, const char *why);

/* Runs `check` in a process where the host shows the directory `source` at `target` too, and fails the test
 * when it returns false. Skips the test where the machine permits no mount. */
void with_alias(const char *source, const char *target, bool (*check)(void));

/* Where root runs the test: continue as an ordinary account, to which the directory then belongs, and be root
 * again. The end of a test does the latter too. */
void drop_root(void);
void regain_root(void);

/* The mount at exactly the path of `relative`; fails the test when there is none. */
const struct mount *mount_at(const char *relative);
bool has_mount(const char *relative);

/* What a call left in rig.error, which is empty afterwards. */
void expect_error(int status, const char *part);
void expect_no_error(void);

/* True when a line that was printed has this in it. */
bool was_said(const char *part);

#endif
