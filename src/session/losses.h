/*
 * The losses of training, one row each: TRAIN.LOSS.NAME names one. An evaluation always
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

/* What the keys say; each loss reads some of it. */
struct loss_options {
    float smoothing; /* MODEL.LABEL_SMOOTHING */
    float threshold; /* TRAIN.LOSS.TARGET_THRESH, with has_threshold */
    bool has_threshold;
    bool sum_classes;          /* TRAIN.LOSS.SUM_CLASSES */
    const float *class_weight; /* one per class; NULL: each weighs 1 */
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
    loss_build_fn *build[MODEL_TASKS]; /* by enum model_task; NULL: not for that task */
};

extern const struct names loss_names;
extern const struct loss loss_cross_entropy; /* of evaluations */

/* Is there such a loss for the model's task, and does it read the keys that are set? `m`
 * may be NULL: unknown. Part of model_check. */
void loss_check(const struct config *cfg, const struct model *m, struct problems *p);

/* The row of TRAIN.LOSS.NAME, which is checked. */
const struct loss *loss_of_config(const struct config *cfg);

struct loss_options loss_options_of_config(const struct config *cfg,
                                           const float *class_weight);

#endif
