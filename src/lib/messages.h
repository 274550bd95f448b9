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
enum message_kind { MESSAGE_RECORDED, MESSAGE_UNRECORDED, MESSAGE_VERBOSE };
void message_send(enum message_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define message(...) message_send(MESSAGE_RECORDED, __VA_ARGS__)

/* The same for a line that every run prints; it is not recorded. */
#define message_unrecorded(...) message_send(MESSAGE_UNRECORDED, __VA_ARGS__)

/* The same, with --verbose only; it is not recorded. */
#define message_verbose(...) message_send(MESSAGE_VERBOSE, __VA_ARGS__)
void messages_set_verbose(unsigned level);

#endif
