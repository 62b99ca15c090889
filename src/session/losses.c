#include "session/losses.h"

#include "base/error.h"
#include "config/names.h"
#include "image/label.h"
#include "ops/bce.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/image.h"

static struct tensor *build_cross_entropy(struct builder *b, const struct loss_options *o,
                                          struct tensor *logits, struct tensor *labels,
                                          struct tensor *lam)
{
    return cross_entropy(b, logits, labels, lam, "loss", .smoothing = o->smoothing);
}

static struct tensor *build_cross_entropy2d(struct builder *b,
                                            const struct loss_options *o,
                                            struct tensor *logits, struct tensor *labels,
                                            struct tensor *lam)
{
    struct cross_entropy2d_attrs a = {.layer = "loss", .ignore = LABEL_IGNORE};

    (void)lam;
    a.weighted = o->class_weight != NULL;
    for (int64_t k = 0; o->class_weight && k < logits->dim[IMAGE_C]; k++)
        a.weight[k] = o->class_weight[k];
    return cross_entropy2d_(b, logits, labels, &a);
}

static struct tensor *build_bce(struct builder *b, const struct loss_options *o,
                                struct tensor *logits, struct tensor *labels,
                                struct tensor *lam)
{
    return bce(b, logits, labels, lam, "loss", .smoothing = o->smoothing,
               .threshold = o->threshold, .has_threshold = o->has_threshold,
               .sum_classes = o->sum_classes);
}

const struct loss loss_cross_entropy = {
    .name = "cross_entropy",
    .help = "cross entropy of softmax: of images, or of the pixels of a segmentation",
    .build =
        {[MODEL_CLASSIFY] = build_cross_entropy, [MODEL_SEGMENT] = build_cross_entropy2d},
};

static const struct loss loss_bce = {
    .name = "bce",
    .help = "binary cross entropy of each class (timm's BinaryCrossEntropy)",
    .reads =
        (const char *const[]){"TRAIN.LOSS.TARGET_THRESH", "TRAIN.LOSS.SUM_CLASSES", NULL},
    .build = {[MODEL_CLASSIFY] = build_bce},
};

static const struct loss *const losses[] = {&loss_cross_entropy, &loss_bce, NULL};

static struct named loss_at(const void *table, int i)
{
    const struct loss *l = ((const struct loss *const *)table)[i];

    if (!l)
        return (struct named){0};
    return (struct named){.name = l->name, .help = l->help, .reads = l->reads};
}

const struct names loss_names = {.at = loss_at, .table = losses};

void loss_check(const struct config *cfg, const struct model *m, struct problems *p)
{
    if (!names_check(&loss_names, cfg, p, "TRAIN.LOSS.NAME") || !m)
        return;
    if (!loss_of_config(cfg)->build[m->family->task])
        config_blame(cfg, p, KEYS("TRAIN.LOSS.NAME"),
                     "TRAIN.LOSS.NAME %s is of whole images, and %s labels pixels",
                     cfg->train.loss.name, cfg->model.name);
}

const struct loss *loss_of_config(const struct config *cfg)
{
    int i = names_find(&loss_names, cfg->train.loss.name);

    if (i < 0)
        usage("there is no TRAIN.LOSS.NAME '%s'", cfg->train.loss.name);
    return losses[i];
}

struct loss_options loss_options_of_config(const struct config *cfg,
                                           const float *class_weight)
{
    return (struct loss_options){
        .smoothing = (float)cfg->model.label_smoothing,
        .threshold = (float)cfg->train.loss.target_thresh.value,
        .has_threshold = cfg->train.loss.target_thresh.has,
        .sum_classes = cfg->train.loss.sum_classes,
        .class_weight = class_weight,
    };
}
