/*
 * The stages of a net: the feature maps that detectors and the like take from it, with
 * the names, shapes and reductions of timm's features_only. A family calls model_stage()
 * where a stage ends; a net that is built for its stages ends there, without what
 * follows.
 *
 *   struct model_stages stages = {.last = 2};
 *   struct model_options o = {.stages = &stages, ...};
 *   model_build(&b, m, &o, x);            NULL; stages.stage[0 .. 2] are there
 */
#ifndef MODELS_STAGES_H
#define MODELS_STAGES_H

#include "base/fields.h"
#include "base/strbuf.h"
#include "graph/graph.h"

struct model;
struct model_options;

enum { MODEL_STAGES = 64 };

struct model_stage {
    const char *name;  /* of timm's module: "layer1", "blocks.11" */
    struct tensor *x;  /* [N, C, H, W], [N, H, W, C] or [N, prefix + H * W, C] */
    int prefix;        /* tokens in front that have no position: class, distillation */
    int height, width; /* of the map */
    int channels;
    int reduction; /* sides of the image over those of the map, which are rounded up */
    bool channels_last; /* timm gives [N, H, W, C], as of Swin */
};

struct model_stages {
    int last; /* the net ends with this one; a large number: whole */
    /* Where a net has a classifier for a teacher beside its own (DeiT's distilled ones):
     * the logits of both, whose mean it returns. NULL: it has not. */
    struct tensor *own, *taught;
    int n;
    struct model_stage stage[MODEL_STAGES];
};

/* A stage ends with x; true: and so does the net. o->stages may be NULL. */
bool model_stage(const struct model_options *o, const char *name, int reduction,
                 struct tensor *x);
/* The same of tokens [N, prefix + height * width, C]. */
bool model_stage_tokens(const struct model_options *o, const char *name, int reduction,
                        struct tensor *x, int prefix, int height, int width);

/* All stages of a model for images of this size; the tensors are NULL. */
void model_stages_list(const struct model *m, const struct model_options *o, int channels,
                       int height, int width, struct model_stages *all);

/*
 * MODEL.OUT_INDICES of `n` stages into index[], in order: negative ones count from the
 * end; none are timm's default, the last `dflt` (0: all). Returns how many; 0 with the
 * reason in `why`.
 */
int model_stages_pick(const struct int_list *out, int n, int dflt,
                      int index[MODEL_STAGES], struct strbuf *why);

#endif
