/*
 * Layer-wise decay of the learning rate, for fine-tuning (Clark et al. 2020, ELECTRA; Bao
 * et al. 2021, BEiT), as timm's param_groups_layer_decay: of L layers, counted from the
 * input, layer i has the rate times decay^(L - 1 - i). A family says by rules which layer
 * a parameter belongs to, as timm's group_matcher does; the finest there is: a residual
 * block.
 *
 *   {.pattern = "^stem", .group = 0},
 *   {.pattern = "^stages\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
 *   {.pattern = "^norm", .group = 1, .joins = true},
 *
 * The first rule that matches counts. Its group and the numbers that the parentheses
 * found order the layers; equal ones are one layer. What no rule matches, the head, is
 * the last layer.
 */
#ifndef MODELS_LAYERS_H
#define MODELS_LAYERS_H

#include <stdbool.h>

#include "graph/flat.h"

struct layer_rule {
    const char *pattern; /* POSIX extended; NULL ends the rules */
    int group;
    int then; /* one more number after those that were found, with has_then */
    bool has_then;
    bool joins; /* after all others of its group, and one layer with the last of them */
};

/*
 * scale[i] is the factor of the learning rate of f->segment[i], for all [0, f->nparam):
 * frozen parameters count as layers, too.
 */
void layer_scales(const struct layer_rule *rules, const struct flat *f, double decay,
                  float *scale);

#endif
