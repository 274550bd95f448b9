/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages as a D-Bus daemon sends them, made member by member.
 */
#ifndef HUTCH_TESTS_BUS_RIG_H
#define HUTCH_TESTS_BUS_RIG_H

#include <stddef.h>
#include <stdint.h>

enum { BUS_REPLY = 2, BUS_FAILURE = 3, BUS_SIGNAL = 4 };
enum { BUS_MEMBER = 3, BUS_ERROR_NAME = 4, BUS_REPLY_SERIAL = 5, BUS_SIGNATURE = 8 };

struct bus_message {
        unsigned char bytes[1024];
        size_t length, body;
};

/* A header of a type, its fields ("s", "g" with a text, else a number), then the body. */
void bus_begin(struct bus_message *message, unsigned char type);
void bus_add_field(struct bus_message *message, unsigned char number, const char *kind, const char *text);
void bus_begin_body(struct bus_message *message);
void bus_add_number(struct bus_message *message, uint32_t value);
void bus_add_text(struct bus_message *message, const char *text);
void bus_end(struct bus_message *message);

/* Overwrites a number of four bytes. */
void bus_set_number(struct bus_message *message, size_t at, size_t value);

/* The signal that systemd sends when the job of a unit has ended. */
void bus_make_job_removed(struct bus_message *message, const char *unit, const char *result);

#endif
