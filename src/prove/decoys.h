/* SPDX-License-Identifier: Apache-2.0
 *
 * What `hutch prove` lets the attempts attack: secrets with a random marker, directories, sockets, shared
 * objects, a process, a terminal. All of it is made for one run, in a private directory, and is gone
 * afterwards, also when hutch is killed: a keeper process, which waits for hutch's end, takes it away.
 * Nothing of the person's is touched.
 */
#ifndef HUTCH_PROVE_DECOYS_H
#define HUTCH_PROVE_DECOYS_H

#include "lib/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { DECOY_MARKER_SIZE = 48, DECOY_SOCKETS_MOST = 64 };

/* One set for the proofs outside, which spoil theirs, and one for the sandbox. */
enum decoy_side { DECOYS_OUTSIDE, DECOYS_INSIDE, DECOY_SIDES };

struct decoys {
        char directory[64]; /* everything that is a file */
        char base[DECOY_SIDES][80];
        char marker[DECOY_MARKER_SIZE]; /* every secret begins with it */
        char queue[32];                 /* of the POSIX queue and memory */
        int key;                        /* of the System V objects */
        pid_t keeper, victim;
        int victim_priority; /* its nice value when it was described last */
        int lifeline;        /* the keeper waits for its end */
        int signals;         /* a letter for each signal that the victim got */
        char victim_address[32];
        int sockets[DECOY_SOCKETS_MOST];
        size_t socket_count;
        int udp[DECOY_SIDES];
        unsigned ports[8]; /* of tcp4, tcp6, tcp4-later, udp4 of each side */
        unsigned datagrams[DECOY_SIDES];
        int directory_descriptor, socket_descriptor; /* left open on purpose, not close-on-exec */
};

/* Makes everything. `program` is hutch-prove, real path. False with 125. In both cases decoys_end() follows.
 */
bool decoys_make(struct decoys *decoys, const char *program, struct error *error);

/* Makes what only appears once the programs run. */
void decoys_make_later(struct decoys *decoys, enum decoy_side side);

/* Writes what hutch-prove must know to attack them, as lines of `key value` and an empty one. */
bool decoys_describe(struct decoys *decoys, enum decoy_side side, pid_t supervisor, int out);

/* Answers a datagram that came. */
void decoys_answer(struct decoys *decoys, enum decoy_side side);

/* Whether, as seen from outside, the attempt `id` did something to the decoys of `side`. */
bool decoys_spoiled(struct decoys *decoys, enum decoy_side side, const char *id);

/* Forgets the signals that the victim got so far. */
void decoys_forget_signals(struct decoys *decoys);

void decoys_end(struct decoys *decoys);

#endif
