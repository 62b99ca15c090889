/*
 * What a run leaves in its folder for its report (page/page.h), beside train/output.h:
 *
 *   settings.csv   each key: value, default, what set it
 *   model.csv      the layers: op, output, parameters, MACs of an image
 *   report/        train/report.h of the last validation, and the worst images
 *   result.json    what --result writes (train/result.h), of the last process
 *   report.html    all of it as one page
 *
 * A file that cannot be written is a warning: no reason to end a run. LOG.REPORT False:
 * none of them.
 */
#ifndef TRAIN_RUN_FILES_H
#define TRAIN_RUN_FILES_H

#include "session/session.h"
#include "train/report.h"
#include "train/result.h"

/* settings.csv and model.csv. */
void run_files_begin(const char *dir, const struct session *s);

/* report/, of a whole evaluation. */
void run_files_report(const char *dir, struct report *r, const struct config *cfg);

/* At the end. result.json, unless this process has done no update and there is one of the
 * same step, scores, and exit code, and report.html. `error`: why the run failed, or NULL. */
void run_files_end(const char *dir, const struct result *r, int code, const char *error,
                   bool trained);

#endif
