/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to change files: the machine's, those of a read-only grant, protected ones in a writable grant,
 * and those that the user executes later. Only decoys are changed. In a directory of the machine an attempt
 * makes a file without a name, which vanishes at once. `hutch prove` looks at the decoys from outside
 * afterwards.
 */
#include "prove/attempts.h"

#include "lib/child.h"
#include "lib/fd.h"
#include "prove/target.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* False for the device that --hide puts over a file, which ignores what is written. */
static bool is_file(int fd)
{
        struct stat status;
        return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static enum outcome create(void)
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
static enum outcome plant(void)
{
        static const char decoys[] = "home";
        char path[PATH_MAX];
        if (create() == GOT_OUT)
                return GOT_OUT;
        (void)snprintf(path, sizeof(path), "%s%s", target_text("home"), attempt->text + strlen(decoys));
        if (!target_is_inside() || !could_be_made(path))
                return HELD;
        target_note_path(path);
        return GOT_OUT;
}

/* Ways to change a file without writing to it. */
enum way { MODE, TIMES, ATTRIBUTE, DELETION, LENGTH, LEASE };

static enum outcome change(void)
{
        static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
        const char *path = target_path(attempt->text);
        switch ((enum way)attempt->number) {
        case MODE:
                return out_if(chmod(path, 0640) == 0);
        case TIMES:
                return out_if(utimensat(AT_FDCWD, path, times, 0) == 0);
        case ATTRIBUTE:
                return out_if(setxattr(path, "user.hutch", "x", 1, 0) == 0);
        case DELETION:
                return out_if(unlink(path) == 0);
        case LENGTH:
                return out_if(truncate(path, 0) == 0);
        case LEASE: /* others wait for its holder when they open the file */
                return out_if(fcntl(open(path, O_RDONLY | O_CLOEXEC), F_SETLEASE, F_WRLCK) == 0);
        }
        return HELD;
}

/* Brings a secret into a grant by a second name, or by a move. */
static enum outcome bring_in(void)
{
        const char *to = target_path(attempt->text);
        int result =
            attempt->number ? rename(target_path("home/loot-2"), to) : link(target_path("home/loot"), to);
        return result == 0 ? target_read_marker(AT_FDCWD, to) : HELD;
}

/* Opens a file for reading, and then again through /proc for writing. */
static enum outcome reopen(void)
{
        autoclose int first = open(target_path(attempt->text), O_RDONLY | O_CLOEXEC);
        char name[64];
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", first);
        autoclose int fd = first < 0 ? -1 : open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
        return out_if(is_file(fd));
}

/* Moves the parent of the protected file `text` away and makes another one. */
static enum outcome replace_parent(void)
{
        const char *parent = attempt->number ? "grant/.git/hooks" : "grant/.git";
        char aside[64];
        (void)snprintf(aside, sizeof(aside), "%s-aside", parent);
        if (rename(target_path(parent), target_path(aside)) < 0)
                return HELD;
        (void)mkdir(target_path(parent), 0700);
        if (!attempt->number)
                (void)mkdir(target_path("grant/.git/hooks"), 0700);
        return create();
}

static enum outcome make_setuid(void)
{
        const char *path = target_path("grant/tool");
        struct stat status = {0};
        (void)chmod(path, (mode_t)attempt->number);
        return out_if(stat(path, &status) == 0 && status.st_mode & (S_ISUID | S_ISGID));
}

static enum outcome create_setuid(void)
{
        const char *path = target_path("grant/made");
        struct stat status = {0};
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 04755);
        return out_if(fd >= 0 && fstat(fd, &status) == 0 && status.st_mode & S_ISUID);
}

/* Runs a set-user-id decoy (`hutch-prove whoami`), which exits with 1 when it became another user. */
static enum outcome run_setuid(void)
{
        const char *path = target_path(attempt->text);
        if (access(path, X_OK) < 0)
                return target_is_inside() ? NOT_APPLICABLE : HELD;
        pid_t child = fork();
        if (child == 0) {
                execl(path, path, "whoami", (char *)NULL);
                _exit(2);
        }
        int status = child_wait(&child);
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
        long user;
        return line && sscanf(line, " Uid: %*d %ld", &user) == 1 ? user : -1;
}

/* Runs the machine's `su` and looks at its user while it asks for a password. */
static enum outcome run_su(void)
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

/* In a directory: a file without a name. */
#define NEW_FILE (O_TMPFILE | O_WRONLY)

/* A running program cannot be opened for writing, but who has the permission can do it when it has ended. So
 * `own-program` checks the permission. */
static const struct attempt rows[] = {
    {"write-root", "the machine's root directory", AS_ROOT, OPEN("/", NEW_FILE)},
    {"write-usr", "the machine's programs", AS_ROOT, OPEN("/usr", NEW_FILE)},
    {"write-bin", "a program for everybody", AS_ROOT, OPEN("/usr/local/bin", NEW_FILE)},
    {"write-lib", "a library for everybody", AS_ROOT, OPEN("/usr/lib", NEW_FILE)},
    {"write-etc", "the machine's configuration", AS_ROOT, OPEN("/etc", NEW_FILE)},
    {"write-boot", "the next start of the machine", AS_ROOT, OPEN("/boot", NEW_FILE)},
    {"write-cron", "a job of root", AS_ROOT, OPEN("/etc/cron.d", NEW_FILE)},
    {"plant-ssh-login", "a login as you", AS_CALLER, plant, "home/.ssh/authorized_keys"},
    {"plant-shell-start", "your next shell", AS_CALLER, plant, "home/.bashrc"},
    {"plant-autostart", "your next desktop session", AS_CALLER, plant, "home/.config/autostart/x.desktop"},
    {"plant-unit", "a service of yours", AS_CALLER, plant, "home/.config/systemd/user/x.service"},
    {"own-program", "the program that runs next time", AS_CALLER,
     CALL(SYS_faccessat, AT_FDCWD, POINTER("/proc/self/exe"), W_OK)},
    {"ro-write", "a file of a read-only grant", AS_CALLER, create, "readonly/file"},
    {"ro-create", "a new file in a read-only grant", AS_CALLER, create, "readonly/new"},
    {"ro-truncate", "emptying a read-only file", AS_CALLER, change, "readonly/file", LENGTH},
    {"ro-reopen", "a read-only file through /proc", AS_CALLER, reopen, "readonly/file"},
    {"ro-mode", "the mode of a read-only file", AS_CALLER, change, "readonly/file", MODE},
    {"ro-times", "the times of a read-only file", AS_CALLER, change, "readonly/file", TIMES},
    {"ro-attribute", "an attribute of a read-only file", AS_CALLER, change, "readonly/file", ATTRIBUTE},
    {"ro-lease", "making the machine wait for a file", AS_CALLER, change, "readonly/leased", LEASE},
    {"ro-delete", "deleting a read-only file", AS_CALLER, change, "readonly/gone", DELETION},
    {"git-hook", "your next git command", AS_CALLER, create, "grant/.git/hooks/post-checkout"},
    {"git-config", "your next git command, by config", AS_CALLER, create, "grant/.git/config"},
    {"git-hook-reopen", "a hook through /proc", AS_CALLER, reopen, "grant/.git/config"},
    {"client-servers", "servers of your client", AS_CALLER, create, "grant/.mcp.json"},
    {"envrc", "your next cd into the directory", AS_CALLER, create, "grant/.envrc"},
    {"rename-hooks", "a hook in place of the directory", AS_CALLER, replace_parent,
     "grant/.git/hooks/planted", 1},
    {"rename-git", "a hook in place of .git", AS_CALLER, replace_parent, "grant/.git/hooks/planted"},
    {"hard-link", "a file by a second name in a grant", AS_CALLER, bring_in, "grant/loot-link"},
    {"move-in", "a file moved into a grant", AS_CALLER, bring_in, "grant/loot-2", 1},
    {"make-setuid", "your rights for every user", AS_CALLER, make_setuid, NULL, 04755},
    {"make-setgid", "your group's rights for every user", AS_CALLER, make_setuid, NULL, 02755},
    {"create-setuid", "the same by a new file", AS_CALLER, create_setuid},
    {"run-setuid-grant", "another user by a granted program", AS_ROOT, run_setuid, "readonly/setuid"},
    {"run-setuid-system", "root by the machine's su", AS_CALLER, run_su, "/usr/bin/su"},
};
const struct attempt_group writes_group = ATTEMPT_GROUP("writes", rows);
