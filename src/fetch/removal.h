/* SPDX-License-Identifier: Apache-2.0
 *
 * Removing a folder with everything in it, whoever made it: however deep, whatever its modes, no link is
 * followed and nothing outside the folder is touched.
 */
#ifndef HUTCH_FETCH_REMOVAL_H
#define HUTCH_FETCH_REMOVAL_H

/* Removes `name` in the folder `parent`. 0, also when it is not there; or a negative errno. */
int removal_remove(int parent, const char *name);

#endif
