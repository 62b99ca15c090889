/*
 * A run in numbers: everything that the configuration means for this data set and this
 * device. The graphs of a run depend only on a plan (session/build.h). Nothing here is
 * written back into the configuration, so a saved config.yaml can be run again;
 * derived.yaml holds these values.
 *
 * Counting. A batch is DATA.BATCH_SIZE images in each process; ACCUMULATION_STEPS batches
 * make an update (control.step), and schedules count updates. An epoch has floor(images /
 * (batch * processes)) batches and, unless DATA.DROP_LAST, one more with the `tail`
 * images that remain. The last update of an epoch takes the remaining batches, perhaps
 * fewer, and its gradient is their mean.
 *
 * Rates. BASE_LR, WARMUP_LR, and MIN_LR are multiplied by batch * processes *
 * accumulation / SCALE_LR_BASE (Swin's rule; 512) unless TRAIN.SCALE_LR is off.
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
#include "session/fold.h"
#include "session/losses.h"
#include "session/optimizer_groups.h"
#include "session/quantized.h"
#include "session/schedules.h"
#include "session/simmim.h"

struct plan {
    const struct model *model;
    enum model_task task; /* model_task_of_config */
    struct model_options options;
    int64_t batch, val_batch;       /* per process */
    int world;                      /* processes, each with its own batches */
    const struct collective *group; /* of all processes; NULL: single process */
    bool votes; /* batches carry the votes to stop: session/vote.h */
    int64_t bucket_bytes;           /* bytes of gradients per all-reduce */
    bool half_gradients; /* gradients of weights used in 16 bits are sent in 16 bits */
    bool shard;          /* each process stores the moments of a share of the weights */
    bool shard_experts;  /* and has a share of the experts */
    int own_images; /* images of the batch that this process draws; where images are mixed, the
              * rest belongs to another process (ops/share.h). 0: positions rank, rank +
              * world, ... */
    const struct collective
        *norms;   /* processes that share batch norm statistics, or NULL */
    int64_t tail; /* images of an epoch's smaller last batch; 0: there is none */
    int channels, height, width; /* of the images that the model reads */
    int out[MODEL_STAGES], nout; /* MODEL.FEATURES_ONLY: outputs these stages instead of
                                  * logits */
    struct normalize_attrs input;
    struct device_augment augment; /* of training */
    bool resizes;                  /* of training: DATA.RESIZE device */
    bool mix;                      /* mixup or cutmix before mix_off_epoch */
    int64_t mix_off_epoch;         /* first epoch without; INT64_MAX: never */
    struct mix_attrs mixing;

    struct masking masking; /* of MODEL_SIMMIM */

    int cam; /* of BUILD_CAM: the stage, or -1: the family's layer (models/cam.h) */

    struct quantized_choice quantized; /* layers that are int8 in inference */

    struct loss_item loss[LOSSES_MAX]; /* of training */
    int nloss;
    const float *class_weight; /* NULL: all 1 */
    const float *class_bias;   /* NULL: none */
    /* Teacher net of a distillation loss, forward only; NULL if there is none. */
    const struct model *teacher;
    struct model_options teacher_options;

    const char *const *freeze; /* patterns of TRAIN.FREEZE; owned by the configuration */
    int nfreeze;
    /* TRAIN.FREEZE_EPOCHS: updates that train the head alone, and the patterns of its
     * parameters (session/head.h). */
    int64_t frozen_updates;
    const char *const *head;
    int nhead;
    bool holds;              /* this program trains only the head */
    bool recompute;          /* activation checkpointing */
    struct fold_choice fold; /* batch norms folded into convolutions */
    bool gelu_tanh;          /* GELU in its tanh form */

    bool shares; /* batches of an update may have different weights: session/shares.h */
    struct accumulation accumulation; /* .group is 1 without accumulation; <= .batches */
    int64_t updates_per_epoch, updates, warmup_updates; /* updates: of the whole run */
    double lr_factor;
    const struct lr_schedule *lr_schedule;
    struct schedule schedule;       /* with all factors applied to the rates */
    struct optimizer_groups groups; /* the optimizer of each parameter */
    double clip_norm, clip_value;
    double weight_decay;
    bool decay_1d;      /* weight decay applies to 1-d parameters, too */
    double layer_decay; /* models/layers.h; 1: same rate for all layers */

    bool ema, ema_on_device; /* an EMA exists; the training graph updates it */
    bool swa; /* the average of TRAIN.SWA takes the place of the EMA, in host memory */
    int64_t swa_epoch; /* the first whose weights it includes */
    double ema_decay;
    double ema_ramp; /* in updates */

    enum amp_level level;
    enum dtype half;              /* meaningless at O0 */
    bool master_weights;          /* fp32 weights; otherwise the optimizer rounds them */
    bool round_norms;             /* also those of batch norms */
    const struct config_amp *amp; /* lists of layers by type */
    const char *compute;          /* "fp32", "fp16", or "bf16": type of most arithmetic */
    const char *amp_remark;       /* one line for the log, or NULL */
    bool amp_slow;                /* which is a warning: the 16-bit type is emulated */
    struct scaler scaler;
    double first_scale; /* loss scale(s) before the first update */
    int inject_overflow_at;

    struct arena mem; /* of `options` */
};

/*
 * `images`: of the training set; 0: unknown, one epoch is one update (bench, summary).
 * Mistakes that only show here (fewer images than a batch) are usage errors. `cfg` and
 * What `factors` (may be NULL) points to must outlive the plan.
 */
void plan_init(struct plan *p, const struct config *cfg, int64_t images,
               const struct class_factors *factors, const struct backend *backend,
               struct device *dev);
void plan_release(struct plan *p);

/* Creates the groups of processes; a collective call. Later plans find the groups. */
void plan_meet(const struct config *cfg);

/* Returns why the images of an epoch are too few for a batch in each process (a heap
 * string), or NULL if they suffice. */
char *plan_too_few(const struct config *cfg, int64_t images, int world);

/* With mixup or cutmix, several processes need even batch sizes (ops/share.h). */
void plan_check_pairs(const struct config *cfg);

/* Sets the loss scales in c to those of a new run. */
void plan_set_scales(const struct plan *p, struct control *c);

/* True if the optimizer rounds some weights to the 16-bit type. */
static inline bool plan_rounds(const struct plan *p)
{
    return !p->master_weights || p->round_norms;
}

#endif
