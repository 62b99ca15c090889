#include "session/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "session/model_config.h"

static void plan_amp(struct plan *p, const struct config *cfg,
                     const struct backend *backend, struct device *dev)
{
    p->level = (enum amp_level)config_amp_level(cfg);
    p->half = backend->preferred_half;
    if (cfg->amp.dtype != AMP_DTYPE_AUTO)
        p->half = cfg->amp.dtype == AMP_DTYPE_FP16 ? DTYPE_F16 : DTYPE_BF16;
    if (p->level != AMP_O0 && cfg->amp.dtype == AMP_DTYPE_AUTO &&
        !backend->has_dtype(dev, p->half)) {
        p->level = AMP_O0;
        p->amp_remark = "this device has no fast half type: training in fp32 "
                        "(AMP.DTYPE fp16 or bf16 forces one)";
    }
    p->compute = p->level == AMP_O0 ? "fp32" : dtype_name(p->half);
}

/* Dynamic only where fp16 gradients can underflow and fp32 weights take the update. */
static void plan_scaler(struct plan *p, const struct config *cfg)
{
    bool fp16 = (p->level == AMP_O1 || p->level == AMP_O2) && p->half == DTYPE_F16;
    bool dynamic = !strcmp(cfg->amp.loss_scale, "dynamic");

    p->scaler = (struct scaler){
        .dynamic = dynamic && fp16,
        .growth = cfg->amp.growth_factor,
        .backoff = cfg->amp.backoff_factor,
        .min = cfg->amp.min_scale,
        .growth_interval = cfg->amp.growth_interval,
    };
    p->first_scale = 1;
    if (p->scaler.dynamic)
        p->first_scale = cfg->amp.init_scale;
    else if (!dynamic)
        p->first_scale = strtod(cfg->amp.loss_scale, NULL);
}

static void plan_counts(struct plan *p, const struct config *cfg, int64_t images)
{
    int64_t steps = cfg->train.accumulation_steps, batches = steps;

    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        config_refuse(cfg, KEYS("DATA.BATCH_SIZE"),
                      "DATA.BATCH_SIZE auto: give a number, the memory of this device is "
                      "not known");
    if (images)
        batches = images / cfg->data.batch_size;
    if (!batches)
        config_refuse(cfg, KEYS("DATA.BATCH_SIZE"),
                      "the training set has %lld images, fewer than DATA.BATCH_SIZE %lld",
                      (long long)images, (long long)cfg->data.batch_size);
    if (batches > INT_MAX)
        usage("an epoch has %lld batches, more than can be counted", (long long)batches);
    p->batch = cfg->data.batch_size;
    p->val_batch = cfg->data.val_batch_size ? cfg->data.val_batch_size : p->batch;
    p->accumulation.batches = (int)batches;
    p->accumulation.group = (int)(steps < batches ? steps : batches);
    p->updates_per_epoch = accumulation_updates(&p->accumulation);
    p->updates = cfg->train.epochs * p->updates_per_epoch;
    p->warmup_updates = cfg->train.warmup_epochs * p->updates_per_epoch;
}

_Static_assert((int)MULTISTEPS_MAX == (int)SCHEDULE_MILESTONES, "config and schedule");

static void plan_milestones(struct plan *p, const struct config *cfg)
{
    const struct int_list *m = &cfg->train.lr_scheduler.multisteps;

    if (p->schedule.kind != SCHEDULE_MULTISTEP)
        return;
    if (!m->n || m->n > SCHEDULE_MILESTONES)
        BUG("unchecked milestones");
    for (int i = 0; i < m->n; i++)
        p->schedule.milestone[i] = m->item[i] * p->updates_per_epoch;
    p->schedule.nmilestone = m->n;
}

static void plan_schedule(struct plan *p, const struct config *cfg)
{
    static const int kind[] = {
        [LR_SCHEDULER_COSINE] = SCHEDULE_COSINE,
        [LR_SCHEDULER_LINEAR] = SCHEDULE_LINEAR,
        [LR_SCHEDULER_STEP] = SCHEDULE_STEP,
        [LR_SCHEDULER_MULTISTEP] = SCHEDULE_MULTISTEP,
        [LR_SCHEDULER_POLY] = SCHEDULE_POLY,
        [LR_SCHEDULER_ONECYCLE] = SCHEDULE_ONECYCLE,
    };
    const struct config_train *t = &cfg->train;

    p->lr_factor = t->scale_lr ? (double)(p->batch * t->accumulation_steps) /
                                     (double)t->scale_lr_base
                               : 1;
    p->schedule = (struct schedule){
        .kind = (int)kind[t->lr_scheduler.name],
        .warmup_prefix = t->lr_scheduler.warmup_prefix,
        .total = p->updates,
        .warmup = p->warmup_updates,
        .base = t->base_lr * p->lr_factor,
        .warmup_start = t->warmup_lr * p->lr_factor,
        .min = t->min_lr * p->lr_factor,
        .every = t->lr_scheduler.decay_epochs * p->updates_per_epoch,
        .rate = t->lr_scheduler.name == LR_SCHEDULER_STEP ? t->lr_scheduler.decay_rate
                                                          : t->lr_scheduler.gamma,
        .power = t->lr_scheduler.power,
        .pct_start = t->lr_scheduler.pct_start,
        .div = t->lr_scheduler.div_factor,
        .final_div = t->lr_scheduler.final_div_factor,
    };
    plan_milestones(p, cfg);
}

void plan_init(struct plan *p, const struct config *cfg, int64_t images,
               const float *class_weight, const struct backend *backend,
               struct device *dev)
{
    *p = (struct plan){.task = model_of_config(cfg)->task, .class_weight = class_weight};
    plan_counts(p, cfg, images);
    plan_schedule(p, cfg);
    plan_amp(p, cfg, backend, dev);
    plan_scaler(p, cfg);
    *(cfg->train.clip_mode == CLIP_MODE_NORM ? &p->clip_norm : &p->clip_value) =
        cfg->train.clip_grad;
    p->mix = p->task == MODEL_CLASSIFY && cfg->aug.mixup_prob > 0 &&
             (cfg->aug.mixup > 0 || cfg->aug.cutmix > 0 || cfg->aug.cutmix_minmax.item);
    p->mix_off_epoch = cfg->aug.mixup_off_epoch ? cfg->aug.mixup_off_epoch : INT64_MAX;
}
