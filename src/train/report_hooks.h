/* What training calls for its report (train/run_files.h), beside the row hook_report. */
#ifndef TRAIN_REPORT_HOOKS_H
#define TRAIN_REPORT_HOOKS_H

#include "train/trainer_run.h"

/* Validates. The last validation of a run also says what it got wrong, in report/. False:
 * cut off. */
bool report_evaluate(struct trainer *t);

/* After the last hook. A run that was done already, whose report/ a power loss or a full disk
 * has cost, is validated for it. */
void report_catch_up(struct trainer *t);

/* Once t->result is whole: result.json and report.html. Of a run that ends in die() both
 * are written then (struct result). */
void report_end(const struct trainer *t);

#endif
