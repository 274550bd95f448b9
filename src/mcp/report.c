/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h.
 */
#include "mcp/report.h"

#include "lib/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void filter_report(enum filter_message_type type, const char *text, size_t length)
{
        static struct {
                struct filter_message head;
                char text[FILTER_PIN_MAX];
        } out;
        size_t most = type == FILTER_PIN || type == FILTER_RECORD ? FILTER_PIN_MAX : FILTER_TEXT_MAX;
        out.head.type = type;
        if (length > most)
                length = most;
        memcpy(out.text, text, length);
        while (write(FILTER_SUPERVISOR, &out, sizeof(out.head) + length) < 0)
                if (errno != EINTR)
                        _exit(0); /* hutch has ended, and the sandbox with it */
}

/* True for a text that was not reported before. */
static bool is_new(const char *text)
{
        static struct str_list reported;
        static const char last[] = "the filter has reported enough; it does not report further refusals";
        if (reported.count == FILTER_REPORT_NOTES_MAX || str_list_has(&reported, text))
                return false;
        str_list_add(&reported, text);
        if (reported.count < FILTER_REPORT_NOTES_MAX)
                return true;
        filter_report(FILTER_NOTE, last, sizeof(last) - 1);
        return false;
}

void filter_report_text(bool once, const char *format, ...)
{
        char text[FILTER_TEXT_MAX];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        if (!once || is_new(text))
                filter_report(FILTER_NOTE, text, strlen(text));
}
