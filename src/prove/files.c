/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts to read files of the user, of other users and of the machine. The decoys hold the proof. The
 * user's files of the same names are opened and never read.
 */
#include "prove/attempts.h"

#include "lib/child.h"
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

enum { DECOY_BYTES = 4096, DEPTH = 14 };

static enum outcome read_secret(void)
{
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "home/%s", attempt->text);
        if (target_read_marker(AT_FDCWD, target_path(path)) == GOT_OUT)
                return GOT_OUT;
        (void)snprintf(path, sizeof(path), "%s/%s", target_text("home"), attempt->text);
        return target_open(path, O_RDONLY | O_NOFOLLOW);
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

static enum outcome list_directory(void)
{
        autoclosedir DIR *directory = tree_open(AT_FDCWD, attempt->text);
        bool found = false;
        for (const struct dirent *entry; directory && (entry = tree_next(directory));)
                found |= entry->d_name[0] != '.' && is_of_host(dirfd(directory), entry->d_name);
        target_note_path(attempt->text);
        return out_if(found);
}

/* Looks for homes and spools of other accounts. */
static enum outcome other_users(void)
{
        const char *home = target_text("home");
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
static enum outcome accounts(void)
{
        struct stat status;
        char text[64];
        if (stat("/etc/passwd", &status) < 0)
                return HELD;
        (void)snprintf(text, sizeof(text), "%ju:%jd:%ld", (uintmax_t)status.st_ino, (intmax_t)status.st_size,
                       status.st_mtim.tv_nsec);
        return out_if(strcmp(text, target_text("passwd")) == 0);
}

static enum outcome environment(void)
{
        for (char **variable = environ; *variable; variable++)
                if (target_has_marker(*variable, strlen(*variable)))
                        return GOT_OUT;
        return HELD;
}

/* Follows `..` from the working directory or a granted one, as far as it goes. */
static enum outcome climb(void)
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

static enum outcome open_handle(struct file_handle *handle)
{
        static const char *const mounts[] = {"", "grant", "readonly"};
        for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
                autoclose int mount = open(target_path(mounts[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                autoclose int fd = open_by_handle_at(mount, handle, O_RDONLY | O_CLOEXEC);
                if (target_read_at(fd, 0) == GOT_OUT)
                        return GOT_OUT;
        }
        return HELD;
}

/* open_by_handle_at() opens a file from any descriptor of its file system, past every mount. */
static enum outcome file_handle(void)
{
        const char *digits = target_text("handle"); /* none where the file system has no handles */
        unsigned size = (unsigned)strlen(digits) / 2;
        struct file_handle *handle = calloc(1, sizeof(*handle) + size); /* until the process ends */
        if (!handle || !size || !hex_read(digits, handle->f_handle, size))
                return NOT_APPLICABLE;
        handle->handle_bytes = size;
        handle->handle_type = (int)target_number("handle-type");
        return open_handle(handle);
}

/* Executes this program from memory, to read the secret. */
static enum outcome exec_memory(void)
{
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
        return out_if(child_wait(&child) == 0);
}

/* Tries every descriptor that the caller of hutch had open. */
static enum outcome inherited(void)
{
        for (int fd = 3; fd < 400; fd++)
                if (target_read_marker(fd, "home/.ssh/id_ed25519") == GOT_OUT)
                        return GOT_OUT;
        return HELD;
}

static enum outcome inherited_socket(void)
{
        char data[DECOY_BYTES];
        for (int fd = 3; fd < 400; fd++) {
                ssize_t length = recv(fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);
                if (length > 0 && target_has_marker(data, (size_t)length))
                        return GOT_OUT;
        }
        return HELD;
}

/* Opens the caller's log file again, with more rights than standard error has. */
static enum outcome reopen_stream(void)
{
        autoclose int fd = open("/proc/self/fd/2", O_RDWR | O_CLOEXEC);
        return target_read_at(fd, 0);
}

/* Follows a link in a writable grant that leads to the secret. `number`: rounds; in more than one, another
 * process swaps the link with a directory meanwhile. */
static enum outcome race_link(void)
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
        (void)child_wait(&child);
        return outcome;
}

static const struct attempt rows[] = {
    {"ssh-key", "your SSH key", AS_CALLER, read_secret, ".ssh/id_ed25519"},
    {"gnupg-keys", "your OpenPGP keys", AS_CALLER, read_secret, ".gnupg/pubring.kbx"},
    {"aws-credentials", "your AWS account", AS_CALLER, read_secret, ".aws/credentials"},
    {"gcloud-credentials", "your Google Cloud account", AS_CALLER, read_secret,
     ".config/gcloud/credentials.db"},
    {"azure-token", "your Azure account", AS_CALLER, read_secret, ".azure/msal_token_cache.json"},
    {"kube-config", "your clusters", AS_CALLER, read_secret, ".kube/config"},
    {"docker-config", "your registry logins", AS_CALLER, read_secret, ".docker/config.json"},
    {"npm-token", "publishing your packages", AS_CALLER, read_secret, ".npmrc"},
    {"git-credentials", "your repositories", AS_CALLER, read_secret, ".git-credentials"},
    {"gh-token", "your GitHub account", AS_CALLER, read_secret, ".config/gh/hosts.yml"},
    {"netrc", "your passwords for hosts", AS_CALLER, read_secret, ".netrc"},
    {"shell-history", "your commands", AS_CALLER, read_secret, ".bash_history"},
    {"browser-profile", "your sessions on the web", AS_CALLER, read_secret, ".mozilla/firefox/profiles.ini"},
    {"client-config", "tokens of other servers", AS_CALLER, read_secret, ".claude.json"},
    {"environment", "the caller's variables", AS_CALLER, environment},
    {"other-users", "other users' files", AS_CALLER, other_users},
    {"etc-passwd", "the list of accounts", AS_CALLER, accounts},
    {"etc-shadow", "all password hashes", AS_ROOT, OPEN("/etc/shadow", O_RDONLY)},
    {"machine-id", "the machine's identity", AS_CALLER, OPEN("/etc/machine-id", O_RDONLY)},
    {"host-logs", "the machine's logs", AS_CALLER, list_directory, "/var/log"},
    {"host-state", "data of the machine's services", AS_CALLER, list_directory, "/var/lib"},
    {"host-run", "a list of services", AS_CALLER, list_directory, "/run"},
    {"dot-dot", "files above the working directory", AS_CALLER, climb},
    {"dot-dot-from-grant", "files beside a grant", AS_CALLER, climb, "grant"},
    {"proc-root", "files through other processes", AS_CALLER, try_processes, "root", 1},
    {"proc-cwd", "files through their directories", AS_CALLER, try_processes,
     "cwd/../../../../../../../../..", 1},
    {"file-handle", "a file past every mount", AS_ROOT, file_handle},
    {"memfd-exec", "more rights by a program in memory", AS_CALLER, exec_memory},
    {"inherited-directory", "the caller's open directories", AS_CALLER, inherited},
    {"inherited-socket", "the caller's open sockets", AS_CALLER, inherited_socket},
    {"reopened-stderr", "the caller's log file", AS_CALLER, reopen_stream},
    {"link-out", "a file by a link in a grant", AS_CALLER, race_link, NULL, 1},
    {"link-race", "a file by a swapped link", AS_CALLER, race_link, NULL, 300},
};
const struct attempt_group files_group = ATTEMPT_GROUP("files", rows);
