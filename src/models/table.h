/*
 * The models that can be built by name, one row each.
 *
 *   const struct model *m = model_find("resnet", "resnet50", &why);
 *   struct tensor *logits = model_build(&b, m, &options, x);
 *
 * A name is timm's: architecture, or architecture.tag ("resnet50.a1_in1k"), where the tag
 * names published weights and thereby the row's default input, and builds the same net.
 * CIFAR nets, which timm does not have, are resnet20, 32, 44, 56 and 110.
 */
#ifndef MODELS_TABLE_H
#define MODELS_TABLE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "graph/graph.h"
#include "models/options.h"

enum model_task {
    MODEL_CLASSIFY, /* logits [N, classes]; a label an image */
    MODEL_SEGMENT   /* logits [N, classes, h, w]; a label a pixel of h x w */
};

struct model {
    const char *name, *type; /* MODEL.NAME, MODEL.TYPE */
    const char *tags;        /* of public weights, the default first; "" if none */
    const char *recipe;      /* the file that trains it, below configs/; NULL if none */
    int classes;             /* of the data that it was made for */
    enum model_task task;
    int label_divisor; /* MODEL_SEGMENT: sides of the input over those of the logits */

    /* Input of training, and evaluation as in timm: resize to size / crop_pct, crop. */
    int size;   /* pixels: width, and height if that is 0 */
    int height; /* 0: square */
    double crop_pct;
    bool bilinear; /* else bicubic */
    double mean[3], std[3];

    struct tensor *(*build)(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x);
    const void *arch;
};

/* Ends with a row without a name. */
extern const struct model model_table[];

/*
 * The row of MODEL.TYPE `type` and MODEL.NAME `name`. NULL with the reason, and what was
 * probably meant, appended to `why`.
 */
const struct model *model_find(const char *type, const char *name, struct strbuf *why);

bool model_type_known(const char *type);

/* Logits [N, options->classes] of the images x. Options that a family does not have are
 * not read; session/model_config.h refuses them. */
struct tensor *model_build(struct builder *b, const struct model *m,
                           const struct model_options *o, struct tensor *x);

/* Digits compare by value: resnet18 before resnet101. As strcmp. */
int model_natural_order(const char *a, const char *b);

#endif
