/* SPDX-License-Identifier: Apache-2.0
 *
 * See messages.h. Names and texts in a line can come from anywhere, so only printable characters leave here.
 * Nothing is ever written to stdout, which belongs to the protocol.
 */
#include "lib/messages.h"
#include "lib/err.h"
#include "lib/fd.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "[hutch] "

enum { TEXT_MAX = 2048 };

/* A failure cannot be reported anywhere. */
static void write_to_stderr(void *context, const char *line, size_t length)
{
        (void)context;
        (void)fd_write_all(STDERR_FILENO, line, length);
}

static message_sink *current_sink = write_to_stderr;
static void *sink_context;
static message_sink *recorder;
static void *recorder_context;
/* The program behind --status-fd tells hutch's lines from the command's by where they come, and not by the
 * prefix, which a command can write too. */
static message_teller *teller;
static unsigned verbose_level;

void messages_send_to(message_sink *sink, void *context)
{
        current_sink = sink ? sink : write_to_stderr;
        sink_context = context;
}

void messages_record(message_sink *sink, void *context)
{
        recorder = sink;
        recorder_context = context;
}

void messages_tell(message_teller *told)
{
        teller = told;
}

void messages_set_verbose(unsigned level)
{
        verbose_level = level;
}

const char *message_kind_name(enum message_kind kind)
{
        static const char *const names[] = {"note",  "limit",  "refused", "error",
                                            "usual", "output", "verbose"};
        return names[kind];
}

void message_as(enum message_kind kind, const char *option, const char *format, ...)
{
        char text[TEXT_MAX + 1]; /* one byte more than a line takes, so that error_quote() marks the cut */
        char line[sizeof PREFIX + TEXT_MAX] = PREFIX;
        va_list arguments;

        if (kind == MESSAGE_VERBOSE && verbose_level == 0)
                return;
        va_start(arguments, format);
        int printed = vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        if (printed < 0)
                return;
        const char *shown = error_quote(line + strlen(PREFIX), TEXT_MAX, text, strlen(text));
        if (teller)
                teller(kind, option, shown);
        size_t length = strlen(line);
        line[length++] = '\n'; /* replaces the final NUL */
        if (!teller)
                current_sink(sink_context, line, length);
        if (kind < MESSAGE_USUAL && recorder)
                recorder(recorder_context, line, length);
}
