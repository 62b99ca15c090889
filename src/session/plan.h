/*
 * A run in numbers: all that the configuration means for this data set and this device.
 * The graphs of a run are made from a plan alone (session/build.h). Nothing here is
 * written back into the configuration, so a saved config.yaml can be run again;
 * derived.yaml holds these values.
 *
 * Counting. A batch is DATA.BATCH_SIZE images in each process; ACCUMULATION_STEPS of them
 * make an update (control.step), which is what schedules count. An epoch has floor(images
 * / (batch * processes)) batches and, unless DATA.DROP_LAST, one more of the `tail`
 * images that are left; the last update of an epoch takes the batches that are left,
 * perhaps fewer, and its gradient is the mean over them.
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
    const struct collective *group; /* of all processes; NULL: there is one */
    int64_t bucket_bytes;           /* of gradients that are reduced together */
    bool half_gradients; /* those of weights used in 16 bits are reduced in 16 */
    bool shard;          /* each process has moments of a share of the weights only */
    int own; /* images of its batch that are its own: the rest is another process's, where
              * images are mixed (ops/share.h). 0: positions rank, rank + world, ... */
    const struct collective
        *norms;   /* those that share batch norms' statistics; or NULL */
    int64_t tail; /* images of an epoch's last batch, if it is smaller; 0: it is not */
    int channels, height, width; /* of the images that the model sees */
    int out[MODEL_STAGES], nout; /* MODEL.FEATURES_ONLY: these stages and no logits */
    struct normalize_attrs input;
    struct device_augment augment; /* of training */
    bool resizes;                  /* of training: DATA.RESIZE device */
    bool mix;                      /* mixup or cutmix before mix_off_epoch */
    int64_t mix_off_epoch;         /* the first epoch without; INT64_MAX: never */
    struct mix_attrs mixing;

    struct quantized_choice quantized; /* which layers are in 8 bits, in inference */

    struct loss_item loss[LOSSES_MOST]; /* of training */
    int nloss;
    const float *class_weight; /* of segmentation; NULL: each weighs 1 */
    /* A net that a loss learns from, forward only; NULL: none. */
    const struct model *teacher;
    struct model_options teacher_options;

    const char *const *freeze; /* patterns of TRAIN.FREEZE; the configuration's */
    int nfreeze;
    bool recompute; /* activation checkpointing */

    bool shares; /* batches of an update may count differently: session/shares.h */
    struct accumulation accumulation; /* without accumulation .group is 1; <= .batches */
    int64_t updates_per_epoch, updates, warmup_updates; /* updates: of the whole run */
    double lr_factor;
    const struct lr_schedule *lr_schedule;
    struct schedule schedule;       /* rates already multiplied */
    struct optimizer_groups groups; /* which optimizer updates what */
    double clip_norm, clip_value;
    double weight_decay;
    bool decay_1d;      /* weight decay of vectors, too */
    double layer_decay; /* models/layers.h; 1: one rate for all */

    bool ema, ema_on_device; /* is there an EMA? does the training graph update it? */
    double ema_decay;
    double ema_ramp; /* in updates */

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

/* Makes the groups of processes; all call it at the same time. Later plans find them. */
void plan_meet(const struct config *cfg);

/* Why the images of an epoch are too few for a batch in each process, a heap string; NULL:
 * they are enough. */
char *plan_too_few(const struct config *cfg, int64_t images, int world);

/* Several processes that train with mixup or cutmix need even batches (ops/share.h). */
void plan_check_pairs(const struct config *cfg);

/* Sets the loss scales in c to those of a run that begins. */
void plan_set_scales(const struct plan *p, struct control *c);

/* Does the optimizer round some weights to the half type? */
static inline bool plan_rounds(const struct plan *p)
{
    return !p->master_weights || p->round_norms;
}

#endif
