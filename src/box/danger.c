/* SPDX-License-Identifier: Apache-2.0
 *
 * See danger.h. Three kinds of place: those whose whole point is authority over the machine or the session
 * (exact, and anything above them), folders of the home that hold credentials or that later run outside the
 * sandbox (inside and above), and files of the home that hold credentials.
 */
#include "box/danger.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <stddef.h>

struct place {
        const char *path;
        const char *why;
};

/* These, everything inside them and everything above them. */
static const struct place machine[] = {
    {"/run", "it holds the sockets of the session, D-Bus and container engines"},
    {"/var/run", "it holds the sockets of the session, D-Bus and container engines"},
    {"/proc", "it shows and controls the host's processes"},
    {"/sys", "it shows and controls the host's devices"},
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
};

/* What the machine itself runs: never writable. A caller who is root could change it. */
static const struct place programs[] = {
    {"/usr", "the machine runs what is in it"},   {"/bin", "the machine runs what is in it"},
    {"/sbin", "the machine runs what is in it"},  {"/lib", "the machine runs what is in it"},
    {"/lib64", "the machine runs what is in it"}, {"/etc", "it configures the machine"},
    {"/boot", "it starts the machine"},
};

/* Below the home: these, everything inside them and everything above them. */
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
};

/* hutch's own folders, where the person moved them (XDG base directory specification). */
static const char *const own_variables[] = {"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                                            "XDG_CONFIG_HOME"};

static bool touches(const char *path, const char *place)
{
        return path_is_below(path, place) || path_is_below(place, path);
}

/* A place by its name, and by where it really is: dotfiles are often links to a folder of another name. */
static bool touches_place(const char *path, const char *place)
{
        if (touches(path, place))
                return true;
        autofree char *real = realpath(place, NULL);
        return real && touches(path, real);
}

static bool touches_own_state(const char *path)
{
        for (size_t i = 0; i < sizeof(own_variables) / sizeof(*own_variables); i++) {
                const char *folder = getenv(own_variables[i]);
                autofree char *place = folder && folder[0] == '/' ? path_join(folder, "hutch") : NULL;
                if (place && touches_place(path, place))
                        return true;
        }
        return false;
}

const char *grant_danger(const char *real_path, const char *home, bool writable)
{
        if (real_path[1] == 0)
                return "it is the whole file system";
        if (home[0] && path_is_below(home, real_path))
                return "it holds a home folder with everything in it";
        if (str_equal(real_path, "/tmp"))
                return "it holds the sockets and temporary files of every program of the machine";
        for (size_t i = 0; i < sizeof(machine) / sizeof(*machine); i++)
                if (touches(real_path, machine[i].path))
                        return machine[i].why;
        for (size_t i = 0; writable && i < sizeof(programs) / sizeof(*programs); i++)
                if (path_is_below(real_path, programs[i].path))
                        return programs[i].why;
        if (touches_own_state(real_path))
                return "it holds hutch's own state";
        if (!home[0])
                return NULL;
        for (size_t i = 0; i < sizeof(personal) / sizeof(*personal); i++) {
                autofree char *place = path_join(home, personal[i].path);
                if (touches_place(real_path, place))
                        return personal[i].why;
        }
        return NULL;
}
