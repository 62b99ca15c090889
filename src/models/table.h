/*
 * The families of models, one row each, and the models of each that can be built by name.
 *
 *   const struct model *m = model_find("resnet", "resnet50", &why);
 *   struct tensor *logits = model_build(&b, m, &options, x);
 *
 * A name is timm's: architecture, or architecture.tag ("resnet50.a1_in1k"), where the tag
 * names published weights and thereby the row's default input, and builds the same net.
 * CIFAR nets, which timm does not have, are resnet20, 32, 44, 56 and 110.
 *
 * A new family is NAME.h and NAME.c, which define `const struct model_family
 * NAME_family`, NAME_models.c with its models where they are many, a row in table.c, and
 * its keys (models/options.h).
 */
#ifndef MODELS_TABLE_H
#define MODELS_TABLE_H

#include <stdbool.h>

#include "base/names.h"
#include "graph/graph.h"
#include "models/layers.h"
#include "models/options.h"

enum model_task {
    MODEL_CLASSIFY, /* logits [N, classes]; a label per image */
    MODEL_SEGMENT,  /* logits [N, classes, h, w]; a label per pixel of h x w */
    MODEL_TASKS
};

struct model {
    const char *name; /* MODEL.NAME */
    const struct model_family *family;
    const char *tags;   /* of public weights, the default first; "" if none */
    const char *recipe; /* the file that trains it, below configs/; NULL if none */
    int classes;        /* of the data that it was made for */
    int label_divisor;  /* MODEL_SEGMENT: sides of the input over those of the logits */

    /* Input of training, and evaluation as in timm: resize to size / crop_pct, crop. */
    int size;   /* pixels: width, and height if that is 0 */
    int height; /* 0: square */
    double crop_pct;
    bool bilinear; /* else bicubic */
    double mean[3], std[3];

    const void *arch; /* for the family's build() */
};

/* How parameters on a grid become those of another grid: train/weight_grid.h. */
enum grid_method { GRID_BICUBIC, GRID_ANTIALIAS, GRID_GEOMETRIC };

/* Parameters on a square grid of positions; a file of another grid is resized. */
struct model_grid {
    const char *end; /* of their names; NULL ends an array */
    enum grid_method timm, microsoft;
};

struct model_family {
    const char *type; /* MODEL.TYPE */
    enum model_task task;
    const struct model *models;   /* a row without a name ends them */
    const char *const *reads;     /* keys of model_common_options that it heeds, NULL
                                   * at the end; others must not be changed */
    const struct option *options; /* keys of its own; NULL: none */
    size_t options_size;          /* of the struct that they fill */
    /* A model's arch is such a struct: a name sets the keys that nothing else sets. */
    bool arch_is_options;
    /* Where all these keys (NULL at the end) are set, MODEL.NAME is free, and the row
     * is `custom`. NULL: it never is. */
    const char *const *custom_keys;
    const struct model *custom;
    /* Parameters with such words in their names have no weight decay, whatever their
     * dims. NULL at the end; NULL: none. */
    const char *const *no_decay;
    const struct layer_rule *layers; /* for TRAIN.LAYER_DECAY */
    const struct model_grid *grids;  /* NULL: none */
    /* Layers that depend on the classes, NULL at the end; NULL: that of the logits. */
    const char *const *heads;
    bool layer_norm;    /* its norms are layer norms: adaptive optimizers train it */
    int default_stages; /* of models/stages.h: so many of the last; 0: all */
    /* Classifiers of 21,841 classes have them in the order of models/imagenet22k.h: for
     * 1000 classes rows are picked. */
    bool imagenet22k;

    /* Files may have buffers with such words in their names, which the net computes. NULL
     * at the end; NULL: none. */
    const char *const *computed;

    /* Logits of the images x [N, C, H, W]; o->family is that struct, or NULL. NULL: the
     * net ends with a stage (models/stages.h). */
    struct tensor *(*build)(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x);

    /*
     * Rules between options, and what sizes of images there may be. NULL if all is well;
     * else the keys to blame, NULL at the end, with the reason in `why`. May be NULL.
     */
    const char *const *(*check)(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why);
};

extern const struct model_family *const model_families[]; /* NULL ends it */

extern const struct names model_family_names;

/* Does weight decay apply to a parameter? Not to biases and other 1-D tensors, unless
 * decay_1d, and never to what the family names. */
bool model_decays(const struct model_family *f, const struct tensor *t, bool decay_1d);

/* NULL if there is none of MODEL.TYPE `type`. */
const struct model_family *model_family_find(const char *type);

/*
 * The row of MODEL.TYPE `type` and MODEL.NAME `name`. NULL with the reason, and what was
 * probably meant, appended to `why`.
 */
const struct model *model_find(const char *type, const char *name, struct strbuf *why);

/* The only one with a model of that name, whatever its tag is; NULL: none, or several. */
const struct model_family *model_family_of(const char *name);

/* Is it the name of a known model that cannot be built yet? model_find says so. */
bool model_is_later(const char *type, const char *name);

/* Logits [N, options->classes] of the images x; or NULL, see build(). */
struct tensor *model_build(struct builder *b, const struct model *m,
                           const struct model_options *o, struct tensor *x);

/* Digits compare by value: resnet18 before resnet101. As strcmp. */
int model_natural_order(const char *a, const char *b);

#endif
