/*
 * The families of models, one row each, and the models of each that can be built by name.
 *
 *   const struct model *m = model_find("resnet", "resnet50", &why);
 *   struct tensor *logits = model_build(&b, m, &options, x);
 *
 * Names are timm's: architecture, or architecture.tag ("resnet50.a1_in1k"). The tag
 * selects published weights and their default input, and builds the same net. The CIFAR
 * nets, which timm lacks, are resnet20, 32, 44, 56, and 110.
 *
 * A new family is NAME.h and NAME.c, which define `const struct model_family
 * NAME_family`, NAME_models.c if it has many models, a row in table.c, and its keys
 * (models/options.h).
 */
#ifndef MODELS_TABLE_H
#define MODELS_TABLE_H

#include <stdbool.h>

#include "base/names.h"
#include "graph/graph.h"
#include "models/layers.h"
#include "models/options.h"

enum model_task {
    MODEL_CLASSIFY,   /* logits [N, classes]; a label per image */
    MODEL_SEGMENT,    /* logits [N, classes, h, w]; a label per pixel of h x w */
    MODEL_MULTILABEL, /* the same logits as MODEL_CLASSIFY; a set of labels per image */
    MODEL_REGRESSION, /* values [N, targets]; a number per target and image */
    MODEL_ORDINAL, /* classes - 1 outputs (ops/corn.h); one of ordered classes per image */
    MODEL_SIMMIM, /* masked image modeling: pixels of masked patches; labels are unused */
    MODEL_TASKS
};

struct model {
    const char *name; /* MODEL.NAME */
    const struct model_family *family;
    const char *tags;   /* of public weights, the default first; "" if none */
    const char *recipe; /* configuration that trains it, below configs/; or NULL */
    int classes;        /* of its training data */
    int label_divisor;  /* MODEL_SEGMENT: input size / logits size */

    /* Input of training, and evaluation as in timm: resize to size / crop_pct, crop. */
    int size;   /* pixels: width, and height if that is 0 */
    int height; /* 0: square */
    double crop_pct;
    bool bilinear; /* otherwise bicubic */
    double mean[3], std[3];

    /* Of a model that is read from a file; otherwise 0 and NULL. */
    int channels;      /* of its images; also of one that keys describe */
    const char *graph; /* a text from which the family makes it again; for checkpoints */
    const char *graph_eval; /* the same of its evaluation graph; NULL: it has no other */

    const char *backbone;        /* default of MODEL.BACKBONE; NULL: it has no backbone */
    const char *backbone_prefix; /* of its parameters (models/backbone.h) */
    /* Of a custom model: the value of MODEL.TASK, and rules that replace the family's;
     * or NULL. */
    const char *task;
    const struct layer_rule *layers;
    const void *arch; /* for the family's build() */
};

/* Resizes parameters on a grid to another grid: train/weight_grid.h. */
enum grid_method { GRID_BICUBIC, GRID_ANTIALIAS, GRID_GEOMETRIC };

/* Parameters on a square grid of positions; a file with another grid is resized. Rows of
 * tokens without a position come before the grid. */
struct model_grid {
    const char *end; /* suffixes of their names, ended by NULL */
    enum grid_method timm, microsoft;
    bool suffix; /* those rows come after the grid */
};

struct model_family {
    const char *type; /* MODEL.TYPE */
    enum model_task task;
    const struct model *models;   /* ended by a row without a name */
    const char *const *reads;     /* keys of model_common_options that it reads, ended
                                   * by NULL; others must not be changed */
    const struct option *options; /* its own keys, or NULL */
    size_t options_size;          /* size of the struct that they fill */
    /* A model's arch is such a struct: a name sets the keys that are not set otherwise. */
    bool arch_is_options;
    /* If all these keys (ended by NULL) are set, MODEL.NAME is arbitrary. The row is the one
     * of that name in `custom`, which a row without a name ends, or else the first. NULL:
     * not supported. */
    const char *const *custom_keys;
    const struct model *custom;
    /* Parameters whose names contain such words have no weight decay, whatever their
     * dims. Ended by NULL; may be NULL. */
    const char *const *no_decay;
    const struct layer_rule *layers; /* for TRAIN.LAYER_DECAY; NULL: it is refused */
    const struct model_grid *grids;  /* or NULL */
    /* Layers that depend on the classes, ended by NULL; NULL: the layer of the logits. */
    const char *const *heads;
    /* Layers of auxiliary heads (models/stages.h), with all below them, ended by NULL; NULL:
     * it has none. Only training reads them, so weights may lack them or be too many. */
    const char *const *aux;
    bool masks;         /* has mask tokens: models/masking.h */
    bool fixed_size;    /* weights depend on the size of images, and are not resized */
    bool balances;      /* adds a loss in training: model_stages.balance */
    bool layer_norm;    /* has layer norms: trained with adaptive optimizers */
    int default_stages; /* of models/stages.h: the last ones; 0: all */
    /* How the name of the layer that Grad-CAM reads ends: the last one (models/cam.h).
     * NULL: the last stage. */
    const char *cam;
    /* Classifiers of 21,841 classes have the order of models/imagenet22k.h: rows are
     * selected for 1000 classes. */
    bool imagenet22k;

    /* Files may have buffers whose names contain such words, which the net computes.
     * Ended by NULL; may be NULL. */
    const char *const *computed;

    /*
     * Models that are files: names with this ending, which find() reads. It returns NULL
     * with a reason if it cannot. provide() makes a model from the text of a checkpoint
     * (struct model: graph), so that find() needs no file. NULL: only rows.
     */
    const char *ending;
    const struct model *(*find)(const char *name, struct strbuf *why);
    bool (*provide)(const char *graph, struct strbuf *why);
    /* Returns such a model with the evaluation graph of another file, MODEL.EVAL, or NULL
     * with a reason. NULL: not supported. */
    const struct model *(*pair)(const struct model *m, const char *eval,
                                struct strbuf *why);
    /* Returns such a model with these layers as its heads, MODEL.HEAD, or NULL with a
     * reason. NULL: not supported. */
    const struct model *(*choose_heads)(const struct model *m,
                                        const struct str_list *names, struct strbuf *why);

    /* Returns the logits of the images x [N, C, H, W], or NULL if the net ends with a
     * stage (models/stages.h). o->family is the family's struct, or NULL. */
    struct tensor *(*build)(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x);
    /* Instead of build(), for families with backbones. */
    struct tensor *(*build_model)(struct builder *b, const struct model *m,
                                  const struct model_options *o, struct tensor *x);

    /*
     * Checks options and image sizes. Returns NULL if they are valid, otherwise the keys
     * to blame, ended by NULL, with the reason in `why`. May be NULL.
     */
    const char *const *(*check)(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why);
    /* Returns the origin of the reason of the last check(), "net.yaml:14", or NULL: that of
     * the keys. May be NULL. */
    const char *(*blamed)(const struct model *m);
};

extern const struct model_family *const model_families[]; /* ended by NULL */

/* Networks that PyTorch exported, and networks that keys describe: the families from other
 * folders, pt2/family.c and layers/family.c, which are built upon this one. */
extern const struct model_family pt2_family, layers_family;

extern const struct names model_family_names;

/* True if weight decay applies to a parameter: not to biases and other 1-D tensors,
 * unless decay_1d, and never to those in no_decay. */
bool model_decays(const struct model_family *f, const struct tensor *t, bool decay_1d);

/* Returns the family's custom row for a MODEL.NAME. */
const struct model *model_custom(const struct model_family *f, const char *name);

/* Returns NULL if there is no MODEL.TYPE `type`. */
const struct model_family *model_family_find(const char *type);

/*
 * Returns the row of MODEL.TYPE `type` and MODEL.NAME `name`, or NULL with the reason and
 * a suggestion appended to `why`.
 */
const struct model *model_find(const char *type, const char *name, struct strbuf *why);

/* Returns the only family with a model of that name (any tag), or NULL if there are none
 * or several. */
const struct model_family *model_family_of(const char *name);

/* Makes a model from the graph that a checkpoint carries, so that model_find() finds its
 * name. Returns false with a reason if it is not valid. */
bool model_provide(const char *graph, struct strbuf *why);

/* Returns the model with the evaluation graph of the file `eval`, or NULL with a reason. */
const struct model *model_pair(const struct model *m, const char *eval,
                               struct strbuf *why);

/* Returns logits [N, options->classes] of the images x, or NULL; see build(). */
struct tensor *model_build(struct builder *b, const struct model *m,
                           const struct model_options *o, struct tensor *x);

/* Like strcmp, but digits compare by value: resnet18 before resnet101. */
int model_natural_order(const char *a, const char *b);

#endif
