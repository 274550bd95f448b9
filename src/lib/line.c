/* SPDX-License-Identifier: Apache-2.0
 *
 * See line.h.
 */
#include "lib/line.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r';
}

enum line_kind line_judge(const char *line, size_t length)
{
        static const char member[] = "\"jsonrpc\"";
        bool whole = length <= LINE_WHOLE_MAX;
        const char *end = line + (whole ? length : LINE_WHOLE_MAX);

        while (line < end && is_blank(*line))
                line++;
        if (line == end)
                return whole ? LINE_BLANK : LINE_NOISE;
        if (*line != '{' && *line != '[')
                return LINE_NOISE;
        /* An SDK may write the member last, and a long line is passed on before its end is there. */
        if (!whole)
                return LINE_MESSAGE;
        while (is_blank(end[-1]))
                end--;
        if (end[-1] != '}' && end[-1] != ']')
                return LINE_NOISE;
        return memmem(line, (size_t)(end - line), member, sizeof(member) - 1) ? LINE_MESSAGE : LINE_NOISE;
}
