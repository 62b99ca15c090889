/* Hooks for TRAIN.VALIDATE beside: merge the results of the background evaluator into the
 * run. */
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

bool trainer_validates_beside(const struct trainer *t)
{
    return t->cfg->train.validate == VALIDATE_BESIDE;
}

bool trainer_beside_due(const struct trainer *t)
{
    int64_t epoch = t->state.epoch;

    return trainer_validates_beside(t) &&
           (epoch % t->cfg->train.eval_freq == 0 || epoch == t->cfg->train.epochs);
}

/* Adds the resumed checkpoint if the run was killed after writing it and before linking
 * it for the evaluator. */
static void add_newest(struct trainer *t)
{
    int64_t epochs = t->state.epoch;
    char *name = xasprintf("ckpt_epoch_%lld.safetensors", (long long)epochs - 1);
    char *path = path_join(t->output.dir, name);

    if (t->resumed && trainer_beside_due(t) && t->state.val_step != t->step &&
        t->step == epochs * t->session.plan.updates_per_epoch &&
        !beside_has(&t->beside, t->step) && file_exists(path))
        beside_add(&t->beside, path, t->step, epochs - 1);
    free(name);
    free(path);
}

static void begin(struct trainer *t)
{
    int64_t upe = t->session.plan.updates_per_epoch;

    t->judged_epoch = upe > 0 ? t->state.val_step / upe - 1 : -1;
    if (!trainer_validates_beside(t) || !dist_is_first())
        return;
    beside_open(&t->beside, t->cfg, t->output.dir, t->step,
                t->session.plan.updates_per_epoch);
    add_newest(t);
}

static void say(const struct trainer *t, const struct beside_result *r)
{
    bool segments = t->session.plan.task == MODEL_SEGMENT;
    bool sets = t->session.plan.task == MODEL_MULTILABEL;
    double ema = r->ema.value[segments ? SCORE_MIOU : sets ? SCORE_MAP : SCORE_TOP1];
    const double *v = r->val.value;
    struct strbuf s = STRBUF_INIT;

    if (segments)
        strbuf_addf(&s, "mIoU %.4f acc %.4f", v[SCORE_MIOU], v[SCORE_ACC]);
    else
        scores_add_top(&s, &r->val);
    strbuf_addf(&s, " loss %.5f (", v[SCORE_LOSS]);
    if (!isnan(ema))
        strbuf_addf(&s, segments || sets ? "EMA %.4f; " : "EMA %.3f; ", ema);
    log_info(" * epoch %lld: %s%lld images, %.1f s in background)",
             epoch_shown(r->epoch), s.buf, (long long)r->images, r->seconds);
    strbuf_release(&s);
}

/* Converts the IoU of the classes to the form that output_val expects. */
static struct segmentation classes_of(const struct class_iou *iou)
{
    struct segmentation s = {.classes = iou->n};

    for (int k = 0; k < iou->n; k++)
        s.of[k].iou = iou->of[k];
    return s;
}

static void merge(struct trainer *t, const struct beside_result *r)
{
    enum score which = trainer_best(t);
    struct segmentation classes = classes_of(&r->iou);
    double score = r->val.value[which];
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
    say(t, r);
    output_late(&t->output, &l);
    if (score_is_better(which, r->ema.value[which], score))
        score = r->ema.value[which];
    if (trainer_judge(t, score, r->epoch))
        beside_best(&t->beside, r->step);
    hook_commands.any(t, HOOK_EVAL);
}

/* Merges the results that have arrived, without waiting. */
static void hear(struct trainer *t)
{
    struct beside_result r;

    while (t->beside.dir && beside_next(&t->beside, &r))
        merge(t, &r);
}

/* Sends the first process's scores to all processes. */
static void tell(struct trainer *t)
{
    struct {
        double best_score;
        int64_t best_epoch, judged_epoch;
    } now = {t->state.best_score, t->state.best_epoch, t->judged_epoch};

    if (!trainer_validates_beside(t))
        return;
    dist_broadcast(&now, (int)sizeof(now));
    t->state.best_score = now.best_score;
    t->state.best_epoch = now.best_epoch;
    t->judged_epoch = now.judged_epoch;
}

static void at_epoch(struct trainer *t)
{
    hear(t);
    tell(t);
}

static void at_checkpoint(struct trainer *t)
{
    if (t->to_validate)
        beside_add(&t->beside, t->checkpoint, t->saved_step,
                   (t->saved_step - 1) / t->session.plan.updates_per_epoch);
    t->to_validate = false;
    if (t->beside.dir)
        beside_forget(&t->beside);
}

static void say_waiting(const struct trainer *t, double *said)
{
    enum { EVERY = 60 };
    int left = t->beside.dir ? beside_left(&t->beside) : 0;

    if (!left || clock_now() - *said < EVERY)
        return;
    *said = clock_now();
    log_info("waiting for the background evaluator: %d checkpoint%s not validated yet",
             left, left == 1 ? " is" : "s are");
}

/* Waits for the remaining results, unless the run must stop. All processes must call
 * it. */
static void wait_for_results(struct trainer *t)
{
    double said = -HUGE_VAL;

    while (!trainer_asked_to_stop(t)) {
        hear(t);
        if (!dist_max(t->beside.dir && !beside_gave_up(&t->beside) &&
                      beside_left(&t->beside)))
            break;
        say_waiting(t, &said);
        (void)usleep(20000);
    }
    if (t->beside.dir && beside_left(&t->beside))
        log_warning("%d checkpoint%s not validated yet: resume the run to validate them",
                    beside_left(&t->beside),
                    beside_left(&t->beside) == 1 ? " is" : "s are");
    tell(t);
}

/* Waits for the results and writes a checkpoint that contains them. */
static void at_end(struct trainer *t)
{
    if (!trainer_validates_beside(t) || t->diverged)
        return;
    wait_for_results(t);
    if (dist_max(t->merged) && !t->replay && !t->diverged) {
        trainer_save(t, t->step % t->session.plan.updates_per_epoch == 0);
        trainer_collect(t);
    }
    if (!t->beside.dir || t->code || !beside_left(&t->beside))
        return;
    if (beside_gave_up(&t->beside))
        t->code = EXIT_FAILED;
    else if (signals_pending()) /* trained, but not completely validated */
        t->code = trainer_signal_code(t);
}

const struct hook hook_beside = {
    .name = "beside",
    .at = {[HOOK_START] = begin,
           [HOOK_STEP] = hear,
           [HOOK_EPOCH] = at_epoch,
           [HOOK_CHECKPOINT] = at_checkpoint},
};

const struct hook hook_beside_end = {
    .name = "beside_end",
    .at = {[HOOK_END] = at_end},
};
