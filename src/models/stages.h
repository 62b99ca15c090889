/*
 * The stages of a net: feature maps for detectors and similar heads, with the names,
 * shapes, and reductions of timm's features_only. A family calls model_stage() where a
 * stage ends; a net that is built for its stages ends with the last one.
 *
 *   struct model_stages stages = {.last = 2};
 *   struct model_options o = {.stages = &stages, ...};
 *   model_build(&b, m, &o, x);            returns NULL; stages.stage[0 .. 2] are set
 */
#ifndef MODELS_STAGES_H
#define MODELS_STAGES_H

#include "base/fields.h"
#include "base/strbuf.h"
#include "graph/graph.h"

struct model;
struct model_options;

enum { MODEL_STAGES = 64, MODEL_AUX = 8 };

struct model_stage {
    const char *name;  /* timm's module name: "layer1", "blocks.11" */
    struct tensor *x;  /* [N, C, H, W], [N, H, W, C] or [N, prefix + H * W, C] */
    int prefix;        /* leading tokens without a position: class, distillation */
    int height, width; /* of the map */
    int channels;
    int reduction;      /* image size / map size; map sizes are rounded up */
    bool channels_last; /* timm returns [N, H, W, C], as for Swin */
};

struct model_stages {
    int last; /* the last stage to build; a large number: the whole net */
    /* For a net with a second classifier for a teacher (DeiT's distilled ones): the
     * logits of both, whose mean it returns. Otherwise NULL. */
    struct tensor *logits, *distilled;
    /* Logits of auxiliary heads that the family has: each has the losses of the logits,
     * times a weight. They have the logits' shape. */
    struct {
        struct tensor *x;
        double weight;
    } aux[MODEL_AUX];
    int naux;
    /* A loss that the family adds in training, fp32 [1], and its weight; or NULL. */
    struct tensor *balance;
    double balance_weight;
    int n;
    struct model_stage stage[MODEL_STAGES];
};

/* Ends a stage with x; returns true if the net ends here, too. o->stages may be NULL. */
bool model_stage(const struct model_options *o, const char *name, int reduction,
                 struct tensor *x);
/* Same for tokens [N, prefix + height * width, C]. */
bool model_stage_tokens(const struct model_options *o, const char *name, int reduction,
                        struct tensor *x, int prefix, int height, int width);

/* Adds an auxiliary head with the family's weight, for which MODEL.AUX_WEIGHT may stand.
 * model_aux_weight returns that weight: 0: do not build the head. */
void model_aux(const struct model_options *o, struct tensor *logits, double weight);
double model_aux_weight(const struct model_options *o, double weight);

/* Lists the stages of a model for images of this size; the tensors are NULL. */
void model_stages_list(const struct model *m, const struct model_options *o, int channels,
                       int height, int width, struct model_stages *all);

/* Returns the index of a stage by name ("layer3") or by index as in MODEL.OUT_INDICES, or
 * -1 with the reason, which lists the names, in `why`. */
int model_stage_find(const struct model *m, const struct model_options *o, int channels,
                     int height, int width, const char *text, struct strbuf *why);

/*
 * Resolves MODEL.OUT_INDICES of `n` stages into index[], in order: negative ones count
 * from the end; an empty list means timm's default, the last `dflt` (0: all). Returns
 * their number; 0 with the reason in `why`.
 */
int model_stages_pick(const struct int_list *out, int n, int dflt,
                      int index[MODEL_STAGES], struct strbuf *why);

#endif
