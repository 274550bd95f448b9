/* SPDX-License-Identifier: Apache-2.0
 *
 * See decoys.h.
 */
#include "prove/decoys.h"

#include "lib/buf.h"
#include "lib/child.h"
#include "lib/fd.h"
#include "lib/hex.h"
#include "lib/homes.h"
#include "lib/str.h"
#include "lib/tree_remove.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

enum { TCP4, TCP6, TCP4_LATER, UDP4 };
enum { HANDLE_BYTES = 128, REMOVE_ROUNDS = 200 };

/* Secrets below home/, files of the two grants that an attempt must not change, and directories that would
 * have no file. */
static const char *const files[] = {"home/.ssh/id_ed25519",
                                    "home/.gnupg/pubring.kbx",
                                    "home/.aws/credentials",
                                    "home/.config/gcloud/credentials.db",
                                    "home/.azure/msal_token_cache.json",
                                    "home/.kube/config",
                                    "home/.docker/config.json",
                                    "home/.npmrc",
                                    "home/.git-credentials",
                                    "home/.config/gh/hosts.yml",
                                    "home/.netrc",
                                    "home/.bash_history",
                                    "home/.mozilla/firefox/profiles.ini",
                                    "home/.claude.json",
                                    "home/loot",
                                    "home/loot-2",
                                    "home/.config/autostart/",
                                    "home/.config/systemd/user/",
                                    "readonly/file",
                                    "readonly/leased",
                                    "readonly/gone",
                                    "grant/.git/config",
                                    "grant/.git/hooks/",
                                    "grant/.mcp.json",
                                    "grant/.envrc",
                                    "grant/tool",
                                    "grant/deep/",
                                    "run/"};
static const char *const services[] = {
    "grant/socket",          "grant/deep/socket", "run/service", "run/bus",
    "run/system_bus_socket", "run/x11",           "run/wayland", "run/ssh-agent",
    "run/gpg-agent",         "run/docker",        "run/podman",  "run/systemd"};

/* Attempts whose success shows from outside: a file was changed, made or removed. */
static const struct {
        const char *id, *file;
        enum { UNCHANGED, ABSENT, PRESENT, NO_SETUID } should;
} watched[] = {
    {"ro-write", "readonly/file", UNCHANGED},
    {"ro-truncate", "readonly/file", UNCHANGED},
    {"ro-reopen", "readonly/file", UNCHANGED},
    {"ro-mode", "readonly/file", UNCHANGED},
    {"ro-times", "readonly/file", UNCHANGED},
    {"ro-create", "readonly/new", ABSENT},
    {"ro-delete", "readonly/gone", PRESENT},
    {"git-hook", "grant/.git/hooks/post-checkout", ABSENT},
    {"git-config", "grant/.git/config", UNCHANGED},
    {"git-hook-reopen", "grant/.git/config", UNCHANGED},
    {"client-servers", "grant/.mcp.json", UNCHANGED},
    {"envrc", "grant/.envrc", UNCHANGED},
    {"rename-hooks", "grant/.git/hooks/planted", ABSENT},
    {"rename-git", "grant/.git-aside", ABSENT},
    {"hard-link", "grant/loot-link", ABSENT},
    {"move-in", "home/loot-2", PRESENT},
    {"make-setuid", "grant/tool", NO_SETUID},
    {"make-setgid", "grant/tool", NO_SETUID},
    {"create-setuid", "grant/made", NO_SETUID},
    {"plant-ssh-login", "home/.ssh/authorized_keys", ABSENT},
    {"plant-shell-start", "home/.bashrc", ABSENT},
    {"plant-autostart", "home/.config/autostart/x.desktop", ABSENT},
    {"plant-unit", "home/.config/systemd/user/x.service", ABSENT},
};

/* Sets `path` to that of a decoy. False when it is too long. */
static bool decoy_path(const struct decoys *decoys, enum decoy_side side, const char *relative,
                       char path[PATH_MAX])
{
        int length = snprintf(path, PATH_MAX, "%s/%s", decoys->base[side], relative);
        return length > 0 && length < PATH_MAX;
}

/* ---- files ---- */

/* Makes a file and the directories above it; with a slash at the end of its name, the directories only. */
static bool write_decoy(const struct decoys *decoys, enum decoy_side side, const char *name)
{
        char path[PATH_MAX];
        if (!decoy_path(decoys, side, name, path))
                return false;
        for (char *slash = path + strlen(decoys->base[side]); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return false;
                *slash = '/';
        }
        if (path[strlen(path) - 1] == '/')
                return true;
        const char *text = str_starts(name, "home/") ? decoys->marker : "decoy\n";
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

static bool copy_setuid(const char *program, const char *path)
{
        autoclose int from = open(program, O_RDONLY | O_CLOEXEC);
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        return fd >= 0 && sendfile(fd, from, NULL, 1 << 24) > 0 && fchown(fd, 1, 1) == 0 &&
               fchmod(fd, 06755) == 0;
}

static bool make_files(const struct decoys *decoys, enum decoy_side side, const char *program)
{
        char path[PATH_MAX];
        bool made = true;
        for (size_t i = 0; made && i < sizeof(files) / sizeof(*files); i++)
                made = write_decoy(decoys, side, files[i]);
        if (made && geteuid() == 0) {
                /* On a file system without devices or set-user-id the attempts outside show nothing. */
                (void)(decoy_path(decoys, side, "grant/node", path) &&
                       mknod(path, S_IFCHR | 0600, makedev(1, 9)));
                (void)(decoy_path(decoys, side, "readonly/setuid", path) && copy_setuid(program, path));
        }
        return made;
}

/* ---- sockets ---- */

/* Listens at a path or, with a leading NUL, at an abstract name. A failure is ignored: the attempt outside
 * then shows nothing. */
static void listen_unix(const char *name, size_t length)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (length > sizeof(address.sun_path))
                return;
        memcpy(address.sun_path, name, length);
        if (bind(fd, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0 &&
            listen(fd, 16) == 0)
                (void)fd_take(&fd); /* open until this process ends */
}

static void listen_path(struct decoys *decoys, enum decoy_side side, const char *relative)
{
        char path[PATH_MAX];
        if (decoy_path(decoys, side, relative, path))
                listen_unix(path, strlen(path));
}

/* After the rename, the kernel lists the socket by a path that does not lead to it. */
static void rename_decoy(const struct decoys *decoys, enum decoy_side side, const char *from, const char *to)
{
        char old[PATH_MAX], new[PATH_MAX];
        if (decoy_path(decoys, side, from, old) && decoy_path(decoys, side, to, new))
                (void)rename(old, new);
}

/* The abstract names; a kind follows. */
#define ABSTRACT "hutch-prove-%08x-"

static void listen_abstract(const struct decoys *decoys, const char *kind)
{
        char name[65] = "";
        int length = snprintf(name + 1, sizeof(name) - 1, ABSTRACT "%s", (unsigned)decoys->key, kind);
        listen_unix(name, 1 + (size_t)length);
}

/* Sets *kept to the socket, which is open until this process ends. Returns its port. */
static unsigned listen_ip(int family, int type, int *kept)
{
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } address = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}};
        socklen_t length = family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
        if (family == AF_INET)
                address.v4 =
                    (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        autoclose int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, &address.any, length) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0) ||
            getsockname(fd, &address.any, &length) < 0)
                return 0;
        *kept = fd_take(&fd);
        return ntohs(family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

static void make_sockets(struct decoys *decoys)
{
        decoys->ports[TCP4] = listen_ip(AF_INET, SOCK_STREAM, &(int){0});
        decoys->ports[TCP6] = listen_ip(AF_INET6, SOCK_STREAM, &(int){0});
        listen_abstract(decoys, "service");
        listen_abstract(decoys, "X0");
        for (enum decoy_side side = 0; side < DECOY_SIDES; side++) {
                decoys->ports[UDP4 + side] = listen_ip(AF_INET, SOCK_DGRAM, &decoys->udp[side]);
                for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
                        listen_path(decoys, side, services[i]);
                rename_decoy(decoys, side, "grant/deep/socket", "grant/deep/renamed");
        }
}

void decoys_make_later(struct decoys *decoys, enum decoy_side side)
{
        if (side == DECOYS_OUTSIDE) {
                decoys->ports[TCP4_LATER] = listen_ip(AF_INET, SOCK_STREAM, &(int){0});
                listen_abstract(decoys, "later");
        }
        listen_path(decoys, side, "run/service-later");
        listen_path(decoys, side, "grant/socket-later");
}

void decoys_answer(struct decoys *decoys, enum decoy_side side)
{
        struct sockaddr_in from;
        socklen_t length = sizeof(from);
        char data[16];
        while (recvfrom(decoys->udp[side], data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from,
                        &length) >= 0) {
                decoys->datagrams[side]++;
                (void)sendto(decoys->udp[side], "x", 1, MSG_DONTWAIT, (const struct sockaddr *)&from, length);
                length = sizeof(from);
        }
}

/* ---- shared objects, and what is left open ---- */

static void make_shared(struct decoys *decoys)
{
        int identifier = shmget(decoys->key, 4096, IPC_CREAT | IPC_EXCL | 0600);
        char *memory = identifier < 0 ? MAP_FAILED : shmat(identifier, NULL, 0);
        if (memory != MAP_FAILED) {
                memcpy(memory, decoys->marker, sizeof(decoys->marker));
                (void)shmdt(memory);
        }
        (void)msgget(decoys->key, IPC_CREAT | IPC_EXCL | 0600);
        mqd_t queue = mq_open(decoys->queue, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, NULL);
        if (queue != (mqd_t)-1)
                mq_close(queue);
        autoclose int memory_object = shm_open(decoys->queue, O_RDWR | O_CREAT | O_EXCL, 0600);
        (void)memory_object;
}

static void leave_open(struct decoys *decoys)
{
        int pair[2];
        decoys->directory_descriptor = open(decoys->base[DECOYS_INSIDE], O_PATH | O_DIRECTORY);
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
                (void)send(pair[0], decoys->marker, strlen(decoys->marker), MSG_DONTWAIT);
                decoys->socket_descriptor = pair[1]; /* the other one is open until this process ends */
        }
}

/* ---- the keeper and the victim ---- */

/* Removes everything. After a kill of hutch its sandbox may still be writing, so one round may not do. */
static void remove_all(const struct decoys *decoys)
{
        for (int i = 0; i < REMOVE_ROUNDS && access(decoys->directory, F_OK) == 0; i++) {
                if (tree_remove(AT_FDCWD, decoys->directory) < 0)
                        (void)poll(NULL, 0, 10);
        }
        int identifier = shmget(decoys->key, 0, 0);
        if (identifier >= 0)
                (void)shmctl(identifier, IPC_RMID, NULL);
        identifier = msgget(decoys->key, 0);
        if (identifier >= 0)
                (void)msgctl(identifier, IPC_RMID, NULL);
        (void)mq_unlink(decoys->queue);
        (void)shm_unlink(decoys->queue);
}

static _Noreturn void be_keeper(const struct decoys *decoys, int lifeline)
{
        char nothing;
        sigset_t all;
        (void)setsid();
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        (void)prctl(PR_SET_NAME, "hutch-keeper", 0, 0, 0);
        while (read(lifeline, &nothing, 1) < 0 && errno == EINTR)
                ;
        remove_all(decoys);
        _exit(0);
}

static bool start_keeper(struct decoys *decoys)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        decoys->keeper = fork();
        if (decoys->keeper == 0) {
                close(ends[1]);
                be_keeper(decoys, ends[0]);
        }
        close(ends[0]);
        decoys->lifeline = ends[1];
        return decoys->keeper > 0;
}

static bool start_victim(struct decoys *decoys, const char *program)
{
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return false;
        autoclose int output = ends[1];
        decoys->signals = ends[0];
        autofree char *secret = str_format("HUTCH_PROVE_SECRET=%s", decoys->marker);
        char path[PATH_MAX];
        (void)decoy_path(decoys, DECOYS_OUTSIDE, "home/.ssh/id_ed25519", path);
        autoclose int file = open(path, O_RDONLY | O_CLOEXEC);
        char *const words[] = {(char *)program, "victim", decoys->marker, NULL};
        char *const variables[] = {secret, NULL};
        const int given[] = {0, output, 2, [3 ... 9] = file}; /* 9 is the one that the attempts read */
        decoys->victim = child_start(&(struct child){
            .program = program, .words = words, .environment = variables, .given = given, .given_count = 10});
        fd_close(&output);
        ssize_t length = decoys->victim < 0 ? -1
                                            : read(decoys->signals, decoys->victim_address,
                                                   sizeof(decoys->victim_address) - 1);
        if (length <= 0 || decoys->victim_address[length - 1] != '\n')
                return false;
        decoys->victim_address[length - 1] = 0;
        return fcntl(decoys->signals, F_SETFL, O_NONBLOCK) == 0;
}

/* False for a directory in which another user could replace what is made there. */
static bool is_safe_directory(const char *directory)
{
        struct stat status;
        if (stat(directory, &status) < 0)
                return true; /* decoys_make() reports the error */
        return (status.st_uid == 0 || status.st_uid == geteuid()) &&
               (!(status.st_mode & 022) || status.st_mode & S_ISVTX);
}

static bool choose_names(struct decoys *decoys)
{
        /* The path of a socket is limited to 108 bytes, so a long TMPDIR is not used. */
        const char *directory = getenv("TMPDIR");
        if (!directory || directory[0] != '/' || strlen(directory) > 40 || !is_safe_directory(directory))
                directory = "/tmp";
        uint64_t numbers[3];
        if (getrandom(numbers, sizeof(numbers), 0) != sizeof(numbers))
                return false;
        (void)snprintf(decoys->marker, sizeof(decoys->marker), "hutch-prove-%016jx%016jx",
                       (uintmax_t)numbers[0], (uintmax_t)numbers[1]);
        decoys->key = (int)(numbers[2] & 0x7fffffff) | 1;
        (void)snprintf(decoys->queue, sizeof(decoys->queue), "/hutch-prove-%08x", (unsigned)decoys->key);
        (void)snprintf(decoys->directory, sizeof(decoys->directory), "%s/hutch-prove-%08x", directory,
                       (unsigned)decoys->key);
        (void)snprintf(decoys->base[DECOYS_OUTSIDE], sizeof(decoys->base[0]), "%s/outside",
                       decoys->directory);
        (void)snprintf(decoys->base[DECOYS_INSIDE], sizeof(decoys->base[0]), "%s/inside", decoys->directory);
        return true;
}

bool decoys_make(struct decoys *decoys, const char *program, struct error *error)
{
        *decoys = (struct decoys){.lifeline = -1,
                                  .signals = -1,
                                  .udp = {-1, -1},
                                  .directory_descriptor = -1,
                                  .socket_descriptor = -1};
        /* The keeper starts first, so that it removes whatever is made. */
        if (!choose_names(decoys) || !start_keeper(decoys) || mkdir(decoys->directory, 0700) < 0)
                return error_set(error, EXIT_SETUP, "cannot make the directory %s for the decoys: %s",
                                 decoys->directory, strerror(errno));
        for (enum decoy_side side = 0; side < DECOY_SIDES; side++)
                if (!make_files(decoys, side, program))
                        return error_set(error, EXIT_SETUP, "cannot make the decoys in %s: %s",
                                         decoys->base[side], strerror(errno));
        make_sockets(decoys);
        make_shared(decoys);
        leave_open(decoys);
        if (!start_victim(decoys, program))
                return error_set(error, EXIT_SETUP, "cannot start %s: %s", program, strerror(errno));
        return true;
}

/* ---- the description ---- */

/* The file handle of the secret, in hexadecimal; nothing where the file system has no handles. */
static void describe_handle(const struct decoys *decoys, enum decoy_side side, struct buf *out)
{
        autofree struct file_handle *handle = str_or_die(calloc(1, sizeof(*handle) + HANDLE_BYTES));
        handle->handle_bytes = HANDLE_BYTES;
        char path[PATH_MAX];
        int mount;
        if (!decoy_path(decoys, side, "home/.ssh/id_ed25519", path) ||
            name_to_handle_at(AT_FDCWD, path, handle, &mount, 0) < 0)
                return;
        buf_format(out, "handle-type %d\nhandle ", handle->handle_type);
        char digits[2 * HANDLE_BYTES];
        hex_write(digits, handle->f_handle, handle->handle_bytes);
        buf_format(out, "%.*s\n", 2 * (int)handle->handle_bytes, digits);
}

/* The user's sockets, to which the attempts connect without sending anything. */
static void describe_own_sockets(struct buf *out)
{
        const char *agent = getenv("SSH_AUTH_SOCK"), *run = getenv("XDG_RUNTIME_DIR");
        buf_put_text(out, "system_bus_socket /run/dbus/system_bus_socket\nx11 /tmp/.X11-unix/X0\n"
                          "docker /run/docker.sock\nsystemd /run/systemd/private\n");
        if (agent && agent[0] == '/' && !strchr(agent, '\n'))
                buf_format(out, "ssh-agent %s\n", agent);
        if (run && run[0] == '/' && !strchr(run, '\n'))
                buf_format(out,
                           "bus %s/bus\nwayland %s/wayland-0\ngpg-agent %s/gnupg/S.gpg-agent\n"
                           "podman %s/podman/podman.sock\n",
                           run, run, run, run);
}

bool decoys_describe(struct decoys *decoys, enum decoy_side side, pid_t supervisor, int out)
{
        autobuf text = {0};
        struct buf *file = &text;
        struct stat passwd = {0}, home = {0};
        (void)stat("/etc/passwd", &passwd);
        (void)stat(caller_homes()->spelled, &home);
        buf_format(file, "base %s\nmarker %s\nhome %s\n", decoys->base[side], decoys->marker,
                   caller_homes()->spelled);
        buf_format(file, "home-device %ju\n", (uintmax_t)home.st_dev);
        buf_format(file, "passwd %ju:%jd:%ld\n", (uintmax_t)passwd.st_ino, (intmax_t)passwd.st_size,
                   passwd.st_mtim.tv_nsec);
        /* The present value: hutch may run with a nice value, and the attempt outside lowered the priority.
         */
        decoys->victim_priority = getpriority(PRIO_PROCESS, (id_t)decoys->victim);
        buf_format(file, "victim-priority %d\n", decoys->victim_priority);
        buf_format(file, "victim %d\nvictim-address %s\nsupervisor %d\nhutch-address %ju\n", decoys->victim,
                   decoys->victim_address, supervisor, (uintmax_t)(uintptr_t)decoys->marker);
        buf_format(file, "tcp4 %u\ntcp6 %u\ntcp4-later %u\nudp4 %u\nkey %d\nqueue %s\n", decoys->ports[TCP4],
                   decoys->ports[TCP6], decoys->ports[TCP4_LATER], decoys->ports[UDP4 + side], decoys->key,
                   decoys->queue);
        unsigned key = (unsigned)decoys->key;
        buf_format(file,
                   "abstract " ABSTRACT "service\nabstract-later " ABSTRACT "later\nx11-abstract " ABSTRACT
                   "X0\n",
                   key, key, key);
        describe_handle(decoys, side, file);
        describe_own_sockets(file);
        buf_put_text(file, "\n");
        return fd_write_all(out, text.bytes, text.length) == 0;
}

/* ---- what became of them ---- */

static bool is_changed(const char *path)
{
        struct stat status;
        char data[16];
        autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
               (status.st_mode & 07777) != 0600 || status.st_mtim.tv_sec < 1000 ||
               read(fd, data, sizeof(data)) != 6 || memcmp(data, "decoy\n", 6) != 0;
}

bool decoys_spoiled(struct decoys *decoys, enum decoy_side side, const char *id)
{
        char path[PATH_MAX], letter;
        struct stat status;
        if (str_equal(id, "loopback-udp")) {
                decoys_answer(decoys, side);
                return decoys->datagrams[side] > 0;
        }
        if (str_equal(id, "host-priority"))
                return side == DECOYS_INSIDE &&
                       getpriority(PRIO_PROCESS, (id_t)decoys->victim) > decoys->victim_priority;
        if (str_equal(id, "host-signal") || str_equal(id, "caller-group"))
                return side == DECOYS_INSIDE && read(decoys->signals, &letter, 1) == 1;
        for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++) {
                if (!str_equal(watched[i].id, id) || !decoy_path(decoys, side, watched[i].file, path))
                        continue;
                bool exists = lstat(path, &status) == 0;
                switch (watched[i].should) {
                case UNCHANGED:
                        return is_changed(path);
                case ABSENT:
                        return exists;
                case PRESENT:
                        return !exists;
                case NO_SETUID:
                        return exists && status.st_mode & (S_ISUID | S_ISGID);
                }
        }
        return false;
}

void decoys_forget_signals(struct decoys *decoys)
{
        char letters[64];
        while (read(decoys->signals, letters, sizeof(letters)) > 0)
                ;
}

void decoys_end(struct decoys *decoys)
{
        child_end(&decoys->victim);
        fd_close(&decoys->lifeline);
        (void)child_wait(&decoys->keeper);
}
