/* SPDX-License-Identifier: Apache-2.0
 *
 * Removes a directory with everything in it, however deep and whatever the modes. It follows no link and
 * changes nothing outside of the directory, which a sandbox may have filled.
 */
#ifndef HUTCH_LIB_TREE_REMOVE_H
#define HUTCH_LIB_TREE_REMOVE_H

/* Removes the directory `name` of `parent`. 0, also when it does not exist, or a negative errno. */
int tree_remove(int parent, const char *name);

#endif
