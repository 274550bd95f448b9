/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run ended, and the exit status that says so. Pure decisions: the supervisor collects the facts.
 */
#ifndef HUTCH_RUN_ENDING_H
#define HUTCH_RUN_ENDING_H

#include <stdbool.h>

enum ending {
        ENDING_FAILED,     /* the command never ran */
        ENDING_EXITED,     /* the server exited by itself */
        ENDING_SIGNALLED,  /* a signal that hutch did not send killed the server */
        ENDING_TIMED_OUT,  /* --timeout */
        ENDING_STOPPED,    /* a signal told hutch to stop */
        ENDING_ABANDONED,  /* the client had gone, and hutch stopped the server */
        ENDING_KILLED,     /* something outside killed pid 1 of the sandbox */
        ENDING_LIMIT,      /* a limit was used up, so hutch or the kernel killed the sandbox */
        ENDING_UNENFORCED, /* hutch killed the sandbox, because something required no longer held */
};

struct ending_facts {
        bool limit_reached; /* a limit ended the sandbox */
        bool unenforced;    /* what was asked for did not hold to the end */
        bool timed_out;     /* --timeout passed */
        int stop_signal;    /* the signal that told hutch to stop, or 0 */
        bool exited;        /* pid 1 reported how the server ended, in wait_status */
        int wait_status;
        bool abandoned; /* hutch sent SIGTERM on its own after the client had gone */
};

/* The gravest fact decides: an exit status that the server chose must not hide a limit or a lost promise. */
enum ending ending_judge(const struct ending_facts *facts);

/* The exit status of hutch. *signal_number becomes the signal that ended the run, or 0. */
int ending_status(enum ending ending, const struct ending_facts *facts, int *signal_number);

/* The word that `hutch logs` shows. */
const char *ending_name(enum ending ending);

#endif
