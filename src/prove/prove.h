/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch prove`: runs the escape attempts of hutch-prove, first outside, to show that each works where
 * nothing stops it, and then in a sandbox with the user's options, made as `mcp` and `run` make theirs. It
 * never reads a file of the user's, and it leaves nothing behind.
 *
 * Theory of operation. hutch-prove runs four times in a row: outside and inside, each once with pipes, as an
 * MCP server, and once on a new terminal, as a command of `hutch run`. In each session (prove.c) it says that
 * it is ready, gets the description of the decoys (decoys.h), and writes one line for each attempt
 * (report.h). The two sessions outside come first, so that all attempts are known before a sandbox starts.
 * Inside, they run under a hutch that is started as `mcp` or `run` with the user's words (run/inner.h).
 * hutch-prove inside is hostile: it is the server. A result that is missing counts against the sandbox.
 */
#ifndef HUTCH_PROVE_PROVE_H
#define HUTCH_PROVE_PROVE_H

#include "lib/err.h"
#include "options/options.h"

/* Runs the proof. `options` are those that options_parse() made of prove_words(). Returns the exit status: 0
 * when all attempts were held, 1 when one got out or has no result; or sets *error. */
int prove(const struct options *options, struct error *error);

/* Fills *words for options_parse(): the user's words, and then hutch-prove as the command. The caller frees
 * words->values only: the words are the user's, or static. False when the user's name a command (status 2),
 * or when hutch-prove is not installed (125). */
bool prove_words(int argc, char **argv, struct str_list *words, struct error *error);

#endif
