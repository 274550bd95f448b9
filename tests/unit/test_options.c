/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line: what is taken, and above all what is refused. Each refusal is status 2 with one sentence,
 * and no sentence may hold a variable's value. The completions are held against the table.
 */
#include "box/box.h"
#include "lib/fd.h"
#include "lib/suggest.h"
#include "options/foreign_options.h"
#include "options/help.h"
#include "options/options.h"
#include "options/subcommands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 16 };

/* Parses words up to a NULL. */
static bool parse(struct options *options, struct error *error, const char *const *words)
{
        struct str_list argv = {0}; /* copies: values are blanked in it */
        for (size_t i = 0; words[i]; i++) {
                assert_true(i < WORDS_MAX);
                str_list_add(&argv, words[i]);
        }
        *error = (struct error){0};
        bool parsed = options_parse(options, "mcp", (int)argv.count, argv.values, error);
        str_list_free(&argv);
        return parsed;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_taken(struct options *options, const char *const *words)
{
        struct error error;
        bool taken = parse(options, &error, words);
        if (!taken)
                fail_msg("refused: %s", error.text);
        assert_int_equal(error.status, 0);
}

static void assert_refused(const char *const *words, const char *part)
{
        struct options options;
        struct error error;
        if (parse(&options, &error, words))
                fail_msg("taken, but should be refused for: %s", part);
        assert_int_equal(error.status, EXIT_USAGE);
        assert_null(strchr(error.text, '\n'));
        if (!strstr(error.text, part))
                fail_msg("\"%s\" says nothing of \"%s\"", error.text, part);
        options_free(&options);
}

static void test_everything_at_once(void **state)
{
        (void)state;
        struct options options;
        assert_int_equal(setenv("HOME", "/home/someone", 1), 0);
        assert_int_equal(setenv("HUTCH_TEST_KEY", "of the caller", 1), 0);
        assert_taken(&options,
                     WORDS("-t", "mcp-server", "--timeout=60", "-e", "A=1=2", "--env", "HUTCH_TEST_KEY",
                           "-vv", "--verbose", "--ro=~/x", "--cwd", "~", "--raw-stdout", "--", "node"));
        assert_string_equal(options.template_name, "mcp-server");
        assert_int_equal(options.timeout_seconds, 60);
        assert_int_equal(options.env.count, 2);
        assert_string_equal(options.env.values[0], "A=1=2");
        assert_string_equal(options.env.values[1], "HUTCH_TEST_KEY=of the caller");
        assert_int_equal(options.verbose, 3);
        assert_int_equal(options.grant_count, 1);
        assert_string_equal(options.grants[0].path, "/home/someone/x");
        assert_null(options.grants[0].destination);
        assert_false(options.grants[0].writable);
        assert_string_equal(options.cwd, "/home/someone");
        assert_true(options.raw_stdout);
        assert_int_equal(options.stop_grace_seconds, 5);
        assert_string_equal(options.command.values[0], "node");
        options_free(&options);
}

static void test_layers(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options,
                     WORDS("--require", "landlock,landlock", "--allow-userns=full", "--proc", "none",
                           "--seccomp", "/p.json", "--stop-grace", "0", "--dry-run", "--dry-run", "--", "x"));
        assert_int_equal(options.required, REQUIRE_LANDLOCK);
        assert_int_equal(options.userns, USERNS_FULL);
        assert_true(options.no_proc);
        assert_true(options.dry_run);
        assert_string_equal(options.seccomp, "/p.json");
        assert_int_equal(options.stop_grace_seconds, 0);
        options_free(&options);
        assert_taken(&options, WORDS("--allow-userns", "--", "x"));
        assert_int_equal(options.userns, USERNS_ALLOWED);
        assert_int_equal(options.required, 0);
        assert_false(options.no_proc);
        options_free(&options);
}

static void test_limits(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options, WORDS("--memory", "512m", "--cpus=1.5", "--pids", "64", "--disk", "64M",
                                     "--require", "cgroup,memory", "--require", "pids,cpus", "--", "x"));
        assert_int_equal(options.memory_bytes, 512 << 20);
        assert_int_equal(options.cpus, 150);
        assert_int_equal(options.pids, 64);
        assert_int_equal(options.disk_bytes, 64 << 20);
        assert_int_equal(options.required, REQUIRE_CGROUP | REQUIRE_MEMORY | REQUIRE_PIDS | REQUIRE_CPUS);
        options_free(&options);
        assert_taken(&options, WORDS("--cpus", "0.25", "--", "x"));
        assert_int_equal(options.cpus, 25);
        assert_int_equal(options.memory_bytes + options.disk_bytes + options.pids, 0);
        options_free(&options);
        assert_taken(&options, WORDS("--memory", "6m", "--disk", "65536", "--", "x"));
        assert_int_equal(options.memory_bytes, 6 << 20);
        assert_int_equal(options.disk_bytes, 65536);
        options_free(&options);
}

static void test_command_is_not_read(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options, WORDS("--", "node", "--nonsense", "--", "--timeout", "x"));
        assert_int_equal(options.command.count, 5);
        assert_string_equal(options.command.values[2], "--");
        assert_int_equal(options.timeout_seconds, 0);
        options_free(&options);
}

static void test_help_ends_reading(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options, WORDS("-v", "--help", "--nonsense"));
        assert_true(options.help);
        options_free(&options);
        assert_taken(&options, WORDS("-h"));
        assert_true(options.help);
        options_free(&options);
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *words[8];
                const char *part;
        } rows[] = {
            {{NULL}, "no command"},
            {{"--"}, "no command"},
            {{"--", ""}, "empty"},
            {{"-v"}, "no command"},
            {{"node", "x.js"}, "-- is missing"},
            {{"-v", "node"}, "-- is missing"},
            {{"-"}, "-- is missing"},
            {{"stray", "--", "x"}, "stray"},
            {{"--nonetwork", "--", "x"}, "unknown option --nonetwork"},
            {{"--ver", "--", "x"}, "did you mean --verbose"},
            {{"--verbos", "--", "x"}, "did you mean --verbose"},
            {{"--templat=x", "--", "x"}, "did you mean --template"},
            {{"--allow-network", "a.b", "--", "x"}, "did you mean --network-allow?"},
            {{"--deny-network=a.b", "--", "x"}, "did you mean --network-deny?"},
            {{"--file-env", "x", "--", "x"}, "did you mean --env-file?"},
            {{"--TIMEOUT", "1", "--", "x"}, "unknown option --TIMEOUT"},
            {{"-x", "--", "x"}, "unknown option -x"},
            {{"-vx", "--", "x"}, "unknown option -vx"},
            {{"-vh", "--", "x"}, "unknown option -vh"},
            {{"--=x", "--", "x"}, "unknown option --"},
            {{"---ro", "x", "--", "x"}, "unknown option ---ro"},
            {{"-eA=1", "--", "x"}, "are two words"},
            {{"--verbose=1", "--", "x"}, "takes no value"},
            {{"--dry-run=", "--", "x"}, "takes no value"},
            {{"--timeout", "--", "x"}, "needs a value"},
            {{"--timeout"}, "needs a value"},
            {{"--env", "--verbose", "--", "x"}, "the option --verbose follows"},
            {{"--env=", "--", "x"}, "empty value"},
            {{"--env", "", "--", "x"}, "empty value"},
            {{"--cwd=", "--", "x"}, "empty value"},
            {{"--allow-userns=", "--", "x"}, "empty value"},
            {{"--timeout", "-1", "--", "x"}, "whole number"},
            {{"--timeout", "+1", "--", "x"}, "whole number"},
            {{"--timeout", " 1", "--", "x"}, "whole number"},
            {{"--timeout", "1.5", "--", "x"}, "whole number"},
            {{"--timeout", "5s", "--", "x"}, "whole number"},
            {{"--timeout", "0x10", "--", "x"}, "whole number"},
            {{"--timeout", "31536001", "--", "x"}, "the maximum is 31536000"},
            {{"--stop-grace", "99999999999999999999999999", "--", "x"}, "the maximum is"},
            {{"--timeout=1", "--timeout=2", "--", "x"}, "twice"},
            {{"--allow-userns", "--allow-userns=full", "--", "x"}, "twice"},
            {{"--allow-userns=half", "--", "x"}, "only value is full"},
            {{"--proc", "some", "--", "x"}, "only value is none"},
            {{"--require", "magic", "--", "x"}, "what can: landlock, cgroup, memory, pids, cpus"},
            {{"--require", "landlock,", "--", "x"}, "what can: landlock"},
            {{"--require", "cpus", "--", "x"}, "add --cpus N"},
            {{"--memory", "lots", "--", "x"}, "--memory: lots is not a size"},
            {{"--disk", "0", "--", "x"}, "--disk: a size of 0"},
            {{"--memory", "10", "--", "x"},
             "--memory 10: the minimum is 6m; write --memory 10m, if that was meant"},
            {{"--memory", "5", "--", "x"}, "--memory 5: the minimum is 6m; write --memory 6m or more"},
            {{"--memory", "6291455", "--", "x"}, "the minimum is 6m; write --memory 6m or more"},
            {{"--memory", "10k", "--", "x"}, "--memory 10k: the minimum is 6m; write --memory 6m or more"},
            {{"--disk", "64", "--", "x"},
             "--disk 64: the minimum is 64k; write --disk 64m, if that was meant"},
            {{"--disk", "63k", "--", "x"}, "--disk 63k: the minimum is 64k; write --disk 64k or more"},
            {{"--pids", "0", "--", "x"}, "--pids 0: not a whole number of at least 1"},
            {{"--pids", "1.5", "--", "x"}, "--pids 1.5: not a whole number"},
            {{"--pids", "-1", "--", "x"}, "--pids -1: not a whole number"},
            {{"--pids", "4000001", "--", "x"}, "the maximum is 4000000"},
            {{"--pids", "99999999999999999999", "--", "x"}, "the maximum is 4000000"},
            {{"--cpus", "0", "--", "x"}, "--cpus 0: write a number of processors"},
            {{"--cpus", "0.00", "--", "x"}, "--cpus 0.00: write"},
            {{"--cpus", ".5", "--", "x"}, "--cpus .5: write"},
            {{"--cpus", "1.", "--", "x"}, "--cpus 1.: write"},
            {{"--cpus", "1.005", "--", "x"}, "--cpus 1.005: write"},
            {{"--cpus", "99999999999", "--", "x"}, "--cpus 99999999999: write"},
            {{"--require", ",landlock", "--", "x"}, "what can: landlock"},
            {{"--env", "=x", "--", "x"}, "name"},
            {{"--env", "1A=x", "--", "x"}, "name"},
            {{"--env", "A-B=x", "--", "x"}, "name"},
            {{"--env", "A B", "--", "x"}, "name"},
            {{"--env", "\xc3\xa4=x", "--", "x"}, "name"},
            {{"--env", "HUTCH_TEST_UNSET", "--", "x"}, "HUTCH_TEST_UNSET is not set"},
            {{"--ro", "/nowhere:/", "--", "x"}, "root of the sandbox"},
            {{"--ro", "/nowhere:/a/..", "--", "x"}, "root of the sandbox"},
            {{"--ro", "/:inside", "--", "x"}, "absolute path"},
            {{"--ro", "/:", "--", "x"}, "absolute path"},
            {{"--ro", ":/x", "--", "x"}, "PATH is empty"},
            {{"--ro", "/nowhere:/x:ro", "--", "x"}, "another tool's"},
            {{"--ro", "/tmp:rw", "--", "x"}, "another tool's"},
            {{"--ro", "/a", "--rw", "/a", "--", "x"}, "both --ro and --rw"},
            {{"--ro", "/a/", "--rw", "/b/../a", "--", "x"}, "both --ro and --rw"},
            {{"--ro=/a:/x", "--ro=/b:/x", "--", "x"}, "the same destination"},
            {{"-v", "/a:/b", "--", "x"}, "-v is --verbose here"},
            {{"--network", "none", "--", "x"}, "reaches only what"},
            {{"--network=none", "--", "x"}, "reaches only what"},
            {{"-p", "8080:80", "--", "x"}, "--publish"},
            {{"--share-net", "--", "x"}, "--network-allow"},
            {{"--read-only", "--", "x"}, "already"},
            {{"--cap-drop=ALL", "--", "x"}, "never has a capability"},
            {{"--security-opt", "x", "--", "x"}, "seccomp"},
            {{"--rm", "--", "x"}, "nothing of a sandbox is kept"},
            {{"-i", "--", "x"}, "standard input"},
            {{"-it", "--", "x"}, "standard input"},
            {{"-ti", "--", "x"}, "standard input"},
            {{"--ro-bind", "/a", "/b"}, "--ro PATH"},
            {{"--unshare-all", "--", "x"}, "namespaces"},
            {{"--die-with-parent", "--", "x"}, "ends"},
        };
        unsetenv("HUTCH_TEST_UNSET");
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
                assert_refused(rows[i].words, rows[i].part);
}

static void test_home_that_is_none(void **state)
{
        (void)state;
        unsetenv("HOME");
        assert_refused(WORDS("--ro", "~/x", "--", "x"), "HOME");
        assert_int_equal(setenv("HOME", "relative", 1), 0);
        assert_refused(WORDS("--ro", "~/x", "--", "x"), "HOME");
        struct options options;
        assert_taken(&options, WORDS("--ro", "~someone/x", "--ro=a~/x", "--", "x"));
        assert_string_equal(options.grants[0].path, "~someone/x");
        assert_string_equal(options.grants[1].path, "a~/x");
        options_free(&options);
}

static char *make_long(const char *prefix, size_t length)
{
        char *text = str_or_die(malloc(length + 1));
        memset(text, 'a', length);
        memcpy(text, prefix, strlen(prefix));
        text[length] = 0;
        return text;
}

static void test_too_long(void **state)
{
        (void)state;
        static const char *const names[] = {"--ro", "--rw", "--cwd", "--seccomp", "--template"};
        struct options options;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                autofree char *fits = make_long("/", 4095);
                autofree char *longer = make_long("/", 4096);
                assert_taken(&options, WORDS(names[i], fits, "--", "x"));
                options_free(&options);
                assert_refused(WORDS(names[i], longer, "--", "x"), "4095 bytes");
        }
        autofree char *fits = make_long("KEY=", 128 * 1024 - 1);
        autofree char *longer = make_long("KEY=", 128 * 1024);
        assert_taken(&options, WORDS("-e", fits, "--", "x"));
        options_free(&options);
        assert_refused(WORDS("-e", longer, "--", "x"), "131070");
        autofree char *unknown = make_long("--", 100000);
        assert_refused(WORDS(unknown, "--", "x"), "…");
}

/* A secret must not come back in a sentence, whatever is wrong with the words around it. */
static void test_values_stay_unsaid(void **state)
{
        (void)state;
        autofree char *longer = make_long("KEY=", 200000);
        memcpy(longer + 4, "swordfish", 9);
        const char *const *const all[] = {
            WORDS("-e", "bad-key=swordfish", "--", "x"),
            WORDS("-e", longer, "--", "x"),
            WORDS("--envv=KEY=swordfish", "--", "x"),
            WORDS("-eKEY=swordfish", "--", "x"),
            WORDS("--setenv=KEY=swordfish", "--", "x"),
            WORDS("-e", "KEY=swordfish", "--", ""),
            WORDS("-e", "KEY=swordfish"),
        };
        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
                struct options options;
                struct error error;
                assert_false(parse(&options, &error, all[i]));
                assert_null(strstr(error.text, "swordfish"));
                options_free(&options);
        }
}

static void test_colons(void **state)
{
        (void)state;
        struct options options;
        char directory[] = "/tmp/hutch-options-XXXXXX";
        assert_non_null(mkdtemp(directory));
        autofree char *name = str_format("%s/a:/b", directory);
        autofree char *parent = str_format("%s/a:", directory);
        autofree char *mapped = str_format("%s:/in:side", directory);
        autofree char *both = str_format("%s:/x//y/../z/", name);
        assert_int_equal(mkdir(parent, 0700), 0);
        assert_int_equal(mkdir(name, 0700), 0);
        assert_taken(&options,
                     WORDS("--ro", name, "--rw", mapped, "--ro", both, "--ro=/nowhere:x", "--", "x"));
        assert_string_equal(options.grants[0].path, name);
        assert_null(options.grants[0].destination);
        assert_string_equal(options.grants[1].path, directory);
        assert_string_equal(options.grants[1].destination, "/in:side");
        assert_true(options.grants[1].writable);
        assert_string_equal(options.grants[2].path, name);
        assert_string_equal(options.grants[2].destination, "/x/z");
        assert_string_equal(options.grants[3].path, "/nowhere:x");
        options_free(&options);
        assert_int_equal(rmdir(name), 0);
        assert_int_equal(rmdir(parent), 0);
        assert_int_equal(rmdir(directory), 0);
}

static void test_same_grant_twice(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options,
                     WORDS("--ro=/a", "--ro=/b", "--ro=/a/", "--ro=/a:/a", "--ro=/a:/c", "--", "x"));
        assert_int_equal(options.grant_count, 3);
        assert_string_equal(options.grants[1].path, "/b");
        assert_string_equal(options.grants[2].destination, "/c");
        options_free(&options);
}

/* Whatever stands on the line: it is taken or refused with a sentence, and never more than that. */
static void test_random_words(void **state)
{
        (void)state;
        static const char *const pieces[] = {
            "--",    "-",      "--env",     "-e",         "A=1", "=",         "--ro",    "/:/x",
            "-v",    "-vvv",   "--ro=",     "--ro=:/",    "~",   "~/:~/",     "",        "--proc",
            "none",  "--help", "-h",        "-t",         "--=", "\xff\xfe",  "\x1b[2J", "-it",
            "--cwd", "::::/",  "--require", "landlock,,", "x",   "--timeout", "7",       "-\xff"};
        enum { PIECES = sizeof(pieces) / sizeof(*pieces) };
        unsigned long seed = 20261129;
        assert_int_equal(setenv("HOME", "/home/someone", 1), 0);
        size_t taken = 0, refused = 0;
        for (unsigned round = 0; round < 20000; round++) {
                const char *words[WORDS_MAX] = {0};
                seed = seed * 6364136223846793005UL + 1442695040888963407UL;
                size_t count = (seed >> 33) % 7;
                for (size_t i = 0; i < count; i++) {
                        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
                        words[i] = pieces[(seed >> 33) % PIECES];
                }
                struct options options;
                struct error error;
                bool result = parse(&options, &error, words);
                assert_int_equal(error.status, result ? 0 : EXIT_USAGE);
                assert_true(result || error.text[0]);
                for (const char *c = error.text; *c; c++)
                        assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
                assert_true(!result || options.help || options.command.count > 0);
                *(result ? &taken : &refused) += 1;
                options_free(&options);
        }
        assert_true(taken > 100 && refused > 1000);
}

static const char *stray(const char *const *words)
{
        struct str_list command = {0};
        for (; *words; words++)
                str_list_add(&command, *words);
        const char *found = options_stray(&command);
        const char *known = NULL;
        static const char *const possible[] = {"--network-allow", "--ro=/x", "--timeout", "--rm"};
        for (size_t i = 0; found && i < sizeof(possible) / sizeof(*possible); i++)
                if (str_equal(found, possible[i]))
                        known = possible[i];
        if (found && !known)
                fail_msg("unexpected: %s", found);
        str_list_free(&command);
        return known;
}

static void test_stray_options(void **state)
{
        (void)state;
        assert_string_equal(stray(WORDS("true", "--network-allow", "x.test")), "--network-allow");
        assert_string_equal(stray(WORDS("true", "a", "--ro=/x")), "--ro=/x");
        assert_string_equal(stray(WORDS("true", "--timeout", "--rm")), "--timeout");
        assert_null(stray(WORDS("--rm")));
        assert_null(stray(WORDS("true", "--json")));
        assert_null(
            stray(WORDS("python3", "-m", "http.server", "--bind", "127.0.0.1", "--rm", "--network=x")));
        assert_null(stray(WORDS("node", "--", "--timeout")));
        assert_null(stray(WORDS("node", "--file", "--file=x", "-f")));
        assert_null(stray(WORDS("node", "--help", "--verbose", "-v", "-e", "--rox", "--ti", "timeout")));
}

/* ---- a subcommand that starts no sandbox ---- */

static int parse_doctor(const char *const *words, struct options *options, struct error *error)
{
        struct str_list argv = {0};
        *error = (struct error){0};
        for (; *words; words++)
                str_list_add(&argv, *words);
        (void)options_parse(options, "doctor", (int)argv.count, argv.values, error);
        str_list_free(&argv);
        return error->status;
}

static void test_options_without_a_command(void **state)
{
        (void)state;
        struct options options;
        struct error error;
        assert_int_equal(parse_doctor((const char *[]){NULL}, &options, &error), 0);
        assert_false(options.json || options.help);
        assert_int_equal(parse_doctor((const char *[]){"--json", "--json", NULL}, &options, &error), 0);
        assert_true(options.json);
        assert_int_equal(parse_doctor((const char *[]){"-h", "--nonsense", NULL}, &options, &error), 0);
        assert_true(options.help);

        static const char *const wrong[][3] = {
            {"--", "true", "takes options only, no --"},
            {"true", NULL, "takes options only, no true"},
            {"-", NULL, "no -"},
            {"", NULL, "takes options only"},
            {"--ro", "/x", "of hutch mcp and run"},
            {"--raw-stdout", NULL, "of hutch mcp"},
            {"--json=1", NULL, "takes no value"},
            {"--jsno", NULL, "did you mean --json?"},
            {"--tmpf", NULL, "unknown option --tmpf"},
            {"-v", NULL, "--verbose is an option of"},
        };
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                const char *words[] = {wrong[i][0], wrong[i][1], NULL};
                assert_int_equal(parse_doctor(words, &options, &error), EXIT_USAGE);
                if (!strstr(error.text, wrong[i][2]))
                        fail_msg("\"%s\" is not in: %s", wrong[i][2], error.text);
                /* What doctor does not have is never proposed to somebody who uses it. */
                assert_null(strstr(error.text, "did you mean --tmpfs"));
        }
}

/* ---- the table and what is made of it ---- */

static void test_table_is_sound(void **state)
{
        (void)state;
        for (size_t i = 0; i < OPTION_COUNT; i++) {
                const struct option_row *row = &option_table[i];
                autofree char *spelled = str_format("--%s", row->name);
                assert_int_equal(row->argument == ARGUMENT_NONE, row->metavariable == NULL);
                assert_true(row->help[strlen(row->help) - 1] != '.');
                /* A hint for an option that exists would never be said. */
                assert_null(foreign_option_find(spelled, strlen(spelled)));
                for (size_t j = 0; j < i; j++) {
                        assert_string_not_equal(row->name, option_table[j].name);
                        assert_true(!row->letter || row->letter != option_table[j].letter);
                }
        }
}

static char *help_of(const char *subcommand)
{
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        assert_true(help_write(subcommand ? subcommand_find(subcommand) : NULL, out));
        fclose(out);
        return text;
}

static void test_fetching(void **state)
{
        (void)state;
        struct options options;
        assert_taken(&options, WORDS("--", "npx"));
        assert_int_equal(options.fetch, OPTION_FETCH_AUTO);
        options_free(&options);
        assert_taken(&options, WORDS("--fetch", "never", "--persist=a-b.1", "--", "npx"));
        assert_int_equal(options.fetch, OPTION_FETCH_NEVER);
        assert_string_equal(options.persist, "a-b.1");
        options_free(&options);
        assert_taken(&options, WORDS("--fetch=always", "--", "npx"));
        assert_int_equal(options.fetch, OPTION_FETCH_ALWAYS);
        options_free(&options);
        assert_refused(WORDS("--fetch=sometimes", "--", "npx"), "auto, never or always");
        assert_refused(WORDS("--persist=..", "--", "npx"), "--persist ..");
        assert_refused(WORDS("--persist=a/b", "--", "npx"), "--persist a/b");
        assert_refused(WORDS("--update", "--", "npx"), "hutch fetch");

        char *const words[] = {"--min-age", "7", "--update", "--", "npx", "-y", "x"};
        char *const bad[] = {"--min-age", "-7", "--", "npx"};
        char *const foreign[] = {"--ro", "/x", "--", "npx"};
        struct error error = {0};
        assert_true(options_parse(&options, "fetch", 7, (char **)words, &error));
        assert_int_equal(options.min_age_days, 7);
        assert_true(options.update);
        assert_int_equal(options.command.count, 3);
        options_free(&options);
        assert_false(options_parse(&options, "fetch", 4, (char **)bad, &error));
        options_free(&options);
        assert_false(options_parse(&options, "fetch", 4, (char **)foreign, &error));
        options_free(&options);
}

static void test_help_names_everything(void **state)
{
        (void)state;
        autofree char *mcp = help_of("mcp");
        autofree char *prove = help_of("prove");
        autofree char *doctor = help_of("doctor");
        autofree char *fetch = help_of("fetch");
        autofree char *all = help_of(NULL);
        autofree char *version = help_of("version");
        for (size_t i = 0; i < OPTION_COUNT; i++) {
                autofree char *spelled = str_format("--%s", option_table[i].name);
                const struct option_row *row = &option_table[i];
                assert_true(option_belongs(row, "mcp") || option_belongs(row, "doctor") ||
                            option_belongs(row, "fetch"));
                assert_int_equal(option_belongs(row, "fetch"),
                                 strstr(fetch, spelled) && strstr(fetch, row->help));
                assert_int_equal(option_belongs(row, "prove"),
                                 strstr(prove, spelled) && strstr(prove, row->help));
                assert_int_equal(option_belongs(row, "mcp"), strstr(mcp, spelled) && strstr(mcp, row->help));
                assert_int_equal(option_belongs(row, "doctor"),
                                 strstr(doctor, spelled) && strstr(doctor, row->help));
                assert_null(strstr(version, "--ro"));
        }
        for (const struct subcommand_row *row = subcommand_table; row->name; row++)
                assert_non_null(strstr(all, row->help));
        for (const char *line = mcp; *line; line += strcspn(line, "\n") + 1)
                if (strcspn(line, "\n") > 118)
                        fail_msg("too long: %.*s", (int)strcspn(line, "\n"), line);
        assert_null(subcommand_find("nothing"));
        assert_string_equal(subcommand_nearest("mpc"), "mcp");
        assert_string_equal(subcommand_nearest("versoin"), "version");
        assert_null(subcommand_nearest("node"));
        autofree char *usage = help_usage(subcommand_find("run"));
        assert_non_null(strstr(usage, "hutch run [OPTIONS] -- COMMAND"));
        assert_null(strchr(usage, '\n'));
}

/* Each option stands in each completion, and nothing in one looks like an option that does not exist. */
static void check_completion(const char *file, const char *prefix)
{
        autofree char *path = str_format("%s/completions/%s", HUTCH_SOURCE_DIR, file);
        autofree char *text = NULL;
        if (fd_read_file(path, 1 << 20, &text) <= 0)
                fail_msg("%s cannot be read", path);
        bool seen[OPTION_COUNT] = {0};
        for (const char *next = text; (next = strstr(next, prefix)); next++) {
                const char *word = next + strlen(prefix);
                size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz-");
                if (length == 0)
                        continue;
                size_t i = 0;
                while (i < OPTION_COUNT && !(strlen(option_table[i].name) == length &&
                                             memcmp(option_table[i].name, word, length) == 0))
                        i++;
                if (i == OPTION_COUNT)
                        fail_msg("%s completes --%.*s, which does not exist", file, (int)length, word);
                seen[i] = true;
        }
        for (size_t i = 0; i < OPTION_COUNT; i++)
                if (!seen[i])
                        fail_msg("%s does not complete --%s", file, option_table[i].name);
        for (const struct subcommand_row *row = subcommand_table; row->name; row++)
                if (!strstr(text, row->name))
                        fail_msg("%s does not complete %s", file, row->name);
}

static void test_completions(void **state)
{
        (void)state;
        check_completion("hutch.bash", " --");
        check_completion("_hutch", "--");
        check_completion("hutch.fish", " -l ");
}

static void test_nearest_name(void **state)
{
        (void)state;
        assert_string_equal(suggest_nearest("evn", WORDS("env", "ro")), "env");
        assert_null(suggest_nearest("x", WORDS("ro", "rw")));
        assert_null(suggest_nearest("", WORDS("ro")));
        assert_null(suggest_nearest("nothing-like-it", WORDS("ro", "template")));
        assert_true(str_is_variable_name("_a9", 3));
        assert_false(str_is_variable_name("", 0));
        assert_false(str_is_variable_name("9a", 2));
        assert_false(str_is_variable_name("a.b", 3));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_everything_at_once),
            cmocka_unit_test(test_layers),
            cmocka_unit_test(test_limits),
            cmocka_unit_test(test_command_is_not_read),
            cmocka_unit_test(test_help_ends_reading),
            cmocka_unit_test(test_refusals),
            cmocka_unit_test(test_home_that_is_none),
            cmocka_unit_test(test_too_long),
            cmocka_unit_test(test_values_stay_unsaid),
            cmocka_unit_test(test_colons),
            cmocka_unit_test(test_same_grant_twice),
            cmocka_unit_test(test_random_words),
            cmocka_unit_test(test_stray_options),
            cmocka_unit_test(test_options_without_a_command),
            cmocka_unit_test(test_table_is_sound),
            cmocka_unit_test(test_fetching),
            cmocka_unit_test(test_help_names_everything),
            cmocka_unit_test(test_completions),
            cmocka_unit_test(test_nearest_name),
        };
        return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
