/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's terminal under `hutch run`. The server's process group is a job of this terminal, as a job of
 * a shell is: keys reach the server alone, and hutch takes the terminal back when the server stops or ends.
 */
#ifndef HUTCH_RUN_TERMINAL_H
#define HUTCH_RUN_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
        int descriptor; /* 1, or -1: no terminal is passed to the server */
        bool passed[3]; /* which of 0, 1, 2 are this terminal and go to the server as they are */
        bool has_modes;
        bool lent;            /* hutch had the foreground and gave it to the server */
        struct termios modes; /* at the start of the run */
};

/* Finds the terminal of this session if standard output is it. When standard output is a pipe, the terminal
 * stays with hutch's own process group, to which the reader of the pipe belongs too. */
struct terminal terminal_find(void);

/* True when hutch's process group is the foreground, and so the server's is to become it. Remembers that. */
bool terminal_lend(struct terminal *terminal);

/* Restores the modes that the terminal had at the start, for a server that was killed and could not do so. A
 * server that exits by itself leaves the modes that it set (`hutch run -- stty -echo`). SIGTTOU must be
 * blocked. */
void terminal_restore(const struct terminal *terminal);

/* Makes hutch's process group the foreground again, if the terminal was lent; otherwise it belongs to some
 * other job by now. SIGTTOU must be blocked. */
void terminal_take_back(struct terminal *terminal);

#endif
