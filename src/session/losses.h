/*
 * The training losses, one row each. TRAIN.LOSS.NAME selects one; LOSSES lists several,
 * each with its weight, applied to the logits or to an auxiliary classifier. An
 * evaluation always uses cross entropy without smoothing, as timm and PyTorch's examples
 * do, or l2 for a regression, so that runs with different losses can be compared.
 *
 * A new loss is an op, plus a row and a build function in losses.c.
 */
#ifndef SESSION_LOSSES_H
#define SESSION_LOSSES_H

#include "base/names.h"
#include "config/config.h"
#include "config/problems.h"
#include "models/table.h"

enum { LOSSES_MAX = 8 };

/* Prefix of the layers of an auxiliary classifier, followed by its stage: aux2.fc. */
#define LOSSES_AUX "aux"

/* Layer of a regression's units, target.mean and target.std, which are weights of its
 * checkpoints. */
#define LOSSES_UNITS "target"

/* Values of the keys; each loss reads some of them. */
/* What classes count in a loss, an entry per class; NULL: all 1, or all 0. */
struct class_factors {
    const float *weight; /* TRAIN.CLASS_WEIGHTS */
    const float *bias;   /* TRAIN.LOSS.LOGIT_ADJUST */
};

struct loss_options {
    float smoothing; /* MODEL.LABEL_SMOOTHING or the item's */
    float threshold; /* TRAIN.LOSS.TARGET_THRESH, if has_threshold */
    bool has_threshold;
    bool sum_classes;                    /* TRAIN.LOSS.SUM_CLASSES */
    float gamma;                         /* focal */
    float gamma_pos, gamma_neg, clip;    /* asymmetric */
    const struct float_list *pos_weight; /* MODEL_MULTILABEL; NULL: all 1 */
    struct tensor *targets; /* MODEL_MULTILABEL: uint8 [N, K]; MODEL_REGRESSION: fp32 */
    struct tensor *mean, *std;   /* MODEL_REGRESSION: fp32 [K], of the targets */
    float delta;                 /* huber and smooth_l1: TRAIN.LOSS.DELTA or the item's */
    float smooth;                /* Dice */
    bool squared;                /* Dice */
    float thresh, min_share;     /* OHEM */
    float temperature;           /* distillation */
    bool hard;                   /* distillation */
    const float *class_weight;   /* one per class; NULL: all 1 */
    const float *class_bias;     /* added to the logits; NULL: none */
    struct tensor *image, *mask; /* MODEL_SIMMIM: the target, fp32 like the logits; the
                                  * masked pixels, fp32 image [N, 1, H, W] */
    const char *layer;           /* layer name of its nodes */
    struct tensor *teacher; /* logits of the teacher, shaped like these; NULL if there
                                * is no teacher */
};

/*
 * logits [N, K], labels int32 [N] (MODEL_MULTILABEL and MODEL_REGRESSION: 0 or -1), lam
 * fp32 [N] or NULL (ops/cross_entropy.h); MODEL_ORDINAL has logits [N, K - 1]; or for MODEL_SEGMENT logits [N, K, h, w], labels uint8 [N, h, w]
 * with LABEL_IGNORE. The loss is fp32 [1].
 */
typedef struct tensor *loss_build_fn(struct builder *b, const struct loss_options *o,
                                     struct tensor *logits, struct tensor *labels,
                                     struct tensor *lam);

struct loss {
    const char *name;
    const char *help;
    /* Keys that only this loss reads, ended by NULL; NULL if there are none. */
    const char *const *reads;
    /* Fields of a LOSSES item that it reads besides type and weight, in the same form. */
    const char *const *fields;
    bool teacher;                      /* needs MODEL.TEACHER */
    bool weighted;                     /* reads TRAIN.CLASS_WEIGHTS */
    loss_build_fn *build[MODEL_TASKS]; /* by enum model_task; NULL: unsupported task */
};

/* One loss of a run. */
struct loss_item {
    const struct loss *loss;
    struct loss_options o;
    float weight; /* factor in the sum */
    int stage;    /* stage of the model (models/stages.h) with its own classifier; -1: the
                   * logits */
};

extern const struct names loss_names;
extern const struct loss loss_cross_entropy; /* used by evaluations, */
extern const struct loss loss_l2;            /* of regressions: this one, */
extern const struct loss loss_simmim;        /* and of MODEL_SIMMIM: this one */

/* Returns the loss of a task unless TRAIN.LOSS.NAME or LOSSES is set. */
const char *loss_default(int64_t task);

/* Returns NULL if there is no such loss. */
const struct loss *loss_find(const char *name);

/* Checks that the losses exist, fit the model's task, and read the keys that are set. `m`
 * may be NULL (unknown). Part of model_check. */
void loss_check(const struct config *cfg, const struct model *m, struct problems *p);

/* True if it is named as a parameter of an auxiliary classifier: aux2.fc.weight. Weights of
 * other nets lack these; an imported network may have modules called aux2, too. */
bool losses_is_aux(const char *name);

/* True if it is a unit of a regression, target.mean or target.std. */
bool losses_is_unit(const char *name);

/* Gets the losses of LOSSES, or the one of TRAIN.LOSS.NAME; returns their number.
 * Requires checked keys. */
int losses_of_config(const struct config *cfg, enum model_task task,
                     const struct class_factors *factors,
                     struct loss_item item[LOSSES_MAX]);

#endif
