/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter's messages to the supervisor. Sending blocks while the supervisor is busy; the supervisor never
 * waits for the filter, so there is no deadlock.
 */
#ifndef HUTCH_MCP_REPORT_H
#define HUTCH_MCP_REPORT_H

#include "mcp/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Sends one message. A text that is too long (FILTER_TEXT_MAX, FILTER_PIN_MAX) is cut. */
void filter_report(enum filter_message_type type, const char *text, size_t length);

/* Sends one sentence for the user. `once`: not again, however often it is called with it, and after
 * FILTER_REPORT_NOTES_MAX different sentences no more; the others are lines of an explanation. */
enum { FILTER_REPORT_NOTES_MAX = 200 };
void filter_report_text(bool once, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define filter_report_note(...) filter_report_text(true, __VA_ARGS__)
#define filter_report_line(...) filter_report_text(false, __VA_ARGS__)

#endif
