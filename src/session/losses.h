/*
 * The losses of training, one row each: TRAIN.LOSS.NAME names one, LOSSES several, each
 * with its weight, of the logits or of an auxiliary classifier. An evaluation always
 * has cross entropy without smoothing, as timm and PyTorch's examples have it, so that
 * runs with different losses can be compared.
 *
 * A new loss is its op, and a row and a build function in losses.c.
 */
#ifndef SESSION_LOSSES_H
#define SESSION_LOSSES_H

#include "base/names.h"
#include "config/config.h"
#include "config/problems.h"
#include "models/table.h"

enum { LOSSES_MOST = 8 };

/* In front of the number of its stage: the layers of an auxiliary classifier, aux2.fc. */
#define LOSSES_AUX "aux"

/* What the keys say; each loss reads some of it. */
struct loss_options {
    float smoothing; /* MODEL.LABEL_SMOOTHING, or the item's */
    float threshold; /* TRAIN.LOSS.TARGET_THRESH, with has_threshold */
    bool has_threshold;
    bool sum_classes;          /* TRAIN.LOSS.SUM_CLASSES */
    float gamma;               /* focal */
    float smooth;              /* Dice */
    bool squared;              /* Dice */
    float thresh, min_share;   /* OHEM */
    float temperature;         /* distillation */
    bool hard;                 /* distillation */
    const float *class_weight; /* one per class; NULL: each weighs 1 */
    const char *layer;         /* of its nodes */
    struct tensor *teacher;    /* its logits, like these; NULL: there is none */
};

/*
 * logits [N, K], labels int32 [N], lam fp32 [N] or NULL (ops/cross_entropy.h); or for
 * MODEL_SEGMENT logits [N, K, h, w], labels uint8 [N, h, w] with LABEL_IGNORE. The loss
 * is fp32 [1].
 */
typedef struct tensor *loss_build_fn(struct builder *b, const struct loss_options *o,
                                     struct tensor *logits, struct tensor *labels,
                                     struct tensor *lam);

struct loss {
    const char *name;
    const char *help;
    /* The keys that it reads and others do not, NULL at the end; NULL: none. */
    const char *const *reads;
    /* The keys of an item of LOSSES that it reads beside type and weight, likewise. */
    const char *const *fields;
    bool teacher;                      /* it needs MODEL.TEACHER */
    bool weighted;                     /* it reads TRAIN.CLASS_WEIGHTS */
    loss_build_fn *build[MODEL_TASKS]; /* by enum model_task; NULL: not for that task */
};

/* One of the losses of a run. */
struct loss_item {
    const struct loss *loss;
    struct loss_options o;
    float weight; /* in their sum */
    int stage;    /* of the model (models/stages.h), with a classifier of its own; -1: of
                   * the logits */
};

extern const struct names loss_names;
extern const struct loss loss_cross_entropy; /* of evaluations */

/* Are there such losses for the model's task, and do they read what is set? `m` may be
 * NULL: unknown. Part of model_check. */
void loss_check(const struct config *cfg, const struct model *m, struct problems *p);

/* Is it a parameter of an auxiliary classifier? Weights of other nets have none. */
bool losses_is_aux(const char *name);

/* The losses of LOSSES, or the one of TRAIN.LOSS.NAME: how many. All is checked. */
int losses_of_config(const struct config *cfg, enum model_task task,
                     const float *class_weight, struct loss_item item[LOSSES_MOST]);

#endif
