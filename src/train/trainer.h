/*
 * Training from a configuration to its last epoch, and evaluation of what came out.
 *
 *   return trainer_train(cfg, "result.json");      exit code
 *
 * Epochs: train, validate (EVAL_FREQ), save (SAVE_FREQ, and each new best). Every update
 * leaves a snapshot of its metrics, which is read when it is there (at once, except on a
 * GPU); every PRINT_FREQ-th makes a line of the log. A signal is noticed after each
 * batch, in validation, too; the run saves and ends with TRAIN.SIGNAL_EXIT_CODE or 128 +
 * the signal. Data that are damaged beyond DATA.MAX_BAD_SHARE end it in the same way,
 * with exit code 1. AMP.MAX_SKIPS skipped updates in a row end it without a checkpoint.
 *
 * What a run does from an update on is a function of the configuration, of the files and
 * of what a checkpoint holds: a run that is killed at any point and started again ends
 * with the same weights, bit for bit (on one machine with one number of threads).
 */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "config/config.h"

/* `result`: where to write the result, or NULL. A class count that nothing has set
 * becomes that of the data (feed_open). */
int trainer_train(struct config *cfg, const char *result);

/* MODEL.RESUME or MODEL.PRETRAINED over the validation split; never trains. `report`: the
 * folder of train/report.h, or NULL. */
int trainer_eval(struct config *cfg, const char *result, const char *report);

/*
 * Evaluates the checkpoints that training names over this socket (train/beside.h), until
 * training closes it.
 */
int trainer_eval_beside(struct config *cfg, const char *socket);

#endif
