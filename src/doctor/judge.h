/* SPDX-License-Identifier: Apache-2.0
 *
 * From facts to findings: what this machine can enforce, what is missing, and the exact fix. A pure function
 * of the facts, so that tests can check each finding on any machine.
 */
#ifndef HUTCH_DOCTOR_JUDGE_H
#define HUTCH_DOCTOR_JUDGE_H

#include "doctor/facts.h"

enum finding_state {
        FINDING_OK,
        FINDING_DEGRADED, /* works, with less than it could have */
        FINDING_MISSING,
};

struct finding {
        const char *key; /* stable, because scripts read it */
        enum finding_state state;
        bool used;    /* false: no option of this version uses it */
        char *detail; /* one printable line */
        char *fix;    /* what to do, one printable line; NULL if nothing helps or `detail` says it */
};

enum { FINDINGS_MAX = 24 };

struct findings {
        struct finding rows[FINDINGS_MAX];
        size_t count;
};

/* Judges the facts. Whether `hutch mcp` runs here is facts->plain.started, whatever the findings are. The
 * caller frees *findings with findings_free(). */
void judge_facts(const struct facts *facts, struct findings *findings);

void findings_free(struct findings *findings);

/* "ok", "degraded", "missing" */
const char *finding_state_name(enum finding_state state);

#endif
