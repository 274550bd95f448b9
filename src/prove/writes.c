/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to change files: the machine's, those of a read-only grant, protected ones in a writable grant,
 * and those that the user executes later. Only decoys are changed. In a directory of the machine an attempt
 * makes a file without a name, which vanishes at once. `hutch prove` looks at the decoys from outside
 * afterwards.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "prove/target.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* Makes a file without a name in a directory of the machine. */
static enum outcome write_directory(const struct attempt *attempt)
{
        autoclose int fd = open(attempt->text, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        target_note_path(attempt->text);
        return out_if(fd >= 0);
}

/* False for the device that --hide puts over a file, which ignores what is written. */
static bool is_file(int fd)
{
        struct stat status;
        return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static enum outcome create(const struct attempt *attempt)
{
        const char *path = target_path(attempt->text);
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        target_note_path(path);
        return out_if(is_file(fd) && write(fd, "x", 1) == 1);
}

/* True when the file, or the directory above a missing file, is the host's and can be written to. The home
 * that hutch makes for a sandbox is on another device than the host's. */
static bool could_be_made(char *path)
{
        struct stat status;
        while (lstat(path, &status) < 0) {
                char *slash = strrchr(path, '/');
                if (!slash || slash == path)
                        return false;
                *slash = 0;
        }
        return (long)status.st_dev == target_number("home-device") && access(path, W_OK) == 0;
}

/* Makes the file in the decoy of a home. In the user's home it only checks whether it could be made. */
static enum outcome plant(const struct attempt *attempt)
{
        static const char decoys[] = "home";
        char path[PATH_MAX];
        if (create(attempt) == GOT_OUT)
                return GOT_OUT;
        (void)snprintf(path, sizeof(path), "%s%s", target_text("home"), attempt->text + strlen(decoys));
        if (!target_is_inside() || !could_be_made(path))
                return HELD;
        target_note_path(path);
        return GOT_OUT;
}

static enum outcome change_mode(const struct attempt *attempt)
{
        return out_if(chmod(target_path(attempt->text), (mode_t)attempt->number) == 0);
}

static enum outcome change_times(const struct attempt *attempt)
{
        static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
        return out_if(utimensat(AT_FDCWD, target_path(attempt->text), times, 0) == 0);
}

static enum outcome change_attribute(const struct attempt *attempt)
{
        return out_if(setxattr(target_path(attempt->text), "user.hutch", "x", 1, 0) == 0);
}

static enum outcome delete (const struct attempt *attempt) {
        return out_if(unlink(target_path(attempt->text)) == 0);
}

static enum outcome truncate_file(const struct attempt *attempt)
{
        return out_if(truncate(target_path(attempt->text), 0) == 0);
}

/* Opens a file for reading, and then again through /proc for writing. */
static enum outcome reopen(const struct attempt *attempt)
{
        autoclose int first = open(target_path(attempt->text), O_RDONLY | O_CLOEXEC);
        char name[64];
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", first);
        autoclose int fd = first < 0 ? -1 : open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return out_if(is_file(fd));
}

/* A running program cannot be opened for writing, but who has the permission can do it when it has ended. So
 * this checks the permission. */
static enum outcome own_program(const struct attempt *attempt)
{
        return out_if(access(attempt->text, W_OK) == 0);
}

/* Takes a lease, with which others wait for its holder when they open the file. */
static enum outcome lease(const struct attempt *attempt)
{
        autoclose int fd = open(target_path(attempt->text), O_RDONLY | O_CLOEXEC);
        return out_if(fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
}

/* Moves the parent of the protected file `text` away and makes another one. */
static enum outcome replace_parent(const struct attempt *attempt)
{
        const char *parent = attempt->number ? "grant/.git/hooks" : "grant/.git";
        char aside[64];
        (void)snprintf(aside, sizeof(aside), "%s-aside", parent);
        if (rename(target_path(parent), target_path(aside)) < 0)
                return HELD;
        (void)mkdir(target_path(parent), 0700);
        if (!attempt->number)
                (void)mkdir(target_path("grant/.git/hooks"), 0700);
        return create(attempt);
}

static enum outcome hard_link(const struct attempt *attempt)
{
        (void)attempt;
        return link(target_path("home/loot"), target_path("grant/loot-link")) == 0
                   ? target_read_marker(AT_FDCWD, target_path("grant/loot-link"))
                   : HELD;
}

static enum outcome move_in(const struct attempt *attempt)
{
        (void)attempt;
        return rename(target_path("home/loot-2"), target_path("grant/loot-2")) == 0
                   ? target_read_marker(AT_FDCWD, target_path("grant/loot-2"))
                   : HELD;
}

static enum outcome make_setuid(const struct attempt *attempt)
{
        const char *path = target_path("grant/tool");
        struct stat status = {0};
        (void)chmod(path, (mode_t)attempt->number);
        return out_if(stat(path, &status) == 0 && status.st_mode & (S_ISUID | S_ISGID));
}

static enum outcome create_setuid(const struct attempt *attempt)
{
        (void)attempt;
        const char *path = target_path("grant/made");
        struct stat status = {0};
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755);
        return out_if(fd >= 0 && fstat(fd, &status) == 0 && status.st_mode & S_ISUID);
}

/* Runs a set-user-id decoy (`hutch-prove whoami`), which exits with 1 when it became another user. */
static enum outcome run_setuid(const struct attempt *attempt)
{
        const char *path = target_path(attempt->text);
        if (access(path, X_OK) < 0)
                return target_is_inside() ? NOT_APPLICABLE : HELD;
        pid_t child = fork();
        if (child == 0) {
                execl(path, path, "whoami", (char *)NULL);
                _exit(2);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return out_if(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* The effective user of a process, or -1. */
static long effective_user(pid_t pid)
{
        char name[64], data[2048] = "";
        (void)snprintf(name, sizeof(name), "/proc/%d/status", pid);
        autoclose int fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, data, sizeof(data) - 1) <= 0)
                return -1;
        const char *line = strstr(data, "\nUid:");
        char *effective = NULL;
        if (!line)
                return -1;
        (void)strtol(line + strlen("\nUid:"), &effective, 10);
        return strtol(effective, NULL, 10);
}

/* Runs the machine's `su` and looks at its user while it asks for a password. */
static enum outcome run_su(const struct attempt *attempt)
{
        int ends[2];
        if (access(attempt->text, X_OK) < 0)
                return NOT_APPLICABLE;
        if (geteuid() == 0 || pipe(ends) < 0)
                return HELD;
        pid_t child = fork();
        if (child == 0) {
                int nothing = open("/dev/null", O_WRONLY);
                (void)dup2(ends[0], 0);
                (void)dup2(nothing, 1);
                (void)dup2(nothing, 2);
                close(ends[1]);
                execl(attempt->text, "su", (char *)NULL);
                _exit(2);
        }
        bool became = false;
        for (int i = 0; i < 100 && !became; i++) {
                int status;
                became = effective_user(child) == 0;
                if (!became && waitpid(child, &status, WNOHANG) == child)
                        return HELD;
                usleep(500);
        }
        kill(child, SIGKILL);
        return out_if(became);
}

static const struct attempt rows[] = {
    {"write-root", "the machine's root directory", SHOW_AS_ROOT, write_directory, "/", 0},
    {"write-usr", "the machine's programs", SHOW_AS_ROOT, write_directory, "/usr", 0},
    {"write-bin", "a program for everybody", SHOW_AS_ROOT, write_directory, "/usr/local/bin", 0},
    {"write-lib", "a library for everybody", SHOW_AS_ROOT, write_directory, "/usr/lib", 0},
    {"write-etc", "the machine's configuration", SHOW_AS_ROOT, write_directory, "/etc", 0},
    {"write-boot", "the next start of the machine", SHOW_AS_ROOT, write_directory, "/boot", 0},
    {"write-cron", "a job of root", SHOW_AS_ROOT, write_directory, "/etc/cron.d", 0},
    {"plant-ssh-login", "a login as you", SHOW_AS_CALLER, plant, "home/.ssh/authorized_keys", 0},
    {"plant-shell-start", "your next shell", SHOW_AS_CALLER, plant, "home/.bashrc", 0},
    {"plant-autostart", "your next desktop session", SHOW_AS_CALLER, plant,
     "home/.config/autostart/x.desktop", 0},
    {"plant-unit", "a service of yours", SHOW_AS_CALLER, plant, "home/.config/systemd/user/x.service", 0},
    {"own-program", "the program that runs next time", SHOW_AS_CALLER, own_program, "/proc/self/exe", 0},
    {"ro-write", "a file of a read-only grant", SHOW_AS_CALLER, create, "readonly/file", 0},
    {"ro-create", "a new file in a read-only grant", SHOW_AS_CALLER, create, "readonly/new", 0},
    {"ro-truncate", "emptying a read-only file", SHOW_AS_CALLER, truncate_file, "readonly/file", 0},
    {"ro-reopen", "a read-only file through /proc", SHOW_AS_CALLER, reopen, "readonly/file", 0},
    {"ro-mode", "the mode of a read-only file", SHOW_AS_CALLER, change_mode, "readonly/file", 0640},
    {"ro-times", "the times of a read-only file", SHOW_AS_CALLER, change_times, "readonly/file", 0},
    {"ro-attribute", "an attribute of a read-only file", SHOW_AS_CALLER, change_attribute, "readonly/file",
     0},
    {"ro-lease", "making the machine wait for a file", SHOW_AS_CALLER, lease, "readonly/leased", 0},
    {"ro-delete", "deleting a read-only file", SHOW_AS_CALLER, delete, "readonly/gone", 0},
    {"git-hook", "your next git command", SHOW_AS_CALLER, create, "grant/.git/hooks/post-checkout", 0},
    {"git-config", "your next git command, by config", SHOW_AS_CALLER, create, "grant/.git/config", 0},
    {"git-hook-reopen", "a hook through /proc", SHOW_AS_CALLER, reopen, "grant/.git/config", 0},
    {"client-servers", "servers of your client", SHOW_AS_CALLER, create, "grant/.mcp.json", 0},
    {"envrc", "your next cd into the directory", SHOW_AS_CALLER, create, "grant/.envrc", 0},
    {"rename-hooks", "a hook in place of the directory", SHOW_AS_CALLER, replace_parent,
     "grant/.git/hooks/planted", 1},
    {"rename-git", "a hook in place of .git", SHOW_AS_CALLER, replace_parent, "grant/.git/hooks/planted", 0},
    {"hard-link", "a file by a second name in a grant", SHOW_AS_CALLER, hard_link, NULL, 0},
    {"move-in", "a file moved into a grant", SHOW_AS_CALLER, move_in, NULL, 0},
    {"make-setuid", "your rights for every user", SHOW_AS_CALLER, make_setuid, NULL, 04755},
    {"make-setgid", "your group's rights for every user", SHOW_AS_CALLER, make_setuid, NULL, 02755},
    {"create-setuid", "the same by a new file", SHOW_AS_CALLER, create_setuid, NULL, 0},
    {"run-setuid-grant", "another user by a granted program", SHOW_AS_ROOT, run_setuid, "readonly/setuid", 0},
    {"run-setuid-system", "root by the machine's su", SHOW_AS_CALLER, run_su, "/usr/bin/su", 0},
};
const struct attempt_group writes_group = ATTEMPT_GROUP("writes", rows);
