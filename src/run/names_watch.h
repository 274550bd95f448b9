/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows the configuration of the host's resolver while a sandbox runs, because a laptop changes networks.
 * The supervisor reads the files itself. From names_watch_confine() on it can open nothing but the files of
 * the directories that had them at the start. Nothing that is read here comes from the server.
 */
#ifndef HUTCH_RUN_NAMES_WATCH_H
#define HUTCH_RUN_NAMES_WATCH_H

#include "box/box.h"

enum {
        NAMES_SETTLE_MS = 100,   /* from the first event to the look: a change usually comes as several */
        NAMES_MISSING_MS = 1000, /* between two looks while there is no such file */
        NAMES_LOOK_MS = 10000,   /* between two looks where inotify is not available */
        NAMES_WATCHES_MAX = 6,   /* three for each of the two files */
};

struct names_watch {
        int inotify; /* or -1 */
        int watches[NAMES_WATCHES_MAX];
        size_t count;
        bool missing; /* a path leads to no file, so the watches may not report that one appears there */
        char *told;   /* what was read last and believed */
        bool doubted; /* the last look found no name server any more and was not believed */
};

#define NAMES_WATCH_NONE ((struct names_watch){.inotify = -1})

/* Makes the watches of the host's files, then reads them into watch->told. `socket`: see host_names_read().
 */
void names_watch_begin(struct names_watch *watch, const struct network *network, int socket);

/* Adds the watches that report a change in the directory of `path` (absolute), in the directory of the file
 * that it leads to, or of that file. A link between the two is not watched. What cannot be watched is
 * skipped. */
void names_watch_add(struct names_watch *watch, const char *path);

/* Reads the events, each of which asks for a look. */
void names_watch_forget_events(const struct names_watch *watch);

/* Makes the watches anew, which forgets the events so far. */
void names_watch_renew(struct names_watch *watch);

/* Reads what the files say now. True when that has changed: watch->told has it. Files that cannot be opened
 * any more change nothing. A resolv.conf that lost its name servers is usually about to be replaced, and
 * without one every new connection fails. So the change is doubted, and believed by the next look, which the
 * caller makes NAMES_SETTLE_MS later. */
bool names_watch_look(struct names_watch *watch, const char *resolv_conf, const char *hosts,
                      const struct network *network, int socket);

/* How many milliseconds later the next look is due, or -1 when only an event asks for one. */
int names_watch_next_look(const struct names_watch *watch);

/* Restricts the process for good, by Landlock, to opening files of these directories. 0, or a negative errno:
 * then the files can no longer be followed. */
int names_watch_confine(void);

void names_watch_end(struct names_watch *watch);

#endif
