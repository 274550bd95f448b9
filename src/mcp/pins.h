/* SPDX-License-Identifier: Apache-2.0
 *
 * Pinned tools: what each tool of a server was when a person first used it (or said --pin-accept). A tool
 * that is another now is refused, because its description is read by a model as if the person had written it.
 *
 * The file has one record a line, of any number of servers; the last one of a tool counts:
 *
 *   {"server":"S"}                                    the tools of S are pinned; what follows are all it has
 *   {"server":"S","tool":"T","sha256":"…","definition":{…}}
 *   {"server":"S","tool":"T","removed":true}
 *
 * `definition` is canonical (canonical.h) and holds what a model or a person is shown: name, title,
 * description, inputSchema, outputSchema, annotations. A definition of more than PINS_KEPT_MAX bytes is not
 * kept, its hash is, and so where a server has PINS_RECORDED_MAX bytes and more recorded: it must not fill
 * the file that others share. Records are only ever appended, by the supervisor, one write() each.
 */
#ifndef HUTCH_MCP_PINS_H
#define HUTCH_MCP_PINS_H

#include "mcp/buf.h"
#include "mcp/json_walk.h"
#include "mcp/jsonl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PINS_MAX = 4096, PINS_KEPT_MAX = 64 * 1024, PINS_FILE_MAX = 64 << 20, PINS_RECORDED_MAX = 8 << 20 };

struct pin {
        char *name; /* its text */
        size_t name_length;
        uint8_t hash[32];
        char *definition; /* canonical, or NULL when it was too large */
        size_t definition_length;
        bool seen;       /* in the listing that is being read */
        bool changed;    /* it was listed otherwise than pinned */
        bool pinned_now; /* pinned in this run, so that it may not change in it */
};

struct pin_list {
        struct pin *pins;
        size_t count;
};

struct pins {
        bool on;        /* --pin */
        bool accept;    /* --pin-accept, until the first whole list */
        bool known;     /* the file has records of this server, or the first list was whole */
        bool announced; /* the file has been told of this server */
        char *file;     /* its path, as it can stand in a sentence */
        char *server;   /* its identity, as JSON text without quotes */
        struct pin_list pinned;
        size_t listed;    /* tools of the listing that is being read */
        size_t recorded;  /* bytes for the file, in this run */
        size_t changes;   /* of what is pinned, in this run */
        struct buf names; /* of the first of these, for a sentence */
};

/* Reads the file's text (changing it) for the server. Returns 0, or the number of the first line that is no
 * record: nothing can be trusted then. */
size_t pins_read(struct pins *pins, struct jsonl *scanner, char *text, size_t length);

/* Forgets every tool; `file` and `server` stay the caller's. */
void pins_free(struct pins *pins);

/* A listing: begins, one tool after the other, ends with its last page. pins_list_tool() says whether the
 * client may see the tool, and tells the person why not. */
void pins_list_begin(struct pins *pins);
bool pins_list_tool(struct pins *pins, struct json_span tool);
void pins_list_end(struct pins *pins);

/* Whether a tool of that name may be called; else half a sentence. */
const char *pins_refuse_call(const struct pins *pins, const char *name, size_t length);

#endif
