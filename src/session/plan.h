/*
 * A run in numbers: all that the configuration means for this data set and this device.
 * The graphs of a run are made from a plan alone (session/build.h). Nothing here is
 * written back into the configuration, so a saved config.yaml can be run again;
 * derived.yaml holds these values.
 *
 * Counting. A batch is DATA.BATCH_SIZE images in each process; ACCUMULATION_STEPS of them
 * make an update (control.step), which is what schedules count. An epoch has floor(images
 * / (batch * processes)) batches, and one more of the `tail` images that are left unless
 * DATA.DROP_LAST; the last update of an epoch takes those that are left, fewer perhaps,
 * and its gradient is the mean over them.
 *
 * Rates. BASE_LR, WARMUP_LR and MIN_LR are multiplied by batch * processes * accumulation
 * / SCALE_LR_BASE (Swin's rule; 512) unless TRAIN.SCALE_LR is off.
 */
#ifndef SESSION_PLAN_H
#define SESSION_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "graph/backend.h"
#include "graph/collective.h"
#include "graph/precision.h"
#include "models/stages.h"
#include "models/table.h"
#include "ops/accumulation_formula.h"
#include "ops/control_formula.h"
#include "ops/mix.h"
#include "ops/normalize.h"
#include "session/augment_config.h"
#include "session/losses.h"
#include "session/optimizer_groups.h"
#include "session/quantized.h"
#include "session/schedules.h"

struct plan {
    const struct model *model;
    struct model_options options;
    int64_t batch, val_batch;       /* of this process */
    int world;                      /* processes, each with batches of its own */
    const struct collective *group; /* of them; NULL: there is one */
    int64_t bucket_bytes; /* of gradients that travel together */
    bool half_gradients;  /* those of weights that are used in 16 bits travel so */
    bool shard;           /* moments of a share of the weights alone, see build.h */
    int own; /* of its batch, whose second part is another's where images are mixed, see
               * ops/share.h; 0: it takes positions rank, rank + world, ... */
    const struct collective *norms; /* those that share statistics of batch norms, or NULL */
    int64_t
        tail; /* images of an epoch's last batch, if it is smaller than others; 0: not */
    int channels, height, width; /* of the images that the model sees */
    int out[MODEL_STAGES], nout; /* MODEL.FEATURES_ONLY: these stages and no logits */
    struct normalize_attrs input;
    struct device_augment augment; /* of training */
    bool resizes;                  /* of training */
    bool mix;              /* mixup or cutmix before mix_off_epoch */
    int64_t mix_off_epoch; /* the first epoch without; INT64_MAX: never */
    struct mix_attrs mixing;

    struct quantized_choice quantized; /* in inference */

    struct loss_item loss[LOSSES_MOST]; /* of training */
    int nloss;
    const float *class_weight; /* of segmentation; NULL: each weighs 1 */
    /* A net that a loss learns from, forward only; NULL: none. */
    const struct model *teacher;
    struct model_options teacher_options;

    const char *const *freeze; /* patterns of TRAIN.FREEZE; the configuration's */
    int nfreeze;
    bool recompute; /* activation checkpointing */

    struct accumulation accumulation; /* .group is 1 without, and no more than .batches */
    int64_t updates_per_epoch, updates, warmup_updates; /* updates: of the whole run */
    double lr_factor;
    const struct lr_schedule *lr_schedule;
    struct schedule schedule; /* rates already multiplied */
    struct optimizer_groups groups; /* which optimizer updates what */
    double clip_norm, clip_value;
    double weight_decay;
    bool decay_1d;      /* weight decay of vectors, too */
    double layer_decay; /* models/layers.h; 1: one rate for all */

    bool ema, ema_on_device; /* is there one? does the training graph update it? */
    double ema_decay;
    double ema_ramp; /* updates */

    enum amp_level level;
    enum dtype half;     /* of no meaning at O0 */
    bool master_weights; /* the optimizer updates fp32 weights; else it rounds them */
    bool round_norms;    /* it rounds those of batch norms, too */
    const struct config_amp *amp; /* the lists of layers */
    const char *compute;          /* "fp32", "fp16" or "bf16": what most arithmetic is */
    const char *amp_remark;       /* a line for the log, or NULL */
    bool amp_slow;                /* and it is a warning: the half type is emulated */
    struct scaler scaler;
    double first_scale; /* the loss scale, or all of them, before the first update */
    int inject_overflow_at;

    struct arena mem; /* of `options` */
};

/*
 * `images`: of the training set; 0: unknown, one epoch is one update (bench, summary).
 * Mistakes that only show now (fewer images than a batch) are usage errors.
 * `cfg` and `class_weight` must outlive the plan.
 */
void plan_init(struct plan *p, const struct config *cfg, int64_t images,
               const float *class_weight, const struct backend *backend,
               struct device *dev);
void plan_release(struct plan *p);

/* All processes make their groups here, at once; later plans find them. */
void plan_meet(const struct config *cfg);

/* Several processes that train with mixup or cutmix need even batches (ops/share.h). */
void plan_check_pairs(const struct config *cfg);

/* The scales of a run that begins. */
void plan_set_scales(const struct plan *p, struct control *c);

/* Does the optimizer round some weights to the half type? */
static inline bool plan_rounds(const struct plan *p)
{
    return !p->master_weights || p->round_norms;
}

#endif
