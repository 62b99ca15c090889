/* Validation within a run. */
#include "train/hooks.h"
#include "train/report_hooks.h"
#include "train/trainer_run.h"

bool trainer_validate(struct trainer *t)
{
    if (!report_evaluate(t))
        return false;
    evaluate_log(&t->evaluation, &t->feed.classes);
    t->state.val = evaluate_scores(&t->evaluation, SESSION_RAW);
    t->state.ema = evaluate_scores(&t->evaluation, SESSION_EMA);
    t->state.val_iou = segmentation_iou(t->evaluation.pixels[SESSION_RAW]);
    t->state.val_step = t->step;
    t->val = (struct val_line){
        .step = t->step,
        .epoch = t->state.epoch,
        .val = t->state.val,
        .ema = t->state.ema,
        .classes = t->evaluation.pixels[SESSION_RAW],
    };
    hooks_call(t, HOOK_EVAL);
    return true;
}
