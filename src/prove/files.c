/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to read files of the user, of other users and of the machine. The decoys hold the proof. The
 * user's files of the same names are opened and never read.
 */
#include "prove/attempts.h"

#include "lib/fd.h"
#include "lib/hex.h"
#include "lib/tree_walk.h"
#include "prove/target.h"

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

/* To open the file is proof enough, so that nothing of the user's is read. */
static enum outcome open_path(const char *path)
{
        autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return HELD;
        target_note_path(path);
        return GOT_OUT;
}

static enum outcome read_secret(const struct attempt *attempt)
{
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "home/%s", attempt->text);
        if (target_read_marker(AT_FDCWD, target_path(path)) == GOT_OUT)
                return GOT_OUT;
        (void)snprintf(path, sizeof(path), "%s/%s", target_text("home"), attempt->text);
        return open_path(path);
}

static enum outcome open_file(const struct attempt *attempt)
{
        return open_path(attempt->text);
}

/* True when `name` in the directory is the host's. Inside, the directories that hutch made above a grant are
 * on the device of the sandbox's root. */
static bool is_of_host(int directory, const char *name)
{
        struct stat root, status;
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        return !target_is_inside() || (stat("/", &root) == 0 && status.st_dev != root.st_dev);
}

static enum outcome list_directory(const struct attempt *attempt)
{
        autoclosedir DIR *directory = tree_open(AT_FDCWD, attempt->text);
        bool found = false;
        for (const struct dirent *entry; directory && (entry = tree_next(directory));)
                found |= entry->d_name[0] != '.' && is_of_host(dirfd(directory), entry->d_name);
        target_note_path(attempt->text);
        return out_if(found);
}

/* Looks for homes and spools of other accounts. */
static enum outcome other_users(const struct attempt *attempt)
{
        const char *home = target_text("home");
        (void)attempt;
        target_note_path("/root");
        if (strncmp(home, "/root", 5) != 0 && is_of_host(AT_FDCWD, "/root"))
                return GOT_OUT;
        autoclosedir DIR *directory = tree_open(AT_FDCWD, "/home");
        bool found = false;
        for (const struct dirent *entry; directory && !found && (entry = tree_next(directory));) {
                char path[sizeof("/home/") + NAME_MAX];
                (void)snprintf(path, sizeof(path), "/home/%s", entry->d_name);
                size_t length = strlen(path);
                bool own = strncmp(home, path, length) == 0 && (home[length] == '/' || !home[length]);
                found = entry->d_name[0] != '.' && !own && is_of_host(AT_FDCWD, path);
                target_note_path(path);
        }
        if (found)
                return GOT_OUT;
        target_note_path("/var/spool/cron");
        return out_if(is_of_host(AT_FDCWD, "/var/spool/cron"));
}

/* Looks whether /etc/passwd is the machine's, and not the one that hutch makes for a sandbox. */
static enum outcome accounts(const struct attempt *attempt)
{
        (void)attempt;
        struct stat status;
        char text[64];
        if (stat("/etc/passwd", &status) < 0)
                return HELD;
        (void)snprintf(text, sizeof(text), "%ju:%jd:%ld", (uintmax_t)status.st_ino, (intmax_t)status.st_size,
                       status.st_mtim.tv_nsec);
        return out_if(strcmp(text, target_text("passwd")) == 0);
}

static enum outcome environment(const struct attempt *attempt)
{
        (void)attempt;
        for (char **variable = environ; *variable; variable++)
                if (target_has_marker(*variable, strlen(*variable)))
                        return GOT_OUT;
        return HELD;
}

/* Follows `..` from the working directory or a granted one, as far as it goes. */
static enum outcome climb(const struct attempt *attempt)
{
        int directory =
            open(attempt->text ? target_path(attempt->text) : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        enum outcome outcome = HELD;
        for (int depth = 0; depth < DEPTH && directory >= 0 && outcome == HELD; depth++) {
                int above = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
                close(directory);
                directory = above;
                outcome = target_read_marker(directory, target_path("home/.ssh/id_ed25519") + 1);
        }
        fd_close(&directory);
        return outcome;
}

/* Follows /proc/PID/root or /proc/PID/cwd, which may lead to another root. */
static enum outcome through_processes(const struct attempt *attempt)
{
        autoclosedir DIR *proc = tree_open(AT_FDCWD, "/proc");
        enum outcome outcome = HELD;
        for (const struct dirent *entry; proc && outcome == HELD && (entry = tree_next(proc));) {
                char path[PATH_MAX];
                (void)snprintf(path, sizeof(path), "/proc/%.20s/%s%.3000s", entry->d_name, attempt->text,
                               target_path("home/.ssh/id_ed25519"));
                if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
                        outcome = target_read_marker(AT_FDCWD, path);
        }
        return outcome;
}

/* The file handle of the secret, from the description; the caller frees. It has no bytes where the file
 * system has no handles. NULL: no memory. */
static struct file_handle *read_handle(void)
{
        struct file_handle *handle = calloc(1, sizeof(*handle) + HANDLE_BYTES);
        if (!handle)
                return NULL;
        for (const char *text = target_text("handle");
             handle->handle_bytes < HANDLE_BYTES &&
             hex_read(text, &handle->f_handle[handle->handle_bytes], 1);
             text += 2)
                handle->handle_bytes++;
        handle->handle_type = (int)target_number("handle-type");
        return handle;
}

static enum outcome open_handle(struct file_handle *handle)
{
        static const char *const mounts[] = {"", "grant", "readonly"};
        for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
                char data[DECOY_BYTES];
                autoclose int mount = open(target_path(mounts[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                autoclose int fd = open_by_handle_at(mount, handle, O_RDONLY | O_CLOEXEC);
                ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));
                if (length > 0 && target_has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* open_by_handle_at() opens a file from any descriptor of its file system, past every mount. */
static enum outcome file_handle(const struct attempt *attempt)
{
        (void)attempt;
        struct file_handle *handle = read_handle();
        enum outcome outcome = handle && handle->handle_bytes ? open_handle(handle) : NOT_APPLICABLE;
        free(handle);
        return outcome;
}

/* Executes this program from memory, to read the secret. */
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
                const char *const words[] = {"hutch-prove", "steal", target_path("home/.ssh/id_ed25519"),
                                             target_text("marker"), NULL};
                syscall(SYS_execveat, memory, "", words, environ, AT_EMPTY_PATH);
                _exit(2);
        }
        int status = 1;
        waitpid(child, &status, 0);
        return out_if(status == 0);
}

/* Tries every descriptor that the caller of hutch had open. */
static enum outcome inherited(const struct attempt *attempt)
{
        (void)attempt;
        for (int fd = 3; fd < 400; fd++)
                if (target_read_marker(fd, "home/.ssh/id_ed25519") == GOT_OUT)
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
                if (length > 0 && target_has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* Opens the caller's log file again, with more rights than standard error has. */
static enum outcome reopen_stream(const struct attempt *attempt)
{
        (void)attempt;
        autoclose int fd = open("/proc/self/fd/2", O_RDWR | O_CLOEXEC);
        char data[DECOY_BYTES];
        ssize_t length = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);
        return out_if(length > 0 && target_has_marker(data, (size_t)length));
}

/* Follows a link in a writable grant that leads to the secret. `number`: rounds; in more than one, another
 * process swaps the link with a directory meanwhile. */
static enum outcome race_link(const struct attempt *attempt)
{
        autoclose int grant = open(target_path("grant"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)mkdirat(grant, "race", 0700);
        (void)unlinkat(grant, "race-link", 0);
        if (grant < 0 || symlinkat(target_path("home/.ssh"), grant, "race-link") < 0)
                return HELD;
        pid_t child = attempt->number > 1 ? fork() : -1;
        for (long i = 0; child == 0 && i < attempt->number * 10; i++)
                (void)renameat2(grant, "race", grant, "race-link", RENAME_EXCHANGE);
        if (child == 0)
                _exit(0);
        enum outcome outcome = HELD;
        for (long i = 0; outcome == HELD && i < attempt->number; i++)
                outcome = target_read_marker(grant, i % 2 ? "race/id_ed25519" : "race-link/id_ed25519");
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
    {"shell-history", "your commands", SHOW_AS_CALLER, read_secret, ".bash_history", 0},
    {"browser-profile", "your sessions on the web", SHOW_AS_CALLER, read_secret,
     ".mozilla/firefox/profiles.ini", 0},
    {"client-config", "tokens of other servers", SHOW_AS_CALLER, read_secret, ".claude.json", 0},
    {"environment", "the caller's variables", SHOW_AS_CALLER, environment, NULL, 0},
    {"other-users", "other users' files", SHOW_AS_CALLER, other_users, NULL, 0},
    {"etc-passwd", "the list of accounts", SHOW_AS_CALLER, accounts, NULL, 0},
    {"etc-shadow", "all password hashes", SHOW_AS_ROOT, open_file, "/etc/shadow", 0},
    {"machine-id", "the machine's identity", SHOW_AS_CALLER, open_file, "/etc/machine-id", 0},
    {"host-logs", "the machine's logs", SHOW_AS_CALLER, list_directory, "/var/log", 0},
    {"host-state", "data of the machine's services", SHOW_AS_CALLER, list_directory, "/var/lib", 0},
    {"host-run", "a list of services", SHOW_AS_CALLER, list_directory, "/run", 0},
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
    {"link-out", "a file by a link in a grant", SHOW_AS_CALLER, race_link, NULL, 1},
    {"link-race", "a file by a swapped link", SHOW_AS_CALLER, race_link, NULL, 300},
};
const struct attempt_group files_group = ATTEMPT_GROUP("files", rows);
