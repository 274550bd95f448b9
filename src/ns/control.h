/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between the supervisor and pid 1 of a sandbox, on a SOCK_SEQPACKET pair. The socket is also
 * the lifeline: only the supervisor has the other end open, so pid 1 sees a hang-up however the supervisor
 * ends.
 */
#ifndef HUTCH_NS_CONTROL_H
#define HUTCH_NS_CONTROL_H

#include <stdint.h>

enum control_type {
        /* from the supervisor */
        CONTROL_SIGNAL = 1, /* value: the signal to send to the server's process group */
        CONTROL_CONTINUE,   /* value: 1 to give the terminal to the server's group again */
        CONTROL_SETTLE,     /* give back the memory that only the start needed */
        /* from pid 1 */
        CONTROL_STOPPED, /* value: the signal that stopped the server */
        CONTROL_EXITED,  /* value: the server's wait status; nothing follows */
};

struct control_message {
        uint32_t type;
        int32_t value;
};

#endif
