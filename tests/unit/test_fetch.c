/* SPDX-License-Identifier: Apache-2.0
 *
 * What of `hutch fetch` needs no process: requests and their names, SHA-512, the removal and the digest of a
 * tree, registries' URLs.
 */
#include "unit.h"

#include "fetch/npm.h"
#include "fetch/plan.h"
#include "fetch/tree_digest.h"
#include "lib/fd.h"
#include "lib/sha512.h"
#include "lib/tree_remove.h"
#include "packages/program.h"
#include "packages/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static char *name_of(const char *words)
{
        struct str_list command = {0};
        struct fetch_request request;
        autofree char *text = str_copy(words);
        char *rest = text;
        for (char *word; (word = strsep(&rest, " "));)
                str_list_add(&command, word);
        fetch_request_read(&command, &request);
        char *name = request.tool == FETCH_NONE ? NULL : fetch_request_name(&request);
        if (name && request.consents) {
                char *longer = str_format("%s!", name);
                free(name);
                name = longer;
        }
        fetch_request_free(&request);
        str_list_free(&command);
        return name;
}

static void test_requests(void **state)
{
        (void)state;
        static const struct {
                const char *words, *name; /* a final ! where the words consent */
        } cases[] = {
            {"npx -y hello", "npm:hello!"},
            {"npx hello", "npm:hello"},
            {"/opt/bin/npx --yes @a/b@1.2.3 -y x", "npm:@a/b@1.2.3!"},
            {"npx -y --package=b -p a cmd", "npm:a b!"},
            {"npx -y hello@^1.0 --registry=x", "npm:hello@^1.0!"},
            {"npm exec --yes --package=hello -- cmd", "npm:hello!"},
            {"npm x hello", "npm:hello"},
            {"npm install hello", NULL},
            {"npx --registry=http://x -y hello", NULL},
            {"npx -y ./directory", NULL},
            {"npx -y me/repository", NULL},
            {"npx -y git+https://x/y", NULL},
            {"npx -y ../x", NULL},
            {"npx -y @a/../x", NULL},
            {"npx -y hello@npm:other", NULL},
            {"npx", NULL},
            {"uvx hello", "uv:hello!"},
            {"uvx --with b --with a hello==1.0", "uv:hello==1.0 a b!"},
            {"uvx --from hello[x]==1 cmd", "uv:hello[x]==1!"},
            {"uv tool run --python 3.12 hello", "uv:hello --python=3.12!"},
            {"uvx --index http://x hello", NULL},
            {"uvx --from git+https://x hello", NULL},
            {"uv run hello", NULL},
            {"node hello", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *name = name_of(cases[i].words);
                if (!cases[i].name)
                        assert_null(name);
                else
                        assert_string_equal(name ? name : "(none)", cases[i].name);
        }
}

/* The package, a blank, and the program's words with commas between them; NULL where they are not plain. */
static char *program_of(const char *words)
{
        struct str_list command = {0};
        struct fetch_program program;
        autofree char *text = str_copy(words);
        char *rest = text, *said = NULL;
        for (char *word; (word = strsep(&rest, " "));)
                str_list_add(&command, word);
        if (fetch_program_read(&command, &program)) {
                said = str_format("%s %s", program.package, program.words.values[0]);
                for (size_t i = 1; i < program.words.count; i++) {
                        char *longer = str_format("%s,%s", said, program.words.values[i]);
                        free(said);
                        said = longer;
                }
        }
        fetch_program_free(&program);
        str_list_free(&command);
        return said;
}

static void test_programs(void **state)
{
        (void)state;
        static const struct {
                const char *words, *program;
        } cases[] = {
            {"npx -y hello", "hello "},
            {"npx hello@1.0 a -b --c -- d", "hello@1.0 ,a,-b,--c,--,d"},
            {"/opt/bin/npx --yes -q -- @a/b -- x", "@a/b ,--,x"},
            {"npx -y true x", NULL},
            {"npx -y -p @a/b cmd -x", "@a/b cmd,-x"},
            {"npx --package=b --yes -- cmd -p c", "b cmd,-p,c"},
            {"npx -p=b cmd", "b cmd"},
            {"npx -p a -p b cmd", NULL},
            {"npx -p a ./cmd", NULL},
            {"npx -p a", NULL},
            {"npx -p", NULL},
            {"npx --package -p a cmd", NULL},
            {"npx --package= cmd", NULL},
            {"npx -y -c hello", NULL},
            {"npx -p a -c cmd", NULL},
            {"npx --call=cmd a", NULL},
            {"npx --loglevel warn hello", NULL},
            {"npx -w x hello", NULL},
            {"npx --no hello", NULL},
            {"npx -", "- "}, /* no entry has this name */
            {"npx", NULL},
            {"npm exec --yes hello", "hello "},
            {"npm exec hello a -- -b", "hello ,a,-b"},
            {"npm x --yes -- hello -- -b", "hello ,--,-b"},
            {"npm exec hello --flag", NULL},
            {"npm exec hello a -y", "hello ,a"},
            {"npm exec -p hello cmd", NULL}, /* there it means --parseable */
            {"npm exec --package=hello -- cmd -a", "hello cmd,-a"},
            {"npm exec --yes true hello", NULL},
            {"npm install hello", NULL},
            {"uvx hello", "hello hello"},
            {"uvx -q hello@1.0 --x y", "hello@1.0 hello,--x,y"},
            {"uvx hello[a]==1.0", "hello[a]==1.0 hello"},
            {"uvx --from hello[x]==1 --with b -p 3.12 cmd a", "hello[x]==1 cmd,a"},
            {"uv tool run --from=hello cmd", "hello cmd"},
            {"uvx --from --with a", NULL},
            {"uvx hello -- x", NULL},
            {"uvx --isolated hello", NULL},
            {"uvx python3.12", NULL},
            {"uvx --from hello python", NULL},
            {"uvx --from hello ../cmd", NULL},
            {"uv --offline tool run hello", NULL},
            {"uv run hello", NULL},
            {"uvx", NULL},
            {"node hello", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                autofree char *said = program_of(cases[i].words);
                if (!cases[i].program)
                        assert_null(said);
                else
                        assert_string_equal(said ? said : "(none)", cases[i].program);
        }
}

static void test_npms_choice(void **state)
{
        (void)state;
        static const struct {
                const char *name, *bin, *written, *choice;
        } cases[] = {
            {"hello", "{\"cmd\":\"cli.js\"}", "{}", "cmd"},
            {"@a/b", "{\"b\":\"x.js\",\"c\":\"y.js\"}", "{}", "b"},
            {"@a/b", "{\"a\":\"x.js\",\"c\":\"y.js\"}", "{}", NULL},
            {"b", "{\"a\":\"x.js\",\"z\":\"x.js\"}", "{\"bin\":{\"z\":\"x.js\",\"a\":\"x.js\"}}", "z"},
            {"b", "{\"a\":\"x.js\",\"z\":\"x.js\"}", NULL, NULL},
            {"b", "{\"../b\":\"x.js\"}", "{}", NULL},
            {"b", "{\"b/c\":\"x.js\"}", "{}", NULL},
            {"b", "{\".\":\"x.js\"}", "{}", NULL},
            {"b", "{\"a\":1,\"c\":1}", "{}", NULL},
            {"b", "{}", "{}", NULL},
            {"b", "\"cli.js\"", "{}", NULL},
            {"b", "[\"b\"]", "{}", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                cJSON *bin = cJSON_Parse(cases[i].bin);
                cJSON *written = cases[i].written ? cJSON_Parse(cases[i].written) : NULL;
                autofree char *choice = npm_choose_program(cases[i].name, bin, written);
                if (!cases[i].choice)
                        assert_null(choice);
                else
                        assert_string_equal(choice ? choice : "(none)", cases[i].choice);
                cJSON_Delete(bin);
                cJSON_Delete(written);
        }
}

static void test_names(void **state)
{
        (void)state;
        static const char *const names[] = {"npm:hello", "npm:@a/b@1.0", "uv:a[b,c]==1",
                                            "npm:a b",   "npm:..",       "uv:a*"};
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                autofree char *file = fetch_name_encode(names[i]);
                autofree char *name = fetch_name_decode(file);
                assert_null(strchr(file, '/'));
                assert_int_not_equal(file[0], '.');
                assert_string_equal(name, names[i]);
        }
        static const char *const bad[] = {"..",        ".new:npm%3ax", "npm:x",     "npm%3Ax",
                                          "npm%3a%00", "npm%3",        "other%3ax", "npm%3a%61"};
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
                assert_null(fetch_name_decode(bad[i]));
        char long_name[400] = "npm:";
        memset(long_name + 4, 'x', sizeof(long_name) - 5);
        assert_null(fetch_name_encode(long_name));
        assert_null(fetch_name_encode("../x"));
}

static void check_hash(const char *text, size_t times, const char *wanted)
{
        struct sha512 hash;
        uint8_t digest[SHA512_BYTES];
        char hex[SHA512_HEX];
        sha512_begin(&hash);
        for (size_t i = 0; i < times; i++)
                sha512_add(&hash, text, strlen(text));
        sha512_end(&hash, digest);
        sha512_hex(digest, hex);
        assert_string_equal(hex, wanted);
}

/* The examples of FIPS 180-4 (CAVP), and one over many blocks in odd parts. */
static void test_sha512(void **state)
{
        (void)state;
        check_hash("", 1,
                   "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d28"
                   "77eec2f63b931bd47417a81a538327af927da3e");
        check_hash("abc", 1,
                   "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a"
                   "3feebbd454d4423643ce80e2a9ac94fa54ca49f");
        check_hash("aaaaaaaaaa", 100000,
                   "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce"
                   "577c31beb009c5c2c49aa2e4eadb217ad8cc09b");
}

static void make_file(int directory, const char *path, const char *text)
{
        autoclose int file = openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(file >= 0);
        assert_int_equal(fd_write_all(file, text, strlen(text)), 0);
}

static void test_trees(void **state)
{
        (void)state;
        char top[] = "/tmp/hutch-test-XXXXXX", one[SHA512_HEX], other[SHA512_HEX];
        struct error error = {0};
        assert_non_null(mkdtemp(top));
        autoclose int parent = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(parent, "tree", 0700), 0);
        assert_int_equal(mkdirat(parent, "kept", 0700), 0);
        make_file(parent, "kept/file", "mine");
        autoclose int tree = openat(parent, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        make_file(tree, "b", "text");
        assert_int_equal(symlinkat("../kept", tree, "link"), 0);
        assert_true(tree_digest(tree, one, &error));
        assert_true(tree_digest(tree, other, &error));
        assert_string_equal(one, other);
        make_file(tree, "b", "texT");
        assert_true(tree_digest(tree, other, &error));
        assert_string_not_equal(one, other);
        make_file(tree, "b", "text");
        assert_int_equal(unlinkat(tree, "link", 0), 0);
        assert_int_equal(symlinkat("../kepT", tree, "link"), 0);
        assert_true(tree_digest(tree, other, &error));
        assert_string_not_equal(one, other);

        /* Deeper than any descriptor table and any path, directories that cannot be entered, a link out. */
        int at = dup(tree);
        for (unsigned i = 0; i < 3000; i++) {
                assert_int_equal(mkdirat(at, "deep", 0700), 0);
                make_file(at, "file", "x");
                int next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (i % 7 == 0)
                        assert_int_equal(fchmod(at, i == 0 ? 0700 : 0), 0);
                close(at);
                at = next;
        }
        close(at);
        assert_false(tree_digest(tree, other, &error));
        assert_int_equal(tree_remove(parent, "tree"), 0);
        assert_int_equal(faccessat(parent, "tree", F_OK, 0), -1);
        assert_int_equal(tree_remove(parent, "tree"), 0);
        assert_int_equal(faccessat(parent, "kept/file", F_OK, 0), 0);
        assert_int_equal(tree_remove(parent, "kept"), 0);
        assert_int_equal(rmdir(top), 0);
}

static void test_registries(void **state)
{
        (void)state;
        static const struct {
                const char *url, *plain, *registry, *allow;
        } cases[] = {
            {"https://registry.test/", "https://registry.test/", "registry.test:443",
             "registry.test:443/private"},
            {"https://me:secret@Registry.TEST/npm/", "https://Registry.TEST/npm/", "registry.test:443",
             "registry.test:443/private"},
            {"http://127.0.0.1:4873/", "http://127.0.0.1:4873/", "127.0.0.1:4873", "localhost:4873"},
            {"http://localhost:4873", "http://localhost:4873", "localhost:4873", "localhost:4873"},
            {"https://10.1.2.3/x", "https://10.1.2.3/x", "10.1.2.3:443", "10.1.2.3:443"},
            {"https://[fd00::1]:8443/", "https://[fd00::1]:8443/", "[fd00::1]:8443", "[fd00::1]:8443"},
            {"ftp://registry.test/", NULL, NULL, NULL},
            {"https:///x", NULL, NULL, NULL},
            {"https://registry.test:x/", NULL, NULL, NULL},
            {"https://registry.test:99999/", NULL, NULL, NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct fetch_plan plan = {0};
                autofree char *plain = plan_add_registry(&plan, cases[i].url);
                if (!cases[i].plain) {
                        assert_null(plain);
                        assert_int_equal(plan.registries.count, 0);
                } else {
                        assert_string_equal(plain, cases[i].plain);
                        assert_string_equal(plan.registries.values[0], cases[i].registry);
                        assert_string_equal(plan.allow.values[0], cases[i].allow);
                }
                plan_free(&plan);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_requests),    cmocka_unit_test(test_programs),
            cmocka_unit_test(test_npms_choice), cmocka_unit_test(test_names),
            cmocka_unit_test(test_sha512),      cmocka_unit_test(test_trees),
            cmocka_unit_test(test_registries),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
