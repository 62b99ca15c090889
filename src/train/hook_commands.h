/*
 * HOOKS: commands of the user's at the moments of train/hooks.h, started by the first
 * process alone. What they print goes to stderr. One that cannot be started, that fails
 * or that takes too long is one line of the log, and the run goes on; a signal to the run
 * ends all but those of `end`, and the end of the run those that it does not wait for.
 *
 * In their environment, where it is known:
 *
 *   TRAINC_HOOK            start, step, line, epoch, eval, checkpoint, end
 *   TRAINC_OUTPUT          the folder of the run
 *   TRAINC_MODEL, TRAINC_TAG
 *   TRAINC_EPOCH, TRAINC_EPOCHS    epochs done, and of the run
 *   TRAINC_STEP, TRAINC_STEPS      updates done, and of the run
 *   TRAINC_LR              of the last update
 *   TRAINC_TRAIN_LOSS, TRAINC_TRAIN_TOP1 (or _ACC), TRAINC_GRAD_NORM, TRAINC_LOSS_SCALE,
 *   TRAINC_IMAGES_PER_SECOND       of the last line of the log; at epoch of the epoch
 *   TRAINC_VAL_LOSS, TRAINC_VAL_TOP1, TRAINC_EMA_TOP1, ...   of the last validation
 *   TRAINC_BEST_TOP1 (or _MIOU), TRAINC_BEST_EPOCH
 *   TRAINC_CHECKPOINT      the newest file that this process wrote
 *   TRAINC_EXIT, TRAINC_ERROR      at end: the exit code, and why if it is one of failure
 *
 * What a launcher has put there for its processes is not: a command is none of them.
 */
#ifndef TRAIN_HOOK_COMMANDS_H
#define TRAIN_HOOK_COMMANDS_H

#include "base/command.h"
#include "config/config.h"

struct hook_commands {
    struct command *command; /* of each item of HOOKS */
};

/* Mistakes of HOOKS that its rows do not show. */
void hook_commands_check(const struct config *cfg, struct problems *p);

void hook_commands_init(struct hook_commands *h, const struct config *cfg);
void hook_commands_release(struct hook_commands *h);

#endif
