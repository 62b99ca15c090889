/*
 * What happens at the moments of a run beside training itself: a table, one row each,
 * that the trainer calls and knows nothing else of. HOOKS of the configuration adds
 * commands, which are the last row (train/hook_commands.h).
 *
 *   start        data, device and weights are there, the first batch is not
 *   step         after each update
 *   line         a line of the log is due: t->line
 *   epoch        an epoch is finished, validation included: t->epoch_line
 *   eval         a validation is whole: t->val
 *   checkpoint   a file is written: t->checkpoint
 *   end          no more batches, for whatever reason but a die(): t->code
 *
 * (enum HOOK_... of config/choices.h.) Rows are called in the order of the table. Of
 * several processes each calls them at the same places, but for checkpoint, which the
 * first has alone: a row of that moment may not wait for the others.
 *
 * A new one is a file that ends with its struct hook, and a row in hooks.c.
 */
#ifndef TRAIN_HOOKS_H
#define TRAIN_HOOKS_H

#include "config/choices.h"

struct trainer;

struct hook {
    const char *name;
    void (*at[HOOK_MOMENTS])(struct trainer *t); /* NULL: nothing */
    void (*any)(struct trainer *t, int moment);  /* at all of them; or NULL */
};

/* In trainer_window.c, output_hooks.c, trainer_judge.c, trainer_saves.c, ... */
extern const struct hook hook_ema, hook_result, hook_lines, hook_log, hook_outputs,
    hook_images, hook_best, hook_plateau, hook_checkpoints, hook_rotation,
    hook_early_stop, hook_progress, hook_report, hook_commands, hook_beside,
    hook_beside_end;

/* All rows, in their order; NULL at the end. */
extern const struct hook *const hooks[];

void hooks_call(struct trainer *t, int moment);

#endif
