/*
 * Evaluation of a segmentation model on whole validation images, in windows (windows.h):
 * label maps are compared in the size of their files, as mmsegmentation does.
 */
#ifndef TRAIN_WINDOWS_EVAL_H
#define TRAIN_WINDOWS_EVAL_H

#include "config/config.h"

/* Evaluates the weights at `path` (EMA or raw: train/raw_or_ema.h). `result` and
 * `report` are as for trainer_eval, or NULL. Returns the exit code. */
int windows_eval(struct config *cfg, const char *path, const char *result,
                 const char *report);

#endif
