/* SPDX-License-Identifier: Apache-2.0
 *
 * What an attempt knows of its targets: the decoys that `hutch prove` made for this run (decoys.h) and
 * described to this program as lines of `key value`. An attempt proves that it got out by a marker, random
 * bytes with which every secret of the decoys begins.
 */
#ifndef HUTCH_PROVE_TARGET_H
#define HUTCH_PROVE_TARGET_H

#include "prove/attempts.h"

#include <stdbool.h>
#include <stddef.h>

/* Says where the attempts run: in the sandbox, or outside of it to show that they work. */
void target_set_inside(bool inside);
bool target_is_inside(void);

/* Reads the description from `input`, up to an empty line. */
void target_read(int input);

/* The value of a key; "" and 0 for a key that the description does not have. */
const char *target_text(const char *key);
long target_number(const char *key);

/* The path of a decoy, given below the directory of decoys; an absolute path stays. At most eight results are
 * valid at a time. */
const char *target_path(const char *relative);

/* True when `data` contains the marker. */
bool target_has_marker(const void *data, size_t length);

/* Opens a file, which is proof enough, so that nothing of the user's is read. GOT_OUT, with the path noted,
 * unless it fails or the file is masked. */
enum outcome target_open(const char *path, int flags);

/* Writes to an existing file. False when it cannot. */
bool target_write(const char *path, const char *text);

/* GOT_OUT when what is at the offset of an open file contains the marker. */
enum outcome target_read_at(int fd, off_t offset);

/* The same at the beginning of a file, by its path, which is noted. */
enum outcome target_read_marker(int directory, const char *path);

/* Notes the path by which the attempt got out, so that `hutch prove` can tell whether an option opened it. */
void target_note_path(const char *path);
const char *target_noted_path(void);

/* For a call whose arguments cannot succeed: GOT_OUT when the kernel went past its permission check. Every
 * errno but EPERM, ENOSYS and EACCES shows that. `result` is the call's. */
enum outcome out_if_reached(long result);

#endif
