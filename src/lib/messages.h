/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch's own lines. They go to descriptor 2; while the bridge runs they go through its bounded queue
 * (bridge_say() in run/bridge.h), so that hutch never blocks on a client that does not read. Each is one
 * printable line that begins with "[hutch] ".
 */
#ifndef HUTCH_LIB_MESSAGES_H
#define HUTCH_LIB_MESSAGES_H

#include <stddef.h>

/* Sets where lines go; `line` includes its newline. NULL restores the default, write() to descriptor 2. */
typedef void message_sink(void *context, const char *line, size_t length);
void messages_send_to(message_sink *sink, void *context);

/* Sets where lines are also recorded, except those of message_unrecorded() and message_verbose(). NULL:
 * nowhere. */
void messages_record(message_sink *sink, void *context);

/* Prints one line. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a line that every run prints; it is not recorded. */
void message_unrecorded(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with --verbose only; it is not recorded. */
void message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void messages_set_verbose(unsigned level);

#endif
