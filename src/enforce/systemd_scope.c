/* SPDX-License-Identifier: Apache-2.0
 *
 * See systemd_scope.h. All messages go out in one write, without waiting for an answer to any of them; the
 * bus handles them in order. Numbers on the wire are little-endian on every machine, because each message
 * declares itself so.
 */
#include "enforce/systemd_scope.h"

#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DBUS_NAME    "org.freedesktop.DBus"
#define DBUS_PATH    "/org/freedesktop/DBus"
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
enum { BODY_LENGTH_AT = 4, HEADER_SIZE = 16 };

static uint32_t number_at(const void *at)
{
        const unsigned char *bytes = at;
        return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* ---- writing ---- */

/* Appends values to a message: y, u and t are numbers of 1, 4 and 8 bytes, s a string, g a signature, and a
 * parenthesis begins a structure. Each is aligned, which counts from the start of the message. A variant is
 * the signature of its value (g) and the value. Numbers are passed as unsigned, but for t as uint64_t. */
static void put(struct buf *message, const char *types, ...)
{
        static const unsigned char zero[8];
        va_list values;
        va_start(values, types);
        for (; *types; types++) {
                size_t size = strchr("yg", *types) ? 1 : strchr("us", *types) ? 4 : 8;
                buf_put(message, zero, (size - message->length % size) % size);
                if (*types == '(')
                        continue;
                const char *text = strchr("sg", *types) ? va_arg(values, const char *) : NULL;
                uint64_t number = text            ? strlen(text)
                                  : *types == 't' ? va_arg(values, uint64_t)
                                                  : va_arg(values, unsigned);
                for (size_t i = 0; i < size; i++)
                        buf_put(message, &(unsigned char){(unsigned char)(number >> 8 * i)}, 1);
                if (text)
                        buf_put(message, text, strlen(text) + 1);
        }
        va_end(values);
}

/* Fills in a number for which put() left room at `at`. */
static void set_number(struct buf *message, size_t at, size_t value)
{
        for (size_t i = 0; i < 4; i++)
                message->bytes[at + i] = (char)(value >> 8 * i);
}

/* Begins an array of structures. Returns the offset that end_array() needs. */
static size_t begin_array(struct buf *message)
{
        put(message, "u", 0U);
        size_t place = message->length - 4;
        put(message, "(");
        return place;
}

static void end_array(struct buf *message, size_t place)
{
        size_t start = (place + 4 + 7) / 8 * 8;
        set_number(message, place, message->length - start);
}

/* Writes the header of a method call. The caller appends the body. */
static void begin_call(struct buf *message, enum serial serial, const char *name, const char *path,
                       const char *interface, const char *member, const char *signature)
{
        put(message, "yyyyuu", 'l', MESSAGE_CALL, 0U, 1U, 0U, serial);
        size_t fields = begin_array(message);
        put(message, "(ygs(ygs(ygs(ygs", FIELD_PATH, "o", path, FIELD_INTERFACE, "s", interface, FIELD_MEMBER,
            "s", member, FIELD_DESTINATION, "s", name);
        if (signature)
                put(message, "(ygg", FIELD_SIGNATURE, "g", signature);
        end_array(message, fields);
        put(message, "(");
        set_number(message, BODY_LENGTH_AT, message->length);
}

/* Fills in the length of the body and moves the message to the end of `requests`. */
static void end_call(struct buf *message, struct buf *requests)
{
        set_number(message, BODY_LENGTH_AT, message->length - number_at(message->bytes + BODY_LENGTH_AT));
        buf_put(requests, message->bytes, message->length);
        buf_free(message);
}

void systemd_scope_write_request(const struct systemd_scope *scope, pid_t process,
                                 const struct limits *limits, struct buf *requests)
{
        struct buf message = {0};
        begin_call(&message, SERIAL_HELLO, DBUS_NAME, DBUS_PATH, DBUS_NAME, "Hello", NULL);
        end_call(&message, requests);

        begin_call(&message, SERIAL_MATCH, DBUS_NAME, DBUS_PATH, DBUS_NAME, "AddMatch", "s");
        put(&message, "s",
            "type='signal',sender='" SYSTEMD_NAME "',path='" SYSTEMD_PATH "',member='JobRemoved'");
        end_call(&message, requests);

        begin_call(&message, SERIAL_SCOPE, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_NAME ".Manager",
                   "StartTransientUnit", "ssa(sv)a(sa(sv))");
        put(&message, "ss", scope->name, "fail");
        size_t properties = begin_array(&message);
        put(&message, "(sgs", "Description", "s", "A sandbox of hutch");
        /* systemd forgets the scope however it ends. */
        put(&message, "(sgs", "CollectMode", "s", "inactive-or-failed");
        put(&message, "(sguu", "PIDs", "au", 4U, (unsigned)process); /* an array of four bytes */
        put(&message, "(sgt", "MemoryMax", "t", limits->memory_bytes);
        put(&message, "(sgt", "MemorySwapMax", "t", UINT64_C(0));
        put(&message, "(sgt", "TasksMax", "t", limits->pids + UINT64_C(1));
        if (limits->cpus)
                put(&message, "(sgt", "CPUQuotaPerSecUSec", "t", limits->cpus * UINT64_C(10000));
        end_array(&message, properties);
        end_array(&message, begin_array(&message));
        end_call(&message, requests);
}

/* ---- reading ---- */

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
        uint32_t random = 0;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
                random = 0; /* the process id alone is unique among running processes */
        (void)snprintf(scope->name, sizeof(scope->name), "hutch-%d-%08x.scope", process, random);
        autobuf request = {0};
        autofree char *user = str_format("%u", geteuid());
        buf_put(&request, "", 1);
        buf_put_text(&request, "AUTH EXTERNAL ");
        for (const char *digit = user; *digit; digit++)
                buf_format(&request, "%02x", (unsigned)*digit);
        buf_put_text(&request, "\r\nBEGIN\r\n");
        systemd_scope_write_request(scope, process, limits, &request);
        ssize_t sent = send(scope->socket, request.bytes, request.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? -errno : (size_t)sent == request.length ? 0 : -EAGAIN;
}
