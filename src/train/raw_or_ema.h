/*
 * A checkpoint has raw weights and may have EMA weights (tensors "ema.NAME"). Programs that
 * use a model read the ones that scored higher, so that a file has the score with which
 * training announced it.
 */
#ifndef TRAIN_RAW_OR_EMA_H
#define TRAIN_RAW_OR_EMA_H

#include "io/weights_file.h"

/*
 * True if the file is a checkpoint whose raw weights scored higher than its EMA weights in
 * its last validation, by the score that selects the best checkpoint. False for equal
 * scores, without a validation, and for files of other programs.
 */
bool raw_is_better(const struct weights_file *file);

/* Returns which weights were read, for the log: " from the EMA weights", or "". */
const char *raw_or_ema_source(const struct weights_file *file, bool ema);

#endif
