/*
 * A table of hooks: everything that happens at certain moments of a run besides training
 * itself. The trainer calls them and knows nothing else about them. The last row runs the
 * commands of HOOKS (train/hook_commands.h).
 *
 *   start        data, device, and weights are ready; before the first batch
 *   step         after each step
 *   line         a log line is due: t->line
 *   epoch        an epoch is finished, including validation: t->epoch_line
 *   eval         a validation is complete: t->val
 *   checkpoint   a file is written: t->checkpoint
 *   end          no more batches, for any reason except die(): t->code
 *
 * (enum HOOK_... of config/choices.h.) Hooks are called in the order of the table. All
 * processes call them at the same places, except `checkpoint`, which only the first
 * process calls: a hook at that moment must not wait for the others.
 *
 * A new hook is a file that ends with its struct hook, and a row in hooks.c.
 */
#ifndef TRAIN_HOOKS_H
#define TRAIN_HOOKS_H

#include "config/choices.h"

struct trainer;

struct hook {
    const char *name;
    void (*run[HOOK_MOMENTS])(struct trainer *t); /* may be NULL */
    void (*any)(struct trainer *t, int moment);   /* called at all moments; may be NULL */
};

/* Defined in trainer_*.c, report_hooks.c, and hook_commands.c. */
extern const struct hook hook_ema, hook_result, hook_lines, hook_log, hook_outputs,
    hook_images, hook_best, hook_plateau, hook_checkpoints, hook_rotation,
    hook_early_stop, hook_progress, hook_report, hook_commands, hook_background,
    hook_background_end;

/* All hooks in calling order, ended by NULL. */
extern const struct hook *const hooks[];

void hooks_call(struct trainer *t, int moment);

#endif
