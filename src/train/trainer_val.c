/* Validation within a run, and which weights were best. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "dist/group.h"
#include "train/trainer_run.h"
#include "train/val_images.h"

static void paint(struct trainer *t)
{
    char *dir = path_join(t->output.dir, "images");
    char *prefix = val_images_of_epoch(t->state.epoch);
    struct val_images p = {
        .dir = dir,
        .prefix = prefix,
        .n = (int)t->cfg->log.images,
        .events = t->output.tensorboard ? &t->output.events : NULL,
        .step = output_axis(&t->output, t->step),
    };

    (void)val_images_write(&p, &t->session, &t->feed);
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
    if (dist_is_first())
        paint(t);
    return true;
}

double trainer_score(const struct trainer *t)
{
    enum score which = score_best(t->session.plan.model->family->task);
    double score = t->val.val.value[which];

    return t->val.ema.value[which] > score ? t->val.ema.value[which] : score;
}

/* Is this the best so far, with the weights or with their EMA? */
static bool judge(struct trainer *t)
{
    enum score which = score_best(t->session.plan.model->family->task);
    double score = trainer_score(t);
    bool best;

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
    trainer_collect(t); /* it may have to take back what was best */
    *best = judge(t);
    return true;
}

void trainer_collect(struct trainer *t)
{
    struct saves_end end = saves_wait(&t->saves);

    if (!end.any)
        return;
    t->save_failed = end.failed || end.best_lost;
    if (end.best_lost) {
        t->state.best_score = t->best_score_before;
        t->state.best_epoch = t->best_epoch_before;
    }
    if (end.diverged && !t->diverged)
        t->diverged =
            xasprintf("the run has diverged: '%s' is not finite; the checkpoints "
                      "are those of before update %lld",
                      end.diverged, (long long)t->saved_step);
    free(end.diverged);
}
