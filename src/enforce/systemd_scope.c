/* SPDX-License-Identifier: Apache-2.0
 *
 * See systemd_scope.h. All messages go out in one write, without waiting for an answer to any of them; the
 * bus handles them in order. Numbers on the wire are little-endian on every machine, because each message
 * declares itself so.
 */
#include "enforce/systemd_scope.h"

#include "lib/fd.h"
#include "lib/hex.h"
#include "lib/str.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DBUS_NAME    "org.freedesktop.DBus"
#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"

enum message_type { MESSAGE_CALL = 1, MESSAGE_REPLY = 2, MESSAGE_ERROR = 3, MESSAGE_SIGNAL = 4 };
enum field {
        FIELD_PATH = 1,
        FIELD_INTERFACE,
        FIELD_MEMBER,
        FIELD_ERROR,
        FIELD_REPLY_SERIAL,
        FIELD_DESTINATION,
        FIELD_SENDER,
        FIELD_SIGNATURE
};
enum serial { SERIAL_HELLO = 1, SERIAL_MATCH, SERIAL_SCOPE };
enum { HEADER_SIZE = 16, AUTH_SIZE = 64 };

/* ---- writing ---- */

/* A message being written. Offsets count from its start, and so does alignment. */
struct writer {
        unsigned char *bytes;
        size_t length, size;
};

static void put_bytes(struct writer *writer, const void *data, size_t length)
{
        if (length > writer->size - writer->length)
                return; /* cannot happen: SYSTEMD_SCOPE_REQUEST_SIZE is larger than every request */
        memcpy(writer->bytes + writer->length, data, length);
        writer->length += length;
}

static void put_number(struct writer *writer, uint64_t value, size_t size)
{
        unsigned char bytes[8];
        static const unsigned char zero[8];
        put_bytes(writer, zero, (size - writer->length % size) % size);
        for (size_t i = 0; i < size; i++)
                bytes[i] = (unsigned char)(value >> 8 * i);
        put_bytes(writer, bytes, size);
}

static void align(struct writer *writer, size_t boundary)
{
        static const unsigned char zero[8];
        put_bytes(writer, zero, (boundary - writer->length % boundary) % boundary);
}

static void put_text(struct writer *writer, const char *text)
{
        put_number(writer, strlen(text), 4);
        put_bytes(writer, text, strlen(text) + 1);
}

static void put_signature(struct writer *writer, const char *signature)
{
        put_number(writer, strlen(signature), 1);
        put_bytes(writer, signature, strlen(signature) + 1);
}

/* Fills in a number for which put_number() left room at `at`. */
static void set_number(struct writer *writer, size_t at, size_t value)
{
        for (size_t i = 0; i < 4; i++)
                writer->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

/* Begins an array of structures. Returns the offset that end_array() needs. */
static size_t begin_array(struct writer *writer)
{
        put_number(writer, 0, 4);
        size_t place = writer->length - 4;
        align(writer, 8);
        return place;
}

static void end_array(struct writer *writer, size_t place)
{
        size_t start = place + 4 + (8 - (place + 4) % 8) % 8;
        set_number(writer, place, writer->length - start);
}

static void put_field(struct writer *writer, enum field field, const char *signature, const char *text)
{
        align(writer, 8);
        put_number(writer, field, 1);
        put_signature(writer, signature);
        if (signature[0] == 'g')
                put_signature(writer, text);
        else
                put_text(writer, text);
}

/* Writes the header of a method call. The caller appends the body and fills in its length at offset 4. */
static void begin_call(struct writer *writer, enum serial serial, const char *name, const char *path,
                       const char *interface, const char *member, const char *signature)
{
        const unsigned char start[] = {'l', MESSAGE_CALL, 0, 1};
        put_bytes(writer, start, sizeof(start));
        put_number(writer, 0, 4);
        put_number(writer, serial, 4);
        size_t fields = begin_array(writer);
        put_field(writer, FIELD_PATH, "o", path);
        put_field(writer, FIELD_INTERFACE, "s", interface);
        put_field(writer, FIELD_MEMBER, "s", member);
        put_field(writer, FIELD_DESTINATION, "s", name);
        if (signature)
                put_field(writer, FIELD_SIGNATURE, "g", signature);
        end_array(writer, fields);
        align(writer, 8);
}

static void put_property(struct writer *writer, const char *name, uint64_t value)
{
        align(writer, 8);
        put_text(writer, name);
        put_signature(writer, "t");
        put_number(writer, value, 8);
}

static void put_scope(struct writer *writer, const char *name, pid_t process, const struct limits *limits)
{
        put_text(writer, name);
        put_text(writer, "fail");
        size_t properties = begin_array(writer);
        put_text(writer, "Description");
        put_signature(writer, "s");
        put_text(writer, "A sandbox of hutch");
        align(writer, 8);
        put_text(writer, "CollectMode"); /* systemd forgets the scope however it ends */
        put_signature(writer, "s");
        put_text(writer, "inactive-or-failed");
        align(writer, 8);
        put_text(writer, "PIDs");
        put_signature(writer, "au");
        put_number(writer, 4, 4);
        put_number(writer, (uint64_t)process, 4);
        put_property(writer, "MemoryMax", limits->memory_bytes);
        put_property(writer, "MemorySwapMax", 0);
        put_property(writer, "TasksMax", limits->pids + 1ULL);
        if (limits->cpus)
                put_property(writer, "CPUQuotaPerSecUSec", limits->cpus * 10000ULL);
        end_array(writer, properties);
        end_array(writer, begin_array(writer));
}

size_t systemd_scope_write_request(const struct systemd_scope *scope, pid_t process,
                                   const struct limits *limits,
                                   unsigned char message[SYSTEMD_SCOPE_REQUEST_SIZE])
{
        size_t done = 0;
        for (enum serial serial = SERIAL_HELLO; serial <= SERIAL_SCOPE; serial++) {
                struct writer writer = {.bytes = message + done, .size = SYSTEMD_SCOPE_REQUEST_SIZE - done};
                if (serial == SERIAL_HELLO)
                        begin_call(&writer, serial, DBUS_NAME, "/org/freedesktop/DBus", DBUS_NAME, "Hello",
                                   NULL);
                else if (serial == SERIAL_MATCH)
                        begin_call(&writer, serial, DBUS_NAME, "/org/freedesktop/DBus", DBUS_NAME, "AddMatch",
                                   "s");
                else
                        begin_call(&writer, serial, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_NAME ".Manager",
                                   "StartTransientUnit", "ssa(sv)a(sa(sv))");
                size_t body = writer.length;
                if (serial == SERIAL_MATCH)
                        put_text(&writer, "type='signal',sender='" SYSTEMD_NAME "',path='" SYSTEMD_PATH
                                          "',member='JobRemoved'");
                if (serial == SERIAL_SCOPE)
                        put_scope(&writer, scope->name, process, limits);
                set_number(&writer, 4, writer.length - body);
                done += writer.length;
        }
        return done;
}

/* ---- reading ---- */

static uint32_t number_at(const unsigned char *bytes)
{
        return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

struct reader {
        const unsigned char *bytes;
        size_t at, end;
};

/* Reads a string (`prefix` 4, the size of its length) or a signature (1). NULL when it does not fit or does
 * not end in a NUL. */
static const char *read_text(struct reader *reader, size_t prefix)
{
        size_t at = reader->at + (prefix - reader->at % prefix) % prefix;
        if (at + prefix > reader->end)
                return NULL;
        size_t length = prefix == 4 ? number_at(reader->bytes + at) : reader->bytes[at];
        at += prefix;
        if (length >= reader->end - at || reader->bytes[at + length] != 0)
                return NULL;
        reader->at = at + length + 1;
        return (const char *)reader->bytes + at;
}

struct heading {
        const char *member, *error, *signature;
};

/* Reads the header fields up to `fields_end`. False when they are malformed or of a type that no message to
 * hutch has. */
static bool read_heading(const unsigned char *message, size_t fields_end, struct heading *heading)
{
        struct reader reader = {.bytes = message, .at = HEADER_SIZE, .end = fields_end};
        *heading = (struct heading){.member = "", .error = "", .signature = ""};
        for (;;) {
                reader.at += (8 - reader.at % 8) % 8;
                if (reader.at >= reader.end)
                        return true;
                unsigned field = message[reader.at++];
                const char *kind = read_text(&reader, 1), *text = NULL;
                if (!kind || strlen(kind) != 1)
                        return false;
                if (kind[0] == 'u') {
                        size_t at = reader.at + (4 - reader.at % 4) % 4;
                        if (at + 4 > reader.end)
                                return false;
                        reader.at = at + 4;
                        continue;
                }
                text = kind[0] == 's' || kind[0] == 'o' ? read_text(&reader, 4)
                       : kind[0] == 'g'                 ? read_text(&reader, 1)
                                                        : NULL;
                if (!text)
                        return false;
                if (field == FIELD_MEMBER)
                        heading->member = text;
                else if (field == FIELD_ERROR)
                        heading->error = text;
                else if (field == FIELD_SIGNATURE)
                        heading->signature = text;
        }
}

/* The length of the message that begins here, of which HEADER_SIZE bytes are present, and in *body where its
 * body starts. 0 when it is not a message. */
static size_t message_size(const unsigned char *message, size_t *body)
{
        uint32_t body_length = number_at(message + 4), fields = number_at(message + 12);
        if (message[0] != 'l' || message[3] != 1 || body_length > SYSTEMD_SCOPE_BUFFER_SIZE ||
            fields > SYSTEMD_SCOPE_BUFFER_SIZE)
                return 0;
        *body = (HEADER_SIZE + fields + 7) / 8 * 8;
        return *body + body_length;
}

enum systemd_scope_progress systemd_scope_judge_message(const struct systemd_scope *scope,
                                                        const unsigned char *message, size_t length,
                                                        char *why, size_t size)
{
        size_t body = 0;
        struct heading heading;
        if (length < HEADER_SIZE || message_size(message, &body) != length ||
            !read_heading(message, HEADER_SIZE + number_at(message + 12), &heading)) {
                (void)snprintf(why, size, "the bus sent an invalid message");
                return SYSTEMD_SCOPE_REFUSED;
        }
        struct reader reader = {.bytes = message, .at = body, .end = length};
        if (message[1] == MESSAGE_ERROR) {
                const char *text = heading.signature[0] == 's' ? read_text(&reader, 4) : NULL;
                (void)snprintf(why, size, "systemd refuses: %s", text ? text : heading.error);
                return SYSTEMD_SCOPE_REFUSED;
        }
        if (message[1] != MESSAGE_SIGNAL || !str_equal(heading.member, "JobRemoved") ||
            !str_equal(heading.signature, "uoss"))
                return SYSTEMD_SCOPE_WAITING;
        reader.at += 4;
        const char *job = read_text(&reader, 4);
        const char *unit = job ? read_text(&reader, 4) : NULL;
        const char *result = unit ? read_text(&reader, 4) : NULL;
        if (!result || !str_equal(unit, scope->name))
                return SYSTEMD_SCOPE_WAITING;
        if (str_equal(result, "done"))
                return SYSTEMD_SCOPE_DONE;
        (void)snprintf(why, size, "systemd did not make the scope: %s", result);
        return SYSTEMD_SCOPE_REFUSED;
}

/* Removes the first bytes of the buffer. */
static void drop_bytes(struct systemd_scope *scope, size_t length)
{
        scope->length -= length;
        memmove(scope->buffer, scope->buffer + length, scope->length);
}

/* Reads the answer to AUTH: a line before the first message. */
static enum systemd_scope_progress read_authentication(struct systemd_scope *scope, char *why, size_t size)
{
        const unsigned char *end = memchr(scope->buffer, '\n', scope->length);
        if (!end)
                return SYSTEMD_SCOPE_WAITING;
        scope->authenticated = scope->length >= 3 && memcmp(scope->buffer, "OK ", 3) == 0;
        drop_bytes(scope, (size_t)(end - scope->buffer) + 1);
        if (scope->authenticated)
                return SYSTEMD_SCOPE_WAITING;
        (void)snprintf(why, size, "the bus rejected your user id");
        return SYSTEMD_SCOPE_REFUSED;
}

enum systemd_scope_progress systemd_scope_read(struct systemd_scope *scope, char *why, size_t size)
{
        ssize_t length = recv(scope->socket, scope->buffer + scope->length,
                              SYSTEMD_SCOPE_BUFFER_SIZE - scope->length, MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
                return SYSTEMD_SCOPE_WAITING;
        if (length <= 0) {
                (void)snprintf(why, size, "the bus closed the connection or sent too much");
                return SYSTEMD_SCOPE_REFUSED;
        }
        scope->length += (size_t)length;
        enum systemd_scope_progress progress = SYSTEMD_SCOPE_WAITING;
        if (!scope->authenticated)
                progress = read_authentication(scope, why, size);
        while (progress == SYSTEMD_SCOPE_WAITING && scope->authenticated && scope->length >= HEADER_SIZE) {
                size_t body, whole = message_size(scope->buffer, &body);
                if (whole && whole <= SYSTEMD_SCOPE_BUFFER_SIZE && whole > scope->length)
                        break;
                progress = systemd_scope_judge_message(scope, scope->buffer,
                                                       whole <= scope->length ? whole : 0, why, size);
                drop_bytes(scope, whole <= scope->length ? whole : 0);
        }
        return progress;
}

/* ---- connecting ---- */

int systemd_scope_connect(struct systemd_scope *scope, const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path));
        autoclose int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        struct ucred peer;
        socklen_t size = sizeof(peer);
        if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        if (peer.pid == 0)
                return -EXDEV;
        scope->socket = fd_take(&connection);
        scope->authenticated = false;
        scope->length = 0;
        return 0;
}

int systemd_scope_request(struct systemd_scope *scope, pid_t process, const struct limits *limits)
{
        unsigned char request[AUTH_SIZE + SYSTEMD_SCOPE_REQUEST_SIZE];
        char digits[16];
        uint32_t random = 0;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                random = 0; /* the process id alone is unique among running processes */
        (void)snprintf(scope->name, sizeof(scope->name), "hutch-%d-%08x.scope", process, random);
        (void)snprintf(digits, sizeof(digits), "%u", geteuid());
        size_t length = 0;
        request[length++] = 0;
        memcpy(request + length, "AUTH EXTERNAL ", 14);
        length += 14;
        hex_write((char *)request + length, digits, strlen(digits));
        length += 2 * strlen(digits);
        memcpy(request + length, "\r\nBEGIN\r\n", 9);
        length += 9;
        length += systemd_scope_write_request(scope, process, limits, request + length);
        ssize_t sent = send(scope->socket, request, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? -errno : (size_t)sent == length ? 0 : -EAGAIN;
}
