/* SPDX-License-Identifier: Apache-2.0
 *
 * See plan.h: what both tools share.
 */
#include "fetch/plan.h"

#include "command/search.h"
#include "lib/child.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/homes.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { ASK_SECONDS = 60 };

void plan_free(struct fetch_plan *plan)
{
        str_list_free(&plan->registries);
        str_list_free(&plan->allow);
        str_list_free(&plan->environment);
        free(plan->certificates);
        str_list_free(&plan->files);
        free(plan->overlay);
        *plan = (struct fetch_plan){0};
}

char *plan_add_registry(struct fetch_plan *plan, const char *url)
{
        bool secure = str_starts(url, "https://");
        if (!secure && !str_starts(url, "http://"))
                return NULL;
        const char *rest = url + (secure ? 8 : 7);
        size_t length = strcspn(rest, "/?#");
        const char *at = memrchr(rest, '@', length);
        const char *place = at ? at + 1 : rest;
        autofree char *authority = str_copy_n(place, length - (size_t)(place - rest));
        for (char *c = authority; *c; c++)
                *c = (char)tolower((unsigned char)*c);

        char *port = strrchr(authority, ':');
        if (port && strchr(port, ']'))
                port = NULL;
        if (port)
                *port++ = 0;
        uint64_t number = secure ? 443 : 80;
        if (!authority[0] || (port && !str_read_number(port, UINT16_MAX, &number)) || number == 0)
                return NULL;

        struct in6_addr address;
        bool literal = address_parse(authority, &address) || authority[0] == '[';
        bool loopback = str_equal(authority, "localhost") || str_equal(authority, "127.0.0.1");
        autofree char *registry = str_format("%s:%lu", authority, number);
        if (!str_list_has(&plan->registries, registry)) {
                str_list_add(&plan->registries, registry);
                /* The user's configuration names this host, so a private address is permitted. */
                str_list_take(&plan->allow, loopback  ? str_format("localhost:%lu", number)
                                            : literal ? str_copy(registry)
                                                      : str_format("%s/private", registry));
        }
        return str_format("%s%s", secure ? "https://" : "http://", place);
}

void plan_add_time(struct fetch_plan *plan, const char *name, unsigned days)
{
        char text[32];
        struct tm utc;
        time_t then = time(NULL) - (time_t)days * 86400;
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &utc));
        str_list_take(&plan->environment, str_format("%s=%s", name, text));
}

char *plan_find_tool(const char *tool, const char *command)
{
        const char *path = getenv("PATH") ? getenv("PATH") : SEARCH_SYSTEM_PATH;
        autofree char *file =
            strchr(command, '/') ? path_join("/", command) : search_path(path, "/", command, NULL);
        autofree char *directory = file ? path_parent(file) : NULL;
        char *beside = directory ? path_join(directory, tool) : NULL;
        if (beside && access(beside, X_OK) == 0)
                return beside;
        free(beside);
        return search_path(path, "/", tool, NULL);
}

/* Everything until the end of the file; NULL when it is too much or takes too long. */
static char *read_output(int output, size_t limit)
{
        long long deadline = clock_now_ms() + ASK_SECONDS * 1000LL;
        char *text = str_or_die(malloc(limit + 1));
        for (size_t length = 0; length <= limit;) {
                struct pollfd wait = {.fd = output, .events = POLLIN};
                long long left = deadline - clock_now_ms();
                if (left <= 0 || (poll(&wait, 1, (int)left) < 0 && errno != EINTR))
                        break;
                if (!wait.revents)
                        continue;
                ssize_t got = read(output, text + length, limit + 1 - length);
                if (got == 0) {
                        text[length] = 0;
                        return text;
                }
                if (got < 0 && errno != EINTR)
                        break;
                length += got > 0 ? (size_t)got : 0;
        }
        free(text);
        return NULL;
}

char *plan_ask(const char *const *words, size_t limit, struct error *error)
{
        int ends[2];
        const char *home = caller_homes()->spelled;
        autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || pipe2(ends, O_CLOEXEC) < 0) {
                error_set(error, EXIT_SETUP, "cannot make a pipe: %s", strerror(errno));
                return NULL;
        }
        autoclose int output = ends[0], output_end = ends[1];
        const int given[] = {null, output_end, null};
        const struct child tool = {
            .program = words[0],
            .words = (char *const *)words,
            .environment = environ,
            .given = given,
            .given_count = 3,
            .directory = access(home, X_OK) == 0 ? home : "/",
        };
        pid_t process = child_start(&tool);
        fd_close(&output_end);
        autofree char *text = process < 0 ? NULL : read_output(output, limit);
        if (process > 0 && !text)
                kill(process, SIGKILL);
        int status = child_wait(&process);
        if (text && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                char *said = text;
                text = NULL;
                return said;
        }
        error_set(error, EXIT_SETUP, "cannot read the configuration of %s; try this command: %s %s %s",
                  words[0], words[0], words[1], words[2] ? words[2] : "");
        return NULL;
}
