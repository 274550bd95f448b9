/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandbox templates: JSON files that say which tree a sandbox starts from, where commands are looked for in
 * it and which variables it always has. They are policy: an unknown key, a wrong type or a repeated key is a
 * usage error that names file and line. A template cannot grant anything of the caller.
 */
#ifndef HUTCH_POLICY_TEMPLATE_H
#define HUTCH_POLICY_TEMPLATE_H

#include "lib/err.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_DEFAULT "mcp-server"

/* A command the template promises, and what to install where it is missing. */
struct template_command {
        char *name;
        char *package; /* Debian's */
};

struct template
{
        char *name; /* as the option names it */
        char *file; /* the file that was read */
        char *description;
        struct str_list path;        /* absolute directories inside, the base of PATH; never empty */
        struct str_list environment; /* KEY=VALUE */
        struct template_command *commands;
        size_t command_count;
};

/* Reads a template. A name with a `/` is a file; else NAME.json is looked for beside the program
 * (policy/templates below the directory of /proc/self/exe: a build tree), in ../share/hutch/templates from
 * there, and in the data directory chosen at build time. Status 2 on an invalid name or content, or an
 * unknown name (the sentence lists the known ones); 125 when an existing file cannot be read. */
bool template_load(const char *name_or_file, struct template *result, struct error *error);

/* Adds the directories that may hold the templates of `program`, the absolute path of hutch or of one of its
 * helper programs: those of a build tree, and those of an installed hutch whatever its prefix. */
void template_list_directories(const char *program, struct str_list *directories);

/* The same from text; `file` is its name in messages. */
bool template_parse(const char *name, const char *file, const char *json, size_t length,
                    struct template *result, struct error *error);

void template_free(struct template *result);

/* One note under --verbose for each promised command that none of the template's directories holds. */
void template_note_missing(const struct template *template);

#endif
