/*
 * A classifier of another family as the backbone of a net: its feature maps, without its
 * classifier. Its parameters have a prefix: "encoder." as in segmentation-models-pytorch,
 * "backbone." as in torchvision.
 *
 *   struct backbone k;
 *
 *   backbone_build(&b, m, o, x, &k);
 *   low = backbone_map(&k, 4);                 [N,C,H/4,W/4]
 *   x = backbone_last(&k);
 */
#ifndef MODELS_BACKBONE_H
#define MODELS_BACKBONE_H

#include "models/stages.h"
#include "models/table.h"

struct backbone {
    const struct model *m, *classifier; /* the net around it, and the classifier */
    struct model_stages stages;
};

/* Returns the backbone of m: MODEL.BACKBONE or the row's own; NULL if m has none, or, with
 * the reason in `why`, if MODEL.BACKBONE cannot be one. */
const struct model *backbone_of(const struct model *m, const struct model_options *o,
                                struct strbuf *why);

/* True if MODEL.OUTPUT_STRIDE changes the strides of this model. */
bool backbone_dilates(const struct model *m);

/* Builds it up to its last stage, with the output stride of `o`. */
void backbone_build(struct builder *b, const struct model *m,
                    const struct model_options *o, struct tensor *x, struct backbone *k);

/* Returns the last map that is smaller than the image by this factor, or NULL. */
struct tensor *backbone_map(struct builder *b, const struct backbone *k, int reduction);
/* The same; without such a map, an error that names --backbone. */
struct tensor *backbone_map_needed(struct builder *b, const struct backbone *k,
                                   int reduction);
struct tensor *backbone_last(struct builder *b, const struct backbone *k);
/* The same for the map before the last one: of a smaller reduction or, with dilation, the
 * same. */
struct tensor *backbone_before_last(struct builder *b, const struct backbone *k);

/* Returns the name of a parameter of m inside its backbone, or NULL if it is outside. */
const char *backbone_name(const struct model *m, const char *name);

/* Returns the family whose rules hold for a parameter of m: the backbone's or its own. */
const struct model_family *
backbone_owner(const struct model *m, const struct model_options *o, const char *name);

#endif
