/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of version managers say about one tool: .python-version, .tool-versions, mise.toml, Volta's
 * JSON. Text in, versions out: it opens no file. The text may be hostile; the caller checks that a version is
 * one component of a path.
 */
#ifndef HUTCH_COMMAND_VERSIONS_H
#define HUTCH_COMMAND_VERSIONS_H

#include <stdbool.h>

/* Each reader returns the versions that `text` names for `tool`, blanks between them, or NULL when it names
 * none. The caller frees. */
typedef char *versions_reader(const char *text, const char *tool);

/* All words of the file, without colons and comments (pyenv). Ignores `tool`. */
char *versions_read_words(const char *text, const char *tool);

/* The rest of the line that begins with the tool's name (asdf, mise). */
char *versions_read_lines(const char *text, const char *tool);

/* The tool's entry in [tools]: a string, the strings of a list, or a table's `version` (mise). */
char *versions_read_toml(const char *text, const char *tool);

/* The first word, without a `v` before a number (.nvmrc, .node-version, .python-version). Ignores `tool`. */
char *versions_read_plain(const char *text, const char *tool);

/* The value of the setting `key = value` (asdf). */
char *versions_read_setting(const char *text, const char *key);

/* The same in [settings]: a string, or the strings of a list (mise). */
char *versions_read_toml_setting(const char *text, const char *key);

/* The string at `tool`, its parts separated by dots: "volta.node" in {"volta": {"node": "20.1.0"}}. */
char *versions_read_json(const char *text, const char *tool);

#endif
