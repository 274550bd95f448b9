/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch doctor`: what this machine can enforce, on one screen or as JSON.
 */
#ifndef HUTCH_DOCTOR_DOCTOR_H
#define HUTCH_DOCTOR_DOCTOR_H

#include "doctor/judge.h"

#include <stdio.h>

/* Examines the machine and writes the findings to `out`. `settled` as in facts_try(). *runs: `hutch mcp` runs
 * here. False when `out` could not take it. Main thread only. */
bool doctor_run(const struct error *settled, bool json, FILE *out, bool *runs);

/* The two forms; `width`: the columns to wrap at, `colours`: with the terminal's colours. */
bool doctor_write_table(const struct findings *findings, bool runs, unsigned width, bool colours, FILE *out);
bool doctor_write_json(const struct findings *findings, bool runs, FILE *out);

#endif
