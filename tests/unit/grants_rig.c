/* SPDX-License-Identifier: Apache-2.0
 *
 * See grants_rig.h.
 */
#include "grants_rig.h"
#include "origins.h"

#include "grants/mounts.h"
#include "grants/watched_names.h"
#include "lib/messages.h"
#include "lib/tree_remove.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct grants_rig rig;

static void remember(void *context, const char *line, size_t length)
{
        (void)context;
        size_t used = strlen(rig.said);
        assert_true(used + length < sizeof(rig.said));
        memcpy(rig.said + used, line, length);
        rig.said[used + length] = 0;
}

/* lib/homes.h and grants/sensitive_paths.h read the home once, so that its path stays for all of a program.
 */
int rig_begin(void **state)
{
        (void)state;
        char path[] = "/tmp/hutch-test-grants-XXXXXX";
        if (!mkdtemp(path) || rmdir(path) < 0)
                return -1;
        rig.root = str_copy(path);
        unsetenv("XDG_CACHE_HOME");
        unsetenv("XDG_CONFIG_HOME");
        unsetenv("XDG_DATA_HOME");
        unsetenv("XDG_STATE_HOME");
        messages_send_to(remember, NULL);
        return setenv("HOME", at("home"), 1);
}

int rig_end(void **state)
{
        (void)state;
        messages_send_to(NULL, NULL);
        free(rig.root);
        return 0;
}

int rig_set_up(void **state)
{
        (void)state;
        if (mkdir(rig.root, 0700) < 0)
                return -1;
        make_directory("home");
        rig.box = (struct box){.cwd = str_copy(rig.root), .home = str_copy(at("home"))};
        rig.options = (struct options){0};
        rig.error = (struct error){0};
        rig.resolver = (struct resolver){
            .options = &rig.options,
            .cwd = rig.root,
            .work = rig.root,
            .home = rig.box.home,
            .box = &rig.box,
            .held = &rig.held,
            .error = &rig.error,
        };
        rig.said[0] = 0;
        return 0;
}

int rig_tear_down(void **state)
{
        (void)state;
        regain_root();
        held_sources_release(&rig.held);
        watched_names_release(&rig.held);
        box_free(&rig.box);
        return tree_remove(AT_FDCWD, rig.root);
}

const char *at(const char *relative)
{
        static char paths[16][PATH_MAX];
        static unsigned next;
        char *path = paths[next++ % 16];
        snprintf(path, PATH_MAX, "%s%s%s", rig.root, relative[0] ? "/" : "", relative);
        return path;
}

void make_directory(const char *relative)
{
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/", at(relative));
        for (char *slash = path + strlen(rig.root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
                struct stat status;
                *slash = 0;
                if (mkdir(path, 0700) < 0)
                        assert_true(stat(path, &status) == 0 && S_ISDIR(status.st_mode));
        }
}

static void make_parent(const char *relative)
{
        autofree char *parent = path_parent(at(relative));
        if (!str_equal(parent, rig.root))
                make_directory(parent + strlen(rig.root) + 1);
}

void make_file(const char *relative, const char *content)
{
        make_parent(relative);
        autoclose int file = open(at(relative), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        assert_int_equal(fd_write_all(file, content, strlen(content)), 0);
}

void make_link(const char *relative, const char *text)
{
        make_parent(relative);
        assert_int_equal(symlink(text, at(relative)), 0);
}

struct mount *grant(const char *relative, const char *destination, bool writable, const char *why)
{
        const char *real = at(relative);
        if (!mounts_add_bind(&rig.resolver, real, destination ? destination : real, writable,
                             (struct mount_reason){origin_of(why), why}))
                fail_msg("%s", rig.error.text);
        return &rig.box.mounts[rig.box.mount_count - 1];
}

void drop_root(void)
{
        enum { NOBODY = 65534 };
        if (geteuid() != 0)
                return;
        assert_int_equal(chown(rig.root, NOBODY, NOBODY), 0);
        assert_int_equal(seteuid(NOBODY), 0);
}

void regain_root(void)
{
        if (getuid() == 0)
                assert_int_equal(seteuid(0), 0);
}

static bool make_alias(const char *source, const char *target)
{
        return (geteuid() == 0 || unshare(CLONE_NEWUSER) == 0) && unshare(CLONE_NEWNS) == 0 &&
               mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount(source, target, NULL, MS_BIND, NULL) == 0;
}

void with_alias(const char *source, const char *target, bool (*check)(void))
{
        enum { PASSED, FAILED, REFUSED };
        int status = 0;
        pid_t child = fork();
        if (child == 0)
                _exit(!make_alias(at(source), at(target)) ? REFUSED : check() ? PASSED : FAILED);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == REFUSED)
                skip();
        assert_int_equal(WEXITSTATUS(status), PASSED);
}

bool has_mount(const char *relative)
{
        return mounts_find_exact(&rig.box, at(relative)) != NULL;
}

const struct mount *mount_at(const char *relative)
{
        const struct mount *found = mounts_find_exact(&rig.box, at(relative));
        if (!found)
                fail_msg("the box has no mount at %s", relative);
        return found;
}

void expect_error(int status, const char *part)
{
        if (rig.error.status != status || !strstr(rig.error.text, part))
                fail_msg("expected %d and \"%s\", got %d and \"%s\"", status, part, rig.error.status,
                         rig.error.text);
        rig.error = (struct error){0};
}

void expect_no_error(void)
{
        if (rig.error.status)
                fail_msg("%s", rig.error.text);
}

bool was_said(const char *part)
{
        return strstr(rig.said, part) != NULL;
}
