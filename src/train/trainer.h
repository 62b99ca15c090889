/*
 * Runs training from a configuration to the last epoch, and evaluation of the result.
 *
 *   return trainer_train(cfg, "result.json");      exit code
 *
 * Each epoch trains, validates (EVAL_FREQ), and saves (SAVE_FREQ, and each new best).
 * Every step produces a snapshot of its metrics, which is read when it is ready
 * (immediately, except on a GPU); every PRINT_FREQ-th produces a log line. Signals are
 * checked after each batch, also in validation; the run then saves and exits with
 * TRAIN.SIGNAL_EXIT_CODE or 128 + signal. If more data than DATA.MAX_BAD_SHARE is
 * damaged, it also saves, and exits with code 1. AMP.MAX_SKIPS skipped steps in a row end
 * it without a checkpoint.
 *
 * Every step is a function of the configuration, the files, and the state in a
 * checkpoint: a run that is killed at any point and resumed ends with the same weights,
 * bit for bit (on the same machine with the same number of threads).
 */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "config/config.h"

/* Trains and returns the exit code. `result`: file for the result, or NULL. Sets an unset
 * MODEL.NUM_CLASSES to the number of classes in the data (feed_open). */
int trainer_train(struct config *cfg, const char *result);

/* Evaluates MODEL.RESUME or MODEL.PRETRAINED on the validation split and returns the exit
 * code. `report`: folder for train/report.h, or NULL. */
int trainer_eval(struct config *cfg, const char *result, const char *report);

/*
 * Evaluates the checkpoints that training announces on this socket (train/background.h)
 * until training closes it, and returns the exit code.
 */
int trainer_eval_watch(struct config *cfg, const char *socket);

#endif
