/* SPDX-License-Identifier: Apache-2.0
 *
 * Pinned tools: the definition of each tool of a server when the user first used it, or gave --pin-accept. A
 * tool that differs now is refused, because a model reads its description as if the user had written it.
 *
 * The file has one record per line, for any number of servers. The last record of a tool counts:
 *
 *   {"server":"S"}                                    the tools of S are pinned; their records follow
 *   {"server":"S","tool":"T","sha256":"…","definition":{…}}
 *   {"server":"S","tool":"T","removed":true}
 *
 * `definition` is canonical (canonical.h) and has the members that a model or a user is shown: name, title,
 * description, inputSchema, outputSchema, annotations. Only the hash is stored if the definition has more
 * than PINS_KEPT_MAX bytes, or if the server already has half of PINS_RECORDED_MAX bytes recorded in this
 * run: a server must not fill a file that servers share. The supervisor appends records, one write() each,
 * and never changes one.
 */
#ifndef HUTCH_MCP_PINS_H
#define HUTCH_MCP_PINS_H

#include "lib/buf.h"
#include "mcp/json_walk.h"
#include "mcp/jsonl.h"

#include <sha256.h>
#include <stdbool.h>
#include <stddef.h>

enum { PINS_MAX = 4096, PINS_KEPT_MAX = 64 * 1024, PINS_FILE_MAX = 64 << 20, PINS_RECORDED_MAX = 8 << 20 };

struct pin {
        char *name; /* unescaped */
        size_t name_length;
        char hash[SHA256_DIGEST_STRING_LENGTH]; /* SHA-256 in lower-case hexadecimal digits */
        char *definition;                       /* canonical; NULL if it was too large */
        size_t definition_length;
        bool seen;       /* in the current listing */
        bool changed;    /* was listed with another definition */
        bool pinned_now; /* pinned in this run, so that it may not change in it */
};

struct pins {
        bool on;        /* --pin */
        bool accept;    /* --pin-accept, until the first complete list */
        bool known;     /* the file has records of this server, or the first list was complete */
        bool announced; /* the record that names this server was sent, or is not needed */
        char *file;     /* path of the file, for use in a sentence */
        char *server;   /* identity of the server, as JSON text without quotes */
        struct pin *pinned;
        size_t pinned_count;
        size_t listed;    /* tools in the current listing */
        size_t recorded;  /* bytes sent for the file in this run */
        size_t changes;   /* pins added, changed or removed in this run */
        struct buf names; /* the first of their names, for a sentence */
};

/* Reads the records of the server from the file's text, and changes the text. Returns 0, or the number of the
 * first line that is not a record: then nothing in the file can be trusted. */
size_t pins_read(struct pins *pins, struct jsonl *scanner, char *text, size_t length);

/* Frees every tool; the caller still owns `file` and `server`. */
void pins_free(struct pins *pins);

/* For each listing: begin, one call per tool, end after the last page. pins_list_tool() returns whether the
 * client may see the tool, and reports why not. */
void pins_list_begin(struct pins *pins);
bool pins_list_tool(struct pins *pins, struct json_span tool);
void pins_list_end(struct pins *pins);

/* NULL if a tool with this name may be called; else half a sentence. */
const char *pins_refuse_call(const struct pins *pins, const char *name, size_t length);

#endif
