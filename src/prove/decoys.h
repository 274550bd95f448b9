/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoys that the attempts attack: secrets with a random marker, directories, sockets, shared objects, a
 * process. They are made for one run, with the files in a private directory. A keeper process waits for the
 * end of hutch and removes them, also when hutch is killed. Nothing of the user's is touched.
 */
#ifndef HUTCH_PROVE_DECOYS_H
#define HUTCH_PROVE_DECOYS_H

#include "lib/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { DECOY_MARKER_SIZE = 48 };

/* The attempts outside spoil their decoys, so the sandbox gets a second set. */
enum decoy_side { DECOYS_OUTSIDE, DECOYS_INSIDE, DECOY_SIDES };

struct decoys {
        char directory[64];             /* holds all files */
        char base[DECOY_SIDES][80];     /* the directory of each side in it */
        char marker[DECOY_MARKER_SIZE]; /* every secret begins with it */
        char queue[32];                 /* the name of the POSIX queue and memory */
        int key;                        /* the key of the System V objects */
        pid_t keeper, victim;
        int victim_priority;     /* its nice value when it was described last */
        int lifeline;            /* the keeper waits until this pipe closes */
        int signals;             /* the victim writes a letter for each signal here */
        char victim_address[32]; /* of the secret in its memory */
        int udp[DECOY_SIDES];
        unsigned ports[8]; /* tcp4, tcp6, tcp4-later, and udp4 of each side */
        unsigned datagrams[DECOY_SIDES];
        int directory_descriptor, socket_descriptor; /* left open on purpose, not close-on-exec */
};

/* Makes the decoys. `program` is the real path of hutch-prove. False with status 125. decoys_end() must
 * follow in both cases. */
bool decoys_make(struct decoys *decoys, const char *program, struct error *error);

/* Makes those that appear only when the attempts already run. */
void decoys_make_later(struct decoys *decoys, enum decoy_side side);

/* Writes the description for hutch-prove, as lines of `key value` and an empty line. */
bool decoys_describe(struct decoys *decoys, enum decoy_side side, pid_t supervisor, int out);

/* Answers and counts the datagrams that have arrived. */
void decoys_answer(struct decoys *decoys, enum decoy_side side);

/* Whether the attempt `id` changed the decoys of `side`, as seen from outside. */
bool decoys_spoiled(struct decoys *decoys, enum decoy_side side, const char *id);

/* Forgets the signals that the victim got so far. */
void decoys_forget_signals(struct decoys *decoys);

/* Ends the victim, and waits until the keeper has removed everything. */
void decoys_end(struct decoys *decoys);

#endif
