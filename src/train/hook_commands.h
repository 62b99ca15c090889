/*
 * HOOKS: runs the user's commands at the moments of train/hooks.h, in the first process
 * only. Their output goes to stderr. If a command cannot be started, fails, or exceeds
 * its timeout, the log has a warning and the run continues. A signal to the run kills the
 * commands that it waits for, except those of `end`; the end of the run kills commands in
 * the background.
 *
 * Their environment has these variables if the values are known:
 *
 *   TRAINC_HOOK            start, step, line, epoch, eval, checkpoint, end
 *   TRAINC_OUTPUT          the run's folder
 *   TRAINC_MODEL, TRAINC_TAG
 *   TRAINC_EPOCH, TRAINC_EPOCHS    epochs done, and in total
 *   TRAINC_STEP, TRAINC_STEPS      steps done, and in total
 *   TRAINC_LR              learning rate of the last step
 *   TRAINC_TRAIN_LOSS, TRAINC_TRAIN_TOP1 (or _ACC), TRAINC_GRAD_NORM, TRAINC_LOSS_SCALE,
 *   TRAINC_IMAGES_PER_SECOND       as in the last log line; at epoch, for the epoch
 *   TRAINC_VAL_LOSS, TRAINC_VAL_TOP1, TRAINC_EMA_TOP1, ...   from the last validation
 *   TRAINC_BEST_TOP1 (or _MIOU), TRAINC_BEST_EPOCH
 *   TRAINC_CHECKPOINT      the newest file that this process wrote
 *   TRAINC_EXIT, TRAINC_ERROR      at end: the exit code, and the reason of a failure
 *
 * Variables that a launcher sets for its processes are removed, because commands are not
 * processes of the run.
 */
#ifndef TRAIN_HOOK_COMMANDS_H
#define TRAIN_HOOK_COMMANDS_H

#include "base/command.h"
#include "config/config.h"

struct hook_commands {
    struct command *command; /* one per item of HOOKS */
};

/* Reports mistakes in HOOKS that the schema does not detect. */
void hook_commands_check(const struct config *cfg, struct problems *p);

void hook_commands_init(struct hook_commands *h, const struct config *cfg);
void hook_commands_release(struct hook_commands *h);

#endif
