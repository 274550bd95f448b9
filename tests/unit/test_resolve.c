/* SPDX-License-Identifier: Apache-2.0
 *
 * From the words of the options to a finished box, on the host tree of this machine: the home, the working
 * directory, the grants, and above all what is refused.
 */
#include "grants/watched_names.h"
#include "resolve/resolve.h"

#include "lib/messages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree_rig.h"

static struct box box;
static struct held_sources held;
static struct error error;
static char *heard;

static void collect(void *context, const char *line, size_t length)
{
        (void)context;
        char *longer = str_format("%s%.*s", heard, (int)length, line);
        free(heard);
        heard = longer;
}

static void release(void)
{
        held_sources_release(&held);
        watched_names_release(&held);
        box_free(&box);
        held = (struct held_sources){0};
        box = (struct box){0};
}

/* Makes the box of these words, blanks between them; where they name no template, with hutch's of the source
 * tree. */
static bool resolve(const char *words)
{
        struct options options;
        const char *template = strstr(words, "--template") ? ""
                                                           : "--template=" HUTCH_SOURCE_DIR
                                                             "/policy/templates/mcp-server.json";
        autofree char *line = str_format("%s %s", template, words);
        struct str_list argv = tree_words(line);
        release();
        free(heard);
        heard = str_copy("");
        error = (struct error){0};
        if (!options_parse(&options, "mcp", (int)argv.count, argv.values, &error))
                fail_msg("%s: %s", words, error.text);
        messages_set_verbose(options.verbose);
        bool made = resolve_box(&box, &held, BOX_MCP, &options, &error);
        assert_int_equal(made, error.status == 0 && !box.fetch_first);
        options_free(&options);
        str_list_free(&argv);
        return made;
}

static void assert_made(const char *words)
{
        if (!resolve(words))
                fail_msg("%s: %s", words, error.text);
}

static void assert_refused(const char *words, const char *part)
{
        autofree char *wanted = tree_path(part);
        if (resolve(words))
                fail_msg("taken: %s", words);
        if (error.status != EXIT_SETUP || !strstr(error.text, wanted))
                fail_msg("%s: %d \"%s\", not \"%s\"", words, error.status, error.text, wanted);
}

static void assert_heard(const char *part)
{
        autofree char *wanted = tree_path(part);
        if (!strstr(heard, wanted))
                fail_msg("\"%s\" is not in \"%s\"", wanted, heard);
}

static void assert_unheard(const char *part)
{
        autofree char *unwanted = tree_path(part);
        if (strstr(heard, unwanted))
                fail_msg("\"%s\" is in \"%s\"", unwanted, heard);
}

/* The mount at exactly this place, or NULL. */
static const struct mount *find_mount(const char *place)
{
        autofree char *path = tree_path(place);
        const struct mount *mount = box_find_mount(&box, path);
        return mount && str_equal(mount->destination, path) ? mount : NULL;
}

/* One tree for all tests, because caller_homes() is read once; the caller's working directory is T/caller. */
static int set_up_all(void **state)
{
        if (tree_set_up(state) != 0)
                return -1;
        autofree char *data = tree_path("T/data");
        static const char *const unset[] = {"https_proxy",   "HTTPS_PROXY",     "all_proxy",
                                            "ALL_PROXY",     "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
                                            "SSL_CERT_FILE", "SSL_CERT_DIR"};
        for (size_t i = 0; i < COUNT(unset); i++)
                unsetenv(unset[i]);
        setenv("XDG_DATA_HOME", data, 1);
        tree_make_directory("T/caller");
        heard = str_copy("");
        messages_send_to(collect, NULL);
        return 0;
}

static int tear_down_all(void **state)
{
        messages_send_to(NULL, NULL);
        free(heard);
        return chdir("/") == 0 ? tree_tear_down(state) : -1;
}

static int set_up(void **state)
{
        autofree char *work = tree_path("T/caller"), *home = tree_path("T/home");
        (void)state;
        setenv("HOME", home, 1);
        setenv("PATH", "/usr/bin:/bin", 1);
        return chdir(work);
}

static int tear_down(void **state)
{
        (void)state;
        release();
        return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- the home ---- */

/* The home of a box, with HOME set in a new process. The tests that read caller_homes() come later. */
static void test_home(void **state)
{
        (void)state;
        static const char other[] = "/home/nonroot";
        static const struct {
                const char *variable, *inside;
        } rows[] = {
            {"/srv/someone", "/srv/someone"},
            {"/a", "/a"},
            {"/usrx", "/usrx"},
            {"/tmp/someone", "/tmp/someone"},
            {"/home/someone", "/home/someone"},
            {"/var/lib/someone", "/var/lib/someone"},
            {"/", other},
            {"/usr", other},
            {"/usr/games", other},
            {"/bin", other},
            {"/sbin/x", other},
            {"/lib", other},
            {"/etc/x", other},
            {"/proc/self", other},
            {"/dev/shm", other},
            {"/sys", other},
            {"/tmp", other},
            {"/home", other},
            {"/var", other},
        };
        for (size_t i = 0; i < COUNT(rows); i++) {
                pid_t child = fork();
                if (child == 0) {
                        setenv("HOME", rows[i].variable, 1);
                        (void)resolve("-- true");
                        _exit(box.home && str_equal(box.home, rows[i].inside) ? 0 : 1);
                }
                int status;
                assert_int_equal(waitpid(child, &status, 0), child);
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                        fail_msg("HOME=%s is not %s inside", rows[i].variable, rows[i].inside);
        }
}

/* ---- what the options say ---- */

static void test_defaults(void **state)
{
        (void)state;
        assert_made("-- sh -c true");
        assert_int_equal(box.kind, BOX_MCP);
        assert_list(&box.argv, LIST("sh", "-c", "true"));
        assert_list(&box.started, LIST("sh", "-c", "true"));
        assert_string_equal(path_base(box.executable), "sh");
        assert_int_equal(box.outer_uid, geteuid());
        assert_int_equal(box.outer_gid, getegid());
        assert_int_equal(box.limits.memory_bytes, LIMITS_MEMORY_DEFAULT);
        assert_int_equal(box.limits.pids, LIMITS_PIDS_DEFAULT);
        assert_int_equal(box.limits.cpus, 0);
        assert_int_equal(box.limits.given, 0);
        assert_int_equal(box.memory_fs_bytes, LIMITS_DISK_DEFAULT);
        assert_int_equal(box.memory_fs_inodes, 1024 + LIMITS_DISK_DEFAULT / 4096);
        assert_int_equal(box.userns, USERNS_NONE);
        assert_true(box.proc);
        assert_null(box.log_path);
        assert_null(box.tools.pins);
        assert_null(box.seccomp_json);
        assert_true(str_list_has(&box.environment, "NO_UPDATE_NOTIFIER=1"));
        assert_string_equal(heard, "");
}

static void test_limits_that_are_given(void **state)
{
        (void)state;
        assert_made("--memory 100m --pids 50 --cpus 1.5 --disk 64m --proc none -- sh");
        assert_int_equal(box.limits.memory_bytes, 100 << 20);
        assert_int_equal(box.limits.pids, 50);
        assert_int_equal(box.limits.cpus, 150);
        assert_int_equal(box.limits.given, REQUIRE_MEMORY | REQUIRE_PIDS | REQUIRE_CPUS);
        assert_int_equal(box.memory_fs_bytes, 64 << 20);
        assert_false(box.proc);
        assert_made("--pids 50 -- sh");
        assert_int_equal(box.limits.given, REQUIRE_PIDS);
}

static void test_files_that_are_named(void **state)
{
        (void)state;
        assert_made("--log a.log --pin pins.json -- sh");
        assert_found(str_copy(box.log_path), "T/caller/a.log");
        assert_found(str_copy(box.tools.pins), "T/caller/pins.json");
}

/* hutch raises its own limit of open files, and the server gets the caller's. */
static void test_open_files(void **state)
{
        struct rlimit before, after;
        (void)state;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, before.rlim_max}), 0);
        bool made = resolve("-- sh");
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(made);
        assert_int_equal(box.open_files, 64);
        assert_int_equal(after.rlim_cur, before.rlim_max);
}

/* ---- grants ---- */

static void test_kinds_of_grants(void **state)
{
        (void)state;
        tree_make_file("T/kinds/read/file", "", 0644);
        tree_make_file("T/kinds/write/file", "", 0644);
        tree_make_file("T/kinds/over/file", "", 0644);
        assert_made("--ro T/kinds/read --rw T/kinds/write --overlay T/kinds/over --tmpfs /memory:1m --tmpfs "
                    "T/kinds/read/memory -- sh");
        assert_int_equal(find_mount("T/kinds/read")->kind, MOUNT_BIND);
        assert_false(find_mount("T/kinds/read")->writable);
        assert_true(find_mount("T/kinds/write")->writable);
        assert_int_equal(find_mount("T/kinds/over")->kind, MOUNT_OVERLAY);
        assert_int_equal(find_mount("/memory")->kind, MOUNT_MEMORY);
        assert_int_equal(find_mount("/memory")->bytes, 1 << 20);
        assert_int_equal(find_mount("T/kinds/read/memory")->bytes, 0);
        assert_refused("--tmpfs /proc -- sh", "/proc");
        assert_refused("--ro T/kinds/none -- sh", "T/kinds/none");
        assert_refused("--overlay T/kinds/none -- sh", "T/kinds/none");
}

static void test_optional_grants(void **state)
{
        (void)state;
        tree_make_file("T/try/file", "", 0644);
        tree_make_link("T/try/loop", "loop");
        assert_made("--verbose --ro-try T/try/none --rw-try T/try --ro-try T/try/file/below -- sh");
        assert_true(find_mount("T/try")->writable);
        assert_null(find_mount("T/try/none"));
        assert_heard("--ro-try T/try/none: it does not exist and is skipped");
        assert_heard("--ro-try T/try/file/below: it does not exist and is skipped");
        assert_unheard("--rw-try T/try: it");
        /* What cannot be examined is not missing. */
        assert_refused("--ro-try T/try/loop -- sh", "T/try/loop");
}

static void test_unsafe_grants(void **state)
{
        (void)state;
        tree_make_file("T/home/.ssh/key", "", 0600);
        tree_make_file("T/safe/file", "", 0600);
        assert_refused("--ro T/home/.ssh -- sh", "it holds keys");
        assert_made("--ro T/home/.ssh --unsafe-grant T/home/.ssh -- sh");
        assert_list(&box.unsafe_grants, LIST("T/home/.ssh"));
        assert_unheard("no effect");
        assert_made("--ro T/safe --unsafe-grant T/safe -- sh");
        assert_heard("note: --unsafe-grant T/safe has no effect");
}

static void test_command_is_not_granted(void **state)
{
        (void)state;
        tree_make_file("T/tool/bin/tool", "#!/bin/sh\n", 0755);
        assert_made("-- T/tool/bin/tool");
        assert_false(find_mount("T/tool/bin") == NULL && find_mount("T/tool/bin/tool") == NULL);
        assert_refused("--no-auto-grant -- T/tool/bin/tool", "add --ro T/tool/bin/tool");
        tree_make_link("T/toollink", "tool/bin/tool");
        assert_refused("--no-auto-grant -- T/toollink", "add --ro T/tool/bin/tool");
        assert_made("--no-auto-grant --ro T/tool -- T/tool/bin/tool");
        assert_made("--no-auto-grant -- sh");
        /* A copy that is sent in is there without a grant. */
        assert_made("--no-auto-grant --file T/tool/bin/tool:/tmp/sent -- /tmp/sent");
        assert_string_equal(box.executable, "/tmp/sent");
}

/* ---- the working directory ---- */

static void test_callers_working_directory(void **state)
{
        (void)state;
        tree_make_file("T/caller/sub/file", "", 0644);
        assert_made("-- sh");
        assert_found(str_copy(box.cwd), "T/home");
        assert_made("--ro . -- sh");
        assert_found(str_copy(box.cwd), "T/caller");
        /* Something below it is visible, at the same path. */
        assert_made("--ro sub -- sh");
        assert_found(str_copy(box.cwd), "T/caller");
        assert_made("--ro sub:/elsewhere -- sh");
        assert_found(str_copy(box.cwd), "T/home");
        assert_int_equal(chdir("/"), 0);
        assert_made("--ro T/caller/sub -- sh");
        assert_found(str_copy(box.cwd), "T/home");
}

static void test_working_directory_that_is_named(void **state)
{
        (void)state;
        tree_make_file("T/named/sub/file", "", 0644);
        tree_make_link("T/link", "named");
        assert_refused("--cwd ../../../nowhere -- sh",
                       "the working directory /nowhere is not visible inside");
        assert_made("--ro T/named --cwd ../named/sub -- sh");
        assert_found(str_copy(box.cwd), "T/named/sub");
        assert_made("--ro T/named --cwd T/link/sub -- sh");
        assert_found(str_copy(box.cwd), "T/named/sub");
        assert_made("--ro T/named:/inside --cwd /inside/sub -- sh");
        assert_string_equal(box.cwd, "/inside/sub");
        /* What the host has at that path does not matter. */
        tree_make_link("T/outward", "/sys");
        assert_made("--ro T/named:T/outward --cwd T/outward -- sh");
        assert_found(str_copy(box.cwd), "T/outward");
}

/* Deleted: nothing relative has a meaning, and each option that is relative is named. */
static void test_working_directory_that_was_deleted(void **state)
{
        (void)state;
        static const struct {
                const char *words, *named;
        } rows[] = {
            {"--ro /usr --ro a -- sh", "a"},
            {"--file /etc/passwd:/tmp/p --file b:/tmp/b -- sh", "b"},
            {"--cwd c -- sh", "c"},
            {"--pin d -- sh", "d"},
            {"--seccomp e -- sh", "e"},
            {"--unsafe-grant /usr --unsafe-grant f -- sh", "f"},
            {"--protect /usr --protect g -- sh", "g"},
            {"--env-file /usr --env-file h -- sh", "h"},
            {"--ro a --cwd c -- sh", "a"},
            {"--cwd c --pin d -- sh", "c"},
            {"--protect g --env-file h -- sh", "g"},
        };
        tree_make_directory("T/gone");
        autofree char *gone = tree_path("T/gone");
        assert_int_equal(chdir(gone), 0);
        assert_int_equal(rmdir(gone), 0);
        for (size_t i = 0; i < COUNT(rows); i++) {
                autofree char *sentence =
                    str_format("cannot resolve %s: the working directory was deleted", rows[i].named);
                assert_refused(rows[i].words, sentence);
        }
        tree_make_file("T/stay/file", "", 0644);
        assert_made("--ro T/stay --file T/stay/file:/tmp/file --cwd T/stay -- sh");
        assert_found(str_copy(box.cwd), "T/stay");
        assert_made("-- sh");
        assert_found(str_copy(box.cwd), "T/home");
}

/* ---- what decides about the sandbox ---- */

static void test_profile(void **state)
{
        (void)state;
        enum { MOST = 1 << 20 };
        tree_make_file("T/caller/profile.json", "{}", 0644);
        assert_made("--seccomp profile.json -- sh");
        assert_found(str_copy(box.seccomp_path), "T/caller/profile.json");
        assert_int_equal(box.seccomp_length, 2);
        assert_memory_equal(box.seccomp_json, "{}", 2);
        assert_refused("--seccomp none.json -- sh",
                       "cannot read the seccomp profile T/caller/none.json: No such");
        autofree char *path = tree_path("T/caller/profile.json");
        assert_int_equal(truncate(path, MOST), 0);
        assert_made("--seccomp profile.json -- sh");
        assert_int_equal(truncate(path, MOST + 1), 0);
        assert_refused("--seccomp profile.json -- sh", "it is larger than 1 MiB");
}

/* The server may have written what is in a writable grant, and chosen what a link there leads to. */
static void test_files_that_the_server_may_have_written(void **state)
{
        (void)state;
        tree_make_file("T/mine/profile.json", "{}", 0644);
        tree_make_file(
            "T/mine/template.json",
            "{\"description\": \"a template\", \"tree\": \"host\", \"path\": [\"/usr/bin\", \"/bin\"]}",
            0644);
        tree_make_file("T/mine/env", "A=1\n", 0600);
        tree_make_file("T/theirs/profile.json", "{}", 0644);
        tree_make_file(
            "T/theirs/template.json",
            "{\"description\": \"a template\", \"tree\": \"host\", \"path\": [\"/usr/bin\", \"/bin\"]}",
            0644);
        tree_make_link("T/theirs/link.json", "T/mine/profile.json");
        tree_make_link("T/theirs/link.env", "T/mine/env");
        assert_made("--rw T/theirs --seccomp T/mine/profile.json -- sh");
        assert_refused("--rw T/theirs --seccomp T/theirs/profile.json -- sh",
                       "refusing to use --seccomp T/theirs/profile.json: it is in the writable T/theirs");
        assert_refused("--rw T/theirs --seccomp T/theirs/link.json -- sh",
                       "a link leads there out of the writable T/theirs");
        assert_made("--ro T/theirs --seccomp T/theirs/profile.json -- sh");
        assert_made("--rw T/theirs --env-file T/mine/env -- sh");
        assert_true(str_list_has(&box.environment, "A=1"));
        assert_refused("--rw T/theirs --env-file T/theirs/link.env -- sh", "a link leads there out of");
        assert_made("--rw T/theirs --template T/mine/template.json -- sh");
        assert_refused("--rw T/theirs --template T/theirs/template.json -- sh",
                       "refusing to use --template T/theirs/template.json: it is in the writable T/theirs");
        autofree char *theirs = tree_path("T/theirs");
        assert_int_equal(chdir(theirs), 0);
        assert_refused("--rw . --template ./template.json -- sh", "it is in the writable T/theirs");
}

static void test_user_namespaces(void **state)
{
        (void)state;
        tree_make_directory("T/userns");
        assert_made("--allow-userns --rw T/userns -- sh");
        assert_unheard("--allow-userns");
        if (geteuid() == 0) {
                assert_refused("--allow-userns=full -- sh", "--allow-userns=full as root");
                return;
        }
        assert_made("--allow-userns=full --ro T/userns -- sh");
        assert_unheard("--allow-userns");
        assert_made("--allow-userns=full --rw T/userns -- sh");
        assert_heard("note: with --allow-userns=full the command can rename");
}

/* ---- --verbose ---- */

static void test_what_verbose_names(void **state)
{
        (void)state;
        tree_make_file("T/v/read/file", "", 0644);
        tree_make_file("T/v/write/secret", "", 0644);
        tree_make_directory("T/v/over");
        assert_made(
            "--verbose --env SWORD=fish --ro T/v/read:/inside --rw T/v/write --hide T/v/write/secret "
            "--overlay T/v/over --tmpfs /memory:1m --tmpfs /common --file T/v/read/file:/tmp/f -- sh");
        assert_heard("variable SWORD (--env or --env-file)");
        assert_unheard("fish");
        assert_heard("working directory T/home");
        assert_heard("limits: memory 2g");
        assert_int_equal(strstr(heard, "no cgroup enforces them") != NULL, box.limits.no_cgroup != NULL);
        assert_heard("read-only T/v/read as /inside (--ro");
        assert_heard("writable T/v/write (--rw");
        assert_heard("overlay of T/v/over (--overlay");
        assert_heard("hidden T/v/write/secret (--hide");
        assert_heard("memory of 1048576 bytes at /memory (");
        assert_heard("memory at /common (");
        assert_unheard("(null)");
        assert_unheard("hidden /memory");
        assert_heard("a copy of T/v/read/file as /tmp/f (--file)");
        messages_set_verbose(0);
}

/* ---- every step has its effect, and ends the box when it fails ---- */

static void test_steps_of_grants(void **state)
{
        (void)state;
        tree_make_file("T/steps/file", "", 0644);
        tree_make_file("T/steps/write/file", "", 0644);
        tree_make_link("T/steps/write/out", "T/steps/file");
        assert_refused("--file T/steps/none:/tmp/none -- sh", "T/steps/none");
        assert_refused("--rw T/steps/write --ro T/steps/write/out -- sh", "T/steps/write/out");
}

static void test_step_of_the_network(void **state)
{
        (void)state;
        assert_made("--network-allow a.test -- sh");
        assert_true(box_has_network(&box));
        setenv("HTTPS_PROXY", "socks5://proxy", 1);
        assert_refused("--network-allow a.test -- sh", "HTTPS_PROXY");
        setenv("HTTPS_PROXY", "http://u:CANARY@proxy", 1);
        assert_made("--network-allow a.test -- sh");
        assert_string_equal(getenv("HTTPS_PROXY"), "");
        unsetenv("HTTPS_PROXY");
}

static void test_steps_of_persist(void **state)
{
        (void)state;
        tree_make_file("T/visible/file", "", 0644);
        assert_made("--persist name -- sh");
        assert_int_equal(find_mount("T/home")->origin, ORIGIN_PERSIST);
        autofree char *kept = str_format("%s/kept", find_mount("T/home")->source);
        assert_made("--persist name --ro T/visible:T/home/kept/inner -- sh");
        assert_int_equal(access(kept, F_OK), 0);
        tree_make_file("T/no-data/hutch", "", 0600);
        autofree char *data = tree_path("T/data"), *other = tree_path("T/no-data");
        setenv("XDG_DATA_HOME", other, 1);
        bool made = resolve("--persist name -- sh");
        setenv("XDG_DATA_HOME", data, 1);
        assert_false(made);
        assert_non_null(strstr(error.text, "cannot make the home of --persist name"));
        autofree char *inner = str_format("%s/inner", kept);
        assert_int_equal(rmdir(inner), 0);
        assert_int_equal(rmdir(kept), 0);
        assert_int_equal(symlink("/etc", kept), 0);
        assert_refused("--persist name --ro T/visible:T/home/kept/inner -- sh", "cannot make a place for");
}

static void test_steps_of_the_command(void **state)
{
        (void)state;
        autofree char *path = tree_path("T/programs");
        tree_make_file("T/programs/npx", "#!/bin/sh\n", 0755);
        assert_false(resolve("-- no-such-command"));
        assert_int_equal(error.status, EXIT_NOT_FOUND);
        setenv("PATH", path, 1);
        bool fetched = !resolve("-- npx -y a-package") && box.fetch_first;
        bool refused =
            !resolve("-- npx a-package") && strstr(error.text, "the command asks before it downloads");
        assert_true(fetched);
        assert_true(refused);
}

static void test_step_of_certificates(void **state)
{
        (void)state;
        tree_make_file("T/certificates/ca.pem", "", 0644);
        tree_make_file("T/home/.ssh/ca.pem", "", 0600);
        assert_made("--env SSL_CERT_FILE=T/certificates/ca.pem -- sh");
        assert_non_null(find_mount("T/certificates/ca.pem"));
        assert_refused("--env SSL_CERT_FILE=T/home/.ssh/ca.pem -- sh", "it holds keys");
}

static void test_step_of_hidden_paths(void **state)
{
        (void)state;
        tree_make_file("T/hidden/.env", "", 0600);
        assert_made("--ro T/hidden --hide .env -- sh");
        assert_int_equal(find_mount("T/hidden/.env")->kind, MOUNT_MASK);
        tree_make_link("T/hidden-loop", "hidden-loop");
        assert_refused("--hide T/hidden-loop -- sh", "hutch cannot hide it");
}

static void test_step_of_sockets(void **state)
{
        (void)state;
        autofree char *path = tree_path("T/sockets/s");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        tree_make_file("T/sockets/file", "", 0644);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        autoclose int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_made("--rw T/sockets -- sh");
        assert_int_equal(find_mount("T/sockets/s")->origin, ORIGIN_SOCKET);
}

static void test_steps_of_protection(void **state)
{
        (void)state;
        tree_make_file("T/project/.mcp.json", "{}", 0644);
        tree_make_file("T/project/kept", "{}", 0644);
        assert_made("--rw T/project --protect T/project/kept -- sh");
        assert_false(find_mount("T/project/kept")->writable);
        assert_int_equal(find_mount("T/project/.mcp.json")->origin, ORIGIN_PROTECT);
        assert_false(resolve("--protect T/project/kept -- sh"));
        assert_int_equal(error.status, EXIT_USAGE);
        assert_non_null(strstr(error.text, "it is in no writable grant"));
        assert_made("--rw T/project --no-protect -- sh");
        assert_null(find_mount("T/project/.mcp.json"));
        assert_refused("--rw T/project --file T/project/kept:T/project/.envrc -- sh", ".envrc");
        assert_made("--rw T/project --no-protect --file T/project/kept:T/project/.envrc -- sh");
        assert_int_equal(box.file_count, 1);
}

static void test_order_of_mounts(void **state)
{
        (void)state;
        tree_make_file("T/deep/a/b/file", "", 0644);
        assert_made("--ro T/deep/a/b --ro T/deep -- sh");
        assert_true(find_mount("T/deep") < find_mount("T/deep/a/b"));
}

static void test_notes(void **state)
{
        (void)state;
        assert_made("-- sh -c true ~/x");
        assert_heard("~ is not expanded");
        tree_make_file("T/datum/file", "", 0644);
        assert_made("-- sh -c true T/datum/file");
        assert_heard("T/datum/file");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            TEST(test_home),
            TEST(test_defaults),
            TEST(test_limits_that_are_given),
            TEST(test_files_that_are_named),
            TEST(test_open_files),
            TEST(test_kinds_of_grants),
            TEST(test_optional_grants),
            TEST(test_unsafe_grants),
            TEST(test_command_is_not_granted),
            TEST(test_callers_working_directory),
            TEST(test_working_directory_that_is_named),
            TEST(test_working_directory_that_was_deleted),
            TEST(test_profile),
            TEST(test_files_that_the_server_may_have_written),
            TEST(test_user_namespaces),
            TEST(test_what_verbose_names),
            TEST(test_steps_of_grants),
            TEST(test_step_of_the_network),
            TEST(test_steps_of_persist),
            TEST(test_steps_of_the_command),
            TEST(test_step_of_certificates),
            TEST(test_step_of_hidden_paths),
            TEST(test_step_of_sockets),
            TEST(test_steps_of_protection),
            TEST(test_order_of_mounts),
            TEST(test_notes),
        };
        return cmocka_run_group_tests_name("resolve", tests, set_up_all, tear_down_all);
}
