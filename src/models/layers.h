/*
 * Layer-wise learning rate decay for fine-tuning (Clark et al. 2020, ELECTRA; Bao et al.
 * 2021, BEiT), as timm's param_groups_layer_decay: of L layers, counted from the input,
 * layer i has the rate times decay^(L - 1 - i). A family assigns parameters to layers by
 * rules, as timm's group_matcher does at its finest: one layer per residual block.
 *
 *   {.pattern = "^stem", .group = 0},
 *   {.pattern = "^stages\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
 *   {.pattern = "^norm", .group = 1, .joins = true},
 *
 * The first matching rule applies. Layers are sorted by its group and the numbers in the
 * parentheses; equal keys are one layer. Parameters without a matching rule (the head)
 * form the last layer.
 */
#ifndef MODELS_LAYERS_H
#define MODELS_LAYERS_H

#include <stdbool.h>

#include "graph/flat.h"

/* True if a parameter belongs to one of these layers (a list ended by NULL, or NULL): "head.bias"
 * to "head", but "head_dist.bias" not. */
bool layers_contain(const char *const *layers, const char *name);

struct layer_rule {
    const char *pattern; /* POSIX extended; NULL ends the rules */
    int group;
    int then; /* with has_then: one more number after the matched ones */
    bool has_then;
    bool joins; /* after all others of its group, in the same layer as the last of them */
};

/*
 * `prefix`: of the names to which the rules apply, after which they match; parameters
 * without it are in the last layer, as the decoder around a backbone; NULL: of all.
 * rules NULL: all parameters are in one layer.
 *
 * Sets scale[i] to the learning rate factor of f->segment[i], for all [0, f->nparam):
 * frozen parameters count as layers, too. Without rules (NULL) all parameters are one layer.
 */
void layer_scales(const struct layer_rule *rules, const char *prefix,
                  const struct flat *f, double decay, float *scale);

#endif
