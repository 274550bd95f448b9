/* SPDX-License-Identifier: Apache-2.0
 *
 * What the filter tells its supervisor. It blocks while the supervisor is busy, which never waits for the
 * filter.
 */
#ifndef HUTCH_MCP_REPORT_H
#define HUTCH_MCP_REPORT_H

#include "mcp/wire.h"

#include <stddef.h>

/* One message; of a text that is too long (FILTER_PIN_MAX), the beginning. */
void filter_report(enum filter_message_type type, const char *text, size_t length);

/* One sentence for the person, however often it is said; after FILTER_REPORT_NOTES_MAX different ones, none.
 */
enum { FILTER_REPORT_NOTES_MAX = 200 };
void filter_report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same as often as it is said, for the lines of an explanation. */
void filter_report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
