/* SPDX-License-Identifier: Apache-2.0
 *
 * A bridge between a client and a server that are both the test itself. 0, 1 and 2 are the client's only
 * while the bridge is called, so that a failing assertion can be read. After each test the client's open file
 * descriptions must be as they were, and what blocks is ended by an alarm.
 */
#ifndef HUTCH_TESTS_BRIDGE_RIG_H
#define HUTCH_TESTS_BRIDGE_RIG_H

#include "run/bridge.h"

#include <stdbool.h>
#include <stddef.h>

enum { PATIENCE_MS = 5000 };

enum { PIPE, SOCKET };

struct rig {
        struct bridge *bridge;
        int given[3];  /* what the bridge sees as 0, 1, 2 */
        int flags[3];  /* theirs at the start */
        int client[3]; /* the far ends: writes to 0, reads 1 and 2; they never block, nor do the server's */
        int server[3];
};

/* Once per program, before everything else. */
void rig_begin(void);

/* A bridge on three pipes or socket pairs; or on what rig->given and rig->client hold already. */
struct rig rig_new(int kind, bool lines);
void rig_start(struct rig *rig, bool lines);

/* Frees the bridge and closes everything; asserts that the flags of the client's descriptions are unchanged.
 */
void rig_end(struct rig *rig);

/* Put around each call of the bridge that is not made below. */
void rig_enter(const struct rig *rig);
void rig_leave(void);

/* One turn of the poll loop; false when nothing was ready within the time. */
bool rig_turn(struct rig *rig, int milliseconds);
/* Until it sleeps; returns how many turns. A bridge that spins fails. */
unsigned rig_settle(struct rig *rig);
void rig_say(struct rig *rig, const char *line);

/* Writes all of `line` at `from` and reads it at `to`, the reader beginning only when nothing moves any more;
 * asserts that the same bytes arrive. */
void rig_carry(struct rig *rig, int from, int to, const char *line, size_t length, size_t read_size);

/* Descriptors: closes; makes both ends; sets O_NONBLOCK; writes all; reads once (0: nothing there); compares
 * one read; is there an end of file? */
void hang_up(int *fd);
void make_ends(int kind, int *reads, int *writes);
void never_block(int fd);
void put(int fd, const char *text);
size_t get(int fd, char *data, size_t size);
void assert_got(int fd, const char *expected);
bool at_end(int fd);

/* A message, without its newline. */
#define MESSAGE(n) "{\"jsonrpc\":\"2.0\",\"method\":\"m" #n "\"}"

/* A message of `length` bytes (at least 12) with its newline and, as SDKs write it, with the member "jsonrpc"
 * at the end; the caller frees. */
char *big_line(size_t length);

#endif
