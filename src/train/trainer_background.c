/* Hooks for TRAIN.VALIDATE background: merge the evaluator's results into the run. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dist/group.h"
#include "train/hooks.h"
#include "train/signals.h"
#include "train/trainer_run.h"

bool trainer_validates_in_background(const struct trainer *t)
{
    return t->cfg->train.validate == VALIDATE_BACKGROUND;
}

bool trainer_background_due(const struct trainer *t)
{
    int64_t epoch = t->state.epoch;

    return trainer_validates_in_background(t) &&
           (epoch % t->cfg->train.eval_freq == 0 || epoch == t->cfg->train.epochs);
}

/* Adds the resumed checkpoint if the run was killed after writing it and before linking
 * it for the evaluator. */
static void add_newest(struct trainer *t)
{
    int64_t epochs = t->state.epoch;
    char *name = xasprintf("ckpt_epoch_%lld.safetensors", (long long)epochs - 1);
    char *path = path_join(t->output.dir, name);

    if (t->resumed && trainer_background_due(t) && t->state.val_step != t->step &&
        t->step == epochs * t->session.plan.updates_per_epoch &&
        !background_has(&t->background, t->step) && file_exists(path))
        background_add(&t->background, path, t->step, epochs - 1);
    free(name);
    free(path);
}

static void begin(struct trainer *t)
{
    int64_t upe = t->session.plan.updates_per_epoch;

    t->judged_epoch = upe > 0 ? t->state.val_step / upe - 1 : -1;
    if (!trainer_validates_in_background(t) || !dist_is_first())
        return;
    background_open(&t->background, t->cfg, t->output.dir, t->step,
                    t->session.plan.updates_per_epoch);
    add_newest(t);
}

static void log_result(const struct trainer *t, const struct background_result *r)
{
    bool segments = t->session.plan.task == MODEL_SEGMENT;
    bool percent = t->session.plan.task == MODEL_CLASSIFY;
    double ema = r->ema.value[score_of_task_best(t->session.plan.task)];
    const double *v = r->val.value;
    struct strbuf s = STRBUF_INIT;

    if (segments)
        strbuf_addf(&s, "mIoU %.4f acc %.4f", v[SCORE_MIOU], v[SCORE_ACC]);
    else
        scores_add_top(&s, &r->val);
    if (!s.len && scores_add_top(&s, &r->ema) && s.len) {
        strbuf_addstr(&s, " with the EMA weights,");
        ema = (double)NAN;
    }
    strbuf_addf(&s, "%sloss %.5f (", s.len ? " " : "", v[SCORE_LOSS]);
    if (!isnan(ema))
        strbuf_addf(&s, percent ? "EMA %.3f; " : "EMA %.4f; ", ema);
    log_info(" * epoch %lld: %s%lld images, %.1f s in the background)",
             epoch_shown(r->epoch), s.buf, (long long)r->images, r->seconds);
    strbuf_release(&s);
}

/* Converts the IoU of the classes to the form that output_val expects. */
static struct segmentation classes_of(const struct class_iou *iou)
{
    struct segmentation s = {.classes = iou->n};

    for (int k = 0; k < iou->n; k++)
        s.class_result[k].iou = iou->iou[k];
    return s;
}

static void merge(struct trainer *t, const struct background_result *r)
{
    enum score index = trainer_best(t);
    struct segmentation classes = classes_of(&r->iou);
    double score = r->val.value[index];
    struct val_line l = {.step = r->step,
                         .epoch = r->epoch,
                         .val = r->val,
                         .ema = r->ema,
                         .classes = r->iou.n ? &classes : NULL};

    t->state.val = r->val;
    t->state.ema = r->ema;
    t->state.val_iou = r->iou;
    t->state.val_step = r->step;
    t->merged = true;
    log_result(t, r);
    output_late(&t->output, &l);
    if (score_is_better(index, r->ema.value[index], score))
        score = r->ema.value[index];
    if (trainer_judge(t, score, r->epoch))
        background_link_best(&t->background, r->step);
    hook_commands.any(t, HOOK_EVAL);
}

/* Merges the results that have arrived, without waiting. */
static void receive_results(struct trainer *t)
{
    struct background_result r;

    while (t->background.dir && background_next(&t->background, &r))
        merge(t, &r);
}

/* Sends the first process's scores to all processes. */
static void broadcast_scores(struct trainer *t)
{
    struct {
        double best_score;
        int64_t best_epoch, judged_epoch;
    } now = {t->state.best_score, t->state.best_epoch, t->judged_epoch};

    if (!trainer_validates_in_background(t))
        return;
    dist_broadcast(&now, (int)sizeof(now));
    t->state.best_score = now.best_score;
    t->state.best_epoch = now.best_epoch;
    t->judged_epoch = now.judged_epoch;
}

static void at_epoch(struct trainer *t)
{
    receive_results(t);
    broadcast_scores(t);
}

static void at_checkpoint(struct trainer *t)
{
    if (t->to_validate)
        background_add(&t->background, t->checkpoint, t->saved_step,
                       (t->saved_step - 1) / t->session.plan.updates_per_epoch);
    t->to_validate = false;
    if (t->background.dir)
        background_end_save(&t->background);
}

static void log_waiting(const struct trainer *t, double *last_log)
{
    enum { EVERY = 60 };
    int left = t->background.dir ? background_pending(&t->background) : 0;

    if (!left || clock_now() - *last_log < EVERY)
        return;
    *last_log = clock_now();
    log_info("waiting for the background evaluator: %d checkpoint%s not validated yet",
             left, left == 1 ? " is" : "s are");
}

/* Waits for the remaining results, unless the run must stop. All processes must call
 * it. */
static void wait_for_results(struct trainer *t)
{
    double last_log = -HUGE_VAL;

    while (!trainer_asked_to_stop(t)) {
        receive_results(t);
        if (!dist_max(t->background.dir && !background_gave_up(&t->background) &&
                      background_pending(&t->background)))
            break;
        log_waiting(t, &last_log);
        (void)usleep(20000);
    }
    if (t->background.dir && background_pending(&t->background))
        log_warning("%d checkpoint%s not validated yet: resume the run to validate them",
                    background_pending(&t->background),
                    background_pending(&t->background) == 1 ? " is" : "s are");
    broadcast_scores(t);
}

/* Waits for the results and writes a checkpoint that contains them. */
static void at_end(struct trainer *t)
{
    if (!trainer_validates_in_background(t) || t->diverged)
        return;
    wait_for_results(t);
    if (dist_max(t->merged) && !t->replay && !t->diverged) {
        trainer_save(t, t->step % t->session.plan.updates_per_epoch == 0);
        trainer_collect(t);
    }
    if (!t->background.dir || t->code || !background_pending(&t->background))
        return;
    if (background_gave_up(&t->background))
        t->code = EXIT_FAILED;
    else if (signals_pending()) /* trained, but not completely validated */
        t->code = trainer_signal_code(t);
}

const struct hook hook_background = {
    .name = "background",
    .run = {[HOOK_START] = begin,
            [HOOK_STEP] = receive_results,
            [HOOK_EPOCH] = at_epoch,
            [HOOK_CHECKPOINT] = at_checkpoint},
};

const struct hook hook_background_end = {
    .name = "background_end",
    .run = {[HOOK_END] = at_end},
};
