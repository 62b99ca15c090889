/* Validation within a run, and which weights were best. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "train/pictures.h"
#include "train/trainer_run.h"

static void paint(struct trainer *t)
{
    char *dir = path_join(t->output.dir, "pictures");
    char *prefix = pictures_of_epoch(t->state.epoch);
    struct pictures p = {
        .dir = dir,
        .prefix = prefix,
        .n = (int)t->cfg->log.pictures,
        .events = t->output.tensorboard ? &t->output.events : NULL,
        .step = output_axis(&t->output, t->step),
    };

    (void)pictures_write(&p, &t->session, &t->feed);
    free(dir);
    free(prefix);
}

/* False: cut off. */
static bool validate(struct trainer *t)
{
    if (!evaluate(&t->session, &t->feed, "Val", &t->evaluation))
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
    output_val(&t->output, &t->val);
    paint(t);
    return true;
}

/* Is this the best so far, with the weights or with their average? */
static bool judge(struct trainer *t)
{
    enum score which = score_best(t->session.plan.model->family->task);
    double score = t->val.val.value[which];
    bool best;

    if (t->val.ema.value[which] > score)
        score = t->val.ema.value[which];
    best = score > t->state.best_score;
    t->best_score_before = t->state.best_score;
    t->best_epoch_before = t->state.best_epoch;
    if (best) {
        t->state.best_score = score;
        t->state.best_epoch = t->state.epoch;
    }
    if (t->state.best_score < 0)
        return false; /* no validation has had anything to count */
    if (which == SCORE_MIOU)
        log_info("Max mIoU: %.4f (epoch %lld)", t->state.best_score,
                 (long long)t->state.best_epoch);
    else
        log_info("Max accuracy: %.2f%% (epoch %lld)", t->state.best_score,
                 (long long)t->state.best_epoch);
    return best;
}

bool trainer_validate(struct trainer *t, bool *best)
{
    if (!validate(t))
        return false;
    *best = judge(t);
    return true;
}

void trainer_best_unsaved(struct trainer *t)
{
    t->state.best_score = t->best_score_before;
    t->state.best_epoch = t->best_epoch_before;
}
