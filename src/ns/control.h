/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between the supervisor and pid 1 of a sandbox, on a SOCK_SEQPACKET pair. The socket is also
 * the lifeline: only the supervisor has the other end open, so pid 1 sees a hang-up however the supervisor
 * ends. Pid 1 must never wait for the supervisor, which a terminal can stop. So what it sends before an
 * answer is little enough to fit into the socket.
 */
#ifndef HUTCH_NS_CONTROL_H
#define HUTCH_NS_CONTROL_H

#include <stdint.h>

enum { CONTROL_KILL_AFTER_MS = 2000 }; /* from a polite signal to the end of everything inside */

enum control_type {
        CONTROL_NONE,
        /* from the supervisor */
        CONTROL_SIGNAL,   /* value: the signal to send to the server's process group */
        CONTROL_CONTINUE, /* value: 1 to give the terminal to the server's group again */
        CONTROL_SETTLE,   /* give back the memory that only the start needed */
        /* from pid 1 */
        CONTROL_STOPPED, /* value: the signal that stopped the server; until CONTROL_CONTINUE sent once */
        CONTROL_TIMEOUT, /* the time of --timeout is over, and the server has had SIGTERM */
        CONTROL_PIDS,    /* --pids is used up; sent once */
        CONTROL_DISK,    /* a memory file system is full; sent once */
        CONTROL_EXITED,  /* value: the server's wait status; nothing follows */
        CONTROL_MEMORY,  /* value: the MiB that the sandbox holds, over --memory; nothing follows */
        CONTROL_BLIND,   /* the memory cannot be measured, so its limit does not hold; nothing follows */
};

struct control_message {
        uint32_t type;
        int32_t value;
};

#endif
