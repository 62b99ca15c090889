#include "session/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dist/group.h"
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
    p->amp_slow = p->level != AMP_O0 && !backend->has_dtype(dev, p->half);
    if (p->amp_slow)
        p->amp_remark = backend->has_dtype(dev, backend->preferred_half)
                            ? "this device computes the half type of AMP.DTYPE in "
                              "software, up to a hundred times slower: AMP.DTYPE auto "
                              "takes one that it has"
                            : "this device computes half types in software, up to a "
                              "hundred times slower: AMP.DTYPE auto trains in fp32";
    p->amp = &cfg->amp;
    p->master_weights = cfg->amp.master_weights.has && p->level >= AMP_O2
                            ? cfg->amp.master_weights.value
                            : p->level != AMP_O3;
    p->round_norms = p->level >= AMP_O2 && cfg->amp.keep_batchnorm_fp32.has &&
                     !cfg->amp.keep_batchnorm_fp32.value;
    p->compute = p->level == AMP_O0 ? "fp32" : dtype_name(p->half);
}

/* Dynamic loss scaling only where fp16 gradients can underflow and the update is in fp32. */
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
        .losses = dynamic && fp16 && cfg->amp.num_losses > 1 ? p->nloss : 1,
    };
    p->first_scale = 1;
    if (p->scaler.dynamic)
        p->first_scale = cfg->amp.init_scale;
    else if (!dynamic)
        p->first_scale = strtod(cfg->amp.loss_scale, NULL);
}

_Static_assert((int)CONTROL_LOSSES >= (int)LOSSES_MAX, "a scale for each loss");

void plan_set_scales(const struct plan *p, struct control *c)
{
    bool several = p->scaler.losses > 1;

    c->loss_scale = several ? 1 : p->first_scale;
    c->growth_count = 0;
    for (int k = 0; k < CONTROL_LOSSES; k++)
        c->scalers[k] = (struct loss_scaler){
            .scale = several && k < p->scaler.losses ? p->first_scale : 0};
}

char *plan_too_few(const struct config *cfg, int64_t images, int world)
{
    if (!cfg->data.drop_last || cfg->data.batch_size <= 0 ||
        images >= cfg->data.batch_size * world)
        return NULL;
    return xasprintf(
        "the training set has %lld images, fewer than DATA.BATCH_SIZE %lld%s",
        (long long)images, (long long)cfg->data.batch_size,
        world > 1 ? " in each process: take fewer" : ": take fewer, or --no-drop-last");
}

static void plan_counts(struct plan *p, const struct config *cfg, int64_t images)
{
    int64_t steps = cfg->train.accumulation_steps, batches = steps;
    int64_t each = cfg->data.batch_size * p->world; /* images per batch, over all
                                                     * processes */

    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        config_refuse(cfg, KEYS("DATA.BATCH_SIZE"),
                      "DATA.BATCH_SIZE auto: give a number: the memory of this device is "
                      "not known");
    if (images)
        batches = images / each;
    if (!cfg->data.drop_last)
        p->tail = images % each;
    if (p->tail && p->world > 1)
        config_refuse(cfg, KEYS("DATA.DROP_LAST"),
                      "DATA.DROP_LAST False: the last batch of %lld images cannot be "
                      "shared by %d processes",
                      (long long)p->tail, p->world);
    batches += p->tail > 0;
    if (!batches)
        config_refuse(cfg, KEYS("DATA.BATCH_SIZE"), "%s",
                      plan_too_few(cfg, images, p->world));
    if (batches > INT_MAX)
        usage("an epoch has %lld batches, more than can be counted", (long long)batches);
    p->batch = cfg->data.batch_size;
    p->own_images = p->mix && p->world > 1 ? (int)p->batch / 2 : 0;
    p->val_batch = cfg->data.val_batch_size ? cfg->data.val_batch_size : p->batch;
    p->accumulation.batches = (int)batches;
    p->accumulation.group = (int)(steps < batches ? steps : batches);
    p->shares = p->task != MODEL_CLASSIFY || p->class_weight
                    ? p->world > 1 || p->accumulation.group > 1
                    : p->tail && p->accumulation.group > 1;
    p->updates_per_epoch = accumulation_updates(&p->accumulation);
    p->updates = cfg->train.epochs * p->updates_per_epoch;
    p->frozen_updates = cfg->train.freeze_epochs * p->updates_per_epoch;
    p->warmup_updates = schedule_warmup(cfg, p->updates_per_epoch);
}

static void plan_schedule(struct plan *p, const struct config *cfg)
{
    const struct config_train *t = &cfg->train;

    p->lr_factor = t->scale_lr ? (double)(p->batch * p->world * t->accumulation_steps) /
                                     (double)t->scale_lr_base
                               : 1;
    p->lr_schedule = schedule_of_config(cfg);
    p->schedule = schedule_fill(cfg, p->updates_per_epoch, p->lr_factor);
}

static void plan_input(struct plan *p, const struct config *cfg)
{
    int channels = (int)cfg->model.in_chans;

    p->channels = channels;
    p->height = config_height(cfg);
    p->width = config_width(cfg);
    p->input.layer = "input";
    for (int i = 0; i < channels; i++) {
        p->input.mean[i] = (float)input_mean(cfg, i);
        p->input.std[i] = (float)input_std(cfg, i);
    }
}

static bool mixes(const struct model *m, const struct config *cfg)
{
    return m->family->task == MODEL_CLASSIFY && cfg->model.task != TASK_SIMMIM &&
           cfg->aug.mixup_prob > 0 &&
           (cfg->aug.mixup > 0 || cfg->aug.cutmix > 0 || cfg->aug.cutmix_minmax.item);
}

void plan_check_pairs(const struct config *cfg)
{
    int64_t batch = cfg->data.batch_size;

    if (dist_world() > 1 && batch != BATCH_SIZE_AUTO && batch % 2 &&
        mixes(model_of_config(cfg), cfg))
        config_refuse(cfg, KEYS("DATA.BATCH_SIZE"),
                      "DATA.BATCH_SIZE %lld is odd: mixup and cutmix need pairs of "
                      "images in each of %d processes",
                      (long long)batch, dist_world());
}

static void plan_mixing(struct plan *p, const struct config *cfg)
{
    static const int mode[] = {
        [MIXUP_MODE_BATCH] = MIX_BATCH,
        [MIXUP_MODE_PAIR] = MIX_PAIR,
        [MIXUP_MODE_ELEM] = MIX_ELEM,
    };

    p->mixing = (struct mix_attrs){
        .layer = "mixup",
        .mixup = (float)cfg->aug.mixup,
        .cutmix = (float)cfg->aug.cutmix,
        .prob = (float)cfg->aug.mixup_prob,
        .switch_prob = (float)cfg->aug.mixup_switch_prob,
        .mode = mode[cfg->aug.mixup_mode],
    };
    if (cfg->aug.cutmix_minmax.item) {
        p->mixing.cutmix_min = (float)cfg->aug.cutmix_minmax.item[0];
        p->mixing.cutmix_max = (float)cfg->aug.cutmix_minmax.item[1];
    }
    p->mix = mixes(p->model, cfg);
    p->mix_off_epoch = cfg->aug.mixup_off_epoch ? cfg->aug.mixup_off_epoch : INT64_MAX;
}

static void plan_update(struct plan *p, const struct config *cfg)
{
    const struct config_train *t = &cfg->train;

    optimizer_groups_init(&p->groups, cfg);
    *(t->clip_mode == CLIP_MODE_NORM ? &p->clip_norm : &p->clip_value) = t->clip_grad;
    p->weight_decay = t->weight_decay;
    p->decay_1d = t->weight_decay_1d;
    p->layer_decay = t->layer_decay;
    p->swa = t->swa.enable;
    p->swa_epoch = schedule_swa_epoch(cfg);
    p->ema = t->ema.enable || p->swa;
    p->ema_on_device = t->ema.enable && t->ema.device == EMA_DEVICE_DEVICE;
    p->ema_decay = t->ema.decay;
    p->ema_ramp = t->ema.ramp_steps;
}

/* Returns the processes that share batch norm statistics with this one, or NULL if there
 * are none. */
static const struct collective *norms_of(const struct config *cfg)
{
    int world = dist_world();
    int n = cfg->model.sync_bn_group ? (int)cfg->model.sync_bn_group : world;

    if (!cfg->model.sync_bn || world == 1)
        return NULL;
    if (world % n)
        config_refuse(
            cfg, KEYS("MODEL.SYNC_BN_GROUP"),
            "MODEL.SYNC_BN_GROUP: %d processes cannot be divided into groups of %d",
            world, n);
    return dist_neighbors(n);
}

void plan_meet(const struct config *cfg)
{
    (void)dist_collective();
    (void)norms_of(cfg);
}

/* DIST.SHARD_EXPERTS */
static void plan_experts(struct plan *p, const struct config *cfg)
{
    if (!p->shard_experts)
        return;
    if (p->shard)
        config_refuse(cfg, KEYS("DIST.SHARD_EXPERTS", "DIST.SHARD_OPTIMIZER"),
                      "DIST.SHARD_EXPERTS cannot be combined with DIST.SHARD_OPTIMIZER: "
                      "choose one");
    if (optimizer_groups_trust(&p->groups))
        config_refuse(
            cfg, KEYS("DIST.SHARD_EXPERTS", "TRAIN.OPTIMIZER.NAME"),
            "DIST.SHARD_EXPERTS: %s needs norms of whole tensors, but a process "
            "only has its own experts",
            cfg->train.optimizer.name);
}

static void plan_losses(struct plan *p, const struct config *cfg)
{
    bool teacher = false;

    p->nloss = losses_of_config(
        cfg, p->task,
        &(struct class_factors){.weight = p->class_weight, .bias = p->class_bias},
        p->loss);
    for (int i = 0; i < p->nloss; i++)
        teacher |= p->loss[i].loss->teacher;
    if (!teacher)
        return;
    p->teacher = teacher_of_config(cfg);
    p->teacher_options = (struct model_options){.classes = cfg->model.num_classes};
    if (p->teacher == p->model && !*cfg->model.teacher_model)
        p->teacher_options = p->options;
    p->teacher_options.stages = NULL;
}

void plan_init(struct plan *p, const struct config *cfg, int64_t images,
               const struct class_factors *factors, const struct backend *backend,
               struct device *dev)
{
    *p = (struct plan){
        .model = model_of_config(cfg),
        .world = dist_world(),
        .group = dist_collective(),
        .votes = dist_by_device(),
        .bucket_bytes = cfg->dist.bucket_mb << 20,
        .shard = cfg->dist.shard_optimizer && dist_world() > 1,
        .shard_experts = cfg->dist.shard_experts && dist_world() > 1,
        .half_gradients = cfg->dist.half_gradients,
        .class_weight = factors ? factors->weight : NULL,
        .class_bias = factors ? factors->bias : NULL,
        .freeze = cfg->train.freeze.item,
        .nfreeze = cfg->train.freeze.n,
        .recompute = cfg->train.use_checkpoint,
        .quantized = {.enable = cfg->quant.enable,
                      .first = cfg->quant.first,
                      .last = cfg->quant.last,
                      .keep = cfg->quant.keep.item,
                      .nkeep = cfg->quant.keep.n},
        .inject_overflow_at = (int)cfg->amp.inject_overflow_at,
    };
    p->task = model_task_of_config(cfg, p->model);
    p->norms = norms_of(cfg);
    p->options = model_options_of_config(cfg, &p->mem);
    plan_losses(p, cfg);
    plan_input(p, cfg);
    p->augment = device_augment_of_config(cfg);
    p->resizes = device_resizes(cfg);
    p->masking = masking_of_config(cfg);
    p->nout = model_stages_of_config(cfg, p->out, NULL);
    plan_mixing(p, cfg);
    plan_counts(p, cfg, images);
    plan_schedule(p, cfg);
    plan_update(p, cfg);
    plan_experts(p, cfg);
    plan_amp(p, cfg, backend, dev);
    plan_scaler(p, cfg);
    p->fold = fold_choice(cfg, backend, dev);
    p->gelu_tanh = cfg->model.gelu_tanh;
    if (p->model->family->balances && p->scaler.losses > 1)
        config_refuse(
            cfg, KEYS("AMP.NUM_LOSSES"),
            "AMP.NUM_LOSSES %lld: the balance loss of %s has no loss scale of its "
            "own: use 1",
            (long long)cfg->amp.num_losses, p->model->name);
}

void plan_release(struct plan *p)
{
    arena_release(&p->mem);
    *p = (struct plan){0};
}
