/* SPDX-License-Identifier: Apache-2.0
 *
 * See bus_rig.h.
 */
#include "bus_rig.h"

#include <string.h>

static void bus_add(struct bus_message *message, const void *data, size_t length)
{
        memcpy(message->bytes + message->length, data, length);
        message->length += length;
}

void bus_add_number(struct bus_message *message, uint32_t value)
{
        while (message->length % 4)
                message->bytes[message->length++] = 0;
        for (int i = 0; i < 4; i++)
                message->bytes[message->length++] = (unsigned char)(value >> 8 * i);
}

void bus_set_number(struct bus_message *message, size_t at, size_t value)
{
        for (int i = 0; i < 4; i++)
                message->bytes[at + (size_t)i] = (unsigned char)(value >> 8 * i);
}

void bus_add_text(struct bus_message *message, const char *text)
{
        bus_add_number(message, (uint32_t)strlen(text));
        bus_add(message, text, strlen(text) + 1);
}

void bus_add_field(struct bus_message *message, unsigned char number, const char *kind, const char *text)
{
        unsigned char length = (unsigned char)strlen(kind);
        while (message->length % 8)
                message->bytes[message->length++] = 0;
        bus_add(message, &number, 1);
        bus_add(message, &length, 1);
        bus_add(message, kind, strlen(kind) + 1);
        if (kind[0] == 's') {
                bus_add_text(message, text);
        } else if (kind[0] == 'g') {
                length = (unsigned char)strlen(text);
                bus_add(message, &length, 1);
                bus_add(message, text, strlen(text) + 1);
        } else {
                bus_add_number(message, 7);
        }
}

void bus_begin(struct bus_message *message, unsigned char type)
{
        *message = (struct bus_message){.bytes = {'l', type, 0, 1}, .length = 16};
}

void bus_begin_body(struct bus_message *message)
{
        bus_set_number(message, 12, message->length - 16);
        while (message->length % 8)
                message->bytes[message->length++] = 0;
        message->body = message->length;
}

void bus_end(struct bus_message *message)
{
        bus_set_number(message, 4, message->length - message->body);
}

void bus_make_job_removed(struct bus_message *message, const char *unit, const char *result)
{
        bus_begin(message, BUS_SIGNAL);
        bus_add_field(message, BUS_MEMBER, "s", "JobRemoved");
        bus_add_field(message, BUS_REPLY_SERIAL, "u", NULL); /* numbers are skipped */
        bus_add_field(message, BUS_SIGNATURE, "g", "uoss");
        bus_begin_body(message);
        bus_add_number(message, 99);
        bus_add_text(message, "/org/freedesktop/systemd1/job/99");
        bus_add_text(message, unit);
        bus_add_text(message, result);
        bus_end(message);
}
