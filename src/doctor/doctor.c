/* SPDX-License-Identifier: Apache-2.0
 *
 * See doctor.h.
 */
#include "doctor/doctor.h"

#include "lib/fd.h"
#include "lib/json.h"

#include <stdlib.h>
#include <sys/ioctl.h>

enum {
        INDENT = 24, /* the column of the details: two blanks, the state, two blanks, the key, two blanks */
        WIDTH_DEFAULT = 100,
        WIDTH_LEAST = 60,
};

/* ---- the table ---- */

/* The columns that a text takes: its characters, not its bytes. */
static unsigned count_columns(const char *text, size_t length)
{
        unsigned columns = 0;
        for (size_t i = 0; i < length; i++)
                columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        return columns;
}

/* Writes words, and breaks the line before one that does not fit. */
static void write_wrapped(const char *text, unsigned width, FILE *out)
{
        unsigned column = INDENT;
        for (bool first = true; *text; first = false) {
                size_t length = strcspn(text, " ");
                unsigned columns = count_columns(text, length);
                if (!first && column + 1 + columns > width) {
                        fprintf(out, "\n%*s", INDENT, "");
                        column = INDENT;
                } else if (!first) {
                        fputc(' ', out);
                        column++;
                }
                fprintf(out, "%.*s", (int)length, text);
                column += columns;
                text += length;
                text += *text == ' ';
        }
        fputc('\n', out);
}

static void write_row(const struct finding *row, unsigned width, bool colours, FILE *out)
{
        static const char *const colour[] = {
            [FINDING_OK] = "\033[32m", [FINDING_DEGRADED] = "\033[33m", [FINDING_MISSING] = "\033[31m"};
        fprintf(out, "  %s%-8s%s  %-10s  ", colours ? colour[row->state] : "", finding_state_name(row->state),
                colours ? "\033[0m" : "", row->key);
        write_wrapped(row->detail, width, out);
        /* not wrapped: it may contain a command that the user copies */
        if (row->fix)
                fprintf(out, "%*sfix: %s\n", INDENT, "", row->fix);
}

bool doctor_write_table(const struct findings *findings, bool runs, unsigned width, bool colours, FILE *out)
{
        bool used = true;
        for (size_t i = 0; i < findings->count; i++) {
                if (used && !findings->rows[i].used)
                        fputs("\nNot needed: no option of this version uses these:\n", out);
                used = findings->rows[i].used;
                write_row(&findings->rows[i], width, colours, out);
        }
        fprintf(out, "\n`hutch mcp` %s here.\n", runs ? "runs" : "does not run");
        return fflush(out) == 0 && !ferror(out);
}

/* ---- JSON ---- */

bool doctor_write_json(const struct findings *findings, bool runs, FILE *out)
{
        struct json json = {.out = &(struct buf){0}, .pretty = true};
        json_open(&json, NULL, '{');
        json_bool(&json, "runs", runs);
        json_open(&json, "checks", '[');
        for (size_t i = 0; i < findings->count; i++) {
                const struct finding *row = &findings->rows[i];
                json_open(&json, NULL, '{');
                json_text(&json, "key", row->key);
                json_text(&json, "state", finding_state_name(row->state));
                json_bool(&json, "used", row->used);
                json_text(&json, "detail", row->detail);
                json_text(&json, "fix", row->fix);
                json_close(&json, "}");
        }
        json_close(&json, "]}");
        return json_print(&json, out);
}

static unsigned terminal_width(int terminal)
{
        struct winsize size;
        if (ioctl(terminal, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
                return WIDTH_DEFAULT;
        return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}

static bool wants_colours(int terminal)
{
        const char *forbidden = getenv("NO_COLOR"), *kind = getenv("TERM");
        return isatty(terminal) && !(forbidden && forbidden[0]) && !(kind && str_equal(kind, "dumb"));
}

bool doctor_run(const struct error *settled, bool json, FILE *out, bool *runs)
{
        struct facts facts;
        struct findings findings;
        int terminal = fileno(out);
        facts_read(&facts, "");
        facts_try(&facts, settled);
        judge_facts(&facts, &findings);
        *runs = facts.plain.started;
        bool written = json ? doctor_write_json(&findings, *runs, out)
                            : doctor_write_table(&findings, *runs, terminal_width(terminal),
                                                 wants_colours(terminal), out);
        findings_free(&findings);
        facts_free(&facts);
        return written;
}
