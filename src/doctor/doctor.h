/* SPDX-License-Identifier: Apache-2.0
 *
 * `hutch doctor`: what this machine can enforce, as a table that fits on a screen, or as JSON.
 *
 * Theory of operation. Three steps that share only plain data: facts.h reads the machine and starts real
 * sandboxes (trial.h), judge.h turns the facts into findings, and this module writes the findings. A sandbox
 * that started is the proof; files and settings only explain why one did not start. Everything that doctor
 * reads may have been written by others, so each finding is one printable line. doctor changes nothing.
 */
#ifndef HUTCH_DOCTOR_DOCTOR_H
#define HUTCH_DOCTOR_DOCTOR_H

#include "doctor/judge.h"

#include <stdio.h>

/* Examines the machine and writes the findings to `out`. `settled` as in facts_try(). Sets *runs to whether
 * `hutch mcp` runs here. Returns false if `out` did not take everything. Main thread only. */
bool doctor_run(const struct error *settled, bool json, FILE *out, bool *runs);

/* The two formats. `width`: the columns to wrap at. `colours`: use the terminal's colours. */
bool doctor_write_table(const struct findings *findings, bool runs, unsigned width, bool colours, FILE *out);
bool doctor_write_json(const struct findings *findings, bool runs, FILE *out);

#endif
