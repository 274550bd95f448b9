/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchdog over memory, where no control group bounds it: a process outside the sandbox that measures
 * what the sandbox holds (memory_use.h) and tells the supervisor, which ends it. Between two looks more may
 * be taken than was permitted. The supervisor cannot do this itself: its filter lets it open nothing.
 */
#ifndef HUTCH_ENFORCE_WATCHDOG_H
#define HUTCH_ENFORCE_WATCHDOG_H

#include "box/box.h"

#include <sys/types.h>

struct watchdog {
        int sandbox;   /* the sandbox's end: for the launch, which sends what is to be looked at; else -1 */
        int places;    /* the end that the watchdog gets, before watchdog_start(); else -1 */
        int talk;      /* the supervisor's end; readable when there is something to say; -1: there is none */
        pid_t process; /* 0: none */
};
#define WATCHDOG_NONE                                                                                        \
        (struct watchdog)                                                                                    \
        {                                                                                                    \
                .sandbox = -1, .places = -1, .talk = -1                                                      \
        }

enum watchdog_event {
        WATCHDOG_NOTHING,
        WATCHDOG_MEMORY,    /* over --memory, by event.value bytes in all */
        WATCHDOG_BLIND,     /* it could not measure: the limit does not hold any more */
        WATCHDOG_PROCESSES, /* --pids is used up; said once */
        WATCHDOG_DISK,      /* --disk is used up; said once */
        WATCHDOG_GONE,      /* it has ended */
};

struct watchdog_report {
        uint32_t event;
        uint32_t unused;
        uint64_t value;
};

/* Before the launch: makes the sockets. 0, or a negative errno. */
int watchdog_prepare(struct watchdog *watchdog);

/* Once the server was executed, main thread only, before the supervisor's filter: starts the process. 0, or a
 * negative errno. */
int watchdog_start(struct watchdog *watchdog, const struct limits *limits);

/* Takes one report. */
enum watchdog_event watchdog_read(struct watchdog *watchdog, uint64_t *value);

/* Ends the process and waits for it. */
void watchdog_end(struct watchdog *watchdog);

#endif
