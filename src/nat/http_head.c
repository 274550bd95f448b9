/* SPDX-License-Identifier: Apache-2.0
 *
 * See http_head.h. Strict where servers differ: a head that two parsers could read as two hosts is refused.
 * The fields of a reply are checked for form and otherwise ignored: what follows the head of a 2xx reply is
 * the tunnel, whatever Content-Length says (RFC 9110, 9.3.6).
 */
#include "nat/http_head.h"

#include "lib/fd.h"
#include "lib/str.h"
#include "policy/addresses.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A part of the head. */
struct piece {
        const char *at;
        size_t length;
};

static bool is_token_byte(uint8_t byte)
{
        return isalnum(byte) || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static struct piece trim(struct piece piece)
{
        while (piece.length && (*piece.at == ' ' || *piece.at == '\t')) {
                piece.at++;
                piece.length--;
        }
        while (piece.length && (piece.at[piece.length - 1] == ' ' || piece.at[piece.length - 1] == '\t'))
                piece.length--;
        return piece;
}

static bool is_blank(uint8_t byte)
{
        return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f';
}

static bool is_upper(uint8_t byte)
{
        return (byte >= 'A' && byte <= 'Z') || byte == '-';
}

/* Whether a request target may begin so: with a path, with a scheme, or as the target of OPTIONS. */
static bool begins_target(struct piece piece)
{
        static const char scheme[] = "http";
        size_t length = piece.length < sizeof(scheme) - 1 ? piece.length : sizeof(scheme) - 1;
        return piece.length == 0 || *piece.at == '/' || *piece.at == '*' ||
               strncasecmp(piece.at, scheme, length) == 0;
}

/* Judges a first line whose end has not arrived. The function waits for it only where HTTP is likely, because
 * the bytes may be a complete command of another protocol. HTTP is likely after a method in upper case, which
 * is what every client sends, and after any other method before a target. */
static enum sniff judge_partial_line(struct piece line)
{
        enum { METHOD_MIN = 3, METHOD_MAX = 24 };
        size_t method = 0;
        bool upper = true;
        while (method < line.length && method <= METHOD_MAX && is_token_byte((uint8_t)line.at[method]))
                upper = is_upper((uint8_t)line.at[method++]) && upper;
        if (method == 0 || method > METHOD_MAX)
                return SNIFF_OTHER;
        if (method == line.length)
                return upper ? SNIFF_MORE : SNIFF_OTHER;
        if (!is_blank((uint8_t)line.at[method]))
                return SNIFF_OTHER;
        for (size_t i = method; i < line.length; i++)
                if ((uint8_t)line.at[i] < ' ' && !is_blank((uint8_t)line.at[i]) && line.at[i] != '\r')
                        return SNIFF_OTHER;
        struct piece target = trim((struct piece){line.at + method, line.length - method});
        return (upper && method >= METHOD_MIN) || begins_target(target) ? SNIFF_MORE : SNIFF_OTHER;
}

/* Judges a complete first line. Servers differ in what they tolerate in it, so every line that contains a
 * version of HTTP counts as a request, and so does a request of HTTP/0.9 with a host in its target. */
static enum sniff judge_first_line(struct piece line)
{
        static const char version[] = "HTTP/", old[] = "GET http";
        for (size_t i = 1; i + sizeof(version) - 1 <= line.length; i++)
                if (is_blank((uint8_t)line.at[i - 1]) &&
                    strncasecmp(line.at + i, version, sizeof(version) - 1) == 0)
                        return SNIFF_NAME;
        return line.length >= sizeof(old) - 1 && memcmp(line.at, old, sizeof(old) - 1) == 0 ? SNIFF_BAD
                                                                                            : SNIFF_OTHER;
}

/* Whether the bytes begin a request. SNIFF_NAME: they do, and the first line is complete. */
static enum sniff judge_start(const uint8_t *bytes, size_t length)
{
        size_t skipped = 0;
        while (skipped < length && (bytes[skipped] == '\r' || bytes[skipped] == '\n'))
                skipped++; /* some servers skip these too; a request after them is refused (next_line) */
        struct piece line = {(const char *)bytes + skipped, length - skipped};
        if (line.length == 0)
                return SNIFF_MORE;
        const char *newline = memchr(line.at, '\n', line.length);
        if (!newline)
                return judge_partial_line(line);
        line.length = (size_t)(newline - line.at);
        return judge_first_line(line);
}

/* Cuts the first line off the head. False unless it ends in CR LF and contains no CR, LF or NUL. */
static bool next_line(struct piece *head, struct piece *line)
{
        const char *end = memchr(head->at, '\n', head->length);
        if (!end || end == head->at || end[-1] != '\r')
                return false;
        line->at = head->at;
        line->length = (size_t)(end - 1 - head->at);
        head->length -= (size_t)(end + 1 - head->at);
        head->at = end + 1;
        return !memchr(line->at, '\r', line->length) && !memchr(line->at, 0, line->length);
}

static bool equals(struct piece piece, const char *text)
{
        return piece.length == strlen(text) && strncasecmp(piece.at, text, piece.length) == 0;
}

static bool starts(struct piece piece, const char *text)
{
        return piece.length >= strlen(text) && strncasecmp(piece.at, text, strlen(text)) == 0;
}

/* Copies the host of "HOST[:PORT]". */
static bool copy_authority(struct piece piece, char name[NAME_MAX_LENGTH + 1])
{
        struct in6_addr parsed;
        const char *close = piece.length && *piece.at == '[' ? memchr(piece.at, ']', piece.length) : NULL;
        struct piece host = piece;
        if (close) {
                host = (struct piece){piece.at + 1, (size_t)(close - piece.at) - 1};
                piece.length -= (size_t)(close + 1 - piece.at);
                piece.at = close + 1;
        } else {
                const char *colon = memchr(piece.at, ':', piece.length);
                host.length = colon ? (size_t)(colon - piece.at) : piece.length;
                piece.at += host.length;
                piece.length -= host.length;
        }
        if (piece.length && *piece.at != ':')
                return false;
        for (size_t i = 1; i < piece.length; i++)
                if (!isdigit((unsigned char)piece.at[i]))
                        return false;
        if (!close && host.length && host.at[host.length - 1] == '.')
                host.length--;
        if (host.length == 0 || host.length > NAME_MAX_LENGTH)
                return false;
        for (size_t i = 0; i < host.length; i++)
                name[i] = (char)tolower((unsigned char)host.at[i]);
        name[host.length] = 0;
        return close ? address_parse(name, &parsed)
                     : destination_is_name(name) || address_parse(name, &parsed);
}

/* Reads the authority of the target, if the target is absolute. */
static enum sniff read_request_target(struct piece target, char name[NAME_MAX_LENGTH + 1])
{
        if (target.length == 0)
                return SNIFF_BAD;
        if (*target.at == '/' || equals(target, "*"))
                return SNIFF_NO_NAME;
        size_t scheme = starts(target, "http://") ? 7 : starts(target, "https://") ? 8 : 0;
        if (!scheme)
                return SNIFF_BAD;
        struct piece authority = {target.at + scheme, 0};
        while (scheme + authority.length < target.length && !strchr("/?#", authority.at[authority.length]))
                authority.length++;
        return copy_authority(authority, name) ? SNIFF_NAME : SNIFF_BAD;
}

/* Reads "METHOD SP TARGET SP HTTP/1.x". */
static enum sniff read_request_line(struct piece line, char name[NAME_MAX_LENGTH + 1])
{
        const char *first = memchr(line.at, ' ', line.length);
        const char *last = memrchr(line.at, ' ', line.length);
        if (!first || first == last)
                return SNIFF_BAD;
        struct piece method = {line.at, (size_t)(first - line.at)};
        struct piece target = {first + 1, (size_t)(last - first) - 1};
        struct piece version = {last + 1, line.length - (size_t)(last + 1 - line.at)};
        if (!equals(version, "HTTP/1.1") && !equals(version, "HTTP/1.0"))
                return SNIFF_BAD; /* also HTTP/2 without TLS: PRI * HTTP/2.0 */
        if (equals(method, "CONNECT") || memchr(target.at, ' ', target.length) ||
            memchr(target.at, '\t', target.length))
                return SNIFF_BAD;
        return read_request_target(target, name);
}

/* Splits "KEY: VALUE". False unless the key is a token: there may be no white space before the colon, as in a
 * folded line. */
static bool split_field(struct piece line, struct piece *key, struct piece *value)
{
        const char *colon = memchr(line.at, ':', line.length);
        if (!colon || colon == line.at)
                return false;
        *key = (struct piece){line.at, (size_t)(colon - line.at)};
        *value = trim((struct piece){colon + 1, line.length - key->length - 1});
        for (size_t i = 0; i < key->length; i++)
                if (!is_token_byte((uint8_t)key->at[i]))
                        return false;
        return true;
}

struct fields {
        size_t hosts;
        char host[NAME_MAX_LENGTH + 1];
        bool bad;
};

static void read_field(struct piece line, struct fields *fields)
{
        struct piece key, value;
        if (!split_field(line, &key, &value)) {
                fields->bad = true;
                return;
        }
        if (equals(key, "Host")) {
                fields->hosts++;
                if (!copy_authority(value, fields->host))
                        fields->bad = true;
        }
        /* After an upgrade to HTTP/2 each request has its own host. */
        autofree char *text = str_copy_n(value.at, value.length);
        if ((equals(key, "Upgrade") && strcasestr(text, "h2c")) || equals(key, "HTTP2-Settings"))
                fields->bad = true;
}

enum sniff http_head_name(const uint8_t *bytes, size_t length, char name[NAME_MAX_LENGTH + 1], size_t *end)
{
        enum sniff state = judge_start(bytes, length);
        if (state == SNIFF_MORE && length >= HTTP_HEAD_MAX)
                return SNIFF_BAD;
        if (state != SNIFF_NAME)
                return state;
        const char *blank = memmem(bytes, length, "\r\n\r\n", 4);
        /* Some servers accept these as the end of the head, others do not. */
        if (!blank && (memmem(bytes, length, "\n\n", 2) || memmem(bytes, length, "\n\r\n", 3)))
                return SNIFF_BAD;
        if (!blank)
                return length < HTTP_HEAD_MAX ? SNIFF_MORE : SNIFF_BAD;
        *end = (size_t)(blank + 4 - (const char *)bytes);
        struct piece head = {(const char *)bytes, *end - 2}, line;
        if (*end > HTTP_HEAD_MAX || !next_line(&head, &line))
                return SNIFF_BAD;
        enum sniff target = read_request_line(line, name);
        struct fields fields = {0};
        while (head.length) {
                if (!next_line(&head, &line))
                        return SNIFF_BAD;
                read_field(line, &fields);
        }
        if (target == SNIFF_BAD || fields.bad || fields.hosts > 1)
                return SNIFF_BAD;
        if (target == SNIFF_NAME)
                return fields.hosts == 0 || strcmp(name, fields.host) == 0 ? SNIFF_NAME : SNIFF_BAD;
        if (fields.hosts == 0)
                return SNIFF_NO_NAME;
        memcpy(name, fields.host, sizeof(fields.host));
        return SNIFF_NAME;
}

size_t http_reply_end(const uint8_t *bytes, size_t length)
{
        const uint8_t *end = memmem(bytes, length, "\r\n\r\n", 4);
        return end ? (size_t)(end - bytes) + 4 : 0;
}

static bool is_text(struct piece piece)
{
        for (size_t i = 0; i < piece.length; i++)
                if (piece.at[i] != '\t' && ((uint8_t)piece.at[i] < 0x20 || piece.at[i] == 0x7f))
                        return false;
        return true;
}

/* Reads "HTTP/1.x 200", then nothing, or a space and text. The status, or -1. */
static int read_status(struct piece line)
{
        enum { STATUS_AT = 9, STATUS_END = 12 };
        uint64_t status;
        if (line.length < STATUS_END ||
            (memcmp(line.at, "HTTP/1.0 ", STATUS_AT) != 0 && memcmp(line.at, "HTTP/1.1 ", STATUS_AT) != 0) ||
            (line.length > STATUS_END && line.at[STATUS_END] != ' ') || !is_text(line))
                return -1;
        autofree char *digits = str_copy_n(line.at + STATUS_AT, STATUS_END - STATUS_AT);
        return str_read_number(digits, 599, &status) && status >= 100 ? (int)status : -1;
}

int http_reply_status(const uint8_t *head, size_t length)
{
        struct piece rest = {(const char *)head, length}, line, key, value;
        int status = next_line(&rest, &line) ? read_status(line) : -1;
        while (status >= 0 && next_line(&rest, &line)) {
                if (line.length == 0)
                        return rest.length == 0 ? status : -1;
                if (!split_field(line, &key, &value) || !is_text(value))
                        return -1;
        }
        return -1;
}
