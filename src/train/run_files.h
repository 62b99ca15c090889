/*
 * Files in a run's folder for its report (page/page.h), in addition to those of
 * train/output.h:
 *
 *   settings.csv   each key: value, default, what set it
 *   model.csv      each layer: op, output, parameters, MACs per image
 *   report/        report on the last validation (train/report.h), and the worst images
 *   result.json    the output of --result (train/result.h) of the last process
 *   report.html    all of it as one page
 *
 * A file that cannot be written causes a warning and does not end the run. LOG.REPORT
 * False disables them all.
 */
#ifndef TRAIN_RUN_FILES_H
#define TRAIN_RUN_FILES_H

#include "session/session.h"
#include "train/report.h"
#include "train/result.h"

/* Writes settings.csv and model.csv. */
void run_files_begin(const char *dir, const struct session *s);

/* Writes report/ after a complete evaluation; sorts the items of `r` by loss. */
void run_files_report(const char *dir, struct report *r, const struct config *cfg);

/* Writes result.json and report.html at the end. Keeps a result.json with the same step,
 * scores, and exit code unless `trained`: this process has done a step. `error`: reason
 * of a failure, or NULL. */
void run_files_end(const char *dir, const struct result *r, int code, const char *error,
                   bool trained);

#endif
