/* SPDX-License-Identifier: Apache-2.0
 *
 * From facts to findings: what this machine can enforce, what is missing, and the exact fix. A pure function
 * of the facts: it looks at nothing itself, so that every judgement can be tested on any machine.
 */
#ifndef HUTCH_DOCTOR_JUDGE_H
#define HUTCH_DOCTOR_JUDGE_H

#include "doctor/facts.h"

enum finding_state {
        FINDING_OK,
        FINDING_DEGRADED, /* it works with less than it could */
        FINDING_MISSING,
};

struct finding {
        const char *key; /* stable: scripts read it */
        enum finding_state state;
        bool used;    /* false: no option of this version uses it */
        char *detail; /* one printable line */
        char *fix;    /* what to do, one printable line; NULL when there is nothing, or detail says it */
};

enum { FINDINGS_MAX = 24 };

struct findings {
        struct finding rows[FINDINGS_MAX];
        size_t count;
};

/* Whether `hutch mcp` runs here is facts->plain.started, whatever the findings are. Free *findings. */
void judge_facts(const struct facts *facts, struct findings *findings);

void findings_free(struct findings *findings);

/* "ok", "degraded", "missing" */
const char *finding_state_name(enum finding_state state);

#endif
