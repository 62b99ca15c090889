#include "session/losses.h"

#include <string.h>

#include "base/error.h"
#include "config/names.h"
#include "config/records.h"
#include "image/label.h"
#include "models/stages.h"
#include "ops/bce.h"
#include "ops/corn.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/focal.h"
#include "ops/image.h"
#include "ops/multilabel_loss.h"
#include "ops/ohem.h"
#include "ops/regression_loss.h"
#include "session/model_config.h"
#include "session/simmim.h"

static struct tensor *build_cross_entropy(struct builder *b, const struct loss_options *o,
                                          struct tensor *logits, struct tensor *labels,
                                          struct tensor *lam)
{
    struct cross_entropy_attrs a = {.layer = o->layer, .smoothing = o->smoothing};

    a.weighted = o->class_weight || o->class_bias;
    for (int64_t k = 0; a.weighted && k < logits->dim[1]; k++) {
        a.terms.weight[k] = o->class_weight ? o->class_weight[k] : 1;
        a.terms.bias[k] = o->class_bias ? o->class_bias[k] : 0;
    }
    return cross_entropy_(b, logits, labels, lam, &a);
}

static struct tensor *build_cross_entropy2d(struct builder *b,
                                            const struct loss_options *o,
                                            struct tensor *logits, struct tensor *labels,
                                            struct tensor *lam)
{
    struct cross_entropy2d_attrs a = {.layer = o->layer, .ignore = LABEL_IGNORE};

    (void)lam;
    if (o->smoothing > 0) /* focal loss with gamma 0 is the smoothed cross entropy */
        return focal(b, logits, labels, NULL, o->layer, .gamma = 0,
                     .smoothing = o->smoothing, .ignore = LABEL_IGNORE);
    a.weighted = o->class_weight != NULL;
    for (int64_t k = 0; o->class_weight && k < logits->dim[IMAGE_C]; k++)
        a.weight[k] = o->class_weight[k];
    return cross_entropy2d_(b, logits, labels, &a);
}

static struct tensor *build_bce(struct builder *b, const struct loss_options *o,
                                struct tensor *logits, struct tensor *labels,
                                struct tensor *lam)
{
    return bce(b, logits, labels, lam, o->layer, .smoothing = o->smoothing,
               .threshold = o->threshold, .has_threshold = o->has_threshold,
               .sum_classes = o->sum_classes);
}

/* Binary cross entropy of each class with exponents (ops/multilabel_loss.h). */
static struct tensor *build_sets(struct builder *b, const struct loss_options *o,
                                 struct tensor *logits, struct tensor *labels,
                                 struct tensor *lam, struct multilabel_rule rule)
{
    const struct float_list *w = o->pos_weight;
    int64_t classes = logits->dim[1];
    struct multilabel_loss_attrs a = {.layer = o->layer, .sum_classes = o->sum_classes};

    rule.smoothing = o->smoothing;
    rule.weighted = w && w->item && w->n;
    if (rule.weighted && (classes > MULTILABEL_WEIGHTS || (w->n > 1 && w->n != classes)))
        usage("TRAIN.LOSS.POS_WEIGHT has %d numbers for %lld classes (at most %d)", w->n,
              (long long)classes, MULTILABEL_WEIGHTS);
    for (int64_t k = 0; rule.weighted && k < classes; k++)
        rule.weight[k] = (float)w->item[w->n > 1 ? k : 0];
    a.rule = rule;
    return multilabel_loss(b, logits, labels, o->targets, lam, &a);
}

static struct tensor *build_bce_sets(struct builder *b, const struct loss_options *o,
                                     struct tensor *logits, struct tensor *labels,
                                     struct tensor *lam)
{
    return build_sets(b, o, logits, labels, lam, (struct multilabel_rule){0});
}

static struct tensor *build_focal_sets(struct builder *b, const struct loss_options *o,
                                       struct tensor *logits, struct tensor *labels,
                                       struct tensor *lam)
{
    return build_sets(
        b, o, logits, labels, lam,
        (struct multilabel_rule){.gamma_pos = o->gamma, .gamma_neg = o->gamma});
}

static struct tensor *build_asymmetric(struct builder *b, const struct loss_options *o,
                                       struct tensor *logits, struct tensor *labels,
                                       struct tensor *lam)
{
    return build_sets(b, o, logits, labels, lam,
                      (struct multilabel_rule){.gamma_pos = o->gamma_pos,
                                               .gamma_neg = o->gamma_neg,
                                               .clip = o->clip});
}

static struct tensor *build_focal(struct builder *b, const struct loss_options *o,
                                  struct tensor *logits, struct tensor *labels,
                                  struct tensor *lam)
{
    return focal(b, logits, labels, lam, o->layer, .gamma = o->gamma,
                 .smoothing = o->smoothing, .ignore = LABEL_IGNORE);
}

static struct tensor *build_dice(struct builder *b, const struct loss_options *o,
                                 struct tensor *logits, struct tensor *labels,
                                 struct tensor *lam)
{
    (void)lam;
    return dice(b, logits, labels, o->layer, .smooth = o->smooth, .squared = o->squared,
                .ignore = LABEL_IGNORE);
}

static struct tensor *build_ohem(struct builder *b, const struct loss_options *o,
                                 struct tensor *logits, struct tensor *labels,
                                 struct tensor *lam)
{
    (void)lam;
    return ohem(b, logits, labels, o->layer, .thresh = o->thresh,
                .min_share = o->min_share, .ignore = LABEL_IGNORE);
}

static struct tensor *build_distill(struct builder *b, const struct loss_options *o,
                                    struct tensor *logits, struct tensor *labels,
                                    struct tensor *lam)
{
    (void)lam;
    return distill(b, logits, labels, o->teacher, o->layer, .temperature = o->temperature,
                   .hard = o->hard, .ignore = LABEL_IGNORE);
}

static struct tensor *build_regression(struct builder *b, const struct loss_options *o,
                                       struct tensor *values, struct tensor *labels,
                                       struct tensor *lam, enum regression_kind kind)
{
    struct regression_inputs in = {labels, o->targets, o->mean, o->std, lam};
    struct regression_loss_attrs a = {.layer = o->layer,
                                      .rule = {.kind = (int)kind, .delta = o->delta}};

    return regression_loss(b, values, &in, &a);
}

static struct tensor *build_l2(struct builder *b, const struct loss_options *o,
                               struct tensor *values, struct tensor *labels,
                               struct tensor *lam)
{
    return build_regression(b, o, values, labels, lam, REGRESSION_L2);
}

static struct tensor *build_l1(struct builder *b, const struct loss_options *o,
                               struct tensor *values, struct tensor *labels,
                               struct tensor *lam)
{
    return build_regression(b, o, values, labels, lam, REGRESSION_L1);
}

static struct tensor *build_huber(struct builder *b, const struct loss_options *o,
                                  struct tensor *values, struct tensor *labels,
                                  struct tensor *lam)
{
    return build_regression(b, o, values, labels, lam, REGRESSION_HUBER);
}

static struct tensor *build_smooth_l1(struct builder *b, const struct loss_options *o,
                                      struct tensor *values, struct tensor *labels,
                                      struct tensor *lam)
{
    return build_regression(b, o, values, labels, lam, REGRESSION_SMOOTH_L1);
}

/* The cross entropy of the classes' probabilities (ops/corn.h). */
static struct tensor *build_corn(struct builder *b, const struct loss_options *o,
                                 struct tensor *logits, struct tensor *labels,
                                 struct tensor *lam)
{
    return build_cross_entropy(b, o, corn(b, logits, o->layer), labels, lam);
}

static struct tensor *build_simmim(struct builder *b, const struct loss_options *o,
                                   struct tensor *logits, struct tensor *labels,
                                   struct tensor *lam)
{
    (void)labels, (void)lam;
    return simmim_loss(b, logits, o->image, o->mask);
}

const struct loss loss_cross_entropy = {
    .name = "cross_entropy",
    .help = "cross entropy of softmax: of images, or of the pixels of a segmentation; "
            "with MODEL.TASK multilabel the same as bce",
    .reads = (const char *const[]){"TRAIN.LOSS.LOGIT_ADJUST", NULL},
    .fields = (const char *const[]){"stage", "smoothing", NULL},
    .weighted = true,
    .build = {[MODEL_CLASSIFY] = build_cross_entropy,
              [MODEL_SEGMENT] = build_cross_entropy2d,
              [MODEL_MULTILABEL] = build_bce_sets},
};

static const struct loss loss_bce = {
    .name = "bce",
    .help = "binary cross entropy of each class (timm's BinaryCrossEntropy)",
    .reads =
        (const char *const[]){"TRAIN.LOSS.TARGET_THRESH", "TRAIN.LOSS.SUM_CLASSES", NULL},
    .fields =
        (const char *const[]){"stage", "smoothing", "target_thresh", "sum_classes", NULL},
    .build = {[MODEL_CLASSIFY] = build_bce, [MODEL_MULTILABEL] = build_bce_sets},
};

static const struct loss loss_focal = {
    .name = "focal",
    .help = "cross entropy that down-weights well-classified samples (Lin et al. 2017)",
    .fields = (const char *const[]){"stage", "smoothing", "gamma", NULL},
    .build = {[MODEL_CLASSIFY] = build_focal,
              [MODEL_SEGMENT] = build_focal,
              [MODEL_MULTILABEL] = build_focal_sets},
};

static const struct loss loss_asymmetric = {
    .name = "asymmetric",
    .help = "MODEL.TASK multilabel: labels that an image lacks count less (Ridnik et al. "
            "2021)",
    .reads = (const char *const[]){"TRAIN.LOSS.GAMMA_POS", "TRAIN.LOSS.GAMMA_NEG",
                                   "TRAIN.LOSS.CLIP", "TRAIN.LOSS.SUM_CLASSES", NULL},
    .fields = (const char *const[]){"stage", "smoothing", "sum_classes", NULL},
    .build = {[MODEL_MULTILABEL] = build_asymmetric},
};

static const struct loss loss_dice = {
    .name = "dice",
    .help = "overlap of each class with its label map (Milletari et al. 2016)",
    .fields = (const char *const[]){"stage", "smooth", "squared", NULL},
    .build = {[MODEL_SEGMENT] = build_dice},
};

static const struct loss loss_ohem = {
    .name = "ohem",
    .help = "cross entropy of only the hard pixels (BiSeNet's OhemCELoss)",
    .fields = (const char *const[]){"stage", "thresh", "min_share", NULL},
    .build = {[MODEL_SEGMENT] = build_ohem},
};

static const struct loss loss_distill = {
    .name = "distill",
    .help = "what the logits of MODEL.TEACHER ask for (DeiT's DistillationLoss)",
    .fields = (const char *const[]){"temperature", "hard", NULL},
    .teacher = true,
    .build = {[MODEL_CLASSIFY] = build_distill, [MODEL_SEGMENT] = build_distill},
};

const struct loss loss_l2 = {
    .name = "l2",
    .help = "MODEL.TASK regression: squared error of the standardized targets (PyTorch's "
            "MSELoss)",
    .fields = (const char *const[]){"stage", NULL},
    .build = {[MODEL_REGRESSION] = build_l2},
};

static const struct loss loss_l1 = {
    .name = "l1",
    .help = "MODEL.TASK regression: absolute error (PyTorch's L1Loss)",
    .fields = (const char *const[]){"stage", NULL},
    .build = {[MODEL_REGRESSION] = build_l1},
};

static const struct loss loss_huber = {
    .name = "huber",
    .help =
        "MODEL.TASK regression: squared error up to DELTA, linear beyond (Huber 1964; "
        "PyTorch's HuberLoss)",
    .reads = (const char *const[]){"TRAIN.LOSS.DELTA", NULL},
    .fields = (const char *const[]){"stage", "delta", NULL},
    .build = {[MODEL_REGRESSION] = build_huber},
};

static const struct loss loss_smooth_l1 = {
    .name = "smooth_l1",
    .help =
        "MODEL.TASK regression: huber divided by DELTA (PyTorch's SmoothL1Loss, whose "
        "beta is DELTA)",
    .reads = (const char *const[]){"TRAIN.LOSS.DELTA", NULL},
    .fields = (const char *const[]){"stage", "delta", NULL},
    .build = {[MODEL_REGRESSION] = build_smooth_l1},
};

static const struct loss loss_corn = {
    .name = "corn",
    .help = "MODEL.TASK ordinal: cross entropy of conditional ordinal probabilities (Shi "
            "et al. 2023)",
    .reads = (const char *const[]){"TRAIN.LOSS.LOGIT_ADJUST", NULL},
    .fields = (const char *const[]){"stage", "smoothing", NULL},
    .weighted = true,
    .build = {[MODEL_ORDINAL] = build_corn},
};

const struct loss loss_simmim = {
    .name = "simmim",
    .help = "MODEL.TASK simmim: absolute error of the masked pixels (Xie et al. 2021)",
    .fields = (const char *const[]){NULL},
    .build = {[MODEL_SIMMIM] = build_simmim},
};

static const struct loss *const losses[] = {&loss_cross_entropy,
                                            &loss_bce,
                                            &loss_focal,
                                            &loss_asymmetric,
                                            &loss_dice,
                                            &loss_ohem,
                                            &loss_distill,
                                            &loss_l2,
                                            &loss_l1,
                                            &loss_huber,
                                            &loss_smooth_l1,
                                            &loss_corn,
                                            &loss_simmim,
                                            NULL};

static struct named loss_at(const void *table, int i)
{
    const struct loss *l = ((const struct loss *const *)table)[i];

    if (!l)
        return (struct named){0};
    return (struct named){.name = l->name, .help = l->help, .reads = l->reads};
}

const struct names loss_names = {.entry = loss_at, .table = losses};

static const struct config_loss *item_of(const struct config *cfg, int i)
{
    return RECORD(cfg->losses, struct config_loss, i);
}

const char *loss_default(int64_t task)
{
    return task == TASK_REGRESSION ? loss_l2.name
           : task == TASK_ORDINAL  ? loss_corn.name
           : task == TASK_SIMMIM   ? loss_simmim.name
                                   : loss_cross_entropy.name;
}

const struct loss *loss_find(const char *name)
{
    int i = names_find(&loss_names, name);

    return i < 0 ? NULL : losses[i];
}

bool losses_is_aux(const char *name)
{
    static const char *const layers[] = {".conv.", ".norm.", ".fc."};
    size_t digits;

    if (strncmp(name, LOSSES_AUX, strlen(LOSSES_AUX)) != 0)
        return false;
    name += strlen(LOSSES_AUX);
    digits = strspn(name, "0123456789");
    for (size_t i = 0; digits && i < sizeof(layers) / sizeof(*layers); i++) {
        size_t len = strlen(layers[i]);

        if (!strncmp(name + digits, layers[i], len))
            return !strcmp(name + digits + len, "weight") ||
                   !strcmp(name + digits + len, "bias");
    }
    return false;
}

bool losses_is_unit(const char *name)
{
    return !strcmp(name, LOSSES_UNITS ".mean") || !strcmp(name, LOSSES_UNITS ".std");
}

/* ---- from the configuration -------------------------------------------------------- */

/* MODEL.LABEL_SMOOTHING applies to classification (model_check); segmentation smooths
 * where an item of LOSSES says so. */
static struct loss_options defaults_of(const struct config *cfg, enum model_task task,
                                       const struct class_factors *factors)
{
    struct config_loss c;

    config_loss_default(&c);
    return (struct loss_options){
        .smoothing = task == MODEL_SEGMENT ? 0 : (float)cfg->model.label_smoothing,
        .threshold = (float)cfg->train.loss.target_thresh.value,
        .has_threshold = cfg->train.loss.target_thresh.has,
        .sum_classes = cfg->train.loss.sum_classes,
        .gamma = (float)c.gamma,
        .gamma_pos = (float)cfg->train.loss.gamma_pos,
        .gamma_neg = (float)cfg->train.loss.gamma_neg,
        .clip = (float)cfg->train.loss.clip,
        .pos_weight = &cfg->train.loss.pos_weight,
        .delta = (float)cfg->train.loss.delta,
        .smooth = (float)c.smooth,
        .squared = c.squared,
        .thresh = (float)c.thresh,
        .min_share = (float)c.min_share,
        .temperature = (float)c.temperature,
        .hard = c.hard,
        .class_weight = factors ? factors->weight : NULL,
        .class_bias = factors ? factors->bias : NULL,
        .layer = "loss",
    };
}

static struct loss_options options_of(const struct config *cfg, enum model_task task,
                                      const struct class_factors *factors,
                                      const struct config_loss *c)
{
    struct loss_options o = defaults_of(cfg, task, factors);

    if (c->smoothing.has)
        o.smoothing = (float)c->smoothing.value;
    o.threshold = (float)c->target_thresh.value;
    o.has_threshold = c->target_thresh.has;
    o.sum_classes = c->sum_classes;
    o.gamma = (float)c->gamma;
    o.smooth = (float)c->smooth;
    o.squared = c->squared;
    o.thresh = (float)c->thresh;
    o.min_share = (float)c->min_share;
    o.temperature = (float)c->temperature;
    o.hard = c->hard;
    if (c->delta.has)
        o.delta = (float)c->delta.value;
    return o;
}

static const struct loss *known(const char *name)
{
    const struct loss *l = loss_find(name);

    if (!l)
        usage("there is no loss '%s'", name);
    return l;
}

int losses_of_config(const struct config *cfg, enum model_task task,
                     const struct class_factors *factors,
                     struct loss_item item[LOSSES_MAX])
{
    if (!cfg->losses.n)
        item[0] = (struct loss_item){
            .loss = known(cfg->train.loss.name),
            .o = defaults_of(cfg, task, factors),
            .weight = 1,
            .stage = -1,
        };
    for (int i = 0; i < cfg->losses.n && i < LOSSES_MAX; i++)
        item[i] = (struct loss_item){
            .loss = known(item_of(cfg, i)->type),
            .o = options_of(cfg, task, factors, item_of(cfg, i)),
            .weight = (float)item_of(cfg, i)->weight,
            .stage = (int)item_of(cfg, i)->stage,
        };
    return cfg->losses.n ? cfg->losses.n : 1;
}
