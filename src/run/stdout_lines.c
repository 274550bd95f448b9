/* SPDX-License-Identifier: Apache-2.0
 *
 * See stdout_lines.h. A verdict depends on the bytes alone and never on how reads cut them: a line longer
 * than LINE_WHOLE_MAX is judged by its first bytes even when its end is there. memchr() finds the line ends,
 * and the search in a held line continues where it stopped.
 */
#include "run/stdout_lines.h"

#include <string.h>

enum stdout_lines_verdict stdout_lines_judge(struct stdout_lines *lines, const char *data, size_t length,
                                             bool final, size_t *run)
{
        size_t passed = 0; /* bytes of messages at the front, which one verdict covers */

        while (passed < length) {
                const char *line = data + passed;
                size_t rest = length - passed;
                const char *newline = memchr(line + lines->searched, '\n', rest - lines->searched);
                size_t text = newline ? (size_t)(newline - line) : rest;
                size_t taken = newline ? text + 1 : rest;
                bool ended = newline || final;
                bool whole = text <= LINE_WHOLE_MAX;
                enum stdout_lines_verdict verdict;

                if (lines->state == STDOUT_LINES_IN_MESSAGE) {
                        verdict = STDOUT_LINES_MESSAGE;
                } else if (lines->state == STDOUT_LINES_IN_NOISE) {
                        verdict = STDOUT_LINES_IGNORE;
                } else if (!ended && whole) {
                        lines->searched = text;
                        break;
                } else {
                        verdict = (enum stdout_lines_verdict)line_judge(line, text);
                }

                lines->searched = 0;
                if (verdict != STDOUT_LINES_MESSAGE && passed > 0)
                        break; /* first the messages before it; the next call starts at this line */
                if (ended)
                        lines->state = STDOUT_LINES_AT_START;
                else
                        lines->state =
                            verdict == STDOUT_LINES_MESSAGE ? STDOUT_LINES_IN_MESSAGE : STDOUT_LINES_IN_NOISE;
                if (verdict != STDOUT_LINES_MESSAGE) {
                        *run = taken;
                        return verdict;
                }
                passed += taken;
        }
        *run = passed;
        return passed > 0 ? STDOUT_LINES_MESSAGE : STDOUT_LINES_HOLD;
}
