#include "train/hooks.h"

#include <stddef.h>

/*
 * The order matters: an EMA is there before it is saved, scores are judged before the
 * rate and the checkpoints ask for the best, an evaluator has its own name of a file
 * before the file may go, its last results are waited for when all is written, and
 * commands see all files.
 */
const struct hook *const hooks[] = {
    &hook_ema,        &hook_result,      &hook_lines,      &hook_log,
    &hook_outputs,    &hook_images,      &hook_best,       &hook_plateau,
    &hook_beside,     &hook_checkpoints, &hook_beside_end, &hook_rotation,
    &hook_early_stop, &hook_progress,    &hook_report,     &hook_commands,
    NULL,
};

void hooks_call(struct trainer *t, int moment)
{
    for (int i = 0; hooks[i]; i++) {
        if (hooks[i]->at[moment])
            hooks[i]->at[moment](t);
        if (hooks[i]->any)
            hooks[i]->any(t, moment);
    }
}
