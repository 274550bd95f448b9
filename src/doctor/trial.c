/* SPDX-License-Identifier: Apache-2.0
 *
 * See trial.h.
 */
#include "doctor/trial.h"

#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/program.h"
#include "run/inner.h"

#include <stdio.h>

#define PATIENCE_SECONDS "10"

/* A directory that every machine has; the trial only looks at it. */
#define OVERLAY "/usr/bin:/trial"

static void judge_end(const struct inner *inner, struct trial *trial)
{
        const char *output = inner->output[0].data, *errors = inner->output[1].data;
        size_t errors_length = strcspn(errors, "\r\n");
        error_quote(trial->line, sizeof(trial->line), output, strcspn(output, "\r\n"));
        if (trial->started)
                return;
        trial->failure = inner->failure;
        if (inner->error.status)
                error_set(&trial->error, EXIT_SETUP, "%s", inner->error.text);
        else if (inner->timed_out)
                error_set(&trial->error, EXIT_SETUP,
                          "the trial did not end within " PATIENCE_SECONDS " seconds");
        else if (inner->signal_number)
                error_set(&trial->error, EXIT_SETUP, "%s started in the sandbox and was killed by signal %d",
                          trial->path, inner->signal_number);
        else
                error_set(&trial->error, EXIT_SETUP,
                          "%s started in the sandbox and exited with status %d%s%s", trial->path,
                          inner->status, errors_length ? ": " : "",
                          error_quote((char[224]){0}, 224, errors, errors_length));
}

void trial_run(struct trial *trial, enum trial_kind kind, const char *command, const char *path,
               const char *argument)
{
        autofree char *program = program_self();
        struct inner inner = {.child.program = program, .keeps = 2};
        long long asked = clock_now_ms();
        struct str_list all = {0};
        *trial = (struct trial){.failure.stage = STAGE_COUNT};
        snprintf(trial->path, sizeof(trial->path), "%s", path);
        str_list_add_each(&all, "hutch", "mcp", "--raw-stdout", "--timeout", PATIENCE_SECONDS, "--stop-grace",
                          "60", NULL);
        if (kind == TRIAL_NO_PROC)
                str_list_add(&all, "--proc=none");
        if (kind == TRIAL_OVERLAY)
                str_list_add(&all, "--overlay=" OVERLAY);
        str_list_add_each(&all, "--", command, argument, NULL);
        if (inner_start(&inner, &all, &trial->error)) {
                while (inner_wait(&inner, NULL, 0, -1))
                        ;
                trial->started = inner_end(&inner);
                trial->milliseconds = (unsigned)(clock_now_ms() - asked);
                judge_end(&inner, trial);
        }
        str_list_free(&all);
}
