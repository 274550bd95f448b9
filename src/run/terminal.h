/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's terminal under `hutch run`. The server's process group is a job of it, as a shell's would be:
 * keys reach the server alone, and hutch takes the terminal back when the server stops or ends.
 */
#ifndef HUTCH_RUN_TERMINAL_H
#define HUTCH_RUN_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
        int descriptor; /* 1, or -1: nothing is passed through */
        bool passed[3]; /* which of 0, 1, 2 are that terminal and go to the server as they are */
        bool has_modes;
        struct termios modes; /* as they were at the start */
};

/* Standard output decides: only when it is this session's terminal is anything passed through. With output in
 * a pipe the terminal stays with hutch's own group, which the other end of the pipe belongs to. */
struct terminal terminal_find(void);

/* Whether hutch's process group is the one that the keys go to. */
bool terminal_is_foreground(const struct terminal *terminal);

/* Puts the modes back that the terminal had at the start: for a server that was killed and could not. One
 * that ends by itself leaves what it set (`hutch run -- stty -echo`). SIGTTOU must be blocked. */
void terminal_restore(const struct terminal *terminal);

/* Makes hutch's process group that one again; SIGTTOU must be blocked. */
void terminal_take_back(const struct terminal *terminal);

#endif
