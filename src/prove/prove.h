/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch prove`: lets a program of its own attack a sandbox that is made of the person's options, the same
 * way as `mcp` and `run` make theirs, after it has shown each attack to work without one. It never reads a
 * file of the person's, and nothing of a run remains.
 */
#ifndef HUTCH_PROVE_PROVE_H
#define HUTCH_PROVE_PROVE_H

#include "lib/err.h"
#include "options/options.h"

/* Runs it with options that options_parse() read of prove_words(). Returns the exit status: 0 all held, 1 one
 * got out or has no result; or *error set. */
int prove(struct options *options, struct error *error);

/* The words for options_parse(): the person's, and behind them the program that attacks as the command. Free
 * words->values alone: the words are the person's, and static. False when they name a command (status 2), or
 * the program is not installed (125). */
bool prove_words(int argc, char **argv, struct str_list *words, struct error *error);

#endif
