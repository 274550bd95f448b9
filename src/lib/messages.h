/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch's own lines. Before the bridge runs they go straight to descriptor 2; while it runs they pass through
 * its bounded queue (bridge_say), so that hutch can never block on a client that does not read. Every line is
 * `[hutch] …`, one line, printable.
 */
#ifndef HUTCH_LIB_MESSAGES_H
#define HUTCH_LIB_MESSAGES_H

#include <stddef.h>

/* Where lines go: `line` has its final newline. NULL restores the default, write() on 2. */
typedef void message_sink(void *context, const char *line, size_t length);
void messages_send_to(message_sink *sink, void *context);

/* Where each line goes besides, those of message_verbose() not: the record of this run. NULL: nowhere. */
void messages_record(message_sink *sink, void *context);

/* One line of hutch's own. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, for what is said in every run alike: it is not recorded. */
void message_unrecorded(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, only when `--verbose` was given. */
void message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void messages_set_verbose(unsigned level);

#endif
