/* SPDX-License-Identifier: Apache-2.0
 *
 * See sensitive_paths.h. The tables below list the paths of the machine, and those of a home that hold
 * credentials or that programs outside of the sandbox run. A path matches a table's when it is, contains or
 * is below it.
 */
#include "grants/sensitive_paths.h"

#include "lib/fd.h"
#include "lib/homes.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
        const char *path;
        const char *why;
};

/* Authority over the machine or the session, and credentials of the machine. */
static const struct place machine[] = {
    {"/run", "it holds the sockets of the session, D-Bus and container engines"},
    {"/var/run", "it holds the sockets of the session, D-Bus and container engines"},
    {"/proc", "it shows and controls the host's processes"},
    {"/sys", "it shows and controls the host's devices"},
    {"/dev/shm", "it holds memory that programs of the machine share"},
    {"/dev", "it holds the host's devices"},
    {"/tmp/.X11-unix", "it holds the display's sockets"},
    {"/tmp/.ICE-unix", "it holds the session manager's sockets"},
    {"/var/lib/docker", "it holds the container engine's state"},
    {"/var/lib/containers", "it holds the container engine's state"},
    {"/etc/shadow", "it holds password hashes"},
    {"/etc/shadow-", "it holds password hashes"},
    {"/etc/gshadow", "it holds password hashes"},
    {"/etc/gshadow-", "it holds password hashes"},
    {"/etc/sudoers", "it says who may become root"},
    {"/etc/sudoers.d", "it says who may become root"},
    {"/etc/ssh", "it holds the machine's private keys"},
    {"/etc/ssl/private", "it holds the machine's private keys"},
    {"/etc/letsencrypt", "it holds the machine's private keys"},
    {"/etc/wireguard", "it holds the machine's private keys"},
    {"/etc/krb5.keytab", "it holds the machine's private keys"},
    {"/etc/NetworkManager/system-connections", "it holds passwords of networks"},
    {"/var/backups", "it holds copies of password hashes"},
    {"/var/lib/sss", "it holds password hashes"},
};

/* What the machine itself runs: never writable. A caller who is root could change it otherwise. */
static const struct place programs[] = {
    {"/usr", "the machine runs what is in it"},
    {"/bin", "the machine runs what is in it"},
    {"/sbin", "the machine runs what is in it"},
    {"/lib", "the machine runs what is in it"},
    {"/lib64", "the machine runs what is in it"},
    {"/etc", "it configures the machine"},
    {"/boot", "it starts the machine"},
    {"/var/spool/cron", "the machine runs what is in it"},
    {"/var/lib/dpkg", "the machine runs what is in it"},
    {"/var/lib/systemd", "it configures the machine"},
};

/* Below the home: credentials, private data, and what configures programs outside of the sandbox. */
static const struct place personal[] = {
    {".ssh", "it holds keys"},
    {".gnupg", "it holds keys"},
    {".pki", "it holds keys"},
    {".password-store", "it holds passwords"},
    {".local/share/keyrings", "it holds passwords"},
    {".local/share/kwalletd", "it holds passwords"},
    {".kde/share/apps/kwallet", "it holds passwords"},
    {".aws", "it holds cloud credentials"},
    {".azure", "it holds cloud credentials"},
    {".config/gcloud", "it holds cloud credentials"},
    {".oci", "it holds cloud credentials"},
    {".kube", "it holds cluster credentials"},
    {".docker", "it holds registry credentials and the engine's socket"},
    {".config/containers", "it holds registry credentials"},
    {".config/gh", "it holds an access token"},
    {".config/hub", "it holds an access token"},
    {".config/glab-cli", "it holds an access token"},
    {".netrc", "it holds passwords"},
    {".git-credentials", "it holds passwords"},
    {".config/git/credentials", "it holds passwords"},
    {".npmrc", "it holds a registry token"},
    {".yarnrc.yml", "it holds a registry token"},
    {".pypirc", "it holds a registry token"},
    {".cargo/credentials.toml", "it holds a registry token"},
    {".mozilla", "it is a browser profile"},
    {".thunderbird", "it is a mail profile"},
    {".config/google-chrome", "it is a browser profile"},
    {".config/chromium", "it is a browser profile"},
    {".config/BraveSoftware", "it is a browser profile"},
    {".config/microsoft-edge", "it is a browser profile"},
    {".config/vivaldi", "it is a browser profile"},
    {"snap", "it holds browser profiles"},
    {".var/app", "it holds browser profiles"},
    {".config/Claude", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".claude.json", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".claude", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".cursor", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".codeium", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".codex", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".gemini", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".config/goose", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".config/zed", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".config/Code", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".config/autostart", "what it names runs at the next login"},
    {".config/systemd", "what it names runs at the next login"},
    {".local/share/systemd", "what it names runs at the next login"},
    {".local/share/hutch", "it holds hutch's own state"},
    {".local/state/hutch", "it holds hutch's own state"},
    {".cache/hutch", "it holds hutch's own state"},
    {".config/hutch", "it holds hutch's own configuration"},
    {".env", "it holds secrets"},
    {".config/pip", "it holds a registry token"},
    {".m2", "it holds registry credentials"},
    {".gem", "it holds a registry token"},
    {".gradle", "it holds registry credentials"},
    {".terraform.d", "it holds an access token"},
    {".config/rclone", "it holds cloud credentials"},
    {".continue", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".bash_history", "it holds what was typed, passwords too"},
    {".zsh_history", "it holds what was typed, passwords too"},
    {".python_history", "it holds what was typed, passwords too"},
    {".node_repl_history", "it holds what was typed, passwords too"},
    {".psql_history", "it holds what was typed, passwords too"},
    {".mysql_history", "it holds what was typed, passwords too"},
    {".local/share/fish", "it holds what was typed, passwords too"},
    {".pgpass", "it holds passwords"},
    {".my.cnf", "it holds passwords"},
    {".mylogin.cnf", "it holds passwords"},
    {".authinfo", "it holds passwords"},
    {".authinfo.gpg", "it holds passwords"},
    {".msmtprc", "it holds passwords"},
    {".config/op", "it holds passwords"},
    {".config/1Password", "it holds passwords"},
    {".config/Bitwarden", "it holds passwords"},
    {".config/keepassxc", "it holds passwords"},
    {".config/sops", "it holds keys"},
    {".vault-token", "it holds an access token"},
    {".config/github-copilot", "it holds an access token"},
    {".config/heroku", "it holds an access token"},
    {".config/helm", "it holds registry credentials"},
    {".cache/huggingface/token", "it holds an access token"},
    {".huggingface", "it holds an access token"},
    {".databrickscfg", "it holds cloud credentials"},
    {".config/doctl", "it holds cloud credentials"},
    {".s3cfg", "it holds cloud credentials"},
    {".boto", "it holds cloud credentials"},
    {".config/pypoetry", "it holds a registry token"},
    {".composer/auth.json", "it holds a registry token"},
    {".Xauthority", "it opens the display"},
    {".ICEauthority", "it opens the session manager"},
    {".config/Signal", "it holds private messages"},
    {".config/Slack", "it holds private messages"},
    {".windsurf", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".kiro", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".lmstudio", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".copilot", "it is an MCP client's configuration: what it names runs outside the sandbox"},
    {".local/share/dbus-1", "what it names runs when a program asks for it"},
};

/* Below the home, never writable: the user's own shell and tools run what is in them. */
static const char *const executed[] = {
    ".bash_aliases",
    ".inputrc",
    ".tmux.conf",
    ".kshrc",
    ".zsh",
    ".config/zsh",
    ".config/nushell",
    ".pam_environment",
    ".cargo/bin",
    ".cargo/env",
    ".deno/bin",
    ".bun/bin",
    "go/bin",
    ".vscode-server",
    ".config/Cursor",
    ".config/VSCodium",
    ".config/Windsurf",
    ".config/opencode",
    ".config/i3",
    ".config/hypr",
    ".config/kitty",
    ".local/share/applications",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".xsession",
    ".xprofile",
    ".xinitrc",
    ".config/fish",
    ".config/environment.d",
    ".local/bin",
    "bin",
    ".gitconfig",
    ".config/git",
    ".vimrc",
    ".vim",
    ".config/nvim",
    ".emacs.d",
    ".oh-my-zsh",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".direnvrc",
    ".config/direnv",
    ".screenrc",
    ".gdbinit",
    ".exrc",
    ".emacs",
    ".config/emacs",
    ".config/helix",
    ".config/tmux",
    ".config/sway",
    ".config/mise",
    ".config/plasma-workspace",
    ".local/share/gnome-shell",
    ".local/share/nvim",
    ".local/lib",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/mise",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".volta",
    ".asdf",
    ".rustup",
    ".vscode",
    ".ipython",
    ".jupyter",
};

/* At any path, never writable: an MCP client starts what these files and directories name, outside of any
 * sandbox. */
static const char *const client_files[] = {
    "/.mcp.json",        "/.cursor",   "/.cursor/mcp.json", "/.vscode",       "/.claude",
    "/.vscode/mcp.json", "/.gemini",   "/.codex",           "/.kiro",         "/.roo",
    "/.amazonq",         "/.continue", "/.opencode",        "/opencode.json", "/.zed"};

enum {
        MAX_LINKS = 64,
        PERSONAL = sizeof(personal) / sizeof(*personal),
        RUN = sizeof(executed) / sizeof(*executed),
};

/* A path below a home, and the real path it leads to where it exists: dotfiles are often links to another
 * directory. */
struct home_place {
        char *named, *real;
};

/* The places of one home, looked up once for all grants of a start. */
struct home {
        struct home *next;
        char *path;
        struct home_place personal[PERSONAL], run[RUN];
};

/* The real path that `path` leads to, or would lead to if what is missing existed, since a server could
 * create it. The caller frees; NULL when nothing can exist there. `most` bounds the links. */
static char *follow(const char *path, int most)
{
        char *real = realpath(path, NULL), target[PATH_MAX];
        if (real || errno != ENOENT || most == 0)
                return real;
        autofree char *parent = path_parent(path);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        if (length > 0) {
                target[length] = 0;
                autofree char *next =
                    target[0] == '/' ? str_copy(target) : str_format("%s/%s", parent, target);
                return follow(next, most - 1);
        }
        autofree char *directory = follow(parent, most - 1);
        return directory ? path_join(directory, strrchr(path, '/') + 1) : NULL;
}

/* Most places of a home do not exist, and a missing one leads elsewhere only through a link. Neighbours in
 * the tables share one look at their first component. */
struct home_reader {
        int directory;
        const char *path;
        char first[NAME_MAX + 1];
        bool exists, is_link;
};

static void read_place(struct home_reader *reader, const char *name, struct home_place *place)
{
        size_t length = strcspn(name, "/");
        place->named = path_join(reader->path, name);
        if (strncmp(reader->first, name, length) != 0 || reader->first[length]) {
                struct stat status;
                autofree char *first = str_copy_n(name, length);
                (void)snprintf(reader->first, sizeof(reader->first), "%s", first);
                reader->exists = fstatat(reader->directory, first, &status, AT_SYMLINK_NOFOLLOW) == 0;
                reader->is_link = reader->exists && S_ISLNK(status.st_mode);
        }
        if (!reader->exists)
                return;
        if (reader->is_link || faccessat(reader->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                place->real = follow(place->named, MAX_LINKS);
}

static const struct home *look_at_home(const char *path)
{
        static struct home *known;
        for (const struct home *home = known; home; home = home->next)
                if (str_equal(home->path, path))
                        return home;
        struct home *home = str_or_die(calloc(1, sizeof(*home)));
        home->path = str_copy(path);
        home->next = known;
        known = home;
        autoclose int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct home_reader reader = {.directory = directory, .path = path};
        for (size_t i = 0; i < PERSONAL; i++)
                read_place(&reader, personal[i].path, &home->personal[i]);
        for (size_t i = 0; i < RUN; i++)
                read_place(&reader, executed[i], &home->run[i]);
        return home;
}

static bool touches(const char *path, const char *place)
{
        return path_is_below(path, place) || path_is_below(place, path);
}

static bool touches_place(const char *path, const struct home_place *place)
{
        return touches(path, place->named) || (place->real && touches(path, place->real));
}

/* hutch's own directories, where the user moved them (XDG base directory specification). */
static bool touches_own_state(const char *path)
{
        static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                                "XDG_CONFIG_HOME"};
        for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
                const char *directory = getenv(variables[i]);
                autofree char *named =
                    directory && directory[0] == '/' ? path_join(directory, "hutch") : NULL;
                autofree char *real = named ? follow(named, MAX_LINKS) : NULL;
                if ((named && touches(path, named)) || (real && touches(path, real)))
                        return true;
        }
        return false;
}

bool sensitive_path_is_executed(const char *real_path, const char *home)
{
        const struct home *places = look_at_home(home);
        for (size_t i = 0; i < RUN; i++)
                if (touches_place(real_path, &places->run[i]))
                        return true;
        return false;
}

/* Why the machine, a client or the user would run what is written to `path`; or NULL. */
static const char *reason_not_to_write(const char *path, const char *home)
{
        for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
                if (touches(path, programs[i].path))
                        return programs[i].why;
        for (size_t i = 0; i < sizeof(client_files) / sizeof(*client_files); i++) {
                size_t length = strlen(path), end = strlen(client_files[i]);
                if (length >= end && str_equal(path + length - end, client_files[i]))
                        return "it is an MCP client's configuration: what it names runs outside the sandbox";
        }
        return home[0] && sensitive_path_is_executed(path, home) ? "what is in it runs outside the sandbox"
                                                                 : NULL;
}

/* /run/media/USER/LABEL: where desktops mount removable media. */
static bool is_removable_medium(const char *path)
{
        return str_starts(path, "/run/media/") && path_depth(path) >= 4;
}

const char *sensitive_path_reason(const char *real_path, const char *home, bool writable)
{
        if (real_path[1] == 0)
                return "it is the whole file system";
        if (home[0] && path_is_below(home, real_path))
                return "it holds a home directory with everything in it";
        if (str_equal(real_path, "/tmp"))
                return "it holds the sockets and temporary files of every program of the machine";
        for (size_t i = 0; i < sizeof(machine) / sizeof(*machine) && !is_removable_medium(real_path); i++)
                if (touches(real_path, machine[i].path))
                        return machine[i].why;
        const char *why = writable ? reason_not_to_write(real_path, home) : NULL;
        if (why)
                return why;
        if (touches_own_state(real_path))
                return "it holds hutch's own state";
        const struct home *places = home[0] ? look_at_home(home) : NULL;
        for (size_t i = 0; places && i < PERSONAL; i++)
                if (touches_place(real_path, &places->personal[i]))
                        return personal[i].why;
        return NULL;
}

const char *sensitive_path_any_home(const char *real_path, bool writable)
{
        const struct caller_homes *homes = caller_homes();
        const char *why = sensitive_path_reason(real_path, "", writable);
        for (size_t i = 0; i < homes->real.count && !why; i++)
                why = sensitive_path_reason(real_path, homes->real.values[i], writable);
        return why;
}
