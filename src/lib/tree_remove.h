/* SPDX-License-Identifier: Apache-2.0
 *
 * Removing a directory with everything in it, whoever made it: however deep, whatever its modes, no link is
 * followed and nothing outside the directory is touched.
 */
#ifndef HUTCH_LIB_TREE_REMOVE_H
#define HUTCH_LIB_TREE_REMOVE_H

/* Removes `name` in the directory `parent`. 0, also when it is not there; or a negative errno. */
int tree_remove(int parent, const char *name);

#endif
