/* SPDX-License-Identifier: Apache-2.0
 *
 * See tree_rig.h.
 */
#include "tree_rig.h"
#include "origins.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char tree_directory[64];
static char home[80], caller[80];
static struct held_sources held;

char *tree_path(const char *text)
{
        char *out = str_copy("");
        for (char before = ' '; *text; before = *text, text++) {
                bool ours = text[0] == 'T' && (text[1] == '/' || !text[1]) && strchr(": !=\"#", before);
                char *longer =
                    ours ? str_format("%s%s", out, tree_directory) : str_format("%s%c", out, *text);
                free(out);
                out = longer;
        }
        return out;
}

static void make_parents(const char *path)
{
        for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
                autofree char *part = str_copy_n(path, (size_t)(slash - path));
                (void)mkdir(part, 0755);
        }
}

void tree_make_file(const char *name, const char *content, mode_t mode)
{
        autofree char *path = tree_path(name);
        autofree char *text = tree_path(content);
        make_parents(path);
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        assert_int_equal(fchmod(fd, mode), 0);
}

void tree_make_link(const char *name, const char *text)
{
        autofree char *path = tree_path(name);
        autofree char *target = tree_path(text);
        make_parents(path);
        assert_int_equal(symlink(target, path), 0);
}

void tree_make_directory(const char *name)
{
        autofree char *path = tree_path(name);
        make_parents(path);
        assert_int_equal(mkdir(path, 0755), 0);
}

void tree_set_mode(const char *name, mode_t mode)
{
        autofree char *path = tree_path(name);
        assert_int_equal(chmod(path, mode), 0);
}

void tree_remove_file(const char *name)
{
        autofree char *path = tree_path(name);
        assert_int_equal(unlink(path), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
        (void)status, (void)type, (void)where;
        return remove(path);
}

int tree_set_up(void **state)
{
        (void)state;
        snprintf(tree_directory, sizeof(tree_directory), "/tmp/hutch-tree-XXXXXX");
        assert_non_null(mkdtemp(tree_directory));
        snprintf(home, sizeof(home), "%s/home", tree_directory);
        snprintf(caller, sizeof(caller), "%s/caller", tree_directory);
        tree_make_file("T/home/.profile", "", 0600);
        return 0;
}

int tree_tear_down(void **state)
{
        (void)state;
        held_sources_release(&held);
        return nftw(tree_directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct str_list tree_words(const char *words)
{
        struct str_list command = {0};
        autofree char *copy = str_copy(words);
        char *rest = NULL;
        for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                str_list_take(&command, tree_path(word));
        return command;
}

void tree_add_grant(struct box *box, const char *path, bool writable, const char *why)
{
        struct stat status;
        char *source = tree_path(path);
        assert_int_equal(stat(source, &status), 0);
        box_add_mount(box, &(struct mount){
                               .kind = MOUNT_BIND,
                               .source = source,
                               .destination = str_copy(source),
                               .writable = writable,
                               .is_directory = S_ISDIR(status.st_mode),
                               .device = status.st_dev,
                               .inode = status.st_ino,
                               .origin = origin_of(why),
                               .why = str_copy(why),
                           });
}

struct resolver *tree_resolver(const struct box *box)
{
        static struct resolver resolver;
        static struct options options;
        static struct box copy;
        static struct error error;
        held_sources_release(&held);
        copy = box ? *box : (struct box){0};
        options = (struct options){0};
        error = (struct error){0};
        resolver = (struct resolver){
            .options = &options,
            .search_path = "",
            .cwd = caller,
            .work = caller,
            .home = home,
            .box = &copy,
            .held = &held,
            .error = &error,
        };
        return &resolver;
}

void assert_found(char *found, const char *wanted)
{
        autofree char *freed = found;
        autofree char *path = wanted ? tree_path(wanted) : NULL;
        if (path && found)
                assert_string_equal(found, path);
        else if (found || path)
                fail_msg("%s instead of %s", found ? found : "(none)", path ? path : "(none)");
}

void assert_list(const struct str_list *list, const char *const *wanted)
{
        size_t count = 0;
        for (; wanted[count]; count++) {
                autofree char *value = tree_path(wanted[count]);
                if (!str_list_has(list, value))
                        fail_msg("%s is not there", value);
        }
        for (size_t i = 0; list->count != count && i < list->count; i++)
                print_error("listed: %s\n", list->values[i]);
        assert_int_equal(list->count, count);
}

void hear(void *context, const char *line, size_t length)
{
        struct heard *heard = context;
        size_t used = strlen(heard->text);
        assert_true(used + length < sizeof(heard->text));
        memcpy(heard->text + used, line, length);
        heard->text[used + length] = 0;
}
