/* SPDX-License-Identifier: Apache-2.0
 *
 * hutch's own lines. They go to descriptor 2; while the bridge runs they go through its bounded queue
 * (bridge_say() in run/bridge.h), so that hutch never blocks on a client that does not read. Each is one
 * printable line that begins with "[hutch] ". With --status-fd, the program that started hutch gets them in
 * their place.
 */
#ifndef HUTCH_LIB_MESSAGES_H
#define HUTCH_LIB_MESSAGES_H

#include <stddef.h>

/* Sets where lines go; `line` includes its newline. NULL restores the default, write() to descriptor 2. */
typedef void message_sink(void *context, const char *line, size_t length);
void messages_send_to(message_sink *sink, void *context);

/* What a line is about, as the program behind --status-fd sees it. The record of a run keeps those above
 * MESSAGE_USUAL. */
enum message_kind {
        MESSAGE_NOTE,
        MESSAGE_LIMIT,   /* a limit was reached */
        MESSAGE_REFUSED, /* the network refused a destination */
        MESSAGE_ERROR,   /* why hutch fails */
        MESSAGE_USUAL,   /* what every run prints */
        MESSAGE_OUTPUT,  /* quotes what a command wrote */
        MESSAGE_VERBOSE, /* with --verbose only */
        MESSAGE_KINDS
};
const char *message_kind_name(enum message_kind kind);

/* Sets where lines are also recorded, as `kind` says. NULL: nowhere. */
void messages_record(message_sink *sink, void *context);

/* Sets what gets the texts in place of the sink. `option` is a name without dashes, or NULL. */
typedef void message_teller(enum message_kind kind, const char *option, const char *text);
void messages_tell(message_teller *teller);

/* Prints one line. `option`: the one that it is about, static and without dashes, or NULL. */
void message_as(enum message_kind kind, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define message(...)         message_as(MESSAGE_NOTE, NULL, __VA_ARGS__)
#define message_verbose(...) message_as(MESSAGE_VERBOSE, NULL, __VA_ARGS__)
void messages_set_verbose(unsigned level);

#endif
