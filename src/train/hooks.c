#include "train/hooks.h"

#include <stddef.h>

/*
 * The order matters: the EMA is computed before it is saved; scores are judged before the
 * learning rate and the checkpoints depend on the best one; an evaluator links a file
 * before rotation may delete it; its last results are awaited after all files are
 * written; and commands see all files.
 */
const struct hook *const hooks[] = {
    &hook_ema,
    &hook_result,
    &hook_lines,
    &hook_log,
    &hook_outputs,
    &hook_images,
    &hook_best,
    &hook_plateau,
    &hook_background,
    &hook_checkpoints,
    &hook_background_end,
    &hook_rotation,
    &hook_early_stop,
    &hook_progress,
    &hook_report,
    &hook_commands,
    NULL,
};

void hooks_call(struct trainer *t, int moment)
{
    for (int i = 0; hooks[i]; i++) {
        if (hooks[i]->run[moment])
            hooks[i]->run[moment](t);
        if (hooks[i]->any)
            hooks[i]->any(t, moment);
    }
}
