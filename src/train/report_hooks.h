/* Functions that training calls for its report (train/run_files.h), besides
 * hook_report. */
#ifndef TRAIN_REPORT_HOOKS_H
#define TRAIN_REPORT_HOOKS_H

#include "train/trainer_run.h"

/* Validates; the last validation of a run also writes report/. Returns false if it was
 * interrupted. */
bool report_evaluate(struct trainer *t);

/* Call after the last hook. If the resumed run was already finished, but report/ is
 * missing because of a power failure or a full disk, validates again to write it. */
void report_catch_up(struct trainer *t);

/* Writes result.json and report.html; call when t->result is complete. If the run dies,
 * die() writes them (struct result). */
void report_end(const struct trainer *t);

#endif
