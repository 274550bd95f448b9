/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to read what belongs to the person, to others and to the machine. Decoys carry the proof; the
 * person's own files of the same names are at most opened, never read.
 */
#include "prove/attempts.h"

#include "lib/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { DECOY_BYTES = 4096, DEPTH = 14, HANDLE_BYTES = 128 };

const char *decoy(const char *relative)
{
        static char paths[8][PATH_MAX]; /* an attempt uses a few at a time */
        static unsigned next;
        char *path = paths[next++ % 8];
        (void)snprintf(path, PATH_MAX, "%s/%s", target("base"), relative);
        return path;
}

bool has_marker(const void *data, size_t length)
{
        const char *marker = target("marker");
        return marker[0] && memmem(data, length, marker, strlen(marker));
}

enum outcome read_marker(int directory, const char *path)
{
        char data[DECOY_BYTES];
        autoclose int fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return HELD;
        ssize_t length = read(fd, data, sizeof(data));
        if (length <= 0 || !has_marker(data, (size_t)length))
                return HELD;
        note_path(path);
        return GOT_OUT;
}

int steal(const char *path, const char *marker)
{
        char data[DECOY_BYTES];
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
        return length > 0 && memmem(data, (size_t)length, marker, strlen(marker)) ? 0 : 1;
}

/* Opening is enough: nothing of the person's is read. */
static enum outcome open_path(const char *path)
{
        autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return HELD;
        note_path(path);
        return GOT_OUT;
}

static enum outcome read_secret(const struct attempt *attempt)
{
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "home/%s", attempt->text);
        if (read_marker(AT_FDCWD, decoy(path)) == GOT_OUT)
                return GOT_OUT;
        (void)snprintf(path, sizeof(path), "%s/%s", target("home"), attempt->text);
        return open_path(path);
}

static enum outcome open_file(const struct attempt *attempt)
{
        return open_path(attempt->text);
}

/* True when `name` in the directory is the host's: what hutch itself made on the way to a grant lies on the
 * sandbox's root. */
static bool is_of_host(int directory, const char *name)
{
        struct stat root, status;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        return !is_inside() || (stat("/", &root) == 0 && status.st_dev != root.st_dev);
}

static enum outcome list_directory(const struct attempt *attempt)
{
        DIR *directory = opendir(attempt->text);
        const struct dirent *entry;
        bool found = false;
        while (directory && (entry = readdir(directory)))
                found |= entry->d_name[0] != '.' && is_of_host(dirfd(directory), entry->d_name);
        if (directory)
                closedir(directory);
        note_path(attempt->text);
        return out_if(found);
}

/* Homes and spools of other accounts. */
static enum outcome other_users(const struct attempt *attempt)
{
        const char *home = target("home");
        (void)attempt;
        note_path("/root");
        if (strncmp(home, "/root", 5) != 0 && is_of_host(AT_FDCWD, "/root"))
                return GOT_OUT;
        DIR *directory = opendir("/home");
        const struct dirent *entry;
        bool found = false;
        while (directory && !found && (entry = readdir(directory))) {
                char path[sizeof("/home/") + NAME_MAX];
                (void)snprintf(path, sizeof(path), "/home/%s", entry->d_name);
                size_t length = strlen(path);
                bool own = strncmp(home, path, length) == 0 && (home[length] == '/' || !home[length]);
                found = entry->d_name[0] != '.' && !own && is_of_host(AT_FDCWD, path);
                note_path(path);
        }
        if (directory)
                closedir(directory);
        if (found)
                return GOT_OUT;
        note_path("/var/spool/cron");
        return out_if(is_of_host(AT_FDCWD, "/var/spool/cron"));
}

/* The machine's own list of accounts, not the one that a sandbox is given. */
static enum outcome accounts(const struct attempt *attempt)
{
        (void)attempt;
        struct stat status;
        char text[64];
        if (stat("/etc/passwd", &status) < 0)
                return HELD;
        (void)snprintf(text, sizeof(text), "%ju:%jd:%ld", (uintmax_t)status.st_ino, (intmax_t)status.st_size,
                       status.st_mtim.tv_nsec);
        return out_if(strcmp(text, target("passwd")) == 0);
}

static enum outcome environment(const struct attempt *attempt)
{
        (void)attempt;
        for (char **variable = environ; *variable; variable++)
                if (has_marker(*variable, strlen(*variable)))
                        return GOT_OUT;
        return HELD;
}

/* Up from the working directory and from directories that are granted, as far as it goes. */
static enum outcome climb(const struct attempt *attempt)
{
        int directory = open(attempt->text ? decoy(attempt->text) : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        enum outcome outcome = HELD;
        for (int depth = 0; depth < DEPTH && directory >= 0 && outcome == HELD; depth++) {
                int above = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
                close(directory);
                directory = above;
                outcome = read_marker(directory, decoy("home/.ssh/id_ed25519") + 1);
        }
        fd_close(&directory);
        return outcome;
}

/* /proc/PID/root, cwd and the directories that processes have open lead to other roots where they can be
 * followed. */
static enum outcome through_processes(const struct attempt *attempt)
{
        DIR *proc = opendir("/proc");
        const struct dirent *entry;
        enum outcome outcome = HELD;
        while (proc && outcome == HELD && (entry = readdir(proc))) {
                char path[PATH_MAX];
                (void)snprintf(path, sizeof(path), "/proc/%.20s/%s%.3000s", entry->d_name, attempt->text,
                               decoy("home/.ssh/id_ed25519"));
                if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
                        outcome = read_marker(AT_FDCWD, path);
        }
        if (proc)
                closedir(proc);
        return outcome;
}

/* The secret's handle, as hutch named it; the caller frees. NULL where the file system has no handles. */
static struct file_handle *read_handle(void)
{
        struct file_handle *handle = calloc(1, sizeof(*handle) + HANDLE_BYTES);
        if (!handle)
                return NULL;
        for (const char *text = target("handle"); handle->handle_bytes < HANDLE_BYTES && text[0] && text[1];
             text += 2) {
                const char digits[] = {text[0], text[1], 0};
                handle->f_handle[handle->handle_bytes++] = (unsigned char)strtoul(digits, NULL, 16);
        }
        handle->handle_type = (int)target_number("handle-type");
        return handle;
}

static enum outcome open_handle(struct file_handle *handle)
{
        static const char *const mounts[] = {"", "grant", "readonly"};
        for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
                char data[DECOY_BYTES];
                autoclose int mount = open(decoy(mounts[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                autoclose int fd = open_by_handle_at(mount, handle, O_RDONLY | O_CLOEXEC);
                ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
                if (length > 0 && has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* A file's handle opens it from any descriptor of the same file system, past every mount. */
static enum outcome file_handle(const struct attempt *attempt)
{
        (void)attempt;
        struct file_handle *handle = read_handle();
        enum outcome outcome = handle && handle->handle_bytes ? open_handle(handle) : NOT_APPLICABLE;
        free(handle);
        return outcome;
}

/* A program that never was a file. */
static enum outcome exec_memory(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int image = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        autoclose int memory = memfd_create("hutch-prove", MFD_CLOEXEC);
        char data[65536];
        ssize_t length;
        while (image >= 0 && memory >= 0 && (length = read(image, data, sizeof(data))) > 0)
                if (fd_write_all(memory, data, (size_t)length) < 0)
                        return HELD;
        pid_t child = fork();
        if (child == 0) {
                const char *const words[] = {"hutch-prove", "steal", decoy("home/.ssh/id_ed25519"),
                                             target("marker"), NULL};
                syscall(SYS_execveat, memory, "", words, environ, AT_EMPTY_PATH);
                _exit(2);
        }
        int status = 1;
        waitpid(child, &status, 0);
        return out_if(status == 0);
}

/* Everything that the caller had open when it started hutch. */
static enum outcome inherited(const struct attempt *attempt)
{
        (void)attempt;
        for (int fd = 3; fd < 400; fd++)
                if (read_marker(fd, "home/.ssh/id_ed25519") == GOT_OUT)
                        return GOT_OUT;
        return HELD;
}

static enum outcome inherited_socket(const struct attempt *attempt)
{
        (void)attempt;
        char data[DECOY_BYTES];
        for (int fd = 3; fd < 400; fd++) {
                struct stat status;
                if (fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode))
                        continue;
                ssize_t length = recv(fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);
                if (length > 0 && has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* A standard stream that is the caller's file opens again with more rights than the stream has. */
static enum outcome reopen_stream(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int fd = open("/proc/self/fd/2", O_RDWR | O_CLOEXEC);
        char data[DECOY_BYTES];
        ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);
        return out_if(length > 0 && has_marker(data, (size_t)length));
}

/* A link in a writable grant that leads to the secret, exchanged with a directory while it is followed; with
 * one round it just stays there. */
static enum outcome race_link(const struct attempt *attempt)
{
        autoclose int grant = open(decoy("grant"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)mkdirat(grant, "race", 0700);
        (void)unlinkat(grant, "race-link", 0);
        if (grant < 0 || symlinkat(decoy("home/.ssh"), grant, "race-link") < 0)
                return HELD;
        pid_t child = attempt->number > 1 ? fork() : -1;
        for (long i = 0; child == 0 && i < attempt->number * 10; i++)
                (void)renameat2(grant, "race", grant, "race-link", RENAME_EXCHANGE);
        if (child == 0)
                _exit(0);
        enum outcome outcome = HELD;
        for (long i = 0; outcome == HELD && i < attempt->number; i++)
                outcome = read_marker(grant, i % 2 ? "race/id_ed25519" : "race-link/id_ed25519");
        int status;
        if (child > 0)
                waitpid(child, &status, 0);
        return outcome;
}

static const struct attempt rows[] = {
    {"ssh-key", "your SSH key", SHOW_AS_CALLER, read_secret, ".ssh/id_ed25519", 0},
    {"gnupg-keys", "your OpenPGP keys", SHOW_AS_CALLER, read_secret, ".gnupg/pubring.kbx", 0},
    {"aws-credentials", "your AWS account", SHOW_AS_CALLER, read_secret, ".aws/credentials", 0},
    {"gcloud-credentials", "your Google Cloud account", SHOW_AS_CALLER, read_secret,
     ".config/gcloud/credentials.db", 0},
    {"azure-token", "your Azure account", SHOW_AS_CALLER, read_secret, ".azure/msal_token_cache.json", 0},
    {"kube-config", "your clusters", SHOW_AS_CALLER, read_secret, ".kube/config", 0},
    {"docker-config", "your registry logins", SHOW_AS_CALLER, read_secret, ".docker/config.json", 0},
    {"npm-token", "publishing your packages", SHOW_AS_CALLER, read_secret, ".npmrc", 0},
    {"git-credentials", "your repositories", SHOW_AS_CALLER, read_secret, ".git-credentials", 0},
    {"gh-token", "your GitHub account", SHOW_AS_CALLER, read_secret, ".config/gh/hosts.yml", 0},
    {"netrc", "your passwords for hosts", SHOW_AS_CALLER, read_secret, ".netrc", 0},
    {"shell-history", "what you typed", SHOW_AS_CALLER, read_secret, ".bash_history", 0},
    {"browser-profile", "your sessions on the web", SHOW_AS_CALLER, read_secret,
     ".mozilla/firefox/profiles.ini", 0},
    {"client-config", "tokens of other servers", SHOW_AS_CALLER, read_secret, ".claude.json", 0},
    {"environment", "the caller's variables", SHOW_AS_CALLER, environment, NULL, 0},
    {"other-users", "other users' files", SHOW_AS_CALLER, other_users, NULL, 0},
    {"etc-passwd", "the list of accounts", SHOW_AS_CALLER, accounts, NULL, 0},
    {"etc-shadow", "everybody's password hashes", SHOW_AS_ROOT, open_file, "/etc/shadow", 0},
    {"machine-id", "which machine this is", SHOW_AS_CALLER, open_file, "/etc/machine-id", 0},
    {"host-logs", "the machine's logs", SHOW_AS_CALLER, list_directory, "/var/log", 0},
    {"host-state", "data of the machine's services", SHOW_AS_CALLER, list_directory, "/var/lib", 0},
    {"host-run", "what runs on the machine", SHOW_AS_CALLER, list_directory, "/run", 0},
    {"dot-dot", "files above the working directory", SHOW_AS_CALLER, climb, NULL, 0},
    {"dot-dot-from-grant", "files beside a grant", SHOW_AS_CALLER, climb, "grant", 0},
    {"proc-root", "files through other processes", SHOW_AS_CALLER, through_processes, "root", 0},
    {"proc-cwd", "files through their directories", SHOW_AS_CALLER, through_processes,
     "cwd/../../../../../../../../..", 0},
    {"file-handle", "a file past every mount", SHOW_AS_ROOT, file_handle, NULL, 0},
    {"memfd-exec", "more rights by a program in memory", SHOW_AS_CALLER, exec_memory, NULL, 0},
    {"inherited-directory", "the caller's open directories", SHOW_AS_CALLER, inherited, NULL, 0},
    {"inherited-socket", "the caller's open sockets", SHOW_AS_CALLER, inherited_socket, NULL, 0},
    {"reopened-stderr", "the caller's log file", SHOW_AS_CALLER, reopen_stream, NULL, 0},
    {"link-out", "a file behind a link in a grant", SHOW_AS_CALLER, race_link, NULL, 1},
    {"link-race", "a file behind a swapped link", SHOW_AS_CALLER, race_link, NULL, 300},
};
const struct attempt_group files_group = ATTEMPT_GROUP("files", rows);
